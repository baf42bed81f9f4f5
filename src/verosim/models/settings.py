"""Settings as users give them: checked when a model is derived, never in the constructor."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.errors import VerosimError


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """A setting that must be one of a few words."""
    if value not in allowed:
        raise VerosimError(
            f"{name}={value!r} is not known.", f"one of {', '.join(repr(a) for a in allowed)}."
        )


def finite(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> None:
    """A setting that must be a finite number within bounds."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or not least <= value <= most:
        bounds = "" if least == -np.inf else f" from {least:g}"
        bounds += "" if most == np.inf else f" to {most:g}"
        raise VerosimError(f"{name}={value!r}: a finite number{bounds} is needed.")


def whole(name: str, value: Any, least: float = -np.inf) -> None:
    """A setting that must be a whole number within bounds."""
    finite(name, value, least)
    if value != int(value):
        raise VerosimError(f"{name}={value!r}: a whole number is needed.")


def share(name: str, value: Any, zero: bool = False) -> None:
    """A setting that must be a share below 1, and above 0 unless `zero` is one."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 <= value < 1 or (value == 0 and not zero):
        least = "from" if zero else "above"
        raise VerosimError(f"{name}={value!r}: a share {least} 0 and below 1 is needed.")


def same(a: Any, b: Any) -> bool:
    """Whether two values of a setting are the same, arrays and lists of arrays included."""
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    try:
        return bool(np.array_equal(a, b))
    except (TypeError, ValueError):
        return bool(a == b)
