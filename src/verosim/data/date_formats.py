"""Dates as people write them. A format is 31 December 2024 in the way of the column.

    format        is read
    31/12/2024    the day first, with '/'            12/31/2024    the month first, with '/'
    31.12.24      two digits of the year: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068

Several formats are joined by ' or '. Dates that have one meaning need no format and are always
read: the year first (2024-12-31, 2024/12/31, 2024.12.31), and English names of months (31-Dec-2024,
31 December 2024, Dec 31, 2024). A time of day may follow. A time zone is dropped, because hours and
weekdays are local.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.data.libraries import pa, pc
from verosim.data.text_folding import folded, some_texts
from verosim.kernels.constants import DAY

SEPARATORS = "/-. "  # between day, month and year
TIME = (
    r"(?:(?:T|t|,? +)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r" *(?P<half>[AaPp]\.?[Mm]\.?)? *(?:Z|z|UTC|GMT|[-+][0-9]{2}(?::?[0-9]{2})?)?)?$"
)
WEEKDAY = r"^(?:[A-Za-z]{2,9}\.?,? +)?"
YEAR, SHORT_YEAR, ANY_YEAR = (
    f"(?P<year>{n})" for n in ("[0-9]{4}", "[0-9]{2}", "[0-9]{4}|[0-9]{2}")
)
NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
SURE_PATTERNS = (  # dates with one meaning, however they are written
    rf"^{YEAR}[-/.](?P<month>[0-9]{{1,2}})[-/.](?P<day>[0-9]{{1,2}}){TIME}",
    rf"{WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[- /.]?{NAME},?[- /.]?{ANY_YEAR}{TIME}",
    rf"{WEEKDAY}{NAME}[- ](?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?[- ]{ANY_YEAR}{TIME}",
)
SURE_EXAMPLES = {  # the start of such dates, without the patterns above
    "2024-12-31": "^[0-9]{4}-",
    "2024/12/31": "^[0-9]{4}/",
    "2024.12.31": r"^[0-9]{4}\.",
    "31-Dec-2024": "^[0-9]{1,2}-[A-Za-z]",
    "31 Dec 2024": "[0-9]{1,2}[^-0-9]{0,3}[A-Za-z]{3,9}[^0-9]*[0-9]{2}",
    "Dec 31, 2024": "[A-Za-z]{3,9}[^0-9]+[0-9]{1,2}[^0-9:]{1,3}[0-9]{2}",
}
MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
MONTHS = {name[:n]: number for number, name in enumerate(MONTH_NAMES, 1) for n in (3, 9)}
MONTHS["sept"] = 9
LIKELY = re.compile(
    r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}([T, ].*)?|.*[0-9][^0-9]*[A-Za-z]{3}[^0-9]*[0-9].*"
    r"|[A-Za-z]{3,9}[^0-9]+[0-9]{1,2}[^0-9:]+[0-9]{2,4}.*"
)
FIRST_SHORT_YEAR = 69  # 69 is 1969, 68 is 2068
SECOND = 1_000_000  # microseconds


@dataclass(frozen=True)
class DateStyle:
    """Day, month and year as numbers, the year last."""

    separator: str
    day_first: bool = True
    short: bool = False  # whether the year has two digits

    def __str__(self) -> str:
        first, second = ("31", "12") if self.day_first else ("12", "31")
        return self.separator.join((first, second, "24" if self.short else "2024"))

    @property
    def pattern(self) -> str:
        first, second = ("day", "month") if self.day_first else ("month", "day")
        mark, year = re.escape(self.separator), SHORT_YEAR if self.short else YEAR
        return rf"^(?P<{first}>[0-9]{{1,2}}){mark}(?P<{second}>[0-9]{{1,2}}){mark}{year}{TIME}"


STYLES = {
    str(style): style
    for separator in SEPARATORS
    for day_first in (True, False)
    for short in (False, True)
    for style in [DateStyle(separator, day_first, short)]
}


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written."""

    styles: tuple[DateStyle, ...] = ()
    sure: tuple[str, ...] = ()  # examples of dates with one meaning in the column, shown only

    role = "date/time"

    def __str__(self) -> str:
        return " or ".join([*map(str, self.styles), *self.sure])

    @classmethod
    def parsed(cls, text: str) -> DateFormat | None:
        """The format that is written as 31 December 2024, or None."""
        parts = text.split(" or ")
        styles = tuple(STYLES[part] for part in parts if part in STYLES)
        sure = tuple(part for part in parts if part not in STYLES)
        moments, fits = cls().read(pa.array(sure, pa.string()))
        if not text or not fits.all() or any(str(one)[:10] != "2024-12-31" for one in moments):
            return None
        return cls(styles, sure)

    @property
    def wanted(self) -> str:
        """What a cell must be, for messages."""
        return f'a date like "{self}"'

    @cached_property
    def _patterns(self) -> tuple[str, ...]:
        return (*(style.pattern for style in self.styles), *SURE_PATTERNS)

    def read(self, texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """The moments of texts (n,), null where missing, and (n,) whether each cell was read."""
        plain = folded(texts)
        gone = texts.is_null().to_numpy(zero_copy_only=False)
        micros, fits = np.zeros(len(texts), dtype=np.int64), gone.copy()
        for pattern in self._patterns:
            if fits.all():
                break
            rest = np.flatnonzero(~fits)
            found, ok = _moments(plain.take(pa.array(rest)), pattern)
            micros[rest], fits[rest] = found, ok
        return pa.array(micros, pa.timestamp("us"), mask=gone | ~fits), fits


@dataclass(frozen=True)
class FoundDates:
    """The format of some texts, which texts fit, and the styles that could be read otherwise."""

    format: DateFormat
    fits: np.ndarray  # (t,) of the distinct texts
    unsure: tuple[DateStyle, ...] = ()  # no value with the separator decides its order
    short: bool = False  # whether a year has two digits


def find_date_format(texts: pa.Array) -> FoundDates | None:
    """The format of the folded distinct texts (t,), or None if few of them are dates.

    A number above 12 decides the order of day and month for all dates with that separator, by
    majority. Without such a number the order is that of the other separators, or the day first.
    """
    shown = some_texts(texts)
    if 2 * sum(bool(LIKELY.fullmatch(text)) for text in shown) < len(shown):
        return None
    styles: list[DateStyle] = []
    unsure: list[DateStyle] = []
    votes: dict[str, int] = {}  # by separator, how many more values decide for the day first
    used: dict[DateStyle, bool] = {}  # whether day and month differ in a value
    for style in (style for style in STYLES.values() if style.day_first):
        parts = pc.extract_regex(texts, style.pattern)
        parts = parts.filter(parts.is_valid())
        if len(parts):
            first, second = _whole(parts, "day"), _whole(parts, "month")
            votes[style.separator] = votes.get(style.separator, 0) + int(
                ((first > 12) & (second <= 12)).sum() - ((second > 12) & (first <= 12)).sum()
            )
            used[style] = bool((first != second).any())
    decided = {vote > 0 for vote in votes.values() if vote}
    for style, differs in used.items():
        vote = votes[style.separator]
        day_first = vote > 0 if vote else decided != {False}
        styles.append(DateStyle(style.separator, day_first, style.short))
        if not vote and differs:
            unsure.append(styles[-1])
    found = DateFormat(tuple(styles))
    fits = found.read(texts)[1]
    if not fits.any():
        return None
    read = texts.filter(pa.array(fits))
    sure = tuple(
        example
        for example, start in SURE_EXAMPLES.items()
        if pc.any(pc.match_substring_regex(read, start)).as_py()
    )
    short = any(style.short for style in styles) or any(
        pc.any(pc.match_substring_regex(read, pattern.replace(ANY_YEAR, SHORT_YEAR))).as_py()
        for pattern in SURE_PATTERNS[1:]
    )
    if not styles and not sure:
        sure = ("2024-12-31",)  # the name of a format is never empty
    return FoundDates(DateFormat(tuple(styles), sure), fits, tuple(unsure), short)


def _moments(texts: pa.Array, pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) microseconds since 1970 and (n,) whether each text is a date in this pattern."""
    parts = pc.extract_regex(texts, pattern)
    fits = parts.is_valid().to_numpy(zero_copy_only=False)
    if not fits.any():
        return np.zeros(len(texts), dtype=np.int64), fits
    year, day = _whole(parts, "year"), _whole(parts, "day")
    month = _named_month(parts) if "?P<name>" in pattern else _whole(parts, "month")
    digits = pc.utf8_length(_field(parts, "year")).to_numpy(zero_copy_only=False)
    year = np.where(digits == 2, year + np.where(year < FIRST_SHORT_YEAR, 2000, 1900), year)
    fits = fits & (month >= 1) & (month <= 12)
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    starts = months.astype("datetime64[D]")
    fits &= (day >= 1) & (day <= ((months + 1).astype("datetime64[D]") - starts).astype(np.int64))
    micros = (starts.astype(np.int64) + day - 1) * DAY
    if pc.any(pc.not_equal(_field(parts, "hour"), "")).as_py():
        within, valid = _times(parts)
        micros, fits = micros + within, fits & valid
    return np.where(fits, micros, 0), fits


def _times(parts: Any) -> tuple[np.ndarray, np.ndarray]:
    """(n,) microseconds since midnight and (n,) whether each time of day exists."""
    hour, minute, second = (_whole(parts, name) for name in ("hour", "minute", "second"))
    half = pc.utf8_lower(pc.utf8_slice_codeunits(_field(parts, "half"), 0, 1))
    noon = pc.equal(half, "p").to_numpy(zero_copy_only=False)
    clock = noon | pc.equal(half, "a").to_numpy(zero_copy_only=False)  # 12 hours
    valid = (hour < 24) & (minute < 60) & (second < 60) & ~(clock & ((hour < 1) | (hour > 12)))
    hour = np.where(clock, hour % 12 + 12 * noon, hour)
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(_field(parts, "fraction"), 6, "0"), 0, 6)
    return (3600 * hour + 60 * minute + second) * SECOND + _integers(fraction), valid


def _field(parts: Any, name: str) -> pa.Array:
    """The texts of one part, '' where there is none."""
    return pc.fill_null(pc.struct_field(parts, name), "")


def _whole(parts: Any, name: str) -> np.ndarray:
    """(n,) the whole numbers of one part, 0 where there is none."""
    return _integers(_field(parts, name))


def _integers(texts: pa.Array) -> np.ndarray:
    found = pc.if_else(pc.equal(texts, ""), "0", texts)
    return found.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _named_month(parts: Any) -> np.ndarray:
    """(n,) the number of the month, 0 if the name is unknown."""
    names = pc.index_in(
        pc.utf8_lower(_field(parts, "name")), value_set=pa.array(list(MONTHS), pa.string())
    )
    at = pc.fill_null(names, len(MONTHS)).to_numpy(zero_copy_only=False)
    return np.array([*MONTHS.values(), 0])[at]
