"""The first look: from the types and the first rows of a table to its schema.

The kind of each column is found by `first_look.py`; what was guessed is said in the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from verosim.data import cells
from verosim.data.adapters import open_table
from verosim.data.libraries import pa
from verosim.data.schema import Schema, as_kind, near
from verosim.data.stream import weights_of
from verosim.data.tables import Rows, Table
from verosim.data.weights import as_weights
from verosim.errors import VerosimError
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.first_look import FirstLook

FIRST_LOOK_ROWS = 50_000  # rows
COLUMNS_HINT = (
    '"auto", "gaussian" or "histogram" for all numbers, or a dict such as {"zip": "category"}.'
)


def look(
    source: Any,
    target: str | None = None,
    *,
    columns: str | Mapping[str, str] = "auto",
    sample_weight: Any = None,
    na: Any = (),
    rows: int = FIRST_LOOK_ROWS,
    max_categories: int = 1000,
    labels: np.ndarray | None = None,
) -> Schema:
    """Look at the first rows of a source and say what each column is.

    Parameters
    ----------
    source : any table: see :func:`verosim.query` and the page on tables
    target : the column to predict; it helps to choose between a Gaussian and a histogram
    columns : "auto"; "gaussian" or "histogram" for all numbers; or {name: density} where you know
        better: gaussian, histogram, category, boolean, poisson, date, text or ignore
    sample_weight : weights of the rows: the name of a column, or an array
    na : texts that mean missing, besides the empty cell
    rows : how many rows to look at
    max_categories : how many values a category column keeps; the rest share one bucket
    labels : an array, where they are not a column of the table

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.5, 2.5, 3.5, 1.0], "hue": ["red", "blue", "red", "red"],
    ...          "kind": ["a", "b", "b", "a"]}
    >>> print(verosim.look(table, target="kind"))
    column  type    role      density   why
    ──────  ──────  ────────  ────────  ───
    size    double  number    gaussian  numbers
    hue     string  category  category  2 values in 4 rows
    target: 'kind' (text)
    from the first 4 rows
    """
    if isinstance(source, Iterator) or hasattr(source, "read_next_batch"):
        raise VerosimError(
            "Looking at this source would use up its first rows: it can be read only once.",
            "look at a file, a table, or the first piece of the stream.",
        )
    table = open_table(source)
    weight = sample_weight if isinstance(sample_weight, str) else None
    check_columns(table.names, target, weight, columns)
    if not isinstance(rows, int) or rows < 1:
        raise VerosimError(f"rows={rows!r}: a whole number of rows to look at, one or more.")
    marks = as_na(na)
    sample = table.head(rows)
    arrays = {name: _column(sample, name, rows) for name in table.names}
    looked = min(sum(part.batch.num_rows for part in sample), rows)
    if not looked:
        raise VerosimError(
            "The table has no rows.", "is it the right one, or a reader that was read before?"
        )
    weights = _weights(sample_weight, table, sample)[:looked]
    if (weights > 0).any():
        counted = np.flatnonzero(weights > 0)  # rows of zero weight do not exist
        arrays = {name: array.take(counted) for name, array in arrays.items()}
        weights = weights[counted]
        labels = labels if labels is None else labels[:looked][counted]
    given = {} if isinstance(columns, str) else dict(columns)
    target_type = "text"
    labels = labels if labels is None else labels[:looked]
    if target is not None:
        if target not in given:
            target_type = _target_type(arrays[target], table.typed, frozenset(marks))
        try:
            labels = cells.keys(arrays[target], frozenset(marks))[0]
        except cells.Unreadable as error:
            hint = "labels are strings, whole numbers or booleans."
            raise error.named(f"The target {target!r}, row {error.row}", hint) from None
    declared = {
        name
        for part in sample
        for name in table.names
        if _declared(part.batch.column(name), table.coded)
    }
    first = FirstLook(frozenset(marks), table.typed, labels, weights, max_categories, declared)
    found = tuple(
        first.column(name, arrays[name], given.get(name))
        for name in table.names
        if name not in (target, weight)
    )
    schema = Schema(found, target, target_type, weight, marks, max_categories, looked, table.native)
    if columns in NUMBER_KINDS:
        schema = schema.edit(
            {c.name: str(columns) for c in schema.used if c.density in NUMBER_KINDS}
        )
    return schema


def _weights(sample_weight: Any, table: Table, sample: list[Rows]) -> np.ndarray:
    """The weights of the rows looked at, and maybe of more; empty if every row counts once."""
    if isinstance(sample_weight, str):
        return np.concatenate([weights_of(sample_weight, part) for part in sample])
    return as_weights(sample_weight, table.rows or np.size(sample_weight))


def _declared(array: pa.Array, coded: bool) -> bool:
    """Whether the type says the column is a category."""
    if not isinstance(array, pa.DictionaryArray):
        return False
    return not (coded and cells.is_text(array.type))


def as_na(na: Any) -> tuple[str, ...]:
    """The texts that mean missing, as the user gave them: one or several."""
    if isinstance(na, str | int | float | np.number):
        na = (na,)
    if isinstance(na, Mapping):
        raise VerosimError(
            "na is a list of texts for the whole table, not a dict.", "na=['?', 'unknown']."
        )
    plain = [mark.item() if isinstance(mark, np.generic) else mark for mark in na or ()]
    forms = [form for mark in plain for form in (str(mark), cells.text_of(mark)) if form]
    return tuple(dict.fromkeys(forms))


def check_columns(
    names: tuple[str, ...], target: str | None, weight: str | None, columns: Any
) -> None:
    for name, what in ((target, "target"), (weight, "column of weights")):
        if name is not None and name not in names:
            raise VerosimError(f"The {what} {name!r} is not in the table.", near(name, names))
    if target is not None and target == weight:
        raise VerosimError(f"{target!r} cannot be both the target and the weights.")
    if isinstance(columns, str) and columns in ("auto", *NUMBER_KINDS):
        return
    if not isinstance(columns, Mapping):
        raise VerosimError(f"columns={columns!r} is not known.", COLUMNS_HINT)
    for name, density in columns.items():
        if name not in names:
            raise VerosimError(f"columns: there is no column {name!r}.", near(name, names))
        as_kind(density, name)


def _column(sample: list[Rows], name: str, rows: int) -> pa.Array:
    chunks = [cells.without_dictionary(part.batch.column(name)) for part in sample]
    types = {chunk.type for chunk in chunks}
    if len(types) > 1:  # slices of a frame of objects may differ: text holds them all
        try:
            chunked = pa.concat_tables(
                [pa.table({"x": chunk}) for chunk in chunks], promote_options="permissive"
            ).column("x")
            return cells.without_dictionary(chunked)[:rows]
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            texts = [cells.text_of(v) for chunk in chunks for v in chunk.to_pylist()]
            return pa.array(texts, pa.large_string())[:rows]
    return pa.concat_arrays(chunks)[:rows] if chunks else pa.nulls(0)


def target_type(table: Table, target: str, na: frozenset[str], rows: int = FIRST_LOOK_ROWS) -> str:
    """What kind of labels a column of a table holds."""
    return _target_type(_column(table.head(rows), target, rows), table.typed, na)


def _target_type(array: pa.Array, typed: bool, na: frozenset[str]) -> str:
    """integer, boolean or text: a CSV's text becomes a value only if it prints back the same."""
    kind = cells.kind_of_type(array.type)
    if kind in ("boolean", "number"):
        return "boolean" if kind == "boolean" else "integer"
    if typed:
        return "text"
    texts = {text for text in cells.keys(array, na)[1] if text is not None}  # 1.0 as 1
    if texts and texts <= {"True", "False"}:
        return "boolean"
    return "integer" if texts and all(_is_integer(text) for text in texts) else "text"


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text and (
        abs(int(text)) < 2**63
    )  # fmt: skip
