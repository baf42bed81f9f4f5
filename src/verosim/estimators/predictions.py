"""Whole tables predicted and scored, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes.groups import plain
from verosim.bayes.rule import Rule
from verosim.data.look import check_columns
from verosim.data.stream import Chunk, TableSource, labels_of, weights_of
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.stats import Statistic


def check_several(statistic: Statistic, target: str) -> None:
    """A target of one value leaves nothing to tell apart."""
    rows = statistic.arrays["rows"].sum(axis=1)
    classes = statistic.axes.groups.classes[rows > 0]
    if len(classes) < 2:
        raise VerosimError(
            f"The target {target!r} is {plain(classes[0])!r} in all {int(rows.sum()):,} rows.",
            "two classes or more are needed; is it the right column?",
        )


def prediction_reader(rule: Rule, classes: np.ndarray, source: TableSource, keep: Any) -> Any:
    """An Arrow record-batch reader of predictions."""
    import pyarrow as pa

    keep = [keep] if isinstance(keep, str) else list(keep)
    check_columns(source.table.names, None, None, dict.fromkeys(keep, "ignore"))
    kept = _Keeping(source, keep)
    labels = pa.array(classes.tolist())
    names = [*keep, "prediction", *(f"p_{plain(label)}" for label in classes), "log_density"]

    def predict(chunk: Chunk) -> pa.RecordBatch:
        block = chunk.block()
        posterior = rule.posterior(block)
        arrays = [chunk.rows.batch.column(name) for name in keep]
        arrays += [labels.take(pa.array(rule.decide(block)))]
        arrays += [pa.array(np.ascontiguousarray(p)) for p in posterior.T]
        arrays += [pa.array(rule.evidence(block))]
        return pa.record_batch(arrays, names=names)

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
    check_columns(source.table.names, source.target, source.weights, "auto")
    schema = source.reader.schema
    if schema.target is None:
        kind = "text" if classes.dtype.kind in "UO" else (
            "boolean" if classes.dtype.kind == "b" else "integer")  # fmt: skip
        schema = replace(schema, target=source.target, target_type=kind)

    def judge(chunk: Chunk) -> tuple[float, float]:
        codes, labels = labels_of(source.target, chunk.rows, schema)
        weights = weights_of(source.weights, chunk.rows)
        right = classes[rule.decide(chunk.block())] == labels[codes]
        weights = weights if len(weights) else np.ones(len(right))
        return float(weights @ right), float(weights.sum())

    sums = np.array(list(map_chunks(judge, source))).sum(axis=0)
    return float(sums[0] / sums[1])
