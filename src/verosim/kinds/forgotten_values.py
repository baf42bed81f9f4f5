"""Removes the values of forgotten rows from a schema.

A schema has values that were chosen from the first rows: categories that have a cell or a column of
their own, leading terms of texts, texts that are read as missing, and notes that quote cells. After
rows are forgotten, a value stays only if the sums show that rows with it are left. Otherwise its
hash takes its place, so that later rows are read in the same way.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes.value_hashes import HashedText, agreed_values, as_hash, hashes_of
from verosim.data.cell_columns import CellColumn
from verosim.data.design_columns import CATEGORY_COLUMN, DesignColumn
from verosim.data.schema import Schema
from verosim.data.schema_columns import Column
from verosim.kinds.missing_marks import MISSING_WORDS
from verosim.stats import Statistic
from verosim.stats.forgetting import RESIDUE


def without_forgotten(
    schema: Schema, rest: Statistic, least: float = 0.0
) -> tuple[Schema, Statistic]:
    """The schema and the statistic of the remaining rows, without values of other rows.

    Values with fewer than `least` rows, or with less weight in a design matrix, are removed too.
    """
    columns = tuple(map(_without_quotes, schema.columns))
    cells = _with_rows(schema.cells, rest, max(least, 1.0))
    design = _with_weight(schema.design, rest, least)
    terms = _in_use(schema.terms, rest)
    out = replace(schema, columns=columns, cells=cells, design=design, terms=terms)
    if out == schema:
        return schema, rest
    return out, rest.renamed(new_names(schema, out))


def new_names(schema: Schema, other: Schema) -> dict[str, str]:
    """The names of the columns of a design matrix that differ in another schema."""
    pairs = zip(schema.design, other.design, strict=False)  # one of them may have none
    both = ((a.names(every=True), b.names(every=True)) for a, b in pairs if a != b)
    return {old: new for a, b in both for old, new in zip(a, b, strict=True) if old != new}


def has_values(schema: Schema) -> bool:
    """Whether some categories have a cell or a column of their own."""
    return any(c.values for c in schema.cells) or any(c.values for c in schema.design)


def has_hashes(schema: Schema) -> bool:
    """Whether values of forgotten rows were replaced by their hashes."""
    lists: list[tuple[HashedText, ...]] = [column.values for column in schema.cells]
    lists += [column.values for column in schema.design]
    lists += [terms for _, terms in schema.terms]
    return any(isinstance(value, int) for values in lists for value in values)


def joined_schema(schema: Schema, other: Schema) -> Schema:
    """The schema of two merged models: a value has its text if one of the models has it."""

    def joined(mine: Any, theirs: Any) -> Any:
        """The cells or the design. Only one of the models may have them."""
        return mine and tuple(
            replace(here, values=agreed_values(here.values, there.values) or here.values)
            for here, there in zip(mine, theirs or mine, strict=True)
        )

    cells, design = joined(schema.cells, other.cells), joined(schema.design, other.design)
    known = dict(other.terms)
    terms = tuple(
        (key, agreed_values(mine, known.get(key, mine)) or mine) for key, mine in schema.terms
    )
    return replace(schema, cells=cells, design=design, terms=terms)


def _without_quotes(column: Column) -> Column:
    """The entry without its note, and with hashes of the texts that are read as missing."""
    kept = tuple(text for text in column.missing if text in MISSING_WORDS)
    if not column.note and len(kept) == len(column.missing):
        return column
    unread = {*column.unread, *hashes_of(text for text in column.missing if text not in kept)}
    return replace(column, note="", missing=kept, unread=tuple(sorted(unread)))


def _with_rows(
    columns: tuple[CellColumn, ...], rest: Statistic, least: float
) -> tuple[CellColumn, ...]:
    """The cells, with hashes in place of categories that fewer rows have."""
    rows: dict[str, np.ndarray] = {}
    for leaf in rest.leaves():
        rows |= leaf.rows_with_cells() or {}
    known = {name: {*np.flatnonzero(count >= least).tolist()} for name, count in rows.items()}
    return tuple(
        replace(column, values=_named(column.values, known[column.name]))
        if column.values and column.name in known
        else column
        for column in columns
    )


def _with_weight(
    design: tuple[DesignColumn, ...], rest: Statistic, least: float
) -> tuple[DesignColumn, ...]:
    """The design matrix, with hashes in place of values that have less weight, or none.

    A value has the sum of a column of its own. The first value of a category may have none.
    """
    least = max(least * (1 - RESIDUE), RESIDUE * float(rest.weight.sum()))
    found: set[str] = set()
    for leaf in rest.leaves():
        sums = leaf.column_sums()
        if design and sums is not None:
            names = list(leaf.axes.columns)
            found |= {names[j] for j in np.flatnonzero(sums > least).tolist()}
    out = []
    for one in design:
        if one.kind == CATEGORY_COLUMN:
            shown = one.names(every=True)
            known = [at for at in range(len(one.values)) if shown[at] in found]
            one = replace(one, values=_named(one.values, known))
        out.append(one)
    return tuple(out)


def _in_use(
    terms: tuple[tuple[str, tuple[HashedText, ...]], ...], rest: Statistic
) -> tuple[tuple[str, tuple[HashedText, ...]], ...]:
    """The leading terms, with hashes in place of terms that no text has."""
    left: set[str] = set()
    for leaf in rest.leaves():
        if terms and leaf.sums_of == "terms":
            left.update(leaf.count_names())
    return tuple(
        (key, tuple(term if term in left else as_hash(term) for term in some))
        for key, some in terms
    )


def _named(values: tuple[HashedText, ...], kept: Container[int]) -> tuple[HashedText, ...]:
    """The values, with hashes in place of those that are not at the given positions."""
    return tuple(value if at in kept else as_hash(value) for at, value in enumerate(values))
