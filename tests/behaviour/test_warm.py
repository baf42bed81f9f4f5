"""`verosim warm` compiles every loop that the models of its tasks use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import verosim

SOURCE = Path(verosim.__file__).parents[1]


@pytest.mark.slow
def test_the_tasks_call_every_loop_that_the_package_calls():
    """A new loop needs a task that calls it. Otherwise, wheels do not contain it."""
    code = """
from verosim import kernels
from verosim.cli.warm_jobs import TASKS, run
from verosim.kernels._compile import Kernel
for task in range(len(TASKS)): run(task)
loops = {name: getattr(kernels, name) for name in kernels.__all__}
loops = {name: loop for name, loop in loops.items() if isinstance(loop, Kernel)}
assert len(loops) > 100
called = ("cache_hits", "cache_misses")
print([name for name, loop in loops.items() if not any(getattr(loop.stats, c) for c in called)])
"""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


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
