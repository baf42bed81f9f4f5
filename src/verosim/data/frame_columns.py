"""The columns of a data frame as Arrow arrays. Columns of plain numbers are converted together.

narwhals converts all other columns one by one, which takes much longer in a wide frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.data.cells import in_one
from verosim.data.libraries import pa


def number_arrays(frame: Any, names: Sequence[str]) -> dict[str, pa.Array]:
    """The columns of plain numbers of a pandas or polars frame, by name; empty for others."""
    library = type(frame).__module__.split(".")[0]
    if library == "pandas":
        return _of_pandas(frame, names)
    if library == "polars":
        types = frame.schema
        plain = [n for n in names if types[n].is_float() or types[n].is_integer()]
        table = frame.select(plain).to_arrow()
        return dict(zip(plain, map(in_one, table.columns), strict=True))
    return {}


def _of_pandas(frame: Any, names: Sequence[str]) -> dict[str, pa.Array]:
    n = len(frame)
    at = frame.columns.get_indexer(names)
    dtypes = frame.dtypes.to_numpy()[at]
    found: dict[str, pa.Array] = {}
    for dtype in set(dtypes):
        if not isinstance(dtype, np.dtype) or dtype.kind not in "iuf" or dtype.itemsize < 4:
            continue
        some = np.flatnonzero(dtypes == dtype)
        cells = frame.iloc[:, at[some]].to_numpy()  # (n, d)
        whole = pa.array(np.ascontiguousarray(cells.T).ravel(), from_pandas=True)
        found |= {names[i]: whole.slice(j * n, n) for j, i in enumerate(some.tolist())}
    return found
