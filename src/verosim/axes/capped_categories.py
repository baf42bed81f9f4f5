"""The texts of category columns, with a maximum number of values per column.

A column with more values than its cap keeps the values that were frequent in the first look, and
then the values with the smallest hashes. All others share one overflow bucket, `OTHER`. The choice
depends only on the values and not on their order, so chunks and merges give the same result. Of the
frequent values and of the largest value that is kept, only the hashes are stored.
Reference: Bar-Yossef et al. (2002), Counting distinct elements in a data stream (k minimum values).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from verosim.axes.codes import Categories
from verosim.axes.columns import Columns
from verosim.axes.state_checks import check_distinct, check_whole, is_count, require
from verosim.axes.value_hashes import value_hash
from verosim.cached import cached_property
from verosim.errors import ONE_SCHEMA_HINT, VerosimError

OTHER = "‹other›"  # the overflow bucket

Rank = tuple[int, int]  # 0 for a frequent value or 1, and the hash


def overflow_rank(text: str, frequent: Collection[int]) -> Rank:
    """The rank of a value of a column with the hashes of these frequent values."""
    number = value_hash(text)
    return int(number not in frequent), number


@dataclass(frozen=True)
class CodedColumns:
    """Rows of category columns: for each column an index (n,) into a list of texts.

    A text of None means that the cell is missing.
    """

    indexes: tuple[np.ndarray, ...]  # d × (n,) int32
    texts: tuple[list[str | None], ...]
    rows: int

    def __len__(self) -> int:
        return self.rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.indexes)

    @property
    def cells_per_row(self) -> float:
        return float(len(self.indexes))

    @property
    def nbytes(self) -> int:
        return sum(index.nbytes for index in self.indexes)

    @classmethod
    def joined(cls, blocks: Sequence[CodedColumns]) -> CodedColumns:
        """The rows of several blocks, one after the other."""
        indexes, texts = [], []
        for j in range(len(blocks[0].indexes)):
            place: dict[str | None, int] = {}
            codes = [
                np.array([place.setdefault(text, len(place)) for text in block.texts[j]],
                         dtype=np.int32)[block.indexes[j]]
                for block in blocks
            ]  # fmt: skip
            indexes.append(np.concatenate(codes))
            texts.append(list(place))
        return cls(tuple(indexes), tuple(texts), sum(block.rows for block in blocks))

    def __getitem__(self, at: Any) -> CodedColumns:
        indexes = tuple(index[at] for index in self.indexes)
        rows = len(range(*at.indices(self.rows))) if isinstance(at, slice) else len(at)
        return CodedColumns(indexes, self.texts, rows)


class CappedCategories(Categories):
    """Categories that are texts, with a maximum number for each column."""

    def __init__(
        self,
        values: Iterable[tuple[str, ...]],
        caps: tuple[int, ...],
        frequent: tuple[tuple[int, ...], ...],
        last: tuple[Rank | None, ...] | None = None,
        possible: tuple[tuple[str, ...], ...] | None = None,
    ) -> None:
        super().__init__(values)
        # The declared values of each column, which rows do not add to; () if there are none.
        self.possible = ((),) * len(caps) if possible is None else possible
        self.caps, self.frequent = caps, frequent
        # Values with a larger rank than this one go to OTHER.
        self.last = (None,) * len(caps) if last is None else last

    @classmethod
    def none_yet(
        cls,
        caps: tuple[int, ...],
        frequent: tuple[tuple[int, ...], ...],
        possible: tuple[tuple[str, ...], ...] | None = None,
    ) -> CappedCategories:
        """The categories before the first row: only those that were declared."""
        possible = ((),) * len(caps) if possible is None else possible
        caps = tuple(max(cap, len(one)) for cap, one in zip(caps, possible, strict=True))
        return cls(possible, caps, frequent, possible=possible)

    @cached_property
    def declared(self) -> np.ndarray:
        found = [v in one for one, vs in zip(self._possible, self.values, strict=True) for v in vs]
        return np.array(found, dtype=bool)

    @cached_property
    def _possible(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(texts) for texts in self.possible)

    @cached_property
    def _frequent(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(hashes) for hashes in self.frequent)

    def rank(self, j: int, text: str) -> Rank:
        """The rank of a value of column j. Values with small ranks are kept first."""
        return overflow_rank(text, self._frequent[j])

    def overflow(self, j: int) -> tuple[tuple[int, ...], Rank] | None:
        last = self.last[j]
        return None if last is None else (self.frequent[j], last)

    def codes_of(self, j: int, texts: list[str | None]) -> np.ndarray:
        """(len,) int32 codes of some texts of column j; −1 is missing, −2 is not on the axis."""
        before = self._recent.get(j)
        if before is not None and before[0]() is texts:
            return before[1]
        get, last = self.index[j].get, self.last[j]
        found = [-1 if text is None else get(text, -2) for text in texts]
        if last is not None:
            other = self.index[j].get(OTHER, -2)
            found = [
                other if code == -2 and self.rank(j, text) > last else code  # type: ignore[arg-type]
                for code, text in zip(found, texts, strict=True)
            ]
        codes = np.array(found, dtype=np.int32)
        codes[codes >= 0] += np.int32(self.first[j])
        with suppress(TypeError):  # a plain list
            self._recent[j] = ref(texts), codes
        return codes

    @cached_property
    def _recent(self) -> dict[int, tuple[ref[list[str | None]], np.ndarray]]:
        """The last list of texts of each column, with its codes. Batches often share a list."""
        return {}

    @property
    def is_bucket(self) -> np.ndarray:
        return np.array([text == OTHER for texts in self.values for text in texts], dtype=bool)

    def tables(self, block: CodedColumns) -> tuple[list[np.ndarray], bool]:
        """For each column the codes of the texts of the block, and whether a text is unknown."""
        tables = [self.codes_of(j, texts) for j, texts in enumerate(block.texts)]
        unknown = any(
            (table == -2).any() and (table[index] == -2).any()
            for table, index in zip(tables, block.indexes, strict=True)
        )
        return tables, unknown

    def encode(self, block: Any) -> tuple[np.ndarray, bool]:
        tables, unknown = self.tables(block)
        codes = np.empty(block.shape, dtype=np.int32)
        for j, (table, index) in enumerate(zip(tables, block.indexes, strict=True)):
            full = np.where(table == -2, self.size + j, table)
            codes[:, j] = full.take(index, mode="clip")  # faster than full[index]
        return codes, unknown

    def widened(self, block: Any) -> CappedCategories:
        values, last = list(self.values), list(self.last)
        for j, (texts, index) in enumerate(zip(block.texts, block.indexes, strict=True)):
            unknown = np.flatnonzero(self.codes_of(j, texts) == -2)
            if len(unknown):
                present = np.zeros(len(texts), dtype=bool)
                present[index] = True
                fresh = sorted({texts[at] for at in unknown if present[at]})
                values[j], last[j] = self._capped(j, values[j] + tuple(fresh), last[j])
        found = CappedCategories(values, self.caps, self.frequent, tuple(last), self.possible)
        return found.grown_from(self)

    def _capped(
        self, j: int, texts: tuple[str, ...], last: Rank | None
    ) -> tuple[tuple[str, ...], Rank | None]:
        if last is None and len(texts) <= self.caps[j]:
            return texts, None
        own = [text for text in texts if text != OTHER]
        if last is None and len(own) <= self.caps[j]:
            return texts, None
        rank = {text: self.rank(j, text) for text in own}
        small = sorted(one for one in rank.values() if last is None or one <= last)
        bound = small[self.caps[j] - 1] if len(small) >= self.caps[j] else last
        assert bound is not None
        return (*(text for text in own if rank[text] <= bound), OTHER), bound

    def union(self, other: Categories, columns: Columns) -> CappedCategories:
        assert isinstance(other, CappedCategories)
        frequent = tuple(self._agreed(j, other, columns.name(j)) for j in range(len(self.caps)))
        if frequent != self.frequent:
            return self._with_frequent(frequent)._joined(other)
        return self._joined(other)

    def _with_frequent(self, frequent: tuple[tuple[int, ...], ...]) -> CappedCategories:
        return CappedCategories(self.values, self.caps, frequent, self.last, self.possible)

    def _agreed(self, j: int, other: CappedCategories, name: str) -> tuple[int, ...]:
        """The values that column j keeps first. They may differ as long as nothing overflows."""
        mine, theirs = self.frequent[j], other.frequent[j]
        if self.caps[j] == other.caps[j] and mine == theirs:
            return mine
        if self.caps[j] == other.caps[j]:  # a side without preference, and with all its values
            if not mine and self.last[j] is None:
                return theirs
            if not theirs and other.last[j] is None:
                return mine
        both = set(self.values[j]) | set(other.values[j])
        overflown = self.last[j] or other.last[j] or len(both) > self.caps[j]
        if self.caps[j] != other.caps[j] or overflown:
            raise VerosimError(
                f"Column {name!r} keeps at most {self.caps[j]} values, and the two models keep "
                "different values.",
                ONE_SCHEMA_HINT,
            )
        return tuple(sorted({*mine, *theirs}))

    def _joined(self, other: CappedCategories) -> CappedCategories:
        if self.values == other.values and self.last == other.last:
            return self
        values, last = [], []
        for j, (mine, theirs) in enumerate(zip(self.values, other.values, strict=True)):
            bounds = [bound for bound in (self.last[j], other.last[j]) if bound is not None]
            both = mine + tuple(v for v in theirs if v not in self.index[j])
            kept, bound = self._capped(j, both, min(bounds) if bounds else None)
            values.append(kept)
            last.append(bound)
        found = CappedCategories(values, self.caps, self.frequent, tuple(last), self.possible)
        return found.grown_from(self)

    def code_of(self, j: int, value: str) -> int:
        return super().code_of(j, value if value in self.index[j] else OTHER)

    def overflown(self, columns: Columns) -> dict[str, tuple[int, ...]]:
        """The columns with more values than their cap, and their frequent values."""
        found = zip(columns, self.frequent, self.last, strict=True)
        return {name: frequent for name, frequent, last in found if last is not None}

    def keep(self, kept: np.ndarray) -> CappedCategories:
        values = super().keep(kept).values
        frequent = tuple(self._still_frequent(j, texts) for j, texts in enumerate(values))
        return CappedCategories(values, self.caps, frequent, self.last, self.possible)

    def _still_frequent(self, j: int, texts: tuple[str, ...]) -> tuple[int, ...]:
        """The frequent values of column j that are left; all if it has, or had, too many values."""
        known = self.frequent[j]
        if (
            self.last[j] is not None
            or len(known) >= self.caps[j]
            or len(texts) == (len(self.values[j]))
        ):
            return known
        gone = {value_hash(text) for text in {*self.values[j]}.difference(texts)}
        return tuple(number for number in known if number not in gone)

    def narrowed(self, columns: np.ndarray) -> CappedCategories:
        pick = [int(j) for j in columns]
        return CappedCategories(
            [self.values[j] for j in pick],
            tuple(self.caps[j] for j in pick),
            tuple(self.frequent[j] for j in pick),
            tuple(self.last[j] for j in pick),
            tuple(self.possible[j] for j in pick),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_recent"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, also an older one, in which no values are declared."""
        self.__dict__.update({"possible": ((),) * len(state["caps"])} | state)

    def state(self) -> Any:
        state = self.values, self.caps, self.frequent, self.last
        return (*state, self.possible) if any(self.possible) else state

    def in_order(self) -> tuple[np.ndarray, Any]:
        """Frequent values have no effect before a column has too many values."""
        order, values = super().in_order()
        frequent = tuple(
            hashes if last is not None or len(hashes) >= cap else ()
            for hashes, last, cap in zip(self.frequent, self.last, self.caps, strict=True)
        )
        return order, (values, self.caps, frequent, self.last)

    @classmethod
    def from_state(cls, state: Any) -> CappedCategories:
        values, caps, frequent, last, *declared = state
        check_whole(caps, 0, 1 << 40, "a column has no cap")
        require(all(len(one) == len(values) for one in (caps, frequent, last, *declared)),
                "its columns differ in number")  # fmt: skip
        for texts in (*values, *(declared[0] if declared else ())):
            check_distinct(texts, "the values of a column")
            require(
                all(type(text) is str for text in texts), "the values of a column are not texts"
            )
        for hashes in frequent:
            require(all(is_count(one, 0, 1 << 64) for one in hashes), "a hash is not a number")
        for rank in last:
            known = rank is None or (len(rank) == 2 and is_count(rank[0], 0, 1))
            require(known and (rank is None or is_count(rank[1], 0, 1 << 64)), "a rank is wrong")
        return cls(
            (tuple(texts) for texts in values),
            tuple(caps),
            tuple(tuple(hashes) for hashes in frequent),
            tuple(None if rank is None else (rank[0], rank[1]) for rank in last),
            tuple(tuple(texts) for texts in declared[0]) if declared else None,
        )
