"""Parameters with one mean per class, and their linear scores if all classes share a covariance.

    log p(x | k) = w_kᵀ(x − μ) + b_k + r(x)
    w_k = Σ⁻¹(μ_k − μ),   b_k = −½ (μ_k − μ)ᵀ w_k

Σ is the shared covariance, μ the overall mean, and r(x) is the same for all classes. A mean is
stored as pivot + offset, and x − μ_k is computed as (x − pivot) − offset, which is exact far from
zero.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from verosim.cached import cached_property
from verosim.densities.base import LinearForm, Params

if TYPE_CHECKING:
    from verosim.densities.terms import Term


class Located(Params):
    """Parameters with one mean per class, stored as pivot + offset."""

    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    share: np.ndarray  # (C,) share of each class in the total weight; it defines the overall mean
    shared: bool  # one covariance for all classes
    is_gaussian = True

    @property
    def means(self) -> np.ndarray:
        """(C, d) the mean of each class."""
        return self.pivot + self.offset

    @cached_property
    def reference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The overall mean as pivot (d,) + offset (d,), and class means − overall mean (C, d)."""
        pivot, shift = self.about_one_pivot
        centre = self.share @ shift
        return pivot, centre, shift - centre

    @cached_property
    def about_one_pivot(self) -> tuple[np.ndarray, np.ndarray]:
        """The pivot of the largest class (d,), and class means − this pivot (C, d)."""
        pivot = self.pivot[int(np.argmax(self.share))]
        return pivot, (self.pivot - pivot) + self.offset

    @cached_property
    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights w_k (C, d) and the constants b_k (C,) of the linear scores.

        w_k = Σ⁻¹(μ_k − μ),   b_k = −½ (μ_k − μ)ᵀ w_k
        """
        shift = self.reference[2]
        with np.errstate(over="ignore"):  # classes that are so far apart are not scored by it
            coef = self.solve(shift)
            return coef, -0.5 * (shift * coef).sum(axis=1)

    @abstractmethod
    def solve(self, shift: np.ndarray) -> np.ndarray:
        """Σ⁻¹ times each row of `shift`, where Σ is the shared covariance."""

    @abstractmethod
    def precision_of(self, k: int) -> tuple[np.ndarray, float]:
        """Σ_k⁻¹ (d, d) and log|Σ_k| over the used columns."""

    @abstractmethod
    def covariances(self) -> np.ndarray:
        """(C, d, d) Σ_k, or (d, d) if shared; diagonals (C, d), or (d,) if shared."""

    def covariance_of(self, k: int) -> np.ndarray:
        """(d, d) Σ_k."""
        found = self.covariances() if self.shared else self.covariances()[k]
        return np.diag(found) if found.ndim == 1 else found

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """(C or 1, d) σ²_kj of each class and column."""

    @property
    def deviations(self) -> np.ndarray:
        """(d,) the standard deviation of each column over all classes; 1 for a constant column."""
        shift = self.reference[2]
        within = np.broadcast_to(self.variances, shift.shape)
        deviation = np.sqrt(self.share @ (within + shift**2))
        return np.where(deviation > 0, deviation, 1.0)

    @abstractmethod
    def marginal(self, columns: np.ndarray) -> Params:
        """The parameters of the marginal density of some columns."""

    @property
    def one_covariance(self) -> bool:
        return self.shared

    @cached_property
    def far_apart(self) -> bool:
        """Whether classes are more than 10⁵ standard deviations apart.

        Linear scores would then lose too many digits.
        """
        return bool(-2 * self.linear[1].min() > 1e10)

    @property
    def linear_form(self) -> LinearForm | None:
        if not self.shared or self.far_apart:
            return None
        return self._form

    def ratio_terms(self) -> tuple[Term, ...]:
        form = self.linear_form
        if form is None:
            return self.terms()
        from verosim.densities.terms import LinearTerm

        reads = tuple(range(len(form.pivot)))
        return (LinearTerm(reads, form.pivot, form.centre, form.coef, form.bias),)

    @cached_property
    def has_compiled_ratio(self) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):  # all that the loops need is made here
            if self.shared and not self.far_apart:
                return self._form.is_summed
            return self._prepare_density()

    @abstractmethod
    def _prepare_density(self) -> bool:
        """Compute what `log_density` needs. True if it then uses compiled loops only."""

    def linear_scores(self, block: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """(n, C) the linear scores of complete rows."""
        return self._form.scores(block, out)

    @cached_property
    def _form(self) -> LinearForm:
        pivot, centre, _ = self.reference
        return LinearForm(pivot, centre, *self.linear)
