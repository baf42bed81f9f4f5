"""The names of the columns of X, as scikit-learn reads them: all strings, or none at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.errors import VerosimError


def feature_names(X: Any) -> np.ndarray | None:
    """The names of X's columns, where it has some and all are strings."""
    names = getattr(X, "column_names", None)  # Arrow
    if names is None and not hasattr(X, "collect_batches"):  # a lazy frame would resolve them
        names = getattr(X, "columns", None)
    if names is None or callable(names) or isinstance(names, int):
        return None
    names = np.asarray(list(names), dtype=object)
    types = {type(name) for name in names}
    if str in types and len(types) > 1:
        shown = sorted(kind.__name__ for kind in types)
        raise VerosimError(
            f"The column names of X are of several types, {shown}.", "name every column by a text."
        )
    return names if types == {str} else None
