"""The lessons as notebooks: they stand alone, and every cell runs."""

from __future__ import annotations

import ast
import json
import sys
import warnings

import pytest
from examples.lessons import NAMES
from examples.lessons.notebooks import notebook
from examples.lessons.run import LANGUAGES

ALLOWED = {"verosim", "numpy", "scipy", "sklearn", "matplotlib"}  # verosim needs the middle three


def code_cells(name: str, language: str) -> list[str]:
    cells = notebook(name, language)["cells"]
    return [cell["source"] for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_imports_only_verosim_and_what_it_needs(name, language):
    packages = set()
    for cell in code_cells(name, language):
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.Import):
                packages |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                packages.add(str(node.module).split(".")[0])
    assert packages - set(sys.stdlib_module_names) <= ALLOWED


def test_a_notebook_has_text_code_and_no_second_table():
    cells = notebook("ambiguous_regions")["cells"]
    assert cells[0]["cell_type"] == "markdown"
    assert cells[0]["source"].startswith("# Ambiguous regions")
    text = "\n".join(cell["source"] for cell in cells)
    assert text.count("print(found)") == 1
    assert "examples.lessons" not in text
    assert "fmt: skip" not in text
    assert "](" not in text, "links lead out of the notebook"
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_every_result_of_a_page_is_shown():
    """The lesson on separable rows has three results in one block of its page."""
    cells = code_cells("separable", "en")
    last = [ast.parse(cell).body[-1] for cell in cells]
    assert sum(isinstance(node, ast.Expr) for node in last) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_code_of_one_runs(language, capsys):
    """In one namespace and without the scripts, as a notebook runs."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, object] = {"__name__": "notebook"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        for cell in code_cells("far_points", language):
            exec(compile(cell, "cell", "exec", dont_inherit=True), names)
    assert "least squares" in capsys.readouterr().out
    titles = [ax.get_title(loc="left") for ax in names["figure"].axes]
    assert titles[0] == ("without far points" if language == "en" else "sin puntos lejanos")


@pytest.mark.soak
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_notebook_runs(name, language, tmp_path):
    """In a kernel of its own, in an empty folder."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.reads(json.dumps(notebook(name, language)), as_version=4)
    nbformat.validate(book)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=where).execute()
    results = [result for cell in book.cells for result in cell.get("outputs", ())]
    assert any("image/png" in result.get("data", {}) for result in results)
    assert not [result for result in results if result["output_type"] == "error"]
