"""Commands with wrong words end with an exit code and a message, whatever the verb."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import typer.main
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.behaviour.command_line import run
from tests.examples import tried_often
from tests.wrong_calls import fitted, here, in_empty_folder, naive
from verosim.cli.app import app

VERBS = typer.main.get_command(app).commands
LONG = {"warm", "demo"}  # they take no wrong words, and seconds
FOUND = {0, 1, 2, 3}  # success, refused, wrong command, a check that failed
WORDS = """
abc -1 0 1 2 3 1e999 nan 0.5 1.5 -2.5 10000000000000000000000000 table.csv naive.verosim
lda.verosim texts.verosim empty.csv bytes.csv head.csv ragged.csv folder bad.json rows.sqlite
/dev/null / /nosuch/x class size k0 size=number class=ignore size= = size=3 town=Lima out.csv
out.verosim out.parquet out.svg out.html out.json out.xyz folder/out.csv alpha=3 alpha=abc
covariance=own LDA NaiveBayes TextNB auto accuracy log_loss utf-8 no-encoding ; | é loo time:size
*.csv [1] {} None -- - es uniform k0=0.5,k1=0.5 1GB -5MB 10%
""".split()  # noqa: SIM905
WORDS += ["", "\t", "\udc80", "x" * 400, "select * from rows", "drop table rows"]


def random_command(seed: int) -> list[str]:
    """A verb, its files, most of them as they should be, and some options with any values."""
    dice = random.Random(seed)
    verb = dice.choice(sorted(VERBS.keys() - LONG))
    words = [verb]
    for p in VERBS[verb].params:
        if p.param_type_name == "argument":
            good = "naive.verosim" if "model" in p.name else "table.csv"
            for _ in range(1 if p.nargs == 1 else 2):
                words.append(good if dice.random() < 0.75 else dice.choice(WORDS))
        elif p.name not in ("help", "debug") and dice.random() < 0.15:
            words.append(dice.choice([*p.opts, *p.secondary_opts]))
            words += [] if p.is_flag else [dice.choice(WORDS)]
    return words


def write_files(folder: Path) -> None:
    shutil.copy(here() / "table.csv", folder)
    verosim.save(naive(), folder / "naive.verosim")
    verosim.save(fitted("LDA"), folder / "lda.verosim")
    verosim.save(fitted("TextNB"), folder / "texts.verosim")
    (folder / "folder").mkdir()
    (folder / "empty.csv").write_text("")
    (folder / "bytes.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "head.csv").write_text("size,width,town,class\n")
    (folder / "ragged.csv").write_text("a,b\n1\n1,2,3\n")
    (folder / "bad.json").write_text("{")
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        rows.execute("create table rows (a, b)")


@pytest.mark.slow
@tried_often
@given(seed=st.integers(0, 1 << 32))
def test_wrong_words(seed):
    words = random_command(seed)
    with in_empty_folder():
        write_files(Path.cwd())
        ended = run(*words, code=None, given="size,width\n1,2\n")
    assert not re.search("Unexpected|Traceback|RuntimeWarning", ended.stderr), (words, ended)
    assert ended.code in FOUND, words
    assert ended.code == 0 or "error: " in ended.stderr, (words, ended)
