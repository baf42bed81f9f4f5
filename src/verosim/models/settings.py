"""Comparison of settings."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np


def same(a: Any, b: Any) -> bool:
    """Whether two values of a setting are equal. They may be arrays or lists of arrays."""
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    for compare in (np.array_equal, operator.eq):
        with suppress(TypeError, ValueError):
            return bool(compare(a, b))
    return False


def equal_positions(keys: Iterable[Any]) -> list[list[int]]:
    """The positions of equal keys together, in the order of their first position."""
    groups: list[tuple[Any, list[int]]] = []
    for i, key in enumerate(keys):
        for known, group in groups:
            if same(known, key):
                group.append(i)
                break
        else:
            groups.append((key, [i]))
    return [group for _, group in groups]
