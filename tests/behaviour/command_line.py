"""Runs commands of the command line, in this process and as a user runs them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import verosim
from verosim.cli.console import CONSOLE
from verosim.cli.main import main

SOURCE = Path(verosim.__file__).parents[1]


def start(*words: object, more: Mapping[str, str] | None = None, **how) -> subprocess.Popen:
    """A process of its own; `more` are further variables of its environment."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "VEROSIM_THREADS": "1", **(more or {})}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.Popen([sys.executable, "-m", "verosim", *map(str, words)], env=env, **how)


def wait_for_input(process: subprocess.Popen) -> None:
    """Wait until a process does nothing but wait, for a pipe for example."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():  # not on Linux
        time.sleep(10.0)
        return
    before, same = ("", ""), 0
    while process.poll() is None and same < 20:
        time.sleep(0.05)
        fields = stat.read_text().rpartition(")")[2].split()
        now = fields[0], " ".join(fields[11:13])  # the state, and the time of the processor
        same = same + 1 if now == before and now[0] == "S" else 0
        before = now


@dataclass(frozen=True)
class Ended:
    stdout: str
    stderr: str
    code: int = 0


class Screen(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def run(
    *words: object, code: int | None = 0, given: str | bytes = "", cwd: Path | None = None,
    stdout: type[io.TextIOWrapper] = io.TextIOWrapper, encoding: str = "utf-8",
) -> Ended:  # fmt: skip
    """The same command in this process, because loading the library takes a second."""
    raw = given.encode() if isinstance(given, str) else given
    out, err = (kind(io.BytesIO(), encoding=encoding) for kind in (stdout, io.TextIOWrapper))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        patch.setenv("COLUMNS", "80")
        patch.chdir(cwd or Path.cwd())
        found = main(list(map(str, words)))
        out.flush(), err.flush()
    texts = [stream.buffer.getvalue().decode(encoding) for stream in (out, err)]
    assert code is None or found == code, texts[1]
    assert "Traceback" not in texts[1] or CONSOLE.debug
    return Ended(*texts, found)
