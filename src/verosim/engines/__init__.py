"""Engines: an engine adds the rows of a source to a zero statistic.

The source decides where: in the threads of this process, or on the cluster where its rows are.
"""

from verosim.engines.cluster import (
    ChunkWork,
    cluster_of,
    map_batches,
    map_chunks,
    reduce_chunks,
    summarise,
)
from verosim.engines.local import (
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
    "ChunkWork",
    "cluster_of",
    "map_batches",
    "map_chunks",
    "map_jobs",
    "map_rows",
    "map_spans",
    "one_blas_thread",
    "reduce_chunks",
    "results_of",
    "spans",
    "summarise",
    "threads",
    "use_threads",
    "work_in_order",
]
