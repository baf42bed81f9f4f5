"""Whole tables predicted and scored, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.bayes.rule import Rule
from verosim.data import cells
from verosim.data.stream import Chunk, TableSource, kind_of_labels, target_codes, weights_of
from verosim.data.tables import check_names
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.kinds.look import check_columns


def prediction_reader(rule: Rule, classes: np.ndarray, source: TableSource, keep: Any) -> Any:
    """An Arrow record-batch reader of predictions."""
    import pyarrow as pa

    keep = [keep] if isinstance(keep, str) else list(keep)
    check_columns(source.table.names, None, None, dict.fromkeys(keep, "ignore"))
    names = [*keep, "prediction", *(f"p_{plain_label(label)}" for label in classes), "log_density"]
    check_names(names)
    kept = _Keeping(source, keep)
    labels = pa.array(classes.tolist())
    types: dict[str, pa.DataType] = {}

    def predict(chunk: Chunk) -> pa.RecordBatch:
        log_posterior, log_density = rule.posterior_and_density(chunk.block())
        arrays = [kept_column(chunk, name) for name in keep]
        arrays += [labels.take(pa.array(log_posterior.argmax(axis=1)))]
        arrays += [pa.array(np.ascontiguousarray(p)) for p in np.exp(log_posterior).T]
        arrays += [pa.array(log_density)]
        return pa.record_batch(arrays, names=names)

    def kept_column(chunk: Chunk, name: str) -> pa.Array:
        """A column passed on, in the type it first had: pieces of a table may differ."""
        array = cells.without_dictionary(chunk.rows.batch.column(name))
        try:
            return array.cast(types.setdefault(name, array.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise VerosimError(
                f"Column {name!r} is {array.type} from {chunk.rows.place(0)} on, and was "
                f"{types[name]} before.",
                "keep a column of one type.",
            ) from None

    batches = map_chunks(predict, kept)
    first = next(batches, None)
    if first is None:
        raise VerosimError("The table has no rows.", "there is nothing to predict.")

    def all_batches() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


class _Keeping(TableSource):
    """A source that reads some columns only to pass them on."""

    def __init__(self, source: TableSource, keep: list[str]) -> None:
        super().__init__(source.table, source.reader)
        self.keep = keep

    def wanted(self) -> set[str]:
        return super().wanted() | set(self.keep)


def accuracy(rule: Rule, classes: np.ndarray, source: TableSource) -> float:
    """The share of rows whose class is predicted, by weight."""
    weight = source.weights if isinstance(source.weights, str) else None
    check_columns(source.table.names, source.target, weight, "auto")
    schema = source.reader.schema
    if schema.target is None:
        kind = kind_of_labels(classes)
        schema = replace(schema, target=source.target, target_type=kind)

    def correct_weight(chunk: Chunk) -> tuple[float, float]:
        codes, labels = target_codes(source.target, chunk.rows, schema)
        weights = weights_of(chunk.weights, chunk.rows)
        right = classes[rule.decide(chunk.block())] == labels[codes]
        weights = weights if len(weights) else np.ones(len(right))
        return float(weights @ right), float(weights.sum())

    sums = list(map_chunks(correct_weight, source))
    right, total = sum(part[0] for part in sums), sum(part[1] for part in sums)
    if not total > 0:
        raise VerosimError("The table has no rows that count.", "there is nothing to score.")
    return right / total
