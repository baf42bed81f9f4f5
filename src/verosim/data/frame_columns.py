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
    place = {name: j for j, name in enumerate(frame.columns.tolist())}
    dtypes = frame.dtypes.tolist()
    by_type: dict[np.dtype[Any], list[str]] = {}
    for name in names:
        dtype = dtypes[place[name]]
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and dtype.itemsize >= 4:
            by_type.setdefault(dtype, []).append(name)
    found: dict[str, pa.Array] = {}
    for some in by_type.values():
        cells = frame.take([place[name] for name in some], axis=1).to_numpy()  # (n, d)
        whole = pa.array(np.ascontiguousarray(cells.T).ravel(), from_pandas=True)
        found |= {name: whole.slice(j * n, n) for j, name in enumerate(some)}
    return found
