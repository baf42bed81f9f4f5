"""Predictions and scores of whole tables, which are read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.bayes.rule import Rule
from verosim.data import as_weights, cells
from verosim.data.label_match import SAME_LABELS_HINT, check_shared
from verosim.data.stream import (
    Chunk,
    TableSource,
    UnreadableLabel,
    kind_of_labels,
    target_codes,
    weights_of,
)
from verosim.data.tables import check_names
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.estimators.checks import empty_table
from verosim.folds.inputs import inputs_of
from verosim.kinds.look import check_columns
from verosim.models import State
from verosim.models.learning import no_weighted_rows
from verosim.models.opening import open_table_to_score


def prediction_reader(
    rule: Rule, classes: np.ndarray, source: TableSource, keep: Any, density: bool = True
) -> Any:
    """An Arrow record-batch reader that predicts each piece when it is read.

    `density` adds the log density of each row.
    """
    import pyarrow as pa

    keep = [keep] if isinstance(keep, str) else list(keep)
    check_columns(source.table.names, None, None, dict.fromkeys(keep, "ignore"))
    names = [*keep, "prediction", *(f"p_{plain_label(label)}" for label in classes)]
    names += ["log_density"] * density
    check_names(names)
    kept = _Keeping(source, keep)
    labels = pa.array(classes.tolist())
    types: dict[str, pa.DataType] = {}

    def predict(chunk: Chunk) -> pa.RecordBatch:
        found: list[np.ndarray] = []  # the log density, if it is wanted
        if density:
            log_posterior, *found = rule.posterior_and_density(chunk.block())
        else:
            log_posterior = rule.log_posterior(chunk.block())
        arrays = [kept_column(chunk, name) for name in keep]
        arrays += [labels.take(pa.array(log_posterior.argmax(axis=1)))]
        arrays += [pa.array(np.ascontiguousarray(p)) for p in np.exp(log_posterior).T]
        arrays += [pa.array(one) for one in found]
        return pa.record_batch(arrays, names=names)

    def kept_column(chunk: Chunk, name: str) -> pa.Array:
        """A kept column, cast to its type in the first piece: pieces of a table may differ."""
        array = cells.without_dictionary(chunk.rows.batch.column(name))
        try:
            return array.cast(types.setdefault(name, array.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise VerosimError(
                f"Column {name!r} has the type {array.type} from {chunk.rows.place(0)} on, and the "
                f"type {types[name]} before.",
                "Keep only columns with one type.",
            ) from None

    batches = map_chunks(predict, kept)
    first = next(batches, None)
    if first is None:
        raise empty_table()

    def all_batches() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


class _Keeping(TableSource):
    """A source that also reads the columns to keep."""

    def __init__(self, source: TableSource, keep: list[str]) -> None:
        super().__init__(source.table, source.reader)
        self.keep = keep

    def wanted(self) -> set[str]:
        return super().wanted() | set(self.keep)


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


def accuracy(rule: Rule, classes: np.ndarray, source: TableSource) -> float:
    """The weighted share of rows with a correct prediction."""
    weight = source.weights if isinstance(source.weights, str) else None
    check_columns(source.table.names, source.target, weight, "auto")
    schema = source.reader.schema
    if schema.target is None:
        kind = kind_of_labels(classes)
        schema = replace(schema, target=source.target, target_type=kind)

    def correct_weight(chunk: Chunk) -> tuple[float, float, list[Any]]:
        codes, labels = target_codes(source.target, chunk.rows, schema)
        weights = weights_of(chunk.weights, chunk.rows)
        right = classes[rule.decide(chunk.block())] == labels[codes]
        weights = weights if len(weights) else np.ones(len(right))
        return float(weights @ right), float(weights.sum()), labels.tolist()

    try:
        sums = list(map_chunks(correct_weight, source))
    except UnreadableLabel as error:
        raise VerosimError(
            f"{error.what} The classes of the model are {classes.tolist()[:5]}.", SAME_LABELS_HINT
        ) from None
    right, total = sum(part[0] for part in sums), sum(part[1] for part in sums)
    if not total > 0:
        raise no_weighted_rows()
    labels = list(dict.fromkeys(label for part in sums for label in part[2]))
    check_shared(labels, labels, classes)
    return right / total


def table_accuracy(
    state: State, X: Any, y: str, sample_weight: Any, rule: Any = None, answers: Any = None
) -> float:
    """The accuracy on a table with a target column, by the rule of the state or another rule."""
    weights = sample_weight
    if weights is not None and not isinstance(weights, str):
        weights = as_weights(weights, np.size(weights))
    source = open_table_to_score(state, X, y, weights)
    rule = state.rule if rule is None else rule
    return accuracy(rule, state.classes if answers is None else answers, source)
