"""Terms of codes: rows of a table by the code of one column, of two columns, or of all columns.

A code is a whole number from 0: a bin, a listed value, other values, or missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.cached import cached_property
from verosim.data.nodes import malformed
from verosim.data.readings import CODE, CellReading
from verosim.densities.terms.base import Scored, Term, finite_part


@dataclass(frozen=True, eq=False)
class CodeTerm(Term):
    """table[code]."""

    kind = "code"
    takes = CODE
    arity = 1
    table: Annotated[np.ndarray, "K", "C"]

    def check_values(self, given: Sequence[CellReading]) -> None:
        super().check_values(given)
        self.check_shapes({"K": given[self.reads[0]].codes})

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        scores = self.table[values[0]]
        return scores, np.abs(finite_part(scores))


@dataclass(frozen=True, eq=False)
class WidthTerm(CodeTerm):
    """− log width of a code, the same in all classes. A program stores it as a `CodeTerm`."""

    @classmethod
    def of(cls, j: int, log_widths: np.ndarray, classes: int) -> WidthTerm:
        """The term of reading j with widths (K,)."""
        return cls((j,), np.repeat(-log_widths[:, None], classes, axis=1))


@dataclass(frozen=True, eq=False)
class PairTerm(Term):
    """table[first code, second code]."""

    kind = "pair"
    takes = CODE
    arity = 2
    table: Annotated[np.ndarray, "A", "B", "C"]

    def check_values(self, given: Sequence[CellReading]) -> None:
        super().check_values(given)
        A, B = (given[j].codes for j in self.reads)
        self.check_shapes({"A": A, "B": B})

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        scores = self.table[values[0], values[1]]
        return scores, np.abs(finite_part(scores))


@dataclass(frozen=True, eq=False)
class CombinationTerm(Term):
    """table[i] if Σ_j stride_j · code_j is keys[i]; `unseen` for any other combination of codes.

    A row with a missing value, which is the last code of its column, has the score 0.
    """

    kind = "combination"
    takes = CODE
    strides: tuple[int, ...]
    keys: tuple[int, ...]
    table: Annotated[np.ndarray, "K", "C"]
    sizes: tuple[int, ...]  # the number of codes of each column
    unseen: Annotated[np.ndarray, "C"]

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.table):
            raise malformed("the list of keys is not as long as its table")
        if not len(self.reads) == len(self.strides) == len(self.sizes):
            raise malformed("a combination does not have one stride and one size per column")

    def check_values(self, given: Sequence[CellReading]) -> None:
        super().check_values(given)
        if self.sizes != tuple(given[j].codes for j in self.reads):
            raise malformed("the sizes of a combination are not those of its columns")

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {key: i for i, key in enumerate(self.keys)}

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        codes = np.stack(values, axis=1)  # (n, d)
        keys, unseen = codes @ np.array(self.strides), len(self.keys)
        every = np.vstack([self.table.reshape(-1, len(self.unseen)), self.unseen])
        scores = every[[self._rows.get(key, unseen) for key in keys.tolist()]]
        missing = (codes == np.array(self.sizes) - 1).any(axis=1, keepdims=True)
        scores = np.where(missing, 0.0, scores)
        return scores, np.abs(finite_part(scores))
