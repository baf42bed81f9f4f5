"""No module reads a private name of another, and no classifier is a tower of base classes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import verosim

SOURCE = Path(verosim.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ALLOWED = {
    ("errors.py", "sys._getframe"),  # the only way to point a warning at the user's line
    ("lazy.py", "sys._current_frames"),  # documented; the only way to see what other threads do
    ("cli/main.py", "os._exit"),  # the only way to end without waiting for threads
    ("kernels/_parts.py", "self.codegen._module_pass_manager"),  # the optimiser of numba
}
MOST_BASES = 4  # of ours


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined_in(tree: ast.Module) -> set[str]:
    """The private names a module defines: functions, classes, fields, attributes of self."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def read_by(tree: ast.Module) -> set[str]:
    """Accesses to private names other than through self, cls or super(), and private imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {f"import {a.name}" for a in node.names if is_private(a.name)}
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        owner = node.value
        own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        above = (
            isinstance(owner, ast.Call)
            and isinstance(owner.func, ast.Name)
            and owner.func.id == "super"
        )
        if not own and not above:
            found.add(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_private_name_of_another_module_is_read(path):
    tree = ast.parse(path.read_text())
    own, name = defined_in(tree), str(path.relative_to(SOURCE))
    foreign = {
        text
        for text in read_by(tree)
        if text.split(".")[-1] not in own and (name, text) not in ALLOWED
    }
    within_kernels = name.startswith("kernels/")  # one package, compiled together
    assert not {text for text in foreign if not (within_kernels and text.startswith("import"))}


@pytest.mark.parametrize("name", [n for n in verosim.__all__ if n[0].isupper()])
def test_classes_are_shallow(name):
    """A class is understood from its own file and a few others."""
    found = getattr(verosim, name)
    ours = [base for base in found.__mro__[1:] if base.__module__.startswith("verosim")]
    assert len(ours) <= MOST_BASES, [base.__name__ for base in ours]
