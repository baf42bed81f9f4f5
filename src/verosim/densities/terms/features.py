"""Random Fourier features of a block: cosines and sines of random frequencies.

    b_k + Σ_f (c_kf cos u_f + s_kf sin u_f),   u_f = Σ_j ω_jf z_j

Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines, Advances in
Neural Information Processing Systems 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.lift import FARTHEST
from verosim.data.nodes import FINITE
from verosim.data.readings import NUMBER
from verosim.densities.terms.base import Scored, Term


@dataclass(frozen=True, eq=False)
class FeaturesTerm(Term):
    """A linear function of the cosines and sines of complete rows."""

    kind = "features"
    takes = NUMBER
    frequencies: Annotated[np.ndarray, "d", "h", FINITE]  # ω
    cosines: Annotated[np.ndarray, "C", "h", FINITE]  # c
    sines: Annotated[np.ndarray, "C", "h", FINITE]  # s
    bias: Annotated[np.ndarray, "C", FINITE]  # b

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        rows = np.stack(values, axis=1)  # (n, d)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = rows @ self.frequencies
        far = ~np.isfinite(angles).all(axis=1)
        rows[far] = np.clip(rows[far], -FARTHEST, FARTHEST)
        angles[far] = rows[far] @ self.frequencies
        scores = np.cos(angles) @ self.cosines.T + np.sin(angles) @ self.sines.T + self.bias
        # An error of an angle is an error of its cosine.
        most = 1 + np.abs(rows) @ np.abs(self.frequencies)
        return scores, most @ (np.abs(self.cosines) + np.abs(self.sines)).T + np.abs(self.bias)
