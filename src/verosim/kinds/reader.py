"""Reads tables with several kinds of columns. The kind of a column defines its parts."""

from __future__ import annotations

from typing import Any

from verosim.cached import cached_property
from verosim.data.cell_formats import by_format
from verosim.data.nodes import no_program
from verosim.data.readers import Reader, as_numbers
from verosim.data.readings import CellReading, MissingReading
from verosim.data.schema import Schema
from verosim.data.schema_columns import Column
from verosim.data.sources import Parts
from verosim.data.tables import Rows
from verosim.kinds.base import Member, Part, View
from verosim.kinds.category import CATEGORY
from verosim.kinds.missing import MISSING
from verosim.kinds.registry import column_kinds, part_kinds

KEPT_PARTS = "parts of its readers"  # an entry of the dict of a schema, in no file and no pickle


class MixedReader(Reader):
    """Reads the blocks of the parts of a Product. It needs only a schema.

    >>> from verosim import look
    >>> reader = MixedReader(look({"size": [1.5, 2.5, 1.0], "hue": ["red", "blue", "red"]}))
    >>> [(part.name, part.columns) for part in reader.parts]
    [('gaussian', ('size',)), ('category', ('hue',))]
    """

    def __init__(self, schema: Schema, gaps: bool = False) -> None:
        super().__init__(schema)
        self.gaps = gaps  # whether missing cells are a part of their own

    def other_way(self, column: Column) -> str:
        model = f"NaiveBayes(columns={{{column.name!r}: {CATEGORY.name!r}}})"
        return f"{model} to read the column as a category."

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a block, in order."""
        # They are kept with the schema, which does not change, for the next reader.
        known: dict[bool, Any] = vars(self.schema).setdefault(KEPT_PARTS, {})
        kinds = column_kinds()  # the same object, unless a kind was registered since
        found = known.get(self.gaps)
        if found is None or found[0] is not kinds:
            known[self.gaps] = found = kinds, self._all_parts()
        parts: tuple[Part, ...] = found[1]
        return parts

    def __getstate__(self) -> dict[str, Any]:
        """For a worker, which makes the parts from the schema: a kind cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "parts"}

    def _all_parts(self) -> tuple[Part, ...]:
        members: dict[str, list[Member]] = {}  # by the name of the kind of part
        for column_kind in column_kinds():
            if columns := self._by_density.get(column_kind.name):
                for view in column_kind.views:
                    members.setdefault(view.part.name, []).extend(
                        [self._member(column, view) for column in columns]
                    )
        found: list[Part] = []
        for kind in part_kinds():
            some = tuple(members.get(kind.name, ()))
            if kind.alone:
                found += [Part(f"{kind.name} {m.column.name}", kind, (m,)) for m in some]
            elif some:
                found.append(Part(kind.name, kind, some))
        if self.gaps:
            some = tuple(Member(c, (c.name,), None) for c in self.schema.used)
            found.append(Part(MISSING.name, MISSING, some))
        return tuple(found)

    @property
    def reads_only_numbers(self) -> bool:  # type: ignore[override]
        return all(part.kind.block is as_numbers for part in self.parts)

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(owner for part in self.parts for owner in part.owners)

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(part.kind.label.format(name) for part in self.parts for name in part.columns)

    def _member(self, column: Column, view: View) -> Member:
        read = by_format(column, view.read)
        if not view.pieces:
            return Member(column, (column.name,), read, view=view)
        names = tuple(self._piece(column.name, piece) for piece in view.pieces)
        return Member(column, names, read, in_pieces=True, view=view)

    def _piece(self, name: str, piece: str) -> str:
        """'when.hour', or another name if the table has a column with that name."""
        made = f"{name}.{piece}"
        return made if made not in self._taken else f"{made} of {name}"

    @cached_property
    def _by_density(self) -> dict[str, list[Column]]:
        found: dict[str, list[Column]] = {}
        for column in self.schema.columns:
            found.setdefault(column.density, []).append(column)
        return found

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(self.schema.names)

    @cached_property
    def readings(self) -> tuple[CellReading, ...]:
        """How each column of each part is made from typed cells."""
        first: dict[str, CellReading] = {}  # the first reading of each column of the table
        out: list[CellReading] = []
        for part in self.parts:
            for member in part.members:
                found = member.readings
                if part.kind == MISSING:
                    found = (MissingReading(first[member.column.name]),)
                if found is None:
                    raise no_program(
                        f"the kind {member.column.density!r} of column {member.column.name!r} does "
                        "not state its readings",
                        "Use another kind for this column.",
                    )
                first.setdefault(member.column.name, found[0])
                out += found
        return tuple(out)

    def block(self, rows: Rows) -> Parts:
        n = len(rows)
        blocks: dict[str, Any] = {}
        for part in self.parts:
            if part.kind is MISSING:
                blocks[part.name] = part.kind.block(self._gaps(blocks), n)
            elif part.kind.block is as_numbers:
                blocks[part.name] = self.numbers_of(rows, part.numbers)
            else:
                cells = [cell for member in part.members for cell in self._cells(rows, member)]
                blocks[part.name] = part.kind.block(cells, n)
            if part.kind.check is not None:
                part.kind.check(part, rows, blocks[part.name])
        return Parts(blocks)

    def _cells(self, rows: Rows, member: Member) -> list[Any]:
        """The cells of all columns of the block that come from one column of the table."""
        assert member.read is not None
        found = self.cells_of(rows, member.column, member.read)
        if found is None:
            return [None] * len(member.names)
        return list(found) if member.in_pieces else [found]

    def _gaps(self, blocks: dict[str, Any]) -> list[Any]:
        """(n,) per column: where its cells are missing, by the first part with the column."""
        first: dict[str, Any] = {}
        for part in self.parts:
            for j, owner in enumerate(part.owners):
                if owner not in first and part.name in blocks:
                    first[owner] = part.kind.missing(blocks[part.name], j)
        return [first[column.name] for column in self.schema.used]
