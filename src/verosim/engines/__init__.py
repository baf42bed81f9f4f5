"""Engines: the shapes of work on the rows of a source, and where they run.

The source decides where: in the threads of this process, or on the cluster where its rows are.
"""

from verosim.engines.gather import GatheredRows, gather
from verosim.engines.shapes import (
    iterate,
    map,
    map_there,
    reduce,
    summarise,
)
from verosim.engines.threads import (
    LEAST_CELLS_FOR_THREADS,
    map_jobs,
    map_rows,
    map_spans,
    one_blas_thread,
    results_of,
    spans,
    threads,
    use_threads,
    work_in_order,
)

__all__ = [
    "LEAST_CELLS_FOR_THREADS",
    "GatheredRows",
    "gather",
    "iterate",
    "map",
    "map_jobs",
    "map_rows",
    "map_spans",
    "map_there",
    "one_blas_thread",
    "reduce",
    "results_of",
    "spans",
    "summarise",
    "threads",
    "use_threads",
    "work_in_order",
]
