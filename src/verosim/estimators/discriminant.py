"""Gaussian discriminant analysis: QDA, LDA and Friedman's square between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from verosim.axes import Axes
from verosim.bayes.rule import Rule
from verosim.densities import Convergence, EMGaussian, FullGaussian
from verosim.engines import map_rows, one_blas_thread
from verosim.errors import VerosimError
from verosim.estimators.distance import signed_distance
from verosim.estimators.gaussian import (
    GaussianClassifier,
    GaussianSpec,
    gaussian_coef,
    gaussian_intercept,
)
from verosim.models.settings import finite, one_of, whole
from verosim.stats import Moments, Patterns, Statistic

SCATTER_BUDGET = 1 << 26  # numbers; above it LDA keeps one scatter for all classes


@dataclass(frozen=True, eq=False, kw_only=True)
class FullSpec(GaussianSpec):
    """Gaussians with full covariances: pooling 0 is QDA, 1 is LDA."""

    pooling: Any = 0.0
    missing: str = "error"
    on_singular: str = "fallback"

    @property
    def family(self) -> str:
        return f"full, missing={self.missing}"

    @property
    def allows_missing(self) -> bool:
        return self.missing == "marginalise"

    def plan(self, axes: Axes, source: Any) -> Statistic:
        return Patterns(axes) if self.allows_missing else Moments(axes, layout="full")

    @cached_property
    def density(self) -> FullGaussian | EMGaussian:
        self.check_gaussian()
        one_of("missing", self.missing, ("error", "marginalise"))
        one_of("on_singular", self.on_singular, ("fallback", "raise"))
        pooling, shrinkage = self.setting("pooling"), self.setting("shrinkage")
        finite("pooling", pooling, 0, 1)
        gaussian = FullGaussian(
            float(pooling), self.covariance, shrinkage, self.floor, self.on_singular, self.missing
        )
        return EMGaussian(gaussian) if self.allows_missing else gaussian

    def estimate(self, statistic: Statistic) -> Any:
        if statistic.complete is not None:
            return super().estimate(statistic)
        with one_blas_thread:  # EM's matrices are many and small
            return super().estimate(statistic)

    # With `missing`, complete rows are a statistic of one pattern, and the other way round.

    def view(self, statistic: Statistic) -> Statistic:
        if self.allows_missing:
            return Patterns.of(statistic)
        complete = statistic.complete
        if complete is None:
            raise VerosimError(
                f'missing="error", and rows with missing cells are among those of {statistic!r}.',
                'set missing="marginalise", or fit again on complete rows.',
            )
        return complete


@dataclass(frozen=True, eq=False, kw_only=True)
class RDASpec(FullSpec):
    """Friedman's square, whose side without shrinkage is plain: shrinkage 0 is none."""

    def setting(self, name: str) -> Any:
        value = super().setting(name)
        return None if name == "shrinkage" and value == 0 else value


@dataclass(frozen=True, eq=False, kw_only=True)
class LDASpec(FullSpec):
    """One covariance, and past a budget one scatter for all classes."""

    n_components: Any = None

    widest = False

    def plan(self, axes: Axes, source: Any) -> Statistic:
        C, d = axes.size("class"), axes.size("column")
        if C * d * d > SCATTER_BUDGET and self.shrinkage != "ledoit_wolf":
            return Moments(axes, layout="pooled")
        return super().plan(axes, source)

    @cached_property
    def density(self) -> FullGaussian | EMGaussian:
        if self.n_components is not None:
            whole("n_components", self.n_components, least=1)
        return super().density


def convergence(model: GaussianClassifier) -> Convergence:
    """How EM over the missing cells went: iterations, log-likelihood at each, converged."""
    state = model.fitted("convergence_")
    if not state.spec.allows_missing:
        raise AttributeError('convergence_ belongs to missing="marginalise".')
    found: Convergence = state.params.convergence
    return found


class QDA(GaussianClassifier):
    """Quadratic discriminant analysis: one Gaussian with its own full covariance per class.

    δ_k(x) = log π_k − ½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)

    Parameters
    ----------
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label
    covariance : "mle" divides by n_k, "unbiased" by n_k − 1
    shrinkage : None, a share a of (tr Σ/d) I, "ledoit_wolf", "oas", or "cv": chosen by held-out
        log-loss, see `shrinkage_`
    floor : least variance of a column in parts of its total variance
    missing : "error", or "marginalise": fit by EM over the missing cells, taken to be missing at
        random, and predict rows from what they show
    on_singular : "fallback" shrinks towards the pooled diagonal with a warning, or "raise"
    robust : True leaves out the rows that lie far from the bulk of their class, found by its
        minimum covariance determinant, before anything is summed; `class_count_` then shows the
        rows that were kept. All rows must be in memory at once, and `partial_fit`, `forget` and
        `merge` are refused

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QDA().fit(X, y)
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (3, 44)
    """

    def __init__(
        self,
        priors: Any = None,
        covariance: str = "mle",
        shrinkage: float | str | None = None,
        floor: float = 0.0,
        missing: str = "error",
        on_singular: str = "fallback",
        robust: bool = False,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust)
        self.missing = missing
        self.on_singular = on_singular

    def spec(self) -> FullSpec:
        return FullSpec(**self.settings(FullSpec))

    convergence_ = property(convergence)


