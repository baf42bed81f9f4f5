"""Commands that are interrupted, killed, or cannot write: the old file or the new file remains."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import verosim
from tests.behaviour.command_line import SOURCE, run, start, wait_for_input

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
GIVEN = ["erased.csv", "later.csv", "visits.verosim"]
ROOT = Path(__file__).parents[2]


def forks(*words: object) -> list[dict]:
    env = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}", "VEROSIM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.behaviour.command_line_forks", *map(str, words)],
        env=env, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_old_or_new(found: dict, old: dict[str, str], litter: set[str] = frozenset()) -> None:
    """Every file is that of before or that of a whole run."""
    new = found["whole"]["files"]
    for name, value in found["files"].items():
        if name not in litter:
            assert value in (old.get(name), new.get(name)), (found["words"], name)
    assert set(old) <= set(found["files"])


@pytest.fixture(scope="module")
def old(folder):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in GIVEN}


@pytest.mark.slow
def test_ctrl_c_at_random_moments(folder, old):
    results = forks("signal", "INT", folder, 6)
    assert len(results) == 24
    assert 130 in {found["code"] for found in results}
    for found in results:
        check_old_or_new(found, old)
        assert found["code"] in (0, 130)
        assert "Traceback" not in found["stderr"]
        if found["code"] == 130:
            assert found["stderr"].splitlines()[-1] == "interrupted"
        assert not [name for name in found["files"] if name.startswith(".")]


def test_ctrl_c_inside_code_that_cannot_raise_it_comes_later():
    code = """if True:
        import os, signal, sys, time
        from verosim.cli import main

        class Last:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(10):
                    pass

        def verb():
            Last()
            time.sleep(60)

        main.main = verb
        main.run_process()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.slow
def test_a_killed_command_leaves_the_old_or_the_new_file(folder, old):
    results = forks("signal", "KILL", folder, 6)
    assert -9 in {found["code"] for found in results}
    for found in results:
        litter = {name for name in found["files"] if name.startswith(".")}
        check_old_or_new(found, old, litter)
        # The next run is not hindered, and it removes what was left.
        assert found["again"]["code"] in (0, 1)  # rows that are forgotten cannot be forgotten again
        assert not [name for name in found["again"]["files"] if name.startswith(".")]


@pytest.mark.slow
def test_streams_that_cannot_be_used_change_no_file(folder, old):
    """Only results that somebody should read and that a full disk loses are an error."""
    for found in forks("streams", folder):
        what = found["words"], found["kind"], found["stderr"]
        assert "Traceback" not in found["stderr"], what
        assert found["files"] == found["whole"]["files"], what
        if found["kind"] != "full stdout":
            assert found["code"] == found["whole"]["code"], what
        elif found["code"] != found["whole"]["code"]:
            assert found["code"] == 1, what
            assert "No space left on device" in found["stderr"], what


ENCODINGS = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_without_our_characters_changes_no_code(folder, tmp_path, encoding):
    rows = tmp_path / "rows.csv"
    rows.write_text((folder / "later.csv").read_text().replace("phone", "teléfono→"), "utf-8")
    words = ["fit", rows, "-t", "result", "--model", "naivebayes", "-o", tmp_path / "m.verosim"]
    with start(*words, more=ENCODINGS[encoding], text=False) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    found = out.decode("cp1252" if encoding == "cp1252" else "ascii")
    assert "accuracy" in found
    assert ("±" if encoding == "cp1252" else "+-") in found
    words = ["explain", tmp_path / "m.verosim", rows]
    with start(*words, more=ENCODINGS[encoding], text=False) as process:
        found = process.communicate()[0].decode("cp1252" if encoding == "cp1252" else "ascii")
    assert process.returncode == 0
    assert ("teléfono->" if encoding == "cp1252" else "tel\\xe9fono->") in found


SHELL_STREAMS = [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "| true", "2>&1 | true", "1</dev/null"]


