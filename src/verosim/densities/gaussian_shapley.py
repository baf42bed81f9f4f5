"""Shapley values of the columns of a Gaussian with a full covariance.

    v(S) = −½ [ |S| log 2π + log|Σ_SS| + z_Sᵀ Σ_SS⁻¹ z_S ],   z = x − μ
    φ_j(x) = −½ [ c_j + zᵀ M_j z ]

M_j and c_j are sums over all subsets of players. They do not depend on the row, so they are
computed once, and a row costs one quadratic form for each player. With more than 12 players,
orders of the players are sampled. The Cholesky factor L of Σ in an order gives the densities of
each column given those before it:

    log p(x_j | x_before) = −½ [ log 2π + 2 log L_jj + y_j² ],   y = L⁻¹ z

All of this is done in units of standard deviations, so that results do not depend on units.
Reference: Aas, Jullum & Løland (2021), Explaining individual predictions when features are
dependent, Artificial Intelligence 298, 103502.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

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
class ScaledGaussians:
    """The Gaussians of K classes or components, in units of standard deviations."""

    params: FullParams
    at: np.ndarray  # (D,) the columns of the block that are used
    owner: np.ndarray  # (D,) the player of each of them
    unit: np.ndarray  # (K or 1, D)
    correlation: np.ndarray  # (K or 1, D, D)
    level: np.ndarray  # (K or 1, p) Σ over the columns of a player of log 2π + 2 log unit

    @classmethod
    def of(cls, params: FullParams, owner: np.ndarray) -> ScaledGaussians:
        at = np.flatnonzero(params.used)
        owner = owner[at]
        covariance = params.covariance_[:, at[:, None], at]
        unit = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        each = LOG_2PI + 2 * np.log(unit)  # (K or 1, D)
        p = int(owner.max(initial=-1)) + 1
        level = np.stack([each[:, owner == j].sum(axis=1) for j in range(p)], axis=1)
        return cls(params, at, owner, unit, covariance / (unit[:, :, None] * unit[:, None]), level)

    @property
    def players(self) -> int:
        """p, the number of players that have columns in use."""
        return self.level.shape[1]

    def matrix_of(self, k: int) -> int:
        """The number of the covariance of class k."""
        return 0 if self.params.shared else k

    def standardised(self, block: np.ndarray, k: int) -> np.ndarray:
        """(n, D) the deviations of rows from the mean of class k."""
        every, z = self.params, np.empty((len(block), block.shape[1]))
        kernels.centre_rows(block, every.pivot[k], every.offset[k], z)
        z = z if len(self.at) == z.shape[1] else z[:, self.at]
        z /= self.unit[self.matrix_of(k)]
        return z

    @property
    def few_players(self) -> bool:
        """Whether a sum over all subsets of players is feasible."""
        p, D = self.players, len(self.at)
        return p <= MOST_EXACT_PLAYERS and float(1 << p) * max(D, 1) ** 3 <= MOST_EXACT_WORK

    def subsets(self, k: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Subsets of players that have equally many columns, except the empty one.

        Gives (m,) the numbers of the subsets, (m, c) their columns, and (m, c, c) the inverses L⁻¹
        of their Cholesky factors.
        """
        member = subset_members(self.players)[:, self.owner]  # (2^p, D)
        widths, R = member.sum(axis=1), self.correlation[k]
        for c in range(1, len(self.owner) + 1):
            numbers = np.flatnonzero(widths == c)
            step = max(1, MOST_SUBSETS_AT_ONCE // len(self.owner) ** 2)
            for start in range(0, len(numbers), step):
                some = numbers[start : start + step]
                columns = np.nonzero(member[some])[1].reshape(len(some), c)
                lower = np.linalg.cholesky(R[columns[:, :, None], columns[:, None]])
                yield some, columns, np.linalg.inv(lower)


# Exact values ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """The matrices M_j and the constants c_j of all players, one set for each covariance."""

    scaled: ScaledGaussians
    table: np.ndarray  # (K or 1, T, p) M_j above the diagonal; products count twice
    constant: np.ndarray  # (K or 1, p) c_j

    @classmethod
    def of(cls, scaled: ScaledGaussians) -> QuadraticForms:
        p, D = scaled.players, len(scaled.at)
        i, j = np.triu_indices(D)
        tables, constants = [], []
        for k in range(len(scaled.correlation)):
            forms, constant = np.zeros((p, D * D)), scaled.level[k].copy()
            for numbers, columns, root in scaled.subsets(k):
                weights = shapley_weights(p)[numbers].T  # (p, m)
                whole = np.zeros((len(numbers), D, D))
                place = np.arange(len(numbers))[:, None, None]
                whole[place, columns[:, :, None], columns[:, None]] = root.swapaxes(1, 2) @ root
                forms += weights @ whole.reshape(len(numbers), -1)
                diagonal = np.diagonal(root, axis1=1, axis2=2)
                constant -= 2 * weights @ np.log(diagonal).sum(axis=1)
            upper = forms.reshape(p, D, D)[:, i, j] * np.where(i == j, 1.0, 2.0)
            tables.append(upper.T)
            constants.append(constant)
        return cls(scaled, np.array(tables), np.array(constants))

    def parts(self, block: np.ndarray) -> np.ndarray:
        """(n, K, p) φ_j of complete rows."""
        K = len(self.scaled.params.pivot)
        T, p = self.table.shape[1:]
        i, j = np.triu_indices(len(self.scaled.at))
        out = np.empty((len(block), K, p))
        step = max(16, BLOCK_CELLS // max(T, 1))
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            for k in range(K):
                at, z = self.scaled.matrix_of(k), self.scaled.standardised(rows, k)
                products = z[:, i] * z[:, j]  # (rows, T)
                out[start : start + step, k] = products @ self.table[at] + self.constant[at]
        out *= -0.5
        return out


def subset_densities(scaled: ScaledGaussians, block: np.ndarray) -> np.ndarray:
    """(2^p, n, K) log p(x_S | k) for all subsets S of players; 0 for the empty one."""
    K, p = len(scaled.params.pivot), scaled.players
    levels = subset_members(p) @ scaled.level.T  # (2^p, K or 1)
    out = np.zeros((1 << p, len(block), K))
    for at in range(len(scaled.correlation)):
        own = range(K) if scaled.params.shared else (at,)
        rows = {k: scaled.standardised(block, k) for k in own}
        for numbers, columns, roots in scaled.subsets(at):
            for number, some, root in zip(numbers.tolist(), columns, roots, strict=True):
                level = levels[number, at] - 2 * np.log(np.diagonal(root)).sum()
                for k, z in rows.items():
                    y = z[:, some] @ root.T
                    out[number, :, k] = -0.5 * (level + np.einsum("nj,nj->n", y, y))
    return out


# Sampled orders ----------------------------------------------------------------------------------


def ordered_parts(scaled: ScaledGaussians, block: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(n, K, p) the log density of each player given those before it, in one order (p,)."""
    K, p = len(scaled.params.pivot), scaled.players
    place = np.argsort(order)  # the position of each player
    columns = np.argsort(place[scaled.owner], kind="stable")
    widths = np.bincount(place[scaled.owner], minlength=p)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    out = np.empty((len(block), K, p))
    roots = []
    for R in scaled.correlation:
        lower = np.linalg.cholesky(R[np.ix_(columns, columns)])
        roots.append(lapack.dtrtri(lower, lower=1)[0])
    for k in range(K):
        at = scaled.matrix_of(k)
        y = scaled.standardised(block, k)[:, columns] @ roots[at].T
        y *= y
        y -= 2 * np.log(np.diagonal(roots[at]))
        found = y if len(columns) == p else np.add.reduceat(y, starts, axis=1)
        out[:, k] = found[:, place] + scaled.level[at]
    out *= -0.5
    return out


def sampled_parts(
    scaled: ScaledGaussians,
    block: np.ndarray,
    request: AttributionRequest,
    classes: int,
    value: Callable[[np.ndarray], np.ndarray] | None = None,
) -> RunningParts:
    """Shapley values by antithetic orders.

    `value` turns (n, K, p) sums of log densities over the first 1, …, p players of an order into
    (n, C, p) values of the game. None means that the densities themselves are the game.
    """
    running = RunningParts((len(block), classes, scaled.players), request.pair)
    for order in sampled_orders(scaled.players, request.permutations, request.seed):
        both = []
        for one in (order, order[::-1]):
            parts = ordered_parts(scaled, block, one)
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
    scaled = scaled_gaussians(params, request)
    if scaled.few_players:
        return shapley_forms(params, scaled).parts(block), None, SHAPLEY
    running = sampled_parts(scaled, block, request, len(params.pivot))
    return running.parts, running.errors, SAMPLED


def scaled_gaussians(params: FullParams, request: AttributionRequest) -> ScaledGaussians:
    """The Gaussians in units of standard deviations."""
    return ScaledGaussians.of(params, request.owners(params.pivot.shape[1]))


def shapley_forms(params: FullParams, scaled: ScaledGaussians) -> QuadraticForms:
    """The quadratic forms of a model. They are computed once for each fitted model."""
    key, kept = scaled.owner.tobytes(), params.shapley_forms
    if key not in kept:
        with one_blas_thread:  # the matrices are small
            kept[key] = QuadraticForms.of(scaled)
    found: QuadraticForms = kept[key]
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
    if key not in kept:
        if len(kept) >= MOST_FORMS_KEPT:
            kept.clear()
        kept[key] = params.marginal(seen)
    return kept[key]
