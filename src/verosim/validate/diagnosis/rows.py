"""A sample of the rows of each class, for checks that need rows.

One pass over any source gives a random sample of at most 20 000 rows for each class. Each row gets
a random number, and the rows with the smallest numbers are kept.
Reference: Vitter (1985), Random sampling with a reservoir.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import Groups
from verosim.data import Batch, SparseRows
from verosim.data.labels import check_known
from verosim.data.stream import TableSource
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.folds import inputs_of
from verosim.models import open_rows
from verosim.stats import Statistic
from verosim.validate.diagnosis.model import kind_of_part, params_of
from verosim.validate.diagnosis.phrases import Phrase, said

MOST_ROWS_PER_CLASS = 20_000
MOST_COLUMNS_TOGETHER = 2_000  # with more columns, no rows are sampled


@dataclass(frozen=True)
class Sample:
    """Rows as numbers (n, p), NaN if missing, and as codes (n, q), −1 if missing."""

    classes: np.ndarray  # (n,) positions in `classes_` of the model
    weights: np.ndarray  # (n,)
    numbers: np.ndarray
    codes: np.ndarray
    number_names: tuple[str, ...]
    code_names: tuple[str, ...]
    gaussian: np.ndarray  # (p,) which numbers have a Gaussian density
    seen: np.ndarray  # (C,) the number of rows of each class before sampling

    def some_of(self, c: int, rows: int) -> tuple[Phrase, ...]:
        """A sentence with the number of rows that were used, if not all rows of the class."""
        all_rows = self.seen[c]
        if rows >= all_rows:
            return ()
        return (said("Computed from {some} of {all} rows.", some=f"{rows:,}", all=f"{all_rows:,}"),)


def sample_of(model: Any, X: Any, y: Any, sample_weight: Any) -> Sample | None:
    """A sample of rows; None if the model has too many columns, or none that can be analysed."""
    statistic = model.checked_state().current
    densities = dict(params_of(model).named_parts())
    parts = [
        (name, part, kind_of_part(name, part))
        for name, part in statistic.named_parts()
        if name in densities  # the counts of pairs of a calibration have no density
    ]
    numeric = [(n, p) for n, p, kind in parts if kind in ("numbers", "bins", "joint")]
    coded = [(n, p) for n, p, kind in parts if kind == "codes"]
    columns = sum(len(part.axes.columns) for _, part in numeric + coded)
    if columns > MOST_COLUMNS_TOGETHER or not numeric + coded:
        return None
    C = len(model.classes_)
    rng = np.random.default_rng(0)
    kept: list[tuple[np.ndarray, ...]] = []
    seen, held = np.zeros(C, dtype=np.int64), 0
    for batch in _batches(model, X, y, sample_weight, statistic):
        weights = batch.weights if len(batch.weights) else np.ones(len(batch))
        seen += np.bincount(batch.groups, minlength=C)
        numbers = [_numbers(_block(batch, name)) for name, _ in numeric]
        codes = [_codes(_block(batch, name), part) for name, part in coded]
        kept.append((
            rng.random(len(batch)), batch.groups, weights,
            _beside(numbers, len(batch), np.float64), _beside(codes, len(batch), np.int32),
        ))  # fmt: skip
        held += len(batch)
        if held > 2 * MOST_ROWS_PER_CLASS * C:
            kept = [_fewer(kept)]
            held = len(kept[0][0])
    if not kept:
        raise VerosimError("The table has no rows.", "Give a table with rows.")
    _, classes, weights, number_rows, code_rows = _fewer(kept)
    gaussian = [
        np.full(len(part.axes.columns), densities[name].is_gaussian) for name, part in numeric
    ]
    return Sample(
        classes, weights, number_rows, code_rows,
        tuple(column for _, part in numeric for column in part.axes.columns),
        tuple(column for _, part in coded for column in part.axes.columns),
        np.concatenate([*gaussian, np.empty(0, dtype=bool)]), seen,
    )  # fmt: skip


def _batches(
    model: Any, X: Any, y: Any, sample_weight: Any, statistic: Statistic
) -> Iterator[Batch]:
    """The rows with the classes of the model; without the outliers if the model is robust."""
    model.check_columns(X)
    state = replace(model.state_, statistic=statistic)
    found = open_rows(state.spec, inputs_of(X, y, sample_weight), state)
    known = Groups(model.classes_)
    check_known(found.plan.axes.groups.classes, model.classes_)
    opened = state.spec.counted_rows(found.source, known)
    if not isinstance(opened, TableSource):
        yield from opened.batches()
        return
    for batch in map_chunks(lambda chunk: chunk.batch(), opened):
        if batch.labels is not None:
            check_known(batch.labels, model.classes_)
            batch = batch.regrouped(Groups(batch.labels).positions(known), 1)
        yield batch


def _block(batch: Batch, part: str) -> Any:
    """The rows of one part of a batch."""
    return batch.block[part] if part else batch.block


def _numbers(block: Any) -> np.ndarray:
    """The rows as a dense array of numbers; infinite values become NaN."""
    dense = block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block
    out = np.asarray(dense, dtype=np.float64)
    return np.where(np.isfinite(out), out, np.nan)


def _codes(block: Any, part: Any) -> np.ndarray:
    """The rows as codes, −1 if missing."""
    if part.sums_of == "presence":
        numbers = _numbers(block)
        return np.where(np.isnan(numbers), -1, numbers > part.threshold).astype(np.int32)
    codes: np.ndarray = part.axes.codes.encode(block)[0]
    return codes


def _beside(blocks: list[np.ndarray], rows: int, dtype: Any) -> np.ndarray:
    """The columns of all blocks in one array."""
    return np.concatenate([np.empty((rows, 0), dtype=dtype), *blocks], axis=1)


def _fewer(kept: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The rows of each class with the smallest keys, in their original order."""
    keys, classes, *rest = (np.concatenate(pieces) for pieces in zip(*kept, strict=True))
    order = np.lexsort((keys, classes))
    rank = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
    at = np.sort(order[rank < MOST_ROWS_PER_CLASS])
    return keys[at], classes[at], *(array[at] for array in rest)
