"""Run mutants by number in a child with limits, and report what was run.

python -m tests.hostile_files 12345            one mutant
python -m tests.hostile_files 0 100000         blocks that are not in the journal yet
python -m tests.hostile_files report [--keep]  the table, printed or written to its page
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection

from benchmarks.pages import keep

from tests.fuzz.journal import lines, note, version
from tests.hostile_files.originals import originals
from tests.hostile_files.outcomes import Outcome, one_case

CODE = "*"  # all of src/verosim
CASES = "hostile_files"  # the folder of the cases
BLOCK = 1_000
SECONDS, MEMORY = 10, 1 << 30  # that a mutant may take
OUTCOMES = ("not written", "refused", "equal", "works", "wrong")


def _work(first: int, last: int, out: Connection) -> None:
    """The outcomes of some mutants. The kernel ends this process at a mutant that takes long."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for number in range(first, last):
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, hard))
        out.send(one_case(number))


def outcomes(first: int, last: int) -> Iterator[Outcome]:
    """The outcomes of the mutants first … last − 1."""
    originals()  # fitted once, before the process is forked
    fork = multiprocessing.get_context("fork")
    while first < last:
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=_work, args=(first, last, theirs))
        child.start()
        theirs.close()
        try:
            while first < last:
                found = ours.recv()
                yield found
                first = found.number + 1
        except EOFError:
            child.join()
            late = child.exitcode == -signal.SIGXCPU
            what = f"more than {SECONDS} s" if late else f"the process ended: {child.exitcode}"
            yield Outcome(first, "a process", "wrong", what)
            first += 1
        child.join()


def run_block(first: int) -> list[Outcome]:
    """Run a block that is not in the journal yet. Returns the mutants that are wrong."""
    for line in lines():
        if (line["version"], line["kind"], line.get("first")) == (version(CASES), "files", first):
            return []
    counts: Counter[str] = Counter()
    wrong = []
    for one in outcomes(first, first + BLOCK):
        counts[f"{one.name}|{one.outcome}"] += 1
        if one.outcome == "wrong":
            wrong.append(one)
    note("files", CASES, first=first, size=BLOCK, counts=dict(counts))
    return wrong


def report() -> str:
    """What the blocks of this version add up to, as a table with the commit."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in lines():
        if line["kind"] == "files" and line["version"] == version(CASES):
            for key, count in line["counts"].items():  # type: ignore[attr-defined]
                name, outcome = key.split("|")
                counts[name.removesuffix(" without sums"), outcome] += count
    names = sorted({name for name, _ in counts})
    rows = [(name, *(counts[name, one] for one in OUTCOMES[1:])) for name in names]
    total = ("all", *(sum(row[1 + i] for row in rows) for i in range(4)))
    shown = "\n".join(
        f"| {name} | {sum(numbers):,} | {' | '.join(f'{one:,}' for one in numbers)} |"
        for name, *numbers in [*rows, total]
    )
    head = "| class | files | refused | equal to the saved model | works | wrong |"
    return f"{head}\n|---|---:|---:|---:|---:|---:|\n{shown}\n"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["report"]:
        print(report())
        if arguments[1:] == ["--keep"]:
            keep("docs/reliability.md", "files", report())
        return 0
    if len(arguments) == 1:
        for one in outcomes(int(arguments[0]), int(arguments[0]) + 1):
            print(one)
        return int(one.outcome == "wrong")
    first, last = (int(one) for one in arguments)
    started, found = time.perf_counter(), 0
    for start in range(first, last, BLOCK):
        for one in run_block(start):
            found += 1
            print(f"python -m tests.hostile_files {one.number}  # {one.name}: {one.detail[:400]}")
        rate = (start + BLOCK - first) / (time.perf_counter() - started)
        print(f"{start + BLOCK:,} mutants, {found} wrong, {rate:.0f} per second", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
