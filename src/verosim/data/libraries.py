"""The libraries of tables, imported when they are first used.

Most of the time of `import verosim` would be theirs, and who fits arrays needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "pa", "pc"]


class LazyModule:
    """A module by its name: it is imported when the first of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next time it is found at once
        return value


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    nw = LazyModule("narwhals.stable.v2")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
