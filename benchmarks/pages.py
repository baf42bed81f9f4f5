"""Where the data sets are, and how a measured table is written to a page, between two marks.

The last line between the marks has the commit at which the table was measured, and the command:

    2026-11-17, commit `199ed4a`: `python -m benchmarks.accuracy`
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("VEROSIM_DATA", ROOT.parent / "shared" / "data"))
UNKNOWN = "(commit unknown)"  # sorts before a date


def git(*arguments: str, root: Path = ROOT) -> str:
    """The output of git in a repository, and nothing if git fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def committed() -> str:
    """Date and hash of the last commit, and whether the code has changed since."""
    found = git("log", "-1", "--format=%cs, commit `%h`")
    changed = found and git("status", "--porcelain", "--", "*.py", "*.pyi")
    return (found or UNKNOWN) + (" with changes that are not committed" if changed else "")


COMMIT = committed()  # at the start: a run of hours measures the code that it has imported


def oldest(results: Iterable[Mapping[str, object]]) -> str:
    """The commit of the oldest of results that several runs have measured."""
    return min((str(one.get("commit", UNKNOWN)) for one in results), default=COMMIT)


def keep(page: str, mark: str, text: str, commit: str = COMMIT) -> None:
    """Replace the text between `<!-- mark -->` and `<!-- end mark -->` in a page."""
    command = " ".join(["python", *sys.orig_argv[1:]])
    path = ROOT / page
    start, stop = f"<!-- {mark} -->\n", f"<!-- end {mark} -->"
    head, rest = path.read_text().split(start)
    path.write_text(
        f"{head}{start}{text.rstrip()}\n\n{commit}: `{command}`\n{stop}{rest.split(stop)[1]}"
    )
