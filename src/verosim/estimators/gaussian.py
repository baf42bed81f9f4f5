"""What all Gaussian classifiers show, and the two with diagonal covariances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes import Axes, Groups
from verosim.bayes.boundary import Quadratic, boundary
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Rule
from verosim.data import ArraySource, SparseRows
from verosim.data.stream import TableSource
from verosim.densities import DiagonalGaussian, LinearForm
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.distance import signed_distance
from verosim.estimators.robust import Refused, screened
from verosim.models import Spec, State
from verosim.models.settings import finite, one_of
from verosim.stats import Moments


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianSpec(Spec):
    """The settings that all Gaussian classifiers have."""

    covariance: str = "mle"
    shrinkage: Any = None
    floor: float = 0.0
    robust: bool = False

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"robust": self.robust}

    @property
    def is_decomposable(self) -> bool:
        return super().is_decomposable and not self.robust

    def counted_rows(
        self, source: ArraySource | TableSource, groups: Groups
    ) -> ArraySource | TableSource:
        return screened(source, groups, self.allows_missing) if self.robust else source

    def check_updates(self, verb: str) -> None:
        """Which rows a robust model keeps depends on all of them."""
        if self.robust:
            raise Refused(
                f"robust=True, so {verb} is refused: the rows it kept were chosen by looking at "
                "all of them, and with other rows it would have kept others.",
                "fit again on all rows, or use robust=False.",
            )

    def check_gaussian(self) -> None:
        if not isinstance(self.robust, bool | np.bool_):
            raise VerosimError(f"robust={self.robust!r} is not known.", "True or False.")
        one_of("covariance", self.covariance, ("mle", "unbiased"))
        finite("floor", self.floor, least=0)
        if isinstance(self.shrinkage, str):
            one_of("shrinkage", self.shrinkage, ("ledoit_wolf", "oas", "cv"))
        elif self.shrinkage is not None:
            finite("shrinkage", self.shrinkage, 0, 1)


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
    """The settings all Gaussian classifiers have; means, covariances, distances and boundaries."""

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

    @property
    def shrinkage_(self) -> Any:
        """The shrinkage in use: the setting, or what `fit` chose for "cv"."""
        return self.fitted("shrinkage_").spec.setting("shrinkage")

    @property
    def means_(self) -> np.ndarray:
        """(C, d) class means."""
        return self.fitted("means_").params.means

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances in use: (C, d, d), shared (d, d); diagonals (C, d), shared (d,)."""
        return self.fitted("covariances_").params.covariances()

    def mahalanobis(self, X: Any) -> np.ndarray:
        """(n, C) Mahalanobis distance of every row to every class mean, not squared."""
        return self.evaluate(X, _mahalanobis)

    def boundary(self, i: Any, j: Any) -> Quadratic:
        """Where classes i and j (labels) tie, as the equation δ_i(x) − δ_j(x) = 0."""
        state = self.checked_state()
        wanted = np.empty(2, dtype=object)
        wanted[:] = [i, j]
        self.check_has_rows(wanted)
        labels = self.classes_.tolist()
        return boundary(
            state.params, state.rule.log_prior, labels.index(i), labels.index(j),
            tuple(state.statistic.axes.columns),
        )  # fmt: skip


# The weights of Gaussians that share a covariance are for people. Predictions do not go through
# them: see `Located.linear`.


def gaussian_coef(model: GaussianClassifier) -> np.ndarray:
    """(C, d) w_k; for two classes (1, d), their difference."""
    return _weights(model.fitted("coef_"))[0]


def gaussian_intercept(model: GaussianClassifier) -> np.ndarray:
    """(C,) b_k; for two classes (1,), their difference."""
    return _weights(model.fitted("intercept_"))[1]


def _weights(state: State) -> tuple[np.ndarray, np.ndarray]:
    pivot, centre, _ = state.params.reference
    coef, bias = state.params.linear
    return LinearScores(LinearForm(pivot, centre, coef, bias + state.rule.log_prior)).weights


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalSpec(GaussianSpec):
    """Independent Gaussian columns within a class."""

    shared: bool = False  # one variance for all classes

    reads_sparse = True

    @property
    def family(self) -> str:
        return "diagonal"

    def plan(self, axes: Axes, source: Any) -> Moments:
        return Moments(axes, layout="diagonal")

    @cached_property
    def density(self) -> DiagonalGaussian:
        self.check_gaussian()
        shrinkage = self.setting("shrinkage")
        return DiagonalGaussian(self.shared, self.covariance, shrinkage, self.floor)


class GaussianNB(GaussianClassifier):
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

    def spec(self) -> DiagonalSpec:
        return DiagonalSpec(**self.settings(DiagonalSpec))


class NaiveLDA(GaussianClassifier):
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

    def spec(self) -> DiagonalSpec:
        return DiagonalSpec(shared=True, **self.settings(DiagonalSpec))

    coef_ = property(gaussian_coef)
    intercept_ = property(gaussian_intercept)
    signed_distance = signed_distance
