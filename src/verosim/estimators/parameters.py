"""Parameters as users give them: checked when a model is derived, never in the constructor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from verosim.errors import VerosimError


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """A parameter that must be one of a few words."""
    if value not in allowed:
        raise VerosimError(
            f"{name}={value!r} is not known.", f"one of {', '.join(repr(a) for a in allowed)}."
        )


def share(name: str, value: Any) -> None:
    """A parameter that must lie in [0, 1]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not (0 <= value <= 1)
    ):
        raise VerosimError(f"{name}={value!r}: a number from 0 to 1 is needed.")


def not_negative(name: str, value: Any) -> None:
    """A parameter that must be a finite number, zero or more."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not (0 <= value < np.inf)
    ):
        raise VerosimError(f"{name}={value!r}: a finite number, zero or more, is needed.")


def same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return bool(np.array_equal(a, b))
    except (TypeError, ValueError):
        return bool(a == b)


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from whatever scikit-learn accepts as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1))
