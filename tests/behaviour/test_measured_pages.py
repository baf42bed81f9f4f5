"""Measured tables: their place in a page, their commit, and what has changed since."""

from __future__ import annotations

import os
import re
import shutil
import string
import subprocess

import pytest
from benchmarks import pages, stale
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import tried_often

CELLS = st.text(string.ascii_letters + string.digits + " |-–×\n", max_size=60)


@tried_often
@given(
    texts=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4), at=st.integers(0, 3), new=CELLS
)
def test_one_table_is_replaced_and_the_rest_of_the_page_stays(tmp_path_factory, texts, at, new):
    at %= len(texts)
    root = tmp_path_factory.getbasetemp()
    page = root / "page.md"

    def text(tables):
        return "".join(f"{above}\n<!-- t {i} -->\n{table}<!-- end t {i} -->\n"
                       for i, (above, table) in enumerate(tables))  # fmt: skip

    page.write_text(text(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "ROOT", root)
        patch.setattr("sys.orig_argv", ["python", "-m", "benchmarks.some", "--rows", "3"])
        for table in ("an older table", new):
            pages.keep("page.md", f"t {at}", table, "2026-11-17, commit `1a2b3c4`")
    line = "2026-11-17, commit `1a2b3c4`: `python -m benchmarks.some --rows 3`\n"
    texts[at] = (texts[at][0], f"{new.rstrip()}\n\n{line}")
    assert page.read_text() == text(texts)
    found = dict(stale.TABLE.findall(page.read_text()))
    assert stale.MEASURED.search(found[f"t {at}"]).groups() == (
        "1a2b3c4",
        "benchmarks.some --rows 3",
    )


def test_every_measured_table_names_its_commit_and_its_code():
    found = list(stale.tables(pages.ROOT))
    assert len(found) > 40
    for page, mark, commit, command in found:
        assert commit, f"{page}: {mark} has no commit"
        names = stale.code(pages.ROOT, command).split()
        assert names, f"{command} has no CODE"
        for name in names:
            assert list((pages.ROOT / "src" / "verosim").glob(f"{name}*")), f"{command}: {name}"


def test_the_commit_of_results_of_several_runs_is_the_oldest():
    results = [{"commit": "2026-11-18, commit `b`"}, {"commit": "2026-11-17, commit `a`"}]
    assert pages.oldest(results) == "2026-11-17, commit `a`"
    assert pages.oldest([*results, {"seconds": 1.0}]) == pages.UNKNOWN


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_tables_older_than_their_code_are_listed(tmp_path):
    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    def commit(day):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        when = f"2026-01-0{day}T00:00:00+00:00"
        env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
        subprocess.run(["git", *who, "commit", "-qm", "change"], cwd=tmp_path, check=True, env=env)
        return pages.git("log", "-1", "--format=%h", root=tmp_path)

    def table(mark, commit, command):
        return (f"<!-- {mark} -->\n| 1 |\n\n2026-01-01, commit `{commit}`: `python -m {command}`\n"
                f"<!-- end {mark} -->\n")  # fmt: skip

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    write("README.md", "Nothing is measured here.\n")
    write("benchmarks/sums.py", 'CODE = "stats linalg"\n')
    write("benchmarks/plots/__main__.py", 'CODE = "drawing"\n')
    write("src/verosim/stats/counts.py", "1\n")
    write("src/verosim/linalg.py", "1\n")
    write("src/verosim/drawing.py", "1\n")
    first = commit(1)
    for day in (2, 3):
        write("src/verosim/stats/counts.py", f"{day}\n")
        second = commit(day)
    write("src/verosim/linalg.py", "2\n")  # not committed, but changed
    text = table("new", second, "benchmarks.plots") + table("old", first, "benchmarks.sums --all")
    write("docs/page.md", text + table("lost", "fffffff", "benchmarks.sums"))
    assert stale.listing(tmp_path) == [
        "commit unknown  docs/page.md: lost",
        "    python -m benchmarks.sums, of stats linalg",
        f"{first} 2026-01-01, changed since: 2 files, 2 commits  docs/page.md: old",
        "    python -m benchmarks.sums --all, of stats linalg",
        f"{second} 2026-01-03, changed since: 0 files, 0 commits  docs/page.md: new",
        "    python -m benchmarks.plots, of drawing",
    ]
    write("src/verosim/drawing.py", "2\n")
    assert "1 files, 0 commits" in stale.listing(tmp_path)[4]


def test_the_commit_is_the_last_one_of_the_repository():
    assert re.match(r"\d{4}-\d\d-\d\d, commit `\w+`|\(commit unknown\)", pages.COMMIT)
    assert pages.git("log", root=pages.ROOT / "no such folder") == ""


# Sentences ----------------------------------------------------------------------------------------

SHOWN = re.compile(r"^```.*?^```|^<!-- ([^>]*) -->$.*?<!-- end \1 -->|^\|.*?$", re.M | re.S)
NOT_PROSE = re.compile(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)")
FIGURE = re.compile(r"(?<![\w.,§-])\d+\.\d+(?![\w.]*\d)")
CONSTANTS = {"1.96", "2.45", "97.5", "3.11", "2.10", "2.14"}  # quantiles, a version, figures
PAGES = [pages.ROOT / "README.md", *sorted((pages.ROOT / "docs").rglob("*.md"))]


def unknown_figures(text):
    """Numbers of three digits or more in sentences that no code or table of the page shows."""
    shown = [float(found) for part in SHOWN.finditer(text)
             for found in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", part[0])]  # fmt: skip
    for found in FIGURE.findall(NOT_PROSE.sub("", SHOWN.sub("", text))):
        digits = len(found.split(".")[1])
        rounded = (round(unit * value, digits) for value in shown for unit in (1, 100))
        long = len(found.replace(".", "").lstrip("0")) >= 3
        if long and found not in CONSTANTS and float(found) not in rounded:
            yield found


@pytest.mark.parametrize("page", [
    page.relative_to(pages.ROOT).as_posix() for page in PAGES
    if "/es/" not in page.as_posix() and page.name != "errata.md"
])  # fmt: skip
def test_numbers_in_sentences_are_those_that_the_page_shows(page):
    assert list(unknown_figures((pages.ROOT / page).read_text("utf-8"))) == []


@tried_often
@given(value=st.floats(0.0101, 0.99, allow_subnormal=False), digits=st.integers(3, 6))
def test_a_number_that_the_page_does_not_show_is_found(value, digits):
    page = "A table:\n\n| x |\n|---|\n| {} |\n\nThe error is {} here, and {} % there.\n"
    shown = f"{value:.6f}"
    rounded, percent = f"{float(shown):.{digits}f}", f"{100 * float(shown):.1f}"
    other = f"{float(shown) + 0.0021:.{digits}f}"
    assert list(unknown_figures(page.format(shown, rounded, percent))) == []
    if len(other.replace(".", "").lstrip("0")) >= 3:
        assert list(unknown_figures(page.format(shown, other, percent))) == [other]
