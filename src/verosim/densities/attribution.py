"""Attributions: the part of each column in the scores of the classes.

    s_k(x) = Σ_j φ_jk(x) + Σ_l r_lk(x) + c(x)

φ_jk is the part of column j, r_lk are lines that belong to no column, and c is the same for all
classes. For a density, φ is the Shapley value of the game v(S) = log p(x_S | k), in which the
columns outside S are marginalised. For independent columns it is log p_j(x_j | k).
References: Shapley (1953), A value for n-person games; Štrumbelj & Kononenko (2014), Explaining
prediction models and individual predictions with feature contributions, Knowledge and Information
Systems 41, 647–665; Aas, Jullum & Løland (2021), Explaining individual predictions when features
are dependent, Artificial Intelligence 298, 103502.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

# The kinds of parts.
SHAPLEY, SAMPLED, CHAIN, LINEAR, POOLED = "shapley", "sampled", "chain", "linear", "pool"
DEFAULT_PERMUTATIONS = 64


@dataclass(frozen=True, eq=False)
class AttributionRequest:
    """Which columns of a block are one player, and how Shapley values are sampled.

    A player is a column of the table. Several columns of a block can belong to it, such as the
    indicators of its values.
    """

    owner: np.ndarray | None = None  # (D,) the player of each column of the block; None: its own
    pair: np.ndarray | None = None  # (n, 2) the classes that are compared, for standard errors
    permutations: int = DEFAULT_PERMUTATIONS
    seed: int = 0
    linear: bool = False  # whether the coefficients of a linear model are asked for
    inside: Mapping[str, np.ndarray] = field(default_factory=dict)
    """For rows that are read in several ways: the owners of the columns of each block."""

    def owners(self, width: int) -> np.ndarray:
        """(D,) the player of each column of a block with D columns."""
        return np.arange(width) if self.owner is None else self.owner

    def rows(self, at: np.ndarray | slice) -> AttributionRequest:
        """The same players for some of the rows."""
        return self if self.pair is None else replace(self, pair=self.pair[at])

    def of_columns(self, columns: np.ndarray) -> tuple[AttributionRequest, np.ndarray]:
        """The players of some columns of the block, and their numbers among all players."""
        own = columns if self.owner is None else self.owner[columns]
        numbers, owner = np.unique(own, return_inverse=True)
        return replace(self, owner=owner), numbers


@dataclass(frozen=True, eq=False)
class TokenTerms:
    """The part of each known token in the scores of texts: amount × score of the token."""

    names: Sequence[str]  # (K,)
    amounts: Any  # (n, K) CSR
    scores: np.ndarray  # (K, C)
    player: int = 0  # the number of the text among the players
    factor: np.ndarray | float = 1.0  # (n, 1) or one number for all rows

    def scaled(self, factor: np.ndarray | float) -> TokenTerms:
        """The same tokens, with parts times a factor."""
        return replace(self, factor=self.factor * factor)

    def of_row(self, i: int) -> tuple[list[str], np.ndarray]:
        """The tokens of a text and (t, C) their parts."""
        at = slice(self.amounts.indptr[i], self.amounts.indptr[i + 1])
        places, amounts = self.amounts.indices[at], self.amounts.data[at]
        factor = self.factor if np.ndim(self.factor) == 0 else np.asarray(self.factor)[i, 0]
        return [self.names[j] for j in places], factor * amounts[:, None] * self.scores[places]

    def rows(self, at: np.ndarray) -> TokenTerms:
        """The tokens of some texts."""
        factor = self.factor if np.ndim(self.factor) == 0 else np.asarray(self.factor)[at]
        return replace(self, amounts=self.amounts[at], factor=factor)

    @classmethod
    def joined(cls, pieces: Sequence[TokenTerms]) -> TokenTerms:
        """The tokens of several blocks of texts, one after the other."""
        factors = [
            np.broadcast_to(np.asarray(one.factor, dtype=np.float64), (one.amounts.shape[0], 1))
            for one in pieces
        ]
        return replace(
            pieces[0],
            amounts=sparse.vstack([one.amounts for one in pieces], format="csr"),
            factor=np.concatenate(factors),
        )


@dataclass(frozen=True, eq=False)
class Attribution:
    """The parts of p players in the scores of C classes, for n rows."""

    parts: np.ndarray  # (n, C, p)
    kind: str = SHAPLEY
    lines: Mapping[str, np.ndarray] = field(default_factory=dict)  # (n, C) each
    errors: np.ndarray | None = None  # (n, p) standard errors of the difference of two classes
    tokens: tuple[TokenTerms, ...] = ()  # of players that are texts
    prior: np.ndarray | float = 0.0  # (n, C) or (C,), to be added to the prior
    experts: Mapping[str, np.ndarray] = field(default_factory=dict)  # (n, C) each, of a pool

    def by_owner(self, owner: np.ndarray | None) -> Attribution:
        """The sums over the players (p,) of each owner. Texts keep their tokens."""
        if owner is None:
            return self
        tokens = tuple(replace(one, player=int(owner[one.player])) for one in self.tokens)
        return replace(self, parts=summed_by_owner(self.parts, owner), tokens=tokens)


def summed_by_owner(parts: np.ndarray, owner: np.ndarray | None) -> np.ndarray:
    """(n, C, p) the sums over the columns of each player, from (n, C, D)."""
    if owner is None:
        return parts
    p = int(owner.max(initial=-1)) + 1
    if np.array_equal(owner, np.arange(p)):
        return parts
    out = np.zeros((*parts.shape[:2], p))
    for j, player in enumerate(owner.tolist()):
        out[:, :, player] += parts[:, :, j]
    return out
