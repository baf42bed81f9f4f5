"""What a density or a statistic can do is asked of it: only its own folder tests its class."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "verosim"
OWN = ("densities", "stats", "testing.py")  # `testing` compares two statistics array by array
ROOTS = {"Density", "ClassScores", "Params", "Statistic"}


@cache
def classes() -> set[str]:
    """Every density, its parameters and every statistic, by name."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for folder in ("densities", "stats")
        for path in (SOURCE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    found = set(ROOTS)
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p.relative_to(SOURCE).parts[0] not in OWN]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_type_test_from_outside(path):
    known = classes()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            tested = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            assert not tested & known, f"{path}, line {node.lineno}: ask the object instead"


def test_the_classes_are_found():
    assert {"FullGaussian", "EMParams", "Product", "Patterns", "Tokens"} <= classes()
