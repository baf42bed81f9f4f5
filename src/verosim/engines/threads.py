"""The threads of this process: how many, and work that is divided among them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from verosim.arguments import checked
from verosim.data.batch import BLOCK_CELLS
from verosim.data.sources import cells_per_row
from verosim.errors import VerosimError
from verosim.linalg import one_blas_thread

LEAST_CELLS_FOR_THREADS = 1 << 16  # with fewer cells, starting threads costs more than it saves

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def threads() -> int:
    """The number of threads that verosim uses.

    It is the number of the innermost `use_threads` block. Without such a block it is the
    environment variable VEROSIM_THREADS. Without this variable it is the number of cores that the
    process may use.

    Returns
    -------
    int
        The number of threads, at least 1.

    Raises
    ------
    VerosimError
        If VEROSIM_THREADS is not a whole number.

    See Also
    --------
    use_threads : Set the number of threads for a block of code.

    Examples
    --------
    >>> import verosim
    >>> with verosim.use_threads(3):
    ...     verosim.threads()
    3
    """
    limit = _limit.get()
    if limit is not None:
        return limit
    if "VEROSIM_THREADS" in os.environ:
        return _count(os.environ["VEROSIM_THREADS"])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
@checked
def use_threads(count: int) -> Iterator[None]:
    """Set the number of threads for a block of code.

    Use it in a `with` statement. The old number is valid again after the block. The setting is
    local to the current thread or asyncio task. Sums are added in another order with another number
    of threads, so results may then differ in the last digits.

    Parameters
    ----------
    count : int
        The number of threads. Numbers below 1 mean 1.

    Returns
    -------
    context manager
        An object for the `with` statement. It has no value.

    Raises
    ------
    VerosimError
        If `count` is not a number.

    See Also
    --------
    threads : The number of threads that verosim uses.

    Examples
    --------
    >>> import verosim
    >>> with verosim.use_threads(1):
    ...     verosim.threads(), verosim.GaussianNB().fit([[1.0], [2.0]], [0, 1]).n_features_in_
    (1, 1)
    """
    before = _limit.set(_count(count))
    try:
        yield
    finally:
        _limit.reset(before)


def _count(value: Any) -> int:
    try:
        return max(1, int(value))
    except (TypeError, ValueError):
        raise VerosimError(
            f"The number of threads must be a whole number; got {value!r}.",
            "Set use_threads(…) or the environment variable VEROSIM_THREADS to a whole number.",
        ) from None


@cache
def _lane(worker: int) -> ThreadPoolExecutor:
    """A pool with one thread, so that the chunks of a worker are absorbed in order."""
    return ThreadPoolExecutor(1, thread_name_prefix=f"verosim-{worker}")


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="verosim")


if hasattr(os, "register_at_fork"):  # a forked child process does not have the threads of the pool
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_lane.cache_clear)


def in_turn(work: Callable[[int, Any], Any], chunks: Iterator[Any], count: int) -> Iterator[Any]:
    """work(worker, chunk) in order: worker i has the chunks i, i + count, i + 2 count, …

    An error or an interrupt stops the work.
    """
    if count == 1:
        yield from (work(0, chunk) for chunk in chunks)
        return
    waiting: deque[Future[Any]] = deque()
    try:
        for i, chunk in enumerate(chunks):
            waiting.append(_lane(i % count).submit(work, i % count, chunk))
            if len(waiting) > count + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)


def work_in_order(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """work(item) of each item, in order, with all threads. Each call of `work` uses one thread.

    The thread that calls this function makes the items, while the others work.
    """

    def alone(_: int, item: Any) -> Any:
        with use_threads(1), one_blas_thread:
            return work(item)

    yield from in_turn(alone, items, threads())


def map_rows(work: Callable[[int, int], None], X: Any) -> None:
    """Call work(start, stop) for blocks of rows of X, with all threads."""
    n = X.shape[0]
    cells = X.shape[1] if type(X) is np.ndarray else cells_per_row(X)
    if 0 < n * cells <= BLOCK_CELLS:
        work(0, n)
        return
    step = max(1, int(BLOCK_CELLS / max(cells, 1)))
    map_jobs(lambda job: work(job * step, min(n, (job + 1) * step)), -(-n // step))


def map_jobs(work: Callable[[int], None], count: int) -> None:
    """Call work(0), …, work(count − 1), with all threads.

    If `work` calls this function too, it must do so in a `use_threads(1)` block.
    """
    if count == 1 or threads() == 1:
        for job in range(count):
            work(job)
        return
    with one_blas_thread:
        list(_pool(threads()).map(work, range(count)))


def results_of(work: Callable[[int], Any], count: int, cells: float) -> list[Any]:
    """[work(0), …, work(count − 1)], with all threads if the rows have many cells.

    Each call of `work` uses one thread.
    """
    out: list[Any] = [None] * count

    def job(i: int) -> None:
        with use_threads(1):
            out[i] = work(i)

    with one_blas_thread:
        if cells < LEAST_CELLS_FOR_THREADS:
            for i in range(count):
                job(i)
        else:
            map_jobs(job, count)
    return out


def spans(n: int, cells: float) -> list[int]:
    """The bounds of the spans of n rows: one span per thread, and a single span for few cells."""
    count = 1 if cells < LEAST_CELLS_FOR_THREADS else max(1, min(threads(), n))
    return [n * i // count for i in range(count + 1)]


def map_spans(work: Callable[[int, int, int], None], bounds: list[int]) -> None:
    """Call work(span, start, stop) for each span between the bounds, with all threads."""
    map_jobs(lambda span: work(span, bounds[span], bounds[span + 1]), len(bounds) - 1)
