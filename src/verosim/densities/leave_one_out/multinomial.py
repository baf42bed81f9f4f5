"""Leave-one-out multinomial, complement and contrast scores, from the columns of the row only.

    multinomial   φ_i|k = (ñ_ik − w x_i [k = y] + α) / (ñ_k − w Σx [k = y] + αV')
    complement    the same formula with the counts of the other classes; no change for k = y
    contrast      the sum of the multinomial and the complement scores

V' is the number of columns or tokens without the row. Absent columns only enter the totals.
Reference: Rennie et al. (2003), Tackling the poor assumptions of naive Bayes text classifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.densities.leave_one_out import refit
from verosim.densities.leave_one_out.pieces import in_pieces, pieces
from verosim.densities.leave_one_out.removal import CANCELLED, Removal, Scorer
from verosim.densities.leave_one_out.token_counts import Remaining, TokenCounts
from verosim.stats import Counts, Tokens

if TYPE_CHECKING:
    from verosim.densities.columns import ColumnDensity, Complement, Contrast, Multinomial

# (counts without each row, removal) → (rows, C) scores, and (rows,) where they are not valid
TokenScore = Callable[[Remaining, Removal], tuple[np.ndarray, np.ndarray | bool]]


def token_scorer(
    density: ColumnDensity, statistic: Counts | Tokens, what: str, score_rows: Any
) -> Scorer:
    """The scorer from the counts of the tokens without each row.

    Rows for which the closed form is not valid are estimated again. `what` is the kind of count
    that the closed form needs: "amount" or "presence".
    """
    if statistic.what != what:
        return refit.scorer(density, statistic)
    counts = TokenCounts(density, statistic)
    work: TokenScore = score_rows(density, counts)

    def score_piece(block: Any, removal: Removal) -> tuple[np.ndarray, np.ndarray]:
        left = counts.without(block, removal)
        scores, failed = work(left, removal)
        return scores, ~(failed | left.odd)

    return in_pieces(statistic, pieces, score_piece, refit.scorer(density, statistic))


def multinomial(density: Multinomial, statistic: Counts | Tokens) -> Scorer:
    """The scorer for amounts with the counts of the same class."""
    return token_scorer(density, statistic, "amount", _multinomial)


def complement(density: Complement, statistic: Counts | Tokens) -> Scorer:
    """The scorer for amounts with the counts of all other classes."""
    return token_scorer(density, statistic, "amount", _complement)


def contrast(density: Contrast, statistic: Counts | Tokens) -> Scorer:
    """The scorer for amounts with the counts of the same class against all other classes."""
    return token_scorer(density, statistic, "amount", _contrast)


def _contrast(density: Contrast, counts: TokenCounts) -> TokenScore:
    """The sum of the multinomial and the complement scores of all columns or tokens."""
    of_class, of_rest = _multinomial(density, counts), _against(counts, norm=False)

    def score_rows(left: Remaining, removal: Removal) -> tuple[np.ndarray, np.ndarray | bool]:
        (own, failed), (rest, also) = of_class(left, removal), of_rest(left, removal)
        return own + rest, failed | also

    return score_rows


def _multinomial(density: ColumnDensity, counts: TokenCounts) -> TokenScore:
    """Multinomial scores of all columns or tokens."""
    count, alpha = counts.count, counts.alpha
    table = np.log(count + alpha)  # (K, C)
    total, V = counts.total(count), counts.size

    def score_rows(left: Remaining, removal: Removal) -> tuple[np.ndarray, np.ndarray]:
        found, own = left.found, removal.own()
        here, lost = found[left.stays], found[~left.stays]
        scores = here.times(table)
        k = removal.classes[found.row]
        moved = np.log(left.mine + alpha) - table[found.code, k]
        scores[own] += here.sums((found.amount * moved)[left.stays])
        every = total - lost.sums(count[lost.code])  # (rows, C)
        every[own] = total[removal.classes] - found.sums(count[found.code, k]) + (
            here.sums(left.mine[left.stays]))  # fmt: skip
        every = np.maximum(every, 0.0) + alpha * (V - lost.sums(np.ones(len(lost.row))))[:, None]
        length = here.sums(here.amount)[:, None]
        failed = (every <= CANCELLED * (total + alpha * V)).any(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(length > 0, scores - length * np.log(every), 0.0), failed

    return score_rows


def _complement(density: Complement, counts: TokenCounts) -> TokenScore:
    """Complement scores of all columns or tokens."""
    return _against(counts, density.norm)


def _against(counts: TokenCounts, norm: bool) -> TokenScore:
    """Scores of all columns or tokens from the counts of all other classes."""
    count, alpha = counts.count, counts.alpha
    rest = count.sum(axis=1, keepdims=True) - count + alpha  # (K, C)
    log_rest = np.log(rest)
    total, log_total, V = counts.total(rest), counts.total(log_rest), counts.size

    def score_rows(left: Remaining, removal: Removal) -> tuple[np.ndarray, np.ndarray]:
        found = left.found
        here = found[left.stays]
        each = count[found.code]  # (m, C)
        each[np.arange(len(each)), removal.classes[found.row]] = left.mine
        others = (each.sum(axis=1, keepdims=True) - each + alpha)[left.stays]
        log_others = np.log(others)
        every = total - found.sums(rest[found.code]) + here.sums(others)  # (rows, C)
        failed = (every <= CANCELLED * total).any(axis=1)
        size = (V - (found.sums(np.ones(len(found.row))) - here.sums(np.ones(len(here.row)))))[
            :, None
        ]
        length = here.sums(here.amount)[:, None]
        log_every = np.log(np.where(every > 0, every, 1.0))
        scores = length * log_every - here.sums(here.amount[:, None] * log_others)
        if norm:
            sums = log_total - found.sums(log_rest[found.code]) + here.sums(log_others)
            sums = sums - size * log_every
            scores = np.where(size > 1, -scores / np.where(sums != 0, sums, 1.0), 0.0)
        return scores, failed

    return score_rows
