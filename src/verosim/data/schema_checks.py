"""Checks the entries of a schema that was read from a file, which a person may have edited."""

from __future__ import annotations

from math import isfinite
from typing import Any

from verosim.errors import VerosimError


def check_fields(schema: Any) -> None:
    """Raise an error if a field has a value of another type, as in a file that was edited."""
    for column in schema.columns:
        for name in ("name", "type", "reason", "note"):
            _check_field(column, name, isinstance(getattr(column, name), str), "a text")
        edges = column.edges
        numbers = isinstance(edges, tuple) and all(
            isinstance(e, int | float) and isfinite(e) for e in edges
        )
        _check_field(column, "edges", numbers, "a list of finite numbers")
        for name in ("missing", "values"):
            _check_field(column, name, _are_texts(getattr(column, name)), "a list of texts")
        for name in ("frequent", "unread"):
            _check_field(column, name, _are_hashes(getattr(column, name)), "a list of hashes")
        _check_field(column, "name", _is_valid(column.name), "valid text")
    if len(set(schema.names)) < len(schema.names):
        raise VerosimError("A column is listed twice.")
    for name in ("target", "weight"):
        value = getattr(schema, name)
        _check_field(schema, name, value is None or isinstance(value, str), "a text or null")
    kinds = ("text", "integer", "boolean")
    _check_field(schema, "target_type", schema.target_type in kinds, f"one of {kinds}")
    _check_field(schema, "na", _are_texts(schema.na), "a list of texts")
    for name, least in (("max_categories", 1), ("looked", 0)):
        value = getattr(schema, name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= least
        _check_field(schema, name, is_count, f"a whole number of at least {least}")
    is_distance = isinstance(schema.distance, int | float) and isfinite(schema.distance)
    _check_field(schema, "distance", is_distance, "a finite number")


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _are_hashes(values: Any) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64
        for value in values
    )


def _check_field(owner: Any, name: str, is_right: bool, wanted: str) -> None:
    if not is_right:
        whose = f" of column {owner.name!r}" if hasattr(owner, "name") else ""
        shown = repr(getattr(owner, name))[:60]
        raise VerosimError(f"The entry {name!r}{whose} must be {wanted}; got {shown}.")


def _is_valid(text: str) -> bool:
    """Whether a text can be written as UTF-8: half of a character cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
