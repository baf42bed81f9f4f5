"""Reads the cells of Arrow columns by the kind that the schema gives them.

    numbers  float64, NaN where missing          flags  1.0, 0.0, NaN
    keys     a list of texts and one index per row; the text of a missing cell is None
    days     days since 1970 as a float

A cell is missing if it is null, NaN, an empty text, or one of the texts in `na`. No other cell is
missing. Each number and each category has one text: 1, 1.0 and '1.0' all become '1'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.groups import label_text
from verosim.data.dictionaries import dictionary_encoded, small_content
from verosim.data.exact_numbers import (
    HELD,
    HELD_WHOLE,
    is_held,
    is_infinite,
    lost_texts,
    may_round,
    rounded,
    what_is_lost,
)
from verosim.data.libraries import pa, pc
from verosim.data.text_folding import in_ascii_digits
from verosim.errors import VerosimError
from verosim.kernels.constants import DAY

NUMBER_PATTERN = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
PLAIN_WHOLE_PATTERN = re.compile(r"\s*-?\d+(\.0+)?\s*")
PADDED_PATTERN = re.compile(r"\s*[-+]?0\d")  # 007 is a code, not a number
WHOLE_PATTERN = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")
DATE_PATTERN = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?")
TRUTHS = {"true": 1.0, "false": 0.0}
DAYS_OF_YEARS = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31, in days since 1970
DATE_RANGE = "a date between the years 1 and 9999"
DATE_RANGE_HINT = "Replace the value by a missing value, or leave the column out."
KNOWN_DICTIONARIES = 128
TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # units of a duration per second


CONVERT_HINT = "Convert the column to numbers, dates or text."
HINTS = {  # where the cell is not the reason, by what was wanted
    "a numeric type": CONVERT_HINT,
    "a date type": CONVERT_HINT,
    "a supported type of category": CONVERT_HINT,
    "valid UTF-8": "Save the file as UTF-8.",
    DATE_RANGE: DATE_RANGE_HINT,
}


class Unreadable(VerosimError):
    """A cell cannot be read as the kind of its column. Row 0 is the first row of the array."""

    def __init__(self, row: int, value: Any, wanted: str) -> None:
        self.row, self.value, self.wanted = row, value, wanted
        super().__init__(f"{value!r} is not {wanted}.")

    def __reduce__(self) -> Any:
        return type(self), (self.row, self.value, self.wanted)

    def named(self, place: str, hint: str | None = None) -> VerosimError:
        """The same error with the place of the cell: the column and the row."""
        return VerosimError(f"{place}: {self.value!r} is not {self.wanted}.", hint)


def is_text(type_: pa.DataType) -> bool:
    return kind_of_type(type_) == "text"


def kind_of_type(type_: pa.DataType) -> str:
    """'number', 'boolean', 'time', 'text', 'nothing' or 'other'."""
    known = _kinds_of_types()
    kind = known.get(type_.id)
    if kind is None:
        kind = known[type_.id] = _found_kind(type_)
    return kind_of_type(type_.value_type) if kind == "dictionary" else kind


@cache
def _kinds_of_types() -> dict[int, str]:
    """The kinds by the number of the type. All types with one number have the same kind."""
    return {}


def _found_kind(type_: pa.DataType) -> str:
    t = pa.types
    if t.is_dictionary(type_):
        return "dictionary"
    if t.is_boolean(type_):
        return "boolean"
    if t.is_integer(type_) or t.is_floating(type_) or t.is_decimal(type_) or t.is_duration(type_):
        return "number"
    if t.is_timestamp(type_) or t.is_date(type_):
        return "time"
    if t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_):
        return "text"
    return "nothing" if t.is_null(type_) else "other"


def label_column(labels: list[Any]) -> pa.Array:
    """Labels as an Arrow array: of their own type if Arrow has it, otherwise decimals or texts."""
    exact: list[Callable[[], pa.Array]] = [lambda: pa.array(labels)]
    if all(type(label) is int for label in labels):
        exact += [lambda: pa.array(labels, pa.uint64()), lambda: pa.array(map(Decimal, labels))]
    for made in exact:
        try:
            return made()
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            pass
    return pa.array([None if label is None else label_text(label) for label in labels])


def in_one(array: pa.Array) -> pa.Array:
    """The array as one chunk. A single chunk is not copied."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array


