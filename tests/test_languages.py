"""The Spanish pages have the same code, figures and headings as the English ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples.lessons import NAMES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SPANISH = DOCS / "es"
PAIRS = {  # the Spanish page → the English one
    "README.md": ROOT / "README.md",
    "five_minutes.md": DOCS / "start" / "five_minutes.md",
    "companion.md": DOCS / "companion.md",
    "errata.md": DOCS / "errata.md",
    "lessons/index.md": DOCS / "lessons" / "index.md",
} | {f"lessons/{name}.md": DOCS / "lessons" / f"{name}.md" for name in NAMES}
CODE = re.compile(r"^```.*?^```", re.M | re.S)
PICTURE = re.compile(r"!\[[^]]*\]\(([^)]*)\)")
HEADING = re.compile(r"^(#+) ", re.M)
MEASURED = re.compile(r"^<!-- (\w+) -->\n(.*?)^<!-- end \1 -->", re.M | re.S)


def test_every_page_has_its_pair():
    pages = {path.relative_to(SPANISH).as_posix() for path in SPANISH.rglob("*.md")}
    assert pages == set(PAIRS)
    lessons = {path.stem for path in (DOCS / "lessons").glob("*.md")}
    assert lessons == {"index", *NAMES}


@pytest.mark.parametrize("page", PAIRS)
def test_code_and_figures_are_the_same(page):
    ours, theirs = (SPANISH / page).read_text("utf-8"), PAIRS[page].read_text("utf-8")
    assert CODE.findall(ours) == CODE.findall(theirs)
    bare = [CODE.sub("", text) for text in (ours, theirs)]
    figures = [[Path(path).stem.removesuffix("_es") for path in PICTURE.findall(t)] for t in bare]
    assert figures[0] == figures[1]
    depths = [[len(marks) for marks in HEADING.findall(text)] for text in bare]
    assert depths[0] == depths[1]
    assert MEASURED.findall(ours) == MEASURED.findall(theirs)


@pytest.mark.parametrize("name", NAMES)
def test_every_lesson_shows_its_picture_and_has_two_exercises(name):
    page = PAIRS[f"lessons/{name}.md"].read_text("utf-8")
    assert f"../pictures/lesson_{name}.png" in page
    exercises = page.split("\n## Exercises\n", 1)[1].split("\n## ", 1)[0]
    assert len(re.findall(r"^\d\. ", exercises, re.M)) == 2
