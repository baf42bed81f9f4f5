"""The settings of discriminant analysis: QDA, LDA, and RDA between them.

    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n)

Here S_k is the scatter of class k and S is the sum over the classes. QDA has λ = 0, LDA has λ = 1.
Reference: Friedman (1989), Regularized discriminant analysis, Journal of the American Statistical
Association 84, 165–175.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import finite, one_of, whole
from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.densities import FullGaussian
from verosim.errors import VerosimError
from verosim.estimators.gaussian_spec import GaussianSpec
from verosim.models import Spec
from verosim.stats import Moments, Statistic

if TYPE_CHECKING:
    from verosim.densities import Convergence, EMGaussian
    from verosim.estimators.gaussian import GaussianClassifier

BY_CLASS_SIZE = "auto"  # with this value, the pooling of a class depends on its number of rows
SCATTER_BUDGET = 1 << 26  # numbers; with more, LDA keeps one scatter for all classes


@dataclass(frozen=True, eq=False, kw_only=True)
class FullSpec(GaussianSpec):
    """The settings of Gaussians with full covariances: pooling 0 is QDA, pooling 1 is LDA."""

    pooling: Any = 0.0
    missing: str = "error"
    on_singular: str = "fallback"
    encode: Any = None

    @property
    def family(self) -> str:
        return f"full, missing={self.missing}"

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {**super().statistic_settings, "encode": self.encode}

    @property
    def uses_em(self) -> bool:
        """Whether missing cells are averaged out, with the EM algorithm at fit."""
        return self.missing == "marginalise"

    @property
    def allows_missing(self) -> bool:
        return self.uses_em

    def plan(self, axes: Axes, source: Any) -> Statistic:
        if not self.uses_em:
            return Moments(axes, layout="full")
        from verosim.stats import Patterns  # complete rows do not need it

        return Patterns(axes)

    @cached_property
    def density(self) -> FullGaussian | EMGaussian:
        self.check_gaussian()
        one_of("missing", self.missing, ("error", "marginalise"))
        one_of("on_singular", self.on_singular, ("fallback", "raise"))
        pooling, shrinkage = self.setting("pooling"), self.setting("shrinkage")
        gaussian = FullGaussian(
            self.checked_pooling(pooling), self.covariance, shrinkage, self.floor,
            self.on_singular, self.missing,
        )  # fmt: skip
        if not self.uses_em:
            return gaussian
        from verosim.densities.em import EMGaussian

        return EMGaussian(gaussian)

    def checked_pooling(self, pooling: Any) -> float | str:
        """The pooling, after a check."""
        finite("pooling", pooling, 0, 1)
        return float(pooling)

    def check_merges(self, other: Spec) -> None:
        self.check_same(other, ["encode"])

    # The setting `missing` may change after the fit. Complete rows are a statistic with one
    # pattern of missing cells, so each form can be converted to the other.

    def view(self, statistic: Statistic) -> Statistic:
        if self.uses_em:
            from verosim.stats import Patterns  # complete rows do not need it

            return Patterns.of(statistic)
        complete = statistic.complete
        if complete is None:
            raise VerosimError(
                'missing="error" does not allow missing values, but the training rows of this '
                "model have some.",
                'Use missing="marginalise", or fit again on complete rows.',
            )
        return complete


@dataclass(frozen=True, eq=False, kw_only=True)
class RDASpec(FullSpec):
    """The settings of RDA, where shrinkage=0 means no shrinkage."""

    def setting(self, name: str) -> Any:
        value = super().setting(name)
        return None if name == "shrinkage" and value == 0 else value

    def checked_pooling(self, pooling: Any) -> float | str:
        if isinstance(pooling, str):
            one_of("pooling", pooling, (BY_CLASS_SIZE, "cv"))
            return pooling
        return super().checked_pooling(pooling)


@dataclass(frozen=True, eq=False, kw_only=True)
class LDASpec(FullSpec):
    """The settings of LDA. Above a budget, it keeps one scatter for all classes."""

    n_components: Any = None

    widest = False

    def plan(self, axes: Axes, source: Any) -> Statistic:
        C, d = axes.size("class"), axes.size("column")
        own = self.shrinkage == "ledoit_wolf" or self.class_weight is not None  # sums per class
        if C * d * d > SCATTER_BUDGET and not own:
            return Moments(axes, layout="pooled")
        return super().plan(axes, source)

    @cached_property
    def density(self) -> FullGaussian | EMGaussian:
        if self.n_components is not None:
            whole("n_components", self.n_components, least=1)
        return super().density


def convergence(model: GaussianClassifier) -> Convergence:
    """The progress of EM: iterations, the log-likelihood at each, and whether it converged."""
    state = model.fitted("convergence_")
    spec: Any = state.spec
    if not spec.uses_em:
        raise AttributeError('convergence_ exists only with missing="marginalise".')
    found: Convergence = state.params.convergence
    return found


def encoded_names(model: GaussianClassifier) -> np.ndarray:
    """(p,) the names of the columns of the design matrix."""
    state = model.fitted("encoded_names_")
    if state.spec.is_density:
        raise AttributeError("encoded_names_ exists only if encode is not None.")
    return np.array(list(state.statistic.axes.columns), dtype=object)
