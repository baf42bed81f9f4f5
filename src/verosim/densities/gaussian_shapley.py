"""Shapley values of the columns of a Gaussian with a full covariance.

    v(S) = −½ [ |S| log 2π + log|Σ_SS| + z_Sᵀ Σ_SS⁻¹ z_S ],   z = x − μ
    φ_j(x) = −½ [ c_j + yᵀ N_j y ],   y = W z,   W Σ Wᵀ = I

N_j and c_j are sums over all subsets of players. They do not depend on the row, so they are
computed once, and a row costs one quadratic form for each player. In whitened rows y, the square
z_Sᵀ Σ_SS⁻¹ z_S is the squared length of a projection of y. With A = W⁻¹ and A_S the rows of A for
the columns in S:

    A_Sᵀ = Q_S R_S,   z_Sᵀ Σ_SS⁻¹ z_S = ‖Q_Sᵀ y‖²,   log|Σ_SS| = 2 log|det R_S|

Projections are accurate even if columns are nearly dependent, and Σ_j N_j = I, so the sum of the
parts is the log density to the last digits. With more than 12 players, orders of the players are
sampled. In an order of the columns, A_πᵀ = Q R gives the density of each column given those before:

    log p(x_j | x_before) = −½ [ log 2π + 2 log|R_jj| + (Qᵀ y)_j² ]

Reference: Aas, Jullum & Løland (2021), Explaining individual predictions when features are
dependent, Artificial Intelligence 298, 103502.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verosim import kernels
from verosim.data.batch import BLOCK_CELLS
from verosim.densities.attribution import SAMPLED, SHAPLEY, Attribution, AttributionRequest
from verosim.densities.missing_cells import rows_by_pattern
from verosim.densities.shapley import (
    MOST_EXACT_PLAYERS,
    RunningParts,
    sampled_orders,
    shapley_weights,
    subset_members,
)
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import one_blas_thread

if TYPE_CHECKING:
    from verosim.densities.full_params import FullParams

MOST_EXACT_WORK = 1e11  # 2^p · D³, above which orders are sampled although there are few players
MOST_SUBSETS_AT_ONCE = 1 << 22  # numbers in the inverses of the subsets that are added together
MOST_FORMS_KEPT = 512  # patterns of missing cells for which the matrices of a model are kept


@dataclass(frozen=True, eq=False)
class WhitenedGaussians:
    """The Gaussians of K classes or components, for rows that are whitened."""

    params: FullParams
    at: np.ndarray  # (D,) the columns of the block that are used
    owner: np.ndarray  # (D,) the player of each of them
    players: int  # p
    whitener: np.ndarray  # (K or 1, D, D) W
    root: np.ndarray  # (K or 1, D, D) A = W⁻¹

    @classmethod
    def of(cls, params: FullParams, owner: np.ndarray) -> WhitenedGaussians:
        at = np.flatnonzero(params.used)
        owner = owner[at]
        whitener, root = (M[:, at[:, None], at] for M in (params.whitener, params.root))
        return cls(params, at, owner, int(owner.max(initial=-1)) + 1, whitener, root)

    @property
    def classes(self) -> int:
        """K, the number of classes or components."""
        return len(self.params.pivot)

    def matrix_of(self, k: int) -> int:
        """The number of the covariance of class k."""
        return 0 if self.params.shared else k

    def whitened(self, block: np.ndarray, k: int) -> np.ndarray:
        """(n, D) y, the whitened deviations of rows from the mean of class k."""
        z: np.ndarray = np.empty(block.shape)
        kernels.centre_rows(block, self.params.pivot[k], self.params.offset[k], z)
        z = z if len(self.at) == z.shape[1] else z[:, self.at]
        return z @ self.whitener[self.matrix_of(k)].T

    @property
    def few_players(self) -> bool:
        """Whether a sum over all subsets of players is feasible."""
        p, D = self.players, len(self.at)
        return p <= MOST_EXACT_PLAYERS and float(1 << p) * max(D, 1) ** 3 <= MOST_EXACT_WORK

    def subsets(self, at: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Subsets of players that have equally many columns, except the empty one.

        Gives (m,) the numbers of the subsets, (m, D, c) their matrices Q_S, and (m,) their
        constants c log 2π + log|Σ_SS|, for the covariance with the number `at`.
        """
        member = subset_members(self.players)[:, self.owner]  # (2^p, D)
        widths = member.sum(axis=1)
        for c in range(1, len(self.owner) + 1):
            numbers = np.flatnonzero(widths == c)
            step = max(1, MOST_SUBSETS_AT_ONCE // len(self.owner) ** 2)
            for start in range(0, len(numbers), step):
                some = numbers[start : start + step]
                columns = np.nonzero(member[some])[1].reshape(len(some), c)
                Q, R = np.linalg.qr(self.root[at][columns].swapaxes(1, 2))
                yield some, Q, c * LOG_2PI + _log_diagonal(R).sum(axis=1)


def _log_diagonal(R: np.ndarray) -> np.ndarray:
    """(…, c) 2 log|R_jj|."""
    found: np.ndarray = 2 * np.log(np.abs(np.diagonal(R, axis1=-2, axis2=-1)))
    return found


# Exact values ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """The matrices N_j and the constants c_j of all players, one set for each covariance."""

    gaussians: WhitenedGaussians
    table: np.ndarray  # (K or 1, T, p) N_j above the diagonal; products count twice
    constant: np.ndarray  # (K or 1, p) c_j

    @classmethod
    def of(cls, gaussians: WhitenedGaussians) -> QuadraticForms:
        p, D = gaussians.players, len(gaussians.at)
        i, j = np.triu_indices(D)
        tables, constants = [], []
        for at in range(len(gaussians.root)):
            forms, constant = np.zeros((p, D * D)), np.zeros(p)
            for numbers, Q, levels in gaussians.subsets(at):
                weights = shapley_weights(p)[numbers].T  # (p, m)
                forms += weights @ (Q @ Q.swapaxes(1, 2)).reshape(len(numbers), -1)
                constant += weights @ levels
            # The constants sum to that of the model, without the rounding of another factor.
            constant += (D * LOG_2PI + gaussians.params.log_det[at] - constant.sum()) / p
            upper = forms.reshape(p, D, D)[:, i, j] * np.where(i == j, 1.0, 2.0)
            tables.append(upper.T)
            constants.append(constant)
        return cls(gaussians, np.array(tables), np.array(constants))

    def parts(self, block: np.ndarray) -> np.ndarray:
        """(n, K, p) φ_j of complete rows."""
        every = self.gaussians
        T, p = self.table.shape[1:]
        i, j = np.triu_indices(len(every.at))
        out = np.empty((len(block), every.classes, p))
        step = max(16, BLOCK_CELLS // max(T, 1))
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            for k in range(every.classes):
                at, y = every.matrix_of(k), every.whitened(rows, k)
                products = y[:, i] * y[:, j]  # (rows, T)
                out[start : start + step, k] = products @ self.table[at] + self.constant[at]
        out *= -0.5
        return out


def subset_densities(gaussians: WhitenedGaussians, block: np.ndarray) -> np.ndarray:
    """(2^p, n, K) log p(x_S | k) for all subsets S of players; 0 for the empty one."""
    K = gaussians.classes
    out = np.zeros((1 << gaussians.players, len(block), K))
    for at in range(len(gaussians.root)):
        own = range(K) if gaussians.params.shared else (at,)
        rows = {k: gaussians.whitened(block, k) for k in own}
        for numbers, Q, levels in gaussians.subsets(at):
            for k, y in rows.items():
                squares = np.square(y @ Q).sum(axis=2)  # (m, n)
                out[numbers, :, k] = -0.5 * (levels[:, None] + squares)
    return out


# Sampled orders ----------------------------------------------------------------------------------


def ordered_parts(gaussians: WhitenedGaussians, block: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(n, K, p) the log density of each player given those before it, in one order (p,)."""
    p = gaussians.players
    place = np.argsort(order)  # the position of each player
    columns = np.argsort(place[gaussians.owner], kind="stable")
    widths = np.bincount(place[gaussians.owner], minlength=p)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    out = np.empty((len(block), gaussians.classes, p))
    factors = [np.linalg.qr(root[columns].T) for root in gaussians.root]
    for k in range(gaussians.classes):
        at = gaussians.matrix_of(k)
        Q, R = factors[at]
        levels = _log_diagonal(R)
        # The same constant as that of the model, without the rounding of another factor.
        levels += LOG_2PI + (gaussians.params.log_det[at] - levels.sum()) / len(columns)
        y = gaussians.whitened(block, k) @ Q
        y *= y
        y += levels
        found = y if len(columns) == p else np.add.reduceat(y, starts, axis=1)
        out[:, k] = found[:, place]
    out *= -0.5
    return out


def sampled_parts(
    gaussians: WhitenedGaussians,
    block: np.ndarray,
    request: AttributionRequest,
    classes: int,
    value: Callable[[np.ndarray], np.ndarray] | None = None,
) -> RunningParts:
    """Shapley values by antithetic orders.

    `value` turns (n, K, p) sums of log densities over the first 1, …, p players of an order into
    (n, C, p) values of the game. None means that the densities themselves are the game.
    """
    running = RunningParts((len(block), classes, gaussians.players), request.pair)
    for order in sampled_orders(gaussians.players, request.permutations, request.seed):
        both = []
        for one in (order, order[::-1]):
            parts = ordered_parts(gaussians, block, one)
            if value is not None:
                steps = value(np.cumsum(parts[:, :, one], axis=2))
                steps[:, :, 1:] -= steps[:, :, :-1].copy()
                parts = np.empty_like(steps)
                parts[:, :, one] = steps
            both.append(parts)
        running.add(0.5 * (both[0] + both[1]))
    return running


# All rows ----------------------------------------------------------------------------------------

FoundParts = tuple[np.ndarray, np.ndarray | None, str]  # parts (n, C, p), errors (n, p), kind


def gaussian_attribution(
    params: FullParams, block: np.ndarray, request: AttributionRequest
) -> Attribution:
    """The Shapley values of the columns of rows, which may have missing cells."""
    return attribution_by_pattern(params, block, request, len(params.pivot), _of_complete_rows)


def _of_complete_rows(
    params: FullParams, block: np.ndarray, request: AttributionRequest
) -> FoundParts:
    gaussians = whitened_gaussians(params, request)
    if gaussians.few_players:
        return shapley_forms(params, gaussians).parts(block), None, SHAPLEY
    running = sampled_parts(gaussians, block, request, len(params.pivot))
    return running.parts, running.errors, SAMPLED


def whitened_gaussians(params: FullParams, request: AttributionRequest) -> WhitenedGaussians:
    """The Gaussians of a model for these players."""
    return WhitenedGaussians.of(params, request.owners(params.pivot.shape[1]))


def shapley_forms(params: FullParams, gaussians: WhitenedGaussians) -> QuadraticForms:
    """The quadratic forms of a model. They are computed once for each fitted model."""
    key, kept = gaussians.owner.tobytes(), params.shapley_forms
    found: QuadraticForms | None = kept.get(key)
    if found is None:  # two threads may compute the same forms, which does no harm
        with one_blas_thread:  # the matrices are small
            found = kept[key] = QuadraticForms.of(gaussians)
    return found


def attribution_by_pattern(
    params: FullParams,
    block: np.ndarray,
    request: AttributionRequest,
    classes: int,
    of_complete_rows: Callable[[FullParams, np.ndarray, AttributionRequest], FoundParts],
) -> Attribution:
    """The parts of rows. The part of a column is 0 if it is missing or not used.

    `of_complete_rows` gives the parts for the marginal of the columns with values.
    """
    owner = request.owners(params.pivot.shape[1])
    p, kind = int(owner.max(initial=-1)) + 1, SHAPLEY
    whole = np.zeros((len(block), classes, p))
    errors: np.ndarray | None = None
    for at, seen in _patterns(block):
        seen = seen[params.used[seen]]
        if not len(seen) or not len(at):
            continue
        some, numbers = replace(request, owner=owner).of_columns(seen)
        rows = block if len(at) == len(block) else block[at]
        if len(seen) < len(owner):
            rows = np.ascontiguousarray(rows[:, seen])
        parts, found, kind = of_complete_rows(_marginal(params, seen), rows, some.rows(at))
        whole[at[:, None, None], np.arange(classes)[:, None], numbers] = parts
        if found is not None:
            errors = np.zeros((len(block), p)) if errors is None else errors
            errors[at[:, None], numbers] = found
    return Attribution(whole, kind, errors=errors)


def _patterns(block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each pattern of missing cells, its rows and the columns in which they have values."""
    if np.isnan(block).any():
        yield from rows_by_pattern(block)
    else:
        yield np.arange(len(block)), np.arange(block.shape[1])


def _marginal(params: FullParams, seen: np.ndarray) -> FullParams:
    """The marginal of some columns, kept with the model so that its matrices are kept too."""
    if len(seen) == len(params.used):
        return params
    key, kept = seen.tobytes(), params.shapley_marginals
    found = kept.get(key)
    if found is None:
        if len(kept) >= MOST_FORMS_KEPT:
            kept.clear()
        found = kept[key] = params.marginal(seen)
    return found
