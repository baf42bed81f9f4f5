"""A generative model has a density p(x), so it can reject rows that are unlike the training rows.

    rejected  if  log p(x) < q,  or  max_k p(k | x) < confidence

q is the `novelty` quantile of log p(x) over held-out rows. Held-out rows are needed because the
density of training rows is too high.
References: Chow (1970), On optimum recognition error and reject tradeoff (the posterior); Dubuisson
& Masson (1993), A statistical decision rule with incomplete knowledge about classes (the density).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np
from sklearn.base import clone

from verosim.arguments import checked, share
from verosim.axes.groups import as_labels, kind_of
from verosim.bayes.explain import ScoreParts
from verosim.bayes.rule import Rule
from verosim.data import as_weights
from verosim.data.adapters import opened_as
from verosim.data.clusters import check_is_here
from verosim.data.labels import label_array, labels_of
from verosim.densities.attribution import AttributionRequest
from verosim.errors import VerosimError
from verosim.estimators.density_method import check_density
from verosim.estimators.one_state import reads, updates
from verosim.estimators.predictions import rows_to_score
from verosim.folds.evaluation import out_of_fold
from verosim.folds.inputs import target_of
from verosim.folds.scores import weighted_mean
from verosim.validate.wrapper import Training, Wrapper, fit_model

if TYPE_CHECKING:
    from pyarrow import RecordBatchReader

    from verosim.data.schema import Schema
    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, Source, Weights

NOVEL, UNSURE = "novel", "unsure"


class RejectSettings(TypedDict, total=False):
    """The parameters of `Reject` that `reject` passes on."""

    novelty: float | None
    confidence: float | None
    label: Hashable
    cv: CV


@dataclass(frozen=True)
class RejectRule(Rule):
    """A rule with one more decision, number C: the row is rejected."""

    inner: Rule
    log_least: float  # log p(x) below which a row is novel
    log_sure: float  # log max_k p(k | x) below which the prediction is uncertain

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

    def attributed(self, X: Any, request: AttributionRequest) -> ScoreParts:
        return self.inner.attributed(X, request)

    def reasons(self, X: Any) -> np.ndarray:
        """(n,) the reason why each row is rejected; "" if it is not rejected."""
        if self.log_least == -np.inf:  # no row is novel, and a density is not needed
            log_p = self.inner.log_posterior(X)
            return self.reasons_of(np.zeros(len(log_p)), log_p)
        log_p, evidence = self.inner.posterior_and_density(X)
        return self.reasons_of(evidence, log_p)

    def reasons_of(self, evidence: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """(n,) the reasons, from log p(x) and log p(k | x)."""
        unsure = log_p.max(axis=1) < self.log_sure
        return np.where(evidence < self.log_least, NOVEL, np.where(unsure, UNSURE, ""))

    def decide(self, X: Any) -> np.ndarray:
        return np.where(self.reasons(X) == "", self.inner.decide(X), len(self.log_prior))


class Reject(Wrapper):
    """A classifier that rejects rows that are unlike the training rows, or too uncertain.

    A row x is rejected if its density or its largest posterior is too low:

        log p(x) < q,  or  max_k p(k | x) < confidence

    where q is the `novelty` quantile of log p(x) over held-out rows: the ⌊novelty (n + 1)⌋-th
    smallest value of the n rows. About a share `novelty` of rows like the training rows is rejected
    for its density. With fewer than 1 / novelty − 1 rows, no row is rejected for its density.

    `predict` returns `label` for a rejected row. `rejected` and `reasons` show which rows are
    rejected, and why. `predict_proba` and `decision_function` are those of the model. log p(x) is a
    sum over the cells of a row. It is lower for long texts and higher for rows with missing values.
    Naive Bayes is often too confident for the threshold `confidence`: use a `Calibrated` model.

    Parameters
    ----------
    model : GenerativeClassifier or Calibrated
        The model, fitted or not. A copy of it is fitted on all rows.
    novelty : float or None, default=0.005
        The share of rows like the training rows that is rejected for a low log p(x). None or 0
        rejects no row for its density.
    confidence : float or None, default=None
        The smallest posterior of the predicted class that is accepted. None or 0 rejects no row for
        its posterior.
    label : object, default=None
        The prediction for rejected rows: None, or a value that is not a class. Predictions have the
        dtype of the classes, unless a row is rejected and `label` has another type.
    cv : int, splitter, array-like, str or iterable, default=10
        The folds for `novelty`: a number of folds, a scikit-learn splitter, the fold of each row,
        the name of a column of folds, or pairs of training and test positions. Each row must be
        held out once. A number of folds larger than the number of rows is reduced.

    Attributes
    ----------
    model_ : GenerativeClassifier or Calibrated
        The model fitted on all rows.
    log_least_ : float
        The threshold q: a row with a smaller log p(x) is rejected. It is −∞ if no row is rejected
        for its density.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had column names that are texts.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information
    Theory 16.
    Dubuisson & Masson (1993), A statistical decision rule with incomplete knowledge about classes,
    Pattern Recognition 26.

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
        model: GenerativeClassifier | Wrapper,
        novelty: float | None = 0.005,
        confidence: float | None = None,
        label: Hashable = None,
        cv: CV = 10,
    ) -> None:
        self.model = model
        self.novelty = novelty
        self.confidence = confidence
        self.label = label
        self.cv = cv

    @updates
    def fit(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        groups: Labels | None = None,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Fit the model on all rows, and the threshold on log p(x) of the held-out rows.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
            to a file or a folder, or an iterable of tables.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. None uses the target of
            `schema`.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
        groups : array-like of shape (n,), str or None, default=None
            The group of each row, or the name of a column of groups. All rows of a group are in the
            same fold.
        schema : Schema or None, default=None
            The kinds of the columns, from `verosim.look`. None finds them from the table.
        na : iterable of str, default=()
            Texts that mean a missing value in a table, in addition to the empty cell.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Reject
            The fitted object itself.
        """
        check_is_here(X, "Reject")
        for name in ("novelty", "confidence"):
            if getattr(self, name) is not None:
                share(name, getattr(self, name), zero=True)
        training = Training.of(self, X, y, sample_weight, schema, na, unlabelled, groups, read)
        model = fit_model(self.model, training.inputs)
        if self.label is not None and self.label in model.classes_.tolist():
            raise VerosimError(
                f"label={self.label!r} is one of the classes.",
                "Use label=None, or a value that is not a class.",
            )
        self.log_least_ = -np.inf
        if self.novelty:
            check_density(training.spec, "novelty", "Use novelty=None.")
            held, _ = out_of_fold(training.engine(), lambda rule, rows: rule.evidence(rows))
            self.log_least_ = _low_quantile(held.scores, held.row_weights, self.novelty)
        self.model_ = model
        return self

    def rule_of(self, rule: Rule) -> RejectRule:
        """The rule that can reject a row.

        Parameters
        ----------
        rule : Rule
            The rule of the model.

        Returns
        -------
        RejectRule
            The rule with the thresholds of this object.
        """
        if self.confidence is not None:
            share("confidence", self.confidence, zero=True)
        log_sure = -np.inf if not self.confidence else float(np.log(self.confidence))
        return RejectRule(
            rule.log_prior, rule.params, rule.columns, rule, self.log_least_, log_sure
        )  # fmt: skip

    @property
    @reads
    def answers(self) -> np.ndarray:
        """The classes, then the label of rejected rows."""
        label = label_array([self.label])
        alike = self.label is not None and kind_of(label) == kind_of(self.classes_)
        dtype = np.result_type(self.classes_, label) if alike else object
        return as_labels([*self.classes_.tolist(), self.label], dtype)

    @reads
    def predict(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """The most probable class of each row, or `label` if the row is rejected.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            The predictions.
        """
        return self.answer(
            self.evaluate(opened_as(X, read), lambda rule, rows: rule.decide(rows), na)
        )

    @reads
    def answer(self, decided: np.ndarray) -> np.ndarray:
        """The label of each decision. `predict` and `decide` call this method.

        Parameters
        ----------
        decided : ndarray of shape (n,)
            Class numbers, or the number of classes C for a rejected row.

        Returns
        -------
        ndarray of shape (n,)
            The labels, and `label` for rejected rows.
        """
        any_rejected = (decided == len(self.classes_)).any()
        return (self.answers if any_rejected else self.classes_)[decided]

    @reads
    def predict_table(
        self,
        source: Source,
        keep: str | Iterable[str] = (),
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> RecordBatchReader:
        """Predict a table of any size, in pieces, with the reason for each rejected row.

        The columns of the result are the columns named in `keep`, then `prediction`, `reason`, one
        posterior `p_…` for each class, and `log_density`. The prediction of a rejected row is
        `label`, or null if `label` is None.

        Parameters
        ----------
        source : table
            The rows: a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path to a file
            or a folder, or an iterable of tables.
        keep : str or iterable of str, default=()
            The columns of the source to copy to the result.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        pyarrow.RecordBatchReader
            A reader that predicts the rows while it is read.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        reader = super().predict_table(source, keep, na=na, read=read)
        at = reader.schema.get_field_index("prediction")
        alike = self.answers.dtype != object or self.label is None
        kind = reader.schema.field(at).type if alike else pa.string()
        label: Any = self.label
        if isinstance(label, bool) and not pa.types.is_boolean(kind):
            label = int(label)  # as in the array of `predict`
        none = pa.scalar(label if alike else str(label), kind)
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

    @reads
    def score(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> float:
        """The accuracy over all rows; a rejected row is correct only if its true label is `label`.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        y : array-like of shape (n,), str or None, default=None
            The true labels, or the name of the target column of a table. None uses the target
            column of the fit.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        float
            The accuracy, from 0 to 1.
        """
        X = opened_as(X, read)
        if y is None or isinstance(y, str):
            return super().score(X, y, sample_weight, na=na, unlabelled=unlabelled)
        X, y, sample_weight = rows_to_score(self.checked_state(), X, y, sample_weight, unlabelled)
        predicted = self.predict(X, na=na).astype(object)
        y = labels_of(np.asarray(y, dtype=object), len(predicted))
        return weighted_mean(predicted == y, as_weights(sample_weight, len(y)))

    @checked
    def rejected(self, X: Source, *, na: MissingMarks = ()) -> np.ndarray:
        """Whether each row is rejected.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.

        Returns
        -------
        ndarray of bool of shape (n,)
            True for a rejected row.
        """
        return self.reasons(X, na=na) != ""

    @checked
    def reasons(self, X: Source, *, na: MissingMarks = ()) -> np.ndarray:
        """The reason why each row is rejected.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.

        Returns
        -------
        ndarray of str of shape (n,)
            "novel" if p(x) is too low, "unsure" if the largest posterior is too low, and "" if the
            row is not rejected. A row with both reasons is "novel".
        """
        return self.evaluate(X, lambda rule, rows: rule.reasons(rows), na)


def _low_quantile(scores: np.ndarray, w: np.ndarray, share: float) -> float:
    """The ⌊share (n + 1)⌋-th smallest score: at most this share of the rows is below it."""
    counted = w > 0
    order = np.argsort(scores[counted])
    found, below = scores[counted][order], np.cumsum(w[counted][order])
    wanted = share * (below[-1] + 1) * (1 + 1e-12)
    k = int(np.searchsorted(below, wanted, side="right"))  # the number of rows that can be rejected
    return float(found[k - 1]) if k else -np.inf


@checked
def reject(
    model: GenerativeClassifier | Wrapper,
    X: Source,
    y: Labels | None = None,
    *,
    sample_weight: Weights | None = None,
    groups: Labels | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
    **settings: Unpack[RejectSettings],
) -> Reject:
    """Fit a model that rejects rows that are unlike the training rows, or too uncertain.

    This is `Reject(clone(model), **settings).fit(X, y)`. A row x is rejected if

        log p(x) < q,  or  max_k p(k | x) < confidence

    where q is the `novelty` quantile of log p(x) over held-out rows.

    Parameters
    ----------
    model : GenerativeClassifier or Calibrated
        The model, fitted or not. A copy of it is fitted on all rows.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    schema : Schema or None, default=None
        The kinds of the columns, from `verosim.look`. None finds them from the table.
    na : iterable of str, default=()
        Texts that mean a missing value in a table, in addition to the empty cell.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label. "error" raises an error that counts them. "skip"
        leaves them out.
    **settings : keyword arguments
        The parameters `novelty`, `confidence`, `label` and `cv` of :class:`Reject`.

    Returns
    -------
    Reject
        The fitted classifier, with the methods `rejected` and `reasons`.

    Raises
    ------
    VerosimError
        If the model is not a generative classifier of verosim, or if `label` is one of the classes.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information
    Theory 16.
    Dubuisson & Masson (1993), A statistical decision rule with incomplete knowledge about classes,
    Pattern Recognition 26.

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
    y = target_of(model, y)
    return wrapper.fit(
        X, y, sample_weight, groups=groups, schema=schema, na=na, read=read, unlabelled=unlabelled
    )
