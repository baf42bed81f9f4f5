"""Gaussian discriminant analysis: QDA, LDA and Friedman's square between them."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from verosim.axes import Axes
from verosim.bayes.rule import Rule
from verosim.densities import Convergence, EMGaussian, FullGaussian
from verosim.engines import map_rows, one_blas_thread
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.gaussian import GaussianClassifier, LinearMixin
from verosim.estimators.parameters import finite, one_of, whole
from verosim.stats import Moments, Patterns, Statistic

SCATTER_BUDGET = 1 << 26  # numbers; above it LDA keeps one scatter for all classes


class FullGaussianClassifier(GaussianClassifier):
    """What the classifiers with full covariances share."""

    shrinkage: Any
    missing: str
    on_singular: str
    _pooling = 0.0

    @property
    def _family(self) -> str:  # type: ignore[override]
        return f"full, missing={self.missing}"

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
        self.priors = priors
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.floor = floor
        self.missing = missing
        self.on_singular = on_singular
        self.robust = robust

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Statistic:
        return Patterns(axes) if self.missing == "marginalise" else Moments(axes, layout="full")

    def _density(self) -> FullGaussian | EMGaussian:
        self._check_gaussian()
        one_of("missing", self.missing, ("error", "marginalise"))
        one_of("on_singular", self.on_singular, ("fallback", "raise"))
        gaussian = FullGaussian(
            self._mixing(), self.covariance, self._shrink(), self.floor, self.on_singular,
            self.missing,
        )  # fmt: skip
        return EMGaussian(gaussian) if self.missing == "marginalise" else gaussian

    # With `missing`, complete rows are a statistic of one pattern, and the other way round.

    def _seen(self, statistic: Statistic) -> Statistic:
        """A statistic as the setting of `missing` reads it; nothing is copied."""
        if self.missing == "marginalise":
            return Patterns.of(statistic)
        complete = statistic.complete
        if complete is None:
            raise VerosimError(
                f'missing="error", and rows with missing cells are among those of {statistic!r}.',
                'set missing="marginalise", or fit again on complete rows.',
            )
        return complete

    def _current(self) -> Statistic:
        return self._seen(super()._current())

    def _derive(self, statistic: Statistic, streaming: bool = False) -> Rule:
        statistic = self._seen(statistic)
        if statistic.complete is not None:
            return super()._derive(statistic, streaming)
        with one_blas_thread:  # EM's matrices are many and small
            return super()._derive(statistic, streaming)

    def merge(self, other: GenerativeClassifier) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        if isinstance(other, FullGaussianClassifier):
            other = copy(other)
            other.missing = self.missing  # its statistic as this one reads it
        return super().merge(other)

    @property
    def convergence_(self) -> Convergence:
        """How EM over the missing cells went: iterations, log-likelihood at each, converged."""
        self._fitted("convergence_")
        if self.missing != "marginalise":
            raise AttributeError('convergence_ belongs to missing="marginalise".')
        found = self._params.convergence
        assert isinstance(found, Convergence)
        return found

    @property
    def _holes(self) -> bool:  # type: ignore[override]
        return self.missing == "marginalise"

    def _mixing(self) -> float:
        return self._pooling

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._holes
        return tags


class QDA(FullGaussianClassifier):
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


class RDA(FullGaussianClassifier):
    """Regularised discriminant analysis: the square whose corners are QDA, LDA and nearest mean.

    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n),   Σ_k(λ, γ) = (1 − γ) Σ_k(λ) + γ (tr/d) I

    Parameters
    ----------
    pooling : λ, from 0 (QDA) to 1 (LDA), or "cv": chosen by held-out log-loss, see `pooling_`
    sphericity : γ, from 0 to 1 (spheres), or "ledoit_wolf", "oas" or "cv": what `shrinkage` is
        elsewhere; in use as `shrinkage_`

    The other parameters are those of :class:`QDA`.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RDA(pooling=0.3, sphericity=0.0).fit(X, y)
    >>> float(model.score(X, y))
    1.0
    >>> model.set_params(pooling=1.0).n_parameters_  # LDA now, without the data
    132
    """

    def __init__(
        self,
        pooling: float = 0.5,
        sphericity: float | str = 0.1,
        priors: Any = None,
        covariance: str = "mle",
        floor: float = 0.0,
        missing: str = "error",
        on_singular: str = "fallback",
        robust: bool = False,
    ) -> None:
        self.pooling = pooling
        self.sphericity = sphericity
        self.priors = priors
        self.covariance = covariance
        self.floor = floor
        self.missing = missing
        self.on_singular = on_singular
        self.robust = robust

    @property
    def shrinkage(self) -> Any:
        return self.sphericity

    def _mixing(self) -> float:
        pooling = self._asked("pooling")
        finite("pooling", pooling, 0, 1)
        return float(pooling)

    def _shrink(self) -> Any:
        sphericity = self._asked("sphericity")
        return None if sphericity == 0 else sphericity

    @property
    def pooling_(self) -> float:
        """The pooling in use: the setting, or what `fit` chose for "cv"."""
        self._fitted("pooling_")
        return self._mixing()


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearMixin, FullGaussianClassifier):
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

    _pooling = 1.0
    _keeps_most = False  # past a budget, one scatter for all classes

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
        super().__init__(priors, covariance, shrinkage, floor, missing, on_singular, robust)
        self.n_components = n_components

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Statistic:
        C, d = axes.size("class"), axes.size("column")
        if C * d * d > SCATTER_BUDGET and self.shrinkage != "ledoit_wolf":
            return Moments(axes, layout="pooled")
        return super()._plan(axes, X, weights)

    def _density(self) -> FullGaussian | EMGaussian:
        if self.n_components is not None:
            whole("n_components", self.n_components, least=1)
        return super()._density()

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
        self._current()
        params = self._params
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
        self._current()
        scalings = self._fisher()[0]
        pivot, centre, _ = self._params.reference

        def along(rule: Rule, rows: Any) -> np.ndarray:
            out = np.empty((rows.shape[0], scalings.shape[1]))

            def work(start: int, stop: int) -> None:
                params: Any = rule.params
                block = params.expected(params.read(rows[start:stop]), rule.log_prior)
                np.matmul((block - pivot) - centre, scalings, out=out[start:stop])
                rule.params.check(block, out[start:stop], rule.columns, start)

            map_rows(work, rows)
            return out

        return self._scores(X, along)
