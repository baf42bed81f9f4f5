"""Run cases by number, or report what was run."""

from __future__ import annotations

import sys
import time

from benchmarks.pages import keep

from tests.fuzz.cases import Case, run_case, run_many
from tests.fuzz.journal import BLOCK, report, run_block

CODE = "*"  # all of src/verosim


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["report"]:
        print(report())
        if arguments[1:] == ["--keep"]:
            keep("docs/reliability.md", "fuzz", report())
        return 0
    if arguments[0] == "journal":  # blocks that a soak skips later
        first, last = (int(a) for a in arguments[1:])
        all_right = True
        for start in range(first, last, BLOCK):
            wrong = run_block(start)
            all_right &= not wrong
            print(start, *wrong, sep="\n", flush=True)
        print(report())
        return int(not all_right)
    if len(arguments) == 1:
        case = Case.of(int(arguments[0]))
        result = run_case(case)
        print(case.shown(), result.detail, result, sep="\n")
        return int(result.outcome == "wrong")
    first, last = (int(a) for a in arguments)
    started = time.process_time()
    counts, found = run_many(first, last)
    for result in found[:40]:
        print(result.number, result.name, result.detail[-1500:])
    for name, count in sorted(counts.items()):
        print(f"{count:9,} {name}")
    print(f"{(time.process_time() - started) / (last - first) * 1e3:.2f} ms per case")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
