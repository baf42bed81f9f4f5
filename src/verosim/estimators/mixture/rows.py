"""The rows of each class about the mean of the class, in units of the pooled covariance.

    z = W (x − μ_k),   W Σ Wᵀ = I

Σ is the covariance within classes, as in LDA. In these units EM does not depend on the origin and
the units of the columns, and one floor for variances fits all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Groups
from verosim.data import ArraySource
from verosim.data.stream import TableSource
from verosim.densities import FullParams
from verosim.engines import map_chunks, map_jobs, one_blas_thread

ROWS_PER_BLOCK = 1024  # fixed, so that sums do not depend on the number of threads


@dataclass(frozen=True)
class LabelledRows:
    """Rows in memory with their classes and weights. All weights are positive."""

    X: np.ndarray  # (n, d)
    codes: np.ndarray  # (n,) class numbers
    weights: np.ndarray  # (n,)

    @classmethod
    def of(cls, source: ArraySource | TableSource, groups: Groups) -> LabelledRows:
        """The rows of a source that have a positive weight, with the class numbers of `groups`."""
        if isinstance(source, TableSource):
            batches = list(map_chunks(lambda chunk: chunk.batch(), source))
            own = (Groups(np.empty(0) if b.labels is None else b.labels) for b in batches)
            batches = [b.regrouped(g.positions(groups), 1)
                       for b, g in zip(batches, own, strict=True)]  # fmt: skip
        else:
            batches = list(source.batches())
        batches = [batch for batch in batches if len(batch)]
        return cls(
            np.concatenate([batch.block for batch in batches]),
            np.concatenate([batch.groups for batch in batches]).astype(np.intp),
            np.concatenate(
                [b.weights if len(b.weights) else np.ones(len(b)) for b in batches]
            ).astype(np.float64),
        )

    def take(self, at: np.ndarray) -> LabelledRows:
        """The rows with these numbers."""
        return LabelledRows(self.X[at], self.codes[at], self.weights[at])

    def source(self) -> ArraySource:
        """The rows as a source of batches."""
        return ArraySource(self.X, self.codes.astype(np.int32), self.weights)


@dataclass(frozen=True)
class WhiteRows:
    """Rows z = W (x − μ_k), sorted by class, and their sums. p is the number of used columns."""

    Z: np.ndarray  # (n, p)
    weights: np.ndarray  # (n,)
    bounds: np.ndarray  # (C + 1,) the first row of each class
    class_weight: np.ndarray  # (C,) Σw
    first: np.ndarray  # (C, p) Σw z
    second: np.ndarray  # (C, p, p) Σw z zᵀ
    frame: FullParams  # the class means and the pooled covariance

    @classmethod
    def of(cls, rows: LabelledRows, frame: FullParams) -> WhiteRows:
        """Rows in the units of `frame`.

        Within a class, rows are sorted by one linear function of them. The result, and with it the
        start of EM, does not depend on the order of the rows.
        """
        C, d = frame.pivot.shape
        W = frame.whitener[0][frame.used]  # (p, d)
        order = np.argsort(rows.codes, kind="stable")
        bounds = np.searchsorted(rows.codes[order], np.arange(C + 1))
        Z = np.empty((len(order), len(W)))
        direction = np.cos(np.arange(1.0, len(W) + 1))  # any fixed direction

        def whiten(c: int) -> None:
            at = order[bounds[c] : bounds[c + 1]]
            centred = np.empty((len(at), d))
            kernels.centre_rows(rows.X[at], frame.pivot[c], frame.offset[c], centred)
            z = centred @ W.T
            rank = np.argsort(z @ direction, kind="stable")
            Z[bounds[c] : bounds[c + 1]] = z[rank]
            order[bounds[c] : bounds[c + 1]] = at[rank]

        with one_blas_thread:
            map_jobs(whiten, C)
        weights = rows.weights[order]
        p = len(W)
        sums = np.zeros(C), np.zeros((C, p)), np.zeros((C, p, p))
        white = cls(Z, weights, bounds, *sums, frame)

        def add(c: int, start: int, stop: int) -> Any:
            z, w = Z[start:stop], weights[start:stop]
            v = w[:, None] * z
            return w.sum(), v.sum(axis=0), v.T @ z

        for c, (weight, first, second) in white.by_blocks(add):
            white.class_weight[c] += weight
            white.first[c] += first
            white.second[c] += second
        return white

    @property
    def counts(self) -> np.ndarray:
        """(C,) the number of rows of each class."""
        return np.diff(self.bounds)

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, p) the matrix from x − μ_k to z, and its inverse, for the used columns."""
        at = np.ix_(np.flatnonzero(self.frame.used), np.flatnonzero(self.frame.used))
        return self.frame.whitener[0][at], self.frame.root[0][at]

    def diagonal_of(self, covariance: np.ndarray) -> np.ndarray:
        """(p, p) a covariance of z with the correlations between columns of x set to zero."""
        W, root = self.units
        variance = ((root @ covariance) * root).sum(axis=1)  # of the columns of x
        return (W * variance) @ W.T

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
