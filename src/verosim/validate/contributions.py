"""The contribution of each column to log p(x | k), for held-out rows.

    log p(x | k) = Σ_j log p_j(x_j | k),   p_j from the training rows of the fold

If columns are independent within a class, one pass over the held-out rows gives all contributions.
The selection and the weights of columns are computed from them without another pass.
Reference: Domingos & Pazzani (1997), On the optimality of the simple Bayesian classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from verosim.bayes.rule import spread
from verosim.data import SparseRows
from verosim.data.sources import CELLS_PART
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
    # (n, C, P) the interactions of pairs; 0 if the fold of the row has not chosen the pair
    interactions: np.ndarray
    pairs: tuple[tuple[str, str], ...]  # (P,) the columns of the pairs that some fold has chosen


def dense(block: Any) -> Any:
    """The rows as a dense array, if they are sparse."""
    return block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block


def held_out_contributions(engine: HeldOutEngine, hint: str) -> Contributions:
    """The contributions of all held-out rows; `hint` is for the error if memory is too small."""
    size, lock = 0, Lock()

    def visit(held: HeldOutRows, known: FoldRules) -> tuple[Any, ...]:
        nonlocal size
        rule: Any = known.seen[0]
        block = dense(rule.params.read(held.block))
        found = rule.params.contributions(block)
        n, _, d = found.shape
        C = len(known.classes)
        features, pairs = _interactions(rule.params, block, found.shape[:2])
        with lock:  # threads visit the pieces of a table in parallel
            size += n * C * (d + len(pairs))
        if size > MOST_NUMBERS_KEPT:
            raise VerosimError(
                "The contributions of all columns to all held-out rows do not fit in memory.", hint
            )
        log_prior = np.broadcast_to(rule.log_prior, (n, len(rule.log_prior)))
        names = column_labels(rule.params, rule.columns)
        parts, features = (spread(one, known.places, C, 0.0) for one in (found, features))
        return parts, spread(log_prior, known.places, C), names, known.classes, features, pairs

    visited = list(engine.visits(visit))
    parts, log_prior, names, classes, features, pairs = zip(
        *(one.value for one in visited), strict=True
    )
    own, weights = (
        np.concatenate([getattr(one.held, name) for one in visited])
        for name in ("codes", "weights")
    )
    folds = np.repeat([one.held.fold for one in visited], [len(one.held.rows) for one in visited])
    weights = weights if len(weights) else np.ones(len(own))
    there = weights > 0  # rows with weight zero are not used
    every = tuple(sorted({pair for chosen in pairs for pair in chosen}))
    return Contributions(
        np.concatenate(parts)[there], np.concatenate(log_prior)[there], own[there],
        weights[there], folds[there], names[0], classes[0],
        _side_by_side(features, pairs, every)[there], every,
    )  # fmt: skip


def _interactions(
    params: Any, block: Any, shape: tuple[int, ...]
) -> tuple[np.ndarray, tuple[tuple[str, str], ...]]:
    """(n, C, P) the interactions of the pairs of a model, and these pairs; P is 0 for most."""
    found = params.interactions
    if found is None or not found.pairs:
        return np.empty((*shape, 0)), ()
    return found.features(block[CELLS_PART]), found.names


def _side_by_side(
    features: Sequence[np.ndarray], pairs: Sequence[Any], every: tuple[tuple[str, str], ...]
) -> np.ndarray:
    """(n, C, P) the interactions of all folds, each pair in the same place for all rows."""
    place = {pair: p for p, pair in enumerate(every)}
    C = max(one.shape[1] for one in features)
    out = np.zeros((sum(map(len, features)), C, len(every)))
    done = 0
    for some, chosen in zip(features, pairs, strict=True):
        if chosen:
            out[done : done + len(some)][:, :, [place[pair] for pair in chosen]] = some
        done += len(some)
    return out
