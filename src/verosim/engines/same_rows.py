"""Several passes over one lazy frame must see the same rows.

A frame with a random step, or with files that change, may have other rows in each pass. Each reply
therefore has the number of rows by class, and the numbers of two passes are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from verosim.data.libraries import pa, pc
from verosim.errors import VerosimError

MOST_COUNTED = 1000  # a column with more values is counted without its values
ALL_ROWS = ""  # the key of all rows


def counting(
    batches: Iterable[pa.RecordBatch], target: str | None, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """The batches. Their rows are added to `counts` by the text of their class."""
    for batch in batches:
        counts[ALL_ROWS] += batch.num_rows
        if target in batch.schema.names and len(counts) <= MOST_COUNTED:
            for pair in pc.value_counts(batch.column(target)).to_pylist():
                counts[repr(pair["values"])] += pair["counts"]
        yield batch


def summed_counts(found: Iterable[dict[str, int]]) -> Counter[str]:
    """The counts of several partitions."""
    out: Counter[str] = Counter()
    for counts in found:
        out.update(counts)
    return out


def check_same_rows(before: dict[str, int], now: dict[str, int], name: str) -> None:
    """Raise an error if two passes have seen other rows."""
    if len(before) > MOST_COUNTED or len(now) > MOST_COUNTED:
        before, now = {ALL_ROWS: before[ALL_ROWS]}, {ALL_ROWS: now[ALL_ROWS]}
    odd = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if odd:
        key = odd[-1]
        what = f" of the class {key}" if key != ALL_ROWS else ""
        raise VerosimError(
            f"The {name} frame has {now.get(key, 0):,} rows{what} in this pass, but it had "
            f"{before.get(key, 0):,} in the pass before.",
            "Use frame.cache(), or write the rows to files first; the model was not changed.",
        )
