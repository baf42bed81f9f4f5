"""The libraries that read tables. They are imported when they are first used.

Importing them takes longer than the rest of `import verosim`, and arrays do not need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "pa", "pc", "pd", "pl"]


class LazyModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # so that the next access is fast
        return value


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    nw = LazyModule("narwhals.stable.v2")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pd = LazyModule(
        "pandas"
    )  # optional, like polars: used when such a data frame is given or wanted
    pl = LazyModule("polars")
