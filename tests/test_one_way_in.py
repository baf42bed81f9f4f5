"""Only `data` makes sources, and only `engines` asks where their rows are.

All other code reads the properties of a source, so that each capability is written once for arrays,
tables, files, streams and clusters. Imports inside functions count too.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "verosim"
CONCRETE = {
    "ArraySource", "SubsetSource", "TableSource", "ArrayChunk", "Table", "Cluster",
    "DaskPartitions", "SparkPartitions", "NumberedColumns",
}  # fmt: skip
SOURCES = CONCRETE - {"Table", "Cluster"}  # a table may be named in a type, and not asked for
FLAGS = {"cluster", "is_cluster", "is_table", "on_cluster", "is_here", "is_on_cluster"}
QUESTIONS = {"is_on_cluster", "where_rows_are", "is_array_on_cluster"}


def files() -> list[Path]:
    return sorted(
        file
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in ("data", "engines")
    )


def faults(tree: ast.AST) -> list[str]:
    """What asks for the kind of a source, with its line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            found += [(node.lineno, f"imports {name}") for name in names & (SOURCES | QUESTIONS)]
        elif isinstance(node, ast.Attribute) and node.attr in FLAGS:
            found.append((node.lineno, f"reads .{node.attr}"))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "type"):
            asked = {
                one.id for arg in node.args for one in ast.walk(arg) if isinstance(one, ast.Name)
            }
            found += [(node.lineno, f"tests {name}") for name in asked & CONCRETE]
    return [f"line {line}: {what}" for line, what in sorted(found)]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_nobody_asks_what_kind_a_source_is(file):
    assert faults(ast.parse(file.read_text(encoding="utf-8"))) == []


def test_the_guard_finds_each_fault():
    text = """
def f(source):
    from verosim.data.stream import TableSource
    if isinstance(source, TableSource) or source.table.cluster is None:
        return is_here
"""
    assert faults(ast.parse(text)) == [
        "line 3: imports TableSource", "line 4: reads .cluster", "line 4: tests TableSource",
    ]  # fmt: skip
