"""Values of few rows have no name in a page: their hash takes its place.

A page without rows names a category or a token only if at least 5 rows have it. The scores do not
change, because the page compares the hash of a value that is typed. A hash is not anonymous:
someone who guesses the value can compute its hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER
from verosim.axes.codes import Categories
from verosim.axes.value_hashes import value_hash
from verosim.axes.vocabulary import Vocabulary
from verosim.bayes.program import Program
from verosim.data.code_readings import PlaceReading
from verosim.data.design_columns import CATEGORY_COLUMN, DesignColumn
from verosim.data.readings import CellReading
from verosim.densities.terms import ListedTokens, LookupTerm, Term, TokensTerm
from verosim.estimators.text_nb import TextNB
from verosim.insight.report.inside import terms_inside, with_changed_inside
from verosim.insight.report.shown_numbers import LEAST_ROWS, RowsOfNumbers, counts_rows
from verosim.kinds.cell_names import SHOWN_MISSING
from verosim.kinds.design_readings import OneOfReading, OthersReading
from verosim.models.state import State

COUNTED_ONCE = ("key", "value")  # the readings of the values of cells


@dataclass(frozen=True)
class NamedValues:
    """The values and tokens that a page may name."""

    rows: Mapping[str, Mapping[Any, float]]  # of each column: rows with each value
    tokens: Mapping[str, float]  # rows with each token
    numbers: RowsOfNumbers = field(default_factory=RowsOfNumbers)  # for those that a page may show
    least: float = LEAST_ROWS

    @classmethod
    def of(cls, state: State | None) -> NamedValues:
        """From the sums of a model. Without sums, nothing is named."""
        if state is None:
            return cls({}, {})
        return cls(rows_by_value(state), rows_by_token(state), RowsOfNumbers.of(state))

    def value(self, column: str, value: Any) -> bool:
        """Whether a value of a column may be named."""
        return value in (OTHER, SHOWN_MISSING) or self._rows(column, value) >= self.least

    def _rows(self, column: str, value: Any) -> float:
        known = self.rows.get(column, {})
        return known.get(value, 0.0)

    def token(self, token: str) -> bool:
        """Whether a token may be named."""
        return self.tokens.get(token, 0.0) >= self.least


def mentions(text: str, names: set[str]) -> bool:
    """Whether a text is one of the names, quotes it, or names its column, as 'hue = red'."""
    found = {text, *re.findall("'([^']*)'", text)}
    found |= {one.partition(" = ")[2] for one in found}
    return bool(found & names)


class EveryValue(NamedValues):
    """All values and tokens may be named, and numbers have all their digits."""

    def __init__(self) -> None:
        super().__init__({}, {})

    def value(self, column: str, value: Any) -> bool:
        return True

    def token(self, token: str) -> bool:
        return True


# From the sums -----------------------------------------------------------------------------------


def rows_by_value(state: State) -> dict[str, dict[Any, float]]:
    """The number of training rows with each value of each column, as far as the sums show it."""
    out: dict[str, dict[Any, float]] = {}
    schema = state.schema
    places = {} if schema is None else {one.name: one.values for one in schema.cells}
    for leaf in state.statistic.leaves():
        arrays: Any = getattr(leaf, "arrays", {})
        codes: Any = leaf.axes.codes
        if isinstance(codes, Categories) and "cells" in arrays:
            rows = np.asarray(arrays["cells"].sum(axis=0)).ravel()
            for j, name in enumerate(leaf.axes.columns):
                some = rows[codes.first[j] : codes.first[j + 1]].tolist()
                _note(out, name, zip(codes.values[j], some, strict=True))
        for name, found in (leaf.rows_with_cells() or {}).items():
            _note(out, name, zip(places.get(name, ()), found.tolist(), strict=False))
        sums = leaf.column_sums() if schema is not None and schema.design else None
        if sums is not None and schema is not None and counts_rows(leaf):
            known = dict(zip(leaf.axes.columns, sums.tolist(), strict=True))
            for one in schema.design:
                if one.kind == CATEGORY_COLUMN:
                    _note(out, one.column, _indicated(one, known, float(leaf.weight.sum())))
    return out


def _indicated(one: DesignColumn, sums: dict[str, float], total: float) -> list[tuple[Any, float]]:
    """The weight of each value of a category with one column per value.

    The first value may have no column of its own. It has the rest of the weight.
    """
    names = one.names(every=True)
    rest = total - sum(sums.get(name, 0.0) for name in names)
    pairs = zip(one.values, names, strict=False)
    return [(value, sums.get(name, rest)) for value, name in pairs]


def _note(out: dict[str, dict[Any, float]], column: str, pairs: Any) -> None:
    known = out.setdefault(column, {})
    for value, rows in pairs:
        known[value] = max(known.get(value, 0.0), float(rows))


def rows_by_token(state: State) -> dict[str, float]:
    """The number of training texts with each token. A model of counts has its occurrences."""
    out: dict[str, float] = {}
    for leaf in state.statistic.leaves():
        arrays: Any = getattr(leaf, "arrays", {})
        codes: Any = leaf.axes.codes
        if isinstance(codes, Vocabulary) and "cells" in arrays:
            rows = np.asarray(arrays["cells"].sum(axis=0)).ravel().tolist()
            for token, count in zip(codes.tokens(), rows, strict=True):
                out[token] = max(out.get(token, 0.0), float(count))
    return out


def rows_with_tokens(program: Program, cells: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The number of texts with each token, counted in rows."""
    out: dict[str, float] = {}
    done: list[tuple[Any, ...]] = []
    for term, readings in terms_inside(program.terms, program.readings):
        if not isinstance(term, TokensTerm) or not isinstance(term.tokens, ListedTokens):
            continue
        key = (readings[0].plain(), term.ngrams, term.lowercase, term.analyzer, term.stop_words)
        if (*key, term.strip_accents) in done:
            continue
        done.append((*key, term.strip_accents))
        texts = readings[0].read(cells).tolist()
        settings: dict[str, Any] = {
            "ngrams": term.ngrams, "lowercase": term.lowercase, "analyzer": term.analyzer,
            "stop_words": list(term.stop_words) or None, "strip_accents": term.strip_accents,
        }  # fmt: skip
        counted = TextNB(model="bernoulli", **settings)
        counted.fit(texts, np.zeros(len(texts), dtype=np.int64))
        for token, rows in rows_by_token(counted.checked_state()).items():
            out[token] = max(out.get(token, 0.0), rows)
    return out


