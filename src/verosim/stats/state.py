"""Statistics from plain data: the inverse of `state()`.

    from_state(T.state()) = T

The state contains the name of the class. Only the classes marked by `restorable` are built.

>>> import numpy as np
>>> from verosim.stats import from_state
>>> from verosim.testing import statistic_of
>>> sums = statistic_of(np.array([[1.0], [2.0]]), ["a", "b"])
>>> from_state(sums.state()).fingerprint() == sums.fingerprint()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from verosim.errors import VerosimError
from verosim.stats.statistic import Statistic

S = TypeVar("S", bound=type[Statistic])
RESTORABLE: dict[str, type[Statistic]] = {}


def restorable(kind: S) -> S:
    """Class decorator that allows `from_state` to build statistics of this class."""
    RESTORABLE[kind.__name__] = kind
    return kind


def is_restorable(one: object) -> bool:
    """Whether `from_state` can build statistics of the class of this one."""
    return RESTORABLE.get(type(one).__name__) is type(one)


def load_all() -> None:
    """Import all statistics of verosim. Each of them is imported when it is first used."""
    stats = import_module("verosim.stats")
    for name in stats.__all__:
        getattr(stats, name)


def from_state(state: Mapping[str, Any]) -> Statistic:
    """The statistic with this state."""
    kind = state.get("kind")
    if kind not in RESTORABLE:
        load_all()
    if kind not in RESTORABLE:
        raise VerosimError(
            f"{kind!r} is not a kind of statistic; the known kinds are "
            f"{', '.join(sorted(RESTORABLE))}.",
            "Import the module that defines this kind, or install a newer version of verosim.",
        )
    return RESTORABLE[kind].from_state(state)
