"""Several classes from binary classifiers, and the regions where their answers do not fit together.

    one-versus-rest:  k claims x iff y_k(x) > 0;         ambiguous: no claim, or more than one
    one-versus-one:   v_k(x) = #{j ≠ k: y_kj(x) > 0};    ambiguous: the most votes are shared

K linear functions with predict = argmax_k y_k(x), as LeastSquares, LDA and softmax regression have
them, leave no such region: every x has a largest y_k, and the regions of the classes are convex.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone, is_regressor
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.utils.validation import has_fit_parameter, validate_data

from verosim.data import as_weights, encode_labels
from verosim.errors import VerosimError
from verosim.estimators.base import NotFitted
from verosim.estimators.checks import only_one_class
from verosim.folds.inputs import one_column
from verosim.twins.comparison.resampling import rows_of


def binary_function(estimator: Any, X: Any) -> np.ndarray:
    """(n,) y(x) of a fitted binary classifier, positive on the side of its second class."""
    if is_regressor(estimator):  # of the targets 0 and 1
        return np.ravel(estimator.predict(X)) - 0.5
    if hasattr(estimator, "decision_function"):
        return np.ravel(estimator.decision_function(X))
    return estimator.predict_proba(X)[:, 1] - 0.5


class _Multiclass:
    """Weights for the binary classifiers, which scikit-learn's wrappers keep to themselves."""

    estimator: Any
    estimators_: Any
    classes_: np.ndarray  # (C,)

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit one binary classifier after another.

        Parameters
        ----------
        X : (n, d) whatever the classifier reads
        y : (n,) labels
        sample_weight : (n,) weights, if the classifier takes them; rows of weight zero do not count
        fit_params : more, for scikit-learn's metadata routing where it is enabled
        """
        y = one_column(y)
        if fit_params.get("sample_weight") is None:
            fit_params.pop("sample_weight", None)
            self._check_classes(y)
            return super().fit(X, y, **fit_params)  # type: ignore[misc]
        weights = as_weights(fit_params["sample_weight"], len(y))
        if not weights.all():
            kept = np.flatnonzero(weights)
            X, y, weights = rows_of(X, kept), y[kept], weights[kept]
        self._check_classes(y, " of a sample_weight above 0")
        with self._weighing():
            return super().fit(X, y, **fit_params | {"sample_weight": weights})  # type: ignore[misc]

    @contextmanager
    def _weighing(self) -> Iterator[None]:
        """The classifier asks for weights, unless the user routes metadata and has decided that."""
        if get_config().get("enable_metadata_routing"):
            yield
            return
        given = self.estimator
        if not has_fit_parameter(given, "sample_weight"):
            raise VerosimError(
                f"{type(given).__name__} takes no sample_weight.",
                "fit without weights, or enable scikit-learn's metadata routing and let the "
                "classifier inside request them.",
            )
        with config_context(enable_metadata_routing=True):
            self.estimator = clone(given).set_fit_request(sample_weight=True)
            try:
                yield
            finally:
                self.estimator = given

    def _check_classes(self, y: np.ndarray, which: str = "") -> None:
        classes = encode_labels(y)[1]
        if len(classes) == 1:
            raise only_one_class(type(self).__name__, len(y), classes[0], which)

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimators_"):
            raise NotFitted.of(self)


class OneVsRest(_Multiclass, OneVsRestClassifier):
    """One binary classifier for each class, against all other rows.

    k claims x iff y_k(x) > 0,   predict = argmax_k y_k(x)

    Linear functions give each class a half-space. They overlap and leave gaps: in the plane three
    lines commonly cut out a triangle that no class claims, and three wedges that two do.
    `ambiguous` finds such rows; `predict` settles them by the largest y_k, though each was fitted
    to a problem of its own and their scales need not agree. Where claims alone decide, K − 1
    functions and a default class would do; K are in common use.

    Parameters
    ----------
    estimator : any binary classifier: verosim's, or one with scikit-learn's interface. It decides
        by the sign of its `decision_function`, by `predict_proba` − ½ if it has none; a regressor
        by its value − ½
    n_jobs, verbose : as in scikit-learn's OneVsRestClassifier, which does the fitting

    Attributes
    ----------
    classes_ : (C,)
    estimators_ : the C binary classifiers; a single one for two classes

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

    def claims(self, X: Any) -> np.ndarray:
        """(n, C) bool: which classes claim a row, their function being positive there.

        Two classes share one function, and claim what is on their side of its boundary.
        """
        self._check_fitted()
        functions = np.column_stack([binary_function(model, X) for model in self.estimators_])
        if len(self.classes_) == 2:
            functions = np.column_stack([-functions, functions])
        return functions > 0

    def ambiguous(self, X: Any) -> np.ndarray:
        """(n,) bool: whether no class claims the row, or more than one."""
        return self.claims(X).sum(axis=1) != 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False  # one class a row, or nothing would be ambiguous
        return tags


class OneVsOne(_Multiclass, OneVsOneClassifier):
    """One binary classifier for each pair of classes; each gives its row to one of the two.

    v_k(x) = #{j ≠ k: y_kj(x) > 0},   predict = argmax_k v_k(x)

    With linear functions, three boundaries in the plane that do not meet in a point cut out a
    triangle where the classes beat each other in a circle and each has one vote. `ambiguous` finds
    the rows whose most votes are shared; `predict` settles them by the sums of the functions, as
    scikit-learn does.

    Parameters
    ----------
    estimator : any binary classifier of arrays, as in :class:`OneVsRest`; rows of texts are checked
        as arrays are, and refused
    n_jobs : as in scikit-learn's OneVsOneClassifier, which does the fitting

    Attributes
    ----------
    classes_ : (C,)
    estimators_ : the C(C − 1)/2 binary classifiers, of classes (0, 1), (0, 2), …, (1, 2), …

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

    def votes(self, X: Any) -> np.ndarray:
        """(n, C) int: how many of its pairs each class wins. A row's votes are C(C − 1)/2."""
        return self._tally(X)[0]

    def ambiguous(self, X: Any) -> np.ndarray:
        """(n,) bool: whether the largest number of votes is shared."""
        votes = self.votes(X)
        return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, C) votes, and within ±⅓ of them the sums of the functions; (n,) for two classes."""
        votes, sums = self._tally(X)
        values = votes + sums / (3 * (np.abs(sums) + 1))
        return values[:, 1] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the classes with the most votes; among those, with the largest sum of functions."""
        values = self.decision_function(X)
        chosen = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp)]

    def _tally(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) votes, and (n, C) Σ_j y_kj(x)."""
        self._check_fitted()
        X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=False)
        votes = np.zeros((X.shape[0], len(self.classes_)), dtype=np.int64)
        sums = np.zeros(votes.shape)
        pairs = combinations(range(len(self.classes_)), 2)
        # A classifier by kernel values reads those of its own training rows.
        read = self.pairwise_indices_ or [None] * len(self.estimators_)
        for (i, j), model, at in zip(pairs, self.estimators_, read, strict=True):
            values = binary_function(model, X if at is None else X[:, at])
            votes[:, j] += values > 0
            votes[:, i] += ~(values > 0)
            sums[:, j] += values
            sums[:, i] -= values
        return votes, sums
