"""Where the rows are added up. An engine turns a source and a plan into a statistic."""

from verosim.engines.local import (
    map_chunks,
    map_jobs,
    map_rows,
    map_spans,
    one_blas_thread,
    spans,
    summarise,
    threads,
    use_threads,
)

__all__ = [
    "map_chunks",
    "map_jobs",
    "map_rows",
    "map_spans",
    "one_blas_thread",
    "spans",
    "summarise",
    "threads",
    "use_threads",
]
