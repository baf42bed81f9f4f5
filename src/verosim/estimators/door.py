"""The door: what the user gives becomes a source of rows, their classes and weights.

fit(X, y)               arrays, as in scikit-learn
fit(table, "target")    any table, its columns found by name
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes import Axes, Categories, Columns, Groups, Words
from verosim.bayes.rule import Rule
from verosim.data import ArraySource, as_matrix, as_weights, encode_labels
from verosim.data.adapters import array_table, is_source, open_table, streams
from verosim.data.look import as_na, check_columns, look, target_type
from verosim.data.readers import NumberReader, Reader, ValueReader, WordReader
from verosim.data.schema import Schema, for_table, schema_of_arrays
from verosim.data.stream import Labels, TableSource, check_length, kind_of_labels
from verosim.data.tables import Table
from verosim.engines import summarise
from verosim.errors import VerosimError, listed
from verosim.estimators.arrays import (
    check_features,
    encode_counted,
    feature_names,
    labels_of,
    one_column,
)
from verosim.estimators.fitted import Fitted
from verosim.stats import Counts, Statistic


class Door(Fitted):
    """Rows in, to be learnt or to be judged."""

    # How tables are read -------------------------------------------------------------------

    def _reader(self, schema: Schema) -> Reader:
        """How rows of a table are read."""
        return WordReader(schema) if self._values else NumberReader(schema, type(self).__name__)

    def _look(self, table: Table, target: str | None, **given: Any) -> Schema:
        """The first look at a table, where no schema was given."""
        return look(table, target, **given)

    # Rows to learn from ----------------------------------------------------------------------

    def _summarise(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Statistic | None = None,
        declared: Any = None,
        schema: Any = None,
        na: Any = (),
    ) -> tuple[Statistic, Schema | None]:
        """The statistic of the rows and, where they came as a table, its schema."""
        source, plan, found = self._opened(X, y, sample_weight, known, declared, schema, na)
        statistic = summarise(self._screened(source, plan.axes.groups), plan)
        if not statistic.rows.any():
            raise VerosimError("The table has no rows that count.", "is it the right one?")
        return statistic, found

    def _opened(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Statistic | None = None,
        declared: Any = None,
        schema: Any = None,
        na: Any = (),
        aside: Sequence[str] = (),
    ) -> tuple[ArraySource | TableSource, Statistic, Schema | None]:
        """The rows to learn from, the zero statistic they go into and, of a table, its schema.

        Columns of a table that are set `aside` are not learnt from.
        """
        if self._by_table(X, y, schema):
            return self._opened_table(X, y, sample_weight, known, declared, schema, na, aside)
        if y is None:
            raise self._no_target()
        if len(as_na(na)):
            raise VerosimError("na= is for tables: in arrays, NaN and None are missing.")
        names = feature_names(X)
        rows = self._matrix(X, names)
        n, d = rows.shape
        y = labels_of(y, n)
        weights = as_weights(sample_weight, n)
        classes = None if known is None else known.axes.groups.classes
        codes, labels = encode_counted(y, weights, classes, declared)
        columns = known.axes.columns if known is not None else Columns(
            d, None if names is None else tuple(names.tolist())
        )  # fmt: skip
        if known is None:
            plan = self._plan(Axes(Groups(labels), columns), rows, weights)
        else:
            plan = known.zero()
            plan = plan.align(plan.axes.with_groups(Groups(labels)))
        return ArraySource(rows, codes, weights, raw=self._values), plan, None

    def _screened(
        self, source: ArraySource | TableSource, groups: Groups
    ) -> ArraySource | TableSource:
        """The rows that count: all, unless a model says otherwise."""
        return source

    def _no_target(self) -> VerosimError:
        return VerosimError(
            f"This {type(self).__name__} estimator requires y to be passed, but the target y "
            "is None.",
            "fit(X, y), or fit(table, 'name of the target').",
        )

    def _by_table(self, X: Any, y: Any = None, schema: Any = None) -> bool:
        """Whether X is read as a table, by the names of its columns, or as an array."""
        return isinstance(y, str) or schema is not None or self._schema is not None or streams(X)

    def _table(self, X: Any) -> Table:
        """X as a table; an array has the columns of the model, in order."""
        if is_source(X):
            return open_table(X)
        rows = self._matrix_of_values(X)
        known = self._schema
        names = None if known is None or known.target is not None else known.names
        if names is None and known is not None:
            names = tuple(column.name for column in known.used)
        if names is not None and len(names) != rows.shape[1]:
            raise VerosimError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(names)} features as input.",
                "give the same columns as at fit, or a table with their names.",
            )
        return array_table(rows, names)

    def _matrix_of_values(self, X: Any) -> np.ndarray:
        rows = as_matrix(X, values=True)
        assert isinstance(rows, np.ndarray)
        return rows

    def _opened_table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Statistic | None,
        declared: Any,
        schema: Any,
        na: Any,
        aside: Sequence[str] = (),
    ) -> tuple[TableSource, Statistic, Schema]:
        table = open_table(X) if isinstance(y, str) else self._table(X)
        y = schema.target if y is None and schema is not None else y
        y = self._schema.target if y is None and self._schema is not None else y
        if y is None:
            raise self._no_target()
        target = y if isinstance(y, str) else None
        if sample_weight is None:  # the schema may name the weights, as it does the target
            given = schema if schema is not None else self._schema
            named = given.weight if isinstance(given, Schema) else None
            sample_weight = named if named in table.names and target is not None else None
        weight = sample_weight if isinstance(sample_weight, str) else None
        if known is not None:
            if self._schema is None:
                raise VerosimError(
                    "This model was fitted on arrays, and these rows come as a table.",
                    "give arrays, partial_fit(X, y), or fit on tables from the start.",
                )
            if schema is not None:
                self._schema.check_merges(schema)
            schema = self._schema
            if len(as_na(na)) and set(as_na(na)) != set(schema.na):
                raise VerosimError(
                    f"na={list(as_na(na))}, and the model was fitted with {list(schema.na)}.",
                    "what means missing is settled by the first fit.",
                )
            if target in [column.name for column in schema.used]:
                raise VerosimError(
                    f"{target!r} is a column the model learns from, so it cannot be its target.",
                    f"the target was {schema.target!r}.",
                )
        elif schema is not None and len(as_na(na)):
            raise VerosimError("na= and schema= are both given.", "look(…, na=…) puts it there.")
        check_columns(table.names, target, weight, "auto")
        weights: Any = weight
        if weight is None and sample_weight is not None:
            weights = as_weights(sample_weight, table.rows or np.size(sample_weight))
        labels: Any = target
        if target is None:
            y = one_column(y)
            if table.rows is not None:
                check_length(len(y), table.rows, "labels")
            given = weights if isinstance(weights, np.ndarray) else np.empty(0)
            classes = None if known is None else known.axes.groups.classes
            labels = Labels(*encode_counted(y, given, classes, declared))
        if schema is None:
            schema = self._look(
                table, target, weight=weight, na=na,
                labels=None if target else labels.codes,
                weights=weights if isinstance(weights, np.ndarray) else None,
            )  # fmt: skip
        else:
            looked_at = schema.target if isinstance(schema, Schema) else None
            schema = for_table(schema, table.names, target, weight)
            if target is not None and target != looked_at:
                kind = target_type(table, target, frozenset(schema.na))
                kind = kind if known is None else kind_of_labels(known.axes.groups.classes)
                schema = replace(schema, target_type=kind)
        schema = schema.edit({name: "ignore" for name in aside if name in schema.names})
        if target is None and known is None:  # by scikit-learn's door, whose rules for names hold
            schema = replace(schema, named=feature_names(X) is not None)
        reader = self._reader(schema)
        schema = reader.schema
        source = TableSource(table, reader, labels, weights)
        groups = Groups(np.empty(0)) if declared is None else Groups(encode_labels(declared)[1])
        if known is None:
            names = reader.columns
            plan = self._plan_table(Axes(groups, names), table, source)
        else:
            plan = known.zero()
            if declared is not None:
                plan = plan.align(plan.axes.with_groups(plan.axes.groups.union(groups)))
        return source, plan, schema if self._schema is None or known is None else self._schema

    def _plan_table(self, axes: Axes, table: Table, source: TableSource) -> Statistic:
        """The zero statistic for a table, of which `source` can give the first rows."""
        if self._values:
            cap = source.reader.schema.max_categories
            frequent = tuple(column.frequent for column in source.reader.schema.used)
            codes = Words.none_yet((cap,) * len(frequent), frequent)
            return Counts(axes.with_codes(codes), what="codes")
        return self._plan(axes, None, np.empty(0))

    # Rows to judge -----------------------------------------------------------------------------

    def _ready(self, X: Any) -> tuple[Rule, Any]:
        """The rule and the rows it is to judge: an array, or a source that streams."""
        self._current()
        self._check_columns(X)
        if self._by_table(X):
            return self._rule, self._source(X)
        return self._rule, self._matrix(X, self.stats_.axes.columns.names)

    def _source(self, X: Any, target: Any = None, weights: Any = None) -> TableSource:
        """A table to predict, read by the names the model knows."""
        table = self._table(X)
        schema = self._schema
        if schema is None:  # fitted on arrays: the names it has, or the columns in their order
            schema = schema_of_arrays(self.stats_.axes.columns, table.names)
        by_value = self._schema is None and isinstance(self.stats_.axes.codes, Categories)
        reader: Reader = ValueReader(schema) if by_value else self._reader(schema)
        if not any(name in table.names for name in reader.names):
            raise VerosimError(
                "The table has none of the columns the model was fitted on: "
                f"{listed(list(reader.names))}.",
                "check the names: case, dots and spaces count.",
            )
        return TableSource(table, reader, target, weights)

    def _matrix(self, X: Any, names: Any) -> Any:
        return as_matrix(X, sparse_allowed=self._sparse, values=self._values, names=names)

    def _check_columns(self, X: Any) -> None:
        if (self._schema is not None and self._schema.target is not None) or streams(X):
            return  # a table's columns are found by name
        check_features(self, X)
