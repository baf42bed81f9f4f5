"""Small dense linear algebra: factors of covariances and shrinkage intensities.

    Σ = S R S with S = diag(σ);  PᵀR P = L Lᵀ;  whitener = L⁻¹ Pᵀ S⁻¹;  log|Σ| = 2 Σ log(L_jj σ_j)

The correlation R is factored instead of Σ, so that thresholds do not depend on units.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.special import logsumexp

EPS = float(np.finfo(np.float64).eps)
STEEP = 1e-4  # smallest/largest eigenvalue below which small eigenvalues are not accurate
LEAST_SPREAD = 16  # rounding errors up to which the spread of a Ledoit–Wolf intensity is zero


@dataclass(frozen=True)
class Factor:
    """The factor of a covariance: whitener W (d, d) with W Σ Wᵀ = I."""

    whitener: np.ndarray
    log_det: float


def factor(covariance: np.ndarray, noise: np.ndarray) -> Factor | None:
    """The factor of a covariance, or None if it is singular.

    noise (d,) is the share of each variance that is rounding error. A column depends on the others
    if the share of its variance that they do not explain is below noise.
    """
    d = len(covariance)
    variance = covariance.diagonal()
    if d == 0:
        return Factor(np.zeros((0, 0)), 0.0)
    if not (variance > 0).all() or not np.isfinite(covariance).all():
        return None
    scale = np.sqrt(variance)
    R = covariance / (scale[:, None] * scale)
    # Exact ones: rounding must not choose the first column, on which the drawn rows depend.
    R[np.diag_indices(d)] = 1.0
    # With pivoting, the column with the smallest unexplained share comes last.
    L, order, rank, _ = lapack.dpstrf(R, tol=64 * d * float(noise.max(initial=EPS)), lower=1)
    if rank < d:
        return None
    inverse, info = lapack.dtrtri(np.where(_lower(d), L, 0.0), lower=1)
    if info != 0:
        return None
    columns = np.empty((d, d))  # the columns of the whitener, which LAPACK stores one by one
    columns[order - 1] = inverse.T
    columns /= scale[:, None]
    log_det = float(2 * np.log(L.diagonal()).sum() + np.log(variance).sum())
    return Factor(columns.T, log_det)


@lru_cache(8)
def _lower(d: int) -> np.ndarray:
    """(d, d) bool: the lower triangle."""
    return np.tri(d, dtype=bool)


@dataclass(frozen=True)
class Inverse:
    """A⁻¹ of a positive semi-definite A. If A is singular, the solution of least norm."""

    root: np.ndarray  # (r, d) with A⁻¹ = rootᵀ root
    null: np.ndarray  # (d, d − r) orthonormal columns of the null space of A
    rank: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) A⁻¹ times each row."""
        found = (rows @ self.root.T) @ self.root
        return found - (found @ self.null) @ self.null.T


def inverse(A: np.ndarray, noise: np.ndarray) -> Inverse:
    """A⁻¹ and the rank of A. noise (d,) is the share of each diagonal entry that is rounding."""
    d = len(A)
    regular = factor(A, noise)
    if regular is not None:
        return Inverse(regular.whitener, np.zeros((d, 0)), d)
    alive = np.flatnonzero(A.diagonal() > 0)
    scale = np.sqrt(A.diagonal()[alive])
    values, vectors = np.linalg.eigh(A[np.ix_(alive, alive)] / (scale[:, None] * scale))
    kept = values > 64 * max(len(alive), 1) * float(noise[alive].max(initial=EPS))
    root, null = np.zeros((int(kept.sum()), d)), np.zeros((d, d - int(kept.sum())))
    root[:, alive] = vectors[:, kept].T / np.sqrt(values[kept])[:, None] / scale
    # The null space of the scaled columns, in the units of the columns.
    null[alive, : int((~kept).sum())] = vectors[:, ~kept] / scale[:, None]
    dead = np.setdiff1d(np.arange(d), alive)
    null[dead, int((~kept).sum()) + np.arange(len(dead))] = 1.0
    return Inverse(root, np.linalg.qr(null)[0], int(kept.sum()))


def normalised_logs(scores: np.ndarray) -> np.ndarray:
    """(n, C) log of exp(s_k) / Σ_j exp(s_j). The shares sum to 1 for scores of any size."""
    # Without this step, the rounding error would be that of the largest score.
    scores = scores - scores.max(axis=1, keepdims=True)
    found: np.ndarray = scores - logsumexp(scores, axis=1, keepdims=True)
    return found


