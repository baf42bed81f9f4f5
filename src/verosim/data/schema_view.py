"""A schema as people see it: a table with one line per column, and notes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verosim.data.declared_values import MOST_SHOWN
from verosim.errors import listed
from verosim.html_table import html_table
from verosim.terminal import in_lines, in_one_line, table_lines

if TYPE_CHECKING:
    from verosim.data.schema import Schema


def text(schema: Schema) -> str:
    """The schema as a table, and the lines below it."""
    shown = lines(schema)
    widths = [max(len(in_one_line(line[i])) for line in shown) for i in range(4)]
    rule = tuple("─" * width for width in (*widths, 3))
    return in_lines([*table_lines([shown[0], rule, *shown[1:]]), *notes(schema)])


def html(schema: Schema) -> str:
    """The schema as a table of HTML, for notebooks."""
    head, *rows = lines(schema)
    return html_table("Schema", head, rows, notes(schema))


def lines(schema: Schema) -> list[tuple[str, ...]]:
    """The head of the table, and one line per column."""
    from verosim.data.cell_formats import FORMATTED_ROLES  # arrays have no formats

    out: list[tuple[str, ...]] = [("column", "type", "role", "density", "why")]
    for c in schema.columns:
        density = c.density if c.kind.shown else ""
        role = f'{c.role} "{c.format}"' if c.format and c.role in FORMATTED_ROLES else c.role
        out.append((c.name, c.type, role, density, c.reason))
    return out


def notes(schema: Schema) -> list[str]:
    """The lines below the table."""
    out = [
        f"read as one category: {c.name} ({len(c.columns)} columns with exactly one 1 per row)"
        for c in schema.cells
        if len(c.columns) > 1
    ]
    out += [
        f"possible values of {c.name}: {listed(list(c.values), MOST_SHOWN)}"
        for c in schema.columns
        if c.values
    ]
    if schema.target is not None:
        out.append(f"target: {schema.target!r} ({schema.target_type})")
    if schema.weight is not None:
        out.append(f"weights: {schema.weight!r}")
    if schema.na:
        out.append("missing values: empty cells, " + ", ".join(repr(t) for t in schema.na))
    if schema.dialect:
        out.append(f"file: {schema.dialect}")
    grouped = {name for c in schema.cells if len(c.columns) > 1 for name in c.columns}
    asked = [f"  {c.name}: {c.note}" for c in schema.columns if c.note and c.name not in grouped]
    if asked:
        out += ["to check:", *asked]
    where = " of all parts of the table" if schema.spread else ""
    out.append(f"from {'' if schema.spread else 'the first '}{schema.looked:,} rows{where}")
    return out
