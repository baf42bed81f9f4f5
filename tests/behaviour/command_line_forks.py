"""Runs many commands in forked processes, because loading the library takes a second.

python -m tests.behaviour.command_line_forks signal INT|KILL FOLDER TIMES
python -m tests.behaviour.command_line_forks limited FOLDER
python -m tests.behaviour.command_line_forks nobody FOLDER
python -m tests.behaviour.command_line_forks streams FOLDER

It prints one line of JSON per command: the exit code, stderr, and the files that there are.
FOLDER has visits.verosim, later.csv and erased.csv.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from verosim.cli.main import main, run_process

NOBODY = 65534
COMMANDS = (
    ["forget", "visits.verosim", "erased.csv"],
    ["update", "visits.verosim", "later.csv"],
    ["predict", "visits.verosim", "later.csv", "-o", "out.csv"],
    ["fit", "later.csv", "-t", "result", "--model", "naivebayes", "-o", "new.verosim"],
)
VERBS = (
    *COMMANDS,
    ["look", "later.csv", "-t", "result", "-o", "schema.json"],
    ["validate", "visits.verosim", "later.csv"],
    ["explain", "visits.verosim", "later.csv"],
    ["explain", "visits.verosim", "later.csv", "-o", "parts.csv"],
    ["predict", "visits.verosim", "later.csv"],
    ["sample", "visits.verosim", "--seed", "1"],
    ["sample", "visits.verosim", "--seed", "1", "-o", "drawn.csv"],
    ["merge", "visits.verosim", "visits.verosim", "-o", "all.verosim"],
    ["drift", "visits.verosim", "later.csv"],
    ["diagnose", "visits.verosim"],
    ["plot", "visits.verosim", "-o", "plot.png"],
    ["report", "visits.verosim", "-o", "report.html"],
    ["info", "visits.verosim"],
    ["info", "visits.verosim", "--json"],
    ["look", "nothing.csv"],
)


@dataclass(frozen=True)
class Child:
    """A command that runs in a fork."""

    pid: int
    err: int  # the end of the pipe of its stderr


def begin(words: list[str], place: Path, before: Callable[[], object] | None = None) -> Child:
    """Start a command in a fork."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        return Child(pid, reads)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(writes, 2)
        os.chdir(place)
        sys.argv = ["verosim", *words]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if before is not None:
            before()
        run_process()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(99)


def ended(child: Child, place: Path) -> dict[str, object]:
    """The result of a command: exit code, stderr, and a hash of each file."""
    with os.fdopen(child.err) as file:
        err = file.read()
    _, status = os.waitpid(child.pid, 0)
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(place.iterdir())
    }
    return {"code": os.waitstatus_to_exitcode(status), "stderr": err, "files": files}


def fresh(folder: Path, parent: Path) -> Path:
    """A new folder with copies of the files."""
    place = Path(tempfile.mkdtemp(dir=parent))
    for name in ("visits.verosim", "later.csv", "erased.csv"):
        shutil.copy(folder / name, place)
    return place


def send_signals(number: int, folder: Path, times: int, parent: Path) -> None:
    """Send a signal at a random moment of each command, then run the command again."""
    draw = random.Random(7)
    for words in COMMANDS:
        place = fresh(folder, parent)
        start = time.monotonic()
        whole = ended(begin(words, place), place)
        seconds = time.monotonic() - start
        for _ in range(times):
            place = fresh(folder, parent)
            child = begin(words, place)
            time.sleep(draw.uniform(0, 1.1) * seconds)
            os.kill(child.pid, number)
            found = ended(child, place)
            again = ended(begin(words, place), place)
            print(json.dumps({"words": words, **found, "again": again, "whole": whole}))
            shutil.rmtree(place)


def limit_files(folder: Path, parent: Path) -> None:
    """Run each command while files may have few bytes, as on a disk that is full."""
    for words in COMMANDS:
        for most in (0, 1000):
            place = fresh(folder, parent)

            def limit(most: int = most) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

            found = ended(begin(words, place, limit), place)
            print(json.dumps({"words": words, "most": most, **found}))


def as_nobody(folder: Path, parent: Path) -> None:
    """Run each command as a user who may read the folder and not write to it."""
    for words in COMMANDS:
        place = fresh(folder, parent)
        for path in (parent, place, *place.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)

        def leave_root() -> None:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        print(json.dumps({"words": words, **ended(begin(words, place, leave_root), place)}))


def closed(*numbers: int) -> None:
    """Streams that were closed before Python started."""
    for number in numbers:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)


def onto(number: int, to: int) -> None:
    """A stream that writes to another file, with a new buffer."""
    os.dup2(to, number)
    stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


def without_reader() -> int:
    """A pipe whose reader has ended."""
    reads, writes = os.pipe()
    os.close(reads)
    return writes


BROKEN: dict[str, Callable[[], object]] = {
    "no stdout": lambda: closed(1),
    "no streams": lambda: closed(0, 1, 2),
    "broken stdout": lambda: onto(1, without_reader()),
    "broken stderr": lambda: onto(2, without_reader()),
    "full stdout": lambda: onto(1, os.open("/dev/full", os.O_WRONLY)),
}


def break_streams(folder: Path, parent: Path) -> None:
    """Run each verb with standard streams that cannot be used."""
    for words in VERBS:
        place = fresh(folder, parent)
        whole = ended(begin(words, place), place)
        for kind, broken in BROKEN.items():
            place = fresh(folder, parent)
            found = ended(begin(words, place, broken), place)
            print(json.dumps({"words": words, "kind": kind, **found, "whole": whole}))
            shutil.rmtree(place)


def run_all() -> None:
    what, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        words = VERBS if what == "streams" else COMMANDS
        load_all(Path(rest[1] if what == "signal" else rest[0]), parent, words)
        if what == "signal":
            number = getattr(signal, f"SIG{rest[0]}")
            send_signals(number, Path(rest[1]), int(rest[2]), parent)
        elif what == "limited":
            limit_files(Path(rest[0]), parent)
        elif what == "streams":
            break_streams(Path(rest[0]), parent)
        else:
            as_nobody(Path(rest[0]), parent)


def load_all(folder: Path, parent: Path, commands: Sequence[list[str]]) -> None:
    """Run each command once in this process, so that all it needs is loaded before the forks."""
    with (
        chdir(fresh(folder, parent)), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):  # fmt: skip
        for words in commands:
            main(words)


if __name__ == "__main__":
    run_all()
