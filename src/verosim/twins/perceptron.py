"""The perceptron: θ moves towards a row when it gets the row wrong, and only then.

    y(x) = θᵀφ(x);   t y(x) ≤ 0:  θ ← θ + η t φ(x);   J(θ) = −Σ_{mistakes} t θᵀφ(x)

It ends after at most (R/γ)² mistakes if a unit θ parts the classes by γ and ‖φ‖ ≤ R (Novikoff), and
never if none parts them. Several classes have a function each: on a mistake θ_y ← θ_y + η φ and
θ_ŷ ← θ_ŷ − η φ, with ŷ the best of the others. Reference: Rosenblatt (1958), The perceptron: a
probabilistic model for information storage and organization in the brain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.bayes.rule import Decision
from verosim.data import SparseRows, as_matrix
from verosim.data.labels import check_known
from verosim.data.names import feature_names
from verosim.data.sources import as_block
from verosim.errors import ConvergenceWarning, warn
from verosim.estimators.checks import check_features, generator
from verosim.linalg import padded
from verosim.models.settings import finite, whole
from verosim.twins.features import as_given, feature_map, is_named_map
from verosim.twins.linear import LinearClassifier
from verosim.twins.training_rows import (
    TrainingRows,
    check_finite,
    check_two_classes,
    row_arrays,
    training_rows,
)


@dataclass
class _Course:
    """Where learning stands: the weights, their sum for the mean, and what decides the order."""

    theta: np.ndarray  # (1 or C, d + 1), the intercept last
    late: np.ndarray  # the same, Σ c Δ
    seen: int  # rows, once for each epoch
    seed: np.uint64

    def mean(self) -> np.ndarray:
        """(1 or C, d + 1) the mean of θ after every row."""
        return self.theta - self.late / max(self.seen, 1)

    def run(
        self, rows: TrainingRows, epochs: int, eta: float, bias: float, shuffle: bool
    ) -> tuple[list[int], list[float]]:
        """Mistakes and criterion of each epoch, the last of which may be without a mistake."""
        n, C, X = len(rows), len(rows.classes), rows.X
        sparse = isinstance(X, SparseRows)
        order = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        targets = np.where(rows.codes == 1, 1.0, -1.0) if C == 2 else rows.codes
        theta, late = self.theta, self.late
        if C == 2:
            theta, late = theta[0], late[0]
        elif sparse:  # (d + 1, lanes): a cell meets all classes at once
            theta, late = padded(theta.T), padded(late.T)
        mistakes, criterion = [], []
        for _ in range(epochs):
            if shuffle:
                self.seed = np.uint64(kernels.shuffle(order, n, self.seed))
            given = (targets, rows.weights, order, eta, bias)
            if C == 2:
                epoch = kernels.perceptron_epoch
                wrong, J = epoch(*row_arrays(X), *given, theta, late, self.seen)
            elif isinstance(X, SparseRows):
                epoch = kernels.perceptron_classes_epoch_sparse
                wrong, J = epoch(*row_arrays(X), *given, C, theta, late, self.seen)
            else:
                epoch = kernels.perceptron_classes_epoch
                wrong, J = epoch(X, *given, theta, late, self.seen)
            self.seen += n
            mistakes.append(wrong)
            criterion.append(J)
            if wrong == 0:
                break
        if sparse and C > 2:
            self.theta = np.ascontiguousarray(theta[:, :C].T)
            self.late = np.ascontiguousarray(late[:, :C].T)
        return mistakes, criterion


class Perceptron(LinearClassifier):
    """Perceptron with a feature map, for two classes or several.

        t θᵀφ(x) ≤ 0:  θ ← θ + η t φ(x)

    A row on the boundary counts as a mistake. Several classes have a linear function each; where
    the best of the others reaches the row's own class, the two take the row with opposite signs.
    Learning ends with the first epoch without a mistake, which comes if and only if φ parts the
    classes, or after `max_iter` epochs, with a warning. The last θ is kept, however it did;
    `averaged=True` keeps the mean over all rows of all epochs, which settles on classes that
    overlap.

    Parameters
    ----------
    features : None, the columns as they are; "polynomial", with all products of two; "fourier",
        300 random waves that stand for a Gaussian kernel on standardised columns; or any
        transformer of scikit-learn's, such as PolynomialFeatures(3)
    averaged : keep the mean of θ instead of the last
    max_iter : most epochs
    shuffle : visit the rows in a new random order each epoch
    eta : η, the size of a step
    fit_intercept : whether φ has a constant
    random_state : decides the order of the rows and the waves of "fourier"

    Attributes
    ----------
    coef_ : (C, D) over the features, or (1, D) for two classes
    intercept_ : (C,) or (1,)
    mistakes_ : (epochs,) mistakes made on the way through each epoch
    criterion_ : (epochs,) J = −Σ t θᵀφ over them, each measured before its update; of several
        classes Σ (θ_ŷ − θ_y)ᵀφ
    converged_ : whether the last epoch was without a mistake
    n_iter_ : epochs
    features_ : the fitted feature map, or None
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn, over the columns of X

    `partial_fit` is one epoch more, over the rows given. There rows may have weights, which scale
    their updates; a row of weight two is not the same as the row twice, so `fit` takes none.

    References
    ----------
    Rosenblatt (1958), The perceptron. Novikoff (1962), On convergence proofs for perceptrons.
    Freund & Schapire (1999), Large margin classification using the perceptron algorithm.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = Perceptron(features="polynomial", random_state=0).fit(X, y)
    >>> model.predict(X).tolist(), model.converged_
    ([0, 1, 1, 0], True)
    """

    mistakes_: np.ndarray
    criterion_: np.ndarray
    converged_: bool
    n_iter_: int
    features_: Any
    _course: _Course
    _columns: Columns

    def __init__(
        self,
        features: Any = None,
        *,
        averaged: bool = False,
        max_iter: int = 100,
        shuffle: bool = True,
        eta: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.averaged = averaged
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.eta = eta
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    # Learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Epochs from θ = 0 until one is without a mistake, or there were `max_iter`."""
        self._check()
        rows, columns = self._begin(X, y, None, None)
        self._learn(rows, columns, int(self.max_iter))
        if not self.converged_:
            last = int(self.mistakes_[-1])
            other = "averaged=True keeps the mean of θ, which settles" if not self.averaged else (
                "the mean of θ was kept, which settles all the same"
            )  # fmt: skip
            warn(
                f"Perceptron stopped at max_iter={self.max_iter} with {last:,} "
                f"mistake{'s' if last != 1 else ''} in the last epoch over {len(rows):,} rows. On "
                f"classes that no boundary parts it goes on for ever: {other}; features=… bends "
                "the boundary; a larger max_iter helps if they can be parted.",
                ConvergenceWarning,
            )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over these rows; `classes` names all that will come, at the first call."""
        self._check()
        if not self.__sklearn_is_fitted__():
            rows, columns = self._begin(X, y, sample_weight, classes)
        else:
            if classes is not None:
                check_known(np.unique(np.asarray(classes)), self.classes_)
            check_features(self, X)
            rows, _ = self._rows(X, y, sample_weight, known=self.classes_)
            check_known(rows.classes, self.classes_)
            columns = self._columns
        self._learn(rows, columns, 1)
        return self

    def _begin(
        self, X: Any, y: Any, sample_weight: Any, classes: Any
    ) -> tuple[TrainingRows, Columns]:
        """The rows, θ = 0 and a feature map fitted to them; and the columns of X."""
        rng = generator(self.random_state)
        seed, waves = int(rng.integers(1 << 62)), int(rng.integers(1 << 31))
        self.features_ = feature_map(self.features, waves)
        rows, columns = self._rows(X, y, sample_weight, declared=classes)
        if classes is None or len(rows.classes) < 2:
            check_two_classes(type(self).__name__, rows.codes, rows.classes)
        shape = (1 if len(rows.classes) == 2 else len(rows.classes), rows.X.shape[1] + 1)
        late = np.zeros(shape if self.averaged else (shape[0], 0))
        self._course = _Course(np.zeros(shape), late, 0, np.uint64(2 * seed + 1))
        self.mistakes_, self.criterion_ = np.empty(0, np.int64), np.empty(0)
        return rows, columns

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, known: Any = None, declared: Any = None
    ) -> tuple[TrainingRows, Columns]:
        """The rows in features, and the columns of X. The map is fitted where no class is known."""
        phi = self.features_
        if is_named_map(self.features):  # they read numbers, so X is checked before it is mapped
            rows = training_rows(self, X, y, sample_weight, known, declared)
            if phi is None:
                return rows, rows.columns
            given = as_given(rows.X)
            mapped = phi.fit_transform(given) if known is None else phi.transform(given)
            block = as_block(as_matrix(mapped, sparse_allowed=True))
            inner = replace(rows, X=block, columns=Columns(block.shape[1]))
            check_finite(inner.X, inner.columns)
            return inner, rows.columns
        names = feature_names(X)
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])
        mapped = phi.fit_transform(X, y) if known is None else phi.transform(X)
        rows = training_rows(self, mapped, y, sample_weight, known, declared)
        return rows, Columns(width, None if names is None else tuple(names.tolist()))

    def _learn(self, rows: TrainingRows, columns: Columns, epochs: int) -> Self:
        course = self._course
        mistakes, criterion = course.run(
            rows, epochs, float(self.eta), float(self.fit_intercept), self.shuffle
        )
        self.mistakes_ = np.append(self.mistakes_, mistakes)
        self.criterion_ = np.append(self.criterion_, criterion)
        self.n_iter_ = len(self.mistakes_)
        self.converged_ = bool(self.mistakes_[-1] == 0)
        W = course.mean() if course.late.size else course.theta.copy()
        self.set_weights(
            rows.classes, rows.columns, np.ascontiguousarray(W[:, :-1]), W[:, -1].copy()
        )
        self.set_columns(columns)
        self._columns = columns
        return self

    def _check(self) -> None:
        whole("max_iter", self.max_iter, least=1)
        finite("eta", self.eta, float(np.finfo(float).tiny))

    # Predicting ------------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Decision, Any]:
        if not self.__sklearn_is_fitted__() or self.features_ is None:
            return super().opened_to_score(X)
        check_features(self, X)
        if is_named_map(self.features):
            rows = as_matrix(X, sparse_allowed=True, names=self._columns.names)
            check_finite(rows, self._columns)
            X = as_given(rows)
        return self._decision, as_matrix(self.features_.transform(X), sparse_allowed=True)
