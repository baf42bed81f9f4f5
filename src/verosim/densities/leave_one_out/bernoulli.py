"""Leave-one-out Bernoulli scores: the class of the row has one row less in every column.

    φ_i|k = (n_ik − w [i present] + α) / (n_k − w + 2α),   k = y

Absent columns also change the score. The sum over absent columns of an empty row depends only on
its class and weight, so it is computed once for each class and weight.
Reference: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI-98 Workshop on Learning for Text Categorization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.densities.leave_one_out import refit
from verosim.densities.leave_one_out.multinomial import TokenScore, token_scorer
from verosim.densities.leave_one_out.pieces import dense_pieces, in_pieces
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.densities.leave_one_out.token_counts import Remaining, TokenCounts
from verosim.densities.smoothing import DIFFERENCE_ROUNDING
from verosim.stats import Counts, Tokens
from verosim.stats.forgetting import residue

if TYPE_CHECKING:
    from verosim.densities.columns import Bernoulli


def scorer(density: Bernoulli, statistic: Counts | Tokens) -> Scorer:
    """The scorer for the presence of columns or tokens."""
    if density.constants:
        return token_scorer(density, statistic, "presence", _bernoulli)
    if statistic.what != "presence" or isinstance(statistic, Tokens):
        return refit.scorer(density, statistic)
    return _every_column(density, statistic)


def _rows_and_missing(statistic: Counts | Tokens) -> tuple[np.ndarray, np.ndarray]:
    """(C,) the weight of all rows, and (K or 1, C) of the rows with a missing cell per column."""
    weight = statistic.weight[:, 0]
    missing = statistic.arrays.get("missing")
    return weight, np.zeros((1, len(weight))) if missing is None else missing[:, 0].T


def _bernoulli(density: Bernoulli, counts: TokenCounts) -> TokenScore:
    """Scores of presence for all columns or tokens."""
    count, alpha = counts.count, counts.alpha  # (K, C)
    weight, missing = _rows_and_missing(counts.statistic)
    missing = np.broadcast_to(missing, count.shape)  # (K, C)
    seen = weight - missing
    total = np.maximum(seen, 0.0) + 2 * alpha
    absent = np.log((np.maximum(seen - count, 0.0) + alpha) / total)
    table = np.log((count + alpha) / total) - absent
    base = counts.total(absent)

    def gone(code: np.ndarray, k: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
        """The log share of absence of some columns after an empty row of class k is removed, and
        the denominator of this share."""
        n = (weight[k] - w) - missing[code, k]
        every = np.maximum(n, 0.0) + 2 * alpha
        return np.log((np.maximum(n - count[code, k], 0.0) + alpha) / every), every

    def score_rows(left: Remaining, removal: Removal) -> tuple[np.ndarray, bool]:
        found, missed, own = left.found, left.missing, removal.own()
        here, lost = found[left.stays], found[~left.stays]
        scores = base + here.times(table)
        scores -= lost.sums(absent[lost.code]) + missed.sums(absent[missed.code])
        without, every = gone(found.code, removal.classes[found.row], removal.weights[found.row])
        log_odds_left = np.where(left.stays, np.log((left.mine + alpha) / every), 0.0) - without
        empty = gone(missed.code, removal.classes[missed.row], removal.weights[missed.row])[0]
        scores[own] = bases(removal) + found.sums(log_odds_left) - missed.sums(empty)
        return scores, False

    every_code = np.flatnonzero(counts.kept)
    known: dict[tuple[int, float], float] = {}

    def bases(removal: Removal) -> np.ndarray:
        """(rows,) the score of an empty row with the same class and weight as each row."""
        out = np.empty(len(removal.classes))
        for i, key in enumerate(
            zip(removal.classes.tolist(), removal.weights.tolist(), strict=True)
        ):
            if key not in known:
                known[key] = float(gone(every_code, *key)[0].sum())
            out[i] = known[key]
        return out

    return score_rows


def _every_column(density: Bernoulli, statistic: Counts) -> Scorer:
    """The scorer if constant columns are ignored; a column can become constant without a row."""
    raw = statistic.arrays["count"][:, 0]  # (C, d)
    weight, missing = _rows_and_missing(statistic)
    missing, alpha = missing.T, density.pseudo_count

    def score_piece(rows: np.ndarray, removal: Removal) -> tuple[np.ndarray, bool]:
        shown, there = ~np.isnan(rows), rows > np.float64(statistic.threshold)
        own, w, stays = removal.own(), removal.weights[:, None], ~removal.gone[:, None]
        seen = weight[:, None] - missing
        n, N = (np.repeat(a[None], len(rows), axis=0) for a in (raw, seen))  # (b, C, d)
        before = n[own]
        after = before - np.where(there, w, 0.0)
        some = ~there | (after > residue(before, weight[removal.classes][:, None]))
        n[own] = np.where(stays & some, after, 0.0)
        left = (removal.left[:, None] - missing[removal.classes]) + np.where(shown, 0.0, w)
        N[own] = np.where(stays, left, 0.0)
        n = np.maximum(n, 0.0)
        all_n, all_N = n.sum(axis=1, keepdims=True), np.maximum(N.sum(axis=1, keepdims=True), 0.0)
        alike = (all_n <= 0) | (all_N - all_n <= DIFFERENCE_ROUNDING * all_N)
        n, N = np.where(alike, all_n, n), np.where(alike, all_N, N)
        total = np.maximum(N, 0.0) + 2 * alpha
        there = there[:, None]
        mass = np.where(there, n, np.maximum(N - n, 0.0)) + alpha
        return np.where(shown[:, None], np.log(mass / total), 0.0).sum(axis=-1), True

    return in_pieces(statistic, dense_pieces, score_piece)
