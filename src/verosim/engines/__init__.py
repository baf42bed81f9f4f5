"""Engines: an engine adds the rows of a source to a zero statistic."""

from verosim.engines.local import (
    map_chunks,
    map_jobs,
    map_rows,
    map_spans,
    one_blas_thread,
    results_of,
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
    "results_of",
    "spans",
    "summarise",
    "threads",
    "use_threads",
]
