"""Merging of the columns that only one row uses, which are half of a typical vocabulary.

    Σ_j x_j w_j = ‖x‖ v,   the smallest ½ ‖w‖² with this value is ½ v², at w = v x/‖x‖

Here x_j are the cells of one row in columns that no other row uses. One merged column per row with
the value ‖x‖ and the weight v gives the same minimum, and w is computed from v.
Reference: the representer theorem, Schölkopf, Herbrich & Smola (2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from verosim.data import SparseRows
from verosim.twins.solvers.softmax import Softmax


@dataclass(frozen=True)
class MergedSingletons:
    """The objective with merged columns, and the change between merged and original columns."""

    objective: Softmax
    kept: np.ndarray  # (k,) columns that several rows use
    singletons: np.ndarray  # (l,) columns that one row uses
    place: np.ndarray  # (l,) the merged column of each of these
    share: np.ndarray  # (l,) x_j / ‖x‖
    d: int

    @classmethod
    def of(cls, objective: Softmax) -> MergedSingletons:
        assert isinstance(objective.X, SparseRows)
        X = objective.X.as_csr()
        n, d = X.shape
        stored = np.bincount(X.indices, minlength=d)
        single = stored[X.indices] == 1
        rows = np.repeat(np.arange(n), np.diff(X.indptr))[single]
        singletons, values = X.indices[single], X.data[single].astype(np.float64)
        norms = np.sqrt(np.bincount(rows, values * values, minlength=n))
        some = np.flatnonzero(norms > 0)
        column = np.zeros(n, dtype=np.int64)
        column[some] = np.arange(len(some))
        merged = sparse.csr_array((norms[some], (some, column[some])), shape=(n, len(some)))
        kept = np.flatnonzero(stored > 1)
        narrow = sparse.hstack([X[:, kept], merged], format="csr")
        narrow.sort_indices()
        within = np.where(norms[rows] > 0, norms[rows], 1.0)
        part = SparseRows(narrow.data, narrow.indices, narrow.indptr, narrow.shape[1])
        return cls(
            replace(objective, X=part, pivot=np.zeros(part.columns)), kept, singletons,
            len(kept) + column[rows], values / within, d,
        )  # fmt: skip

    def narrowed(self, B: np.ndarray) -> np.ndarray:
        """B (d + 1, K) for the merged columns."""
        out = np.zeros((self.objective.X.shape[1] + 1, B.shape[1]))
        out[: len(self.kept)] = B[self.kept]
        np.add.at(out, self.place, self.share[:, None] * B[self.singletons])
        out[-1] = B[-1]
        return out

    def widened(self, B: np.ndarray) -> np.ndarray:
        """(d + 1, K) for all columns. A column that no row uses has the weight zero."""
        out = np.zeros((self.d + 1, B.shape[1]))
        out[self.kept] = B[: len(self.kept)]
        out[self.singletons] = self.share[:, None] * B[self.place]
        out[-1] = B[-1]
        return out
