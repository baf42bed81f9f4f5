"""Scores of specs on held-out rows, reduced while the rows are read.

    score of fold f = reduction over its rows, scored by the rules of the other folds

Memory does not grow with the number of rows, unless the out-of-fold scores are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from verosim.bayes.rule import Rule
from verosim.data.clusters import Cluster, needs_all_rows
from verosim.engines.progress import Progress
from verosim.errors import VerosimWarning, warn
from verosim.folds.engine import HeldOutEngine
from verosim.folds.holdout import FoldVisit, HeldOutRows, HoldOut
from verosim.folds.log_densities import LogDensities
from verosim.folds.rules import FoldRules, PerRow, Visited, visited_rows
from verosim.folds.scores import Score, Sums
from verosim.folds.splits import row_labels, row_weights
from verosim.folds.warnings import first_warning_only

LOG_DENSITY = "log_density"  # the name of the sums of log p(x)


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

    @property
    def log_density(self) -> tuple[float, float] | None:
        """The mean and the deviation of log p(x), if they were asked for and exist."""
        found: LogDensities | None = self.sums.get(LOG_DENSITY)
        return None if found is None else found.mean_and_deviation


def rows_in_order(rows: HoldOut, pieces: Sequence[tuple[HeldOutRows, np.ndarray]]) -> OutOfFold:
    """The out-of-fold scores of some pieces, sorted by row."""
    if not rows.is_partition:  # some rows are never held out, or several times
        labels = row_labels(rows.source, rows.given)
        weights = row_weights(rows.source, len(labels))
        none = np.empty(0, dtype=np.int32)
        return OutOfFold(_mean_scores(pieces, len(labels)), labels, weights, none, rows.classes)
    held = [piece for piece, _ in pieces]
    order = np.argsort(np.concatenate([piece.rows for piece in held]))
    if len(order) < (rows.source.rows or 0):  # after an interrupt, some folds are missing
        labels, numbers = row_labels(rows.source, rows.given), rows.folds_by_row()
        weights = row_weights(rows.source, len(labels))
        return OutOfFold(_mean_scores(pieces, len(labels)), labels, weights, numbers, rows.classes)
    folds = np.repeat([piece.fold for piece in held], [len(piece.rows) for piece in held])
    labels, weights = (
        np.concatenate([getattr(piece, name) for piece in held]) for name in ("labels", "weights")
    )
    weights = weights[order] if len(weights) else weights
    scores = _mean_scores(pieces, len(order))
    return OutOfFold(scores, labels[order], weights, folds[order], rows.classes)


def _mean_scores(pieces: Sequence[tuple[HeldOutRows, np.ndarray]], n: int) -> np.ndarray:
    """(n, …) the scores. A row that is held out several times gets the mean posterior."""
    scores = np.full((n, *pieces[0][1].shape[1:]), np.nan)
    times = np.zeros((n, *(1,) * (scores.ndim - 1)))
    for held, fresh in pieces:
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
    log_density: bool = False,
) -> FoldScores:
    """Scores of all specs on the same held-out rows. An interrupt keeps the completed folds.

    `keep_rows`, `sums` and `log_density` are for an engine with one spec: they keep its out-of-fold
    scores, sum arrays over all rows, and sum log p(x) if the spec is a density.
    """
    density = log_density and engine.specs[0].is_density
    reducer = _Reducer(engine, scores, keep_rows, sums or {}, density)
    specs, folds = len(engine.specs), engine.rows.count
    complete = True
    try:
        with Progress(specs * folds, "models") as bar:
            for visited in engine.visits(reducer.visit):
                bar.advance(reducer.take(visited))
    except KeyboardInterrupt:
        complete = False
        if not reducer.knows_a_fold():
            raise
        warn("Interrupted: the scores cover only the completed folds.", VerosimWarning)
    table = reducer.table()
    if complete:  # drop empty folds: hashing a small table may leave a fold without rows
        there = ~np.isnan(next(iter(table.values()))).all(axis=0)
        table = {name: found[:, there] for name, found in table.items()}
    kept = rows_in_order(engine.rows, reducer.kept) if keep_rows else None
    rows = reducer.rows if kept is None else len(kept.labels)
    return FoldScores(engine, table, rows, kept, reducer.totals, complete)


@dataclass(frozen=True)
class _Piece:
    """The reduced scores of some rows of a fold."""

    scores: dict[str, Score]  # that made the parts
    parts: list[dict[str, Any]]  # by spec and score; empty if no row has a positive weight
    totals: dict[str, Any] = field(default_factory=dict)
    # The rows and their log posteriors by the first spec, if rows are kept.
    kept: list[tuple[HeldOutRows, np.ndarray]] = field(default_factory=list)


@dataclass(frozen=True)
class _Scoring(FoldVisit):
    """Reduces the visited rows of a fold to parts of scores, for each spec."""

    scores: dict[str, Score]
    sums: dict[str, Sums]
    keep_rows: bool
    density: bool  # whether to sum log p(x)

    @property
    def by_sums(self) -> bool:
        """Whether sums over the rows are enough, without their posteriors."""
        columns = [score.sums_column for score in self.scores.values()]
        return not (self.keep_rows or self.sums or self.density) and None not in columns

    def __call__(self, held: HeldOutRows, rules: FoldRules) -> _Piece:
        """The parts of the scores for some rows of a fold."""
        with_loss = any(score.sums_column == 1 for score in self.scores.values())
        sums = rules.score_sums(held, with_loss) if self.by_sums else None
        if sums is not None:
            return _Piece(self.scores, [
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
        if self.density:
            totals[LOG_DENSITY] = log_densities(held, rules)
        kept = [(replace(held, block=None), found[0])] if self.keep_rows else []
        return _Piece(self.scores, parts, totals, kept)

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
            name: reduce(add, (piece.totals[name] for piece in found)) for name in found[0].totals
        }  # fmt: skip
        return _Piece(self.scores, parts, totals, [one for piece in found for one in piece.kept])

    def there(self, cluster: Cluster) -> Self:
        if self.keep_rows:
            raise needs_all_rows(cluster, "keep_rows=True")
        scores = {name: score.reduced() for name, score in self.scores.items()}
        sums = {name: one.reduced() for name, one in self.sums.items()}
        return replace(self, scores=scores, sums=sums)

    def packed(self, found: _Piece) -> Any:
        totals = {name: one.packed(found.totals[name]) for name, one in self.sums.items()}
        if self.density:
            totals[LOG_DENSITY] = list(astuple(found.totals[LOG_DENSITY]))
        return [found.parts, totals]

    def unpacked(self, plain: Any) -> _Piece:
        parts, totals = plain
        found = {name: one.unpacked(totals[name]) for name, one in self.sums.items()}
        if self.density:
            found[LOG_DENSITY] = LogDensities(*totals[LOG_DENSITY])
        return _Piece(self.scores, parts, found)


class _Reducer:
    """The parts of scores of each spec and fold."""

    def __init__(
        self,
        engine: HeldOutEngine,
        scores: dict[str, Score],
        keep_rows: bool,
        sums: dict[str, Sums],
        density: bool,
    ) -> None:
        self.engine = engine
        self.visit = _Scoring(scores, sums, keep_rows, density)
        self.scores = scores
        self.parts: dict[tuple[int, int], dict[str, Any]] = {}
        self.totals: dict[str, Any] = {}
        self.kept: list[tuple[HeldOutRows, np.ndarray]] = []
        self.rows = 0

    def take(self, visited: Visited) -> int:
        """Store what was found in a fold, and return for how many specs."""
        piece = visited.value
        self.scores = piece.scores
        for i, part in zip(visited.numbers, piece.parts, strict=True):
            self.parts[i, visited.fold] = part
        if 0 in visited.numbers:
            self.rows += visited.size
            self.kept += piece.kept
            for name, found in piece.totals.items():
                self.totals[name] = self.totals[name] + found if name in self.totals else found
        return len(visited.numbers)

    def knows_a_fold(self) -> bool:
        """Whether at least one fold was scored for all specs."""
        specs, folds = range(len(self.engine.specs)), range(self.engine.rows.count)
        return any(all((i, f) in self.parts for i in specs) for f in folds)

    def table(self) -> dict[str, np.ndarray]:
        """The scores by name, each (specs, F); nan if a score is missing."""
        shape = len(self.engine.specs), self.engine.rows.count
        table = {name: np.full(shape, np.nan) for name in self.scores}
        for key, part in self.parts.items():
            for name, score in self.scores.items():
                table[name][key] = score.value([part[name]] if part else [])
        return table


def log_densities(held: HeldOutRows, rules: FoldRules) -> LogDensities:
    """The sums of log p(x) of some held-out rows by the rule of the first spec."""
    rule = rules.seen[0]
    if not isinstance(rule, Rule):
        return LogDensities(0.0, 0.0, 0.0)
    found, at = rule.evidence(held.block), held.counted()
    if at is None:
        return LogDensities.of(found, held.weights)
    return LogDensities.of(found[at], held.weights[at])


def out_of_fold(engine: HeldOutEngine, score: Any) -> tuple[OutOfFold, dict[int, Any]]:
    """score(rule, rows) for all rows by the rule of the other folds, and the rules by fold.

    It uses the first spec of the engine. Each row must be held out exactly once.
    """
    engine.rows.check_partition()
    rules: dict[int, Any] = {}

    def scored(held: HeldOutRows, known: FoldRules) -> np.ndarray:
        rule = rules.setdefault(held.fold, known.rules[0])
        found: np.ndarray = score(rule, held.block)
        return found

    with first_warning_only():
        pieces = visited_rows(engine.visits(PerRow(scored)))
    return rows_in_order(engine.rows, pieces), dict(sorted(rules.items()))
