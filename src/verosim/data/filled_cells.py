"""Replaces some cells of a table, and keeps its kind, its other cells and its types.

    pandas → pandas, polars → polars, Arrow and dicts → Arrow

A column changes its type only if the new values do not fit, for example a mean of whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.adapters import open_table
from verosim.data.libraries import pa, pc, pd, pl


@dataclass(frozen=True, eq=False)
class NewCells:
    """The rows of a column whose cells are replaced, and the new values."""

    rows: np.ndarray  # (m,) row numbers
    values: pa.Array  # (m,)


def with_new_cells(table: Any, cells: Mapping[str, NewCells]) -> Any:
    """A table in memory with new cells in some columns. The given table does not change."""
    if hasattr(table, "iloc"):
        return _pandas(table, cells)
    if type(table).__module__.startswith("polars"):
        return _polars(table, cells)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        opened = open_table(table)
        table = pa.Table.from_batches([rows.batch for rows in opened.batches()])
    for name, new in cells.items():
        at = table.schema.get_field_index(name)
        filled = filled_array(table.column(at).combine_chunks(), new)
        table = table.set_column(at, pa.field(name, filled.type), filled)
    return table


def filled_array(array: pa.Array | pa.ChunkedArray, new: NewCells) -> pa.Array:
    """An Arrow array with new cells, in its own type if the values fit."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    own = array.type
    if pa.types.is_dictionary(own):
        plain = filled_array(array.dictionary_decode(), new)
        try:
            return plain.dictionary_encode().cast(own)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return plain.dictionary_encode()
    values = new.values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        values = values.cast(own)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        array = _cast_to(array, values.type)
    mask = np.zeros(len(array), dtype=bool)
    mask[new.rows] = True
    return pc.replace_with_mask(array, pa.array(mask), values)


def _cast_to(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(array.type) and pa.types.is_floating(type_):
        array = array.cast(pa.int8())
    return array.cast(type_)


def _polars(frame: Any, cells: Mapping[str, NewCells]) -> Any:
    columns = []
    for name, new in cells.items():
        filled = pl.Series(name, filled_array(frame[name].to_arrow(), new))
        dtype = frame[name].dtype
        if dtype in (pl.Categorical, pl.Enum):
            filled = filled.cast(pl.String).cast(dtype)
        columns.append(filled)
    return frame.with_columns(columns)


def _pandas(frame: Any, cells: Mapping[str, NewCells]) -> Any:
    out = frame.copy(deep=False)
    places = {str(name): j for j, name in enumerate(frame.columns)}
    for name, new in cells.items():
        at = places[name]
        out.isetitem(at, _filled_series(frame.iloc[:, at], new))
    return out


def _filled_series(series: Any, new: NewCells) -> Any:
    """A pandas column with new cells; numbers that do not fit make it a column of floats."""
    values, kind = new.values.to_pandas(), series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        values = _like_categories(values, kind.categories)
        added = [value for value in pd.unique(values) if value not in kind.categories]
        out = series.cat.add_categories(added) if added else series.copy()
    elif _holds_whole(kind) and _has_fractions(values):
        out = series.astype(_float_type(kind))
    else:
        out = series.copy()
        if pd.api.types.is_float_dtype(kind) and not _is_text(values):
            values = values.astype(kind)  # float32 stays float32
    out.iloc[new.rows] = values.array
    return out


def _is_text(values: Any) -> bool:
    return not pd.api.types.is_numeric_dtype(values.dtype)


def _holds_whole(kind: Any) -> bool:
    """Whether a type of pandas holds whole numbers or truth values, but no fractions."""
    return bool(pd.api.types.is_integer_dtype(kind) or pd.api.types.is_bool_dtype(kind))


def _has_fractions(values: Any) -> bool:
    is_float = bool(pd.api.types.is_float_dtype(values.dtype))
    return is_float and bool((values != np.floor(values)).any())


def _float_type(kind: Any) -> Any:
    """The type of floats of the same family as a type of whole numbers."""
    if isinstance(kind, pd.ArrowDtype):
        return pd.ArrowDtype(pa.float64())
    return "Float64" if isinstance(kind, pd.api.extensions.ExtensionDtype) else "float64"


def _like_categories(values: Any, known: Any) -> Any:
    """Texts as the categories of a column that they mean; the others stay texts."""
    by_text = {str(category): category for category in known}
    return values.astype(object).map(lambda value: by_text.get(str(value), value))
