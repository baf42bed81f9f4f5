"""The rows of each class about the mean of the class, in units of the pooled covariance.

    z = W (x − μ_k),   W Σ Wᵀ = I

Σ is the covariance within classes, as in LDA. In these units EM does not depend on the origin and
the units of the columns, and one floor for variances fits all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import engines, kernels
from verosim.axes import Groups
from verosim.cached import cached_property
from verosim.data.source import RowSource
from verosim.data.sources import rows_in_memory
from verosim.densities import FullParams
from verosim.engines import map_jobs, one_blas_thread

SORTED_COLUMNS = 8  # rows are sorted by the first columns, then by a hash
ROWS_PER_BLOCK = 1024  # fixed, so that sums do not depend on the number of threads


@dataclass(frozen=True)
class LabelledRows:
    """Rows in memory with their classes and weights. All weights are positive.

    Rows are sorted by class and by value, and equal rows have the same number. The start of EM and
    the held-out rows therefore do not depend on the order of the rows, and a row of weight 2 counts
    exactly like two equal rows.
    """

    X: np.ndarray  # (n, d)
    codes: np.ndarray  # (n,) class numbers
    weights: np.ndarray  # (n,)
    number: np.ndarray  # (n,) the number of the row among the different rows

    @classmethod
    def of(cls, source: RowSource, groups: Groups) -> LabelledRows:
        """The rows of a source that have a positive weight, with the class numbers of `groups`."""
        rows = engines.gather(source, groups, "MDA")
        X = np.asarray(rows.block, dtype=np.float64)
        codes = rows.codes.astype(np.int32)
        keys = np.empty(len(X), dtype=np.uint64)
        kernels.hash_rows(X, np.empty(0, np.int32), np.empty(0, np.int32), codes, keys)
        order = np.lexsort((keys, *X[:, :SORTED_COLUMNS].T[::-1], codes))
        new = np.ones(len(X), dtype=bool)
        new[1:] = np.diff(keys[order]) != 0
        return cls(X[order], codes[order], rows.weights[order], np.cumsum(new) - 1)

    def take(self, at: np.ndarray) -> LabelledRows:
        """The rows with these numbers."""
        return LabelledRows(self.X[at], self.codes[at], self.weights[at], self.number[at])

    def source(self) -> RowSource:
        """The rows as a source of batches."""
        return rows_in_memory(self.X, self.codes, self.weights)

    def counts(self, classes: int) -> np.ndarray:
        """(C,) the number of different rows of each class."""
        first = np.ones(len(self.number), dtype=bool)
        first[1:] = np.diff(self.number) != 0
        return np.bincount(self.codes[first], minlength=classes)


@dataclass(frozen=True)
class WhiteRows:
    """Rows z = W (x − μ_k), sorted by class, and their sums. p is the number of used columns."""

    Z: np.ndarray  # (n, p)
    weights: np.ndarray  # (n,)
    bounds: np.ndarray  # (C + 1,) the first row of each class
    counts: np.ndarray  # (C,) the number of different rows of each class
    class_weight: np.ndarray  # (C,) Σw
    first: np.ndarray  # (C, p) Σw z
    second: np.ndarray  # (C, p, p) Σw z zᵀ
    frame: FullParams  # the class means and the pooled covariance

    @classmethod
    def of(cls, rows: LabelledRows, frame: FullParams) -> WhiteRows:
        """Rows in the units of `frame`, in the same order."""
        C, d = frame.pivot.shape
        W = frame.whitener[0][frame.used]  # (p, d)
        bounds = np.searchsorted(rows.codes, np.arange(C + 1))
        Z = np.empty((len(rows.X), len(W)))

        def whiten(c: int) -> None:
            at = slice(bounds[c], bounds[c + 1])
            centred = np.empty((bounds[c + 1] - bounds[c], d))
            kernels.centre_rows(rows.X[at], frame.pivot[c], frame.offset[c], centred)
            np.matmul(centred, W.T, out=Z[at])

        with one_blas_thread:
            map_jobs(whiten, C)
        weights = rows.weights
        p = len(W)
        sums = np.zeros(C), np.zeros((C, p)), np.zeros((C, p, p))
        white = cls(Z, weights, bounds, rows.counts(C), *sums, frame)

        def add(c: int, start: int, stop: int) -> Any:
            z, w = Z[start:stop], weights[start:stop]
            v = w[:, None] * z
            return w.sum(), v.sum(axis=0), v.T @ z

        for c, (weight, first, second) in white.by_blocks(add):
            white.class_weight[c] += weight
            white.first[c] += first
            white.second[c] += second
        return white

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, p) the matrix from x − μ_k to z, and its inverse, for the used columns."""
        at = np.ix_(np.flatnonzero(self.frame.used), np.flatnonzero(self.frame.used))
        return self.frame.whitener[0][at], self.frame.root[0][at]

    def diagonal_of(self, covariance: np.ndarray, sphere: bool) -> np.ndarray:
        """(p, p) a covariance of z with the correlations between columns of x set to zero.

        `sphere` also gives all columns of x their mean variance.
        """
        W, root = self.units
        variance = ((root @ covariance) * root).sum(axis=1)  # of the columns of x
        return (W * (variance.mean() if sphere else variance)) @ W.T

    def by_blocks(self, work: Any, classes: Any = None) -> list[tuple[int, Any]]:
        """work(class, start, stop) for blocks of rows, with all threads, in order.

        The blocks, and with them the sums, do not depend on the number of threads.
        """
        wanted = range(len(self.bounds) - 1) if classes is None else classes
        jobs = [
            (c, start, min(start + ROWS_PER_BLOCK, stop))
            for c in wanted
            for stop in [int(self.bounds[c + 1])]
            for start in range(int(self.bounds[c]), stop, ROWS_PER_BLOCK)
        ]
        found: list[Any] = [None] * len(jobs)

        def run(job: int) -> None:
            found[job] = work(*jobs[job])

        with one_blas_thread:
            map_jobs(run, len(jobs))
        return [(job[0], result) for job, result in zip(jobs, found, strict=True)]
