"""Runs many commands in forked processes, because loading the library takes a second.

python -m tests.behaviour.command_line_forks signal INT|KILL FOLDER TIMES
python -m tests.behaviour.command_line_forks limited FOLDER
python -m tests.behaviour.command_line_forks nobody FOLDER

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
from collections.abc import Callable
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


def run_all() -> None:
    what, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        load_all(Path(rest[1] if what == "signal" else rest[0]), parent)
        if what == "signal":
            number = getattr(signal, f"SIG{rest[0]}")
            send_signals(number, Path(rest[1]), int(rest[2]), parent)
        elif what == "limited":
            limit_files(Path(rest[0]), parent)
        else:
            as_nobody(Path(rest[0]), parent)


def load_all(folder: Path, parent: Path) -> None:
    """Run each command once in this process, so that all it needs is loaded before the forks."""
    with (
        chdir(fresh(folder, parent)), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):  # fmt: skip
        for words in COMMANDS:
            main(words)


if __name__ == "__main__":
    run_all()
