"""The one-way order of the folders: a row's path reads downhill and never comes back up."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "verosim"
ORDER = [
    {"cached", "html_table", "lazy", "locks", "terminal", "typing", "whole_files"},
    {"errors", "linalg", "kernels"},
    {"arguments", "drawing", "error_kinds"},
    {"axes"},
    {"data"},
    {"stats"},
    {"densities"},
    {"kinds"},
    {"engines"},
    {"bayes"},
    {"theory"},
    {"models"},
    {"folds"},
    {"estimators"},
    {"validate"},
    {"twins"},
    {"pool"},
    {"insight", "files"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
FREE = {"__init__", "testing"}  # the list of public names, and the published laws
FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
            if node.module == "verosim":
                found |= {f"verosim.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down(path):
    part = part_of(path)
    if part in FREE:
        return
    assert part in LEVEL, f"{part} has no place in the order"
    for name in imports(path):
        pieces = name.split(".")
        if pieces[0] == "verosim" and len(pieces) > 1 and pieces[1] != part:
            assert LEVEL[pieces[1]] < LEVEL[part] or {part, pieces[1]} == {"kernels", "errors"}, (
                f"{part} must not import {pieces[1]}"
            )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_scikit_learn_from_folds_outward(path):
    part = part_of(path)
    if part not in FREE and LEVEL[part] < LEVEL["folds"]:
        assert not any(name.split(".")[0] == "sklearn" for name in imports(path))


def test_numba_only_in_kernels():
    for path in FILES:
        if part_of(path) != "kernels":
            assert not any(name.split(".")[0] == "numba" for name in imports(path)), path


def test_no_utils():
    assert not [path for path in FILES if path.stem in ("utils", "helpers", "misc", "common")]


def test_import_is_light():
    """`import verosim` loads neither numba nor scikit-learn nor scipy."""
    import subprocess
    import sys

    code = (
        "import sys, verosim; "
        "print([m for m in ('numba', 'sklearn', 'scipy', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
