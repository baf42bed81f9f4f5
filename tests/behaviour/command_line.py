"""Runs commands of the command line, in this process and as a user runs them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import verosim
from verosim.cli.main import main

SOURCE = Path(verosim.__file__).parents[1]


def start(*words: object, **how) -> subprocess.Popen:
    """A process of its own."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "VEROSIM_THREADS": "1"}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(
        [sys.executable, "-m", "verosim", *map(str, words)], env=env, text=True, **how
    )


@dataclass(frozen=True)
class Ended:
    stdout: str
    stderr: str


def run(*words: object, code: int = 0, given: str | bytes = "", cwd: Path | None = None) -> Ended:
    """The same command in this process, because loading the library takes a second."""
    raw = given.encode() if isinstance(given, str) else given
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        patch.setenv("COLUMNS", "80")
        patch.chdir(cwd or Path.cwd())
        found = main(list(map(str, words)))
        out.flush(), err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    assert found == code, texts[1]
    assert "Traceback" not in texts[1]
    return Ended(*texts)
