"""The possible values of a category column, if the user declares them.

    columns={"size": ["S", "M", "L"]}    →    K = 3, also if no row has "L"

Cells and declared values are compared by their texts: 1, 1.0 and "1" are one value.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data import cells
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    from verosim.data.schema import Schema
    from verosim.data.tables import Rows

VALUE_TYPES = (str, int, float, Decimal, date)  # bool is an int, datetime is a date
MOST_SHOWN = 8  # values in a message


def declared_values(given: Any, column: str) -> tuple[str, ...]:
    """The texts of the values that a user has declared, or () if `given` names a kind."""
    if not isinstance(given, list | tuple):
        return ()
    if not given:
        raise VerosimError(
            f"Column {column!r}: the list of its possible values is empty.",
            "List the values, such as ['S', 'M', 'L'], or use 'category'.",
        )
    texts: list[str] = []
    for value in given:
        plain = value.item() if isinstance(value, np.generic) else value
        text = cells.text_of(plain) if isinstance(plain, VALUE_TYPES) else None
        if text is None:
            raise VerosimError(
                f"Column {column!r}: {value!r} cannot be one of its possible values.",
                "List texts, numbers or booleans, without missing values.",
            )
        if text in texts:
            raise VerosimError(
                f"Column {column!r}: the possible value {value!r} is listed twice.",
                "List each value once; 1, 1.0 and '1' are the same value.",
            )
        texts.append(text)
    return tuple(texts)


def check_declared(rows: Rows, schema: Schema) -> None:
    """Raise an error if a training row has a value that was not declared for its column."""
    for column in schema.used:
        if not column.values:
            continue
        at = rows.batch.schema.get_field_index(column.name)
        if at < 0:
            continue
        na = frozenset(schema.na).union(column.missing)
        index, texts = cells.keys(rows.batch.column(at), na)
        known = {None, *column.values}
        strange = np.array([text not in known for text in texts])[index]
        if strange.any():
            row = int(np.argmax(strange))
            text = texts[index[row]]
            raise VerosimError(
                f"Column {column.name!r}, {rows.place(row)}: {text!r} is not one of the declared "
                f"values {listed(list(column.values), MOST_SHOWN)}.",
                f"Correct the cell, add {text!r} to columns={{{column.name!r}: […]}}, or use "
                f"na=[{text!r}] if it means missing.",
            )


def check_same_values(mine: tuple[str, ...], theirs: tuple[str, ...], column: str) -> None:
    """Raise an error if two models do not have the same declared values of a column."""
    if set(mine) == set(theirs):
        return
    here, there = (listed(list(one), MOST_SHOWN) if one else "none" for one in (mine, theirs))
    raise VerosimError(
        f"Column {column!r} has other declared values in this model ({here}) than in the other "
        f"model ({there}).",
        "Fit both models with the same columns={…} or with one schema.",
    )
