"""How many examples a law is tried on, where that differs from the profile of `conftest.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import settings

Test = TypeVar("Test", bound=Callable[..., None])

MANY = 20_000  # in `make soak`


def tried_often(law: Test) -> Test:
    """A law that was broken once: as many examples as the profile says, and 20,000 in the soak."""
    asked = settings.default.max_examples
    soak = settings.get_profile("soak").max_examples
    return settings(max_examples=MANY if asked == soak else asked)(law)
