"""A covariance as geometry: its roots, its axes, its ellipses and its whiteners.

    Σ = V diag(λ) Vᵀ,   Σ^½ = V diag(√λ) Vᵀ,   Σ^(−½) = V diag(1/√λ) Vᵀ

A whitener is a matrix W with W Σ Wᵀ = I. Every whitener is a rotation of Σ^(−½).
Reference: Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation, The American
Statistician 72, 309–314.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular

from verosim.arguments import checked
from verosim.cached import cached_property
from verosim.errors import VerosimError

WHITENERS = ("zca", "pca", "cholesky")


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of a class, or of all classes together, with its roots and axes.

    The axes are the directions in which the columns are uncorrelated. Along axis j the variance is
    λ_j. Columns without variance are left out: their rows and columns are zero in all results.

        Σ = V diag(λ) Vᵀ,   root = V diag(√λ) Vᵀ,   inverse_root = V diag(1/√λ) Vᵀ

    where V has the axes as columns and λ are the eigenvalues.

    Attributes
    ----------
    matrix : ndarray of shape (d, d)
        The covariance Σ. Its entries that belong to columns with variance form a positive definite
        matrix.
    mean : ndarray of shape (d,)
        The mean that belongs to Σ.
    names : tuple of str
        The names of the columns.
    used : ndarray of shape (m,)
        The numbers of the columns that vary.
    eigenvalues : ndarray of shape (m,)
        The variances λ along the axes. The largest comes first.
    axes : ndarray of shape (d, m)
        The axes V, one per column, each of length 1. The largest entry of an axis is positive.
    root : ndarray of shape (d, d)
        The symmetric root Σ^½, with root @ root = Σ.
    inverse_root : ndarray of shape (d, d)
        The inverse Σ^(−½) of the symmetric root.

    See Also
    --------
    verosim.Whiten : Applies a whitener to rows.

    References
    ----------
    Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation, The American Statistician
    72, 309–314.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Covariance
    >>> found = Covariance(np.array([[2.0, 1.0], [1.0, 2.0]]), np.zeros(2), ("a", "b"))
    >>> found.eigenvalues.round(6)
    array([3., 1.])
    >>> (found.root @ found.root).round(6)
    array([[2., 1.],
           [1., 2.]])
    >>> W = found.whitener("cholesky")
    >>> bool(np.allclose(W @ found.matrix @ W.T, np.eye(2)))
    True
    """

    matrix: np.ndarray  # (d, d)
    mean: np.ndarray  # (d,)
    names: tuple[str, ...] = ()

    @cached_property
    def used(self) -> np.ndarray:
        return np.flatnonzero(self.matrix.diagonal() > 0)

    @cached_property
    def _lower(self) -> tuple[np.ndarray, np.ndarray]:
        """(m, m) L⁻¹ and L with Σ = L Lᵀ, from the correlations, so that units do not matter."""
        block = self.matrix[np.ix_(self.used, self.used)]
        scale = np.sqrt(block.diagonal())
        try:
            L = np.linalg.cholesky(block / (scale[:, None] * scale))
        except np.linalg.LinAlgError:
            raise VerosimError(
                "The covariance is singular: a column is a linear function of other columns.",
                "Remove the column, or use shrinkage.",
            ) from None
        inverse = solve_triangular(L, np.eye(len(L)), lower=True)
        return inverse / scale, L * scale[:, None]

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(m,) 1/√λ in increasing order, (m, m) the axes V as columns, and (m, m) U.

        L⁻¹ = U diag(1/√λ) Vᵀ. A whitener is Uᵀ L⁻¹, or a rotation of it. It keeps its digits if
        the columns have very different units; diag(1/√λ) Vᵀ is the same matrix and does not.
        """
        # The singular values of L⁻¹ are 1/√λ. They keep twice the digits of eigenvalues of Σ.
        U, inverse, Vt = np.linalg.svd(self._lower[0])
        V = Vt[::-1].T
        positive = V.max(axis=0, initial=0.0) >= -V.min(axis=0, initial=0.0)
        sign = np.where(positive, 1.0, -1.0)
        return inverse[::-1], V * sign, U[:, ::-1] * sign

    @property
    def eigenvalues(self) -> np.ndarray:
        return self._spectrum[0] ** -2.0

    @property
    def axes(self) -> np.ndarray:
        out = np.zeros((len(self.matrix), len(self.used)))
        out[self.used] = self._spectrum[1]
        return out

    @property
    def root(self) -> np.ndarray:
        return (self.axes / self._spectrum[0]) @ self.axes.T

    @property
    def inverse_root(self) -> np.ndarray:
        return (self.axes * self._spectrum[0]) @ self.axes.T

    @checked
    def whitener(self, method: Literal["zca", "pca", "cholesky"] = "zca") -> np.ndarray:
        """Compute a matrix W with W Σ Wᵀ = I.

        Parameters
        ----------
        method : {"zca", "pca", "cholesky"}, default="zca"
            "zca" is Σ^(−½), which changes rows as little as possible. "pca" is diag(1/√λ) Vᵀ, so
            that the first coordinate is along the longest axis. "cholesky" is L⁻¹ with Σ = L Lᵀ,
            so that each coordinate depends only on its own column and the columns before it.

        Returns
        -------
        ndarray of shape (m, d)
            The whitener. It has one row per column that varies.
        """
        return self._both(method)[0]

    @checked
    def unwhitener(self, method: Literal["zca", "pca", "cholesky"] = "zca") -> np.ndarray:
        """Compute the inverse of a whitener: a matrix A with A Aᵀ = Σ.

        Parameters
        ----------
        method : {"zca", "pca", "cholesky"}, default="zca"
            The kind of whitener. "zca" gives Σ^½, "pca" gives V diag(√λ), and "cholesky" gives L
            with Σ = L Lᵀ.

        Returns
        -------
        ndarray of shape (d, m)
            The inverse of the whitener. The rows of columns that do not vary are zero.
        """
        return self._both(method)[1]

    def _both(self, method: str) -> tuple[np.ndarray, np.ndarray]:
        """(m, d) the whitener and (d, m) its inverse."""
        check_whitener(method)
        W, A = self._lower
        if method != "cholesky":
            _, V, U = self._spectrum
            W, A = U.T @ W, A @ U
        if method == "zca":
            W, A = V @ W, A @ V.T
        m, d = len(W), len(self.matrix)
        whitener, unwhitener = np.zeros((m, d)), np.zeros((d, m))
        whitener[:, self.used], unwhitener[self.used] = W, A
        return whitener, unwhitener


def check_whitener(method: str) -> None:
    """Raise an error unless `method` is the name of a whitener."""
    if method not in WHITENERS:
        raise VerosimError(f"method must be one of {list(WHITENERS)}; got {method!r}.")
