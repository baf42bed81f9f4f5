"""Chooses the kind of a column from its type and its first rows.

The type decides if it can. Otherwise the rows decide: whether the texts of a CSV file are numbers,
dates, identifiers, categories or free text, and whether a Gaussian or a histogram separates the
classes better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from verosim.axes.bins import edges_of
from verosim.data import cells
from verosim.data.column_kinds import IGNORE
from verosim.data.libraries import pa
from verosim.data.schema import SET_BY_USER, Column, as_kind
from verosim.errors import VerosimError, listed
from verosim.kinds.boolean import BOOLEAN
from verosim.kinds.category import CATEGORY
from verosim.kinds.date import DATE
from verosim.kinds.density_choice import DEFAULT_BINS, NumbersSeen, see_numbers
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.text import TEXT

LEAST_ROWS_FOR_IDENTIFIER = 20  # with fewer rows, no column is an identifier
ROWS_OF_SURE_IDENTIFIER = 50  # with so many different whole numbers, a note asks the user
MOST_NUMERIC_CODES = 100  # with more distinct numbers, they are not kept as categories
FEW_WHOLE_NUMBERS = 20  # with so few different whole numbers, a note asks the user
LEAST_WORDS_OF_TEXT = 4.0  # mean number of words per cell of a text column
DATES = "dates, read as hour, weekday and month"
TRUE_OR_FALSE = "true or false"


@dataclass(frozen=True, eq=False)
class FirstLook:
    """Chooses the kind of each column from its type and its first rows."""

    na: frozenset[str]
    typed: bool
    labels: np.ndarray | None
    weights: np.ndarray
    cap: int
    declared: set[str]  # the columns with a categorical type

    def column(self, name: str, array: pa.Array, given: str | None) -> Column:
        """The entry of one column; `given` is the kind that the user chose."""
        shown = str(array.type) if self.typed else "text"
        shown = "category" if name in self.declared else shown
        kind = cells.kind_of_type(array.type)
        try:
            found = self._found(name, array, kind)
        except cells.Unreadable as error:
            raise error.named(f"Column {name!r}, row {error.row}") from None
        if given is not None:
            wanted = as_kind(given, name)
            if wanted.name != found.density:
                found = replace(found, density=wanted.name, note="")
                if wanted.role == GAUSSIAN.role and not found.edges:
                    found = self._as_number(found, array)
                elif wanted.role == CATEGORY.role:
                    found = self._as_words(found, array)
            found = replace(found, reason=SET_BY_USER)
        return replace(found, type=_short(shown))

    def _found(self, name: str, array: pa.Array, kind: str) -> Column:
        if kind in ("boolean", "time") and array.null_count == len(array):
            return Column(name, IGNORE.name, reason=f"missing in all {len(array):,} rows")
        if kind == "boolean":
            return Column(name, BOOLEAN.name, reason=TRUE_OR_FALSE)
        if kind == "time":
            return Column(name, DATE.name, reason=DATES)
        if kind == "number" and name in self.declared:
            return replace(
                self._as_words(Column(name, CATEGORY.name), array), reason="the type is categorical"
            )
        if kind == "number":
            return self._number(name, array)
        if kind == "text":
            return self._text(name, array)
        if kind == "nothing":
            return Column(name, IGNORE.name, reason="the column has no values")
        return Column(
            name,
            IGNORE.name,
            reason=f"the type {_short(str(array.type))} is not supported",
            note="The column is ignored, because lists, structs and bytes are not supported.",
        )

    def numbers(
        self, names: Sequence[str], types: Sequence[str], X: np.ndarray
    ) -> Iterator[Column]:
        """The entries of columns of numbers (n, d), with the names of their types in the source."""
        seen = see_numbers(X, self.labels, self.weights)
        for name, type_, found in zip(names, types, seen, strict=True):
            yield self._seen_number(name, found, _short(type_))

    def _number(self, name: str, array: pa.Array) -> Column:
        x = cells.numbers(array, self.na)
        return self._seen_number(name, next(see_numbers(x[:, None], self.labels, self.weights)))

    def _seen_number(self, name: str, found: NumbersSeen, type_: str = "") -> Column:
        x, n, distinct, whole = found.x, found.count, found.distinct, found.whole
        if not n:
            return Column(name, IGNORE.name, type_, f"missing in all {len(x):,} rows")
        if whole and n >= LEAST_ROWS_FOR_IDENTIFIER and len(distinct) == n == len(x):
            steps = np.diff(found.values)
            if (steps == 1).all() or (steps == -1).all():
                return Column(name, IGNORE.name, type_, "identifier: consecutive whole numbers")
        why, note = found.reason, ""
        if len(distinct) == 1:
            why = _constant(str(cells.text_of(distinct[0])))
        elif whole and len(distinct) <= FEW_WHOLE_NUMBERS and n >= 5 * len(distinct):
            shown = ", ".join(str(cells.text_of(v)) for v in distinct[:6])
            more = ", …" if len(distinct) > 6 else ""
            kind = (BOOLEAN if set(distinct.tolist()) <= {0.0, 1.0} else CATEGORY).name
            note = (
                f"The values are only the whole numbers {shown}{more}. "
                f"If they are codes, use columns={{{name!r}: {kind!r}}}."
            )
        elif whole and n >= ROWS_OF_SURE_IDENTIFIER and len(distinct) == n == len(x):
            note = f"All values are different. {_if_identifier(name)}"
        # These values are needed if the user changes the column to a category.
        few = distinct.tolist() if len(distinct) <= MOST_NUMERIC_CODES else ()
        frequent = tuple(cells.text_of_number(v) for v in few)
        return Column(name, found.density, type_, why, note, whole, found.edges, frequent)

    def _as_number(self, column: Column, array: pa.Array) -> Column:
        try:
            x = cells.numbers(array, self.na)
        except cells.Unreadable as error:
            raise VerosimError(
                f"Column {column.name!r}, row {error.row}: {error.value!r} is not a number.",
                f"Use na=[{error.value!r}] if it means missing.",
            ) from None
        seen = x[np.isfinite(x)]
        column = replace(column, whole=bool((seen == np.floor(seen)).all()))
        return replace(column, edges=tuple(edges_of(x, self.weights, DEFAULT_BINS).tolist()))

    def _seen(self, array: pa.Array) -> dict[str, int]:
        """How many times each text occurs."""
        index, texts = cells.keys(array, self.na)
        count = np.bincount(index, minlength=len(texts))
        return {text: int(c) for text, c in zip(texts, count, strict=True) if text and c}

    def _text(self, name: str, array: pa.Array) -> Column:
        seen = self._seen(array)
        n = sum(seen.values())
        if not n:
            return Column(name, IGNORE.name, reason=f"missing in all {len(array):,} rows")
        if all(cells.DATE_PATTERN.fullmatch(text) for text in seen):
            return Column(name, DATE.name, reason=DATES)
        if not self.typed:
            padded = any(cells.PADDED_PATTERN.match(text) for text in seen)
            if not padded and all(cells.NUMBER_PATTERN.fullmatch(text) for text in seen):
                return self._number(name, array)
            if len(seen) <= 4 and all(text.lower() in cells.TRUTHS for text in seen):
                return Column(name, BOOLEAN.name, reason=TRUE_OR_FALSE)
        words = sum(len(text.split()) * c for text, c in seen.items()) / n
        if words >= LEAST_WORDS_OF_TEXT and len(seen) > max(n / 2, 2):
            reason = f"{words:.0f} words per cell, and most cells are different"
            return Column(name, TEXT.name, reason=reason)
        if len(seen) == n and n >= LEAST_ROWS_FOR_IDENTIFIER:
            reason = f"identifier: all {n:,} values are different"
            return Column(name, IGNORE.name, reason=reason)
        return self._words(name, seen, n)

    def _words(self, name: str, seen: dict[str, int], n: int) -> Column:
        reason = f"{len(seen):,} value{'s' if len(seen) != 1 else ''} in {n:,} rows"
        if len(seen) == 1:
            reason = _constant(next(iter(seen)))
        note = ""
        odd = [text for text in seen if not cells.NUMBER_PATTERN.fullmatch(text)]
        if len(seen) > 5 and len(odd) <= max(3, len(seen) // 20) and not self.typed:
            note = (
                f"The values are numbers except {listed(odd, 3)}. "
                f"If this means missing, use na={odd[:3]!r}."
            )
        elif len(seen) > 5 and not odd:
            note = (
                "The values are numbers that are stored as text. "
                f"To read them as numbers, use columns={{{name!r}: {GAUSSIAN.name!r}}}."
            )
        elif len(seen) > self.cap:
            reason = f"{len(seen):,} values in {n:,} rows; {self.cap:,} are kept"
        elif len(seen) > 0.5 * n and n >= LEAST_ROWS_FOR_IDENTIFIER:
            note = f"There are {len(seen):,} different values in {n:,} rows. {_if_identifier(name)}"
        ranked = sorted(seen, key=lambda text: (-seen[text], text))
        frequent = tuple(ranked[: self.cap])  # values that come later do not replace these
        return Column(name, CATEGORY.name, reason=reason, note=note, frequent=frequent)

    def _as_words(self, column: Column, array: pa.Array) -> Column:
        seen = self._seen(array)
        return replace(column, frequent=self._words(column.name, seen, len(array)).frequent)


def _constant(value: str) -> str:
    return f"constant ({value}), so it does not separate the classes"


def _if_identifier(name: str) -> str:
    return f"If the column is an identifier, use columns={{{name!r}: {IGNORE.name!r}}}."


def _short(type_: str) -> str:
    return "category" if type_.startswith("dictionary") else type_.replace("large_", "")
