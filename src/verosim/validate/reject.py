"""A generative model knows p(x), so it can reject rows unlike all it learnt from.

    rejected  if  log p(x) < q,  or  max_k p(k | x) < confidence

q is the `novelty` quantile of log p(x) over held-out rows: a model gives the rows it learnt from a
density that is too high. References: Chow (1970), On optimum recognition error and reject tradeoff
(the posterior); Dubuisson & Masson (1993), A statistical decision rule with incomplete knowledge
about classes (the density).
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
from verosim.folds.evaluation import out_of_fold
from verosim.folds.scores import weighted_mean
from verosim.models.settings import share
from verosim.validate.wrapper import Training, Wrapper, fit_model

NOVEL, UNSURE = "novel", "unsure"


@dataclass(frozen=True)
class RejectRule(Rule):
    """A rule with one more decision, numbered C: the row is rejected."""

    inner: Rule
    log_least: float  # log p(x) below which a row is novel
    log_sure: float  # log max_k p(k | x) below which the rule is unsure

    def log_posterior(self, X: Any) -> np.ndarray:
        return self.inner.log_posterior(X)

    def posterior(self, X: Any) -> np.ndarray:
        return self.inner.posterior(X)

    def discriminants(self, X: Any) -> np.ndarray:
        return self.inner.discriminants(X)

    def evidence(self, X: Any) -> np.ndarray:
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.inner.posterior_and_density(X)

    def reasons(self, X: Any) -> np.ndarray:
        """(n,) why each row is rejected; "" where it is not."""
        log_p, evidence = self.inner.posterior_and_density(X)
        return self.reasons_of(evidence, log_p)

    def reasons_of(self, evidence: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """(n,) the reasons, from log p(x) and log p(k | x)."""
        unsure = log_p.max(axis=1) < self.log_sure
        return np.where(evidence < self.log_least, NOVEL, np.where(unsure, UNSURE, ""))

    def decide(self, X: Any) -> np.ndarray:
        return np.where(self.reasons(X) == "", self.inner.decide(X), len(self.log_prior))


class Reject(Wrapper):
    """A classifier that rejects rows unlike those it learnt from, or too uncertain ones.

    rejected  if  log p(x) < the `novelty` quantile,  or  max_k p(k | x) < confidence

    `predict` gives a class, or `label` for a rejected row; `rejected` says which rows are, and
    `reasons` why. About a share `novelty` of rows like those given is rejected for their density:
    the threshold is the ⌊novelty (n + 1)⌋-th smallest log p(x) of the n rows, each held out. With
    fewer than 1 / novelty − 1 rows no row is rejected for it. log p(x) is a sum over the cells, so
    it also falls with the length of a text and rises with missing cells: compare rows of a kind.
    Posteriors of naive Bayes are seldom below any `confidence` unless calibrated: wrap a
    `Calibrated` model. `predict_proba` and `decision_function` are the model's own.

    Parameters
    ----------
    model : a generative classifier, fitted or not, or a `Calibrated` one; a copy of it is fitted
    novelty : share of rows like those given whose log p(x) is too low; None or 0 rejects none
    confidence : least posterior of the predicted class; None or 0 rejects none
    label : the prediction for rejected rows: None, or a value that is not a class. Predictions
        have the dtype of the classes unless a row is rejected and its label is of another type
    cv : folds of the rows held out for `novelty`, as in `cross_validate`; where there are fewer
        rows, as many folds as rows

    Attributes
    ----------
    model_ : the model fitted on all rows
    log_least_ : log p(x) below which a row is novel; −∞ where none is
    classes_ : (C,) the labels
    n_features_in_ : number of columns of X
    feature_names_in_ : their names, where X has names

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff.
    Dubuisson & Masson (1993), A statistical decision rule with incomplete knowledge about classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import QDA, Reject
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y < 2
    >>> model = Reject(QDA(), novelty=0.05, label=-1).fit(X[known], y[known])
    >>> model.predict(X[[0, 60, 120]]).tolist()        # class 2 was not in the training rows
    [0, 1, -1]
    """

    log_least_: float

    def __init__(
        self,
        model: Any,
        novelty: float | None = 0.005,
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
        """Fit the model on all rows, and the threshold on their log p(x) out of fold.

        Parameters
        ----------
        X, y, sample_weight, schema, na : as the model's own `fit` takes them
        groups : an array or the name of a column: rows of one group share a fold
        """
        for name in ("novelty", "confidence"):
            if getattr(self, name) is not None:
                share(name, getattr(self, name), zero=True)
        training = Training.of(self, X, y, sample_weight, schema, na, groups)
        model = fit_model(self.model, training.inputs)
        if self.label is not None and self.label in model.classes_.tolist():
            raise VerosimError(
                f"label={self.label!r} is one of the classes.",
                "label=None, or a value that is not a class.",
            )
        self.log_least_ = -np.inf
        if self.novelty:
            held, _ = out_of_fold(training.engine(), lambda rule, rows: rule.evidence(rows))
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
        """The classes, then the label of rejected rows."""
        alike = self.label is not None and kind_of(np.array([self.label])) == kind_of(self.classes_)
        dtype = np.result_type(self.classes_, np.array(self.label)) if alike else object
        return as_labels([*self.classes_.tolist(), self.label], dtype)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, or `label` where the row is rejected."""
        decided = self.evaluate(X, lambda rule, rows: rule.decide(rows))
        any_rejected = (decided == len(self.classes_)).any()
        return (self.answers if any_rejected else self.classes_)[decided]

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader as a model's own, with the column `reason` after the prediction.

        The prediction of a rejected row is `label`, or null.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        reader = super().predict_table(source, keep)
        at = reader.schema.get_field_index("prediction")
        alike = self.answers.dtype != object or self.label is None
        kind = reader.schema.field(at).type if alike else pa.string()
        none = pa.scalar(self.label if alike else str(self.label), kind)
        rule: Any = self.rule()

        def with_reasons(batch: pa.RecordBatch) -> pa.RecordBatch:
            p = np.column_stack([batch.column(at + 1 + k) for k in range(len(self.classes_))])
            reasons = rule.reasons_of(batch.column(batch.num_columns - 1).to_numpy(), np.log(p))
            found = pc.if_else(pa.array(reasons == ""), batch.column(at).cast(kind), none)
            batch = batch.set_column(at, "prediction", found)
            return batch.add_column(at + 1, "reason", pa.array(reasons))

        schema = reader.schema.set(at, pa.field("prediction", kind))
        schema = schema.insert(at + 1, pa.field("reason", pa.string()))
        return pa.RecordBatchReader.from_batches(schema, map(with_reasons, reader))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over all rows: a rejected row is correct only where y is `label`."""
        if isinstance(y, str):
            return super().score(X, y, sample_weight)
        predicted, y = self.predict(X).astype(object), np.asarray(y, dtype=object)
        check_length(len(y), len(predicted), "labels")
        return weighted_mean(predicted == y, as_weights(sample_weight, len(y)))

    def rejected(self, X: Any) -> np.ndarray:
        """(n,) whether each row is rejected."""
        return self.reasons(X) != ""

    def reasons(self, X: Any) -> np.ndarray:
        """(n,) "novel" where p(x) is too low, else "unsure" where every posterior is, else ""."""
        return self.evaluate(X, lambda rule, rows: rule.reasons(rows))


def _low_quantile(scores: np.ndarray, w: np.ndarray, share: float) -> float:
    """The score that a share of rows, at most, lies below: the ⌊share (n + 1)⌋-th smallest."""
    counted = w > 0
    order = np.argsort(scores[counted])
    found, below = scores[counted][order], np.cumsum(w[counted][order])
    wanted = share * (below[-1] + 1) * (1 + 1e-12)
    k = int(np.searchsorted(below, wanted, side="right"))  # rows that may be rejected
    return float(found[k - 1]) if k else -np.inf


def reject(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    schema: Any = None,
    na: Any = (),
    **settings: Any,
) -> Reject:
    """Fit a model that can reject rows: `Reject(clone(model), **settings).fit(X, y)`.

    Parameters
    ----------
    model : a generative classifier, fitted or not, or a `Calibrated` one; a copy of it is fitted
    X, y : as for `fit`: arrays, or a table and the name of its target
    sample_weight, schema, na : as for `fit`
    groups : an array or the name of a column: rows of one group share a fold
    **settings : `novelty`, `confidence`, `label` and `cv` of :class:`Reject`

    Returns
    -------
    Reject, fitted

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_iris
    >>> from verosim import reject
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y < 2
    >>> model = reject(verosim.QDA(), X[known], y[known], novelty=0.05)
    >>> model.predict(X[[0, 60, 120]]).tolist()        # class 2 was not in the training rows
    [0, 1, None]
    >>> model.reasons(X[[0, 60, 120]]).tolist()
    ['', '', 'novel']
    """
    wrapper = Reject(clone(model), **settings)
    return wrapper.fit(X, y, sample_weight, groups=groups, schema=schema, na=na)
