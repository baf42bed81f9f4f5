"""Every verb in a process of its own, on a real table, as a user would call it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command_line import start

pytestmark = pytest.mark.slow  # each command is a process


@pytest.fixture(scope="module")
def adult(data, tmp_path_factory):
    """Two halves of 4,000 rows of the adult table, and a model of the first."""
    folder = tmp_path_factory.mktemp("adult")
    table = pq.read_table(data / "adult" / "adult.parquet").slice(0, 4000)
    pq.write_table(table.slice(0, 2000), folder / "old.parquet")
    pq.write_table(table.slice(2000), folder / "new.parquet")
    words = ("fit", "old.parquet", "-t", "income", "--model", "naivebayes", "-o", "m.verosim")
    command(folder, *words)
    return folder


def command(folder: Path, *words: str) -> str:
    """The output of a command, which must succeed and print no traceback."""
    with start(*words, cwd=folder) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    return out


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("look old.parquet -t income -o s.json", "education"),
        ("fit old.parquet -t income --simple --folds 3 -o simple.verosim", "accuracy"),
        ("validate m.verosim new.parquet --at-least accuracy=0.7", "accuracy"),
        ("validate m.verosim new.parquet --by sex", "Female"),
        ("predict m.verosim new.parquet --keep age -o scored.parquet", ""),
        ("explain m.verosim new.parquet --row 17", "prior"),
        ("sample m.verosim -n 5 --given age=40", "40"),
        ("drift m.verosim new.parquet", "PSI"),
        ("diagnose m.verosim new.parquet", ""),
        ("plot m.verosim --what nomogram -o n.svg", ""),
        ("report m.verosim -o r.html", ""),
        ("info m.verosim", "income"),
    ],
)
def test_a_verb_on_the_adult_table(adult, words, printed):
    assert printed in command(adult, *words.split())


def test_update_forget_and_merge_give_the_same_model(adult):
    """The model of both halves, by two ways, and back to the first half."""
    first = json.loads(command(adult, "info", "m.verosim", "--json"))
    (adult / "grown.verosim").write_bytes((adult / "m.verosim").read_bytes())
    command(adult, "update", "grown.verosim", "new.parquet")
    assert json.loads(command(adult, "info", "grown.verosim", "--json"))["rows"] == 4000
    command(adult, "forget", "grown.verosim", "new.parquet")
    assert json.loads(command(adult, "info", "grown.verosim", "--json"))["rows"] == first["rows"]
    command(adult, "merge", "m.verosim", "grown.verosim", "-o", "both.verosim")
    assert json.loads(command(adult, "info", "both.verosim", "--json"))["rows"] == 4000
