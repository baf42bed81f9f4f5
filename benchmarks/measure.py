"""Measurement of speed: calls of verosim and of its peers alternate, and medians are compared."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from benchmarks.roofline import Work, speeds

HEADER = [
    "| work | verosim | peer | peer ÷ verosim | aim | limit |",
    "|---|---|---|---|---|---|",
]
Call = Callable[[], object]
PATIENCE = 120.0  # seconds after which a row with slow calls is not repeated, if it has 3 times
WARM = 1.0  # seconds: a longer call needs no warm-up


@dataclass
class Row:
    work: str
    ours: Call
    peers: dict[str, tuple[Call, float | None]] = field(default_factory=dict)  # call, target
    limit: Call | Work | None = None  # a call that is timed, or work at the measured speeds
    inner: int = 1  # calls per timing, for work too short to time alone
    slow: bool = False  # minutes per call: no warm-up, and a second time only within PATIENCE


def medians(
    calls: dict[str, Call], repeats: int, inner: int = 1, warm: bool = True
) -> dict[str, float]:
    """Seconds per call. The calls alternate, so that a busy machine affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    begun = time.perf_counter()
    for turn in range(repeats):
        if turn >= (3 if warm else 1) and time.perf_counter() - begun > PATIENCE:
            break
        for name, call in calls.items():
            gc.collect()
            if warm and min(times[name], default=0.0) < WARM:
                call()  # the previous call has changed threads and caches
            start = time.perf_counter()
            for _ in range(inner):
                call()
            times[name].append((time.perf_counter() - start) / inner)
    return {name: statistics.median(values) for name, values in times.items()}


def shown(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.02 else (
        f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"
    )  # fmt: skip


def table(rows: Iterable[Row], repeats: int) -> list[str]:
    lines = []
    for row in rows:
        calls = {"ours": row.ours, **{name: call for name, (call, _) in row.peers.items()}}
        if callable(row.limit):
            calls["limit"] = row.limit
        times = medians(calls, 3 if row.slow else repeats, row.inner, warm=not row.slow)
        for name, (_, target) in row.peers.items():
            ratio = times[name] / times["ours"]
            limit = shown(times["limit"]) if "limit" in times else "–"
            if isinstance(row.limit, Work):
                least = row.limit.seconds(speeds())
                share = least / times["ours"]
                limit = f"{shown(least)}, {row.limit.saturated(speeds())} ({share:.0%})"
            lines.append(
                f"| {row.work} | {shown(times['ours'])} | {name} {shown(times[name])} | "
                f"{ratio:.1f} × | ≥ {target:g} | {limit} |"
            )
            print(lines[-1], flush=True)
    return lines


def options_of(page: str | None) -> argparse.Namespace:
    """The command-line options of a benchmark. Warnings are not shown in its output."""
    parser = argparse.ArgumentParser(description=page)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    warnings.simplefilter("ignore")
    return parser.parse_args()
