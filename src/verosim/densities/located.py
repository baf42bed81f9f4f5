"""Parameters with a mean per class, kept as pivot + offset, and the linear scores they give.

    log p(x | k) = w_kᵀ(x − μ) + b_k + what classes share,
    w_k = Σ⁻¹(μ_k − μ),   b_k = −½ (μ_k − μ)ᵀ w_k

where the classes share their covariance Σ; μ is the overall mean. A mean is used as
(x − pivot) − offset, which is exact far from zero.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from verosim.densities.base import LinearForm, Params


class Located(Params):
    """Parameters with a mean per class, kept as pivot + offset."""

    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    share: np.ndarray  # (C,) share of the rows, which places the common reference
    shared: bool  # one covariance for all classes
    is_gaussian = True

    @property
    def means(self) -> np.ndarray:
        return self.pivot + self.offset

    @cached_property
    def reference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The overall mean as pivot (d,) + offset (d,), and each class mean about it (C, d)."""
        pivot, shift = self.about_one_pivot
        centre = self.share @ shift
        return pivot, centre, shift - centre

    @cached_property
    def about_one_pivot(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest class's pivot (d,) and every class mean about it (C, d)."""
        pivot = self.pivot[int(np.argmax(self.share))]
        return pivot, (self.pivot - pivot) + self.offset

    @cached_property
    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """(C, d) and (C,): log p(x | k) = w_k·(x − reference) + b_k + what classes share.

        w_k = Σ⁻¹(μ_k − μ),  b_k = −½ (μ_k − μ)ᵀ w_k.
        """
        shift = self.reference[2]
        coef = self.solve(shift)
        return coef, -0.5 * (shift * coef).sum(axis=1)

    @abstractmethod
    def solve(self, shift: np.ndarray) -> np.ndarray:
        """Σ⁻¹ applied to rows, Σ the shared covariance."""

    @abstractmethod
    def precision_of(self, k: int) -> tuple[np.ndarray, float]:
        """Σ_k⁻¹ (d, d) and log|Σ_k| over the columns in use."""

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """(C or 1, d) σ²_kj of every class and column."""

    @property
    def deviations(self) -> np.ndarray:
        """(d,) deviation of every column over all classes, 1 for a constant one."""
        shift = self.reference[2]
        within = np.broadcast_to(self.variances, shift.shape)
        deviation = np.sqrt(self.share @ (within + shift**2))
        return np.where(deviation > 0, deviation, 1.0)

    @abstractmethod
    def marginal(self, columns: np.ndarray) -> Params:
        """The parameters of p(x_columns | k): the other columns integrated out."""

    @property
    def one_covariance(self) -> bool:
        return self.shared

    @cached_property
    def far_apart(self) -> bool:
        """Whether classes lie so far apart that linear scores would cancel: 10⁵ deviations."""
        return bool(-2 * self.linear[1].min() > 1e10)

    @property
    def linear_form(self) -> LinearForm | None:
        if not self.shared or self.far_apart:
            return None
        return self._form

    def linear_scores(self, block: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        return self._form.scores(block, out)

    @cached_property
    def _form(self) -> LinearForm:
        pivot, centre, _ = self.reference
        return LinearForm(pivot, centre, *self.linear)
