"""The perceptron: the weights θ change only if the prediction for a row is wrong.

    y(x) = θᵀφ(x);   t y(x) ≤ 0:  θ ← θ + η t φ(x);   J(θ) = −Σ_{mistakes} t θᵀφ(x)

Here φ are the features, t = ±1 is the class and η is the step size. If a unit vector θ separates
the classes with margin γ and ‖φ‖ ≤ R, there are at most (R/γ)² mistakes (Novikoff). If no θ
separates them, learning does not end. With several classes, each class has its own function. After
a mistake, θ_y ← θ_y + η φ and θ_ŷ ← θ_ŷ − η φ, where ŷ is the best of the other classes.
Reference: Rosenblatt (1958), The perceptron: a probabilistic model for information storage and
organization in the brain.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin

from verosim import kernels
from verosim.arguments import finite, whole
from verosim.axes import Columns
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Decision
from verosim.data import SparseRows, as_matrix, encode_labels
from verosim.data.clusters import check_is_here
from verosim.data.labels import check_known
from verosim.data.names import feature_names
from verosim.data.sources import as_block, unlabelled
from verosim.densities.terms import Term
from verosim.errors import ConvergenceWarning, warn
from verosim.estimators.checks import check_features, generator
from verosim.estimators.one_state import updates
from verosim.linalg import padded
from verosim.twins.features import as_given, feature_map, is_named_map, mapped_terms
from verosim.twins.linear import LinearClassifier
from verosim.twins.training_rows import (
    TrainingRows,
    check_finite,
    check_two_classes,
    row_arrays,
    training_rows,
)

if TYPE_CHECKING:
    from verosim.typing import Labels, RandomState, Source, Weights


@dataclass
class PerceptronCourse:
    """The state of learning: the weights, the sum for their mean, and the seed of the order."""

    theta: np.ndarray  # (1 or C, d + 1), the intercept is last
    late: np.ndarray  # (1 or C, d + 1) Σ c Δ, where c rows were seen before the change Δ of θ
    seen: int  # rows seen, counted once per epoch
    seed: np.uint64

    def mean(self) -> np.ndarray:
        """(1 or C, d + 1) the mean over rows of the θ after each row."""
        return self.theta - self.late / max(self.seen, 1)

    def run(
        self, rows: TrainingRows, epochs: int, eta: float, bias: float, shuffle: bool
    ) -> tuple[list[int], list[float]]:
        """Run epochs until one has no mistake; return the mistakes and the criterion of each."""
        n, C, X = len(rows), len(rows.classes), rows.X
        sparse = isinstance(X, SparseRows)
        order = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        targets = np.where(rows.codes == 1, 1.0, -1.0) if C == 2 else rows.codes
        theta, late = self.theta, self.late
        if C == 2:
            theta, late = theta[0], late[0]
        elif sparse:  # (d + 1, lanes): one cell updates all classes at once
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
    """Perceptron with an optional feature map, for two or more classes.

    The weights change after each mistake:

        if t θᵀφ(x) ≤ 0:  θ ← θ + η t φ(x)

    where φ(x) are the features of a row, t = ±1 is its class, θ are the weights and η is the step
    size. A row on the boundary counts as a mistake. With several classes, each class has its own
    linear function. If the best of the other classes reaches the score of the true class, η φ(x) is
    added to the weights of the true class and subtracted from those of the other class.

    Learning ends after the first epoch without a mistake. Such an epoch comes if and only if a
    linear function of the features separates the classes. Otherwise learning stops after `max_iter`
    epochs, with a warning. The last weights are kept. With `averaged=True` the mean of the weights
    over all rows and epochs is kept instead, which is stable if the classes overlap.

    `fit` accepts no weights, because a row of weight two is not the same as two equal rows.
    `partial_fit` accepts weights, which scale the updates.

    Parameters
    ----------
    features : {"polynomial", "fourier"}, transformer or None, default=None
        The feature map. None uses the columns. "polynomial" adds all products of two columns.
        "fourier" uses 300 random Fourier features, which approximate a Gaussian kernel on scaled
        columns. A scikit-learn transformer, such as `PolynomialFeatures(3)`, is fitted by `fit`.
    averaged : bool, default=False
        Whether to keep the mean of the weights instead of the last weights.
    max_iter : int, default=100
        The largest number of epochs.
    shuffle : bool, default=True
        Whether to visit the rows in a new random order in each epoch.
    eta : float, default=1.0
        The step size η.
    fit_intercept : bool, default=True
        Whether the functions have intercepts.
    random_state : int, Generator, RandomState or None, default=None
        The seed for the order of the rows and for the frequencies of "fourier". None uses new
        randomness in each call.

    Attributes
    ----------
    coef_ : ndarray of shape (C, D), or (1, D) for two classes
        The weights of the D features.
    intercept_ : ndarray of shape (C,), or (1,) for two classes
        The intercepts.
    mistakes_ : ndarray of int, of shape (n_iter,)
        The number of mistakes in each epoch.
    criterion_ : ndarray of shape (n_iter,)
        The criterion J = −Σ t θᵀφ over the mistakes of each epoch, measured before each update. For
        several classes it is Σ (θ_ŷ − θ_y)ᵀφ, where y is the true class and ŷ is the other class.
    converged_ : bool
        Whether the last epoch had no mistake.
    n_iter_ : int
        The number of epochs.
    features_ : transformer or None
        The fitted feature map.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Rosenblatt (1958), The perceptron: a probabilistic model for information storage and
    organization in the brain, Psychological Review 65, 386–408.
    Novikoff (1962), On convergence proofs for perceptrons, Symposium on the Mathematical Theory of
    Automata 12, 615–622.
    Freund & Schapire (1999), Large margin classification using the perceptron algorithm, Machine
    Learning 37, 277–296.

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
    _course: PerceptronCourse
    _columns: Columns

    def __init__(
        self,
        features: Literal["polynomial", "fourier"] | TransformerMixin | None = None,
        *,
        averaged: bool = False,
        max_iter: int = 100,
        shuffle: bool = True,
        eta: float = 1.0,
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.features = features
        self.averaged = averaged
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.eta = eta
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    # Learning ------------------------------------------------------------------------------

    @updates
    def fit(self, X: Source, y: Labels) -> Self:
        """Start from θ = 0 and run epochs until one has no mistake, at most `max_iter`.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows, in a form that the feature map reads.
        y : array-like of shape (n,)
            The labels.

        Returns
        -------
        Perceptron
            The fitted model itself.
        """
        check_is_here(X, "Perceptron")
        self._check()
        rows, columns = self._begin(X, y, None, None)
        self._learn(rows, columns, int(self.max_iter))
        if not self.converged_:
            last = int(self.mistakes_[-1])
            other = "Use averaged=True for stable weights, use" if not self.averaged else (
                "The mean of the weights is kept, which is stable; use"
            )  # fmt: skip
            warn(
                f"Perceptron stopped at max_iter={self.max_iter} with {last:,} "
                f"mistake{'s' if last != 1 else ''} in the last epoch over {len(rows):,} rows. "
                f"{other} features=… for a curved boundary, or raise max_iter if the classes are "
                "separable.",
                ConvergenceWarning,
            )
        return self

    @updates
    def partial_fit(
        self,
        X: Source,
        y: Labels,
        classes: Labels | None = None,
        sample_weight: Weights | None = None,
    ) -> Self:
        """Run one more epoch over the given rows, starting from the present weights.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows. The first call also fits the feature map.
        y : array-like of shape (n,)
            The labels.
        classes : array-like or None, default=None
            All labels that will occur in later calls. It is needed in the first call if the first
            rows do not have all classes.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors for the updates of the rows. None gives each row the factor 1.

        Returns
        -------
        Perceptron
            The fitted model itself.
        """
        self._check()
        if not self.__sklearn_is_fitted__():
            rows, columns = self._begin(X, y, sample_weight, classes)
        else:
            if classes is not None:
                check_known(encode_labels(classes)[1], self.classes_)
            check_features(self, X)
            rows, _ = self._rows(X, y, sample_weight, known=self.classes_)
            check_known(rows.classes, self.classes_)
            columns = self._columns
        self._learn(rows, columns, 1)
        return self

    def _begin(
        self, X: Any, y: Any, sample_weight: Any, classes: Any
    ) -> tuple[TrainingRows, Columns]:
        """Set θ = 0 and fit the feature map; return the rows in features and the columns of X."""
        rng = generator(self.random_state)
        seed, waves = int(rng.integers(1 << 62)), int(rng.integers(1 << 31))
        self.features_ = feature_map(self.features, waves)
        rows, columns = self._rows(X, y, sample_weight, declared=classes)
        if classes is None or len(rows.classes) < 2:
            check_two_classes(type(self).__name__, rows.codes, rows.classes)
        shape = (1 if len(rows.classes) == 2 else len(rows.classes), rows.X.shape[1] + 1)
        late = np.zeros(shape if self.averaged else (shape[0], 0))
        self._course = PerceptronCourse(np.zeros(shape), late, 0, np.uint64(2 * seed + 1))
        self.mistakes_, self.criterion_ = np.empty(0, np.int64), np.empty(0)
        return rows, columns

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, known: Any = None, declared: Any = None
    ) -> tuple[TrainingRows, Columns]:
        """The rows in features and the columns of X. The first call also fits the feature map."""
        phi = self.features_
        if is_named_map(self.features):  # built-in maps read numbers, so X is checked first
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
        course = self._course = deepcopy(self._course)  # the kernels change it in place
        mistakes, criterion = course.run(
            rows, epochs, float(self.eta), float(self.fit_intercept), self.shuffle
        )
        self.mistakes_ = np.append(self.mistakes_, mistakes)
        self.criterion_ = np.append(self.criterion_, criterion)
        self.n_iter_ = len(self.mistakes_)
        self.converged_ = bool(self.mistakes_[-1] == 0)
        W = course.mean() if course.late.size else course.theta.copy()
        self.set_weights(
            rows.classes, rows.columns, np.ascontiguousarray(W[:, :-1]), W[:, -1].copy(),
            rows.mean(),
        )  # fmt: skip
        self.set_columns(columns)
        self._columns = columns
        return self

    def _check(self) -> None:
        whole("max_iter", self.max_iter, least=1)
        finite("eta", self.eta, float(np.finfo(float).tiny))

    # Predicting ------------------------------------------------------------------------------

    @property
    def scores_columns(self) -> bool:  # type: ignore[override]
        """Whether the scores are functions of the columns themselves, without a feature map."""
        return self.features_ is None

    def program_terms(self) -> tuple[Columns, tuple[Term, ...]]:
        """The columns that the program reads, and its terms.

        Returns
        -------
        columns : Columns
            The columns of X.
        terms : tuple of Term
            The terms.
        """
        scores = self._decision.params
        assert isinstance(scores, LinearScores)
        if self.features_ is None:
            return super().program_terms()
        return self._columns, mapped_terms(self.features, self.features_, scores.all_weights)

    def opened_to_score(self, X: Source) -> tuple[Decision, Any]:
        """Check X and compute the features of its rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        decision : Decision
            The decision rule of the fitted model.
        rows : source
            The features of the rows.
        """
        if not self.__sklearn_is_fitted__() or self.features_ is None:
            return super().opened_to_score(X)
        check_features(self, X)
        if is_named_map(self.features):
            rows = as_matrix(X, sparse_allowed=True, names=self._columns.names)
            check_finite(rows, self._columns)
            X = as_given(rows)
        features = as_matrix(self.features_.transform(X), sparse_allowed=True)
        return self._decision, unlabelled(features)
