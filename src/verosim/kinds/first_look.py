"""Chooses the kind of a column from its type and its first rows.

The type decides if it can. Otherwise the rows decide: whether the texts of a CSV file are numbers,
dates, identifiers, categories or free text, and whether a Gaussian or a histogram separates the
classes better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes.bins import edges_of
from verosim.axes.value_hashes import hashes_of
from verosim.data import cells
from verosim.data.cell_formats import (
    Format,
    as_cells,
    by_format,
    find_format,
    other_format_hint,
    split_kind,
)
from verosim.data.column_kinds import IGNORE
from verosim.data.declared_values import declared_values
from verosim.data.exact_numbers import HELD_WHOLE, is_held, is_infinite, is_too_small
from verosim.data.libraries import pa
from verosim.data.readers import NOT_SUPPORTED
from verosim.data.schema_columns import (
    SET_BY_USER,
    WORD_ROLES,
    Column,
    alike,
    as_ignored,
    as_kind,
)
from verosim.data.text_folding import in_ascii_digits
from verosim.kinds.boolean import BOOLEAN
from verosim.kinds.category import CATEGORY
from verosim.kinds.date import DATE
from verosim.kinds.density_choice import DEFAULT_BINS, NumbersSeen, see_numbers
from verosim.kinds.first_numbers import padded_texts
from verosim.kinds.format_notes import (
    almost_numbers,
    cells_not_read,
    dots_of_thousands,
    infinite_cells,
    lists_of_codes,
    numbers_in_identifier,
    whole_numbers_not_held,
)
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.missing_marks import (
    as_dictionary,
    has_any,
    holes_note,
    sentinels_note,
    sentinels_of,
    words_note,
    words_of,
)
from verosim.kinds.text import TEXT

LEAST_ROWS_FOR_IDENTIFIER = 20  # with fewer rows, no column is an identifier
ROWS_OF_SURE_IDENTIFIER = 50  # with so many different whole numbers, a note asks the user
FEW_WHOLE_NUMBERS = 20  # with so few different whole numbers, a note asks the user
LEAST_WORDS_OF_TEXT = 4.0  # mean number of words per cell of a text column
DATES = "dates, read as hour, weekday and month"
TRUE_OR_FALSE = "true or false"
CONSTANT = "constant, so it does not separate the classes"
NO_VALUES, ALL_MISSING = EMPTY_REASONS = "the column has no values", "missing in all"
ROLES_WITH_HOLES = (GAUSSIAN.role, DATE.role, BOOLEAN.role)  # read without words that mean missing


@dataclass(frozen=True, eq=False)
class FirstLook:
    """Chooses the kind of each column from its type and its first rows."""

    na: frozenset[str]
    typed: bool
    labels: np.ndarray | None
    weights: np.ndarray
    cap: int
    declared: set[str]  # the columns with a categorical type

    def column(self, name: str, array: pa.Array, given: Any) -> Column:
        """The entry of one column; `given` is the kind that the user chose, or its values."""
        shown = str(array.type) if self.typed else "text"
        shown = "category" if name in self.declared else shown
        kind = cells.kind_of_type(array.type)
        try:
            found = self._found(name, array, kind)
            if given is not None:
                found = replace(self._as_given(found, array, given), reason=SET_BY_USER)
            if found.density != IGNORE.name:
                cells.check_times(array)
        except cells.Unreadable as error:
            hint = None
            if given is not None:
                hint = other_format_hint(Column(name, as_kind(given, name).name), error.value)
                hint = hint or f"Use na=[{error.value!r}] if it means missing."
            hint = cells.HINTS.get(error.wanted, hint)
            raise error.named(f"Column {name!r}, row {error.row}", hint) from None
        return replace(found, type=_short(shown))

    def _as_given(self, found: Column, array: pa.Array, given: Any) -> Column:
        """The entry with the kind and the format, or the values, that the user chose."""
        if values := declared_values(given, found.name):
            return Column(found.name, CATEGORY.name, values=values)
        wanted, format_ = as_kind(given, found.name), split_kind(given, found.name)[1]
        if wanted == IGNORE:
            return as_ignored(found)
        if wanted.name == found.density and format_ is None:
            return found
        note = found.note if found.missing and wanted.role == found.role else ""
        found = replace(found, density=wanted.name, note=note)
        if wanted.role in WORD_ROLES:
            found = replace(found, missing=())
        if wanted.role == CATEGORY.role:
            return self._as_words(found, array)
        text = cells.is_text(array.type)
        if format_ is not None and text:
            found = self._as_formatted(found, array, format_)
        elif format_ is not None:  # the texts of later rows have it
            found = replace(found, format=str(format_))
        if wanted.role == GAUSSIAN.role and (format_ is not None or not found.edges):
            return self._as_number(found, array)
        if wanted.role == DATE.role and text and format_ is None:
            return self._as_date(found, array)
        return found

    def _found(self, name: str, array: pa.Array, kind: str) -> Column:
        if kind in ("boolean", "time") and array.null_count == len(array):
            return Column(name, IGNORE.name, reason=f"{ALL_MISSING} {len(array):,} rows")
        if kind == "boolean":
            return Column(name, BOOLEAN.name, reason=TRUE_OR_FALSE)
        if kind == "time":
            return Column(name, DATE.name, reason=DATES)
        if kind == "number" and name in self.declared:
            return replace(
                self._as_words(Column(name, CATEGORY.name), array), reason="the type is categorical"
            )
        if kind == "number":
            try:
                return self._number(name, array)
            except cells.Unreadable as error:
                if error.wanted != HELD_WHOLE:
                    raise
            return self._words_or_text(name, self._seen(array))
        if kind == "text":
            return self._text_with_marks(name, array)
        if kind == "nothing":
            return Column(name, IGNORE.name, reason=NO_VALUES)
        return Column(
            name,
            IGNORE.name,
            reason=f"the type {_short(str(array.type))} {NOT_SUPPORTED}",
            note=f"The column is ignored, because {_plural(array.type)} are not supported. "
            "Convert it to numbers, dates or text to use it.",
        )

    def numbers(
        self, names: Sequence[str], types: Sequence[str], X: np.ndarray
    ) -> Iterator[Column]:
        """The entries of columns of numbers (n, d), with the names of their types in the source."""
        seen = see_numbers(X, self.labels, self.weights)
        short = {type_: _short(type_) for type_ in set(types)}
        plain: dict[tuple[str, str], Column] = {}  # by the type and the reason
        for name, type_, found in zip(names, types, seen, strict=True):
            known = plain.get((type_, found.reason)) if found.is_plain else None
            if known is not None:
                yield alike(known, name, found.edges)
                continue
            column = self._seen_number(name, found, short[type_])
            if found.is_plain:
                plain[type_, found.reason] = column
            yield column

    def _number(self, name: str, array: pa.Array) -> Column:
        x = cells.numbers(array, self.na)
        return self._seen_number(name, next(see_numbers(x[:, None], self.labels, self.weights)))

    def _seen_number(self, name: str, found: NumbersSeen, type_: str = "") -> Column:
        if found.is_plain:
            return Column(name, found.density, type_, found.reason, edges=found.edges)
        n, whole = found.finite, found.whole
        x, distinct = found.x, found.distinct
        if not n:
            return Column(name, IGNORE.name, type_, f"{ALL_MISSING} {len(x):,} rows")
        if whole and n >= LEAST_ROWS_FOR_IDENTIFIER and len(distinct) == n == len(x):
            steps = np.diff(found.values)
            if (steps == 1).all() or (steps == -1).all():
                return Column(name, IGNORE.name, type_, "identifier: consecutive whole numbers")
        why, note = found.reason, ""
        if len(distinct) == 1:
            why = CONSTANT
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
        note = " ".join(filter(None, (infinite_cells(found.infinite), note)))
        if sentinels := sentinels_of(found.values, distinct):
            note = " ".join(filter(None, (sentinels_note(sentinels), note)))
        return Column(name, found.density, type_, why, note, whole, found.edges)

    def _as_number(self, column: Column, array: pa.Array) -> Column:
        """The entry with the bins of its numbers, after the format was found."""
        try:
            x = by_format(column, cells.numbers)(array, self.na)
        except cells.Unreadable as error:
            given = column.format or not cells.is_text(array.type)
            if given or error.wanted == HELD_WHOLE:
                raise
            column = self._as_formatted(column, array)
            x = by_format(column, cells.numbers)(array, self.na)
        seen = x[np.isfinite(x)]
        column = replace(column, whole=bool((seen == np.floor(seen)).all()))
        return replace(column, edges=tuple(edges_of(x, self.weights, DEFAULT_BINS).tolist()))

    def _as_date(self, column: Column, array: pa.Array) -> Column:
        try:
            by_format(column, cells.days)(array, self.na)
        except cells.Unreadable:
            return self._as_formatted(column, array)
        return column

    def _as_formatted(self, column: Column, array: pa.Array, given: Format | None = None) -> Column:
        """The entry with the format of its texts, or an error that names a text without it."""
        texts = self._texts(array)
        found = find_format(texts, column.name, given)
        if found is not None and found.format.role == column.role:
            note = " ".join(filter(None, (found.note, cells_not_read(column, found.odd, texts))))
            return replace(column, format=found.name, missing=found.odd, note=note)
        found = find_format(texts, column.name, given, most=len(texts))
        wanted = "a number" if column.role == GAUSSIAN.role else "a date"
        odd: tuple[str, ...] = ()
        if found is not None and found.format.role == column.role:
            odd, wanted = found.odd, found.format.wanted
        index, values = cells.keys(array, self.na, exact=True)
        wrong = [v is not None and (not odd or v in odd) for v in values]
        row = int(np.argmax(np.array(wrong)[index]))
        raise cells.Unreadable(row, values[index[row]], wanted)

    def _texts(self, array: pa.Array) -> dict[str, int]:
        """How many times each text occurs."""
        index, texts = cells.keys(array, self.na, exact=True)
        count = np.bincount(index, minlength=len(texts))
        return {text: int(c) for text, c in zip(texts, count, strict=True) if text and c}

    def _seen(self, array: pa.Array) -> dict[str, int]:
        """How many times each category occurs: '1' and '1.0' are one category."""
        if cells.is_text(array.type):
            return self._categories(self._texts(array))
        index, texts = cells.keys(array, self.na)
        count = np.bincount(index, minlength=len(texts))
        return {text: int(c) for text, c in zip(texts, count, strict=True) if text and c}

    def _categories(self, texts: dict[str, int]) -> dict[str, int]:
        out: dict[str, int] = {}
        for text, count in texts.items():
            if (category := cells.text_of(text, self.na)) is not None:
                out[category] = out.get(category, 0) + count
        return out

    def _text_with_marks(self, name: str, array: pa.Array) -> Column:
        """The entry of a text column, with the words in it that often mean missing.

        Numbers, dates and truth values with such words are a column with missing values. The type
        of a data frame does not matter here: the words are the reason why it is text.
        """
        array = as_dictionary(array)
        texts = self._texts(array)  # they are counted once
        words = words_of(texts)
        if (words or has_any(array, self.na)) and name not in self.declared:
            without = replace(self, na=self.na | set(words), typed=False)
            rest = without._text(name, array, without._texts(array))
            if rest.role in ROLES_WITH_HOLES and len(without._seen(array)) > 1:
                note = " ".join(filter(None, (holes_note(words), rest.note)))
                return replace(rest, note=note, missing=(*words, *rest.missing))
        found = self._text(name, array, texts)
        if words and found.role == CATEGORY.role:
            rounded = whole_numbers_not_held(texts)
            found = replace(found, note=" ".join(filter(None, (words_note(words), rounded))))
        return found

    def _text(self, name: str, array: pa.Array, texts: dict[str, int]) -> Column:
        if not texts:
            return Column(name, IGNORE.name, reason=f"{ALL_MISSING} {len(array):,} rows")
        if not self.typed:
            if _are_numbers(texts):
                found = self._number(name, array)
                return replace(found, note=dots_of_thousands(name, texts) or found.note)
            if len(texts) <= 4 and all(text.lower() in cells.TRUTHS for text in texts):
                return Column(name, BOOLEAN.name, reason=TRUE_OR_FALSE)
        if all(cells.DATE_PATTERN.fullmatch(text) for text in texts) and _are_dates(texts):
            return Column(name, DATE.name, reason=DATES)
        formatted = None if name in self.declared else self._formatted(name, array, texts)
        return formatted or self._words_or_text(name, texts)

    def _words_or_text(self, name: str, texts: dict[str, int]) -> Column:
        """The entry of a column that is free text, an identifier or a category."""
        seen = self._categories(texts)
        n = sum(seen.values())
        words = sum(len(text.split()) * c for text, c in seen.items()) / n
        if words >= LEAST_WORDS_OF_TEXT and len(seen) > max(n / 2, 2):
            reason = f"{words:.0f} words per cell, and most cells are different"
            return Column(name, TEXT.name, reason=reason)
        if len(seen) == n and n >= LEAST_ROWS_FOR_IDENTIFIER:
            reason = f"identifier: all {n:,} values are different"
            return Column(name, IGNORE.name, reason=reason, note=numbers_in_identifier(name, seen))
        return self._words(name, seen, n)

    def _formatted(self, name: str, array: pa.Array, texts: dict[str, int]) -> Column | None:
        """The entry of a column of numbers or dates as people write them, or None."""
        found = find_format(texts, name)
        if found is None or (found.plain and self._may_be_codes(texts, found.odd)):
            return None
        given = as_cells(array, self.na | set(found.odd), found.name)
        if found.format.role == DATE.role:
            column = Column(name, DATE.name, reason=DATES)
        else:
            column = self._number(name, given)
        lists = lists_of_codes(column, found.format, texts)
        notes = (found.note, cells_not_read(column, found.odd, texts), lists or column.note)
        note = " ".join(filter(None, notes))
        return replace(column, format=found.name, missing=found.odd, note=note)

    def _may_be_codes(self, texts: dict[str, int], odd: tuple[str, ...]) -> bool:
        """Whether plain numbers are whole, and few or stored as text: they may be codes."""
        numbers = [text for text in texts if text not in odd]
        if not all(cells.PLAIN_WHOLE_PATTERN.fullmatch(text) for text in numbers):
            return False
        return self.typed or (len(numbers) <= FEW_WHOLE_NUMBERS and any(map(_is_word, odd)))

    def _words(self, name: str, seen: dict[str, int], n: int) -> Column:
        reason = f"{len(seen):,} value{'s' if len(seen) != 1 else ''} in {n:,} rows"
        if len(seen) == 1:
            reason = CONSTANT
        note = almost_numbers(name, seen)
        if len(seen) > self.cap:
            reason = f"{len(seen):,} values in {n:,} rows; {self.cap:,} are kept"
        elif not note and len(seen) > 0.5 * n and n >= LEAST_ROWS_FOR_IDENTIFIER:
            note = f"There are {len(seen):,} different values in {n:,} rows. {_if_identifier(name)}"
        return Column(name, CATEGORY.name, reason=reason, note=note, frequent=self._kept(seen))

    def _kept(self, seen: dict[str, int]) -> tuple[int, ...]:
        """The hashes of the most frequent values. Values that come later do not replace these."""
        return hashes_of(_ranked(seen)[: self.cap])

    def _as_words(self, column: Column, array: pa.Array) -> Column:
        return replace(column, frequent=self._kept(self._seen(array)))


def _ranked(seen: dict[str, int]) -> tuple[str, ...]:
    """The texts, the most frequent first."""
    return tuple(sorted(seen, key=lambda text: (-seen[text], text)))


def _is_word(text: str) -> bool:
    """Whether a text is not a number, not even one that is infinite or too small for a double."""
    return not is_too_small(text) and not is_infinite(text)


def _are_dates(texts: dict[str, int]) -> bool:
    """Whether all texts of the form 2024-12-31 are days of the calendar."""
    try:
        cells.days(pa.array(list(texts), pa.large_string()))
    except cells.Unreadable:
        return False
    return True


def _if_identifier(name: str) -> str:
    return f"If the column is an identifier, use columns={{{name!r}: {IGNORE.name!r}}}."


def _short(type_: str) -> str:
    if type_.startswith("extension<"):  # such as extension<pandas.interval<…>>
        return type_.removeprefix("extension<").split("<")[0].rstrip(">").split(".")[-1]
    return "category" if type_.startswith("dictionary") else type_.replace("large_", "")


def _plural(type_: pa.DataType) -> str:
    """The cells of a type that is not read, in words."""
    t, short = pa.types, _short(str(type_))
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        return "lists"
    if t.is_binary(type_) or t.is_large_binary(type_) or t.is_fixed_size_binary(type_):
        return "bytes"
    if t.is_time(type_):
        return "times of day"
    plain = short.split("<")[0].split("[")[0]
    return f"{plain}s" if plain.isalpha() else f"cells of the type {short}"


def _are_numbers(texts: Collection[str]) -> bool:
    """Whether all texts are numbers that a double holds, and none is a code such as 007."""
    array = pa.array(list(texts), pa.large_string())
    if cells.plain_numbers(array) is not None:
        return not padded_texts(array).any()
    if not all(cells.NUMBER_PATTERN.fullmatch(text) for text in texts):
        return False
    digits = [in_ascii_digits(text) for text in texts]
    return not any(cells.PADDED_PATTERN.match(text) or not is_held(text) for text in digits)
