"""The settings of Gaussian classifiers.

    p(x | k) = N(x; μ_k, Σ_k)

This file does not need scikit-learn, so a model file can be used for predictions without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import finite, one_of
from verosim.axes import Axes, Groups
from verosim.cached import cached_property
from verosim.data.source import RowSource
from verosim.errors import VerosimError
from verosim.models import Spec
from verosim.stats import Moments, Statistic

if TYPE_CHECKING:
    from verosim.densities import DiagonalGaussian


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianSpec(Spec):
    """The settings of all Gaussian classifiers."""

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

    def counted_rows(self, source: RowSource, groups: Groups) -> RowSource:
        if not self.robust:
            return source
        from verosim.estimators.robust import screened

        return screened(source, groups, self.allows_missing)

    def estimate_quietly(self, statistic: Statistic) -> Any:
        return self.density.estimate_quietly(statistic)

    def check_updates(self, verb: str) -> None:
        """Refuse updates of a robust model: the rows it keeps depend on all rows."""
        if self.robust:
            from verosim.estimators.robust import Refused

            raise Refused(
                f"{verb} is not available with robust=True, because the choice of the rows to "
                "keep depends on all rows.",
                "Fit again on all rows, or use robust=False.",
            )

    def check_gaussian(self) -> None:
        """Check the settings that all Gaussian classifiers share."""
        if not isinstance(self.robust, bool | np.bool_):
            raise VerosimError(f"robust must be True or False; got {self.robust!r}.")
        one_of("covariance", self.covariance, ("mle", "unbiased"))
        finite("floor", self.floor, least=0)
        if isinstance(self.shrinkage, str):
            one_of("shrinkage", self.shrinkage, ("ledoit_wolf", "oas", "cv"))
        elif self.shrinkage is not None:
            finite("shrinkage", self.shrinkage, 0, 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalSpec(GaussianSpec):
    """The settings of Gaussians with independent columns within each class."""

    shared: bool = False  # one variance for all classes

    reads_sparse = True
    may_wait = True

    @property
    def family(self) -> str:
        return "diagonal"

    def plan(self, axes: Axes, source: Any) -> Moments:
        return Moments(axes, layout="diagonal")

    @cached_property
    def density(self) -> DiagonalGaussian:
        from verosim.densities import DiagonalGaussian  # full covariances do not need it

        self.check_gaussian()
        shrinkage = self.setting("shrinkage")
        return DiagonalGaussian(self.shared, self.covariance, shrinkage, self.floor)
