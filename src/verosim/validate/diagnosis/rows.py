"""A sample of the rows of each class, for checks that need rows.

One pass over any source gives a random sample of at most 20 000 rows for each class. Each row gets
a key, which is a hash of its place, and the rows with the smallest keys are kept. On a cluster each
partition sends its own sample, and a sample of many cells is smaller.
Reference: Vitter (1985), Random sampling with a reservoir.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.axes import Groups
from verosim.data import Batch, SparseRows
from verosim.data.clusters import Cluster
from verosim.data.folds import hashes_of_numbers
from verosim.data.labels import check_known
from verosim.data.source import Chunk
from verosim.data.visits import Visit
from verosim.errors import VerosimError
from verosim.folds import inputs_of
from verosim.models import open_rows
from verosim.stats import Statistic
from verosim.validate.diagnosis.model import kind_of_part, params_of
from verosim.validate.diagnosis.phrases import Phrase, said

MOST_ROWS_PER_CLASS = 20_000
MOST_COLUMNS_TOGETHER = 2_000  # with more columns, no rows are sampled
MOST_CELLS_SENT = 1 << 23  # of the sample that a worker of a cluster sends

Kept = tuple[np.ndarray, ...]  # keys, classes, weights (n,), numbers (n, p) and codes (n, q)


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
    blocks = _Blocks(tuple(n for n, _ in numeric), tuple(coded))
    source, known = _opened(model, X, y, sample_weight, statistic)
    kept, seen = engines.reduce(
        source, _Sampling(blocks, known.classes, columns, MOST_ROWS_PER_CLASS)
    )
    if not len(kept):
        raise VerosimError("The table has no rows.", "Give a table with rows.")
    _, classes, weights, number_rows, code_rows = kept
    gaussian = [
        np.full(len(part.axes.columns), densities[name].is_gaussian) for name, part in numeric
    ]
    return Sample(
        classes, weights, number_rows, code_rows,
        tuple(column for _, part in numeric for column in part.axes.columns),
        tuple(column for _, part in coded for column in part.axes.columns),
        np.concatenate([*gaussian, np.empty(0, dtype=bool)]), seen,
    )  # fmt: skip


@dataclass(frozen=True)
class _Blocks:
    """The parts of a model with numbers and with codes, and the rows of a batch as arrays."""

    numeric: tuple[str, ...]
    coded: tuple[tuple[str, Any], ...]  # the name and the statistic of each part

    def of(self, batch: Batch, keys: np.ndarray) -> Kept:
        """The rows of a batch with their keys (n,)."""
        weights = batch.weights if len(batch.weights) else np.ones(len(batch))
        numbers = [_numbers(_block(batch, name)) for name in self.numeric]
        codes = [_codes(_block(batch, name), part) for name, part in self.coded]
        return (
            keys, batch.groups, weights, _beside(numbers, len(batch), np.float64),
            _beside(codes, len(batch), np.int32),
        )  # fmt: skip


@dataclass
class _Sampling(Visit):
    """The sample of rows, and (C,) the number of rows of each class.

    A row has the same key in every pass, also if its task runs again.
    """

    blocks: _Blocks
    classes: np.ndarray  # (C,) of the model
    columns: int
    most: int  # rows of each class

    def nothing(self) -> tuple[list[Kept], np.ndarray]:
        return [], np.zeros(len(self.classes), dtype=np.int64)

    def absorb(self, chunk: Chunk) -> None:
        for batch in chunk.batches():
            known = _known_batch(batch, Groups(self.classes))
            seed = zlib.crc32(known.origin.encode())
            keys = hashes_of_numbers(np.array(known.numbers, dtype=np.uint64), seed)
            seen = np.bincount(known.groups, minlength=len(self.classes))
            self._add([self.blocks.of(known, keys)], seen)

    def _add(self, kept: list[Kept], seen: np.ndarray) -> None:
        before, total = self.found
        kept = [*before, *(one for one in kept if len(one[0]))]
        if sum(len(one[0]) for one in kept) > 2 * self.most * len(self.classes):
            kept = [_fewer(kept, self.most)]
        self.found = kept, total + seen

    def merge(self, other: Self) -> None:
        self._add(*other.found)

    def finish(self) -> tuple[Kept, np.ndarray]:
        kept, seen = self.found
        return (_fewer(kept, self.most) if kept else ()), seen

    def packed(self) -> Any:
        kept, seen = self.finish()
        return [list(kept), seen]

    def unpacked(self, plain: Any) -> tuple[list[Kept], np.ndarray]:
        return [tuple(plain[0])] if len(plain[0]) else [], plain[1]

    def there(self, cluster: Cluster) -> Self:
        cells = len(self.classes) * max(self.columns, 1)
        return replace(self, most=max(1, min(self.most, MOST_CELLS_SENT // cells)))


def _opened(model: Any, X: Any, y: Any, sample_weight: Any, statistic: Statistic) -> Any:
    """The rows, without the outliers if the model is robust, and the classes of the model."""
    model.check_columns(X)
    state = replace(model.state_, statistic=statistic)
    found = open_rows(state.spec, inputs_of(X, y, sample_weight), state)
    known = Groups(model.classes_)
    check_known(found.plan.axes.groups.classes, model.classes_)
    return state.spec.counted_rows(found.source, known), known


def _known_batch(batch: Batch, known: Groups) -> Batch:
    """The rows of a batch, with the class numbers of the model."""
    if batch.labels is None:
        return batch
    check_known(batch.labels, known.classes)
    return batch.regrouped(Groups(batch.labels).positions(known), 1)


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


def _fewer(kept: list[Kept], most: int) -> Kept:
    """The rows of each class with the smallest keys, in their original order."""
    keys, classes, *rest = (np.concatenate(pieces) for pieces in zip(*kept, strict=True))
    order = np.lexsort((keys, classes))
    rank = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
    at = np.sort(order[rank < most])
    return keys[at], classes[at], *(array[at] for array in rest)
