"""`verosim warm` compiles every loop that the models of its tasks use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import verosim
from verosim.cli.warm_jobs import TASKS, run

SOURCE = Path(verosim.__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("task", range(len(TASKS)), ids=[task.__name__ for task in TASKS])
def test_every_task_runs(task):
    run(task)


@pytest.mark.soak
def test_nothing_is_compiled_after_it(tmp_path):
    """In a new process, the models find all their loops in the cache."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "verosim", "warm"], env=env, check=True)
    code = """
from numba.core.event import Listener, register
compiled = []
class Listen(Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
register("numba:compile", Listen())
from verosim.cli.warm_jobs import TASKS, run
for task in range(len(TASKS)): run(task)
print(compiled)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
