"""Statistics from plain data: the inverse of `state()`, by the name of the class.

Only the classes listed by `restorable` are built, whatever a state says.

>>> import numpy as np
>>> from verosim.stats import from_state
>>> from verosim.testing import statistic_of
>>> sums = statistic_of(np.array([[1.0], [2.0]]), ["a", "b"])
>>> from_state(sums.state()).fingerprint() == sums.fingerprint()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from verosim.errors import VerosimError
from verosim.stats.statistic import Statistic

S = TypeVar("S", bound=type[Statistic])
RESTORABLE: dict[str, type[Statistic]] = {}


def restorable(kind: S) -> S:
    """Class decorator: `from_state` may build statistics of this class."""
    RESTORABLE[kind.__name__] = kind
    return kind


def from_state(state: Mapping[str, Any]) -> Statistic:
    """The statistic that gave this state."""
    kind = state.get("kind")
    if kind not in RESTORABLE:
        raise VerosimError(
            f"{kind!r} is not a kind of statistic; known are {', '.join(sorted(RESTORABLE))}.",
            "import the module that defines it first, or use a newer verosim.",
        )
    return RESTORABLE[kind].from_state(state)
