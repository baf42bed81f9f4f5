"""Predictions from one score per class.

    predict = argmax_k δ_k(x),   p(k | x) = exp δ_k / Σ_j exp δ_j

Every classifier of verosim, generative or linear, predicts with the methods of `ScoreMixin`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from verosim import engines
from verosim.arguments import checked
from verosim.data.adapters import opened_as
from verosim.data.clusters import check_is_here
from verosim.data.label_match import accuracy_of, matched_labels
from verosim.data.labels import labels_of
from verosim.errors import VerosimError
from verosim.estimators.checks import empty_table
from verosim.estimators.one_state import reads, updates
from verosim.folds.inputs import one_column
from verosim.html_table import html_table
from verosim.models.opening import with_marks

if TYPE_CHECKING:
    from verosim.typing import FileOptions, Labels, MissingMarks, Source, Weights


class NotFitted(VerosimError, NotFittedError):
    """The model has not been fitted yet."""

    @classmethod
    def of(cls, model: Any) -> NotFitted:
        """The error for a model that was used before `fit`."""
        return cls(f"This {type(model).__name__} instance is not fitted yet.",
                   "Call fit(X, y) first.")  # fmt: skip


def set_known(set_params: Callable[..., Any], parameters: dict[str, Any]) -> None:
    """Set parameters by a method of scikit-learn, which refuses unknown names."""
    try:
        set_params(**parameters)
    except VerosimError:
        raise
    except ValueError as error:
        raise VerosimError(str(error)) from None
    except AttributeError:
        raise VerosimError(
            f"One of the names {', '.join(parameters)} belongs to a value without parameters.",
            "Use names such as model__alpha only if the first part is a parameter with a model.",
        ) from None


def has_probabilities(model: Any) -> bool:
    """Whether the scores of a model are log posteriors up to a constant."""
    return bool(model.gives_probabilities)


class ScoreMixin:
    """Predictions from one score per class."""

    classes_: np.ndarray
    gives_probabilities = True
    scores_columns = True  # False if columns are mapped to other features before they are scored

    def _html_repr(self) -> str:
        """The parameters as scikit-learn shows them, and the classes of a fitted model."""
        base: Any = super()
        shown: str = base._html_repr()
        try:
            labels = self.classes_.tolist()
        except AttributeError:  # not fitted
            return shown
        priors = getattr(self, "class_prior_", None)
        weights = getattr(self, "class_count_", None)
        columns = [("prior", priors, ".4g"), ("weight", weights, ".10g")]
        known = [(name, found, how) for name, found, how in columns if found is not None]
        rows = [
            [label, *(format(float(found[k]), how) for _, found, how in known)]
            for k, label in enumerate(labels)
        ]
        head = ("class", *(name for name, _, _ in known))
        width = getattr(self, "n_features_in_", None)
        title = f"{type(self).__name__}: {len(labels)} classes"
        title += "" if width is None else f", {width:,} columns"
        return shown + html_table(title, head, rows, (), range(1, len(head)))

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the model. If one of them is refused, none of them changes.

        Parameters
        ----------
        **parameters : Any
            The new values, by name. `model__alpha` is the parameter `alpha` of the parameter
            `model`.

        Returns
        -------
        Self
            The model itself.
        """
        inside = [one for one in vars(self).values() if isinstance(one, ScoreMixin)]
        before = [vars(one) for one in (self, *inside)]  # an update gives a model a new dict
        try:
            self._set_each(parameters)
        except BaseException:
            if vars(self) is before[0]:  # otherwise an interrupt came after the last step
                for one, known in zip(inside, before[1:], strict=True):
                    one.__dict__ = known
            raise
        return self

    @updates
    def _set_each(self, parameters: dict[str, Any]) -> None:
        set_known(super().set_params, parameters)  # type: ignore[misc]

    @abstractmethod
    def opened_to_score(self, X: Source) -> tuple[Any, Any]:
        """Prepare rows for scoring. The predicting methods call this method.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.

        Returns
        -------
        tuple
            The fitted decision rule, and the source of the rows.
        """

    def _opened_to_evaluate(self, X: Source) -> tuple[Any, Any]:
        """The decision rule and the rows, also as cells that were made from a table."""
        return self.opened_to_score(X)

    @partial(reads, checks=False)
    def evaluate(
        self, X: Source, score: Callable[[Any, Any], np.ndarray], na: MissingMarks = ()
    ) -> np.ndarray:
        """Apply a scoring function to rows. The predicting methods call this method.

        A table is read in pieces, and the function is applied to each piece.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        score : callable
            A function `score(rule, rows)` that returns an array with one entry per row.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.

        Returns
        -------
        ndarray of shape (n, ...)
            The results for all rows, in the order of the rows.
        """
        marked = type(na) is not tuple or na
        rule, rows = self._opened_to_evaluate(with_marks(X, na) if marked else X)
        if rows.X is not None:  # one chunk, without the steps of an engine
            return score(rule, rows.X)
        check_is_here(rows, "This method", "Use predict_table(…), which runs there.")
        parts = list(engines.map(rows, lambda chunk: score(rule, chunk.block())))
        if not parts:
            raise empty_table()
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @reads
    def predict(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Predict the class with the highest score: argmax_k δ_k(x).

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to classify, in any form that `fit` accepts.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            The predicted labels.
        """
        decided = self.evaluate(opened_as(X, read), lambda rule, rows: rule.decide(rows), na)
        return self.classes_[decided]

    @checked
    def decision_function(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Compute the discriminants δ_k(x), up to a term that all classes share.

        With two classes the result is the difference δ_1(x) − δ_0(x). Linear models omit the
        quadratic term that all classes share, so the values agree with `coef_` and `intercept_`.
        `log_joint` of a generative model includes that term.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C), or (n,) with two classes
            The discriminants. Columns are in the order of `classes_`.
        """
        scores = self.evaluate(opened_as(X, read), lambda rule, rows: rule.discriminants(rows), na)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @reads
    def score(self, X: Source, y: Labels, sample_weight: Weights | None = None) -> float:
        """Compute the accuracy: the share of rows with a correct prediction.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to classify.
        y : array-like of shape (n,)
            The true labels.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows. None gives every row the weight 1.

        Returns
        -------
        float
            The accuracy, from 0 to 1.

        Raises
        ------
        VerosimError
            If no label is a class of the model. Labels that differ from the classes by their type
            alone are matched.
        """
        predicted = self.predict(X)
        labels = matched_labels(labels_of(one_column(y), len(predicted)), self.classes_)
        return accuracy_of(predicted, labels, sample_weight)

    @available_if(has_probabilities)
    @checked
    def predict_proba(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Compute the posterior probabilities p(k | x) = exp δ_k(x) / Σ_j exp δ_j(x).

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to classify.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C)
            The probability of each class. Columns are in the order of `classes_`.
        """
        return self.evaluate(opened_as(X, read), lambda rule, rows: rule.posterior(rows), na)

    @available_if(has_probabilities)
    @checked
    def predict_log_proba(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Compute the log posteriors log p(k | x) = δ_k(x) − log Σ_j exp δ_j(x).

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to classify.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C)
            The log probability of each class. Columns are in the order of `classes_`.
        """
        return self.evaluate(opened_as(X, read), lambda rule, rows: rule.log_posterior(rows), na)
