"""Predictions and scores of whole tables, which are read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from verosim import engines, kernels
from verosim.axes.groups import label_text
from verosim.bayes.rule import Rule
from verosim.data import as_weights, cells
from verosim.data.label_match import SAME_LABELS_HINT, are_equal, check_shared, codes_of_target
from verosim.data.libraries import pa
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.data.stream import (
    TableChunk,
    UnreadableLabel,
    kind_of_labels,
    rows_of_table,
)
from verosim.data.tables import check_names
from verosim.data.visits import Visit
from verosim.errors import VerosimError
from verosim.estimators.checks import empty_table
from verosim.folds.inputs import inputs_of
from verosim.models import State
from verosim.models.learning import no_weighted_rows
from verosim.models.opening import open_table_to_score


def prediction_reader(
    rule: Rule, classes: np.ndarray, source: RowSource, keep: Any, density: bool = True
) -> Any:
    """An Arrow record-batch reader that predicts each piece when it is read.

    `density` adds the log density of each row. Of rows on a cluster it is a lazy frame there.
    """
    keep = [keep] if isinstance(keep, str) else list(keep)
    from verosim.kinds.look import check_columns

    check_columns(source.table.names, None, None, dict.fromkeys(keep, "ignore"))
    names = [*keep, "prediction", *(f"p_{label_text(label)}" for label in classes)]
    names += ["log_density"] * density
    check_names(names)
    kept = rows_of_table(source.table, source.reader, keep=tuple(keep))
    predict = _Predicting(rule, classes, tuple(keep), tuple(names), density)
    there = engines.map_there(kept, predict, predict.schema)
    if there is not None:
        return there
    batches = engines.map(kept, predict)
    first = next(batches, None)
    if first is None:
        raise empty_table()

    def all_batches() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


@dataclass(frozen=True)
class _Predicting:
    """Predicts a chunk of a table as a record batch."""

    rule: Rule
    classes: np.ndarray  # (C,)
    keep: tuple[str, ...]
    names: tuple[str, ...]  # of the columns of the result
    density: bool
    types: dict[str, pa.DataType] = field(default_factory=dict)  # of the kept columns

    def __call__(self, chunk: TableChunk) -> pa.RecordBatch:
        found: list[np.ndarray] = []  # the log density, if it is wanted
        if self.density:
            log_posterior, *found = self.rule.posterior_and_density(chunk.block())
            posterior = np.exp(log_posterior)
        else:
            posterior = self.rule.posterior(chunk.block())
        arrays = [self._kept(chunk, name) for name in self.keep]
        arrays += [self._labels().take(pa.array(kernels.first_largest(posterior)))]
        arrays += [pa.array(np.ascontiguousarray(p)) for p in posterior.T]
        arrays += [pa.array(one) for one in found]
        return pa.record_batch(arrays, names=list(self.names))

    def _labels(self) -> pa.Array:
        return cells.label_column(self.classes.tolist())

    def _kept(self, chunk: TableChunk, name: str) -> pa.Array:
        """A kept column, cast to its type in the first piece: pieces of a table may differ."""
        array = cells.without_dictionary(chunk.rows.batch.column(name))
        try:
            return array.cast(self.types.setdefault(name, array.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise VerosimError(
                f"Column {name!r} has the type {array.type} from {chunk.rows.place(0)} on, and the "
                f"type {self.types[name]} before.",
                "Keep only columns with one type.",
            ) from None

    def schema(self, table: pa.Schema) -> pa.Schema:
        """The names and types of the result, from those of the table."""
        found = {field.name: field.type for field in table}
        self.types.update((name, cells.type_of_values(found[name])) for name in self.keep)
        numbers = len(self.names) - len(self.keep) - 1
        types = [*(self.types[name] for name in self.keep), self._labels().type]
        types += [pa.float64()] * numbers
        return pa.schema(list(zip(self.names, types, strict=True)))


def predicted_table(state: State, source: Any, keep: Any) -> Any:
    """The predictions of a table by a fitted state, as `prediction_reader` gives them."""
    opened = open_table_to_score(state, source)
    return prediction_reader(state.rule, state.classes, opened, keep, state.spec.is_density)


def known_target(state: State, y: Any) -> Any:
    """y, or the target column of the fit if y is None."""
    if y is not None:
        return y
    if state.schema is None or state.schema.target is None:
        raise VerosimError(
            "The true labels y are needed, because the model was fitted without the name of a "
            "target column.",
            "Use score(X, y), or score(table, 'name of the target').",
        )
    return state.schema.target


def rows_to_score(
    state: State, X: Any, y: Any, sample_weight: Any, unlabelled: str
) -> tuple[Any, Any, Any]:
    """The rows, labels and weights of `score`, without the rows that have no label if asked."""
    y = known_target(state, y)
    if unlabelled == "error":
        return X, y, sample_weight
    found = inputs_of(X, y, sample_weight, unlabelled=unlabelled, known=state.schema)
    return found.X, found.y, found.sample_weight


def accuracy(rule: Rule, classes: np.ndarray, source: RowSource) -> float:
    """The weighted share of rows with a correct prediction."""
    weight = source.weights if isinstance(source.weights, str) else None
    from verosim.kinds.look import check_columns

    check_columns(source.table.names, source.target, weight, "auto")
    schema = source.reader.schema
    if schema.target is None:
        kind = kind_of_labels(classes)
        schema = replace(schema, target=source.target, target_type=kind)

    try:
        right, total, labels = engines.reduce(source, _Hits(rule, classes, schema))
    except UnreadableLabel as error:
        raise VerosimError(
            f"{error.what} The classes of the model are {classes.tolist()[:5]}.", SAME_LABELS_HINT
        ) from None
    if not total > 0:
        raise no_weighted_rows()
    check_shared(labels, labels, classes)
    return right / total


@dataclass
class _Hits(Visit):
    """The weight of the rows with a correct prediction, the weight of all rows, and the labels."""

    rule: Rule
    classes: np.ndarray  # (C,)
    schema: Schema

    def nothing(self) -> tuple[float, float, list[Any]]:
        return 0.0, 0.0, []

    def absorb(self, chunk: TableChunk) -> None:
        codes, labels = codes_of_target(chunk.target, chunk.rows, self.schema, self.classes)
        weights = chunk.row_weights()
        right = are_equal(self.classes[self.rule.decide(chunk.block())], labels[codes])
        weights = weights if len(weights) else np.ones(len(right))
        self._add(float(weights @ right), float(weights.sum()), labels.tolist())

    def _add(self, right: float, total: float, labels: list[Any]) -> None:
        known = list(dict.fromkeys([*self.found[2], *labels]))
        self.found = self.found[0] + right, self.found[1] + total, known

    def merge(self, other: Self) -> None:
        self._add(*other.found)


def table_accuracy(
    state: State, X: Any, y: str, sample_weight: Any, rule: Any = None, answers: Any = None
) -> float:
    """The accuracy on a table with a target column, by the rule of the state or another rule."""
    weights = sample_weight
    if weights is not None and not isinstance(weights, str):
        weights = as_weights(weights, None)
    source = open_table_to_score(state, X, y, weights)
    rule = state.rule if rule is None else rule
    return accuracy(rule, state.classes if answers is None else answers, source)
