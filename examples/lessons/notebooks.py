"""Write the lessons as Jupyter notebooks, from the scripts and the pages.

    page up to its first code block → the look of pictures → the script → its results → the rest

The notebooks contain all the code that they need, so they run wherever verosim and matplotlib are
installed.
Reference: The Jupyter notebook format, version 4.5.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path

from examples.lessons import NAMES
from examples.lessons.run import LANGUAGES

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
CODE_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
PICTURE = re.compile(r"^!\[[^]]*\]\([^)]*\)\n", re.M)
LINK = re.compile(r"\[([^]]+)\](?:\([^)]*\)|\[[^]]*\])")
SHOW = """\
import matplotlib.pyplot as plt

with plt.rc_context(STYLE):
    figure = plt.figure(figsize=SIZE, layout="constrained")
    draw(found, figure)
    plt.show()"""
TRANSLATION = ("def translate(", "def texts_of(")  # the functions of run.py for Spanish pictures
OWN_IMPORT = re.compile(r"(from|import) examples\b")


def page_of(name: str, language: str = "en") -> Path:
    """The page of a lesson."""
    return (DOCS if language == "en" else DOCS / language) / "lessons" / f"{name}.md"


def write_all(folder: Path) -> Iterator[Path]:
    """Write one notebook for each lesson and language."""
    for language in LANGUAGES:
        for name in NAMES:
            path = folder / language / f"{name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(notebook(name, language), indent=1, ensure_ascii=False))
            yield path


def notebook(name: str, language: str = "en") -> dict[str, object]:
    """A lesson as a notebook."""
    before, *after = _parts(page_of(name, language).read_text("utf-8"))
    look, show, script = _code_of(HERE / "style.py"), SHOW, _code_of(HERE / f"{name}.py")
    if language == "en":
        script[0] = script[0].split("\nSPANISH = ")[0]
    else:
        look += [block for block in _code_of(HERE / "run.py") if block.startswith(TRANSLATION)]
        show = SHOW.replace("    plt.show()", "    translate(figure, SPANISH)\n    plt.show()")
    cells = [
        before,
        ("code", "\n\n\n".join(look)),
        *(("code", block) for block in script),
        ("code", "found = learn()\nprint(found)"),
        ("code", show),
        *((kind, _own_names(text, name)) for kind, text in after),
    ]
    return {
        "cells": [_cell(i, kind, text) for i, (kind, text) in enumerate(cells) if text.strip()],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _parts(page: str) -> list[tuple[str, str]]:
    """The texts and code blocks of a page in their order; the first part is a text.

    A cell of a notebook shows only its last result, so a cell ends at each result.
    """
    found = []
    for i, part in enumerate(CODE_BLOCK.split(page)):
        if i % 2 == 0:
            found.append(("markdown", LINK.sub(r"\1", PICTURE.sub("", part))))
            continue
        sources = ""
        for example in DocTestParser().get_examples(part):
            sources += example.source
            if example.want:
                found.append(("code", sources))
                sources = ""
        found.append(("code", sources))
    return found


def _own_names(text: str, name: str) -> str:
    """The code of a page without what the notebook already has: the lesson and its table."""
    known = {f"found = {name}.learn()", "print(found)"}
    lines = [line for line in text.splitlines() if line not in known]
    lines = [line for line in lines if not OWN_IMPORT.match(line)]
    return re.sub(rf"\b{name}\.(?=[A-Za-z])", "", "\n".join(lines))


def _code_of(path: Path) -> list[str]:
    """The blocks of a script with their comments, without imports from the other scripts.

    The first block has the imports and constants.
    """
    source = path.read_text("utf-8").replace("  # fmt: skip", "")
    lines = source.splitlines()
    head, blocks, end = [], [], 0
    for i, node in enumerate(ast.parse(source).body):
        text = "\n".join(lines[end : node.end_lineno])
        end = node.end_lineno or 0
        if i == 0 or (isinstance(node, ast.ImportFrom) and _left_out(node)):
            continue
        is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        (blocks if is_definition else head).append(text)
    top = re.sub(r"\n{3,}", "\n\n", "\n".join(head))
    return [top.strip(), *(block.strip() for block in blocks)]


def _left_out(node: ast.ImportFrom) -> bool:
    return node.module == "__future__" or str(node.module).startswith("examples.")


def _cell(i: int, kind: str, text: str) -> dict[str, object]:
    cell = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": text.strip()}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
