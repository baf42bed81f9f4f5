"""Converts sampled cells to the Arrow type of the source."""

from __future__ import annotations

import re

import numpy as np

from verosim.data.libraries import pa, pc
from verosim.data.schema_columns import Column


def arrow_type(name: str) -> pa.DataType | None:
    """The Arrow type with that name, or None if a column cannot be cast to it."""
    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return pa.timestamp(found[1], found[2])
    if found := re.fullmatch(r"decimal(128|256)\((\d+), (-?\d+)\)", name):
        make = pa.decimal128 if found[1] == "128" else pa.decimal256
        return make(int(found[2]), int(found[3]))
    try:
        return pa.type_for_alias(name)
    except ValueError:
        return None


def cast(array: pa.Array, name: str) -> pa.Array:
    """The array in the type of the source, or unchanged if the values do not fit that type."""
    type_ = None if name in ("text", "string", "category") else arrow_type(name)
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


def texts(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Sampled texts in the form of the source: a dictionary, text or the type of the source."""
    found = pa.array(drawn.tolist(), pa.string())
    if gone is not None:
        found = pa.array([None if g else t for g, t in zip(gone, found.to_pylist(), strict=True)])
    return found.dictionary_encode() if column.type == "category" else cast(found, column.type)
