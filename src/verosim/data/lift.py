"""Random Fourier features: rows become cosines and sines of random directions.

    φ(z) = (cos(Wᵀz), sin(Wᵀz)),   φ(z)ᵀφ(z')/h ≈ exp(−γ ‖z − z'‖²)

The h directions in W are orthogonal in groups of p, and their lengths have the distribution of the
lengths of Gaussian vectors. W depends on the numbers of columns and features, γ and a seed, and on
no row. The legacy generator is used because its numbers are the same in all versions of numpy.
References: Rahimi & Recht (2007), Random features for large-scale kernel machines, Advances in
Neural Information Processing Systems 20; Yu, Suresh, Choromanski, Holtmann-Rice & Kumar (2016),
Orthogonal random features, Advances in Neural Information Processing Systems 29.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from verosim import kernels

SPARSE = 1 / 3  # the largest share of cells other than 0 in a row that is read cell by cell
FARTHEST = 1e100  # larger cells are clipped if a product overflows


@dataclass(frozen=True)
class Lift:
    """The map from rows (n, p) to features (n, 2h)."""

    columns: int  # p
    half: int  # h, the number of directions
    gamma: float  # γ
    seed: int
    # (p, h) from a file. Another computer can round them otherwise, so they are not made again.
    given: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def directions(self) -> np.ndarray:
        """(p, h) the directions for γ = ½."""
        return directions(self.columns, self.half, self.seed) if self.given is None else self.given

    def fixed(self) -> Lift:
        """The same map, with its directions as a value."""
        return replace(self, given=self.directions)

    @property
    def features(self) -> int:
        """The number of features."""
        return 2 * self.half

    @property
    def frequencies(self) -> np.ndarray:
        """(p, h) the matrix W."""
        return self.directions * np.sqrt(2 * self.gamma)

    def __call__(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, 2h) the features of rows (n, p) of finite numbers."""
        out = np.empty((len(Z), self.features)) if out is None else out
        W = self.frequencies
        if not _lift_rows(Z, W, out):
            far = np.isnan(out).any(axis=1)
            again = np.empty((int(far.sum()), self.features))
            _lift_rows(np.clip(Z[far], -FARTHEST, FARTHEST), W, again)
            out[far] = again
        return out


def _lift_rows(Z: np.ndarray, W: np.ndarray, out: np.ndarray) -> bool:
    """out (n, 2h) = the cosines and the sines of Z W. Returns whether no product overflowed."""
    rest = np.empty(len(Z), dtype=np.int64)
    # Rows of one-hot columns are mostly 0. A matrix product is faster for the other rows.
    left, finite = kernels.lift_sparse_rows(Z, W, int(SPARSE * len(W)), out, rest)
    if left:
        full = Z if left == len(Z) else Z[rest[:left]]
        with np.errstate(over="ignore", invalid="ignore"):
            finite &= kernels.turn_rows(full @ W, rest[:left], out)
    return bool(finite)


@lru_cache(maxsize=8)
def directions(columns: int, half: int, seed: int) -> np.ndarray:
    """(p, h) random directions for γ = ½, orthogonal in groups of p."""
    rng = np.random.RandomState(seed)
    groups = []
    for first in range(0, half, max(columns, 1)):
        size = min(columns, half - first)
        Q = np.linalg.qr(rng.standard_normal((columns, size)))[0]
        groups.append(Q * np.sqrt(rng.chisquare(columns, size)))
    out: np.ndarray = np.ascontiguousarray(np.concatenate(groups, axis=1))
    out.setflags(write=False)
    return out
