"""The limits of the machine: memory bandwidth, multiply-adds of BLAS, and vector exponentials.

    limit = max(bytes ÷ bandwidth, multiply-adds ÷ BLAS speed + exponentials ÷ exponential speed)

Memory is read while the processor computes, so the larger of the two times counts. Multiply-adds
and exponentials use the same part of the processor, so their times are added. The three speeds are
measured next to the work, with the same number of threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import threadpool_limits

import verosim

CELLS = 1 << 23  # 64 MB per thread: more than the caches
SIDE = 384  # three square matrices of this side stay in the cache


@dataclass(frozen=True)
class Speeds:
    """Units per second of all threads together."""

    bandwidth: float  # bytes read
    products: float  # multiply-adds
    exponentials: float


@dataclass(frozen=True)
class Work:
    """The minimum work of a task: each byte of input is read once, and of output written once."""

    read: float
    products: float = 0.0
    exponentials: float = 0.0

    def seconds(self, speeds: Speeds) -> float:
        compute = self.products / speeds.products + self.exponentials / speeds.exponentials
        return max(self.read / speeds.bandwidth, compute)

    def saturated(self, speeds: Speeds) -> str:
        """The resource that decides the limit."""
        times = {
            "memory": self.read / speeds.bandwidth,
            "multiply-adds": self.products / speeds.products,
            "exponentials": self.exponentials / speeds.exponentials,
        }
        return max(times, key=lambda name: times[name])


def rate(work: Callable[[int], object], units: float, threads: int, repeats: int) -> float:
    """Units per second, if every thread does the work at the same time."""
    seconds = []
    with ThreadPoolExecutor(threads) as pool, threadpool_limits(1):
        list(pool.map(work, range(threads)))
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(work, range(threads)))
            seconds.append(time.perf_counter() - start)
    return units * threads / statistics.median(seconds)


@cache
def speeds(repeats: int = 9) -> Speeds:
    """The speeds of this machine, measured once per process."""
    count = verosim.threads()
    rng = np.random.default_rng(0)
    cells = [rng.random(CELLS) for _ in range(count)]
    A, small = rng.random((SIDE, SIDE)), -rng.random(1 << 12)
    products = [np.empty((SIDE, SIDE)) for _ in range(count)]
    outs = [np.empty_like(small) for _ in range(count)]

    def exponentials(i: int) -> None:
        for _ in range(256):
            np.exp(small, out=outs[i])

    return Speeds(
        rate(lambda i: cells[i].max(), CELLS * 8, count, repeats),
        rate(lambda i: np.matmul(A, A, out=products[i]), SIDE**3, count, repeats),
        rate(exponentials, 256 * small.size, count, repeats),
    )


def shown(found: Speeds) -> str:
    return (
        f"limits measured in this run: {found.bandwidth / 1e9:.0f} GB/s read, "
        f"{found.products / 1e9:.0f} G multiply-adds/s, "
        f"{found.exponentials / 1e9:.1f} G exponentials/s"
    )


if __name__ == "__main__":
    print(shown(speeds()))
