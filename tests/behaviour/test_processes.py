"""Child processes work: forked while threads work, forked, spawned, and started by joblib."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.utils.parallel import Parallel, delayed

import verosim
from verosim.linalg import one_blas_thread

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # Python warns of fork with threads
]
LIMIT = 60.0  # seconds after which a child counts as hung

RNG = np.random.default_rng(3)
X = RNG.normal(size=(20_000, 6))
Y = (X[:, 0] + RNG.normal(size=len(X)) > 0).astype(int)
TABLE = {"x": X[:, 0], "k": np.where(X[:, 1] > 0, "a", "b"), "y": Y}


def _fitted(model: Any = None) -> list[float]:
    """Sums and scores that need our threads, BLAS and compiled loops."""
    with verosim.use_threads(2):
        lda = verosim.LDA().fit(X, Y)
        mixed = verosim.NaiveBayes().fit(TABLE, "y")
        if model is not None:
            model.partial_fit(X[:50], Y[:50])
        return [float(lda.predict_proba(X)[:, 1].mean()), float(mixed.score(TABLE, "y"))]


def _exit_status(work: Callable[[], Any]) -> int | None:
    """The status of a forked child that works, or None if it hangs."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("children", [8, pytest.param(400, marks=pytest.mark.soak)])
def test_children_that_are_forked_while_threads_work_do_not_hang(children):
    model = verosim.GaussianNB().fit(X, Y)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            _fitted(model)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        found = [_exit_status(lambda: _fitted(model)) for _ in range(children)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert found == [0] * children


def test_a_child_does_not_wait_for_locks_of_threads_that_it_does_not_have():
    model = verosim.NaiveBayes().fit(TABLE, "y")
    reading, forked = threading.Event(), threading.Event()

    def tables() -> Any:
        with one_blas_thread.lock:
            reading.set()
            forked.wait(LIMIT)
        yield TABLE

    updating = threading.Thread(target=lambda: model.partial_fit(tables(), "y"))
    updating.start()
    reading.wait(LIMIT)
    try:
        status = _exit_status(lambda: (_fitted(), model.partial_fit(TABLE, "y").predict(TABLE)))
    finally:
        forked.set()
        updating.join()
    assert status == 0
    assert model.class_count_.sum() == 2 * len(Y)


def test_a_child_does_not_wait_for_modules_that_a_thread_imports(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.5)\nVALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=importlib.import_module, args=["slow_to_import"])
    thread.start()
    time.sleep(0.1)
    status = _exit_status(lambda: importlib.import_module("slow_to_import").VALUE)
    thread.join()
    assert status == 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_give_the_same_numbers(method):
    expected = _fitted()
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.apply_async(_fitted).get(LIMIT)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib_gives_the_same_numbers_and_returns_models(backend):
    expected = _fitted()
    run = Parallel(n_jobs=2, backend=backend, timeout=LIMIT)
    np.testing.assert_array_equal(run([delayed(_fitted)() for _ in range(3)]), [expected] * 3)
    parts = run([delayed(verosim.GaussianNB().fit)(X[i::2], Y[i::2]) for i in range(2)])
    assert sum(parts).class_count_.sum() == len(Y)
