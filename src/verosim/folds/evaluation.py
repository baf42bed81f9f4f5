"""Scores of specs on held-out rows, reduced as the rows stream.

    score of fold f = reduction over its rows, scored by the rules of the other folds

Memory does not grow with rows unless the out-of-fold rows are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.stream import TableSource
from verosim.engines.progress import Progress
from verosim.errors import VerosimWarning, warn
from verosim.folds.engine import HeldOutEngine
from verosim.folds.holdout import HeldOutRows, HoldOut
from verosim.folds.rules import FoldRules
from verosim.folds.scores import Predictions, Score
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
    engine: HeldOutEngine, scores: dict[str, Score], keep_rows: bool = False
) -> FoldScores:
    """Every spec's scores on the same held-out rows; an interrupt leaves what is known."""
    specs, folds = len(engine.specs), engine.rows.count
    parts: dict[tuple[int, int], list[dict[str, Any]]] = {}
    kept = _Collector()

    by_sums = not keep_rows and all(score.sums_column is not None for score in scores.values())
    with_loss = any(score.sums_column == 1 for score in scores.values())

    def visit(held: HeldOutRows, rules: FoldRules) -> tuple[list[dict[str, Any]], Any]:
        kept.classes = rules.classes
        sums = rules.score_sums(held, with_loss) if by_sums else None
        if sums is not None:
            return [
                {name: score.part_of_sums(one) for name, score in scores.items()} for one in sums
            ], None
        found = rules.log_posteriors(held.block)
        at = held.counted()
        codes, weights = held.codes, held.weights
        if at is not None:
            codes, weights = codes[at], weights[at]
        reduced = [
            {
                name: score.part(
                    Predictions(one if at is None else one[at], codes, weights, rules.classes)
                )
                for name, score in scores.items()
            }
            if len(codes) else {}
            for one in found
        ]  # fmt: skip
        return reduced, found[0] if keep_rows else None

    done: set[tuple[int, int]] = set()
    complete, count = True, 0
    try:
        with Progress(specs * folds, "models") as bar:
            for visited in engine.visits(visit):
                reduced, log_proba = visited.value
                count += len(visited.held.rows) if visited.numbers[0] == 0 else 0
                for i, part in zip(visited.numbers, reduced, strict=True):
                    key = (i, visited.held.fold)
                    parts.setdefault(key, []).append(part)
                    if key not in done:
                        done.add(key)
                        bar.advance(1)
                if keep_rows and 0 in visited.numbers:
                    kept.add(visited.held, log_proba)
    except KeyboardInterrupt:
        complete = False
        if isinstance(engine.rows.source, TableSource):  # every fold has rows in the last piece
            done = {key for key in done if key[0] in engine.finished}
            parts = {key: parts[key] for key in done}
        if not any(all((i, f) in done for i in range(specs)) for f in range(folds)):
            raise  # nothing is known of all of them yet
        warn("Interrupted: the scores are of the folds done so far.", VerosimWarning)
    table = {name: np.full((specs, folds), np.nan) for name in scores}
    for (i, f), found in parts.items():
        found = [part for part in found if part]
        for name, score in scores.items():
            table[name][i, f] = score.value([part[name] for part in found])
    if complete:  # hashing a small table may leave a fold without rows: it is no fold
        there = ~np.isnan(next(iter(table.values()))).all(axis=0)
        table = {name: found[:, there] for name, found in table.items()}
    rows = kept.in_order(engine.rows) if keep_rows else None
    return FoldScores(engine, table, count if rows is None else len(rows.labels), rows, complete)


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
