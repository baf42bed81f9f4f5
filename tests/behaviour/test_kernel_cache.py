"""Compiled loops are kept on disk where that is possible, and work where it is not."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # processes that compile

SOURCE = Path(__file__).parents[2] / "src"
FIT = """
import numpy as np, verosim
X, y = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 5.0], [5.0, 4.5]]), [0, 0, 1, 1]
print(verosim.LDA(shrinkage=0.1).fit(X, y).predict(X).tolist())
"""
ADD = """
import numpy as np
from verosim.kernels import add_block, mark_integers
def run():
    high, present = np.zeros(2), np.zeros(3, dtype=np.bool_)
    add_block(high, np.zeros(2), np.ones(2))
    mark_integers(np.array([5, 7]), 5, present)
    hits = sum(add_block.stats.cache_hits.values())
    print(high.tolist(), present.tolist(), "hits", hits, "cached", bool(add_block.stats.cache_path))
"""
ADDED = "[1.0, 1.0] [True, False, True]"


def environment(source: Path = SOURCE, **more: object) -> dict[str, str]:
    absent = ("CI", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    kept = {name: value for name, value in os.environ.items() if name not in absent}
    return kept | {name: str(value) for name, value in ({"PYTHONPATH": source} | more).items()}


def output(code: str, env: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # a pipe is told nothing
    return done.stdout.strip()


def on_a_terminal(code: str, env: dict[str, str]) -> str:
    """What a process writes to stderr if stderr is a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how Linux says that a terminal is closed
        while part := os.read(ours, 4096):
            written += part
    os.close(ours)
    assert done.returncode == 0, written.decode()
    return written.decode()


@pytest.fixture
def nowhere(tmp_path):
    """An environment with no folder for a cache, for any user: files stand where folders would."""
    copy = tmp_path / "library"
    shutil.copytree(SOURCE / "verosim", copy / "verosim", ignore=lambda *_: {"__pycache__"})
    (copy / "verosim" / "kernels" / "__pycache__").write_text("")
    file = tmp_path / "file"
    file.write_text("")
    homes = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")
    return environment(copy, **dict.fromkeys(homes, file / "home"))


def test_without_a_folder_for_the_cache(nowhere):
    """Numba's own `cache=True` raises there; the library fits."""
    plain = (
        "import verosim.kernels.labels as labels, numba\n"
        "try: numba.njit(labels.mark_integers.py_func, cache=True)\n"
        "except RuntimeError as error: print('locator' in str(error))"
    )
    assert output(plain, nowhere) == "True"
    assert output(FIT, nowhere) == "[0, 0, 1, 1]"
    assert output(ADD + "run()", nowhere) == f"{ADDED} hits 0 cached False"


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("left", [b"", b"\x80\x05 no pickle"])
def test_a_damaged_cache_is_compiled_again(tmp_path, suffix, left):
    env = environment(NUMBA_CACHE_DIR=tmp_path)
    assert output(ADD + "run()", env) == f"{ADDED} hits 0 cached True"
    files = list(tmp_path.rglob(f"*{suffix}"))
    assert files
    for file in files:
        file.write_bytes(left)
    assert output(ADD + "run()", env) == f"{ADDED} hits 0 cached True"
    assert output(ADD + "run()", env) == f"{ADDED} hits 1 cached True"


def test_a_cache_that_can_no_longer_be_written(tmp_path):
    folder = tmp_path / "cache"
    gone = f"""
import pathlib, shutil
folder = pathlib.Path({str(folder)!r})
add_block.enable_caching(), mark_integers.enable_caching()
assert folder.is_dir()
shutil.rmtree(folder)
folder.write_text("")
run()
"""
    assert output(ADD + gone, environment(NUMBA_CACHE_DIR=folder)) == f"{ADDED} hits 0 cached True"


def test_a_terminal_is_told_once(tmp_path, nowhere):
    cold = environment(NUMBA_CACHE_DIR=tmp_path / "cache")
    own = "import numba; numba.njit(lambda x: x + 1)(1)\n"
    assert on_a_terminal("import verosim.kernels.sums\n" + own, cold) == ""  # not ours
    told = on_a_terminal(ADD + "run()", cold)  # two kernels, and those that they call
    assert told.count("\n") == 1
    assert told.strip() == (
        "verosim is compiling its numerical loops for this machine. This happens only once."
    )
    assert on_a_terminal(ADD + "run()", cold) == ""  # the cache is warm
    assert "NUMBA_CACHE_DIR" in on_a_terminal(ADD + "run()", nowhere)
    in_ci = environment(NUMBA_CACHE_DIR=tmp_path / "another", CI="true")
    assert on_a_terminal(ADD + "run()", in_ci) == ""


