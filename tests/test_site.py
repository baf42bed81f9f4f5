"""The documentation site: every public name has an entry, links lead somewhere, nothing is fetched.

The site is built once, in a temporary folder, with the command of `make docs`.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.exceptions import PluginError
from site_hooks.docstrings import PlainTypes
from site_hooks.math import with_mathml
from site_hooks.prompts import code_of, with_code_to_copy
from site_hooks.reference import GROUPS, methods, public_names, value_of
from site_hooks.tables import with_figures

ROOT = Path(__file__).parents[1]
FETCHED = {  # the attributes by which an element loads a file
    "script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src",
    "audio": "src", "object": "data", "embed": "src",
}  # fmt: skip
LINKS = {"icon", "stylesheet", "preconnect", "preload", "prefetch", "modulepreload"}
IN_STYLE = re.compile(r"""@import[^;]*|url\(\s*["']?(?:https?:)?//[^)]*""")


# The reference ---------------------------------------------------------------------------------


def test_every_public_name_is_in_one_group():
    listed = Counter(name for group in GROUPS for name in group.names)
    assert set(listed) - public_names() == set(), "these names are not public"
    assert public_names() - set(listed) == set(), "put these names in a group of the reference"
    assert [name for name, count in listed.items() if count > 1] == []


def test_inherited_methods_are_shown():
    shown = methods(value_of("verosim.LDA"))
    assert shown[:2] == ["fit", "partial_fit"]
    assert {"predict_proba", "sample", "merge", "transform"} <= set(shown)
    assert "set_state" not in shown


def test_types_are_shown_as_written():
    doc = """Do it.

    Parameters
    ----------
    *rows : array-like, str or None, default=None
        The rows.
    schema : Schema or None
        The kinds of the columns.
    """
    section = PlainTypes(doc, parser="numpy").parsed[1]
    assert section.kind.value == "parameters"
    rows, schema = section.value
    assert rows.annotation == "array-like, str or None"
    assert str(schema.annotation) == "Schema or None"


# Formulas --------------------------------------------------------------------------------------


def formula(latex: str) -> str:
    return with_mathml(rf'<span class="arithmatex">\({latex}\)</span>')


def test_formulas_become_mathml():
    found = formula(r"\log p(x \mid k)")
    assert found.startswith("<math ")
    assert r'alttext="\log p(x \mid k)"' in found
    assert 'rspace="0.17em">log</mo><mi>p</mi>' in found
    assert 'display="block"' in with_mathml(r'<div class="arithmatex">\[x\]</div>')


def test_an_unknown_command_stops_the_build():
    with pytest.raises(PluginError, match=r"unknown command: \\nonsense"):
        formula(r"\nonsense x")


# Tables ----------------------------------------------------------------------------------------


def test_short_figures_are_not_broken():
    found = with_figures("<td>5.9 ms</td><td><strong>0.8</strong> / 0.4</td><td>text</td>")
    assert found.count('<td class="figure">') == 2
    long = "<td>One of the 24 studies, in a sentence.</td>"
    assert with_figures(long) == long


# Code to copy ----------------------------------------------------------------------------------


def test_code_without_prompts_and_output():
    session = """
    >>> for i in range(2):
    ...     print(i)
    0
    1
    >>> x = [1,
    ...      2]
    >>> x
    [1, 2]
    """
    assert code_of(session) == "for i in range(2):\n    print(i)\n\nx = [1,\n     2]\nx\n"


def test_the_copy_button_gets_the_code():
    block = '<div class="language-pycon highlight"><pre><span></span><code>{}</code></pre></div>'
    session = block.format('<span class="gp">&gt;&gt;&gt; </span>&quot;a&quot;\n&#39;a&#39;\n')
    assert 'highlight" data-copy="&quot;a&quot;\n">' in with_code_to_copy(session)
    command = block.format("pip install .\n")
    assert with_code_to_copy(command) == command


# Measured tables and links of the repository -----------------------------------------------------


def test_measured_tables_have_a_script():
    """The marks of a page are those that a benchmark writes, and the pages exist."""
    texts = {
        node.value
        for path in ROOT.glob("benchmarks/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    pages = [ROOT / text for text in texts if re.fullmatch(r"docs/[\w/]+\.md|README\.md", text)]
    assert len(pages) == 8
    for page in pages:
        marks = re.findall(r"<!-- (.+?) -->\n", page.read_text())
        begun, ended = marks[::2], marks[1::2]
        assert begun, f"{page.name} has no measured table"
        assert ended == [f"end {mark}" for mark in begun]
        assert set(begun) <= texts


def test_links_of_the_repository():
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / name).read_text()):
            assert (ROOT / link).exists(), f"{name} links to {link}"


# The site --------------------------------------------------------------------------------------


@dataclass
class Page(HTMLParser):
    """The anchors of one page, where its links lead, and the files that it loads."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    in_style: bool = False

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.in_style = tag == "style"
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        is_link = tag == "link" and not LINKS & set(given.get("rel", "").split())
        if tag in FETCHED and FETCHED[tag] in given:
            (self.links if is_link else self.fetched).append(given[FETCHED[tag]])
        self.fetched += IN_STYLE.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.fetched += IN_STYLE.findall(data)


def is_outside(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def broken_links(pages: dict[Path, Page], site: Path) -> list[str]:
    """Links to pages, files and anchors that are not in the site."""
    found = []
    for path, page in pages.items():
        for link in {*page.links, *(one for one in page.fetched if not one.startswith("data:"))}:
            if is_outside(link):
                continue
            parts = urlsplit(link)
            target = path
            if parts.path.startswith("/"):  # 404.html is served for any address
                target = site / unquote(parts.path).lstrip("/")
            elif parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and anchor not in pages[target].anchors):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def inventory(site: Path) -> set[str]:
    """The names in the inventory of the site, which other projects link by."""
    head, _, body = (site / "objects.inv").read_bytes().partition(b"zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2")
    return {line.split()[0] for line in zlib.decompress(body).decode().splitlines()}


@pytest.mark.slow
def test_the_site(tmp_path):
    """One build, because it takes seconds: strict, links and anchors, network, inventory."""
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    assert broken_links(pages, site.resolve()) == []

    fetched = {link for page in pages.values() for link in page.fetched}
    fetched |= {link for path in site.rglob("*.css") for link in IN_STYLE.findall(path.read_text())}
    assert {link for link in fetched if is_outside(link) and not link.startswith("data:")} == set()
    assert not {link for link in fetched if link.startswith("@import") or "//" in link[:12]}

    assert public_names() <= inventory(site)
    anchors = {anchor for page in pages.values() for anchor in page.anchors}
    assert public_names() <= anchors
    assert "verosim.LDA.predict_proba" in anchors
    formulas = [path for path in pages if "arithmatex" in path.read_text()]
    assert formulas == [], "these pages have a formula that is not MathML"
    roles = [path.name for path in pages if re.search(r":(func|class|meth|mod):", path.read_text())]
    assert roles == [], "these pages show a role of Sphinx: write the name in backticks"
