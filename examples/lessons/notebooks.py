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
    """The texts and code blocks of a page in their order; the first part is a text."""
    found = []
    for i, part in enumerate(CODE_BLOCK.split(page)):
        if i % 2:
            sources = [example.source for example in DocTestParser().get_examples(part)]
            found.append(("code", "".join(sources)))
        else:
            found.append(("markdown", LINK.sub(r"\1", PICTURE.sub("", part))))
    return found


def _own_names(text: str, name: str) -> str:
    """The code of a page without the import of the lesson: the notebook defines its names."""
    known = (f"import {name}", f"found = {name}.learn()")
    lines = [line for line in text.splitlines() if not line.endswith(known)]
    return re.sub(rf"\b{name}\.", "", "\n".join(lines))


def _code_of(path: Path) -> list[str]:
    """The blocks of a script, without imports from the other scripts."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    lines = source.splitlines()
    head, blocks = [], []
    for i, node in enumerate(tree.body):
        if i == 0 or (isinstance(node, ast.ImportFrom) and _left_out(node)):
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        (blocks if is_definition else head).append(text)
    return ["\n".join(head), *blocks]


def _left_out(node: ast.ImportFrom) -> bool:
    return node.module == "__future__" or str(node.module).startswith("examples.")


def _cell(i: int, kind: str, text: str) -> dict[str, object]:
    cell = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": text.strip()}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