def counts_occurrences(state: State | None) -> bool:
    """Whether the sums have occurrences of tokens, and not the numbers of texts."""
    return state is not None and any(
        isinstance(leaf.axes.codes, Vocabulary) and getattr(leaf, "weighting", "") == "counts"
        for leaf in state.statistic.leaves()
    )


# In a program ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnnamedLookup(LookupTerm):
    """A lookup in which some values are hashes. Only pages evaluate it."""

    hashed: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class UnnamedTokens(ListedTokens):
    """Tokens of which some are hashes. Only pages evaluate them."""

    hashed: tuple[int, ...] = ()


def cell_hash(value: Any) -> str:
    """The hash of a value in 16 hexadecimal digits. A number is hashed as its JSON text."""
    return f"{value_hash(value if isinstance(value, str) else json.dumps(value)):016x}"


@dataclass
class Unnamed:
    """Replaces rare values of a program by hashes, and counts them."""

    named: NamedValues
    hidden: dict[str, int] = field(default_factory=dict)  # values by column
    hidden_tokens: int = 0
    names: set[str] = field(default_factory=set)  # the values and tokens themselves

    def program(self, program: Program) -> Program:
        """The program with hashes."""
        if isinstance(self.named, EveryValue):
            return program
        readings = tuple(self._reading(one) for one in program.readings)
        terms = tuple(self._term(one, program.readings) for one in program.terms)
        return replace(program, readings=readings, terms=terms)

    def _hashes(
        self, values: tuple[Any, ...], done: tuple[int, ...], named: Callable[[Any], bool]
    ) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The values with hashes, and the places of the hashes."""
        shown, hashed = list(values), set(done)
        for i, value in enumerate(values):
            if i not in hashed and not named(value):
                shown[i] = cell_hash(value)
                hashed.add(i)
                self.names.add(str(value))
        return tuple(shown), tuple(sorted(hashed))

    def _reading(self, one: CellReading) -> CellReading:
        column = next(iter(one.inputs), "")

        def named(value: Any) -> bool:
            return self.named.value(column, value)

        if isinstance(one, PlaceReading) and one.of.kind in COUNTED_ONCE:
            values, hashed = self._hashes(one.values, one.hashed, named)
            self._count(column, len(hashed))
            return PlaceReading(one.of, values, hashed)
        if isinstance(one, OneOfReading) and one.of.kind in COUNTED_ONCE:
            if one.hashed or named(one.value):
                return one
            self._count(column, 1)
            self.names.add(one.value)
            return OneOfReading(one.of, cell_hash(one.value), hashed=True)
        if isinstance(one, OthersReading) and one.of.kind in COUNTED_ONCE:
            rare = tuple(cell_hash(value) for value in one.values if not named(value))
            kept = tuple(value for value in one.values if named(value))
            self.names.update({*one.values} - {*kept})
            self._count(column, len(rare))
            return OthersReading(one.of, kept, (*one.hashes, *rare))
        return with_changed_inside(one, self._reading)

    def _count(self, column: str, values: int) -> None:
        if values:
            self.hidden[column] = max(self.hidden.get(column, 0), values)

    def _term(self, term: Term, readings: tuple[CellReading, ...]) -> Term:
        mine = tuple(readings[j] for j in term.reads)
        if isinstance(term, LookupTerm) and mine[0].kind in COUNTED_ONCE:
            column = next(iter(mine[0].inputs))
            values, hashed = self._hashes(
                term.values, (), lambda value: self.named.value(column, value)
            )
            if not hashed:
                return term
            self._count(column, len(hashed))
            return UnnamedLookup(
                term.reads, values, term.table, term.unseen, term.missing, term.overflow, hashed
            )
        if isinstance(term, TokensTerm):
            if not isinstance(term.tokens, ListedTokens):
                return term
            tokens, hashed = self._hashes(term.tokens.tokens, (), self.named.token)
            self.hidden_tokens = max(self.hidden_tokens, len(hashed))
            return replace(term, tokens=UnnamedTokens(tokens, hashed))
        inner = getattr(term, "terms", None)
        if inner is not None:
            changed = tuple(self._term(one, mine) for one in inner)
            return replace(term, terms=changed)  # type: ignore[call-arg]
        return term
