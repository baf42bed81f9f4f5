"""Hints for the name of a column that a table lacks: the name that the user probably meant."""

from __future__ import annotations

from difflib import get_close_matches

from verosim.errors import VerosimError


def check_in_table(name: str, names: tuple[str, ...], what: str) -> None:
    """Raise an error if a column is not one of the names of a table; `what` is its purpose."""
    if name not in names:
        raise VerosimError(f"The {what} {name!r} is not in the table.", near(name, names))


def near(name: str, names: tuple[str, ...]) -> str:
    """A hint with the name that the user probably meant, or with the names that exist."""
    close = get_close_matches(str(name), names, 1, 0.6) or [
        other for other in names if other.lower() == str(name).lower()
    ]
    if close:
        return f"Did you mean {close[0]!r}?"
    shown = ", ".join(repr(other) for other in names[:12])
    return f"Use one of the columns {shown}{' …' if len(names) > 12 else ''}."


def rename_or_add(lost: str, strange: tuple[str, ...]) -> str:
    """A hint for a column that a table lacks: it may have another name there."""
    close = get_close_matches(lost.lower(), [name.lower() for name in strange], 1, 0.6)
    near_name = next((name for name in strange if [name.lower()] == close), None)
    add = f"Add the column {lost!r}; its cells may be empty."
    return add if near_name is None else f"Rename the column {near_name!r} to {lost!r}."
