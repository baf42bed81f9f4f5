"""A statistic as bytes, and back to the bit.

    statistic_from_bytes(statistic_to_bytes(T)) = T

The bytes are a safetensors file. Everything in it is checked before a statistic is made, so bytes
from another computer can be read. A new statistic that has `state` and `from_state` needs no line
here.

>>> import numpy as np
>>> from verosim.testing import statistic_of
>>> sums = statistic_of(np.array([[1.0], [2.0]]), ["a", "b"])
>>> statistic_from_bytes(statistic_to_bytes(sums)).fingerprint() == sums.fingerprint()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verosim.stats.plain_trees import damaged, packed_tree, unpacked_tree
from verosim.stats.state import from_state
from verosim.stats.statistic import Statistic
from verosim.stats.tensor_files import read_tensors, tensor_file

STATISTIC_FORMAT = 1
DATA_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
    RecursionError, MemoryError,
)  # fmt: skip  # what wrong data raises: no code of a file is run


def statistic_to_bytes(statistic: Statistic) -> bytes:
    """The bytes of a statistic. The same statistic gives the same bytes."""
    node, tensors = packed_tree(statistic.state())
    return tensor_file({"statistic": STATISTIC_FORMAT, "state": node}, tensors)


def statistic_from_bytes(raw: bytes, max_bytes: int | None = None) -> Statistic:
    """The statistic of some bytes, checked."""
    content, tensors = read_tensors(raw, max_bytes)
    if not isinstance(content, dict) or content.keys() != {"statistic", "state"}:
        raise damaged("it is not a statistic")
    if content["statistic"] != STATISTIC_FORMAT:
        raise damaged("its format is not known")
    return checked_statistic(unpacked_tree(content["state"], tensors))


def checked_statistic(state: Any) -> Statistic:
    """The statistic with a state from outside. Everything wrong is a `VerosimError`."""
    from verosim.errors import VerosimError

    if not isinstance(state, Mapping) or not isinstance(state.get("kind"), str):
        raise damaged("its sums have no kind")
    try:
        return from_state(state)
    except VerosimError:
        raise
    except DATA_ERRORS as error:
        raise damaged(f"its sums are not sums of rows ({type(error).__name__})") from error
