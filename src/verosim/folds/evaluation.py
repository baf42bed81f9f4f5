"""Scores of specs on held-out rows, reduced as the rows stream.

    score of fold f = reduction over its rows, scored by the rules of the other folds

Memory does not grow with rows unless the out-of-fold rows are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verosim.data.stream import TableSource
from verosim.engines.progress import Progress
from verosim.errors import VerosimWarning, warn
from verosim.folds.engine import HeldOutEngine
from verosim.folds.holdout import HeldOutRows, HoldOut
from verosim.folds.rules import FoldRules, Visited
from verosim.folds.scores import Score, Sums
from verosim.folds.warnings import first_warning_only


@dataclass(frozen=True)
class OutOfFold:
    """What models that never saw them say of the rows, in the order of the rows."""

    scores: np.ndarray  # (n, …) log p(k | x), or another score; nan for a row never held out
    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n,), empty if every row counts once
    folds: np.ndarray  # (n,) empty where folds overlap
    classes: np.ndarray  # (C,)

    @property
    def row_weights(self) -> np.ndarray:
        """(n,) the weights, ones where every row counts once."""
        return self.weights if len(self.weights) else np.ones(len(self.labels))


@dataclass
class FoldScores:
    """Scores of every spec and fold, and the engine they came from."""

    engine: HeldOutEngine
    table: dict[str, np.ndarray]  # (specs, F) by name; nan where an interrupt came first
    rows: int  # n
    kept: OutOfFold | None = None  # of the first spec
    sums: dict[str, Any] = field(default_factory=dict)  # over all rows, of the first spec
    complete: bool = True


class _Collector:
    """Pieces of out-of-fold rows, put in the order of the rows at the end."""

    def __init__(self) -> None:
        self.pieces: list[tuple[HeldOutRows, np.ndarray]] = []
        self.classes = np.empty(0)

    def add(self, held: HeldOutRows, scores: np.ndarray) -> None:
        self.pieces.append((held, scores))

    def in_order(self, rows: HoldOut) -> OutOfFold:
        if not isinstance(rows.source, TableSource):
            scores = self._mean_scores(len(rows.labels))
            return OutOfFold(scores, rows.labels, rows.source.weights, rows.numbers, self.classes)
        held = [piece for piece, _ in self.pieces]
        order = np.argsort(np.concatenate([piece.rows for piece in held]))
        folds = np.repeat([piece.fold for piece in held], [len(piece.rows) for piece in held])
        labels, weights = (
            np.concatenate([getattr(piece, name) for piece in held])
            for name in ("labels", "weights")
        )
        weights = weights[order] if len(weights) else weights
        scores = self._mean_scores(len(order))
        return OutOfFold(scores, labels[order], weights, folds[order], self.classes)

    def _mean_scores(self, n: int) -> np.ndarray:
        """(n, …) the scores; held out more than once, a row has the mean of its posteriors."""
        scores = np.full((n, *self.pieces[0][1].shape[1:]), np.nan)
        times = np.zeros((n, *(1,) * (scores.ndim - 1)))
        for held, fresh in self.pieces:
            at = held.rows
            seen = times[at]
            if seen.any():
                with np.errstate(divide="ignore", invalid="ignore"):
                    both = np.logaddexp(scores[at] + np.log(seen), fresh) - np.log(seen + 1)
                fresh = np.where(seen > 0, both, fresh)
            scores[at] = fresh
            times[at] += 1
        return scores


def score_specs(
    engine: HeldOutEngine,
    scores: dict[str, Score],
    keep_rows: bool = False,
    sums: dict[str, Sums] | None = None,
) -> FoldScores:
    """Every spec's scores on the same held-out rows; an interrupt leaves what is known.

    `keep_rows` and `sums` are for an engine of one spec: its out-of-fold rows, and arrays that
    are summed over all rows.
    """
    reducer = _Reducer(engine, scores, keep_rows, sums or {})
    specs, folds = len(engine.specs), engine.rows.count
    complete = True
    try:
        with Progress(specs * folds, "models") as bar:
            for visited in engine.visits(reducer.visit):
                bar.advance(reducer.take(visited))
    except KeyboardInterrupt:
        complete = False
        reducer.drop_unfinished()
        if not reducer.knows_a_fold():
            raise
        warn("Interrupted: the scores are of the folds done so far.", VerosimWarning)
    table = reducer.table()
    if complete:  # hashing a small table may leave a fold without rows: it is no fold
        there = ~np.isnan(next(iter(table.values()))).all(axis=0)
        table = {name: found[:, there] for name, found in table.items()}
    kept = reducer.kept.in_order(engine.rows) if keep_rows else None
    rows = reducer.rows if kept is None else len(kept.labels)
    return FoldScores(engine, table, rows, kept, reducer.totals, complete)


@dataclass(frozen=True)
class _Piece:
    """What is kept of some rows of a fold."""

    parts: list[dict[str, Any]]  # by spec and score; empty where no row has a weight
    log_proba: np.ndarray | None = None  # of the first spec, where rows are kept
    totals: dict[str, Any] = field(default_factory=dict)


class _Reducer:
    """Reduces the rows that an engine visits to parts of scores, by spec and fold."""

    def __init__(
        self,
        engine: HeldOutEngine,
        scores: dict[str, Score],
        keep_rows: bool,
        sums: dict[str, Sums],
    ) -> None:
        self.engine, self.scores, self.sums = engine, scores, sums
        self.keep_rows, self.kept = keep_rows, _Collector()
        columns = [score.sums_column for score in scores.values()]
        self.by_sums = not keep_rows and not sums and None not in columns
        self.with_loss = 1 in columns
        self.parts: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self.totals: dict[str, Any] = {}
        self.rows = 0

    def visit(self, held: HeldOutRows, rules: FoldRules) -> _Piece:
        self.kept.classes = rules.classes
        sums = rules.score_sums(held, self.with_loss) if self.by_sums else None
        if sums is not None:
            return _Piece([
                {name: score.part_of_sums(one) for name, score in self.scores.items()}
                for one in sums
            ])  # fmt: skip
        found = rules.log_posteriors(held.block)
        rows = [held.predictions(one, rules.classes) for one in found]
        parts = [
            {name: score.part(one) for name, score in self.scores.items()} if len(one.codes) else {}
            for one in rows
        ]
        totals = {name: one.of(rows[0]) for name, one in self.sums.items()}
        return _Piece(parts, found[0] if self.keep_rows else None, totals)

    def take(self, visited: Visited) -> int:
        """Keep a piece; how many folds of specs it is the first of."""
        piece, fresh = visited.value, 0
        for i, part in zip(visited.numbers, piece.parts, strict=True):
            key = (i, visited.held.fold)
            fresh += key not in self.parts
            self.parts.setdefault(key, []).append(part)
        if 0 in visited.numbers:
            self.rows += len(visited.held.rows)
            if self.keep_rows:
                self.kept.add(visited.held, piece.log_proba)
            for name, found in piece.totals.items():
                self.totals[name] = self.totals[name] + found if name in self.totals else found
        return fresh

    def drop_unfinished(self) -> None:
        """After an interrupt: every fold of a table has rows in its last piece."""
        if isinstance(self.engine.rows.source, TableSource):
            done = self.engine.finished
            self.parts = {key: part for key, part in self.parts.items() if key[0] in done}

    def knows_a_fold(self) -> bool:
        """Whether some fold was scored by every spec."""
        specs, folds = range(len(self.engine.specs)), range(self.engine.rows.count)
        return any(all((i, f) in self.parts for i in specs) for f in folds)

    def table(self) -> dict[str, np.ndarray]:
        """By score, (specs, F); nan where there is none."""
        shape = len(self.engine.specs), self.engine.rows.count
        table = {name: np.full(shape, np.nan) for name in self.scores}
        for key, parts in self.parts.items():
            counted = [part for part in parts if part]
            for name, score in self.scores.items():
                table[name][key] = score.value([part[name] for part in counted])
        return table


def out_of_fold(engine: HeldOutEngine, score: Any) -> tuple[OutOfFold, dict[int, Any]]:
    """score(rule, rows) of every row by the rule that never saw it, and those rules by fold.

    For the first spec of the engine, and folds that hold every row out once.
    """
    engine.rows.check_partition()
    kept = _Collector()
    rules: dict[int, Any] = {}

    def visit(held: HeldOutRows, known: FoldRules) -> np.ndarray:
        kept.classes = known.classes
        rule = rules.setdefault(held.fold, known.rules[0])
        found: np.ndarray = score(rule, held.block)
        return found

    with first_warning_only():
        for visited in engine.visits(visit):
            kept.add(visited.held, visited.value)
    return kept.in_order(engine.rows), dict(sorted(rules.items()))
