"""Where the rows are added up. An engine turns a source and a plan into a statistic."""

from verosim.engines.local import (
    map_chunks,
    map_rows,
    one_blas_thread,
    summarise,
    threads,
    use_threads,
)

__all__ = ["map_chunks", "map_rows", "one_blas_thread", "summarise", "threads", "use_threads"]
