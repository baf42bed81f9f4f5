"""Finds a column of a model by its name or its number."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Columns
from verosim.errors import VerosimError, listed


def column_position(columns: Columns, wanted: Any) -> int:
    """The position of a column that is given by name or by number."""
    names = tuple(columns)
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    number = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
    if number and 0 <= wanted < len(names):
        return int(wanted)
    raise VerosimError(
        f"The model has no column {wanted!r}.", f"Its columns are {listed(list(names))}."
    )
