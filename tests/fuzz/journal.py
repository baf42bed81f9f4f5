"""The cases that were run, in a file, so that a soak can be stopped and continued.

A line has the first case of a block, its size and its counts. A block is run again if the source
of verosim or of the cases has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

from tests.fuzz.cases import run_many

ROOT = Path(__file__).parents[2]
BLOCK = 2_000
OUTCOMES = ("agrees", "finite", "refused", "wrong")
CASES = int(os.environ.get("VEROSIM_FUZZ_CASES", 1_000_000))
FIRST = int(os.environ.get("VEROSIM_FUZZ_FROM", 0))


def path() -> Path:
    return Path(os.environ.get("VEROSIM_FUZZ_JOURNAL", ROOT / ".fuzz" / "journal.jsonl"))


@cache
def version(cases: str = "fuzz") -> str:
    """A hash of the source of verosim and of the cases in a folder of the tests."""
    found = hashlib.sha256()
    for folder in (ROOT / "src" / "verosim", ROOT / "tests" / cases):
        for file in sorted(folder.rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def lines() -> list[dict[str, object]]:
    if not path().exists():
        return []
    return [json.loads(line) for line in path().read_text().splitlines()]


def run_block(first: int, size: int = BLOCK) -> list[str]:
    """Run a block that is not in the journal yet. Returns the cases that are wrong."""
    for line in lines():
        if (line["version"], line.get("first"), line.get("size")) == (version(), first, size):
            return line["wrong"]  # type: ignore[return-value]
    counts, wrong = run_many(first, first + size)
    shown = [
        f"python -m tests.fuzz {one.number}  # {one.name}: {one.detail[-800:]}" for one in wrong
    ]
    note("cases", first=first, size=size, counts=dict(counts), wrong=shown)
    return shown


def note(kind: str, cases: str = "fuzz", **values: object) -> None:
    """Add one line to the journal."""
    path().parent.mkdir(parents=True, exist_ok=True)
    with path().open("a") as file:  # one short write: several workers can share the file
        file.write(json.dumps({"kind": kind, "version": version(cases), **values}) + "\n")


def report() -> str:
    """What the runs of this version add up to, as a table."""
    cases: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for line in lines():
        if line["version"] != version():
            continue
        if line["kind"] == "cases":
            cases.update(line["counts"])  # type: ignore[arg-type]
        else:
            others[str(line["kind"])] += int(line["count"])  # type: ignore[call-overload]
    total = sum(cases[one] for one in OUTCOMES)
    rows = [
        ("random cases", total),
        ("… that agree with exact arithmetic", cases["agrees"]),
        ("… that are finite and normalised, with nothing to compare", cases["finite"]),
        ("… that are refused with an error that names the cause", cases["refused"]),
        ("… that are wrong", cases["wrong"]),
        ("rows compared with exact arithmetic", cases["compared"]),
        ("… of them with an allowed difference below 10⁻⁶", cases["sharp"]),
        ("rows compared with scikit-learn", cases["peer"]),
        *sorted(others.items()),
    ]
    shown = "\n".join(f"| {name} | {count:,} |" for name, count in rows)
    return f"| what | how many |\n|---|---:|\n{shown}\n\n{_by_family(cases)}"


def _by_family(cases: Counter[str]) -> str:
    """The cases of each estimator by their outcome."""
    names = sorted(
        name.removesuffix(f" {one}")
        for name in cases
        for one in OUTCOMES
        if name.endswith(f" {one}")
    )
    rows = [(name, *(cases[f"{name} {one}"] for one in OUTCOMES)) for name in dict.fromkeys(names)]
    shown = "\n".join(
        f"| {name} | {sum(numbers):,} | {' | '.join(f'{one:,}' for one in numbers)} |"
        for name, *numbers in rows
    )
    head = "| family | cases | agree | finite | refused | wrong |"
    return f"{head}\n|---|---:|---:|---:|---:|---:|\n{shown}\n"
