"""The column names of X, by the rule of scikit-learn: all names are strings, or there are none."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.data.clusters import is_on_cluster
from verosim.errors import VerosimError


def list_of_names(columns: Any) -> list[Any]:
    """The names of columns. pandas makes a list of an index faster than a loop over it."""
    found: list[Any] = columns.tolist() if hasattr(columns, "tolist") else list(columns)
    return found


def feature_names(X: Any) -> np.ndarray | None:
    """The column names of X if all are strings, else None."""
    if type(X) is np.ndarray:
        return None
    names = None if is_on_cluster(X) else getattr(X, "column_names", None)  # Arrow
    if names is None and not hasattr(X, "collect_batches"):  # it would resolve a lazy frame
        names = getattr(X, "columns", None)
    if names is None or callable(names) or isinstance(names, int):
        return None
    names = np.asarray(list_of_names(names), dtype=object)
    types = {type(name) for name in names}
    if str in types and len(types) > 1:
        shown = sorted(kind.__name__ for kind in types)
        raise VerosimError(
            f"The column names of X have several types: {shown}.",
            "Use a string as the name of every column.",
        )
    return names if types == {str} else None
