"""Interactions of pairs of columns: what two values say about the class together, beyond each.

    log P(k | x_i, x_j) / Q(k | x_i, x_j),   Q ∝ P(k | x_i) P(k | x_j) / P(k)

    P(k)            = (N(k) + 1) / (N + C)
    P(k | x_i)      = (N(k, x_i) + P(k)) / (N(x_i) + 1)
    P(k | x_i, x_j) = (N(k, x_i, x_j) + 10 Q(k | x_i, x_j)) / (N(x_i, x_j) + 10)

Up to a term that is the same for all classes, it is log p(x_i, x_j | k) / (p(x_i | k) p(x_j | k)).
It is 0 if the columns are independent within each class, and for two values that no row had
together. References: Zaidi, Carman, Cerquides & Webb (2017), Efficient parameter learning of
Bayesian network classifiers; Kononenko (1991), Semi-naive Bayesian classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import CellCodes, Columns
from verosim.cached import cached_property
from verosim.data.readings import CellReading
from verosim.data.sources import CELLS_PART, Parts
from verosim.densities.base import Params, into
from verosim.densities.coded_rows import code_readings
from verosim.densities.dependence import informative_pairs
from verosim.densities.leave_one_out import Scorer
from verosim.densities.product import ProductDensity, ProductParams
from verosim.densities.terms import PairTerm, Term
from verosim.stats import Pairs, Product

TRUST = 10.0  # rows with a pair of values at which its counts weigh as much as Q
ROWS_PER_PAIR = 30  # there is at most one pair for so many rows


@dataclass(frozen=True)
class Interactions:
    """The tables of some pairs of columns."""

    codes: CellCodes
    columns: Columns
    pairs: tuple[tuple[int, int], ...]  # the numbers of two columns, the smaller one first
    first: np.ndarray  # (P + 1,) where the table of each pair begins
    table: np.ndarray  # (K, C) the tables of all pairs, each (B_i · B_j, C)

    @classmethod
    def of(cls, statistic: Pairs, pairs: Sequence[tuple[int, int]]) -> Interactions:
        """The interactions of these pairs, from the counts of one fold."""
        weight = statistic.weight[:, 0]  # (C,)
        total = weight.sum()
        share = (weight + 1.0) / (total + len(weight))
        single = np.maximum(statistic.single()[:, 0], 0.0)  # (C, J)
        alone = (single + share[:, None]) / (single.sum(axis=0) + 1.0)  # (C, J)
        codes, places = statistic.codes, _as_places(pairs)
        first = np.concatenate([[0], np.cumsum(codes.sizes[places].prod(axis=1))])
        table = np.empty((int(first[-1]), len(weight)))
        kernels.fill_interactions(
            statistic.arrays["pair"][:, 0], alone, share, codes.first, places, first,
            TRUST, table,
        )  # fmt: skip
        return cls(codes, statistic.axes.columns, tuple(pairs), first, table)

    @property
    def tables(self) -> list[np.ndarray]:
        """For each pair, (B_i · B_j, C)."""
        return np.split(self.table, self.first[1:-1])

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The names of the two columns of each pair."""
        name = self.columns.name
        return tuple((name(i), name(j)) for i, j in self.pairs)

    def features(self, cells: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C, P) the interaction of each pair, for rows of cells (n, d)."""
        out = into(out, (len(cells), self.table.shape[1], len(self.pairs)))
        kernels.read_interactions(cells, *self._tables, out)
        return out

    def weighted(self, weights: np.ndarray) -> Interactions:
        """The tables multiplied by a weight for each pair, without the pairs of weight 0."""
        sizes, kept = np.diff(self.first), weights != 0
        table = np.repeat(weights, sizes)[:, None] * self.table
        return replace(
            self,
            pairs=tuple(self.pairs[p] for p in np.flatnonzero(kept)),
            first=np.concatenate([[0], np.cumsum(sizes[kept])]),
            table=table[np.repeat(kept, sizes)],
        )

    def add(self, cells: np.ndarray, out: np.ndarray) -> None:
        """Add the sum of the interactions of all pairs to out (n, C)."""
        kernels.add_interactions(cells, *self._tables, out)

    def readings(self, cells: Sequence[CellReading]) -> tuple[CellReading, ...]:
        """The readings of the codes of all columns, from those of their cells."""
        return code_readings(self.codes, cells)

    def terms(self) -> tuple[Term, ...]:
        """One term for each pair, as the terms of a program."""
        sizes = self.codes.sizes
        return tuple(
            PairTerm((i, j), table.reshape(sizes[i], sizes[j], -1))
            for (i, j), table in zip(self.pairs, self.tables, strict=False)
        )

    @cached_property
    def _tables(self) -> tuple[np.ndarray, ...]:
        """What the kernels need to find the entries of rows of cells."""
        return self.codes.maps, self.codes.sizes, _as_places(self.pairs), self.first, self.table


def _as_places(pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """(P, 2) the numbers of the columns of all pairs."""
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class PairedParams(ProductParams):
    """Independent columns, and the interactions of the most informative pairs next to them.

    The density is that of independent columns. Only a calibration uses the interactions.
    """

    interactions: Interactions | None = None

    def read(self, rows: Any) -> Parts:
        out = super().read(rows)
        if self.interactions is not None:
            out[CELLS_PART] = rows[CELLS_PART]
        return out


@dataclass(frozen=True)
class PairedDensity(ProductDensity):
    """Independent columns, and at most so many pairs of columns."""

    most: int = 0

    def estimate(self, statistic: Product) -> PairedParams:
        return self._with_pairs(statistic, self.interactions(statistic))

    def interactions(self, statistic: Product) -> Interactions | None:
        """The interactions of the chosen pairs; None if the rows were not read as cells."""
        _, pairs = _split(statistic)
        if pairs is None:
            return None
        most = min(self.most, int(pairs.weight.sum() / ROWS_PER_PAIR))
        return Interactions.of(pairs, informative_pairs(pairs, most))

    def _with_pairs(self, statistic: Product, found: Interactions | None) -> PairedParams:
        plain = super().estimate(_split(statistic)[0])
        return PairedParams(plain.parts, plain.columns, plain.kinds, found)

    @classmethod
    def estimate_family(
        cls, densities: Sequence[Any], statistic: Any, quiet: bool = False
    ) -> list[Params]:
        """Densities that differ only in their columns share the interactions."""
        numbers = {one.most: one for one in densities}
        shared = {most: one.interactions(statistic) for most, one in numbers.items()}
        return [one._with_pairs(statistic, shared[one.most]) for one in densities]

    def leave_one_out(self, statistic: Product) -> Scorer:
        return super().leave_one_out(_split(statistic)[0])


def _split(statistic: Product) -> tuple[Product, Pairs | None]:
    """The product without the counts of pairs, and the counts of pairs."""
    parts = dict(statistic.parts)
    pairs = parts.pop(CELLS_PART, None)
    assert pairs is None or isinstance(pairs, Pairs)
    kinds = {name: kind for name, kind in statistic.kinds.items() if name in parts}
    return Product(parts, kinds), pairs
