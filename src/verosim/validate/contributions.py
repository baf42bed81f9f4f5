"""The contribution of each column to log p(x | k), for held-out rows.

    log p(x | k) = Σ_j log p_j(x_j | k),   p_j from the training rows of the fold

If columns are independent within a class, one pass over the held-out rows gives all contributions.
The selection and the weights of columns are computed from them without another pass.
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


def dense(block: Any) -> Any:
    """The rows as a dense array, if they are sparse."""
    return block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block


def held_out_contributions(engine: HeldOutEngine, hint: str) -> Contributions:
    """The contributions of all held-out rows; `hint` is for the error if memory is too small."""
    size, lock = 0, Lock()

    def visit(held: HeldOutRows, known: FoldRules) -> tuple[Any, ...]:
        nonlocal size
        rule: Any = known.seen[0]
        found = rule.params.contributions(dense(rule.params.read(held.block)))
        n, _, d = found.shape
        C = len(known.classes)
        with lock:  # threads visit the pieces of a table in parallel
            size += n * C * d
        if size > MOST_NUMBERS_KEPT:
            raise VerosimError(
                "The contributions of all columns to all held-out rows do not fit in memory.", hint
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
    there = weights > 0  # rows with weight zero are not used
    return Contributions(
        np.concatenate(parts)[there], np.concatenate(log_prior)[there], own[there],
        weights[there], folds[there], names[0], classes[0],
    )  # fmt: skip
