"""Checks of settings. They run when a model is fitted or changed, never in the constructor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.errors import VerosimError


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Check a setting that must be one of a few strings."""
    if value not in allowed:
        raise VerosimError(
            f"{name} must be one of {', '.join(repr(a) for a in allowed)}; got {value!r}."
        )


def finite(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> None:
    """Check a setting that must be a finite number within bounds."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= most:
        raise _wrong_number(name, value, "finite", least, most)


def whole(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> None:
    """Check a setting that must be a whole number within bounds."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or not least <= value <= most or value != int(value):
        raise _wrong_number(name, value, "whole", least, most)


def _wrong_number(name: str, value: Any, kind: str, least: float, most: float) -> VerosimError:
    """The error for a setting that is not a number within bounds."""
    bounds = "" if least == -np.inf else f", at least {least:g}"
    if 0 < least <= np.finfo(float).tiny:  # the smallest positive number
        bounds = " above 0"
    if most < np.inf:
        bounds = f" from {least:g} to {most:g}"
    return VerosimError(f"{name} must be a {kind} number{bounds}; got {value!r}.")


def share(name: str, value: Any, zero: bool = False) -> None:
    """Check a setting that must be below 1 and above 0. `zero` also allows 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 <= value < 1 or (value == 0 and not zero):
        least = "at least" if zero else "above"
        raise VerosimError(f"{name} must be a number {least} 0 and below 1; got {value!r}.")


def same(a: Any, b: Any) -> bool:
    """Whether two values of a setting are equal. They may be arrays or lists of arrays."""
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    try:
        return bool(np.array_equal(a, b))
    except (TypeError, ValueError):
        return bool(a == b)
