"""Every column's part of log p(x | k), of rows held out.

    log p(x | k) = Σ_j log p_j(x_j | k),   p_j by the sums of the other folds

Where columns are independent within a class, one look at the held-out rows gives the parts, and
which columns to keep, or how far to believe each, is algebra from there.
Reference: Domingos & Pazzani (1997), On the optimality of the simple Bayesian classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from verosim.bayes.rule import spread
from verosim.data import SparseRows
from verosim.errors import VerosimError
from verosim.folds import FoldRules, HeldOutEngine, HeldOutRows
from verosim.kinds import column_labels

MOST_NUMBERS_KEPT = 1 << 27  # numbers kept at a time: a gigabyte


@dataclass(frozen=True)
class Contributions:
    """What each column says of each row; rows of a fold stand together."""

    parts: np.ndarray  # (n, C, d) log p_j(x_j | k)
    log_prior: np.ndarray  # (n, C) by the row's fold; −inf for a class unknown outside it
    own: np.ndarray  # (n,) the class of each row
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    names: tuple[str, ...]  # (d,)
    classes: np.ndarray  # (C,)


def dense(block: Any) -> Any:
    return block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block


def held_out_contributions(engine: HeldOutEngine, hint: str) -> Contributions:
    """The parts of every held-out row; `hint` says what to do where they do not fit in memory."""
    size, lock = 0, Lock()

    def visit(held: HeldOutRows, known: FoldRules) -> tuple[Any, ...]:
        nonlocal size
        rule: Any = known.seen[0]
        found = rule.params.contributions(dense(rule.params.read(held.block)))
        n, _, d = found.shape
        C = len(known.classes)
        with lock:  # pieces of a table are visited side by side
            size += n * C * d
        if size > MOST_NUMBERS_KEPT:
            raise VerosimError(
                "The held-out contributions of all columns do not fit in memory.", hint
            )
        log_prior = np.broadcast_to(rule.log_prior, (n, len(rule.log_prior)))
        names = column_labels(rule.params, rule.columns)
        parts = spread(found, known.places, C, 0.0)
        return parts, spread(log_prior, known.places, C), names, known.classes

    visited = list(engine.visits(visit))
    parts, log_prior, names, classes = zip(*(one.value for one in visited), strict=True)
    own, weights = (
        np.concatenate([getattr(one.held, name) for one in visited])
        for name in ("codes", "weights")
    )
    folds = np.repeat([one.held.fold for one in visited], [len(one.held.rows) for one in visited])
    weights = weights if len(weights) else np.ones(len(own))
    there = weights > 0  # rows of zero weight do not exist
    return Contributions(
        np.concatenate(parts)[there], np.concatenate(log_prior)[there], own[there],
        weights[there], folds[there], names[0], classes[0],
    )  # fmt: skip
