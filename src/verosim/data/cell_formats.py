"""The format of a column: how its texts become numbers or dates, in the first look and later.

The first look finds one format for the whole column and the texts that do not fit it. The schema
stores both, so every later row is read by the same rule: a text that the first look has listed is
missing, and any other text that does not fit is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes.value_hashes import value_hash
from verosim.data import cells
from verosim.data.date_formats import DateFormat, FoundDates, find_date_format
from verosim.data.exact_numbers import is_infinite, is_too_small
from verosim.data.libraries import pa, pc
from verosim.data.number_formats import FoundNumbers, NumberFormat, find_number_format, units_of
from verosim.data.text_folding import folded, have_digits
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.schema_columns import Column

Format = NumberFormat | DateFormat
Read = Callable[["pa.Array", frozenset[str]], Any]  # (cells, texts that mean missing)
QUOTED = re.compile(r'(?P<kind>[^"]*?) *"(?P<format>[^"]*)"')
LEAST_FITTING = 6  # distinct texts; with fewer, a column with other texts is not read by a format
FORMATTED_ROLES = (NumberFormat.role, DateFormat.role)  # of columns that can have a format
PLAIN_NUMBER = "1234.56"  # the format of plain numbers, which need none


def parsed_format(text: str, column: str = "") -> Format:
    """The format of a text such as '1.234,56' or '31/12/2024'."""
    found = NumberFormat.parsed(text) or DateFormat.parsed(text)
    if found is None:
        raise VerosimError(
            f"Column {column!r}: {text!r} is not the format of a number or a date.",
            "Write the number 1234.56 or the date 31 December 2024 as the column has it, such as "
            "'1.234,56' or '31/12/2024'.",
        )
    return found


def split_kind(kind: Any, column: str) -> tuple[Any, Format | None]:
    """'number "1.234,56"' as the kind 'number' and its format; the format is None without one."""
    found = QUOTED.fullmatch(kind) if isinstance(kind, str) else None
    if found is None:
        return kind, None
    return found["kind"], parsed_format(found["format"], column)


# How the cells of a column are read ---------------------------------------------------------------


def by_format(column: Column, read: Read) -> Read:
    """The function that reads the cells of a column, after its format was applied."""
    if not (column.format or column.missing or column.unread) or column.role not in FORMATTED_ROLES:
        return read
    format_ = column.format
    if format_ and column.role == DateFormat.role and NumberFormat.parsed(format_):
        format_ = ""  # numbers are not dates; dates can be read as numbers, in days
    return partial(_read_formatted, read, format_, frozenset(column.missing))


def _read_formatted(
    read: Read, format_: str, missing: frozenset[str], array: pa.Array, na: frozenset[str]
) -> Any:
    return read(as_cells(array, na | missing, format_), na)


def missing_texts(column: Column, array: pa.Array) -> frozenset[str]:
    """The texts of a column that are missing there. Some are known only by their hashes."""
    if not column.unread or not cells.is_text(array.type):
        return frozenset(column.missing)
    seen = pc.unique(cells.without_dictionary(array)).to_pylist()
    hashes = frozenset(column.unread)
    return frozenset(column.missing).union(t for t in seen if t and value_hash(t) in hashes)


def as_cells(array: pa.Array, na: frozenset[str], format_: str) -> pa.Array:
    """Texts as numbers or moments, null where missing. Other types are not changed."""
    if not cells.is_text(array.type):
        return array
    array = cells.in_one(array)
    if isinstance(array, pa.DictionaryArray):  # only the distinct texts are read
        values, fits = _read_texts(array.dictionary, na, format_)
        index = pc.fill_null(array.indices, len(fits)).to_numpy(zero_copy_only=False)
        _check_all(array, np.append(fits, True)[index], format_)
        return values.take(array.indices)
    values, fits = _read_texts(array, na, format_)
    _check_all(array, fits, format_)
    return values


def _read_texts(array: pa.Array, na: frozenset[str], format_: str) -> tuple[pa.Array, np.ndarray]:
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    texts = cells.without_na(array, na)
    if not format_:
        return texts, np.ones(len(texts), dtype=bool)
    try:
        return parsed_format(format_).read(texts)
    except pa.ArrowInvalid:
        cells.keys(array)  # raises an error if a text is not valid UTF-8
        raise


def _check_all(array: pa.Array, fits: np.ndarray, format_: str) -> None:
    if not fits.all():
        row = int(np.argmin(fits))
        raise cells.Unreadable(row, array[row].as_py(), parsed_format(format_).wanted)


def other_format_hint(column: Column, value: Any) -> str | None:
    """A hint if a cell that was not read is a number or a date in another format."""
    if not isinstance(value, str) or column.role not in FORMATTED_ROLES:
        return None
    found = find_format([value])
    if found is None or found.format.role != column.role:
        return None
    kind = "number" if column.role == NumberFormat.role else "date"
    usual = column.format or (PLAIN_NUMBER if kind == "number" else "2024-12-31")
    given = f"columns={{{column.name!r}: '{kind} \"{found.format}\"'}}"
    return f'Write the {kind} like "{usual}", or fit with {given}.'


# How the first look finds the format --------------------------------------------------------------


@dataclass(frozen=True)
class FoundFormat:
    """The format of a column, the texts that do not fit it, and what the user should check."""

    format: Format
    odd: tuple[str, ...]  # the texts that do not fit
    note: str = ""
    plain: bool = False  # whether the numbers are plain, so that they need no format

    @property
    def name(self) -> str:
        """The text that the schema stores; '' for plain numbers."""
        return "" if self.plain else str(self.format)


def find_format(
    seen: Collection[str], name: str = "x", given: Format | None = None, most: int | None = None
) -> FoundFormat | None:
    """The format of the distinct texts of a column, or None if they are not numbers or dates.

    A few texts may not fit: at most three, or one in twenty distinct texts, or `most`. Infinite
    numbers, and those that a double cannot tell from 0, may be more. A column of whole numbers that
    a double would round is not numbers. A format that the user has given is used as it is. If
    `seen` is a mapping, it has the number of cells of each text.
    """
    if not seen or (given is None and not have_digits(seen)):
        return None
    count = np.array(list(seen.values()) if isinstance(seen, Mapping) else [1] * len(seen))
    seen = list(seen)
    texts = folded(pa.array(seen, pa.large_string()))
    if given is not None:
        fits = given.read(texts)[1]
        return _within(given, fits, seen, "", most)
    dates = find_date_format(texts)
    if dates is not None:
        found = _within(dates.format, dates.fits, seen, _date_note(dates, name), most)
        if found is not None:
            return found
    numbers = find_number_format(texts, count)
    if numbers is None or not numbers.fits.any() or (numbers.rounded and most is None):
        return None
    return _within(numbers.format, numbers.fits, seen, _number_note(numbers, seen, name), most)


def _within(
    format_: Format, fits: np.ndarray, seen: Sequence[str], note: str, most: int | None
) -> FoundFormat | None:
    odd = tuple(seen[at] for at in np.flatnonzero(~fits).tolist())
    words = [text for text in odd if not is_too_small(text) and not is_infinite(text)]
    allowed = max(3, len(seen) // 20) if len(seen) - len(odd) >= LEAST_FITTING else 0
    if len(words) > (allowed if most is None else most):
        return None
    plain = str(format_) == PLAIN_NUMBER and all(
        cells.NUMBER_PATTERN.fullmatch(seen[at]) for at in np.flatnonzero(fits).tolist()
    )
    return FoundFormat(format_, odd, note, plain)


def _number_note(found: FoundNumbers, seen: Sequence[str], name: str) -> str:
    notes = []
    if found.other is not None:
        here, there = (cells.text_of(value) for value in found.values)
        why = ""
        if found.against >= 0:
            fitting, n = found.cells
            why = (
                f', because {seen[found.against]!r} does not fit the format "{found.other}", but '
                f"{fitting:,} of {n:,} cells do"
            )
        notes.append(
            f"{seen[found.example]!r} is read as {here}{why}. If it means {there}, "
            f"use columns={{{name!r}: 'number \"{found.other}\"'}}."
        )
    if found.unitless >= 0:
        notes.append(
            f"{seen[found.unitless]!r} has no unit. It is read in the unit "
            f"{found.format.unit!r} of the other values."
        )
    return " ".join(notes)


def _date_note(found: FoundDates, name: str) -> str:
    notes = []
    for style in found.unsure:
        other = type(style)(style.separator, not style.day_first, style.short)
        order = ("day", "month") if style.day_first else ("month", "day")
        text = str(found.format).replace(str(style), str(other))
        which = f" with {style.separator!r}" if len(found.format.styles) > 1 else ""
        notes.append(
            f"The {order[0]} is read before the {order[1]}, but no value{which} decides this. If "
            f"the {order[1]} comes first, use columns={{{name!r}: 'date \"{text}\"'}}."
        )
    if found.short:
        notes.append("Years with two digits are read as 1969 to 2068.")
    return " ".join(notes)


def rounded_number(seen: Collection[str]) -> str:
    """The digits of a whole number that a double rounds, if the texts are numbers in a format."""
    if not have_digits(seen):
        return ""
    found = find_number_format(folded(pa.array(seen, pa.large_string())), np.ones(len(seen)))
    return "" if found is None else found.rounded


def mixed_units(seen: Sequence[str]) -> list[str]:
    """The units of texts that are numbers with several units, which are not read as numbers."""
    if not have_digits(seen):
        return []
    found = units_of(folded(pa.array(seen, pa.large_string())))
    return found if len(found) > 1 else []
