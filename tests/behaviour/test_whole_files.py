"""Files appear whole or not at all, nothing that was planted is followed, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.behaviour.command_line import SOURCE
from tests.examples import tried_often
from verosim.cli.output_files import output_file
from verosim.whole_files import whole_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")

X, Y = np.array([[1.0], [2.0], [4.0], [5.0], [2.5], [3.5]]), np.array([0, 0, 1, 1, 0, 1])
SECRET = b"do not touch"


@cache
def shown() -> dict[str, object]:
    """What can be saved, by the name of its file."""
    model = verosim.GaussianNB().fit(X, Y)
    rows, labels = np.arange(40.0)[:, None], np.arange(40) % 2
    models = {"a": verosim.GaussianNB(), "b": verosim.LDA()}
    return {
        "model.verosim": model,
        "schema.json": verosim.look({"size": [1.5, 2.5], "hue": ["red", "blue"]}),
        "nomogram.html": verosim.nomogram(model),
        "curves.json": verosim.compare(models, rows, labels, sizes=[20], repeats=1),
    }


def write_table(path: Path) -> None:
    with output_file(str(path)) as file:
        file.write(b"a,b\n1,2\n")


WRITERS: dict[str, Callable[[Path], object]] = {
    "model.verosim": lambda path: verosim.save(shown()[path.name], path),
    "rows.csv": write_table,
    **{
        name: lambda path: shown()[path.name].save(path)
        for name in ("schema.json", "nomogram.html", "curves.json")
    },
}
PLANTS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, target: path.symlink_to(target),
    "dangling link": lambda path, target: path.symlink_to(target.with_name("new")),
    "hard link": lambda path, target: path.hardlink_to(target),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "file": lambda path, _: path.write_bytes(b"old"),
}


def left(name: str) -> list[str]:
    """Names that a writer of this file might use: those of older versions, and of killed ones."""
    return [
        f".{name}.part", f".{name}.{os.getpid()}.part", f"{name}.part", f"{name}.tmp", f".{name}",
        f".verosim-{'0' * 32}.part", f".verosim-{'a' * 32}.part", ".verosim-x.part",
    ]  # fmt: skip


@tried_often
@given(data=st.data(), name=st.sampled_from(sorted(WRITERS)))
def test_what_is_planted_is_not_followed(data, name):
    plants = data.draw(
        st.dictionaries(st.sampled_from(left(name)), st.sampled_from(sorted(PLANTS)), max_size=4)
    )
    with TemporaryDirectory() as place, TemporaryDirectory() as elsewhere:
        folder, target = Path(place), Path(elsewhere, "target")
        target.write_bytes(SECRET)
        for plant, kind in plants.items():
            PLANTS[kind](folder / plant, target)
        WRITERS[name](folder / name)
        assert target.read_bytes() == SECRET
        assert os.listdir(elsewhere) == ["target"]
        written = (folder / name).stat()
        assert written.st_size > 0
        assert written.st_nlink == 1
        found = set(os.listdir(folder)) - {name}
        assert found <= set(plants)
        ours = {plant for plant in plants if len(plant) > 40}
        # A file of a killed process is removed, and files with any other name are not.
        assert not {one for one in found & ours if plants[one] in ("file", "hard link")}
        assert set(plants) - ours <= found


class Broken(Exception):
    pass


@tried_often
@given(
    old=st.none() | st.binary(),
    written=st.lists(st.binary(max_size=5), max_size=3),
    problem=st.sampled_from([None, Broken, OSError, KeyboardInterrupt, SystemExit]),
    inner=st.booleans(),
)
def test_old_or_new_and_nothing_beside_it(old, written, problem, inner):
    with TemporaryDirectory() as place:
        path = Path(place, "rows.csv")
        if old is not None:
            path.write_bytes(old)
            path.chmod(0o640)
        with suppress(Broken, OSError, KeyboardInterrupt, SystemExit), whole_file(path) as file:
            for piece in written:
                file.write(piece)
            if inner:  # another writer of the same file ends first, and removes what was left
                with whole_file(path) as other:
                    other.write(b"other")
            if problem is not None:
                raise problem
        before = b"other" if inner else old
        found = path.read_bytes() if path.exists() else None
        assert found == (before if problem else b"".join(written))
        assert os.listdir(place) == ([] if found is None else ["rows.csv"])
        if old is not None:
            assert path.stat().st_mode & 0o777 == 0o640


def test_the_lock_of_a_model_follows_no_link(tmp_path):
    path, target = tmp_path / "model.verosim", tmp_path / "target"
    verosim.save(shown()["model.verosim"], path)
    (tmp_path / ".model.verosim.lock").symlink_to(target)
    from verosim.cli.models import locked_model

    with pytest.raises(verosim.VerosimError, match="cannot be written to"), locked_model(path, 0):
        pass
    assert not target.exists()


def test_an_error_names_the_file_of_the_user(tmp_path):
    path = tmp_path / "no" / "rows.csv"
    with pytest.raises(FileNotFoundError, match=r"rows\.csv"), whole_file(path):
        pass


def test_the_file_of_a_killed_process_is_removed_by_the_next_one(tmp_path):
    path = tmp_path / "rows.csv"
    code = f"""if True:
        import os, signal
        from verosim.whole_files import whole_file
        with whole_file({str(path)!r}) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == -9
    (part,) = tmp_path.iterdir()
    assert part.read_bytes() == b"half"
    with whole_file(tmp_path / "other.csv") as file:
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["other.csv"]
