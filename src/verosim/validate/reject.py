"""A generative model knows p(x), so it can say that a row is like nothing it was taught.

    none of these  if  log p(x) < q,  or  max_k p(k | x) < confidence

q is the `novelty` quantile of log p(x) over rows judged by models that never saw them: on its own
rows a model is too generous. References: Chow (1970), On optimum recognition error and reject
tradeoff (the posterior); Dubuisson & Masson (1993), A statistical decision rule with incomplete
knowledge about classes (the density).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from verosim.axes.groups import as_labels, kind_of
from verosim.bayes.rule import Rule
from verosim.data import as_weights
from verosim.data.stream import check_length
from verosim.errors import VerosimError
from verosim.folds import HeldOutEngine, inputs_of
from verosim.folds.evaluation import out_of_fold
from verosim.folds.inputs import without_split_columns
from verosim.validate.wrapper import Wrapper, fit_model, generative

NOVEL, UNSURE = "novel", "unsure"


@dataclass(frozen=True)
class RejectRule(Rule):
    """A rule with one answer more, numbered C: none of these."""

    inner: Rule
    log_least: float  # log p(x) below which a row is novel
    log_sure: float  # log max_k p(k | x) below which the rule is unsure

    def log_posterior(self, X: Any) -> np.ndarray:
        return self.inner.log_posterior(X)

    def posterior(self, X: Any) -> np.ndarray:
        return self.inner.posterior(X)

    def evidence(self, X: Any) -> np.ndarray:
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.inner.posterior_and_density(X)

    def reasons(self, X: Any) -> np.ndarray:
        """(n,) why each row is none of these; "" where it is one."""
        log_p, evidence = self.inner.posterior_and_density(X)
        return self.named(evidence, log_p)

    def named(self, evidence: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        unsure = log_p.max(axis=1) < self.log_sure
        return np.where(evidence < self.log_least, NOVEL, np.where(unsure, UNSURE, ""))

    def decide(self, X: Any) -> np.ndarray:
        return np.where(self.reasons(X) == "", self.inner.decide(X), len(self.log_prior))


class Reject(Wrapper):
    """A classifier that may answer "none of these"; :func:`reject` makes one.

    Attributes
    ----------
    model_ : the model fitted on all rows
    log_least_ : log p(x) below which a row is novel; −∞ where none is
    """

    def __init__(
        self,
        model: Any,
        novelty: float | None = 0.01,
        confidence: float | None = None,
        label: Any = None,
        cv: Any = 10,
    ) -> None:
        self.model = model
        self.novelty = novelty
        self.confidence = confidence
        self.label = label
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        schema: Any = None,
        na: Any = (),
    ) -> Self:
        """Fit the model on all rows, and the threshold on what fold models say of them."""
        _check_share("novelty", self.novelty)
        _check_share("confidence", self.confidence)
        inner = generative(self.model, "Rejecting")
        inputs = inputs_of(X, y, sample_weight, schema, na)
        inputs = without_split_columns(inner.spec(), inputs, self.cv, groups)
        model = fit_model(self.model, inputs)
        if self.label is not None and self.label in model.classes_.tolist():
            raise VerosimError(
                f"label={self.label!r} is one of the classes, so nobody could tell it from them.",
                "None, or a value that is no class.",
            )
        self.log_least_ = -np.inf
        if self.novelty:
            engine = HeldOutEngine([inner.spec()], inputs, self.cv, groups)
            held, _ = out_of_fold(engine, lambda rule, rows: rule.evidence(rows))
            self.log_least_ = _low_quantile(held.scores, held.row_weights, self.novelty)
        self.model_ = model
        return self

    def rule_of(self, rule: Rule) -> RejectRule:
        log_sure = -np.inf if not self.confidence else float(np.log(self.confidence))
        return RejectRule(
            rule.log_prior, rule.params, rule.columns, rule, self.log_least_, log_sure
        )  # fmt: skip

    @property
    def answers(self) -> np.ndarray:
        """The classes, then the label of rows that are none of these."""
        alike = self.label is not None and kind_of(np.array([self.label])) == kind_of(self.classes_)
        dtype = np.result_type(self.classes_, np.array(self.label)) if alike else object
        return as_labels([*self.classes_.tolist(), self.label], dtype)

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader as a model's own, with the column `reason` after the prediction.

        The prediction of a row that is none of these is `label`, or null.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        reader = super().predict_table(source, keep)
        at = reader.schema.get_field_index("prediction")
        alike = self.answers.dtype != object or self.label is None
        kind = reader.schema.field(at).type if alike else pa.string()
        none = pa.scalar(self.label if alike else str(self.label), kind)
        rule: Any = self.rule()

        def judged(batch: pa.RecordBatch) -> pa.RecordBatch:
            p = np.column_stack([batch.column(at + 1 + k) for k in range(len(self.classes_))])
            reasons = rule.named(batch.column(batch.num_columns - 1).to_numpy(), np.log(p))
            found = pc.if_else(pa.array(reasons == ""), batch.column(at).cast(kind), none)
            batch = batch.set_column(at, "prediction", found)
            return batch.add_column(at + 1, "reason", pa.array(reasons))

        schema = reader.schema.set(at, pa.field("prediction", kind))
        schema = schema.insert(at + 1, pa.field("reason", pa.string()))
        return pa.RecordBatchReader.from_batches(schema, map(judged, reader))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over all rows: to answer none of these is right only where y does."""
        if isinstance(y, str):
            return super().score(X, y, sample_weight)
        answers, y = self.predict(X).astype(object), np.asarray(y, dtype=object)
        check_length(len(y), len(answers), "labels")
        weights = as_weights(sample_weight, len(y))
        return float(np.average(answers == y, weights=weights if len(weights) else None))

    def rejected(self, X: Any) -> np.ndarray:
        """(n,) whether each row is none of these."""
        return self.reasons(X) != ""

    def reasons(self, X: Any) -> np.ndarray:
        """(n,) "novel" where p(x) is too low, else "unsure" where no class is, else ""."""
        return self.evaluate(X, lambda rule, rows: rule.reasons(rows))


