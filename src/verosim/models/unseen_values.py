"""Counts the cells to warn about while a table is predicted: unseen values, numbers without a unit.

A number without the unit of its column is read in this unit, and each column of them is a warning.

Values of category columns are unseen if the fit did not have them. The share of unseen values that
is to be expected is the estimate of Good and Turing:

    p = (number of values that the fit saw once + 1) / (number of rows + 1)

A warning names the column if k of m values are unseen, k is at least 5, k/m is at least 3 p or 1,
and so many are improbable at the rate p: exp(−m KL(k/m, p)) < 10⁻⁶, where KL(q, p) =
q log(q/p) + (1 − q) log((1 − q)/(1 − p)) gives Chernoff's bound of the probability. Reference: Good
(1953), The population frequencies of species and the estimation of population parameters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from math import log
from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER, CappedCategories
from verosim.axes.value_hashes import ValueIndex
from verosim.cached import cached_property
from verosim.data import cells
from verosim.data.cell_columns import MOST_CATEGORY_CELLS
from verosim.data.libraries import pa, pc
from verosim.data.number_formats import NumberFormat
from verosim.data.schema import Schema
from verosim.errors import VerosimWarning, listed, warn
from verosim.models.state import State

LEAST_UNSEEN = 5  # with fewer unseen values, no warning
TIMES_ABOVE = 3.0  # how many times the share must be above the expected one
LOG_RARE = log(1e6)  # − log of the probability that is too small to be chance
EXAMPLES = 3


class UnseenValues:
    """Counts unseen values, and numbers without a unit, by column.

    Readers call `see` and `see_numbers`, possibly in several threads.
    """

    state: State | None  # None on a worker of a cluster, which only counts

    def __init__(self, state: State) -> None:
        self.state = state
        self.counted: deque[tuple[str, int, int, list[str]]] = deque()  # name, unseen, of, examples
        self._values = dict(_known_values(state))

    @cached_property
    def units(self) -> dict[str, NumberFormat]:
        """The formats of the columns of numbers with a unit."""
        schema = None if self.state is None else self.state.schema
        return {} if schema is None else dict(_units(schema))

    def see(self, name: str, index: np.ndarray, texts: list[str | None]) -> None:
        """Count the cells of a column: an index (n,) into texts, None for a missing cell."""
        known = self._values.get(name)
        if known is None:
            return
        new = [at for at, text in enumerate(texts) if text is not None and text not in known]
        if not new:
            self.counted.append((name, 0, len(index), []))
            return
        count = np.bincount(index, minlength=len(texts))
        gone = sum(int(count[at]) for at, text in enumerate(texts) if text is None)
        unseen = int(count[new].sum())
        examples = [str(texts[at]) for at in new if count[at]][:EXAMPLES]
        self.counted.append((name, unseen, len(index) - gone, examples))

    def see_numbers(self, name: str, array: pa.Array, numbers: np.ndarray) -> None:
        """Count the cells of a column of texts without its unit: (n,) numbers, NaN if missing."""
        format_ = self.units.get(name)
        if format_ is None:
            return
        texts = cells.without_dictionary(array)
        having = pc.fill_null(pc.match_substring_regex(texts, format_.unit_pattern), False)
        bare = np.flatnonzero(~having.to_numpy(zero_copy_only=False) & ~np.isnan(numbers))
        examples = [str(texts[i].as_py()) for i in bare[:EXAMPLES].tolist()]
        self.counted.append((name, len(bare), len(numbers), examples))

    def __getstate__(self) -> dict[str, Any]:
        """For a worker: the values that are known, without the state and the counts."""
        return {**vars(self), "units": self.units, "state": None, "counted": deque()}

    def summed(self) -> dict[str, Any]:
        """The unseen values, all values and some examples by column."""
        sums: dict[str, Any] = {}
        for name, unseen, of, examples in self.counted:
            k, m, shown = sums.get(name, (0, 0, []))
            shown = list(dict.fromkeys([*shown, *examples]))[:EXAMPLES]
            sums[name] = [k + unseen, m + of, shown]
        return sums

    def take(self, found: Mapping[str, Any]) -> None:
        """Add the counts of workers."""
        self.counted.extend((name, k, m, shown) for name, (k, m, shown) in found.items())

    def report(self) -> None:
        """Warn about each column with far too many unseen values."""
        if self.state is None:
            return
        sums = self.summed()
        self.counted.clear()
        for name, (unseen, of, examples) in sums.items():
            if name in self.units:
                _warn_of_units(name, unseen, of, examples, self.units[name].unit)
            if name in self.units or unseen < LEAST_UNSEEN:
                continue
            expected = _expected(self.state, name)
            if are_too_many(unseen, of, expected):
                known = [text for text in self._values[name] if text != OTHER]
                _warn(name, unseen, of, expected, examples, known)


def are_too_many(unseen: int, of: int, expected: float) -> bool:
    """Whether so many unseen values are far above the expected share, and not by chance."""
    share = unseen / of
    if unseen < LEAST_UNSEEN or share <= expected or TIMES_ABOVE * expected > share < 1:
        return False
    divergence = share * log(share / expected)
    if share < 1:
        divergence += (1 - share) * log((1 - share) / (1 - expected))
    return of * divergence > LOG_RARE


def _known_values(state: State) -> list[tuple[str, Collection[str]]]:
    """The category columns, and the values that were counted or are in the schema."""
    found: dict[str, Collection[str]] = {}
    schema = state.schema
    if schema is None:
        return []
    categories = {column.name: column for column in schema.of("category")}
    if not categories:
        return []
    for leaf in state.statistic.leaves():
        codes = leaf.axes.codes
        if not leaf.has_sums:
            return []  # the share of unseen values to expect is not known
        if isinstance(codes, CappedCategories):
            found |= {n: codes.index[j] for j, n in enumerate(leaf.axes.columns) if n in categories}
    if not found and state.statistic.rows.sum() <= schema.looked:  # the first look saw all rows
        listed_values = _listed(schema)
        found = {n: listed_values[n] for n in categories if n in listed_values}
    return list(found.items())


def _units(schema: Schema) -> Iterator[tuple[str, NumberFormat]]:
    """The columns of numbers with a unit, and their formats."""
    for column in schema.used:
        formatted = column.role == NumberFormat.role and column.format
        format_ = NumberFormat.parsed(column.format) if formatted else None
        if format_ is not None and format_.unit:
            yield column.name, format_


def _listed(schema: Schema) -> dict[str, ValueIndex]:
    """The values of category columns that were declared, or that all have a cell or a column of
    their own."""
    found = {
        c.name: c.values for c in schema.cells if c.values and len(c.values) < MOST_CATEGORY_CELLS
    }
    found |= {c.name: c.values for c in schema.design if c.values and not c.others}
    found |= {c.name: c.values for c in schema.of("category") if c.values}
    return {name: ValueIndex(values) for name, values in found.items()}


def _expected(state: State, name: str) -> float:
    """The share of unseen values to expect in a column."""
    scale = float(state.statistic.weight.sum() / state.statistic.rows.sum())  # of one row
    leaf: Any
    for leaf in state.statistic.leaves():
        codes, names = leaf.axes.codes, list(leaf.axes.columns)
        if isinstance(codes, CappedCategories) and name in names:
            j = names.index(name)
            first, last = int(codes.first[j]), int(codes.first[j + 1])
            count = leaf.arrays["count"].sum(axis=(0, 1))[first:last] / scale  # rows of each value
            other = codes.index[j].get(OTHER)
            in_bucket = 0.0 if other is None else float(count[other])
            once = float(((count > 0) & (count < 1.5)).sum())
            return (once + in_bucket + 1) / (float(count.sum()) + 1)
    assert state.schema is not None
    rows = max(state.schema.looked, 1)
    return (len(_listed(state.schema)[name]) + 1) / (rows + 1)  # at most all of them occur once


def _warn_of_units(name: str, bare: int, of: int, examples: list[str], unit: str) -> None:
    if not bare:
        return
    have = "cells have" if bare > 1 else "cell has"
    warn(
        f"Column {name!r}: {bare:,} {have} no unit, of {of:,}, such as {listed(examples)}. They "
        f"are read in the unit {unit!r} of the column; write the unit if this is wrong.",
        VerosimWarning,
    )


def _warn(
    name: str, unseen: int, of: int, expected: float, examples: list[str], known: list[str]
) -> None:
    much = f"all {of:,} values were" if unseen == of else f"{unseen:,} of {of:,} values were"
    padded = {text.lstrip("0") for text in known if text.startswith("0")}
    why = "Check that the column is read in the same way as at fit."
    if padded & set(examples):
        why = (
            "The values have lost their leading zeros: give the path of the file, or read the "
            "column as text."
        )
    warn(
        f"Column {name!r}: {much} not seen at fit, such as {listed(examples[:EXAMPLES])}; "
        f"{expected:.1%} were expected, and the fit saw values such as {listed(known[:EXAMPLES])}. "
        f"{why}",
        VerosimWarning,
    )
