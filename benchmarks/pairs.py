"""Speed of pair counts: AODE on adult, repeated 100 times, from cells and from the table.

python -m benchmarks.pairs            prints its rows and writes them to docs/benchmarks/speed.md
python -m benchmarks.pairs --quick    adult repeated 10 times, prints only
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import verosim
from benchmarks.measure import medians, options_of, shown
from benchmarks.pages import keep
from benchmarks.tables import read
from verosim.data import ArraySource
from verosim.data.adapters import open_table
from verosim.engines import summarise
from verosim.stats import Pairs

CODE = "data kernels stats engines densities models estimators"
TARGET = "income"
ROWS_PER_SECOND = 5e6  # the aim for cells in memory
HEADER = ["| work | verosim | peer | peer ÷ verosim | aim |", "|---|---|---|---|---|"]


def cells_of(model: verosim.AODE, table: pa.Table) -> np.ndarray:
    """(n, d) the rows of a table as bytes."""
    reader = model.spec().reader(model.schema_)
    return np.concatenate([reader.block(rows) for rows in open_table(table).batches()])


def counting_line(table: pa.Table, times: int, repeats: int) -> str:
    """Count the pairs of all columns, from cells in memory."""
    model = verosim.AODE().fit(table, TARGET)
    labels = table[TARGET].to_numpy(zero_copy_only=False)
    groups = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    source = ArraySource(
        np.tile(cells_of(model, table), (times, 1)), np.tile(groups, times), raw=True
    )
    plan = Pairs(model.stats_.axes)
    counted = summarise(source, plan)
    assert (counted.arrays["pair"] == times * model.stats_.arrays["pair"]).all()
    seconds = medians({"ours": lambda: summarise(source, plan)}, repeats)["ours"]
    return (
        f"| pairs of {source.X.shape[1]} columns, {len(source) / 1e6:.2f}M rows of cells in memory "
        f"| {shown(seconds)}, {len(source) / seconds / 1e6:.1f}M rows/s | – | – "
        f"| ≥ {ROWS_PER_SECOND / 1e6:g}M rows/s |"
    )


def fitting_line(table: pa.Table, times: int, repeats: int) -> str:
    """Fit AODE and NaiveBayes in turn, on one Arrow table."""
    large = pa.concat_tables([table] * times)
    found = medians(
        {
            "ours": lambda: verosim.AODE().fit(large, TARGET),
            "peer": lambda: verosim.NaiveBayes().fit(large, TARGET),
        },
        repeats,
    )
    speed = len(large) / found["ours"] / 1e6
    return (
        f"| AODE fit, Arrow table of {len(large) / 1e6:.2f}M rows | {shown(found['ours'])}, "
        f"{speed:.1f}M rows/s | NaiveBayes {shown(found['peer'])} "
        f"| {found['peer'] / found['ours']:.2f} × | ≥ 0.5 |"
    )


def main() -> None:
    options = options_of(__doc__)
    table = pa.Table.from_pandas(read("adult"), preserve_index=False)
    times = 10 if options.quick else 100
    lines = [make(table, times, options.repeats) for make in (counting_line, fitting_line)]
    print("\n".join(HEADER + lines))
    if not options.quick:
        note = f"{verosim.threads()} threads; medians of {options.repeats}."
        keep("docs/benchmarks/speed.md", "pairs", note + "\n\n" + "\n".join(HEADER + lines))


if __name__ == "__main__":
    main()