def _low_quantile(scores: np.ndarray, w: np.ndarray, share: float) -> float:
    """The score that a share of rows, at most, lies below: the ⌊share (n + 1)⌋-th smallest."""
    counted = w > 0
    order = np.argsort(scores[counted])
    found, below = scores[counted][order], np.cumsum(w[counted][order])
    wanted = share * (below[-1] + 1) * (1 + 1e-12)
    k = int(np.searchsorted(below, wanted, side="right"))  # rows that may be rejected
    return float(found[k - 1]) if k else -np.inf


def _check_share(name: str, value: Any) -> None:
    if value is None:
        return
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 <= value < 1:
        raise VerosimError(f"{name}={value!r}: None, or a share from 0 and below 1, is needed.")


def reject(
    model: Any,
    X: Any,
    y: Any = None,
    novelty: float | None = 0.01,
    confidence: float | None = None,
    label: Any = None,
    cv: Any = 10,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    schema: Any = None,
    na: Any = (),
) -> Reject:
    """A classifier that answers "none of these" for rows unlike any it was taught, or too unsure.

    none of these  if  log p(x) < the `novelty` quantile,  or  max_k p(k | x) < confidence

    About a share `novelty` of rows like those given is rejected for their density; `rejected(X)`
    says which, and `reasons(X)` why. log p(x) adds up what every cell says, so it also falls with
    the length of a text and rises with missing cells: compare rows of a kind. Posteriors of naive
    Bayes are seldom below any `confidence` unless calibrated: `reject(Calibrated(model), …)`.

    Parameters
    ----------
    model : a generative classifier, fitted or not, or a `Calibrated` one: it is fitted anew
    X, y : as for `fit`: arrays, or a table and the name of its target
    novelty : share of such rows whose log p(x) is too low; None or 0 rejects none for it
    confidence : least posterior of the class called; None rejects none for it
    label : the answer for rows that are none of these: None, or a value that is no class
    cv : folds whose models judge the rows they never saw, as in `cross_validate`
    sample_weight, schema, na : as for `fit`
    groups : rows of one group stay in one fold, as in `cross_validate`

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff.
    Dubuisson & Masson (1993), A statistical decision rule with incomplete knowledge about classes.

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_iris
    >>> from verosim import reject
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y < 2
    >>> model = reject(verosim.QDA(), X[known], y[known], novelty=0.05)
    >>> model.predict(X[[0, 60, 120]]).tolist()        # the third kind was never seen
    [0, 1, None]
    >>> model.reasons(X[[0, 60, 120]]).tolist()
    ['', '', 'novel']
    """
    wrapper = Reject(clone(model), novelty, confidence, label, cv)
    return wrapper.fit(X, y, sample_weight, groups=groups, schema=schema, na=na)
