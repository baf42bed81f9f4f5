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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import CellCodes, Columns
from verosim.data.sources import CELLS_PART, Parts
from verosim.densities.base import Params
from verosim.densities.dependence import informative_pairs
from verosim.densities.leave_one_out import Scorer
from verosim.densities.product import ProductDensity, ProductParams
from verosim.densities.smoothing import LEFTOVER
from verosim.stats import Pairs, Product

TRUST = 10.0  # rows with a pair of values at which its counts weigh as much as Q
ROWS_PER_PAIR = 30  # there is at most one pair for so many rows


@dataclass(frozen=True)
class Interactions:
    """The tables of some pairs of columns."""

    codes: CellCodes
    columns: Columns
    pairs: tuple[tuple[int, int], ...]  # the numbers of two columns, the smaller one first
    tables: tuple[np.ndarray, ...]  # for each pair, (B_i · B_j, C)

    @classmethod
    def of(cls, statistic: Pairs, pairs: Sequence[tuple[int, int]]) -> Interactions:
        """The interactions of these pairs, from the counts of one fold."""
        weight = statistic.weight[:, 0]  # (C,)
        total = weight.sum()
        share = (weight + 1.0) / (total + len(weight))
        single = np.maximum(statistic.single()[:, 0], 0.0)  # (C, J)
        alone = (single + share[:, None]) / (single.sum(axis=0) + 1.0)  # (C, J)
        first, tables = statistic.codes.first, []
        for i, j in pairs:
            rows, columns = slice(first[i], first[i + 1]), slice(first[j], first[j + 1])
            count = statistic.arrays["pair"][:, 0, rows, columns]  # (C, B_i, B_j)
            count = np.where(count > LEFTOVER * total, count, 0.0)
            naive = alone[:, rows, None] * alone[:, None, columns] / share[:, None, None]
            naive /= naive.sum(axis=0)
            together = (count + TRUST * naive) / (count.sum(axis=0) + TRUST)
            tables.append(np.log(together / naive).reshape(len(weight), -1).T.copy())
        return cls(statistic.codes, statistic.axes.columns, tuple(pairs), tuple(tables))

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The names of the two columns of each pair."""
        return tuple((self.columns.name(i), self.columns.name(j)) for i, j in self.pairs)

    def features(self, cells: np.ndarray) -> np.ndarray:
        """(n, C, P) the interaction of each pair, for rows of cells (n, d)."""
        return np.stack(
            [table[at] for at, table in zip(self._places(cells), self.tables, strict=True)], axis=2
        )

    def weighted(self, weights: np.ndarray) -> Interactions:
        """The tables multiplied by a weight for each pair, without the pairs of weight 0."""
        kept = np.flatnonzero(weights)
        return replace(
            self,
            pairs=tuple(self.pairs[p] for p in kept),
            tables=tuple(weights[p] * self.tables[p] for p in kept),
        )

    def add(self, cells: np.ndarray, out: np.ndarray) -> None:
        """Add the sum of the interactions of all pairs to out (n, C)."""
        for at, table in zip(self._places(cells), self.tables, strict=True):
            out += table[at]

    def _places(self, cells: np.ndarray) -> Iterator[np.ndarray]:
        """For each pair, (n,) the row of its table for each row of cells."""
        sizes, maps = self.codes.sizes, self.codes.maps
        for i, j in self.pairs:
            yield maps[i][cells[:, i]].astype(np.intp) * sizes[j] + maps[j][cells[:, j]]


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