@pytest.mark.slow
@pytest.mark.parametrize("streams", SHELL_STREAMS)
def test_a_shell_that_closes_streams(folder, tmp_path, streams):
    model = tmp_path / "m.verosim"
    command = (
        f"set -o pipefail; {sys.executable} -m verosim fit {folder / 'later.csv'} -t result "
        f"--model naivebayes --folds 0 -o {model} {streams}"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "VEROSIM_THREADS": "1"}
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True)
    assert model.exists(), done
    assert verosim.load(model).class_count_.sum() == 100
    if streams == "1</dev/null":  # somebody should read the results, and they are lost
        assert done.returncode == 1
        assert "Bad file descriptor" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["fit", "look", "predict", "model"])
def test_ctrl_c_while_a_named_pipe_waits_for_a_writer(folder, tmp_path, verb):
    import signal

    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    words = {
        "fit": ["fit", pipe, "-t", "result", "-o", tmp_path / "m.verosim"],
        "look": ["look", pipe],
        "predict": ["predict", folder / "visits.verosim", pipe, "-o", tmp_path / "o.csv"],
        "model": ["info", pipe],
    }[verb]
    with start(*words) as process:
        wait_for_input(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.slow
def test_a_named_pipe_is_read_as_stdin(folder, tmp_path):
    from threading import Thread

    pipe, model = tmp_path / "rows", tmp_path / "m.verosim"
    os.mkfifo(pipe)

    def given(words: list[object]) -> str:
        writer = Thread(target=pipe.write_bytes, args=[(folder / "later.csv").read_bytes()])
        writer.start()
        out = run(*words).stdout
        writer.join()
        return out

    given(["fit", pipe, "-t", "result", "--model", "naivebayes", "-o", model])
    assert verosim.load(model).class_count_.sum() == 100
    expected = run("predict", model, folder / "later.csv").stdout
    assert given(["predict", model, pipe]) == expected


@pytest.mark.slow
def test_a_limit_of_the_size_of_files(folder, old):
    for found in forks("limited", folder):
        assert found["code"] == 1, found
        assert found["files"] == old, found["words"]


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root becomes another user"
)
def test_a_folder_that_is_read_only(folder, old):
    for found in forks("nobody", folder):
        assert found["code"] == 1, found
        lines = found["stderr"].splitlines()
        assert lines[-2].startswith("error: "), lines
        assert "Permission denied" in lines[-2]
        assert lines[-1].startswith("hint: ")
        assert found["files"] == old


def test_a_folder_that_is_a_file(folder, model):
    inside = folder / "later.csv" / "out.csv"
    for words in (
        ["predict", model, folder / "later.csv", "-o", inside],
        ["look", folder / "later.csv", "-o", inside],
        ["explain", model, folder / "later.csv", "-o", inside],
        ["sample", model, "-o", inside],
        ["merge", model, model, "-o", inside.with_suffix(".verosim")],
        ["plot", model, "-o", inside.with_suffix(".svg")],
    ):
        err = run(*words, code=1).stderr.splitlines()
        assert "Not a directory" in err[-2], words
        assert len(err) <= 3


@pytest.mark.slow
def test_a_disk_that_is_full(folder, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    raw = (folder / "visits.verosim").read_bytes()
    size = f"size={(len(raw) // 4096 + 2) * 4096}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    try:
        model = disk / "visits.verosim"
        model.write_bytes(raw)
        err = run("forget", model, folder / "erased.csv", code=1).stderr
        assert "No space left on device" in err
        assert model.read_bytes() == raw
        err = run("predict", model, folder / "later.csv", "-o", disk / "out.csv", code=1).stderr
        assert "No space left on device" in err
        assert [path.name for path in disk.iterdir()] == ["visits.verosim"]
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_ctrl_c_while_the_library_is_loaded(folder, tmp_path):
    import signal
    import time

    for seconds in (0.05, 0.4, 0.8):
        with start("predict", folder / "visits.verosim", "-", "-o", tmp_path / "out.csv",
                   stdin=subprocess.PIPE) as process:  # fmt: skip
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        if process.returncode == -2 or "Could not import runpy module" in err:
            continue  # Python stopped before the first line of verosim
        assert (process.returncode, err) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_the_model_files_of_the_tests_are_whole(folder):
    assert verosim.load(folder / "visits.verosim").class_count_.sum() == 300
