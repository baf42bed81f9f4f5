"""Makes the schema of a table from the types and the first rows of its columns.

`first_look.py` chooses the kind of each column. The schema states the reason of each choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked, whole
from verosim.data import cells
from verosim.data.adapters import is_read_once, open_table, opened_as
from verosim.data.column_kinds import IGNORE
from verosim.data.declared_values import declared_values
from verosim.data.labels import encode_labels, labels_of
from verosim.data.libraries import pa
from verosim.data.near_names import check_in_table, near
from verosim.data.schema import Schema, over_cap_only
from verosim.data.schema_columns import Column, as_kind
from verosim.data.stream import LABEL_HINT, weights_of
from verosim.data.tables import FIRST_LOOK_ROWS, Rows, Table
from verosim.data.weights import as_weights
from verosim.errors import VerosimError
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.first_look import FirstLook
from verosim.kinds.first_numbers import FirstNumbers, numbers_at_once
from verosim.kinds.leaks import GIVES_LABEL_AWAY, LabelLeaks, columns_that_give_label_away
from verosim.kinds.missing_marks import as_na

if TYPE_CHECKING:
    from verosim.typing import ColumnKind, FileOptions, MissingMarks, Source, Weights


@checked
def look(
    source: Source,
    target: str | None = None,
    *,
    columns: Literal["auto", "gaussian", "histogram"] | Mapping[str, ColumnKind | str] = "auto",
    sample_weight: Weights | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    rows: int = FIRST_LOOK_ROWS,
    max_categories: int = 1000,
    labels: np.ndarray | None = None,
    spread: bool = False,
) -> Schema:
    """Choose the kind of each column of a table from its first rows.

    The result is a schema. Print it to see the kind of each column, the reason, and the points to
    check. Change it with `schema.edit`, and use it with `fit(…, schema=schema)`. `NaiveBayes` calls
    this function if it is fitted on a table without a schema.

    Text columns of a CSV file are read as numbers, dates or booleans if their cells are. This also
    holds for text columns of other tables, except whole numbers, which may be codes. Numbers and
    dates may be written as people do, such as $15,285.12 or 31/12/2024: the schema states the
    format of the column, and lists cells that do not fit and are read as missing. Any other column
    of text is a category, free text, or an identifier, which is ignored. A column of numbers
    is a histogram if, with the labels, its Akaike criterion

        Σ w log p(class | x)  −  number of parameters

    is higher than that of one Gaussian per class. x is the value and w the weight of a row. In all
    other cases the column is Gaussian.

    Parameters
    ----------
    source : Source
        The table: a data frame, an Arrow table, a DuckDB relation, the result of `verosim.query`, a
        mapping of columns, the path of a file, a folder or a glob of files, a list of paths, an
        open file, or a list of tables.
    target : str or None, default=None
        The name of the target column. Its labels are used to choose between a Gaussian and a
        histogram.
    columns : {"auto", "gaussian", "histogram"} or dict from str to str or list, default="auto"
        "auto" chooses the kind of all columns. "gaussian" or "histogram" is used for all columns of
        numbers. A dict sets the kind of some columns by name: "gaussian", "histogram", "poisson",
        "category", "boolean", "date", "date+trend", "text" or "ignore". A "date" is its hour,
        weekday and month. "date+trend" also uses the position in time, as a Gaussian. A number or
        a date can have a format in quotation marks, which is the number 1234.56 or the date 31
        December 2024 in the way of the column: 'number "1.234,56"' or 'date "31/12/2024"'. A list
        such as ["S", "M", "L"] is a category with exactly these possible values.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weights of the rows, or the name of a column of weights. Rows of weight zero are left
        out. None means that all weights are one.
    na : iterable of str, default=()
        The texts that mean missing, in addition to the empty cell.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`. They are the arguments of
        `verosim.read`. None means that the files are examined.
    rows : int, default=50000
        The number of rows to read.
    max_categories : int, default=1000
        The number of different values that a category column keeps. The other values share one
        category.
    labels : ndarray of shape (n,) or None, default=None
        The labels, if they are not a column of the table.
    spread : bool, default=False
        Whether to take the rows from all parts of the table instead of its first rows: from all
        partitions of a cluster, from all row groups of Parquet files, or from a pass over any other
        table. Use it if the rows are sorted, for example by class or by time.

    Returns
    -------
    Schema
        The kind of each column, with the reason.

    Raises
    ------
    VerosimError
        If the table has no rows, if the target is not in the table, if a kind is unknown, or if
        the source can be read only once.

    See Also
    --------
    Schema : The result.
    query : Open the result of a SQL query as a table.

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
    return over_cap_only(
        full_look(
            source, target, columns=columns, sample_weight=sample_weight, na=na, read=read,
            rows=rows, max_categories=max_categories, labels=labels, spread=spread,
        )
    )  # fmt: skip


def full_look(
    source: Source,
    target: str | None = None,
    *,
    columns: Any = "auto",
    sample_weight: Weights | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    rows: int = FIRST_LOOK_ROWS,
    max_categories: int = 1000,
    labels: np.ndarray | None = None,
    spread: bool = False,
) -> Schema:
    """The schema of `look`, with the hashes of the frequent values of all category columns.

    A fit needs them: a column that has few values in the first rows may have many later.
    """
    if is_read_once(source):
        raise VerosimError(
            "This source can be read only once, so look would use up its first rows.",
            "Give a file, a table, or the first batch of the stream.",
        )
    table = open_table(opened_as(source, read))
    weight = sample_weight if isinstance(sample_weight, str) else None
    check_columns(table.names, target, weight, columns)
    whole("rows", rows, least=1)
    whole("max_categories", max_categories, least=0)
    if labels is not None:
        labels = labels_of(labels, len(labels) if table.rows is None else table.rows)
        labels = encode_labels(labels)[0]
    marks = as_na(na)
    if spread and (labels is not None or (sample_weight is not None and weight is None)):
        raise VerosimError(
            "spread=True needs labels and weights in columns of the table; got an array.",
            "Add the array to the table as a column.",
        )
    given = {} if isinstance(columns, str) else dict(columns)
    table.check_looked([n for n in table.names if given.get(n) != IGNORE.name])
    sample = table.spread(rows) if spread else table.head(rows)
    looked = min(sum(map(len, sample)), rows)
    if not looked:
        raise VerosimError(
            "The table has no rows.", "Check the source; a reader can be read only once."
        )
    weights = _weights(sample_weight, table, sample)[:looked]
    counted = np.flatnonzero(weights > 0)  # rows of zero weight are left out
    apart = {*given, target, weight}
    unset = [name for name in table.names if name not in apart]
    numbers = numbers_at_once(sample, unset, table.typed, frozenset(marks), rows)
    single = [name for name in table.names if name not in numbers.place]
    arrays = {name: _column(sample, name, rows) for name in single}
    if len(counted):
        arrays = {name: array.take(counted) for name, array in arrays.items()}
        numbers = numbers.take(counted)
        weights = weights[counted]
        labels = labels if labels is None else labels[:looked][counted]
    target_type = "text"
    labels = labels if labels is None else labels[:looked]
    if target is not None:
        if target not in given:
            target_type = _target_type(arrays[target], table.typed, frozenset(marks))
        try:
            labels = cells.keys(arrays[target], frozenset(marks))[0]
        except cells.Unreadable as error:
            raise error.named(f"The target {target!r}, row {error.row}", LABEL_HINT) from None
    declared = {
        name
        for part in sample
        for name, type_ in part.types.items()
        if name not in numbers.place and _declared(type_, table.coded)
    }
    classes = labels
    if columns == "gaussian":
        labels = None  # they would only choose between Gaussians and histograms
    first = FirstLook(frozenset(marks), table.typed, labels, weights, max_categories, declared)
    entries = {
        name: first.column(name, array, given.get(name))
        for name, array in arrays.items()
        if name not in (target, weight)
    }
    entries |= {
        column.name: column
        for column in first.numbers(list(numbers.place), numbers.types, numbers.X)
    }
    if classes is not None:
        entries |= _giving_label_away(
            entries, arrays, numbers, LabelLeaks(classes, frozenset(marks))
        )
    found = tuple(entries[name] for name in table.names if name in entries)
    schema = Schema(
        found, target, target_type, weight, marks, max_categories, looked, table.native,
        dialect=table.dialect, spread=spread or table.first_by_hash,
    )  # fmt: skip
    if columns == "gaussian" or columns == "histogram":
        schema = schema.edit({c.name: columns for c in schema.used if c.density in NUMBER_KINDS})
    return schema


def _giving_label_away(
    entries: Mapping[str, Column],
    arrays: Mapping[str, pa.Array],
    numbers: FirstNumbers,
    leaks: LabelLeaks,
) -> dict[str, Column]:
    """The entries of columns that give the label away, with a note that states it."""
    names = [name for name, array in arrays.items() if name in entries and leaks.gives_away(array)]
    many = list(numbers.place)
    names += [many[j] for j in columns_that_give_label_away(numbers.X, leaks.labels)]
    return {
        name: replace(entries[name], note=f"{GIVES_LABEL_AWAY} {entries[name].note}".rstrip())
        for name in names
        if entries[name].density != IGNORE.name
    }


def _weights(sample_weight: Any, table: Table, sample: list[Rows]) -> np.ndarray:
    """The weights of at least the first rows; empty if all weights are one."""
    if isinstance(sample_weight, str):
        return np.concatenate([weights_of(sample_weight, part) for part in sample])
    return as_weights(sample_weight, table.rows or np.size(sample_weight))


def _declared(type_: pa.DataType, coded: bool) -> bool:
    """Whether the type of the column is categorical."""
    return pa.types.is_dictionary(type_) and not (coded and cells.is_text(type_))


def check_columns(
    names: tuple[str, ...], target: str | None, weight: str | None, columns: Any
) -> None:
    """Raise an error if a named column is not in the table, or if a kind is unknown."""
    for name, what in ((target, "target"), (weight, "column of weights")):
        if name is not None:
            check_in_table(name, names, what)
    if target is not None and target == weight:
        raise VerosimError(
            f"Column {target!r} cannot be both the target and the weights.",
            "Use two different columns.",
        )
    if isinstance(columns, str) and columns in ("auto", *NUMBER_KINDS):
        return
    if not isinstance(columns, Mapping):
        raise VerosimError(
            f'columns must be "auto", "gaussian", "histogram" or a dict; got {columns!r}.',
            'Use a dict such as columns={"zip": "category"} to set the kind of a column.',
        )
    known = set(names)
    for name, density in columns.items():
        if name not in known:
            raise VerosimError(
                f"Column {name!r} of columns= is not in the table.", near(name, names)
            )
        as_kind(density, name)


def check_same_kinds(schema: Schema, columns: Any) -> None:
    """Raise an error if a given schema reads a column in another way than `columns` wants."""
    for name, density in {} if isinstance(columns, str) else dict(columns).items():
        column = next((c for c in schema if c.name == name), None)
        found = None if column is None else column.density
        values = declared_values(density, name)
        if column is not None and values and column.values != values:
            raise VerosimError(
                f"Column {name!r} does not have the same possible values in the schema and in "
                "columns.",
                f"Use schema.edit({{{name!r}: {list(values)!r}}}), or remove the column from "
                "columns.",
            )
        if found is not None and as_kind(density, name).name != found:
            raise VerosimError(
                f"Column {name!r} is {found} in the schema and {density} in columns.",
                f"Use schema.edit({{{name!r}: {density!r}}}), or remove the column from columns.",
            )


def _column(sample: list[Rows], name: str, rows: int) -> pa.Array:
    chunks = [cells.without_dictionary(part.batch.column(name)) for part in sample]
    types = {chunk.type for chunk in chunks}
    if len(types) > 1:  # slices of a frame of objects may have several types
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
    """The type of the labels in a column: "integer", "boolean" or "text"."""
    return _target_type(_column(table.head(rows), target, rows), table.typed, na)


def _target_type(array: pa.Array, typed: bool, na: frozenset[str]) -> str:
    """The type of labels. A text of a CSV file is a value only if the value prints as that text."""
    kind = cells.kind_of_type(array.type)
    if kind in ("boolean", "number") and not pa.types.is_duration(array.type):
        return "boolean" if kind == "boolean" else "integer"
    if typed:
        return "text"
    texts = {text for text in cells.keys(array, na)[1] if text is not None}  # '1.0' became '1'
    if texts and texts <= {"True", "False"}:
        return "boolean"
    return "integer" if texts and all(_is_integer(text) for text in texts) else "text"


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text and (
        abs(int(text)) < 2**63
    )  # fmt: skip