def positive_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of A x = b for a positive definite A."""
    _, x, info = lapack.dposv(A, b)
    if info != 0:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    found: np.ndarray = x
    return found


@dataclass(frozen=True)
class Spectrum:
    """Σ = V diag(λ) Vᵀ. It gives the factors of (1 − a) Σ + a (tr Σ/d) I for every a."""

    values: np.ndarray  # (d,)
    vectors: np.ndarray  # (d, d) columns

    @classmethod
    def of(cls, covariance: np.ndarray) -> Spectrum:
        return cls(*np.linalg.eigh(covariance))

    def factor(self, intensity: float, noise: np.ndarray) -> Factor | None:
        """The factor, or None if the small eigenvalues are not accurate enough.

        noise (d,) is the share of each variance that is rounding error.
        """
        if not len(self.values):
            return Factor(np.zeros((0, 0)), 0.0)
        shrunk = (1 - intensity) * self.values + intensity * self.values.mean()
        if not shrunk.min() > max(STEEP, 64 * len(shrunk) * float(noise.max())) * shrunk.max():
            return None
        whitener = self.vectors.T / np.sqrt(shrunk)[:, None]
        return Factor(whitener, float(np.log(shrunk).sum()))


def chosen_square(at: np.ndarray, d: int) -> Any:
    """The index of the rows and columns `at` of a (d, d) matrix; a slice if these are all."""
    return np.ix_(at, at) if len(at) < d else np.s_[:, :]


def dependent_columns(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The columns that are constant or combinations of others, by a pivoted Cholesky."""
    variance = covariance.diagonal()
    variance = np.where(noise < 0.5, variance, 0.0)  # zero if it is mostly rounding error
    alive = np.flatnonzero(variance > 0)
    scale = np.sqrt(variance[alive])
    R = covariance[np.ix_(alive, alive)] / (scale[:, None] * scale)
    share = float(noise[alive].max(initial=EPS))
    _, order, rank, _ = lapack.dpstrf(R, tol=64 * max(len(R), 1) * share, lower=1)
    left = alive[order[rank:] - 1] if len(alive) else alive
    return np.sort(np.concatenate([np.flatnonzero(~(variance > 0)), left]))


def sphere(covariance: np.ndarray, intensity: float) -> np.ndarray:
    """(1 − a) Σ + a (tr Σ / d) I."""
    d = len(covariance)
    out = (1 - intensity) * covariance
    out.flat[:: d + 1] += intensity * np.trace(covariance) / d
    return out


def oas(covariance: np.ndarray, weight: float) -> float:
    """Oracle approximating shrinkage intensity of a maximum-likelihood covariance.

    (tr Σ² + tr² Σ) / ((n + 1)(tr Σ² − tr² Σ / d)), at most 1. The terms with 2/d are left
    out, as in common use. Reference: Chen, Wiesel, Eldar & Hero (2010), Shrinkage algorithms for
    MMSE covariance estimation, eq. 23.
    """
    d = len(covariance)
    if d <= 1 or not covariance.any():
        return 0.0
    squares = float((covariance**2).mean())
    mean = float(np.trace(covariance)) / d
    denominator = (weight + 1) * (squares - mean**2 / d)
    return 1.0 if denominator <= 0 else min((squares + mean**2) / denominator, 1.0)


def ledoit_wolf(
    covariance: np.ndarray, weight: float, quartic: float, noise: float
) -> tuple[float, float]:
    """Ledoit–Wolf intensity and its rounding error.

    b² = (Σ‖z‖⁴/n − ‖Σ‖²)/n,  d² = ‖Σ − m I‖²,  intensity = min(b², d²)/d².
    Σ is the maximum-likelihood covariance, `quartic` is Σw‖x − μ‖⁴ and `noise` its rounding error.
    b² is 0 for two rows: both have the same zzᵀ. An intensity below its rounding error is 0.
    Ledoit & Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices.
    """
    d = len(covariance)
    if d <= 1 or not covariance.any():
        return 0.0, 0.0
    norm = float((covariance**2).sum())
    mean = float(np.trace(covariance)) / d
    distance = norm - d * mean**2
    noise = noise / weight  # ‖Σ‖² has no larger error, because ‖Σ‖² ≤ Σ‖z‖⁴/n
    spread = quartic / weight - norm
    if spread <= LEAST_SPREAD * noise or distance <= 0:
        return 0.0, 0.0
    return min(spread / weight / distance, 1.0), noise / weight / distance


def padded(table: np.ndarray) -> np.ndarray:
    """A copy of (K, C) with zeros after column C, so that each row fills whole cache lines."""
    K, C = table.shape
    out = room_for_lanes(K, C)
    out[:, :C], out[:, C:] = table, 0.0
    return out


def room_for_lanes(K: int, C: int, lanes: int = 8) -> np.ndarray:
    """An array (K, C rounded up to whole lanes) of any numbers; each row fills cache lines."""
    width = -(-C // lanes) * lanes
    room = np.empty(K * width + lanes)
    start = (-room.ctypes.data // room.itemsize) % lanes
    return room[start : start + K * width].reshape(K, width)


# Threads of BLAS ----------------------------------------------------------------------------------


@cache
def _blas() -> list[Any]:
    """The BLAS libraries of this process."""
    from threadpoolctl import ThreadpoolController

    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


def _let_anyone_limit() -> None:
    """Allow every thread to set the limit of BLAS threads.

    threadpoolctl allows it only for the thread that set the first limit. Here the limit belongs to
    the process, and any thread may be the first to set it or the last to restore it."""
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _OneBlasThread(ContextDecorator):
    """A context in which BLAS uses one thread, because our own threads call it.

    The limit belongs to the process, so the uses are counted and the last one restores it.
    """

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.before: list[tuple[Any, int]] | None = None  # libraries with more than one thread
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forked)

    def forked(self) -> None:
        """A forked child process does not have the threads that hold the lock or are inside."""
        self.lock, self.inside = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if self.before is None:
                threads = [(library, library.num_threads) for library in _blas()]
                self.before = [(library, count) for library, count in threads if (count or 1) > 1]
                self.set_threads([(library, 1) for library, _ in self.before])
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside = max(self.inside - 1, 0)
            if self.inside == 0 and self.before is not None:
                before, self.before = self.before, None
                self.set_threads(before)

    @staticmethod
    def set_threads(wanted: list[tuple[Any, int]]) -> None:
        """Set the number of threads of some libraries."""
        if not wanted:
            return
        _let_anyone_limit()
        for library, count in wanted:
            library.set_num_threads(count)
        _let_anyone_limit()


one_blas_thread = _OneBlasThread()
