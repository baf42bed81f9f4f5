"""What all Gaussian classifiers show, and the two with diagonal covariances."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim.axes import Axes, Groups
from verosim.bayes.boundary import Quadratic, boundary
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Rule
from verosim.data import ArraySource, SparseRows
from verosim.data.labels import check_known
from verosim.data.stream import TableSource
from verosim.densities import DiagonalGaussian, LinearForm
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.distance import Weighted
from verosim.estimators.parameters import finite, one_of
from verosim.estimators.robust import NeedsAllRows, check_all_rows_count, screened
from verosim.stats import Moments


def _mahalanobis(rule: Rule, rows: Any) -> np.ndarray:
    params: Any = rule.params
    out = np.empty((rows.shape[0], len(rule.log_prior)))

    def work(start: int, stop: int) -> None:
        block, part = params.read(rows[start:stop]), out[start:stop]
        pieces = block.dense_blocks() if isinstance(block, SparseRows) else [(slice(None), block)]
        for at, dense in pieces:
            with np.errstate(over="ignore", invalid="ignore"):
                part[at] = params.mahalanobis(dense)
            params.check(dense, part[at], rule.columns, start + (at.start or 0))

    map_rows(work, rows)
    return out


class GaussianClassifier(GenerativeClassifier):
    """Means, covariances, distances and boundaries."""

    covariance: str
    shrinkage: Any
    floor: float
    robust: bool
    _statistic_parameters = ("robust",)
    _holes = True  # whether rows may have missing cells

    def _check_gaussian(self) -> None:
        if not isinstance(self.robust, bool | np.bool_):
            raise VerosimError(f"robust={self.robust!r} is not known.", "True or False.")
        one_of("covariance", self.covariance, ("mle", "unbiased"))
        finite("floor", self.floor, least=0)
        if isinstance(self.shrinkage, str):
            one_of("shrinkage", self.shrinkage, ("ledoit_wolf", "oas", "cv"))
        elif self.shrinkage is not None:
            finite("shrinkage", self.shrinkage, 0, 1)

    # Without outliers, where `robust` asks for it -----------------------------------------

    def _screened(
        self, source: ArraySource | TableSource, groups: Groups
    ) -> ArraySource | TableSource:
        return screened(source, groups, self._holes) if self.robust else source

    partial_fit = NeedsAllRows(GenerativeClassifier.partial_fit)
    forget = NeedsAllRows(GenerativeClassifier.forget)

    def merge(self, other: GenerativeClassifier) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        for model in (self, other):
            check_all_rows_count(model, "merge")
        return super().merge(other)

    # What it shows ------------------------------------------------------------------------

    @property
    def shrinkage_(self) -> Any:
        """The shrinkage in use: the setting, or what `fit` chose for "cv"."""
        self._fitted("shrinkage_")
        return self._shrink()

    def _shrink(self) -> Any:
        return self._asked("shrinkage")

    @property
    def means_(self) -> np.ndarray:
        """(C, d) class means."""
        self._fitted("means_")
        return self._params.means

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances in use: (C, d, d), shared (d, d); diagonals (C, d), shared (d,)."""
        self._fitted("covariances_")
        return self._params.covariances()

    def mahalanobis(self, X: Any) -> np.ndarray:
        """(n, C) Mahalanobis distance of every row to every class mean, not squared."""
        return self._scores(X, _mahalanobis)

    def boundary(self, i: Any, j: Any) -> Quadratic:
        """Where classes i and j (labels) tie, as the equation δ_i(x) − δ_j(x) = 0."""
        self._current()
        wanted = np.empty(2, dtype=object)
        wanted[:] = [i, j]
        check_known(wanted, self.classes_)
        self._check_has_rows(wanted)
        labels = self.classes_.tolist()
        return boundary(
            self._rule.params, self._rule.log_prior, labels.index(i), labels.index(j),
            tuple(self.stats_.axes.columns),
        )  # fmt: skip


class LinearMixin(Weighted):
    """Weights for people. Predictions do not go through them: see `Located.linear`."""

    _rule: Any

    @property
    def _linear(self) -> LinearScores:
        self._fitted("coef_")  # type: ignore[attr-defined]
        pivot, centre, _ = self._rule.params.reference
        coef, bias = self._rule.params.linear
        return LinearScores(LinearForm(pivot, centre, coef, bias + self._rule.log_prior))


class DiagonalClassifier(GaussianClassifier):
    """Independent columns within a class."""

    _sparse = True
    _family = "diagonal"
    _shared = False

    def __init__(
        self,
        priors: Any = None,
        covariance: str = "mle",
        shrinkage: float | str | None = None,
        floor: float = 1e-9,
        robust: bool = False,
    ) -> None:
        self.priors = priors
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.floor = floor
        self.robust = robust

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Moments:
        return Moments(axes, layout="diagonal")

    def _density(self) -> DiagonalGaussian:
        self._check_gaussian()
        return DiagonalGaussian(self._shared, self.covariance, self._shrink(), self.floor)


class GaussianNB(DiagonalClassifier):
    """Gaussian naive Bayes: independent Gaussians, one variance per class and column.

    δ_k(x) = log π_k − ½ Σ_j [ log 2πσ²_kj + (x_j − μ_kj)²/σ²_kj ]

    Missing cells (NaN) are skipped at fit and marginalised at predict. Sparse rows are read as
    they are.

    Parameters
    ----------
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label
    covariance : "mle" divides by n_k, "unbiased" by n_k − 1
    shrinkage : None, a share a of the mean variance, "ledoit_wolf" or "oas" (for a diagonal both
        are the same Gaussian optimum), or "cv": chosen by held-out log-loss, see `shrinkage_`
    floor : least variance in parts of the column's total variance
    robust : whether to leave out rows far from the bulk of their class: see :class:`QDA`

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §6.6.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (6, 26)
    >>> model.forget(X[100:], y[100:]).classes_
    array([0, 1])
    """


class NaiveLDA(LinearMixin, DiagonalClassifier):
    """Naive LDA: independent Gaussians with one variance per column, shared by all classes.

    δ_k(x) = log π_k − ½ Σ_j [ log 2πσ²_j + (x_j − μ_kj)²/σ²_j ], linear in x

    The parameters are those of :class:`GaussianNB`; "unbiased" divides by n − K.

    References
    ----------
    Dudoit, Fridlyand & Speed (2002), Comparison of discrimination methods for the
    classification of tumors: there, diagonal LDA.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NaiveLDA().fit(X, y)
    >>> model.covariances_.shape, model.n_parameters_
    ((4,), 18)
    """

    _shared = True
