"""The companion to the notes: its calls exist, its lessons and errata too, in both languages."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from examples.lessons import NAMES

import verosim

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = [DOCS, DOCS / "es"]
CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)
ANCHOR = re.compile(r"\{ #(\w+) \}$", re.M)
NOTES = 5


@pytest.fixture(params=FOLDERS, ids=["en", "es"])
def folder(request):
    return request.param


def page(folder: Path) -> str:
    return CODE_BLOCK.sub("", (folder / "companion.md").read_text("utf-8"))


def rows(folder: Path) -> list[list[str]]:
    """The cells of the tables, without the heads."""
    lines = re.findall(r"^\| (.*) \|$", page(folder), re.M)
    return [
        line.split(" | ") for line in lines if "lesson |" not in line and "lección |" not in line
    ]


def member(dotted: str) -> Any:
    """A public name of verosim, or a fitted attribute that the docstring of its class lists."""
    value: Any = verosim
    for name in dotted.split("."):
        if not hasattr(value, name) and re.search(rf"^\s+{name} : ", value.__doc__ or "", re.M):
            return None
        value = getattr(value, name)
    return value


def check_call(code: str) -> None:
    """The name exists, and a call passes arguments that its signature has."""
    tree = ast.parse(code, mode="eval").body
    if isinstance(tree, ast.Call):
        known = inspect.signature(member(ast.unparse(tree.func))).parameters
        assert {word.arg for word in tree.keywords} <= set(known), code
        assert not tree.args, f"{code}: name the arguments"
    else:
        member(ast.unparse(tree))


def test_every_call_exists(folder):
    codes = re.findall(r"`([^`]+)`", page(folder))
    assert len(codes) > 100
    for code in codes:
        check_call(code)
    for target in re.findall(r"\]\[verosim\.([\w.]+)\]", page(folder)):
        member(target)


def test_an_unknown_call_is_found():
    for code in ("LDA.no_such_method", "NoSuchModel", "LDA(no_such_argument=1)"):
        with pytest.raises((AttributeError, AssertionError)):
            check_call(code)


def test_every_lesson_is_used(folder):
    linked = re.findall(r"\]\(lessons/(\w+)\.md\)", page(folder))
    assert set(linked) - {"index"} == set(NAMES)


def test_every_erratum_is_used(folder):
    known = ANCHOR.findall((folder / "errata.md").read_text("utf-8"))
    assert len(known) == len(set(known)) == 42
    linked = set(re.findall(r"\]\(errata\.md#(\w+)\)", page(folder)))
    assert linked == set(known) - {"x3"}  # x3 is a list of slips of notation


def test_every_row_has_a_counterpart():
    """A row names a call, except for the deep models that the notes leave to another course."""
    found = [row for row in rows(DOCS) if "`" not in row[1]]
    assert len(found) == 1
    assert "deep models" in found[0][1]


def test_both_languages_have_the_same_rows():
    english, spanish = (page(folder) for folder in FOLDERS)
    assert len(re.findall(r"^## ", english, re.M)) == NOTES
    for pattern in (r"`[^`]+`", r"\]\(lessons/\w+\.md\)", r"\]\(errata\.md#\w+\)"):
        assert re.findall(pattern, english) == re.findall(pattern, spanish)
    ours, theirs = (rows(folder) for folder in FOLDERS)
    assert [len(row) for row in ours] == [len(row) for row in theirs] == [4] * len(ours)
    figures = [sum("**Fig" in row[0] or "**d" in row[0] for row in part) for part in (ours, theirs)]
    assert figures[0] == figures[1] > 15


def test_errata_have_the_same_anchors():
    english, spanish = (
        ANCHOR.findall((folder / "errata.md").read_text("utf-8")) for folder in FOLDERS
    )
    assert english == spanish
