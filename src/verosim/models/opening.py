"""The arguments of `fit` become a source of rows with classes and weights.

    fit(X, y)               arrays, as in scikit-learn
    fit(table, "target")    any table; its columns are found by name

Labels and weights are arrays, or names of columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Axes, Columns, Groups
from verosim.data import as_weights, encode_labels
from verosim.data.adapters import array_table, is_source, is_stream, open_table
from verosim.data.labels import encode_counted, labels_of
from verosim.data.names import feature_names
from verosim.data.schema import Schema, for_table, schema_of_arrays
from verosim.data.source import RowSource
from verosim.data.sources import Parts, rows_in_memory, unlabelled
from verosim.data.stream import EncodedLabels, check_length, kind_of_labels, rows_of_table
from verosim.data.tables import BATCH_ROWS, NumberRows, Table
from verosim.errors import VerosimError
from verosim.kinds.leaks import GIVES_LABEL_AWAY, columns_that_give_label_away, warn_of_leaks
from verosim.kinds.missing_marks import as_na
from verosim.linalg import one_blas_thread
from verosim.models.spec import LabelledTable, Spec
from verosim.models.state import State
from verosim.stats import Statistic

if TYPE_CHECKING:
    from verosim.data.readers import Reader


@dataclass(frozen=True)
class Inputs:
    """The arguments of `fit`."""

    X: Any
    y: Any = None  # labels, or the name of the target column
    sample_weight: Any = None  # weights, or the name of a column
    schema: Any = None
    na: Any = ()  # texts that mean "missing"
    ignored: tuple[str, ...] = ()  # columns of a table that are not used for learning


@dataclass(frozen=True)
class Opened:
    """Rows to learn from, the zero statistic, and the schema if the rows are a table."""

    source: RowSource
    plan: Statistic
    schema: Schema | None


def open_rows(
    spec: Spec, inputs: Inputs, state: State | None = None, classes: Any = None
) -> Opened:
    """Open rows to learn from.

    If `state` is given, its classes, codes and schema are used. `classes` are labels that may
    appear later.
    """
    is_table = reads_table(spec, inputs.X, inputs.y, inputs.schema, state)
    opener = _table_source if is_table else _array_source
    source, axes, schema = opener(spec, inputs, state, classes)
    if state is None:
        return Opened(source, spec.plan(axes, source), schema)
    plan, known = state.statistic.zero(), state.statistic.axes.groups
    every = known.union(axes.groups)
    if every is not known:
        plan = plan.align(plan.axes.with_groups(every))
    return Opened(source, plan, schema)


def reads_table(
    spec: Spec, X: Any, y: Any = None, schema: Any = None, state: State | None = None
) -> bool:
    """Whether X is read as a table, with columns found by name, or as an array."""
    if isinstance(X, Parts):  # rows that were read already
        return False
    fitted_on_table = state is not None and state.schema is not None
    return (
        spec.reads_only_tables
        or isinstance(y, str)
        or schema is not None
        or fitted_on_table
        or is_stream(X)
    )


def array_with_marks() -> VerosimError:
    """The error for texts that mean missing, next to an array."""
    return VerosimError(
        "na is only for tables, but X is an array (NaN and None are missing there).",
        "Remove na, and use NaN or None for missing values.",
    )


def no_target(spec: Spec) -> VerosimError:
    """The error for a fit without labels."""
    return VerosimError(
        f"This {spec.name} estimator requires y to be passed, but the target y is None.",
        "Use fit(X, y), or fit(table, 'name of the target').",
    )


# Arrays ------------------------------------------------------------------------------------------


def _array_source(
    spec: Spec, inputs: Inputs, state: State | None, classes: Any
) -> tuple[RowSource, Axes, None]:
    if inputs.y is None:
        raise no_target(spec)
    if len(as_na(inputs.na)):
        raise array_with_marks()
    names = feature_names(inputs.X)
    rows = spec.matrix(inputs.X, names)
    n, d = rows.shape
    y = labels_of(inputs.y, n)
    weights = as_weights(inputs.sample_weight, n)
    codes, labels = encode_counted(y, weights, None if state is None else state.classes, classes)
    columns = Columns(d, None if names is None else tuple(names.tolist()))
    if state is None and not len(weights):
        found = columns_that_give_label_away(rows, codes)
        warn_of_leaks([columns.name(j) for j in found])
    source = rows_in_memory(rows, codes, weights, raw=spec.reads_values, labels=labels)
    return source, Axes(Groups(labels), columns), None


# Tables ------------------------------------------------------------------------------------------


def _table_source(
    spec: Spec, inputs: Inputs, state: State | None, classes: Any
) -> tuple[RowSource, Axes, Schema | None]:
    known = None if state is None else state.schema
    named = isinstance(inputs.y, str)
    table = open_table(inputs.X) if named else _as_table(spec, inputs.X, known)
    inputs = _with_named_columns(spec, inputs, table, known)
    _check_inputs(spec, inputs, table, state)
    weights = _weights(inputs.sample_weight, table)
    rows = LabelledTable(table, _labels(inputs.y, weights, table, state, classes), weights)
    reader, schema = _reader(spec, inputs, rows, state)
    source = rows_of_table(table, reader, rows.labels, weights, ready=tuple(rows.ready))
    groups = Groups(np.empty(0) if state is None else state.classes)
    if isinstance(rows.labels, EncodedLabels):
        groups = groups.union(Groups(rows.labels.labels))
    if classes is not None:
        groups = groups.union(Groups(encode_labels(classes)[1]))
    columns = reader.columns
    if schema is None:
        columns = Columns(len(reader.names)) if state is None else state.statistic.axes.columns
    return source, Axes(groups, columns), schema


def _as_table(spec: Spec, X: Any, known: Schema | None) -> Table:
    """X as a table. The columns of an array get the names of the model, in order."""
    if is_source(X):
        return open_table(X)
    rows = spec.value_matrix(X)
    return array_table(rows, None if known is None else _names_of_array(spec, rows, known))


def _names_of_array(spec: Spec, rows: np.ndarray, known: Schema) -> tuple[str, ...]:
    """The names of the columns of an array: those of the model, in order."""
    names = known.names if known.target is None else known.used_names
    if len(names) != rows.shape[1]:
        raise wrong_width(spec, rows.shape[1], len(names))
    return names


def wrong_width(spec: Spec, given: int, wanted: int) -> VerosimError:
    """The error for an array with another number of columns than at fit."""
    return VerosimError(
        f"X has {given} features, but {spec.name} is expecting {wanted} features as input.",
        "Give the same columns as at fit, or a table with their names.",
    )


def _with_named_columns(spec: Spec, inputs: Inputs, table: Table, known: Schema | None) -> Inputs:
    """The inputs with the target and the weights that the schema names."""
    y = inputs.y
    for schema in (inputs.schema, known):
        y = schema.target if y is None and isinstance(schema, Schema) else y
    if y is None:
        raise no_target(spec)
    weight = inputs.sample_weight
    given = inputs.schema if inputs.schema is not None else known
    if weight is None and isinstance(given, Schema) and isinstance(y, str):
        weight = given.weight if given.weight in table.names else None
    return replace(inputs, y=y, sample_weight=weight)


def _check_inputs(spec: Spec, inputs: Inputs, table: Table, state: State | None) -> None:
    """Check the names of columns, the schema and the marks of missing values."""
    if table.array is not None:
        _check_array_there(spec, inputs, table, None if state is None else state.schema)
        return
    target = inputs.y if isinstance(inputs.y, str) else None
    weight = inputs.sample_weight if isinstance(inputs.sample_weight, str) else None
    if state is not None:
        _check_continues(inputs, target, state.schema)
    elif inputs.schema is not None and len(as_na(inputs.na)):
        raise VerosimError(
            "The arguments na and schema cannot be used together.",
            "Use verosim.look(…, na=…) to create the schema.",
        )
    from verosim.kinds.look import check_columns  # a model of arrays does not need it

    check_columns(table.names, target, weight, "auto")


def _check_array_there(spec: Spec, inputs: Inputs, table: Table, known: Schema | None) -> None:
    """Check that a model can read an array on a cluster: by the numbers of its columns."""
    named = known is not None and (known.named or known.target is not None)
    if spec.reads_texts or named or inputs.schema is not None:
        raise VerosimError(
            f"{spec.name} cannot read arrays of {table.place} here.",
            "Give a data frame with named columns and the name of its target.",
        )
    if len(as_na(inputs.na)):
        raise array_with_marks()


def _check_continues(inputs: Inputs, target: str | None, known: Schema | None) -> None:
    """Check that added or forgotten rows are read in the same way as the first rows."""
    if known is None:
        raise VerosimError(
            "This model was fitted on arrays, but these rows are a table.",
            "Give arrays, or fit a new model on tables.",
        )
    if isinstance(inputs.schema, Schema):  # it may list the target and the weights as columns
        apart = (known.target, known.weight)
        columns = tuple(c for c in inputs.schema.columns if c.name not in apart)
        known.check_merges(replace(inputs.schema, columns=columns))
    if len(as_na(inputs.na)) and set(as_na(inputs.na)) != set(known.na):
        raise VerosimError(
            f"na={list(as_na(inputs.na))} differs from na={list(known.na)} of the first fit.",
            "Use the same na as in the first fit, or leave it out.",
        )
    if target in [column.name for column in known.used]:
        raise VerosimError(
            f"{target!r} is a column that the model learns from, so it cannot be the target.",
            f"Use the target of the first fit, {known.target!r}.",
        )


def _weights(sample_weight: Any, table: Table) -> Any:
    """The name of the column of weights, or (n,) weights, or None."""
    if sample_weight is None or isinstance(sample_weight, str):
        return sample_weight
    return as_weights(sample_weight, table.rows or np.size(sample_weight))


def _labels(y: Any, weights: Any, table: Table, state: State | None, classes: Any) -> Any:
    """The name of the target column, or the encoded labels of an array."""
    if isinstance(y, str):
        return y
    if table.rows is not None:
        check_length(len(y), table.rows, "labels")
    given = weights if isinstance(weights, np.ndarray) else np.empty(0)
    known = None if state is None else state.classes
    return EncodedLabels(*encode_counted(y, given, known, classes))


def _reader(
    spec: Spec, inputs: Inputs, rows: LabelledTable, state: State | None
) -> tuple[Reader, Schema | None]:
    """The reader of a table, and the schema that the model keeps; none if it reads arrays."""
    array = rows.table.array
    if array is None:
        reader = spec.reader(_schema(spec, inputs, rows, state))
        return reader, reader.schema if state is None else state.schema
    known = None if state is None else state.schema
    there: Any = {"target": array.target, "target_type": array.target_type, "weight": array.weight}
    if state is not None:
        width = len(state.statistic.axes.columns) if known is None else len(known.names)
        if width != len(array.names):
            raise wrong_width(spec, len(array.names), width)
    if not spec.reads_only_tables and known is None:
        schema = schema_of_arrays(Columns(len(array.names)), array.names)
        return spec.reader_of_arrays(replace(schema, **there)), None
    if known is not None:
        return spec.reader(replace(known, **there)), known
    reader = spec.reader(_schema(spec, inputs, rows, state))
    return reader, replace(
        reader.schema, target=None, target_type="text", weight=None, named=False, native="array"
    )


@one_blas_thread  # the products are small: more threads would cost more than they save
def _schema(spec: Spec, inputs: Inputs, rows: LabelledTable, state: State | None) -> Schema:
    """The given or known schema, checked against the table, or else a first look at the table."""
    given = inputs.schema if state is None else state.schema
    table, target = rows.table, rows.target
    if given is None:
        schema = spec.look(
            table, target, sample_weight=rows.weights, na=inputs.na,
            labels=None if target else rows.labels.codes,
        )  # fmt: skip
        warn_of_leaks([c.name for c in schema if c.note.startswith(GIVES_LABEL_AWAY)])
    else:
        schema = for_table(given, table.names, target, rows.weight)
        if target is not None and target != given.target:
            from verosim.kinds.look import target_type

            kind = target_type(table, target, frozenset(schema.na))
            kind = kind if state is None else kind_of_labels(state.classes)
            schema = replace(schema, target_type=kind)
    schema = schema.edit({name: "ignore" for name in inputs.ignored if name in schema.names})
    if target is None and state is None:  # fit(X, y): column names as in scikit-learn
        schema = replace(schema, named=feature_names(inputs.X) is not None)
    return schema if state is not None else spec.settled(schema, rows)


# Rows to score -----------------------------------------------------------------------------------


def open_to_score(state: State, X: Any) -> RowSource:
    """Rows to predict."""
    if reads_table(state.spec, X, state=state):
        return open_table_to_score(state, X)
    return unlabelled(state.spec.matrix(X, state.statistic.axes.columns.names))


def read_by_state(state: State, source: RowSource) -> RowSource:
    """The rows of a source as another fitted model reads them. Nothing watches their values."""
    if source.reader is None:
        return source
    found = open_table_to_score(state, source.table, source.target, source.weights)
    found.reader.watched(None)  # a value that is in one fold only is not a mistake
    return found


def few_numbers_to_score(state: State, X: Any) -> RowSource | None:
    """The rows of an array as a model of tables reads them, if all are numbers and few.

    They are scored at once, without the steps that read a table in pieces.
    """
    schema = state.schema
    if schema is None or type(X) is not np.ndarray or X.dtype.kind not in "iuf":
        return None
    reader = state.reader
    if len(X) > BATCH_ROWS or not reader.reads_only_numbers:
        return None
    rows = state.spec.value_matrix(X)
    return unlabelled(reader.block(NumberRows(rows, _names_of_array(state.spec, rows, schema), 0)))


def open_table_to_score(state: State, X: Any, target: Any = None, weights: Any = None) -> RowSource:
    """A table to predict. Its columns are found by the names of the fit."""
    spec, schema = state.spec, state.schema
    table = _as_table(spec, X, schema)
    if schema is None:  # fitted on arrays: use the names of the fit, or the order of the columns
        names = table.names if table.array is None else table.array.names
        schema = schema_of_arrays(state.statistic.axes.columns, names)
        reader = spec.reader_of_arrays(_with_marks_of(table, schema))
    else:
        given = target if isinstance(target, str) else None
        reader = spec.reader(_with_marks_of(table, schema))
        known = (*schema.names, schema.target, schema.weight, given)
        from verosim.models.absent_columns import check_present  # arrays do not need them
        from verosim.models.unseen_values import UnseenValues

        check_present(spec, table, reader.names, known)
        reader = reader.watched(UnseenValues(state))
    return rows_of_table(table, reader, target, weights)


def _with_marks_of(table: Table, schema: Schema) -> Schema:
    return replace(schema, na=(*schema.na, *table.na)) if table.na else schema


def with_marks(X: Any, na: Any) -> Any:
    """The rows to predict, with texts that mean missing in addition to those of the fit."""
    marks = as_na(na)
    if not marks:
        return X
    if not is_source(X):
        raise array_with_marks()
    table = open_table(X)
    return replace(table, na=(*table.na, *marks))
