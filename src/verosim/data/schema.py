"""The schema: what each column of a table is, and how a model reads it. A value.

    column → role (number, category, boolean, date, text, ignored) → density, and why

A model is a function of (schema, rows): two models fitted from one schema merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from verosim.axes import Columns
from verosim.data.column_kinds import (
    DEFAULT_NUMBER_KIND,
    IGNORE,
    ColumnKind,
    kind_named,
    known_kinds,
)
from verosim.errors import VerosimError, listed


@dataclass(frozen=True)
class Column:
    """One column: its name, its type in the source, its kind, and why."""

    name: str
    density: str  # the name of its kind
    type: str = ""
    reason: str = ""
    note: str = ""  # something a person should check
    whole: bool = False  # whole numbers
    edges: tuple[float, ...] = ()  # bins of a number, from the rows looked at
    frequent: tuple[str, ...] = ()  # values kept first, where there are more than the cap

    @property
    def kind(self) -> ColumnKind:
        return as_kind(self.density, self.name)

    @property
    def role(self) -> str:
        return self.kind.role


@dataclass(frozen=True)
class Schema:
    """The columns of a table and what is done with each; `edit` and `save` it as you like."""

    columns: tuple[Column, ...]
    target: str | None = None
    target_type: str = "text"  # or integer, boolean
    weight: str | None = None
    na: tuple[str, ...] = ()
    max_categories: int = 1000
    looked: int = 0  # rows looked at
    native: str = "arrow"
    named: bool = True  # whether the columns had names of their own

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise VerosimError(f"There is no column {name!r}.", near(name, self.names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns a model reads."""
        return tuple(column for column in self.columns if column.density != IGNORE.name)

    def of(self, *densities: str) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.density in densities)

    def edit(self, columns: Mapping[str, str]) -> Schema:
        """A schema with other densities for some columns, by name.

        >>> from verosim import look
        >>> look({"zip": [94103, 10001]}).edit({"zip": "category"})["zip"].role
        'category'
        """
        kinds = {}
        for name, density in columns.items():
            column = None if name == self.target else self[name]
            kinds[name] = kind = as_kind(density, name)
            if column is not None and kind.binned and not column.edges:
                raise VerosimError(
                    f"Column {name!r} was not looked at as numbers, so it has no bins.",
                    f"look again: verosim.look(…, columns={{{name!r}: {kind.name!r}}}).",
                )
        changed = tuple(
            replace(c, density=kinds[c.name].name, note="", reason="you said so")
            if c.name in kinds
            else c
            for c in self.columns
        )
        labels = "text" if self.target in columns else self.target_type
        return replace(self, columns=changed, target_type=labels)

    def save(self, path: str | Path) -> None:
        """Write the schema as JSON."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema `save` wrote."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            columns = tuple(Column(**_tuples(column)) for column in raw.pop("columns"))
            columns = tuple(replace(c, density=as_kind(c.density, c.name).name) for c in columns)
            return cls(columns, **_tuples(raw))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VerosimError(
                f"{str(path)!r} is not a schema: {error}.", "write one with schema.save(path)."
            ) from None

    def check_merges(self, other: Schema) -> None:
        """Two models merge if their columns are read alike."""
        if None not in (self.target, other.target) and self.target != other.target:
            raise VerosimError(
                f"The target is {self.target!r} here and {other.target!r} in the other model.",
                "merge models of the same target.",
            )
        if set(self.na) != set(other.na):
            raise VerosimError(
                f"{list(self.na)} mean missing here, {list(other.na)} in the other model.",
                "fit both from one schema.",
            )
        mine, theirs = ({column.name: column for column in s.used} for s in (self, other))
        for name in [*mine, *theirs]:
            here, there = (s[name].density if name in s else "ignored" for s in (mine, theirs))
            if here == there and mine[name].kind.binned and mine[name].edges != theirs[name].edges:
                here, there = "other bins", "its own"
            if here != there:
                raise VerosimError(
                    f"Column {name!r}: {here} here, {there} in the other model.",
                    "fit both from one schema: verosim.look(source), then fit(…, schema=schema).",
                )

    def __str__(self) -> str:
        head = ("column", "type", "role", "density", "why")
        lines = [head]
        for c in self.columns:
            density = c.density if c.kind.shown else ""
            lines.append((c.name, c.type, c.role, density, c.reason))
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        out = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
            + "  " + line[4]
            for line in lines
        ]  # fmt: skip
        out.insert(1, "  ".join("─" * width for width in widths) + "  " + "─" * 3)
        if self.target is not None:
            out.append(f"target: {self.target!r} ({self.target_type})")
        if self.weight is not None:
            out.append(f"weights: {self.weight!r}")
        if self.na:
            out.append("missing besides empty cells: " + ", ".join(repr(t) for t in self.na))
        asked = [f"  {c.name}: {c.note}" for c in self.columns if c.note]
        if asked:
            out += ["to check:", *asked]
        out.append(f"from the first {self.looked:,} rows")
        return "\n".join(line.rstrip() for line in out)

    __repr__ = __str__


def for_table(
    schema: Any, names: tuple[str, ...], target: str | None, weight: str | None
) -> Schema:
    """A given schema, checked against the table it is to read."""
    if not isinstance(schema, Schema):
        raise VerosimError(
            f"schema is {type(schema).__name__}, not a Schema.", "verosim.look(source) makes one."
        )
    lost = [column.name for column in schema.used if column.name not in (*names, target, weight)]
    if lost:
        raise VerosimError(
            f"The schema has columns the table does not: {listed(lost)}.", near(lost[0], names)
        )
    columns = tuple(c for c in schema.columns if c.name not in (target, weight))
    return replace(schema, columns=columns, target=target, weight=weight)


def schema_of_arrays(columns: Columns, present: tuple[str, ...]) -> Schema:
    """The columns of a model fitted on arrays, by name or, if they had none, by place."""
    names = columns.names
    if names is None:
        names = present
        if len(names) != columns.size:
            raise VerosimError(
                f"The table has {len(names)} columns, and the model was fitted on an array of "
                f"{columns.size}, without names.",
                "give just those columns, in their order.",
            )
    lost = [name for name in names if name not in present]
    if lost:
        raise VerosimError(f"The table lacks the columns {listed(lost)}.", near(lost[0], present))
    return Schema(tuple(Column(name, DEFAULT_NUMBER_KIND) for name in names))


def _tuples(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}


def as_kind(name: Any, column: str) -> ColumnKind:
    """The kind of one of the names `columns=` takes."""
    kind = kind_named(name) if isinstance(name, str) else None
    if kind is None:
        raise VerosimError(
            f"Column {column!r}: {name!r} is no way to read a column.",
            f"one of {', '.join(kind.name for kind in known_kinds())}.",
        )
    return kind


def near(name: str, names: tuple[str, ...]) -> str:
    """A hint at the name that was meant."""
    close = get_close_matches(str(name), names, 1, 0.6) or [
        other for other in names if other.lower() == str(name).lower()
    ]
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(other) for other in names[:12])
    return f"the columns are {shown}{' …' if len(names) > 12 else ''}."
