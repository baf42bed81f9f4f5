"""Scores of specs on held-out rows, reduced while the rows are read.

    score of fold f = reduction over its rows, scored by the rules of the other folds

Memory does not grow with the number of rows, unless the out-of-fold scores are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from verosim.data.clusters import needs_all_rows
from verosim.data.stream import TableSource
from verosim.engines import cluster_of
from verosim.engines.progress import Progress
from verosim.errors import VerosimWarning, warn
from verosim.folds.engine import HeldOutEngine
from verosim.folds.holdout import HeldOutRows, HoldOut, ReducingVisit
from verosim.folds.rules import FoldRules, Visited
from verosim.folds.scores import Score, Sums
from verosim.folds.splits import row_labels, row_weights
from verosim.folds.warnings import first_warning_only


@dataclass(frozen=True)
class OutOfFold:
    """Scores of rows by models that were fitted without them, in the order of the rows."""

    scores: np.ndarray  # (n, …) log p(k | x), or another score; nan if a row is never held out
    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n,), empty if all weights are 1
    folds: np.ndarray  # (n,), empty if folds overlap
    classes: np.ndarray  # (C,)

    @property
    def row_weights(self) -> np.ndarray:
        """(n,) the weights."""
        return self.weights if len(self.weights) else np.ones(len(self.labels))


@dataclass
class FoldScores:
    """Scores of each spec and fold, and the engine that computed them."""

    engine: HeldOutEngine
    table: dict[str, np.ndarray]  # (specs, F) by name; nan after an interrupt
    rows: int  # n
    kept: OutOfFold | None = None  # of the first spec
    sums: dict[str, Any] = field(default_factory=dict)  # over all rows, of the first spec
    complete: bool = True


class _Collector:
    """Collects pieces of out-of-fold scores and sorts them by row at the end."""

    def __init__(self) -> None:
        self.pieces: list[tuple[HeldOutRows, np.ndarray]] = []
        self.classes = np.empty(0)

    def add(self, held: HeldOutRows, scores: np.ndarray) -> None:
        self.pieces.append((held, scores))

    def in_order(self, rows: HoldOut) -> OutOfFold:
        if not isinstance(rows.source, TableSource):
            scores = self._mean_scores(len(rows.labels))
            return OutOfFold(scores, rows.labels, rows.source.weights, rows.numbers, self.classes)
        if rows.blocks is not None:  # some rows are never held out, or several times
            labels = row_labels(rows.source, rows.given)
            weights = row_weights(rows.source, len(labels))
            none = np.empty(0, dtype=np.int32)
            scores = self._mean_scores(len(labels))
            return OutOfFold(scores, labels, weights, none, self.classes)
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
        """(n, …) the scores. A row that is held out several times gets the mean posterior."""
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
    """Scores of all specs on the same held-out rows. An interrupt keeps the completed folds.

    `keep_rows` and `sums` are for an engine with one spec: they keep its out-of-fold scores, and
    sum arrays over all rows.
    """
    cluster = cluster_of(engine.rows.source)
    if cluster is not None:
        if keep_rows:
            raise needs_all_rows(cluster, "keep_rows=True")
        scores = {name: score.reduced() for name, score in scores.items()}
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
        warn("Interrupted: the scores cover only the completed folds.", VerosimWarning)
    table = reducer.table()
    if complete:  # drop empty folds: hashing a small table may leave a fold without rows
        there = ~np.isnan(next(iter(table.values()))).all(axis=0)
        table = {name: found[:, there] for name, found in table.items()}
    kept = reducer.kept.in_order(engine.rows) if keep_rows else None
    rows = reducer.rows if kept is None else len(kept.labels)
    return FoldScores(engine, table, rows, kept, reducer.totals, complete)


@dataclass(frozen=True)
class _Piece:
    """The reduced scores of some rows of a fold."""

    parts: list[dict[str, Any]]  # by spec and score; empty if no row has a positive weight
    log_proba: np.ndarray | None = None  # of the first spec, if rows are kept
    totals: dict[str, Any] = field(default_factory=dict)
    classes: np.ndarray | None = None  # (C,), if rows are kept


@dataclass(frozen=True)
class _Scoring(ReducingVisit):
    """Reduces the visited rows of a fold to parts of scores, for each spec."""

    scores: dict[str, Score]
    sums: dict[str, Sums]
    keep_rows: bool

    @property
    def by_sums(self) -> bool:
        """Whether sums over the rows are enough, without their posteriors."""
        columns = [score.sums_column for score in self.scores.values()]
        return not self.keep_rows and not self.sums and None not in columns

    def __call__(self, held: HeldOutRows, rules: FoldRules) -> _Piece:
        """The parts of the scores for some rows of a fold."""
        with_loss = any(score.sums_column == 1 for score in self.scores.values())
        sums = rules.score_sums(held, with_loss) if self.by_sums else None
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
        if not self.keep_rows:
            return _Piece(parts, None, totals)
        return _Piece(parts, found[0], totals, rules.classes)

    def joined(self, found: Sequence[_Piece]) -> _Piece:
        parts = [
            {
                name: score.joined([one[name] for one in some if one])
                for name, score in self.scores.items()
            }
            if any(some)
            else {}
            for some in zip(*(piece.parts for piece in found), strict=True)
        ]
        totals = {
            name: reduce(add, (piece.totals[name] for piece in found)) for name in self.sums
        }  # fmt: skip
        return _Piece(parts, None, totals)

    def packed(self, found: _Piece) -> Any:
        totals = {name: one.packed(found.totals[name]) for name, one in self.sums.items()}
        return [found.parts, totals]

    def unpacked(self, plain: Any) -> _Piece:
        parts, totals = plain
        found = {name: one.unpacked(totals[name]) for name, one in self.sums.items()}
        return _Piece(parts, None, found)


class _Reducer:
    """Reduces the visited rows to parts of scores, for each spec and fold."""

    def __init__(
        self,
        engine: HeldOutEngine,
        scores: dict[str, Score],
        keep_rows: bool,
        sums: dict[str, Sums],
    ) -> None:
        self.engine, self.scores = engine, scores
        self.visit = _Scoring(scores, sums, keep_rows)
        self.keep_rows, self.kept = keep_rows, _Collector()
        self.parts: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self.totals: dict[str, Any] = {}
        self.rows = 0

    def take(self, visited: Visited) -> int:
        """Store a piece, and return for how many specs it is the first piece of its fold."""
        piece, fresh = visited.value, 0
        for i, part in zip(visited.numbers, piece.parts, strict=True):
            key = (i, visited.fold)
            fresh += key not in self.parts
            self.parts.setdefault(key, []).append(part)
        if 0 in visited.numbers:
            self.rows += visited.size
            if self.keep_rows:
                assert visited.held is not None
                self.kept.classes = piece.classes
                self.kept.add(visited.held, piece.log_proba)
            for name, found in piece.totals.items():
                self.totals[name] = self.totals[name] + found if name in self.totals else found
        return fresh

    def drop_unfinished(self) -> None:
        """Drop the incomplete specs of a table: each fold may have rows in the last piece."""
        if isinstance(self.engine.rows.source, TableSource):
            done = self.engine.finished
            self.parts = {key: part for key, part in self.parts.items() if key[0] in done}

    def knows_a_fold(self) -> bool:
        """Whether at least one fold was scored for all specs."""
        specs, folds = range(len(self.engine.specs)), range(self.engine.rows.count)
        return any(all((i, f) in self.parts for i in specs) for f in folds)

    def table(self) -> dict[str, np.ndarray]:
        """The scores by name, each (specs, F); nan if a score is missing."""
        shape = len(self.engine.specs), self.engine.rows.count
        table = {name: np.full(shape, np.nan) for name in self.scores}
        for key, parts in self.parts.items():
            counted = [part for part in parts if part]
            for name, score in self.scores.items():
                table[name][key] = score.value([part[name] for part in counted])
        return table


def out_of_fold(engine: HeldOutEngine, score: Any) -> tuple[OutOfFold, dict[int, Any]]:
    """score(rule, rows) for all rows by the rule of the other folds, and the rules by fold.

    It uses the first spec of the engine. Each row must be held out exactly once.
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
            assert visited.held is not None
            kept.add(visited.held, visited.value)
    return kept.in_order(engine.rows), dict(sorted(rules.items()))
