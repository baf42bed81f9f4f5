"""The scores of the classes as sums: priors, parts of columns, and lines of their own.

    log p(k | x) = prior_k + Σ_j φ_jk(x) + Σ_l r_lk(x) + c(x)

φ_jk is the part of column j, r_lk are lines that belong to no column, and c(x) is the same for all
classes. So the log-odds of two classes are the sum of the differences of all parts. Maps of the
posteriors act on the parts: a temperature multiplies them, and an offset is added to the prior.
References: Shapley (1953), A value for n-person games; Štrumbelj & Kononenko (2014), Explaining
prediction models and individual predictions with feature contributions, Knowledge and Information
Systems 41, 647–665; Lundberg & Lee (2017), A unified approach to interpreting model predictions,
Advances in Neural Information Processing Systems 30; Aas, Jullum & Løland (2021), Explaining
individual predictions when features are dependent, Artificial Intelligence 298, 103502.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from verosim.densities.attribution import (
    LINEAR,
    SHAPLEY,
    Attribution,
    TokenTerms,
    summed_by_owner,
)
from verosim.densities.base import LinearForm
from verosim.errors import VerosimError


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The scores of C classes for n rows, divided into parts."""

    prior: np.ndarray  # (n, C)
    parts: np.ndarray  # (n, C, p)
    kind: str  # "shapley", "sampled", "chain", "linear" or "pool"
    lines: Mapping[str, np.ndarray] = field(default_factory=dict)  # (n, C) each
    errors: np.ndarray | None = None  # (n, p) standard errors of the difference of two classes
    tokens: tuple[TokenTerms, ...] = ()  # of players that are texts
    experts: Mapping[str, np.ndarray] = field(default_factory=dict)  # (n, C) each, of a pool

    @classmethod
    def of(cls, log_prior: np.ndarray, found: Attribution) -> ScoreParts:
        """The priors (C,) and the parts of the columns."""
        n, C, _ = found.parts.shape
        prior = np.broadcast_to(log_prior + found.prior, (n, C)).copy()
        return cls(
            prior, found.parts, found.kind, found.lines, found.errors, found.tokens, found.experts
        )

    @property
    def totals(self) -> np.ndarray:
        """(n, C) the scores: the log posteriors up to a term that is the same for all classes."""
        total: np.ndarray = self.prior + self.parts.sum(axis=2)
        for line in self.lines.values():
            total = total + line
        return total

    def scaled(self, factor: float | np.ndarray) -> ScoreParts:
        """All parts and the prior times a factor, or times (n,) factors of the rows."""
        by = np.broadcast_to(np.asarray(factor, dtype=np.float64), len(self.prior))
        return replace(
            self,
            prior=self.prior * by[:, None],
            parts=self.parts * by[:, None, None],
            lines={name: line * by[:, None] for name, line in self.lines.items()},
            errors=None if self.errors is None else self.errors * np.abs(by)[:, None],
            tokens=tuple(one.scaled(by[:, None]) for one in self.tokens),
            experts={name: part * by[:, None] for name, part in self.experts.items()},
        )

    def by_owner(self, owner: np.ndarray) -> ScoreParts:
        """The sums over the players of each owner (p,). Errors add as if they were independent."""
        squares = None if self.errors is None else self.errors[:, None] ** 2
        return replace(
            self,
            parts=summed_by_owner(self.parts, owner),
            errors=None if squares is None else np.sqrt(summed_by_owner(squares, owner))[:, 0],
            tokens=tuple(replace(one, player=int(owner[one.player])) for one in self.tokens),
        )

    def shifted(self, offsets: np.ndarray) -> ScoreParts:
        """The same parts with offsets (C,) or (n, C) added to the prior."""
        return replace(self, prior=self.prior + offsets)


def joined_parts(pieces: Sequence[ScoreParts]) -> ScoreParts:
    """The parts of the rows of several pieces, one after the other."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    errors = None
    if any(one.errors is not None for one in pieces):
        nothing = first.parts.shape[2]
        errors = np.concatenate([
            np.zeros((len(one.prior), nothing)) if one.errors is None else one.errors
            for one in pieces
        ])  # fmt: skip
    tokens = zip(*(one.tokens for one in pieces), strict=True)
    return ScoreParts(
        np.concatenate([one.prior for one in pieces]),
        np.concatenate([one.parts for one in pieces]),
        next((one.kind for one in pieces if one.kind != SHAPLEY), SHAPLEY),
        _joined_lines([(one.lines, one.prior.shape) for one in pieces]),
        errors,
        tuple(TokenTerms.joined(some) for some in tokens),
        _joined_lines([(one.experts, one.prior.shape) for one in pieces]),
    )


def _joined_lines(
    pieces: Sequence[tuple[Mapping[str, np.ndarray], tuple[int, ...]]],
) -> dict[str, np.ndarray]:
    """The lines of several pieces. A line that a piece does not have is 0 there."""
    names = dict.fromkeys(name for lines, _ in pieces for name in lines)
    return {
        name: np.concatenate([
            lines[name] if name in lines else np.zeros(shape) for lines, shape in pieces
        ])
        for name in names
    }  # fmt: skip


def linear_parts(
    form: LinearForm | None, log_prior: np.ndarray, block: np.ndarray, owner: np.ndarray | None
) -> ScoreParts:
    """The view of the coefficients: w_kj (x_j − mean_j), and the constants join the prior."""
    if form is None:
        raise VerosimError(
            'kind="linear" needs scores that are linear in the columns, and the scores of this '
            "model are not.",
            "Use LDA, NaiveLDA or a linear classifier, or leave kind out.",
        )
    z = (np.asarray(block, dtype=np.float64) - form.pivot) - form.centre  # (n, d)
    if np.isnan(z).any():
        raise VerosimError(
            'kind="linear" needs rows without missing values.',
            "Leave kind out, or fill the missing values.",
        )
    parts = z[:, None, :] * form.coef  # (n, C, d)
    found = Attribution(summed_by_owner(parts, owner), LINEAR)
    return ScoreParts.of(log_prior + form.bias, found)
