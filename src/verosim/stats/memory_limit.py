"""Refuses sums that need too much memory, before the memory is taken.

The limit is 3 GB per statistic. The environment variable VEROSIM_MEMORY_GB sets another one.
"""

from __future__ import annotations

import math
import os

from verosim.errors import VerosimError

DEFAULT_GIGABYTES = 3.0
BYTES_OF_NUMBER = 8


def check_memory(numbers: int, what: str) -> None:
    """Raise an error if so many numbers need more memory than the limit."""
    needed, limit = numbers * BYTES_OF_NUMBER / 1e9, _limit()
    if needed > limit:
        raise VerosimError(
            f"{what} need {needed:,.1f} GB of memory, and the limit is {limit:g} GB.",
            "Use fewer columns, bins or classes, use a model of independent columns, or set the "
            "environment variable VEROSIM_MEMORY_GB to a larger limit.",
        )


def _limit() -> float:
    given = os.environ.get("VEROSIM_MEMORY_GB")
    if given is None:
        return DEFAULT_GIGABYTES
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not limit > 0:
        raise VerosimError(
            f"VEROSIM_MEMORY_GB must be a number above 0; got {given!r}.",
            "Set the environment variable VEROSIM_MEMORY_GB to a number of gigabytes.",
        )
    return limit
