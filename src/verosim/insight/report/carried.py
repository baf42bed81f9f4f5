"""The program that a page carries: the whole model if it fits, else a smaller program.

    whole      the program of the model
    expert     the best expert of a pool that fits, which is the one with the largest weight
    columns    the marginal program of the most telling columns
    tokens     the program with the most telling tokens

Python evaluates the smaller program in the same way: it is a `Program` too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.axes.groups import label_text
from verosim.bayes.program import Program
from verosim.densities.terms import TemperedTerm
from verosim.errors import VerosimError
from verosim.insight.report.characters import characters_of
from verosim.insight.report.controls import controls_of
from verosim.insight.report.marginals import of_columns, of_tokens, token_count
from verosim.insight.report.rare_values import EveryValue, NamedValues, Unnamed
from verosim.insight.report.rounded_program import Rounded

WHOLE, EXPERT, SOME_COLUMNS, SOME_TOKENS = "whole", "expert", "columns", "tokens"
UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "b": 1}
SHARE_OF_BUDGET = 0.7  # for the program; the rest is for the sections
OPEN_COLUMNS = 30


@dataclass(frozen=True, eq=False)
class Carried:
    """A program in a page, and what was left out."""

    exact: Program  # with all names and digits
    program: Program  # with all names, and with rounded numbers
    kind: str
    data: dict[str, Any]  # as the page has it
    characters: dict[str, str]
    controls: list[dict[str, Any]]
    expert: str = ""
    kept: int = 0  # columns or tokens
    total: int = 0
    rounded: bool = False  # whether the numbers of the page change scores
    hidden: dict[str, int] = field(default_factory=dict)  # values without a name, by column
    hidden_tokens: int = 0

    def page_data(self, classes: list[str]) -> dict[str, Any]:
        """What the script of the nomogram needs."""
        return {
            "program": self.data, "characters": self.characters, "controls": self.controls,
            "classes": classes, "open": OPEN_COLUMNS,
        }  # fmt: skip


def bytes_of(budget: str | float) -> int:
    """The number of bytes of a budget such as "3MB"."""
    text = str(budget).strip().lower().replace(" ", "")
    unit = next((one for one in UNITS if text.endswith(one)), "")
    try:
        found = float(text.removesuffix(unit)) * UNITS.get(unit, 1)
    except ValueError:
        found = np.nan
    if not 0 < found < np.inf:
        raise VerosimError(
            f"budget must be a size such as '3MB' or a number of bytes; got {budget!r}.",
            "Use budget='3MB'.",
        )
    return int(found)


@dataclass(frozen=True)
class Shown:
    """How columns are shown: their order, the names that are allowed, and whole numbers."""

    order: list[str]  # the most telling first
    named: NamedValues
    whole: frozenset[str] = frozenset()


def carried(program: Program, budget: int, shown: Shown, pool: bool) -> Carried | None:
    """The largest part of a program that fits; None if no part does."""
    whole = _made(program, WHOLE, shown)
    if _size(whole) <= budget:
        return whole
    for term in _experts(program) if pool else ():
        alone = _of_expert(program, term)
        found = replace(_made(alone, EXPERT, shown), expert=term.name)
        if _size(found) <= budget:
            return found
    return _of_tokens(program, whole, budget, shown) or _of_columns(program, whole, budget, shown)


def smaller(program: Program, like: Carried) -> Program:
    """Another program, reduced in the same way, to compare both on held-out rows."""
    if like.kind == EXPERT:
        known = {term.name: term for term in _experts(program)}
        if like.expert not in known:
            return program
        return _of_expert(program, known[like.expert])
    if like.kind == SOME_TOKENS:
        return of_tokens(program, like.kept)
    if like.kind == SOME_COLUMNS:
        kept = [name for name in like.exact.inputs if name in program.inputs]
        return of_columns(program, kept) or program
    return program


def _made(program: Program, kind: str, shown: Shown) -> Carried:
    unnamed, rounded, exact = Unnamed(shown.named), Rounded(shown.named.numbers), program
    if not isinstance(shown.named, EveryValue):
        program = rounded.program(exact)
    written = unnamed.program(program)
    in_json = (bool, int, float)
    labels = (one if type(one) in in_json else label_text(one) for one in written.classes)
    written = replace(written, classes=tuple(labels))
    data = json.loads(written.to_json())
    controls = controls_of(written, shown.order, unnamed.hidden, shown.whole)
    return Carried(
        exact, program, kind, data, characters_of(data), controls, rounded=rounded.changed,
        hidden=unnamed.hidden, hidden_tokens=unnamed.hidden_tokens,
    )  # fmt: skip


def _size(one: Carried) -> int:
    data = (one.data, one.characters, one.controls)
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def _experts(program: Program) -> list[TemperedTerm]:
    """The experts of the program of a pool, the largest weight first."""
    found = [term for term in program.terms if isinstance(term, TemperedTerm) and term.name]
    return sorted(found, key=lambda term: -term.weight)


def _of_expert(program: Program, term: TemperedTerm) -> Program:
    """One expert as a program of its own, with its temperature and its own priors."""
    used = {j: i for i, j in enumerate(term.reads)}
    readings = tuple(program.readings[j] for j in term.reads)
    alone = replace(term, weight=1.0).moved(used)
    base = replace(program, readings=readings, terms=())
    return base.of_posterior((alone,), np.zeros(len(program.classes)))


def _of_columns(program: Program, whole: Carried, budget: int, shown: Shown) -> Carried | None:
    order = shown.order
    names = sorted(program.inputs, key=lambda n: order.index(n) if n in order else len(order))
    total, count = len(names), len(names)
    size = _size(whole)
    while count > 1:
        # A covariance grows with the square of the columns.
        count = min(count - 1, max(1, int(count * (budget / size) ** 0.6)))
        some = of_columns(program, names[:count])
        if some is None or not some.terms:
            return None
        found = replace(_made(some, SOME_COLUMNS, shown), kept=count, total=total)
        size = _size(found)
        if size <= budget:
            return found
    return None


def _of_tokens(program: Program, whole: Carried, budget: int, shown: Shown) -> Carried | None:
    total = token_count(program)
    count, size = total, _size(whole)
    while count > 100:
        count = min(count - 1, int(0.95 * count * budget / size))
        some = of_tokens(program, count)
        found = replace(_made(some, SOME_TOKENS, shown), kept=count, total=total)
        size = _size(found)
        if size <= budget:
            return found
    return None
