"""Counts as Poisson variables, with one rate per class and column.

    p(x | k) = Π_j λ_kj^x_j e^(−λ_kj) / x_j!,   λ_kj = (Σx_j + α m_j) / (n_kj + α)

Σx_j is the sum of column j in class k, n_kj its weight, and m_j the mean of the column over all
classes. Adding α rows with the value m_j keeps each rate above zero. Missing cells are skipped,
which gives the exact marginal.
Reference: Gelman et al. (2013), Bayesian Data Analysis, §2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import gammaln

from verosim.densities.base import Density, Params, into
from verosim.densities.central import Centred, check_scale
from verosim.densities.estimates import RATE_TABLE, Estimates
from verosim.errors import VerosimError
from verosim.stats import Moments

if TYPE_CHECKING:
    from verosim.densities.conditionals import PoissonConditionals
    from verosim.densities.features import Expansion
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import Term

LARGEST_DRAWN_RATE = 1e15  # largest rate of which counts are drawn
LEAST_RATE = 1e-10  # smallest rate, as a share of the mean of the column; needed if α = 0


@dataclass(frozen=True)
class PoissonParams(Params):
    """The rates of each class and column."""

    is_positive: ClassVar[bool] = False

    rate: np.ndarray  # (C, d); 0 for a constant column, which is not used

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return int(self.rate.size)

    @property
    def _log_rate(self) -> np.ndarray:
        return np.log(np.where(self.rate > 0, self.rate, 1.0))

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), len(self.rate)))
        missing = np.isnan(block)  # (n, d)
        np.matmul(np.where(missing, 0.0, block), self._log_rate.T, out=out)
        out -= (~missing) @ self.rate.T if missing.any() else self.rate.sum(axis=1)
        out[np.isinf(block).any(axis=1)] = np.nan  # `check` raises the error
        return out

    def log_density(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = self.log_ratio(block, out)
        used = (self.rate > 0).any(axis=0)
        out -= np.where(np.isnan(block) | ~used, 0.0, gammaln(block + 1.0)).sum(axis=1)[:, None]
        return out

    def contributions(self, block: np.ndarray) -> np.ndarray:
        x = block[:, None, :]
        parts = x * self._log_rate - self.rate
        parts = parts - np.where((self.rate > 0).any(axis=0), gammaln(x + 1.0), 0.0)
        return np.where(np.isnan(x), 0.0, parts)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        largest = self.rate[classes].max(initial=0.0)
        if largest > LARGEST_DRAWN_RATE:
            raise VerosimError(
                f"A rate must be at most {LARGEST_DRAWN_RATE:.0e} to draw samples; got "
                f"{largest:.1e}.",
                "Divide the counts by a constant and fit the model again.",
            )
        return rng.poisson(self.rate[classes]).astype(np.float64)

    @property
    def conditionals(self) -> PoissonConditionals:
        from verosim.densities.conditionals import PoissonConditionals

        return PoissonConditionals(self)

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        raise VerosimError(
            "The likelihood of a Poisson column needs Σ log x!, which the model does not store.",
            "Compare models by their predictions on held-out rows.",
        )

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.terms import PoissonTerm

        used = np.flatnonzero((self.rate > 0).any(axis=0)).tolist()
        return tuple(PoissonTerm((j,), self.rate[:, j]) for j in used)

    def estimates(self, statistic: Moments, j: int, most: int) -> Estimates:
        seen = statistic.arrays["cells"][:, 0, j]
        return Estimates(RATE_TABLE, ("rate",), self.rate[:, j : j + 1], seen)

    def expansion(self, statistic: Moments) -> Expansion:
        from verosim.densities.features import MISSING_FEATURE, Deviations

        columns = statistic.axes.columns
        names = tuple(columns)
        d, log_rate = len(names), self._log_rate
        mean = self.rate.mean(axis=0)
        marks = tuple(MISSING_FEATURE.format(name) for name in names)
        constant = log_rate * mean - self.rate  # (C, d) the score of a count equal to the mean
        return Deviations(
            names + marks, np.hstack([log_rate, -constant]), constant.sum(axis=1),
            np.concatenate([np.sqrt(np.maximum(mean, 1e-12)), np.ones(d)]),
            mean, np.zeros(d), columns, True,
        )  # fmt: skip


@dataclass(frozen=True)
class Poisson(Density):
    """Poisson densities of counts, smoothed by α rows with the mean of the column."""

    alpha: float = 1.0

    has_independent_columns = True

    def leave_one_out(self, statistic: Moments) -> Scorer:
        from verosim.densities.leave_one_out import diagonal

        return diagonal.poisson(self, statistic)

    def checks(self, statistic: Moments) -> bool:
        check_scale(statistic)
        return statistic.axes.groups.folds == 1

    def estimate(self, statistic: Moments) -> PoissonParams:
        return PoissonParams(self.rates(Centred(statistic)))

    def rates(self, moments: Centred) -> np.ndarray:
        """(…, C, d) the rates from one or several sets of sums; 0 for constant columns."""
        W = moments.weight
        total = np.maximum(W * (moments.pivot + moments.offset), 0.0)  # Σx
        seen = W.sum(axis=-2, keepdims=True)
        mean = total.sum(axis=-2, keepdims=True) / np.where(seen > 0, seen, 1.0)
        weight = W + self.alpha
        rate = (total + self.alpha * mean) / np.where(weight > 0, weight, 1.0)
        rate = np.where(weight > 0, np.maximum(rate, LEAST_RATE * mean), mean)
        return np.where(moments.total_variance[..., None, :] > 0, rate, 0.0)
