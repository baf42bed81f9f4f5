"""What is imported is declared in pyproject.toml, and what is declared is imported."""

from __future__ import annotations

import ast
import doctest
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {"verosim", "tests", "benchmarks", "examples", "site_hooks"}
DISTRIBUTION = {  # where the two names differ
    "PIL": "pillow",
    "adbc_driver_postgresql": "adbc-driver-postgresql",
    "adbc_driver_sqlite": "adbc-driver-sqlite",
    "griffe": "griffelib",
    "python_calamine": "python-calamine",
    "sklearn": "scikit-learn",
}
# Imported only where a user asks for one of their tables, so installing them is the user's choice.
TABLE_LIBRARIES = {"duckdb", "pandas", "polars"}
# They have an environment of their own: `make test-engines`.
ENGINES = {"dask", "distributed", "fsspec", "pyspark"}
TOOLS = {  # run by the Makefile, by commits and by notebooks
    "ipykernel", "mkdocs-autorefs", "mkdocs-material", "mkdocstrings", "mkdocstrings-python",
    "mypy", "pre-commit", "pyright", "pytest-xdist", "ruff",
}  # fmt: skip


def names(requirements: list[str]) -> set[str]:
    """The distributions, those of our own extras included."""
    found = set()
    for requirement in requirements:
        name, extra = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()
        if name == PROJECT["name"]:
            found |= set().union(*map(declared, extra.split(",")))
        else:
            found.add(name)
    return found


def declared(extra: str) -> set[str]:
    return names(PROJECT["optional-dependencies"][extra])


def distributions(tree: ast.AST) -> set[str]:
    """The distributions a syntax tree imports, the standard library's and ours left out."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    packages = {module.split(".")[0] for module in modules} - OURS - set(sys.stdlib_module_names)
    return {DISTRIBUTION.get(package, package) for package in packages}


@cache
def imported(*folders: str) -> dict[Path, set[str]]:
    return {
        path: distributions(ast.parse(path.read_text()))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def shown() -> set[str]:
    """What the examples of docstrings and pages import."""
    found = set()
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        for example in doctest.DocTestParser().get_examples(path.read_text()):
            found |= distributions(ast.parse(example.source))
    return found


REQUIRED = names(PROJECT["dependencies"])
EXTRAS = PROJECT["optional-dependencies"].keys() - {"dev", "docs", "notebooks", "bench", "dist"}
OPTIONAL = set().union(*map(declared, EXTRAS)) | TABLE_LIBRARIES


def test_the_library():
    assert set().union(*imported("src").values()) == REQUIRED | OPTIONAL


def test_tests_examples_and_site():
    used = set().union(*imported("tests", "examples", "site_hooks").values()) | shown()
    assert used <= REQUIRED | declared("dev") | ENGINES
    assert declared("dev") - TOOLS <= used
    assert declared("dev") >= TOOLS | OPTIONAL - ENGINES
    assert not declared("dev") & ENGINES


def test_benchmarks():
    used = set().union(*imported("benchmarks").values())
    assert used <= REQUIRED | declared("dev") | declared("bench") | ENGINES
    assert declared("bench") <= used


@pytest.mark.parametrize("library", sorted(OPTIONAL))
def test_an_optional_library_is_imported_in_one_file_when_needed(library):
    (path,) = (path for path, used in imported("src").items() if library in used)
    at_import = ast.parse(path.read_text()).body
    assert not any(
        library in distributions(node)
        for node in at_import
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
