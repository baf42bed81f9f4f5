"""What the user gives becomes a source of rows, their classes and weights.

fit(X, y)               arrays, as in scikit-learn
fit(table, "target")    any table, its columns found by name
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, as_weights, encode_labels
from verosim.data.adapters import array_table, is_source, is_stream, open_table
from verosim.data.labels import encode_counted, labels_of
from verosim.data.names import feature_names
from verosim.data.schema import Schema, for_table, schema_of_arrays
from verosim.data.stream import EncodedLabels, TableSource, check_length, kind_of_labels
from verosim.data.tables import Table
from verosim.errors import VerosimError, listed
from verosim.kinds.look import as_na, check_columns, target_type
from verosim.models.spec import Spec
from verosim.models.state import State
from verosim.stats import Statistic


@dataclass(frozen=True)
class Inputs:
    """What `fit` was given."""

    X: Any
    y: Any = None  # labels, or the name of the target column
    sample_weight: Any = None  # weights, or the name of a column
    schema: Any = None
    na: Any = ()  # texts that mean missing
    ignored: tuple[str, ...] = ()  # columns of a table that no model may learn from


@dataclass(frozen=True)
class Opened:
    """Rows to learn from, the zero statistic they go into and, of a table, its schema."""

    source: ArraySource | TableSource
    plan: Statistic
    schema: Schema | None


def open_rows(
    spec: Spec, inputs: Inputs, state: State | None = None, classes: Any = None
) -> Opened:
    """Open rows to learn from.

    `state` is that of a fitted model, whose classes, codes and schema the rows continue. `classes`
    are declared beforehand.
    """
    if reads_table(spec, inputs.X, inputs.y, inputs.schema, state):
        return _open_table(spec, inputs, state, classes)
    return _open_array(spec, inputs, state, classes)


def reads_table(
    spec: Spec, X: Any, y: Any = None, schema: Any = None, state: State | None = None
) -> bool:
    """Whether X is read as a table, by the names of its columns, or as an array."""
    fitted_on_table = state is not None and state.schema is not None
    return (
        spec.reads_only_tables
        or isinstance(y, str)
        or schema is not None
        or fitted_on_table
        or is_stream(X)
    )


def no_target(spec: Spec) -> VerosimError:
    return VerosimError(
        f"This {spec.name} estimator requires y to be passed, but the target y is None.",
        "fit(X, y), or fit(table, 'name of the target').",
    )


# Arrays ------------------------------------------------------------------------------------------


def _open_array(spec: Spec, inputs: Inputs, state: State | None, classes: Any) -> Opened:
    if inputs.y is None:
        raise no_target(spec)
    if len(as_na(inputs.na)):
        raise VerosimError("na= is for tables: in arrays, NaN and None are missing.")
    names = feature_names(inputs.X)
    rows = spec.matrix(inputs.X, names)
    n, d = rows.shape
    y = labels_of(inputs.y, n)
    weights = as_weights(inputs.sample_weight, n)
    codes, labels = encode_counted(y, weights, None if state is None else state.classes, classes)
    source = ArraySource(rows, codes, weights, raw=spec.reads_values)
    groups = Groups(labels)
    if state is None:
        columns = Columns(d, None if names is None else tuple(names.tolist()))
        return Opened(source, spec.plan(Axes(groups, columns), source), None)
    zero = state.statistic.zero()
    return Opened(source, zero.align(zero.axes.with_groups(groups)), None)


# Tables ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LabelledTable:
    """A table, and where the labels and weights of its rows are."""

    table: Table
    labels: Any  # the name of the target column, or labels that were encoded
    weights: Any  # the name of a column, (n,) weights, or None

    @property
    def target(self) -> str | None:
        return self.labels if isinstance(self.labels, str) else None

    @property
    def weight(self) -> str | None:
        return self.weights if isinstance(self.weights, str) else None


def _open_table(spec: Spec, inputs: Inputs, state: State | None, classes: Any) -> Opened:
    known = None if state is None else state.schema
    named = isinstance(inputs.y, str)
    table = open_table(inputs.X) if named else _as_table(spec, inputs.X, known)
    inputs = _with_named_columns(spec, inputs, table, known)
    _check_inputs(inputs, table, state)
    weights = _weights(inputs.sample_weight, table)
    rows = _LabelledTable(table, _labels(inputs.y, weights, table, state, classes), weights)
    reader = spec.reader(_schema(spec, inputs, rows, state))
    source = TableSource(table, reader, rows.labels, weights)
    declared = Groups(np.empty(0) if classes is None else encode_labels(classes)[1])
    if state is None:
        plan = spec.plan(Axes(declared, reader.columns), source)
        return Opened(source, plan, reader.schema)
    plan = state.statistic.zero()
    if classes is not None:
        plan = plan.align(plan.axes.with_groups(plan.axes.groups.union(declared)))
    return Opened(source, plan, known)


def _as_table(spec: Spec, X: Any, known: Schema | None) -> Table:
    """X as a table; an array has the columns of the model, in order."""
    if is_source(X):
        return open_table(X)
    rows = spec.value_matrix(X)
    names = None
    if known is not None:
        names = known.names if known.target is None else tuple(c.name for c in known.used)
    if names is not None and len(names) != rows.shape[1]:
        raise VerosimError(
            f"X has {rows.shape[1]} features, but {spec.name} is expecting {len(names)} features "
            "as input.",
            "give the same columns as at fit, or a table with their names.",
        )
    return array_table(rows, names)


def _with_named_columns(spec: Spec, inputs: Inputs, table: Table, known: Schema | None) -> Inputs:
    """The target and the weights, where a schema names them and the call does not."""
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


def _check_inputs(inputs: Inputs, table: Table, state: State | None) -> None:
    target = inputs.y if isinstance(inputs.y, str) else None
    weight = inputs.sample_weight if isinstance(inputs.sample_weight, str) else None
    if state is not None:
        _check_continues(inputs, target, state.schema)
    elif inputs.schema is not None and len(as_na(inputs.na)):
        raise VerosimError("na= and schema= are both given.", "look(…, na=…) puts it there.")
    check_columns(table.names, target, weight, "auto")


def _check_continues(inputs: Inputs, target: str | None, known: Schema | None) -> None:
    """Rows that are added or forgotten are read as the first ones were."""
    if known is None:
        raise VerosimError(
            "This model was fitted on arrays, and these rows come as a table.",
            "give arrays, partial_fit(X, y), or fit on tables from the start.",
        )
    if inputs.schema is not None:
        known.check_merges(inputs.schema)
    if len(as_na(inputs.na)) and set(as_na(inputs.na)) != set(known.na):
        raise VerosimError(
            f"na={list(as_na(inputs.na))}, and the model was fitted with {list(known.na)}.",
            "what means missing is settled by the first fit.",
        )
    if target in [column.name for column in known.used]:
        raise VerosimError(
            f"{target!r} is a column the model learns from, so it cannot be its target.",
            f"the target was {known.target!r}.",
        )


def _weights(sample_weight: Any, table: Table) -> Any:
    """The name of the column of weights, (n,) weights, or None."""
    if sample_weight is None or isinstance(sample_weight, str):
        return sample_weight
    return as_weights(sample_weight, table.rows or np.size(sample_weight))


def _labels(y: Any, weights: Any, table: Table, state: State | None, classes: Any) -> Any:
    """The name of the target column, or the labels given beside the table, encoded."""
    if isinstance(y, str):
        return y
    if table.rows is not None:
        check_length(len(y), table.rows, "labels")
    given = weights if isinstance(weights, np.ndarray) else np.empty(0)
    known = None if state is None else state.classes
    return EncodedLabels(*encode_counted(y, given, known, classes))


def _schema(spec: Spec, inputs: Inputs, rows: _LabelledTable, state: State | None) -> Schema:
    """The schema given or known, checked against the table; else a first look at it."""
    given = inputs.schema if state is None else state.schema
    table, target = rows.table, rows.target
    if given is None:
        schema = spec.look(
            table, target, sample_weight=rows.weights, na=inputs.na,
            labels=None if target else rows.labels.codes,
        )  # fmt: skip
    else:
        schema = for_table(given, table.names, target, rows.weight)
        if target is not None and target != given.target:
            kind = target_type(table, target, frozenset(schema.na))
            kind = kind if state is None else kind_of_labels(state.classes)
            schema = replace(schema, target_type=kind)
    schema = schema.edit({name: "ignore" for name in inputs.ignored if name in schema.names})
    if target is None and state is None:  # fit(X, y): scikit-learn's rules for names hold
        schema = replace(schema, named=feature_names(inputs.X) is not None)
    return schema


# Rows to score -----------------------------------------------------------------------------------


def open_to_score(state: State, X: Any) -> Any:
    """Rows to predict: an array, or a source that streams."""
    if reads_table(state.spec, X, state=state):
        return open_table_to_score(state, X)
    return state.spec.matrix(X, state.statistic.axes.columns.names)


def open_table_to_score(
    state: State, X: Any, target: Any = None, weights: Any = None
) -> TableSource:
    """A table to predict, read by the names the model knows."""
    spec, schema = state.spec, state.schema
    table = _as_table(spec, X, schema)
    if schema is None:  # fitted on arrays: the names it has, or the columns in their order
        reader = spec.reader_of_arrays(schema_of_arrays(state.statistic.axes.columns, table.names))
    else:
        reader = spec.reader(schema)
    if not any(name in table.names for name in reader.names):
        raise VerosimError(
            "The table has none of the columns the model was fitted on: "
            f"{listed(list(reader.names))}.",
            "check the names: case, dots and spaces count.",
        )
    return TableSource(table, reader, target, weights)
