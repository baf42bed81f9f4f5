"""Several classes from binary classifiers, and the regions where the binary results conflict.

    one-versus-rest:  class k claims x if y_k(x) > 0;    ambiguous: no claim, or more than one
    one-versus-one:   v_k(x) = #{j ≠ k: y_kj(x) > 0};    ambiguous: several classes have most votes

Models with one linear function per class and predict = argmax_k y_k(x) have no such regions, for
example LeastSquares, LDA and softmax regression. Their class regions are convex.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from verosim.arguments import check_kind, checked, whole
from verosim.bayes.program import Program
from verosim.data import as_weights, encode_labels
from verosim.data.clusters import check_is_here
from verosim.data.label_match import accuracy_of, matched_labels
from verosim.data.labels import check_known, label_array, labels_of, positions
from verosim.data.names import feature_names
from verosim.data.nodes import no_program
from verosim.errors import VerosimError
from verosim.estimators.base import NotFitted
from verosim.estimators.checks import check_features, count_rows_of_numbers, only_one_class
from verosim.estimators.one_state import reads, updates
from verosim.estimators.score_mixin import set_known
from verosim.folds.inputs import one_column
from verosim.twins.comparison.resampling import rows_of

if TYPE_CHECKING:
    from verosim.typing import Labels, Source, Weights


LARGEST_FUNCTION = 1e300


def binary_function(estimator: Any, X: Any) -> np.ndarray:
    """(n,) y(x) of a fitted binary classifier; it is positive for the second class."""
    if is_regressor(estimator):  # it was fitted to the targets 0 and 1
        return np.ravel(estimator.predict(X)) - 0.5
    if hasattr(estimator, "decision_function"):
        return np.ravel(estimator.decision_function(X))
    return estimator.predict_proba(X)[:, 1] - 0.5


def plain_array(X: Any) -> Any:
    """Rows in a form that scikit-learn reads: it refuses the matrices of numpy."""
    return np.asarray(X) if isinstance(X, np.matrix) else X


def _has_updates(model: Any) -> bool:
    """Whether more rows can be added to the binary classifiers."""
    return hasattr(model.estimator, "partial_fit")


class _Multiclass:
    """Adds sample weights to scikit-learn's wrappers, which do not pass them on."""

    estimator: BaseEstimator
    n_jobs: int | None
    estimators_: Any
    label_binarizer_: Any
    classes_: np.ndarray  # (C,)
    feature_names_in_: np.ndarray  # (d,), if X had names
    _sequence: type = list  # of `estimators_` after `fit`

    @updates
    def fit(self, X: Source, y: Labels, **fit_params: Any) -> Self:
        """Fit the binary classifiers.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows, in a form that the binary classifier reads.
        y : array-like of shape (n,)
            The labels.
        **fit_params : dict
            `sample_weight` of shape (n,) gives the weights of the rows, if the binary classifier
            accepts them. Rows of weight zero are ignored. Other entries are passed on if
            scikit-learn's metadata routing is enabled.

        Returns
        -------
        OneVsRest or OneVsOne
            The fitted model itself.
        """
        check_is_here(X, type(self).__name__)
        whole("verbose", getattr(self, "verbose", 0), least=0)
        if self.n_jobs == 0:
            raise VerosimError("n_jobs must not be 0.", "Use n_jobs=None for one process.")
        with self._prepared("fit", X, y, fit_params) as (X, y, fit_params):
            codes, classes = encode_labels(y)
            if len(classes) == 1:
                which = " with a sample_weight above 0" if "sample_weight" in fit_params else ""
                raise only_one_class(type(self).__name__, len(y), classes[0], which)
            super().fit(plain_array(X), codes, **fit_params)  # type: ignore[misc]
        self._name(classes)
        return self._name_columns(X)

    @available_if(_has_updates)
    @updates
    def partial_fit(
        self, X: Source, y: Labels, classes: Labels | None = None, **partial_fit_params: Any
    ) -> Self:
        """Add rows to the binary classifiers, if these have `partial_fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows to add.
        y : array-like of shape (n,)
            The labels.
        classes : array-like or None, default=None
            All labels that will occur. The first call needs them.
        **partial_fit_params : dict
            `sample_weight` of shape (n,) gives the weights of the rows, as in `fit`.

        Returns
        -------
        OneVsRest or OneVsOne
            The fitted model itself.
        """
        check_is_here(X, type(self).__name__)
        with self._prepared("partial_fit", X, y, partial_fit_params) as (X, y, partial_fit_params):
            first = not hasattr(self, "estimators_")
            if first and classes is None:
                raise VerosimError(
                    "The first call of partial_fit needs all classes.",
                    "Use partial_fit(X, y, classes=['a', 'b']).",
                )
            known = self.classes_ if classes is None else encode_labels(label_array(classes))[1]
            if not first:
                check_known(known, self.classes_)
                known = self.classes_
            check_known(encode_labels(y)[1], known)
            if first and len(known) == 1:
                raise only_one_class(type(self).__name__, len(y), known[0], "")
            codes, numbers = positions(y, known), np.arange(len(known))
            if not first:
                self.estimators_ = deepcopy(self.estimators_)  # they change in place
                self._name(numbers)
            super().partial_fit(  # type: ignore[misc]
                plain_array(X), codes, numbers if first else None, **partial_fit_params
            )
        self.estimators_ = self._sequence(self.estimators_)
        self._name(known)
        return self._name_columns(X) if first else self

    @contextmanager
    def _prepared(
        self, method: str, X: Any, y: Any, params: dict[str, Any]
    ) -> Iterator[tuple[Any, np.ndarray, dict[str, Any]]]:
        """The rows that have a weight, and their labels. scikit-learn gets the numbers of the
        classes, because it accepts few types of labels."""
        y = labels_of(one_column(y), count_rows_of_numbers(self, X))
        if params.get("sample_weight") is None:
            params.pop("sample_weight", None)
            yield X, y, params
            return
        weights = as_weights(params["sample_weight"], len(y))
        if not weights.all():
            kept = np.flatnonzero(weights)
            X, y, weights = rows_of(X, kept), y[kept], weights[kept]
        with self._weighing(method):
            yield X, y, params | {"sample_weight": weights}

    def _name(self, classes: np.ndarray) -> None:
        """Set the labels of the classes here and in the object that makes the binary targets."""
        self.classes_ = classes
        if hasattr(self, "label_binarizer_"):
            self.label_binarizer_ = copy(self.label_binarizer_)
            self.label_binarizer_.classes_ = classes

    def _name_columns(self, X: Any) -> Self:
        """Set the names of the columns of the first rows; scikit-learn knows fewer tables."""
        vars(self).pop("feature_names_in_", None)
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. They take effect at the next fit.

        Parameters
        ----------
        **parameters : Any
            The new values, by name. `estimator__C` is the parameter `C` of the binary classifier.

        Returns
        -------
        OneVsRest or OneVsOne
            The model itself.
        """
        set_known(super().set_params, parameters)  # type: ignore[misc]
        return self

    @reads
    def score(self, X: Source, y: Labels, sample_weight: Weights | None = None) -> float:
        """Compute the accuracy: the share of rows with a correct prediction.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The rows to classify.
        y : array-like of shape (n,)
            The true labels.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows. None gives every row the weight 1.

        Returns
        -------
        float
            The accuracy, from 0 to 1.
        """
        predicted = self.predict(X)  # type: ignore[attr-defined]
        return accuracy_of(predicted, matched_labels(y, self.classes_), sample_weight)

    @contextmanager
    def _weighing(self, method: str) -> Iterator[None]:
        """Let the classifier request weights, unless the user has enabled metadata routing."""
        if get_config().get("enable_metadata_routing"):
            yield
            return
        given = self.estimator
        if "sample_weight" not in signature(getattr(given, method)).parameters:
            raise VerosimError(
                f"{type(given).__name__} does not accept sample_weight.",
                "Fit without weights, or enable scikit-learn's metadata routing and let the "
                "inner classifier request them.",
            )
        with config_context(enable_metadata_routing=True):
            self.estimator = clone(given)
            getattr(self.estimator, f"set_{method}_request")(sample_weight=True)
            try:
                yield
            finally:
                self.estimator = given

    def program(self) -> Program:
        """Raise an error: the scores of several binary classifiers are not a program.

        Returns
        -------
        Program
            Nothing is returned.

        Raises
        ------
        VerosimError
            Always. Each binary classifier has a program of its own.
        """
        raise no_program(
            f"{type(self).__name__} combines the decisions of separate binary classifiers",
            "Use the program of each classifier in estimators_, or LogisticRegression.",
        )

    def __sklearn_tags__(self) -> Any:
        check_kind("estimator", self.estimator, "BaseEstimator")  # its tags are read
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = False  # each row has exactly one class
        return tags

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimators_"):
            raise NotFitted.of(self)


def _decides(model: OneVsRest) -> bool:
    return hasattr(super(OneVsRest, model), "decision_function")


def _has_probabilities(model: OneVsRest) -> bool:
    return hasattr(super(OneVsRest, model), "predict_proba")


class OneVsRest(_Multiclass, OneVsRestClassifier):
    """One-versus-rest classification: one binary classifier per class, against all other rows.

    Class k claims the row x if its binary function y_k is positive:

        class k claims x if y_k(x) > 0,   predict = argmax_k y_k(x)

    With linear functions, each class claims a half-space. The half-spaces overlap and leave gaps.
    In the plane, three lines usually give one triangle that no class claims, and three regions that
    two classes claim. `ambiguous` finds such rows. `predict` uses the largest y_k. The functions
    are fitted to different problems, so their scales may differ.

    Parameters
    ----------
    estimator : estimator
        Any binary classifier of verosim or scikit-learn, or a regressor. The function y_k is its
        `decision_function`. If there is none, it is `predict_proba` of the second class − ½. For a
        regressor, it is the prediction − ½.
    n_jobs : int or None, default=None
        The number of binary problems that are fitted in parallel by joblib. None means 1 and −1
        means all cores.
    verbose : int, default=0
        The amount of progress output of joblib.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_classes_ : int
        The number of classes C.
    estimators_ : list of estimators
        The C fitted binary classifiers; one for two classes.
    label_binarizer_ : LabelBinarizer
        The scikit-learn object that makes the binary targets.
    multilabel_ : bool
        Whether the targets are multilabel. It is always False here.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2 (left).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim.twins.least_squares import LeastSquares
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsRest(LeastSquares()).fit(X, y)
    >>> model.claims(X[[0, 70, 100]])
    array([[ True, False, False],
           [False, False,  True],
           [False, False,  True]])
    >>> np.bincount(model.claims(X).sum(axis=1))  # rows by the number of classes that claim them
    array([ 19, 121,  10])
    >>> int(model.ambiguous(X).sum())
    29
    """

    def __init__(
        self, estimator: BaseEstimator, *, n_jobs: int | None = None, verbose: int = 0
    ) -> None:
        super().__init__(estimator, n_jobs=n_jobs, verbose=verbose)

    @reads
    def claims(self, X: Source) -> np.ndarray:
        """Which classes claim each row: y_k(x) > 0.

        Two classes share one function. Each of them claims its own side of the boundary.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of bool, of shape (n, C)
            Whether the class claims the row.
        """
        self._check_fitted()
        count_rows_of_numbers(self, X)
        functions = np.column_stack([binary_function(model, X) for model in self.estimators_])
        if len(self.classes_) == 2:
            functions = np.column_stack([-functions, functions])
        return functions > 0

    @checked
    def ambiguous(self, X: Source) -> np.ndarray:
        """Which rows are claimed by no class or by several classes.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of bool, of shape (n,)
            Whether the number of claims differs from one.
        """
        return self.claims(X).sum(axis=1) != 1

    @reads
    def predict(self, X: Source) -> np.ndarray:
        """Class with the largest function.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n,)
            The predicted labels.
        """
        return super().predict(self._rows(X))

    @available_if(_decides)
    @reads
    def decision_function(self, X: Source) -> np.ndarray:
        """Compute the function of each class, if the binary classifiers have a `decision_function`.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            The values. For two classes, the values of the second class.
        """
        return super().decision_function(self._rows(X))

    @available_if(_has_probabilities)
    @reads
    def predict_proba(self, X: Source) -> np.ndarray:
        """Compute probabilities, if the binary classifiers have `predict_proba`.

        The probability of the second class of each binary classifier, divided by their sum.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            The probabilities. They sum to one for each row.
        """
        return super().predict_proba(self._rows(X))

    def _rows(self, X: Any) -> Any:
        """Rows for scikit-learn, which counts them before it reads them."""
        self._check_fitted()
        count_rows_of_numbers(self, X)
        return plain_array(X)


class OneVsOne(_Multiclass, OneVsOneClassifier):
    """One-versus-one classification: one binary classifier per pair of classes.

    Each binary classifier gives a vote to one of its two classes:

        v_k(x) = #{j ≠ k: y_kj(x) > 0},   predict = argmax_k v_k(x)

    where y_kj is the function of the pair of classes k and j, positive for class k, and v_k is the
    number of votes for class k. With linear functions, three boundaries in the plane that do not
    meet in one point enclose a triangle. In this triangle each class has one vote. `ambiguous`
    finds the rows in which several classes have the most votes. `predict` then uses the sums of the
    functions, as scikit-learn does.

    Parameters
    ----------
    estimator : estimator
        Any binary classifier of verosim or scikit-learn that reads arrays of numbers, or a
        regressor. The function of a pair is its `decision_function`. If there is none, it is
        `predict_proba` of the second class − ½. For a regressor, it is the prediction − ½.
    n_jobs : int or None, default=None
        The number of binary problems that are fitted in parallel by joblib. None means 1 and −1
        means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_classes_ : int
        The number of classes C.
    estimators_ : tuple of estimators
        The C(C − 1)/2 fitted binary classifiers, for the pairs (0, 1), (0, 2), …, (1, 2), …
    pairwise_indices_ : tuple of ndarray or None
        The training rows of each pair, if the classifier reads a kernel matrix; otherwise None.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2 (right).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim.twins.least_squares import LeastSquares
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsOne(LeastSquares()).fit(X, y)
    >>> model.votes(X[[0, 70, 100]])
    array([[2, 1, 0],
           [0, 1, 2],
           [0, 1, 2]])
    >>> int(model.ambiguous(X).sum()), int((model.predict(X) != y).sum())
    (0, 3)
    """

    _sequence = tuple

    def __init__(self, estimator: BaseEstimator, *, n_jobs: int | None = None) -> None:
        super().__init__(estimator, n_jobs=n_jobs)

    @reads
    def votes(self, X: Source) -> np.ndarray:
        """Number of votes for each class, v_k(x) = #{j ≠ k: y_kj(x) > 0}.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of int, of shape (n, C)
            The votes. They sum to C(C − 1)/2 for each row.
        """
        return self._tally(X)[0]

    @checked
    def ambiguous(self, X: Source) -> np.ndarray:
        """Which rows have several classes with the largest number of votes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of bool, of shape (n,)
            Whether two or more classes have the most votes.
        """
        votes = self.votes(X)
        return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1

    @reads
    def decision_function(self, X: Source) -> np.ndarray:
        """Votes of each class, with the sum of its functions as a tie-breaker.

            v_k(x) + s_k / (3 (|s_k| + 1)),   s_k = Σ_j y_kj(x)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            The values. For two classes, the values of the second class.
        """
        votes, sums = self._tally(X)
        values = votes + sums / (3 * (np.abs(sums) + 1))
        return values[:, 1] if len(self.classes_) == 2 else values

    @reads
    def predict(self, X: Source) -> np.ndarray:
        """Class with the most votes; a tie goes to the largest sum of functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n,)
            The predicted labels.
        """
        values = self.decision_function(X)
        chosen = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp)]

    def _tally(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) the votes, and (n, C) the sums Σ_j y_kj(x)."""
        self._check_fitted()
        count_rows_of_numbers(self, X)
        check_features(self, X)
        X = validate_data(
            self, plain_array(X), accept_sparse=True, ensure_all_finite=False, reset=False
        )
        votes = np.zeros((X.shape[0], len(self.classes_)), dtype=np.int64)
        sums = np.zeros(votes.shape)
        pairs = combinations(range(len(self.classes_)), 2)
        # A classifier on a kernel matrix reads the columns of its own training rows.
        read = self.pairwise_indices_ or [None] * len(self.estimators_)
        for (i, j), model, at in zip(pairs, self.estimators_, read, strict=True):
            values = binary_function(model, X if at is None else X[:, at])
            values = np.clip(values, -LARGEST_FUNCTION, LARGEST_FUNCTION)  # so that sums are finite
            votes[:, j] += values > 0
            votes[:, i] += ~(values > 0)
            sums[:, j] += values
            sums[:, i] -= values
        return votes, sums
