"""Random rows, labels and weights, and the life of a model: what it learns and forgets.

A `Ledger` has the rows that are left, with exact weights. It is the truth that a model is compared
with.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

LABELS: tuple[tuple[Any, ...], ...] = (
    ("a", "b", "c", "d"),
    ("x", "long label", "ñ", ""),
    (0, 1, 2, 3),
    (-5, 7, 0, 2),
    (False, True),
    (2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3),
    (0.0, 1.0, -2.0, 3.0),
)

# Other types of labels, in their order. A case with them has the rows of the same case without.
MORE_LABELS: tuple[tuple[Any, ...], ...] = (
    (datetime(1, 1, 1), datetime(2024, 2, 29, 1), datetime(2024, 2, 29, 1, 0, 0, 1), datetime.max),
    (date.min, date(1969, 12, 31), date(2024, 2, 29), date.max),
    (b"", b"a", b"a\0", b"\xff"),
    (Decimal("-1E+40"), Decimal("0.10"), Decimal("0.11"), Decimal(2**100)),
    (-(2**127), 2**64, 2**64 + 1, 2**127),
    (-1, 2**63 - 1, 2**63, 2**63 + 1),
    (2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1),
    tuple(datetime(2024, 10, 27, hour, tzinfo=UTC) for hour in range(4)),
    tuple(datetime(2024, 7, day, tzinfo=ZoneInfo("Europe/Berlin")) for day in range(1, 5)),
    tuple(datetime(2024, 7, 1, 12 - h, tzinfo=timezone(timedelta(hours=-3 * h))) for h in range(4)),
    (timedelta(-1), timedelta(0), timedelta(microseconds=1), timedelta.max),
    ("a", "a\0", "a\0\0", "nan"),
)
# Labels that must be refused next to others: a label of another type, or a missing label.
ODD_LABELS: tuple[tuple[Any, Any], ...] = (
    ("1", 1), (True, 1), (1, True), ("a", b"a"), (date(2024, 1, 1), datetime(2024, 1, 1)),
    (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)), (Decimal(1), 1),
    ("nan", float("nan")), ("None", None), (1, None), (1, float("nan")),
    (date(2024, 1, 1), None), (b"a", "a"),
)  # fmt: skip


@dataclass
class Row:
    cells: tuple[Any, ...]  # None is a missing cell
    label: Any
    given: float  # the weight that was given; 1.0 without weights
    weight: Fraction = Fraction(1)  # what is left of it
    ever: Fraction = Fraction(1)  # what the model absorbed


@dataclass
class Ledger:
    """The rows that a model has absorbed."""

    rows: list[Row] = field(default_factory=list)
    factor: Fraction = Fraction(1)  # of all decays
    steps: int = 0
    forgot: bool = False
    chunks: int = 0
    story: list[str] = field(default_factory=list)

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            row.weight = row.ever = Fraction(row.given)
        self.rows += [row for row in rows if row.weight > 0]

    def left(self) -> list[Row]:
        return [row for row in self.rows if row.weight > 0]


@dataclass
class Draw:
    """The random rows of a case, and how they are given to the model."""

    rows: list[Row]
    probes: list[tuple[Any, ...]]
    wrap: Callable[[Sequence[tuple[Any, ...]]], Any]
    weighted: bool
    kinds: tuple[str, ...] = ()  # of the columns of a table
    labels: Callable[[list[Any]], Any] = np.array  # the form of the labels

    def learn(self, rows: Sequence[Row]) -> tuple[Any, Any, Any]:
        X = self.wrap([row.cells for row in rows])
        y = self.labels([row.label for row in rows])
        weights = [row.given for row in rows] if self.weighted else None
        return X, y, weights


def draw_weights(rnd: Random, n: int) -> list[float] | None:
    kind = rnd.randrange(8)
    if kind < 3:
        return None
    if kind == 3:
        return [float(rnd.randrange(1, 4)) for _ in range(n)]
    if kind == 4:
        return [rnd.uniform(0.1, 2.0) for _ in range(n)]
    if kind == 5:
        return [10.0 ** rnd.uniform(-12, 0) for _ in range(n)]
    if kind == 6:
        weights = [float(rnd.randrange(0, 3)) for _ in range(n)]
        weights[rnd.randrange(n)] = 1.0
        return weights
    unit = 10.0 ** rnd.choice([-90, -30, 30, 90])
    return [unit * 10.0 ** rnd.uniform(-6, 6) for _ in range(n)]


def draw_labels(rnd: Random, n: int) -> list[Any]:
    """Labels of two to four classes, sometimes one class, sometimes classes of one row."""
    names = rnd.choice(LABELS)
    C = min(len(names), rnd.choice([1, 2, 2, 2, 2, 3, 3, 4]))
    if rnd.random() < 0.3:
        return [names[min(rnd.randrange(C * C), C - 1)] for _ in range(n)]
    return [names[i % C] for i in range(n)]


def relabel(rnd: Random, draw: Draw) -> None:
    """Give the rows labels of another type in the same order, or one label that is refused."""
    known = sorted({row.label for row in draw.rows})
    names: Sequence[Any] = rnd.choice(MORE_LABELS)
    names = dict(zip(known, sorted(rnd.sample(names, len(known))), strict=True))
    draw.labels = rnd.choice([list, list, tuple, boxed])
    for row in draw.rows:
        row.label = names[row.label]
    if rnd.random() < 0.1:
        plain, odd = rnd.choice(ODD_LABELS)
        for row in draw.rows:
            row.label = plain
        draw.rows[rnd.randrange(len(draw.rows))].label = odd


def boxed(labels: list[Any]) -> np.ndarray:
    """Labels as an array of objects."""
    return np.fromiter(labels, dtype=object, count=len(labels))


def odd_labels(rows: Sequence[Row]) -> str:
    """What is wrong with the labels of these rows: "missing", "mixed" or nothing."""
    labels = [row.label for row in rows]
    if any(label is None or label != label for label in labels):
        return "missing"
    return (
        "mixed"
        if len({(type(one), getattr(one, "tzinfo", None) is None) for one in labels}) > 1
        else ""
    )


def live(
    rnd: Random,
    make: Callable[[], Any],
    draw: Draw,
    updates: frozenset[str],
    ledger: Ledger,
) -> Any:
    """Fit a model, update it some times, and write in the ledger what it has absorbed."""
    rows, story = draw.rows, ledger.story
    model = make()
    start = rnd.choice(["fit", "fit", *(["chunks", "merge", "more"] if "add" in updates else [])])
    cuts = sorted(rnd.sample(range(1, len(rows)), min(len(rows) - 1, rnd.randrange(1, 4))))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    if draw.weighted:  # each part needs a row of positive weight
        parts = [part for part in parts if any(row.given > 0 for row in part)]
    if start == "fit" or len(parts) < 2:
        story.append(f"fit {len(rows)}")
        fit(model, draw, rows)
        ledger.add(rows)
    elif start == "merge" and "merge" in updates:
        story.append(f"merge {[len(part) for part in parts]}")
        for part in parts:
            other = fit(make(), draw, part)
            model = other if part is parts[0] else model.merge(other)
            ledger.add(part)
    else:
        story.append(f"{start} {[len(part) for part in parts]}")
        for i, part in enumerate(parts):
            if start == "more" and i == 0:
                fit(model, draw, part)
            else:
                X, y, w = draw.learn(part)
                model.partial_fit(X, y, sample_weight=w)
            ledger.add(part)
    ledger.chunks = 1 if start == "fit" else len(parts)
    for _ in range(rnd.choice([0, 0, 0, 1, 1, 2]) if updates else 0):
        model = update(rnd, model, draw, updates, ledger)
    return model


def fit(model: Any, draw: Draw, rows: Sequence[Row]) -> Any:
    X, y, w = draw.learn(rows)
    return model.fit(X, y) if w is None else model.fit(X, y, sample_weight=w)


def update(rnd: Random, model: Any, draw: Draw, updates: frozenset[str], ledger: Ledger) -> Any:
    what = rnd.choice([*sorted(updates), "pickle"])
    left = ledger.left()
    if what == "forget" and len(left) > 1:
        gone = rnd.sample(left, rnd.randrange(1, len(left)))
        if any(Fraction(row.given) * ledger.factor != row.weight for row in gone):
            return model  # learned after a decay: its weight is another one
        X, y, _ = draw.learn(gone)
        given = [float(row.weight) for row in gone]
        if any(Fraction(w) != row.weight for w, row in zip(given, gone, strict=True)):
            return model  # the weight that is left is not a double
        ledger.story.append(f"forget {len(gone)}")
        for row in gone:
            row.weight = Fraction(0)
        ledger.forgot = True
        plain = not draw.weighted and ledger.factor == 1
        return model.forget(X, y) if plain else model.forget(X, y, sample_weight=given)
    if what == "decay":
        factor = rnd.choice([0.5, 0.25, 0.9, 1e-3])
        ledger.story.append(f"decay {factor}")
        model.decay(factor)
        ledger.factor *= Fraction(factor)
        for row in ledger.rows:
            row.weight *= Fraction(factor)
        return model
    if what == "pickle":
        ledger.story.append("pickle")
        return pickle.loads(pickle.dumps(model))
    return model
