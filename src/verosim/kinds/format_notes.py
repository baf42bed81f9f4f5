"""Notes of the first look about texts that are read as numbers, or that may be numbers."""

from __future__ import annotations

import re
from collections.abc import Collection

from verosim.data import cells
from verosim.data.cell_formats import Format, mixed_units, rounded_number
from verosim.data.date_formats import DateFormat
from verosim.data.exact_numbers import first_lost, is_infinite, is_too_small
from verosim.data.number_formats import NEARLY_ALL
from verosim.data.schema_columns import Column
from verosim.errors import listed
from verosim.kinds.category import CATEGORY
from verosim.kinds.gaussian import GAUSSIAN

MOST_LISTS = 20  # with so few different texts like '1,2', a note asks the user
DOTTED_PATTERN = re.compile(r"\s*-?[1-9][0-9]{0,2}(\.[0-9]{3})?\s*")
ZERO_POINT_PATTERN = re.compile(r"\s*[-+]?0\.[0-9]{3}\s*")
PAIR_PATTERN = re.compile("[0-9],[0-9]")
DECIMAL_COMMA = "1234,56"  # the format of numbers like 12,5


def cells_not_read(column: Column, odd: tuple[str, ...], texts: dict[str, int]) -> str:
    """The note about the texts of a column that do not fit its format."""
    if not odd:
        return ""
    n = sum(texts[text] for text in odd)
    what = "date" if column.role == DateFormat.role else "number"
    held = " that a double holds" if any(map(is_too_small, odd)) else ""
    are = f"cells are not {what}s{held} and are" if n > 1 else f"cell is not a {what}{held} and is"
    return (
        f"{n:,} {are} read as missing: {listed(list(odd), 3)}. "
        f"To read the column as a category, use columns={{{column.name!r}: {CATEGORY.name!r}}}."
    )


def whole_numbers_not_held(seen: Collection[str]) -> str:
    """The note about a column that is not read as numbers because a double would round them."""
    lost = first_lost(seen)
    return "" if lost is None else _not_held(lost)


def _not_held(lost: str) -> str:
    return (
        f"A double does not hold the whole number {lost} exactly, so the column is not read as "
        f"numbers. If this means missing, use na=[{lost!r}]."
    )


def almost_numbers(name: str, seen: dict[str, int]) -> str:
    """The note about categories or identifiers that may be numbers."""
    odd = [text for text in seen if not cells.NUMBER_PATTERN.fullmatch(text)]
    if 2 * len(odd) < len(seen) and (rounded := whole_numbers_not_held(seen)):
        return rounded
    words = [text for text in odd if not is_infinite(text)]
    if odd and len(seen) > 5 and len(words) <= max(3, len(seen) // 20):
        return (
            f"The values are numbers except {listed(odd, 3)}. "
            f"If this means missing, use na={odd!r}."
        )
    if not odd and len(seen) > 5:
        return (
            "The values are numbers that are stored as text. "
            f"To read them as numbers, use columns={{{name!r}: {GAUSSIAN.name!r}}}."
        )
    if lost := rounded_number(list(seen)):
        return _not_held(lost)
    if units := mixed_units(list(seen)):
        return (
            f"The values are numbers with different units: {listed(units, 3)}. "
            "To read them as numbers, convert them to one unit."
        )
    return ""


def numbers_in_identifier(name: str, seen: dict[str, int]) -> str:
    """The note about an ignored column that may be numbers. It does not show any value."""
    odd = sum(not cells.NUMBER_PATTERN.fullmatch(text) for text in seen)
    plain = 2 * odd < len(seen) and first_lost(seen) is not None
    if plain or rounded_number(list(seen)):
        return (
            "A double does not hold some of the whole numbers exactly, so the column is not read "
            "as numbers."
        )
    if len(seen) > 5 and odd <= max(3, len(seen) // 20):
        few = f"except {odd:,} of {len(seen):,}" if odd else "that are stored as text"
        return (
            f"The values are numbers {few}. "
            f"To read them as numbers, use columns={{{name!r}: {GAUSSIAN.name!r}}}."
        )
    if mixed_units(list(seen)):
        return (
            "The values are numbers with different units. "
            "To read them as numbers, convert them to one unit."
        )
    return ""


def lists_of_codes(column: Column, format_: Format, texts: dict[str, int]) -> str:
    """The note about texts like '1,2' and '1,3', which may be lists of codes."""
    pair = next((text for text in texts if PAIR_PATTERN.fullmatch(text)), None)
    if (
        pair is None
        or str(format_) != DECIMAL_COMMA
        or len(texts) > MOST_LISTS
        or not all(PAIR_PATTERN.fullmatch(text) or len(text) == 1 for text in texts)
    ):
        return ""
    return (
        f"{pair!r} is read as {pair.replace(',', '.')}. If the values are lists of codes, "
        f"use columns={{{column.name!r}: {CATEGORY.name!r}}}."
    )


def infinite_cells(count: int) -> str:
    """The note about infinite numbers in a column of numbers."""
    if not count:
        return ""
    return (
        f"{count:,} cell{'s are' if count > 1 else ' is'} infinite, which a fit refuses. If this "
        "means missing, use na=['inf', '-inf']."
    )


def dots_of_thousands(name: str, texts: dict[str, int]) -> str:
    """The note about numbers like 1.234 and 950, in which the dot may separate thousands.

    A few numbers may be like 5.5, but none like 0.125, which decides for decimals.
    """
    n = sum(texts.values())
    odd, against, dotted, grouped = 0, None, None, 0
    for text, count in texts.items():
        if DOTTED_PATTERN.fullmatch(text):
            if "." in text:
                dotted, grouped = dotted or text, grouped + count
            continue
        odd, against = odd + count, against or text
        if odd * NEARLY_ALL > n or ZERO_POINT_PATTERN.fullmatch(text):
            return ""
    if dotted is None or odd * NEARLY_ALL > grouped + odd:
        return ""
    why = f", because of {against!r}, but {n - odd:,} of {n:,} cells are like it" if against else ""
    return (
        f"{dotted!r} is read as a decimal number{why}. If the dot separates thousands, "
        f"use columns={{{name!r}: 'number \"1.234,56\"'}}."
    )