def test_a_changed_kernel_that_others_call_is_compiled_again(tmp_path):
    from verosim.kernels._compile import source_stamp, sources

    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("from verosim.kernels.second import double\n")
    second.write_text("FACTOR = 2\n")
    assert sources(first) == {first, second}
    before = source_stamp(first)
    second.write_text("FACTOR = 3\n")
    source_stamp.cache_clear()
    assert source_stamp(first) != before
    kernels = SOURCE / "verosim" / "kernels"
    assert {kernels / "vocabulary.py", kernels / "split.py"} < sources(kernels / "text.py")


def test_code_that_ships_with_the_package_is_used(tmp_path):
    """A loop that is not in the cache is loaded from the folder for the kind of processor."""
    library, level = tmp_path / "library", "x86-64-v3"
    skipped = {"__pycache__", "compiled"}
    shutil.copytree(SOURCE / "verosim", library / "verosim", ignore=lambda *_: skipped)
    built = environment(
        library, NUMBA_CACHE_DIR=tmp_path / "built", NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES=""
    )
    assert output(ADD + "run()", built) == f"{ADDED} hits 0 cached True"
    folder = library / "verosim" / "kernels" / "compiled" / level
    folder.mkdir(parents=True)
    for file in (tmp_path / "built").rglob("*.nb[ic]"):
        shutil.copy(file, folder)
    cold = environment(library, NUMBA_CACHE_DIR=tmp_path / "cold")
    ask = "from verosim.kernels.ready import level_of_this_machine as f; print(f())"
    if output(ask, cold) != level:
        pytest.skip("this processor does not have the features of x86-64-v3")
    assert output(ADD + "run()", cold) == f"{ADDED} hits 1 cached True"
    for file in folder.glob("*.nbc"):  # damaged code is compiled again
        file.write_bytes(b"")
    assert output(ADD + "run()", cold) == f"{ADDED} hits 0 cached True"


def test_a_part_of_another_loop_can_be_called_from_python(tmp_path):
    """Its code is made for the caller first. Only a call from Python makes a function of it."""
    code = """
import numpy as np
from verosim.kernels.sums import accumulate, add_block
high, low = np.zeros(2), np.zeros(2)
add_block(high, low, np.ones(2))
counts = [bool(accumulate.stats.cache_misses)]
accumulate(high, low, 1, 2.0)
counts.append(bool(accumulate.stats.cache_misses))
add_block(high, low, np.ones(2))
print(high.tolist(), counts)
"""
    env = environment(NUMBA_CACHE_DIR=tmp_path)
    assert output(code, env) == "[2.0, 4.0] [False, True]"
    assert {file.name.split("-")[0] for file in tmp_path.rglob("*.nbi")} == {
        "sums.accumulate", "sums.add_block",
    }  # fmt: skip


def test_an_unknown_version_of_numba_compiles_in_its_own_way(tmp_path):
    code = """
import numpy as np
from verosim.kernels import _compile
def unknown(kernel, types): raise AttributeError("codegen")
_compile.compile_part = unknown
from verosim.kernels.sums import accumulate, add_block
high = np.zeros(2)
add_block(high, np.zeros(2), np.ones(2))
print(high.tolist(), bool(accumulate.stats.cache_misses))
"""
    assert output(code, environment(NUMBA_CACHE_DIR=tmp_path)) == "[1.0, 1.0] True"


def test_a_loop_makes_arrays_if_a_loop_that_it_calls_does():
    from verosim.kernels._parts import makes_arrays
    from verosim.kernels.labels import mark_integers
    from verosim.kernels.lanes import aligned_zeros
    from verosim.kernels.row_scores import padded_row, score_linear

    found = [makes_arrays(one) for one in (aligned_zeros, padded_row, score_linear, mark_integers)]
    assert found == [True, True, True, False]
