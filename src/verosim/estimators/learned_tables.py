"""Collects what the densities of a model have estimated, by the columns of the table.

A date has several pieces in the model, and a column of categories can have several columns of a
design matrix. All of them are parts of the table of one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.arguments import whole
from verosim.bayes.learned import GAP, Learned, LearnedTable
from verosim.data.cell_columns import CellColumn
from verosim.data.near_names import near
from verosim.densities.estimates import CELLS_TABLE, TOKENS_TABLE, Estimates
from verosim.errors import VerosimError
from verosim.kinds.cell_names import name_of_cells
from verosim.kinds.missing import MISSING
from verosim.models import State


@dataclass(frozen=True)
class _Piece:
    """One column of a block: a column of the table, or a piece of it."""

    owners: tuple[str, ...]  # the columns of the table
    part: str  # the piece, such as "hour"; "" for the column itself
    is_gap: bool  # whether it is the share of missing cells
    params: Any
    statistic: Any
    number: int  # in its block
    cells: Any = None  # how its cells are named; None if values have names

    @property
    def title(self) -> str:
        return " or ".join(self.owners)


def learned_column(state: State, column: str | int, most: int) -> LearnedTable:
    """The table of one column, by its name or its position."""
    whole("top", most, least=1)
    pieces = list(_pieces(state))
    names = tuple(dict.fromkeys(owner for piece in pieces for owner in piece.owners))
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -len(names) <= column < len(names):
            raise VerosimError(f"The model has {len(names)} columns; got number {column}.")
        column = names[column]
    found = [piece for piece in pieces if column in piece.owners]
    if not found:
        schema = state.schema
        if schema is not None and column in schema.names:
            raise VerosimError(
                f"The model does not use the column {column!r}.",
                f"Use one of the columns {', '.join(map(repr, names[:12]))}.",
            )
        raise VerosimError(f"The model has no column {column!r}.", near(str(column), names))
    return _table(state, found, str(column), most)


def learned_model(state: State, name: str, most: int) -> Learned:
    """The tables of all columns."""
    whole("top", most, least=1)
    by_title: dict[str, list[_Piece]] = {}
    for piece in _pieces(state):
        by_title.setdefault(piece.title, []).append(piece)
    tables = tuple(_table(state, pieces, title, most) for title, pieces in by_title.items())
    return Learned(
        name, state.classes, np.exp(state.rule.log_prior), state.class_weight.copy(), tables
    )


def _pieces(state: State) -> Iterator[_Piece]:
    """The columns of all blocks of the model, in the order of the table."""
    statistic, params, schema = state.current, state.params, state.schema
    if not hasattr(params, "named_parts"):  # scores that are not densities
        raise _no_tables(state)
    sums = dict(statistic.named_parts())
    parts = [
        (part, sums.get(name, statistic), kind, columns)
        for (name, part), (kind, columns) in zip(
            params.named_parts(), params.column_parts(statistic.axes.columns), strict=True
        )
    ]
    flat = [label for *_, columns in parts for label in columns]
    owners = flat if schema is None else state.spec.reader(schema).owners
    if len(flat) != len(owners):  # such as random features
        raise _no_tables(state)
    cells = schema.cells if schema is not None else ()
    found, i = [], 0
    for part, counted, kind, columns in parts:
        for j, label in enumerate(columns):
            owner = owners[i]
            gap = kind == MISSING.name
            piece = "" if label == owner else label.removeprefix(f"{owner}.")
            if not piece and schema is not None and schema[owner].role == "date/time":
                piece = "days since 1970"
            found.append(_Piece((owner,), GAP if gap else piece, gap, part, counted, j))
            i += 1
    if len(parts) == 1 and len(cells) == len(found):
        found = [
            replace(piece, owners=cell.columns, cells=cell)
            for piece, cell in zip(found, cells, strict=True)
        ]
    order = {name: at for at, name in enumerate(owners if schema is None else schema.names)}
    yield from sorted(found, key=lambda piece: order[piece.owners[0]])


def _table(state: State, pieces: list[_Piece], title: str, most: int) -> LearnedTable:
    """The table of one column from its pieces."""
    found = [(piece, _estimates(state, piece, most)) for piece in pieces]
    first = found[0][1]
    total = state.class_weight
    missing = np.full(len(total), np.nan)
    if first.kind not in (CELLS_TABLE, TOKENS_TABLE):
        share = 1 - first.weight / np.where(total > 0, total, 1.0)
        missing = np.where(total > 0, np.clip(share, 0.0, 1.0), np.nan)
        missing[np.abs(missing) < 1e-12] = 0.0
    for piece, one in found:
        if piece.is_gap and one.counts is not None:  # it also counts missing texts
            missing = one.counts[:, 0] / np.where(total > 0, total, 1.0)
    nothing = [np.full(one.values.shape, np.nan) for _, one in found]
    counts = [
        none if one.counts is None else one.counts
        for (_, one), none in zip(found, nothing, strict=True)
    ]
    return LearnedTable(
        title, first.kind, state.classes,
        tuple(head for _, one in found for head in one.heads),
        tuple(piece.part for piece, one in found for _ in one.heads),
        np.hstack([one.values for _, one in found]), np.hstack(counts),
        first.weight.copy(), missing, all(one.complete for _, one in found), first.edges,
    )  # fmt: skip


def _estimates(state: State, piece: _Piece, most: int) -> Estimates:
    """What the density has estimated, with names for the cells."""
    one: Estimates | None = piece.params.estimates(piece.statistic, piece.number, most)
    if one is None:
        raise _no_tables(state)
    if piece.is_gap:  # only the share of cells that are missing
        assert one.counts is not None
        return replace(one, heads=(piece.part,), values=one.values[:, 1:], counts=one.counts[:, 1:])
    if piece.cells is not None:
        heads = tuple(name_of_cells(piece.cells, head) for head in one.heads)
        return replace(one, heads=heads, edges=_edges_of_cells(piece.cells, one.heads))
    return one


def _edges_of_cells(column: CellColumn, heads: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The edges of bins that are unions of cells of a number, from the numbers of the cells."""
    first = [min(cells) for cells in heads if cells and min(cells) < column.known]
    if not column.is_number or not first:
        return ()
    return (*(column.edges[cell] for cell in first), column.edges[-1])


def _no_tables(state: State) -> VerosimError:
    """The error for a model in which columns have no tables of their own."""
    return VerosimError(
        f"{state.spec.name} has not learned a table for each column.",
        "Use a naive Bayes model, LDA, QDA, RDA, MDA, TAN, KDB or AODE.",
    )