def without_dictionary(array: pa.Array) -> pa.Array:
    """The array as one chunk of plain values: a dictionary is decoded."""
    array = in_one(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def type_of_values(type_: pa.DataType) -> pa.DataType:
    """The type of the values of a column: of a dictionary, the type of its entries."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def numbers(array: pa.Array, na: frozenset[str] = frozenset(), near: bool = False) -> np.ndarray:
    """(n,) float64. Infinite numbers are kept, because the statistic reports them.

    A number that a double does not hold is an error, unless a `near` number will do.
    """
    array = without_dictionary(array)
    kind = kind_of_type(array.type)
    if kind == "nothing":
        return np.full(len(array), np.nan)
    if kind == "text":
        return _parsed(array, na, near)
    if kind == "time":
        return days(array, na)
    if kind not in ("number", "boolean"):
        raise Unreadable(0, array.type, "a numeric type")
    if pa.types.is_duration(array.type):
        return numbers(array.cast(pa.int64()), near=True) / TICKS[array.type.unit]
    if kind == "boolean":
        array = array.cast(pa.uint8())
    if not near:
        array = _without_lost(array, na)
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    out = array.to_numpy(zero_copy_only=False)
    if array.null_count and out.dtype.kind not in "f":
        out = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.float64)
        out[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return without_marks(out.astype(np.float64, copy=False), na)


def without_marks(out: np.ndarray, na: frozenset[str]) -> np.ndarray:
    """The numbers, with NaN where a number is one of the texts that mean missing."""
    marks = [
        float(text) for text in na
        if is_infinite(text) or (NUMBER_PATTERN.fullmatch(text) and is_held(text))
    ]  # fmt: skip
    return np.where(np.isin(out, marks), np.nan, out) if marks else out


def _without_lost(array: pa.Array, na: frozenset[str]) -> pa.Array:
    """An array of numbers without those in `na` that a double rounds. Others are an error."""
    if pa.types.is_decimal(array.type):
        out = np.abs(array.cast(pa.float64()).to_numpy(zero_copy_only=False))
        lost = [i for i in np.flatnonzero(out >= HELD).tolist() if not is_held(array[i].as_py())]
    elif pa.types.is_integer(array.type) and array.type.bit_width == 64:
        whole = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        lost = np.flatnonzero(rounded(whole)).tolist() if may_round(whole) else []
    else:
        return array
    for i in lost:
        if text_of(array[i].as_py(), na) is not None:
            raise Unreadable(i, array[i].as_py(), HELD_WHOLE)
    if not lost:
        return array
    kept = np.ones(len(array), dtype=bool)
    kept[lost] = False
    return pc.if_else(pa.array(kept), array, pa.scalar(None, array.type))


def _parsed(array: pa.Array, na: frozenset[str], near: bool) -> np.ndarray:
    """The numbers written in an array of texts."""
    plain = plain_numbers(array, near)
    if plain is not None:
        return without_marks(plain, na)
    trimmed = pc.utf8_trim_whitespace(without_na(array, na))
    signless: Any = pc.utf8_ltrim(trimmed, "+")
    try:
        out = signless.cast(pa.float64()).to_numpy(zero_copy_only=False)
        not_finite = ~np.isfinite(out) & trimmed.is_valid().to_numpy(zero_copy_only=False)
        if not not_finite.any():  # the texts 'nan' and 'inf' are not numbers here
            if not near and len(lost := lost_texts(trimmed, out)):
                i = int(lost[0])
                wanted = what_is_lost(trimmed[i].as_py()) or "a number"
                raise Unreadable(i, array[i].as_py(), wanted)
            return without_marks(out.astype(np.float64, copy=False), na)
    except pa.ArrowInvalid:
        pass
    coded = dictionary_encoded(trimmed)
    texts = coded.dictionary.to_pylist()
    index = pc.fill_null(coded.indices, len(texts)).to_numpy(zero_copy_only=False)
    missed = [
        ("" if near else what_is_lost(in_ascii_digits(text))) if NUMBER_PATTERN.fullmatch(text)
        else "a number"
        for text in texts
    ]  # fmt: skip
    fits = np.array([not one for one in missed] + [True])[index]
    if not fits.all():
        i = int(np.argmin(fits))
        raise Unreadable(i, array[i].as_py(), missed[index[i]] or "")
    return without_marks(np.array([*map(float, texts), np.nan])[index], na)


def plain_numbers(texts: pa.Array, near: bool = False) -> np.ndarray | None:
    """The numbers of plain texts, or None if one of them needs a closer look.

    Other texts can be numbers too, with spaces or a plus sign. The texts 'nan' and 'inf' are not.
    A number that a double does not hold needs a closer look, unless a `near` number will do.
    """
    try:
        out: np.ndarray = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    if int(np.isfinite(out).sum()) != len(texts) - texts.null_count:
        return None
    return out if near or not len(lost_texts(texts, out)) else None


def without_na(array: pa.Array, na: frozenset[str]) -> pa.Array:
    """The texts, with null for empty cells and for cells in `na`."""
    marks = pc.is_in(array, value_set=pa.array(["", *sorted(na)], array.type))
    if not pc.any(marks).as_py():
        return array
    return pc.if_else(marks, pa.scalar(None, array.type), array)


def flags(array: Any, na: frozenset[str] = frozenset()) -> np.ndarray:
    """(n,) 1.0 for true, 0.0 for false, NaN for missing."""
    array = without_dictionary(array)
    if kind_of_type(array.type) != "text":
        out = numbers(array, na)
        wrong = ~(np.isnan(out) | (out == 0) | (out == 1))
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise Unreadable(i, array[i].as_py(), "true or false")
        return out
    index, values = keys(array, na)
    table = np.full(len(values) + 1, np.nan)
    for at, value in enumerate(values):
        if value is None:
            continue
        flag = TRUTHS.get(value.lower(), {"1": 1.0, "0": 0.0}.get(value))
        if flag is None:
            raise Unreadable(int(np.argmax(index == at)), value, "true or false")
        table[at] = flag
    return table[index]


def keys(
    array: pa.Array, na: frozenset[str] = frozenset(), exact: bool = False
) -> tuple[np.ndarray, list[str | None]]:
    """(n,) int32 index into the texts, and the texts. The text of a missing cell is None.

    The last text is always None. With `exact`, texts are not changed: '1' and '1.0' differ.
    """
    if isinstance(array, pa.ChunkedArray):
        array = without_dictionary(array)
    check_times(array.dictionary if pa.types.is_dictionary(array.type) else array)
    if not pa.types.is_dictionary(array.type):
        if kind_of_type(array.type) == "nothing":
            return np.zeros(len(array), dtype=np.int32), [None]
        if pa.types.is_float16(array.type):
            array = array.cast(pa.float64())
        try:
            array = dictionary_encoded(array)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise Unreadable(0, str(array.type), "a supported type of category") from None
    texts = known_texts.of(array, na, exact)
    index = array.indices
    if index.null_count:
        index = pc.fill_null(index, len(texts) - 1)
    return index.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), texts


class Texts(list[str | None]):
    """The texts of a dictionary, then None. Others can refer to them without keeping them."""


class _KnownTexts:
    """The texts of small dictionaries, which the batches of a table often share.

    They are kept only while a table is read, so that nothing is left of rows that are forgotten.
    """

    def __init__(self) -> None:
        self.texts: dict[Any, Texts] = {}
        self.readers = 0

    def __enter__(self) -> None:
        self.readers += 1

    def __exit__(self, *_: object) -> None:
        self.readers -= 1
        if self.readers <= 0:
            self.texts.clear()

    def of(self, array: pa.DictionaryArray, na: frozenset[str], exact: bool) -> Texts:
        content = small_content(array.dictionary) if self.readers > 0 else None
        if content is None:
            return _read_texts(_dictionary(array), na, exact)
        key = content, na, exact
        if (known := self.texts.get(key)) is not None:
            return known
        if len(self.texts) >= KNOWN_DICTIONARIES:
            self.texts.clear()
        texts = self.texts[key] = _read_texts(_dictionary(array), na, exact)
        return texts


known_texts = _KnownTexts()


def _read_texts(values: list[Any], na: frozenset[str], exact: bool) -> Texts:
    if exact and all(isinstance(value, str) for value in values[:1]):
        texts = Texts(value or None for value in values)
        if na:
            texts = Texts(None if text in na else text for text in texts)
    else:
        texts = Texts(text_of(value, na) for value in values)
    texts.append(None)
    return texts


def is_gone(index: np.ndarray, texts: list[str | None]) -> np.ndarray:
    """(n,) whether each cell is missing, from the result of `keys`."""
    return np.array([text is None for text in texts])[index]


def _dictionary(array: pa.DictionaryArray) -> list[Any]:
    """The values of the dictionary. Invalid UTF-8 is an error only if a row uses the value."""
    if pa.types.is_float32(array.dictionary.type):  # keep 0.1, not 0.10000000149
        return [float(str(v)) for v in array.dictionary.to_numpy(zero_copy_only=False)]
    try:
        return array.dictionary.to_pylist()
    except UnicodeDecodeError:
        out: list[Any] = []
        for at, raw in enumerate(array.dictionary.cast(pa.large_binary()).to_pylist()):
            try:
                out.append(None if raw is None else raw.decode("utf-8"))
            except UnicodeDecodeError:
                rows = np.flatnonzero(array.indices.to_numpy(zero_copy_only=False) == at)
                if len(rows):
                    raise Unreadable(int(rows[0]), raw, "valid UTF-8") from None
                out.append(None)
        return out


def text_of(value: Any, na: frozenset[str] = frozenset()) -> str | None:
    """The text of a value, or None if it is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        whole = WHOLE_PATTERN.fullmatch(value)
        text = whole[1] if whole else value
    elif isinstance(value, float):
        if value != value:
            return None
        text = text_of_number(value)
    elif isinstance(value, Decimal):
        text = f"{value:f}"  # `normalize` would round to 28 digits
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = str(value)
    return None if text == "" or text in na or value in na else text


def text_of_number(value: float) -> str:
    """The text of a number: a whole number has no decimal point."""
    return str(int(value)) if abs(value) < 2**63 and value.is_integer() else str(value)


def days(array: pa.Array, na: frozenset[str] = frozenset()) -> np.ndarray:
    """(n,) days since 1970-01-01 00:00, in the time zone of the column."""
    micros, gone = _micros(array, na)
    return np.where(gone, np.nan, micros / DAY)


def datetimes(array: pa.Array, na: frozenset[str] = frozenset()) -> np.ndarray:
    """(n,) datetime64[us], in the time zone of the column; NaT where missing."""
    micros, gone = _micros(array, na)
    return np.where(gone, np.datetime64("NaT", "us"), micros.astype("datetime64[us]"))


def clock_parts(array: pa.Array, na: frozenset[str] = frozenset()) -> dict[str, np.ndarray]:
    """Hour, weekday (Monday is 0) and month of each date, int32, −1 where missing."""
    micros, gone = _micros(array, na)
    parts = {name: np.empty(len(micros), dtype=np.int32) for name in ("hour", "weekday", "month")}
    kernels.read_clock(micros, *parts.values())
    if gone.any():
        for part in parts.values():
            part[gone] = -1
    return parts


def check_times(array: pa.Array) -> None:
    """Raise an error for a date that is infinite or outside the years 1 to 9999.

    Databases store an infinite date as the largest integer, which would be read as a number.
    """
    array = without_dictionary(array)
    if kind_of_type(array.type) != "time" or not len(array):
        return
    days_only = pa.types.is_date(array.type)
    whole = pa.int32() if pa.types.is_date32(array.type) else pa.int64()
    unit: Any = ("D" if whole == pa.int32() else "ms") if days_only else array.type.unit
    values = pc.fill_null(array.cast(whole), 0).to_numpy(zero_copy_only=False)
    per_day = 1 if unit == "D" else int(86_400 * TICKS[unit])
    first, last = DAYS_OF_YEARS
    limit = int(np.iinfo(values.dtype).max)  # nanoseconds have fewer years than the range
    least, most = max(first * per_day, 1 - limit), min((last + 1) * per_day, limit) - 1
    wrong = (values < least) | (values > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        value = int(values[row])
        shown = str(np.datetime64(value, unit)) if abs(value) < limit else "infinity"
        raise Unreadable(row, "-infinity" if value <= -limit else shown, DATE_RANGE)


def _micros(array: pa.Array, na: frozenset[str]) -> tuple[np.ndarray, np.ndarray]:
    array = without_dictionary(array)
    if kind_of_type(array.type) == "text":
        array = _parsed_times(array, na)
    elif kind_of_type(array.type) not in ("time", "nothing"):
        raise Unreadable(0, array.type, "a date type")
    check_times(array)
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    moments = array.cast(pa.timestamp("us"), safe=False)
    gone = moments.is_null().to_numpy(zero_copy_only=False)
    micros = pc.fill_null(moments.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return micros, gone


def _parsed_times(array: pa.Array, na: frozenset[str]) -> pa.Array:
    """Dates from ISO 8601 texts. The time zone is dropped: weekdays and hours are local."""
    try:  # most texts have no time zone and at most microseconds
        return (without_na(array, na) if na else array).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        pass
    texts = without_na(array, na)
    local = pc.replace_substring_regex(texts, r"(\d\d:\d\d\S*?)(Z|[+-]\d\d:?\d\d)$", r"\1")
    local = pc.replace_substring_regex(local, r"(\.\d{6})\d+$", r"\1")  # microseconds
    try:
        return local.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        for i, text in enumerate(texts.to_pylist()):
            try:
                pa.array([local[i].as_py()], pa.string()).cast(pa.timestamp("us"))
            except pa.ArrowInvalid:
                raise Unreadable(i, text, "a date like 2024-12-31 or 2024-12-31 23:59:59") from None
        raise
