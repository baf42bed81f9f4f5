"""The group of each row, for scores by group: a column of a table, or one value for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.axes.codes import is_missing
from verosim.axes.groups import as_labels, plain_label, sorted_labels
from verosim.data import cells
from verosim.data.adapters import is_source, open_table
from verosim.data.labels import label_array
from verosim.data.near_names import check_in_table
from verosim.data.schema import Schema
from verosim.data.stream import TableChunk
from verosim.data.visits import Visit
from verosim.errors import VerosimError
from verosim.folds.holdout import ColumnGroups, HoldOut
from verosim.folds.labelled_rows import has_label
from verosim.kinds.cell_names import SHOWN_MISSING
from verosim.models import Inputs

MOST_ROW_GROUPS = 1000


def row_groups(by: Any, inputs: Inputs, labels: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """(G,) the groups, sorted, and (n,) the group number of each row of the inputs.

    `labels` are the labels before the rows without a label were left out.
    """
    if isinstance(by, str):
        names, codes = _of_column(by, inputs)
    else:
        names, codes = _of_values(_kept(by, inputs, labels))
    if len(names) > MOST_ROW_GROUPS:
        raise _too_many(f"{len(names):,}")
    return names, codes


def _too_many(got: str) -> VerosimError:
    return VerosimError(
        f"by must have at most {MOST_ROW_GROUPS:,} different groups; got {got}.",
        "Divide the values into ranges, and give the range of each row.",
    )


def named_groups(
    by: Any, rows: HoldOut, inputs: Inputs, labels: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """(G,) the groups, sorted, and (n,) the group number of each row.

    There are no numbers if `by` is a column of a table: the held-out rows then have their groups.
    The column is read once first, to find the groups.
    """
    source = rows.source
    if not isinstance(by, str) or not source.names:
        if not source.numbered:
            raise VerosimError(
                f"The argument by is an array, but the rows are on {source.table.place}, where "
                "they have no numbers.",
                "Give by as the name of a column of the table.",
            )
        names, codes = row_groups(by, inputs, labels)
        check_lengths(codes, source.rows)
        return names, codes
    check_in_table(by, source.names, "column by")
    na = source.reader.na
    texts = engines.reduce(source.only(by), _GroupTexts(by, na))
    names, places = _in_order(list(range(len(texts))), texts, np.arange(len(texts)))
    rows.by = ColumnGroups(by, na, dict(zip(texts, places.tolist(), strict=True)))
    return names, np.empty(0, dtype=np.intp)


@dataclass
class _GroupTexts(Visit):
    """The different texts of a column, None for a missing cell."""

    column: str
    na: frozenset[str]

    def nothing(self) -> list[str | None]:
        return []

    def absorb(self, chunk: TableChunk) -> None:
        index, texts = cells.keys(chunk.rows.batch.column(self.column), self.na)
        self._add([texts[at] for at in np.unique(index).tolist()])

    def merge(self, other: Self) -> None:
        self._add(other.found)

    def _add(self, texts: list[str | None]) -> None:
        self.found = list(dict.fromkeys([*self.found, *texts]))
        if len(self.found) > MOST_ROW_GROUPS:
            raise _too_many("more")


def check_lengths(codes: np.ndarray, n: int | None) -> None:
    """Raise an error unless there is one group for each of the n rows, if n is known."""
    if n is not None and len(codes) != n:
        raise VerosimError(
            f"by must have one group for each of the {n:,} rows; got {len(codes):,}.",
            "Give one value per row, or the name of a column of the table.",
        )


def _of_column(name: str, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """The groups and their numbers, from a column of a table."""
    if not is_source(inputs.X):
        raise VerosimError(
            f"by={name!r} is not a column, because X is an array.",
            "Give the group of each row as an array.",
        )
    table = open_table(inputs.X)
    check_in_table(name, table.names, "column by")
    schema = inputs.schema
    na = frozenset(schema.na if isinstance(schema, Schema) else inputs.na)
    place: dict[str | None, int] = {}
    parts = []
    for rows in table.batches([name]):
        index, texts = cells.keys(rows.batch.column(name), na)
        at = np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.intp)
        parts.append(at[index])
    codes = np.concatenate([np.empty(0, dtype=np.intp), *parts])
    used = np.bincount(codes, minlength=len(place)) > 0
    texts_in_use = [text for text, at in place.items() if used[at]]
    return _in_order([place[text] for text in texts_in_use], texts_in_use, codes)


def _of_values(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """The groups and their numbers, from one value for each row."""
    found = label_array(values)
    if found.ndim != 1:
        raise VerosimError(
            f"by must have one value for each row; got shape {found.shape}.",
            "Give a vector, or the name of a column of the table.",
        )
    if any(isinstance(value, list | dict | set) for value in found):
        raise VerosimError("by must have one value for each row; some of its values are lists.")
    place: dict[Any, int] = {}
    plain = (None if is_missing(value) else plain_label(value) for value in found.tolist())
    codes = np.array([place.setdefault(value, len(place)) for value in plain], dtype=np.intp)
    return _in_order(list(place.values()), list(place), codes)


def _in_order(
    numbers: list[int], values: list[Any], codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The groups sorted, with the rows without a value last, and the new number of each row."""
    known = {value: at for value, at in zip(values, numbers, strict=True) if value is not None}
    ordered: list[Any] = sorted_labels(known)
    old = [known[value] for value in ordered]
    if None in values:
        ordered, old = [*ordered, SHOWN_MISSING], [*old, numbers[values.index(None)]]
    new = np.full(max(numbers, default=-1) + 1, -1, dtype=np.intp)
    new[old] = np.arange(len(old))
    return as_labels(ordered, object), new[codes]


def _kept(values: Any, inputs: Inputs, labels: Any) -> Any:
    """The groups of the rows that have a label, if the other rows were left out."""
    if labels is None or isinstance(labels, str) or inputs.y is None or isinstance(inputs.y, str):
        return values
    before = label_array(labels).ravel()
    if len(inputs.y) == len(before) or len(values) != len(before):
        return values
    return label_array(values)[has_label(before)]
