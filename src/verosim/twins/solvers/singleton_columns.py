"""Columns that only one row stores, half the vocabulary of a corpus, taken together.

    Σ_j x_j w_j = ‖x‖ v,   ½ ‖w‖² least for it where w = v x/‖x‖,   then ½ v²

over a row's lone columns: one column of value ‖x‖ a row has the same minimum, and w comes back.
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
    """The objective with lone columns merged, and the way back to all d of them."""

    objective: Softmax
    kept: np.ndarray  # (k,) columns that several rows store
    singletons: np.ndarray  # (l,) columns that one row stores
    place: np.ndarray  # (l,) the merged column of each
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
        """B (d + 1, K) over the merged columns: of all with the same scores the shortest."""
        out = np.zeros((self.objective.X.shape[1] + 1, B.shape[1]))
        out[: len(self.kept)] = B[self.kept]
        np.add.at(out, self.place, self.share[:, None] * B[self.singletons])
        out[-1] = B[-1]
        return out

    def widened(self, B: np.ndarray) -> np.ndarray:
        """(d + 1, K) over all columns; one that no row stores weighs nothing."""
        out = np.zeros((self.d + 1, B.shape[1]))
        out[self.kept] = B[: len(self.kept)]
        out[self.singletons] = self.share[:, None] * B[self.place]
        out[-1] = B[-1]
        return out
