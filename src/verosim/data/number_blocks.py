"""Many columns of numbers as one matrix, converted at once and not column by column.

The cells mean the same as in `cells.numbers`, which reads one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from verosim.data import cells
from verosim.data.exact_numbers import large_columns
from verosim.data.libraries import pa

ROWS_AT_ONCE = 1024  # rows that are converted at a time, so that they stay in the cache
MANY_TEXTS = 32  # columns of texts that are parsed at once


def number_block(
    batch: pa.RecordBatch, names: Sequence[str], na: frozenset[str]
) -> tuple[np.ndarray, np.ndarray]:
    """(positions among the names, (n, k) numbers) of the columns that can be converted at once.

    These are the columns of plain number types, and many texts that are all plain numbers. Columns
    of integers that a double may round are left out, for a closer look.
    """
    schema = batch.schema
    place = {name: i for i, name in enumerate(schema.names)}
    at = np.array([place.get(name, -1) for name in names], dtype=np.intp)
    numbers = [*(type_.id for type_ in schema.types), -1]
    known = _plain_types()
    plain = np.array([number in known for number in numbers])[at]
    if plain.any():
        found, matrix = np.flatnonzero(plain), _matrix(batch, at[plain])
        if not _wide_types().isdisjoint(numbers):
            closer = large_columns(matrix)
            if closer.any():
                closer &= np.array([number in _wide_types() for number in numbers])[at[plain]]
                found, matrix = found[~closer], matrix[:, ~closer]
        return found, cells.without_marks(matrix, na)
    is_text = np.isin(np.array(numbers)[at], [pa.string().id, pa.large_string().id])
    if is_text.sum() >= MANY_TEXTS and batch.num_rows:
        kept, matrix = numbers_of_texts([batch.column(i) for i in at[is_text].tolist()], na)
        return np.flatnonzero(is_text)[kept], matrix
    return np.empty(0, dtype=np.intp), np.empty((batch.num_rows, 0))


def numbers_of_texts(
    arrays: Sequence[pa.Array], na: frozenset[str]
) -> tuple[np.ndarray, np.ndarray]:
    """(positions, (n, k) numbers) of the columns of texts of which all cells are plain numbers.

    Other texts can be numbers too, with spaces or a sign. They need a closer look.
    """
    n = len(arrays[0])
    if len({array.type for array in arrays}) > 1:
        return np.empty(0, dtype=np.intp), np.empty((n, 0))
    kept = np.arange(len(arrays))
    flat = cells.without_na(pa.concat_arrays(arrays), na)
    found = cells.plain_numbers(flat)
    if found is None:  # some columns are not numbers
        each = [cells.plain_numbers(flat.slice(j * n, n)) for j in range(len(arrays))]
        kept = np.flatnonzero([one is not None for one in each])
        found = np.concatenate([np.empty(0), *(one for one in each if one is not None)])
    return kept, cells.without_marks(np.ascontiguousarray(found.reshape(-1, n).T), na)


def _matrix(batch: pa.RecordBatch, at: np.ndarray) -> np.ndarray:
    """(n, k) float64 of columns of plain number types, NaN where missing."""
    n = batch.num_rows
    if len(at) < len(batch.schema.names) or (at != np.arange(len(at))).any():
        batch = batch.select(at.tolist())
    if n <= ROWS_AT_ONCE:
        found: np.ndarray = batch.to_tensor(null_to_nan=True).to_numpy()
        return found.astype(np.float64, copy=False)
    out = np.empty((n, len(at)))
    for start in range(0, n, ROWS_AT_ONCE):
        some = batch.slice(start, ROWS_AT_ONCE)
        out[start : start + ROWS_AT_ONCE] = some.to_tensor(null_to_nan=True).to_numpy()
    return out


@cache
def _wide_types() -> frozenset[int]:
    """The numbers of the types of integers that a double may round."""
    return frozenset({pa.int64().id, pa.uint64().id})


@cache
def _plain_types() -> frozenset[int]:
    """The numbers of the types that can be converted at once."""
    whole = (pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64)
    return frozenset(make().id for make in (*whole, pa.float32, pa.float64))
