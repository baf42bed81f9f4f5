"""Simulated rows as a table: the columns, types and, if wished, the holes of the original."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data.readers import MixedReader
from verosim.data.schema import Column
from verosim.data.values import DAY, TICKS
from verosim.stats import Counts, Moments, Product

if TYPE_CHECKING:
    import pyarrow as pa


def as_table(
    reader: MixedReader, drawn: dict[str, Any], gone: dict[str, np.ndarray], native: str
) -> Any:
    """What was drawn for every part, as the kind of table the model was fitted on.

    `gone` marks, by column, the cells to leave empty.
    """
    import pyarrow as pa

    arrays = {}
    for part, names in reader.parts.items():
        for j, name in enumerate(names):
            if part == "missing" or name not in reader.names:  # hours and weekdays of a date
                continue
            column = reader.schema[name]
            block = np.asarray(drawn[part])
            cells = block if block.ndim == 1 else block[:, j]  # texts come one a row
            arrays[name] = _column(column, part, cells, gone.get(name))
    table = pa.table({name: arrays[name] for name in reader.names})
    if native == "pandas":
        return table.to_pandas()
    if native == "polars":
        import polars

        return polars.from_arrow(table)
    if native == "array":
        return np.column_stack([np.asarray(table[name]) for name in table.column_names])
    return table


def _column(column: Column, part: str, cells: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    import pyarrow as pa

    if part == "boolean":
        kind = pa.bool_() if column.type in ("bool", "text", "string") else pa.int64()
        return pa.array(cells > 0.5, mask=gone).cast(kind)
    if column.density == "date":
        moments = pa.array((cells * DAY).astype(np.int64), pa.timestamp("us"), mask=gone)
        return _cast(moments, column.type)
    if part in ("gaussian", "histogram", "poisson"):
        return _number(column, cells, gone)
    texts = pa.array(cells.tolist(), pa.string())
    if gone is not None:
        texts = pa.array([None if g else t for g, t in zip(gone, texts.to_pylist(), strict=True)])
    return texts.dictionary_encode() if column.type == "category" else _cast(texts, column.type)


def _number(column: Column, cells: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Drawn numbers in the type of the source: rounded if it is whole, and within its range."""
    import pyarrow as pa

    type_ = _type(column.type)
    if type_ is not None and pa.types.is_duration(type_):  # which are read in seconds
        ticks = cells * TICKS[type_.unit]
        return pa.array(np.rint(ticks).astype(np.int64), mask=gone).cast(type_)
    if not column.whole:
        return _cast(pa.array(cells, mask=gone), column.type)
    if type_ is not None and pa.types.is_integer(type_):
        info = np.iinfo(type_.to_pandas_dtype())
        cells = np.clip(cells, info.min, info.max)
    return _cast(pa.array(np.rint(cells).astype(np.int64), mask=gone), column.type)


def _type(name: str) -> pa.DataType | None:
    """The Arrow type of that name, None if it is no type to cast to."""
    import pyarrow as pa

    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return pa.timestamp(found[1], found[2])
    if found := re.fullmatch(r"decimal(128|256)\((\d+), (-?\d+)\)", name):
        make = pa.decimal128 if found[1] == "128" else pa.decimal256
        return make(int(found[2]), int(found[3]))
    try:
        return pa.type_for_alias(name)
    except ValueError:
        return None


def _cast(array: pa.Array, name: str) -> pa.Array:
    """In the type of the source, where what was drawn fits it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = None if name in ("text", "string", "category") else _type(name)
    if type_ is None:
        return array
    try:
        if pa.types.is_timestamp(type_) and type_.tz is not None:
            array = pc.assume_timezone(
                array, type_.tz, ambiguous="earliest", nonexistent="earliest"
            )
        if pa.types.is_decimal(type_) and pa.types.is_floating(array.type):
            array = pc.round(array, type_.scale)
        return array.cast(type_, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        return array


def gap_rates(statistic: Product) -> dict[str, np.ndarray]:
    """By column, (C,) how often each class leaves it empty."""
    rates: dict[str, np.ndarray] = {}
    counted = statistic.parts.get("missing")  # where what is missing was counted, texts too
    parts = statistic.parts if counted is None else {"missing": counted}
    for name, part in parts.items():
        weight = part.weight[:, 0]
        seen = _seen(part)
        if name == "missing" and isinstance(part, Counts) and seen is not None:
            seen = seen - part.arrays["count"][:, 0]
        for j, column in enumerate(part.axes.columns):
            if seen is not None:
                share = seen[:, j] / np.where(weight > 0, weight, 1.0)
                rates[column] = np.clip(np.where(weight > 0, 1 - share, 0.0), 0.0, 1.0)
    return rates


def _seen(part: Any) -> np.ndarray | None:
    """(C, d) weight of the cells that were there."""
    if isinstance(part, Moments):
        return part.arrays["cells"][:, 0]
    if not isinstance(part, Counts):
        return None
    if part.what == "presence":
        return part.arrays["weight"][:, 0, None] - part.arrays["missing"][:, 0]
    codes = part.axes.codes
    assert codes is not None
    count = part.arrays["count"][:, 0]
    return np.stack(
        [count[:, a:b].sum(axis=1) for a, b in zip(codes.first[:-1], codes.first[1:], strict=True)],
        axis=1,
    )
