"""The shapes of work on rows. The source decides where they run: here, or on its cluster.

    reduce(source, visit)       what a visit finds in all rows
    summarise(source, plan)     the statistic of all rows
    iterate(source, rounds)     a visit per round; each may depend on what was found before
    map(source, function)       function(chunk) of each chunk, lazily
    map_there(…)                a map on a cluster, as a lazy frame

An engine of a cluster runs the same visits and functions on its workers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any

from verosim.data.clusters import check_is_here
from verosim.data.libraries import pa
from verosim.data.source import RowSource
from verosim.data.stream import TableSource
from verosim.data.visits import Visit
from verosim.engines import cluster
from verosim.engines.local import map_here, reduce_here
from verosim.engines.sums import Sum
from verosim.stats import Statistic


def reduce(source: RowSource, visit: Visit) -> Any:
    """What a visit finds in all rows of a source, computed where the rows are."""
    if isinstance(source, TableSource) and source.cluster is not None:
        return cluster.run_there(source, visit)
    return reduce_here(source, visit).finish()


def summarise(source: RowSource, plan: Statistic) -> Statistic:
    """The statistic of all rows of the source, on the axes of the plan or on wider axes.

    `plan` is a zero statistic and does not change. The rows that the source leaves out are
    subtracted.
    """
    if isinstance(source, TableSource) and source.left_out is not None:
        total = summarise(replace(source, left_out=None), plan)
        part = summarise(replace(source.left_out, reader=source.reader), total.zero())
        rest = total.without(part)
        return rest.align(rest.axes.with_groups(total.axes.groups))  # all classes stay
    found: Statistic = reduce(source, Sum(plan))
    return found


def iterate(source: RowSource, rounds: Generator[Visit, Any, Any]) -> Any:
    """The value of a generator of visits. It gets what each visit has found in all rows."""
    try:
        visit = next(rounds)
        while True:
            visit = rounds.send(reduce(source, visit))
    except StopIteration as end:
        return end.value


def map(
    source: RowSource, function: Callable[[Any], Any], rows: int | None = None
) -> Iterator[Any]:
    """function(chunk) for every chunk of a source, in order. The rows must be in this process.

    An array is one chunk, or chunks of so many rows.
    """
    check_is_here(source, "This")
    return map_here(source, function, rows)


def map_there(
    source: RowSource,
    function: Callable[[Any], pa.RecordBatch],
    schema: Callable[[pa.Schema], pa.Schema],
) -> Any:
    """A lazy frame of the cluster with the batch of each chunk; None if the rows are here.

    `schema` gives the columns of the batches from those of the table.
    """
    if isinstance(source, TableSource) and source.cluster is not None:
        return cluster.run_lazily(source, function, schema(source.cluster.schema()))
    return None
