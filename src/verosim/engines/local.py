"""The local engine: the threads of this process absorb the chunks of a source.

    reduce_here(source, visit) = visit + Σ over spans of rows, or over chunks

An array is divided into one span of rows per thread; the chunks of a table go to the threads in
turn. With the same number of threads, a second run gives exactly the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from verosim.data.cells import known_texts
from verosim.data.source import RowSource
from verosim.data.sources import ArraySource, cells_per_row
from verosim.data.stream import TableChunk, TableSource
from verosim.data.visits import Visit
from verosim.engines.progress import Progress
from verosim.engines.threads import (
    LEAST_CELLS_FOR_THREADS,
    in_turn,
    map_spans,
    spans,
    threads,
    use_threads,
    work_in_order,
)
from verosim.linalg import one_blas_thread

LEAST_PRODUCTS = 1 << 18  # BLAS itself uses one thread for fewer multiplications


def reduce_here(source: RowSource, visit: Visit) -> Visit:
    """The visit after it has absorbed all rows of the source."""
    if isinstance(source, ArraySource):
        return _reduced_array(source, visit)
    assert isinstance(source, TableSource)
    return _reduced_table(source, visit)


def _reduced_array(source: ArraySource, visit: Visit) -> Visit:
    n, size = len(source), visit.size
    cells = n * cells_per_row(source.X)
    # With few rows, merging a second large visit costs more than one thread needs.
    bounds = spans(n, cells if size < cells else 0)
    first = visit.zero()
    if len(bounds) == 2:
        # A product of a few rows is too small for several threads of BLAS.
        few = cells < LEAST_CELLS_FOR_THREADS and n * size >= LEAST_PRODUCTS
        with one_blas_thread if few else nullcontext():
            first.absorb(source.span(0, n))
        return first
    if visit.prepares:
        look = next((batch for batch in source.batches() if len(batch)), None)
        if look is not None:
            first.prepare(next(iter(look.blocks())))
    parts = [first, *(first.zero() for _ in bounds[2:])]

    def absorb(span: int, start: int, stop: int) -> None:
        with use_threads(1):
            parts[span].absorb(source.span(start, stop))

    map_spans(absorb, bounds)
    return _merged(parts)


def _reduced_table(source: TableSource, visit: Visit) -> Visit:
    """Chunks go to the threads in turn, so that a second run gives exactly the same bits."""
    count = _threads_for(source)
    chunks = source.chunks()
    parts = [visit.zero()]
    with Progress(source.rows) as bar, _blas_for(source, visit.size, count), known_texts:
        for chunk in chunks:  # the first rows fix what all workers share
            first = chunk.converted() if visit.prepares else chunk
            if visit.prepares and not len(first.batch()):
                parts[0].absorb(first)
                continue
            if visit.prepares:
                parts[0].prepare(first.batch())
            parts += [parts[0].zero() for _ in range(count - 1)]
            with use_threads(1) if count > 1 else nullcontext():
                parts[0].absorb(first)
            bar.advance(len(chunk), chunk.share)
            break

        def absorb(worker: int, chunk: TableChunk) -> tuple[int, float]:
            with use_threads(1) if count > 1 else nullcontext():
                parts[worker].absorb(chunk)
            return len(chunk), chunk.share

        for rows, share in in_turn(absorb, chunks, count):
            bar.advance(rows, share)
    source.report()
    return _merged(parts)


def _merged(parts: list[Visit]) -> Visit:
    first = parts[0]
    for part in parts[1:]:
        first.merge(part)
    return first


def map_here(
    source: RowSource, function: Callable[[Any], Any], rows: int | None = None
) -> Iterator[Any]:
    """function(chunk) for every chunk, in order. A few chunks are in memory at a time.

    An array is one chunk, or chunks of so many rows.
    """
    if isinstance(source, ArraySource):
        n = len(source)
        if rows is None or n <= rows:
            return map(function, source.chunks())
        pieces = (source.span(at, min(n, at + rows)) for at in range(0, n, rows))
        few = source.cells < LEAST_CELLS_FOR_THREADS
        return map(function, pieces) if few else work_in_order(function, pieces)
    assert isinstance(source, TableSource)
    return _mapped_table(source, function)


def _mapped_table(source: TableSource, function: Callable[[TableChunk], Any]) -> Iterator[Any]:
    count = _threads_for(source)
    few = _is_small(source, 0, count)

    def alone(_: int, chunk: TableChunk) -> tuple[Any, int, float]:
        if few:
            return function(chunk), len(chunk), chunk.share
        with use_threads(1), one_blas_thread:
            return function(chunk), len(chunk), chunk.share

    with Progress(source.rows) as bar, known_texts:
        for out, rows, share in in_turn(alone, source.chunks(), count):
            bar.advance(rows, share)
            yield out
    source.report()


def _blas_for(source: TableSource, size: int, count: int) -> Any:
    """One thread of BLAS, unless the products are too small for several threads anyway."""
    return nullcontext() if _is_small(source, size, count) else one_blas_thread


def _is_small(source: TableSource, size: int, count: int) -> bool:
    size = size or len(source.table.names) ** 2
    return count == 1 and (source.rows or LEAST_PRODUCTS) * size < LEAST_PRODUCTS


def _threads_for(source: TableSource) -> int:
    """The number of threads for a table: one if it is known to have few cells."""
    rows = source.rows
    if rows is not None and rows * len(source.table.names) < LEAST_CELLS_FOR_THREADS:
        return 1
    return threads()