class RDA(GaussianClassifier):
    """Regularised discriminant analysis: the square whose corners are QDA, LDA and nearest mean.

    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n),   Σ_k(λ, γ) = (1 − γ) Σ_k(λ) + γ (tr/d) I

    Parameters
    ----------
    pooling : λ, from 0 (QDA) to 1 (LDA), or "cv": chosen by held-out log-loss, see `pooling_`
    shrinkage : γ, from 0 to 1 (spheres), or "ledoit_wolf", "oas" or "cv"; in use as `shrinkage_`

    The other parameters are those of :class:`QDA`.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RDA(pooling=0.3, shrinkage=0.0).fit(X, y)
    >>> float(model.score(X, y))
    1.0
    >>> model.set_params(pooling=1.0).n_parameters_  # LDA now, without the data
    132
    """

    def __init__(
        self,
        pooling: float | str = 0.5,
        shrinkage: float | str = 0.1,
        priors: Any = None,
        covariance: str = "mle",
        floor: float = 0.0,
        missing: str = "error",
        on_singular: str = "fallback",
        robust: bool = False,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust)
        self.pooling = pooling
        self.missing = missing
        self.on_singular = on_singular

    def spec(self) -> RDASpec:
        return RDASpec(**self.settings(RDASpec))

    @property
    def pooling_(self) -> float:
        """The pooling in use: the setting, or what `fit` chose for "cv"."""
        return float(self.fitted("pooling_").spec.setting("pooling"))

    convergence_ = property(convergence)


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClassifier):
    """Linear discriminant analysis: one full covariance shared by all classes.

    δ_k(x) = w_kᵀx + b_k,   w_k = Σ⁻¹(μ_k − μ),   b_k = log π_k − ½ (μ_k − μ)ᵀΣ⁻¹(μ_k − μ) − w_kᵀμ

    with μ the overall mean, which all classes share and no decision depends on.

    Parameters
    ----------
    n_components : how many Fisher directions `transform` keeps; None for min(K − 1, d)

    The other parameters are those of :class:`QDA`; "unbiased" divides by n − K.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LDA().fit(X, y)
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (3, 24)
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        priors: Any = None,
        covariance: str = "mle",
        shrinkage: float | str | None = None,
        floor: float = 0.0,
        missing: str = "error",
        on_singular: str = "fallback",
        n_components: int | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust)
        self.missing = missing
        self.on_singular = on_singular
        self.n_components = n_components

    def spec(self) -> LDASpec:
        return LDASpec(pooling=1.0, **self.settings(LDASpec))

    convergence_ = property(convergence)

    coef_ = property(gaussian_coef)
    intercept_ = property(gaussian_intercept)
    signed_distance = signed_distance

    # Fisher's directions -------------------------------------------------------------------

    @property
    def scalings_(self) -> np.ndarray:
        """(d, m) Fisher's directions: within-class covariance I, widest spread of means first."""
        return self._fisher()[0]

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """(m,) share of the between-class variance along each direction."""
        spread = self._fisher()[1] ** 2
        total = spread.sum()
        return (spread / total if total > 0 else spread)[: self._n_features_out]

    def _fisher(self) -> tuple[np.ndarray, np.ndarray]:
        """Directions and singular values of the class means in whitened space."""
        params = self.checked_state().params
        shift = params.reference[2]  # (C, d)
        W = params.whitener[0]
        weighted = np.sqrt(params.share)[:, None] * (shift @ W.T)
        _, spread, V = np.linalg.svd(weighted, full_matrices=False)
        directions = W.T @ V.T
        largest = np.abs(directions).argmax(axis=0)
        sign = np.sign(directions[largest, np.arange(directions.shape[1])])
        directions = directions * np.where(sign == 0, 1.0, sign)
        return directions[:, : self._n_features_out], spread

    @property
    def _n_features_out(self) -> int:
        classes = int((self.class_count_ > 0).sum())
        most = max(min(classes - 1, self.n_features_in_), 1)
        return most if self.n_components is None else min(int(self.n_components), most)

    def transform(self, X: Any) -> np.ndarray:
        """(n, m) the rows along Fisher's directions, about the overall mean.

        With `missing="marginalise"`, a row with missing cells is where the model expects it.
        """
        return self.along(X, self._fisher()[0])

    def along(self, X: Any, directions: np.ndarray) -> np.ndarray:
        """(n, m) the rows about the overall mean, along directions (d, m)."""
        pivot, centre, _ = self.checked_state().params.reference

        def project(rule: Rule, rows: Any) -> np.ndarray:
            out = np.empty((rows.shape[0], directions.shape[1]))

            def work(start: int, stop: int) -> None:
                params: Any = rule.params
                block = params.expected(params.read(rows[start:stop]), rule.log_prior)
                np.matmul((block - pivot) - centre, directions, out=out[start:stop])
                rule.params.check(block, out[start:stop], rule.columns, start)

            map_rows(work, rows)
            return out

        return self.evaluate(X, project)
