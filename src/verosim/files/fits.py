"""Does a value from a file have the type that the code declares?

    fits(value, hint)

The hints are the annotations of the dataclasses, so a file cannot put a text where a number must
be. A hint that is not known fits nothing.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

LARGEST_EXACT = 1 << 53  # up to here, a double holds all whole numbers
SEQUENCES = (list, tuple)
MAPPINGS = (dict, collections.abc.Mapping)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type of a hint."""
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        if isinstance(value, int | np.integer):  # compiled loops take no number of any size
            return not _is_bool(value) and abs(int(value)) <= LARGEST_EXACT
        return isinstance(value, float | np.floating)
    if hint is int:
        return isinstance(value, int | np.integer) and not _is_bool(value)
    if hint is bool:
        return _is_bool(value)
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inside)
    if origin is Literal:
        return value in inside
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, inside)
    if origin in (list, collections.abc.Sequence):
        kinds = list if origin is list else SEQUENCES
        return isinstance(value, kinds) and all(fits(one, inside[0]) for one in value)
    if origin in MAPPINGS:
        pairs = value.items() if isinstance(value, dict) else None
        return pairs is not None and all(
            fits(key, inside[0]) and fits(one, inside[1]) for key, one in pairs
        )
    if isinstance(hint, type):
        return isinstance(value, hint)
    return isinstance(hint, typing.TypeAliasType) and fits(value, hint.__value__) if hasattr(
        typing, "TypeAliasType") else False  # fmt: skip


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _fits_tuple(value: tuple[Any, ...], inside: tuple[Any, ...]) -> bool:
    if len(inside) == 2 and inside[1] is Ellipsis:
        return all(fits(one, inside[0]) for one in value)
    return len(value) == len(inside) and all(map(fits, value, inside))
