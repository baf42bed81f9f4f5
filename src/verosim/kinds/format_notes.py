"""Notes of the first look about texts that are read as numbers, or that may be numbers."""

from __future__ import annotations

import re

from verosim.data import cells
from verosim.data.cell_formats import Format, mixed_units
from verosim.data.date_formats import DateFormat
from verosim.data.schema_columns import Column
from verosim.errors import listed
from verosim.kinds.category import CATEGORY
from verosim.kinds.gaussian import GAUSSIAN

MOST_LISTS = 20  # with so few different texts like '1,2', a note asks the user
DOTTED_PATTERN = re.compile(r"\s*-?[1-9][0-9]{0,2}(\.[0-9]{3})?\s*")
PAIR_PATTERN = re.compile("[0-9],[0-9]")
DECIMAL_COMMA = "1234,56"  # the format of numbers like 12,5


def cells_not_read(column: Column, odd: tuple[str, ...], texts: dict[str, int]) -> str:
    """The note about the texts of a column that do not fit its format."""
    if not odd:
        return ""
    n = sum(texts[text] for text in odd)
    what = "date" if column.role == DateFormat.role else "number"
    are = f"cells are not {what}s and are" if n > 1 else f"cell is not a {what} and is"
    return (
        f"{n:,} {are} read as missing: {listed(list(odd), 3)}. "
        f"To read the column as a category, use columns={{{column.name!r}: {CATEGORY.name!r}}}."
    )


def almost_numbers(name: str, seen: dict[str, int]) -> str:
    """The note about categories or identifiers that may be numbers."""
    odd = [text for text in seen if not cells.NUMBER_PATTERN.fullmatch(text)]
    if odd and len(seen) > 5 and len(odd) <= max(3, len(seen) // 20):
        return (
            f"The values are numbers except {listed(odd, 3)}. "
            f"If this means missing, use na={odd!r}."
        )
    if not odd and len(seen) > 5:
        return (
            "The values are numbers that are stored as text. "
            f"To read them as numbers, use columns={{{name!r}: {GAUSSIAN.name!r}}}."
        )
    if units := mixed_units(list(seen)):
        return (
            f"The values are numbers with different units: {listed(units, 3)}. "
            "To read them as numbers, convert them to one unit."
        )
    return ""


def numbers_in_identifier(name: str, seen: dict[str, int]) -> str:
    """The note about an ignored column that may be numbers. It does not show any value."""
    odd = sum(not cells.NUMBER_PATTERN.fullmatch(text) for text in seen)
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


def dots_of_thousands(name: str, texts: dict[str, int]) -> str:
    """The note about numbers like 1.234 and 950, in which the dot may separate thousands."""
    if not all(DOTTED_PATTERN.fullmatch(text) for text in texts):
        return ""
    dotted = next((text for text in texts if "." in text), None)
    if dotted is None:
        return ""
    return (
        f"{dotted!r} is read as a decimal number. If the dot separates thousands, "
        f"use columns={{{name!r}: 'number \"1.234,56\"'}}."
    )
