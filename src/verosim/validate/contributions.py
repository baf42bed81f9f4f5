"""The contribution of each column to log p(x | k), for held-out rows.

    log p(x | k) = Σ_j log p_j(x_j | k),   p_j from the training rows of the fold

If columns are independent within a class, one pass over the held-out rows gives all contributions.
The selection and the weights of columns are computed from them without another pass.
Reference: Domingos & Pazzani (1997), On the optimality of the simple Bayesian classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from verosim.bayes.rule import spread
from verosim.data import SparseRows
from verosim.data.sources import CELLS_PART
from verosim.errors import VerosimError
from verosim.folds import FoldRules, HeldOutEngine, HeldOutRows, HoldOut
from verosim.folds.rules import PerRow, fold_rules, visited_rows
from verosim.kinds import column_labels
from verosim.models import Spec
from verosim.validate.weight_likelihood import ColumnPair, joined_features

MOST_NUMBERS_KEPT = 1 << 27  # numbers kept in memory at once: one gigabyte


@dataclass(frozen=True)
class Contributions:
    """The contribution of each column to each held-out row; the rows are ordered by fold."""

    parts: np.ndarray  # (n, C, d) log p_j(x_j | k)
    log_prior: np.ndarray  # (n, C) of the fold of the row; −inf for a class without training rows
    own: np.ndarray  # (n,) the class of each row
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    names: tuple[str, ...]  # (d,)
    classes: np.ndarray  # (C,)
    # (n, C, P) the interactions of pairs; 0 if the fold of the row has not chosen the pair
    interactions: np.ndarray
    pairs: tuple[ColumnPair, ...]  # (P,) the columns of the pairs that some fold has chosen


def dense(block: Any) -> Any:
    """The rows as a dense array, if they are sparse."""
    return block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block


def held_out_contributions(engine: HeldOutEngine, hint: str) -> Contributions:
    """The contributions of all held-out rows; `hint` is for the error if memory is too small."""
    size, lock = 0, Lock()

    def visit(held: HeldOutRows, known: FoldRules) -> _Piece:
        nonlocal size
        found = _piece(held, known)
        with lock:  # threads visit the pieces of a table in parallel
            size += found.parts.size + found.interactions.size
        if size > MOST_NUMBERS_KEPT:
            raise VerosimError(
                "The contributions of all columns to all held-out rows do not fit in memory.", hint
            )
        return found

    return _joined(visited_rows(engine.visits(PerRow(visit))))


def nested_contributions(
    spec: Spec, rows: HoldOut, asides: Sequence[Sequence[int]]
) -> list[Contributions]:
    """For each set of folds that is set aside, the contributions of the other rows.

    The training rows of a row are then those outside its fold and outside the folds set aside.
    """
    known: dict[int, dict[int, FoldRules]] = {f: {} for f in range(rows.count)}
    for s, aside in enumerate(asides):
        for f, training in rows.nested_trainings(aside):
            rules = fold_rules([spec], rows, training, keep_priors=False)
            # Without the statistic, which is large.
            known[f][s] = replace(rules, training=None, derive=partial(list, rules.seen))

    def visit(held: HeldOutRows, known: dict[int, FoldRules]) -> dict[int, _Piece]:
        return {s: _piece(held, rules) for s, rules in known.items()}

    found_by_fold = rows.visited(PerRow(visit), known)
    visited = [piece for _, pieces in found_by_fold.values() for piece in pieces]
    return [
        _joined([(held, found[s]) for held, found in visited if s in found])
        for s in range(len(asides))
    ]


class _Piece(NamedTuple):
    """The contributions to some rows of a fold."""

    parts: np.ndarray  # (n, C, d)
    log_prior: np.ndarray  # (n, C)
    interactions: np.ndarray  # (n, C, P)
    pairs: tuple[ColumnPair, ...]  # (P,) chosen without this fold
    names: tuple[str, ...]  # (d,)
    classes: np.ndarray  # (C,)


def _piece(held: HeldOutRows, known: FoldRules) -> _Piece:
    rule: Any = known.seen[0]
    block = dense(rule.params.read(held.block))
    parts = rule.params.contributions(block)
    n, C, _ = parts.shape
    found, pairs, features = rule.params.interactions, (), np.empty((n, C, 0))
    if found is not None and found.pairs:
        features, pairs = found.features(block[CELLS_PART]), found.names
    log_prior = np.broadcast_to(rule.log_prior, (n, C))
    places, every = known.places, len(known.classes)
    return _Piece(
        spread(parts, places, every, 0.0), spread(log_prior, places, every),
        spread(features, places, every, 0.0), pairs,
        column_labels(rule.params, rule.columns), known.classes,
    )  # fmt: skip


def _joined(visited: Sequence[tuple[HeldOutRows, _Piece]]) -> Contributions:
    """The contributions of all pieces, without rows of weight zero."""
    pieces = [piece for _, piece in visited]
    own, weights = (
        np.concatenate([getattr(held, name) for held, _ in visited])
        for name in ("codes", "weights")
    )
    folds = np.repeat([held.fold for held, _ in visited], [len(held.rows) for held, _ in visited])
    weights = weights if len(weights) else np.ones(len(own))
    there = weights > 0
    pairs = tuple(sorted({pair for piece in pieces for pair in piece.pairs}))
    return Contributions(
        np.concatenate([piece.parts for piece in pieces])[there],
        np.concatenate([piece.log_prior for piece in pieces])[there],
        own[there], weights[there], folds[there], pieces[0].names, pieces[0].classes,
        joined_features([(piece.interactions, piece.pairs) for piece in pieces], pairs)[there],
        pairs,
    )  # fmt: skip
