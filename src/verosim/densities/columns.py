"""Densities of columns that are present or absent, or that have amounts such as token counts.

    Bernoulli     φ_i|k = (n_ik + α) / (n_k + 2α)     absent columns change the score
    multinomial   φ_i|k = (ñ_ik + α) / (ñ_k + α V)    absent columns do not change the score
    complement    the multinomial formula with the counts of all other classes
    contrast      log of the multinomial share minus log of the complement share

n_ik is the weight of the rows of class k with column i, ñ_ik the total amount of column i in class
k, α the smoothing and V the number of columns.
References: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification; Rennie et al. (2003), Tackling the poor assumptions of naive Bayes text classifiers.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.densities.base import Density, Params, infinite_weights, into
from verosim.densities.estimates import AMOUNTS_TABLE, FLAGS_TABLE, Estimates
from verosim.densities.smoothing import DIFFERENCE_ROUNDING, LEAST_ALPHA
from verosim.densities.text import TextParams
from verosim.errors import VerosimError
from verosim.kernels.constants import STRETCH
from verosim.linalg import padded, room_for_lanes
from verosim.stats import Counts, Tokens

if TYPE_CHECKING:
    from verosim.densities.conditionals import PresenceConditionals
    from verosim.densities.features import Expansion
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import RowLength, Term

MOST_TOKENS = 1e15  # largest mean number of tokens in a simulated row


def by_class(table: np.ndarray) -> np.ndarray:
    """(C,) the sums of the rows of a table (C, d), added in blocks of columns.

    One running sum over 100 000 columns would lose five digits.
    """
    if table.flags.c_contiguous or not table.size:
        return table.sum(axis=1)  # numpy uses pairwise summation here
    rows, whole = table.T, table.shape[1] // STRETCH * STRETCH
    blocks = rows[:whole].reshape(-1, STRETCH, len(table)).sum(axis=1)
    return blocks.sum(axis=0) + rows[whole:].sum(axis=0)


@dataclass(frozen=True, eq=False)
class Certain:
    """The shares of columns that are exactly 0 or 1, with α = 0.

    A value that no class had is skipped, because its odds are 0/0.
    """

    zero: np.ndarray  # (d, C) bool: φ = 0
    one: np.ndarray  # (d, C) bool: φ = 1

    @property
    def never_present(self) -> np.ndarray:
        """(d, C) 1.0 where the presence of a column has probability 0 in this class only."""
        return (self.zero & ~self.zero.all(axis=1, keepdims=True)).astype(np.float64)

    @property
    def never_absent(self) -> np.ndarray:
        """(d, C) 1.0 where the absence of a column has probability 0 in this class only."""
        return (self.one & ~self.one.all(axis=1, keepdims=True)).astype(np.float64)


@dataclass(frozen=True)
class ColumnParams(Params):
    """Scores that are linear in the presence, or the amount, of each column."""

    is_positive: ClassVar[bool] = False

    table: np.ndarray  # (d, C) score per unit of amount, or score if present − score if absent
    absent: np.ndarray  # (d, C) score if absent; (0, C) for amounts, where absence scores 0
    presence: bool
    threshold: float
    length: np.ndarray  # (C,) mean total of a row, needed to draw amounts
    certain: Certain | None = field(default=None, kw_only=True)  # with α = 0, shares of 0 or 1

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        d, C = self.table.shape
        return C * d if self.presence else C * (d - 1)

    def _present(self, block: np.ndarray) -> np.ndarray:
        return block > np.float64(self.threshold)  # a float32 block does not round the threshold

    @property
    def log_mass(self) -> np.ndarray:
        """(d, C) log φ."""
        finite = self.table + self.absent if self.presence else self.table
        return finite if self.certain is None else np.where(self.certain.zero, -np.inf, finite)

    @cached_property
    def base(self) -> np.ndarray:
        """(C,) the score of an empty row."""
        return by_class(self.absent.T)

    @cached_property
    def lanes(self) -> np.ndarray:
        """(d, whole lanes) the table as the loops read it."""
        return padded(self.table)

    @cached_property
    def impossible(self) -> ColumnParams | None:
        """Scores that count the values of probability 0; None if no value has it."""
        if self.certain is None:
            return None
        never = self.certain.never_present
        absent = self.certain.never_absent if self.presence else np.zeros((0, never.shape[1]))
        table = never - absent if self.presence else never
        return ColumnParams(table, absent, self.presence, self.threshold, self.length)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = self._finite_scores(block, out)
        if self.impossible is not None:
            out[self.impossible.log_density(block) > 0] = -np.inf
        return out

    def _finite_scores(self, block: Any, out: np.ndarray | None) -> np.ndarray:
        out = into(out, (len(block), self.table.shape[1]))
        if isinstance(block, SparseRows):
            kernels.score_sparse(
                block.data, block.indices, block.indptr, self.presence, self.threshold,
                self.lanes, self.absent, self.base, out,
            )  # fmt: skip
            return out
        amounts = self._present(block).astype(np.float64) if self.presence else block
        missing = np.isnan(block)  # (n, d)
        if missing.any():
            amounts = np.where(missing, 0.0, amounts)
        np.matmul(amounts, self.table, out=out)
        out += self.base
        if self.presence:
            if missing.any():
                out -= missing @ self.absent
            infinite = np.isinf(block)
            if infinite.any():
                out[infinite.any(axis=1)] = np.nan  # `check` raises the error
        return out

    def row_lengths(self, block: Any) -> np.ndarray:
        """(n,) the sum of the amounts, or the number of columns that are present."""
        if isinstance(block, SparseRows):
            data = block.data[block.stored].astype(np.float64)
            row = np.repeat(np.arange(len(block)), np.diff(block.indptr))
        else:
            data, row = block.ravel(), np.repeat(np.arange(len(block)), block.shape[1])
        amounts = self._present(data) if self.presence else np.nan_to_num(data, nan=0.0)
        return np.bincount(row, amounts, minlength=len(block))

    def program_length(self) -> RowLength:
        from verosim.densities.terms import AmountsLength

        reads = tuple(range(len(self.table)))
        return AmountsLength(reads, float(self.threshold) if self.presence else None)

    def contributions(self, block: np.ndarray) -> np.ndarray:
        amounts = self._present(block) if self.presence else block
        parts = amounts[:, None, :] * self.table.T
        if self.presence:
            parts = parts + self.absent.T
        if self.impossible is not None:
            parts[self.impossible.contributions(block) > 0] = -np.inf
        return np.where(np.isnan(block)[:, None, :], 0.0, parts)

    def impossible_cell(self, block: Any, columns: Columns) -> str:
        row = block.take(np.array([0])) if isinstance(block, SparseRows) else block
        bad = np.flatnonzero((self.contributions(row)[0] == -np.inf).any(axis=0))
        return f"column {columns.name(int(bad[0]))!r}, value {row[0, bad[0]]:g}" if len(bad) else ""

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mass = np.exp(self.log_mass)
        if self.presence:
            chance = mass.T[classes]
            return self.threshold + (rng.random(chance.shape) < chance).astype(np.float64)
        if self.length.max() > MOST_TOKENS:
            raise VerosimError(
                f"The mean total of a row must be at most {MOST_TOKENS:.0e} to draw samples; got "
                f"{self.length.max():.1e}.",
                "Divide the amounts by a constant and fit the model again.",
            )
        lengths = rng.poisson(self.length[classes])
        share = mass / mass.sum(axis=0)
        return rng.multinomial(lengths, share.T[classes]).astype(np.float64)

    @property
    def conditionals(self) -> PresenceConditionals | None:
        """None for amounts: the columns share one total, so they are not independent."""
        from verosim.densities.conditionals import PresenceConditionals

        return PresenceConditionals(self) if self.presence else None

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        count = statistic.arrays["count"][:, 0]
        score = (count * self.table.T).sum(axis=1)
        if self.presence:
            seen = statistic.weight[:, 0, None] - statistic.arrays["missing"][:, 0]
            score += (seen * self.absent.T).sum(axis=1)
        return score

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.terms import AmountsTerm, PresenceTerm

        table, absent = self.tables
        if absent is None:
            return (AmountsTerm(tuple(range(len(table))), table),) if len(table) else ()
        return tuple(
            PresenceTerm((j,), float(self.threshold), table[j], absent[j])
            for j in range(len(table))
        )

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray | None]:
        """(d, C) the scores of present columns, or of a unit; and of absent ones, if they score."""
        table, absent, certain = self.table, self.absent, self.certain
        if not len(absent):
            never = None if certain is None else certain.never_present > 0
            return (table if never is None else np.where(never, -np.inf, table)), None
        table = table + absent
        if certain is not None:
            table = np.where(certain.never_present > 0, -np.inf, table)
            absent = np.where(certain.never_absent > 0, -np.inf, absent)
        return table, absent

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates:
        share, weight = np.exp(self.log_mass[j]), statistic.weight[:, 0]
        count = np.asarray(statistic.arrays["count"][:, 0])[:, j]
        if not self.presence:
            return Estimates(AMOUNTS_TABLE, ("share",), share[:, None], weight, count[:, None])
        seen = weight - statistic.arrays["missing"][:, 0, j]
        return Estimates(
            FLAGS_TABLE, (False, True), np.column_stack([1 - share, share]), seen,
            np.column_stack([seen - count, count]),
        )  # fmt: skip

    def expansion(self, statistic: Counts) -> Expansion:
        from verosim.densities.features import MISSING_FEATURE, Amounts, Presence

        if self.certain is not None:
            raise infinite_weights()
        names = tuple(statistic.axes.columns)
        if not self.presence:
            return Amounts(names, self.table.T, self.base, np.ones(len(names)))
        return Presence(
            names + tuple(MISSING_FEATURE.format(name) for name in names),
            np.hstack([self.table.T, -self.absent.T]), self.base, np.ones(2 * len(names)),
            self.threshold,
        )  # fmt: skip


@dataclass(frozen=True)
class ComplementParams(ColumnParams):
    """Complement or contrast scores decide; p(x | k) is the multinomial of the same counts."""

    own: np.ndarray  # (d, C) log φ of the multinomial

    @property
    def log_mass(self) -> np.ndarray:
        return self.own

    @cached_property
    def generative(self) -> ColumnParams:
        return ColumnParams(self.own, self.absent, self.presence, self.threshold, self.length)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.generative.sample(classes, rng)

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        return self.generative.log_likelihood(statistic)


def _column_fields(
    statistic: Counts | Tokens,
    count: np.ndarray,
    table: np.ndarray,
    absent: np.ndarray | None = None,
) -> dict[str, Any]:
    """The fields of ColumnParams from tables of shape (C, d)."""
    return {
        "table": np.ascontiguousarray(table.T),
        "absent": np.empty((0, len(table))) if absent is None else np.ascontiguousarray(absent.T),
        **_row_fields(statistic, count.sum(axis=1)),
    }


def _row_fields(statistic: Counts | Tokens, total: np.ndarray) -> dict[str, Any]:
    """The fields of ColumnParams that are not tables, from the total (C,) of all counts."""
    weight = statistic.weight[:, 0]
    return {
        "presence": statistic.what == "presence",
        "threshold": statistic.threshold,
        "length": np.maximum(total, 0) / np.where(weight > 0, weight, 1.0),
    }


def _padded_params(
    statistic: Counts | Tokens, total: np.ndarray, lanes: np.ndarray, absent: np.ndarray
) -> ColumnParams:
    """The parameters from a padded table (d, ≥ C), which is not copied."""
    out = ColumnParams(lanes[:, : len(total)], absent, **_row_fields(statistic, total))
    vars(out)["lanes"] = lanes
    return out


def _log_shares(count: np.ndarray, alpha: float) -> np.ndarray:
    """(C, d) log of the smoothed share of each column in the total of its class."""
    out = np.empty(count.T.shape)
    kernels.log_shares(count.T, alpha, out, np.zeros(len(count)))
    return out.T


def _log_complement(count: np.ndarray, alpha: float) -> np.ndarray:
    """(C, d) log of the smoothed share of each column in the total of all other classes."""
    out = np.empty(count.T.shape)
    kernels.log_complement_shares(count.T, alpha, out)
    return out.T


@dataclass(frozen=True)
class ColumnDensity(Density):
    """A density of columns, or of the tokens of texts.

    Tokens with a total count below `min_count` are treated as unknown and do not count in V. So are
    tokens that fewer or more documents have than the two bounds `documents`.
    """

    alpha: float = 1.0
    min_count: float = field(default=1, kw_only=True)
    documents: tuple[float, float] | None = field(default=None, kw_only=True)

    has_row_lengths = True

    @property
    def pseudo_count(self) -> float:
        """α of scores that are not probabilities, at least 1e-10."""
        return max(self.alpha, LEAST_ALPHA)

    def checks(self, statistic: Counts | Tokens) -> bool:
        return not isinstance(statistic, Tokens)

    def estimate(self, statistic: Counts | Tokens) -> ColumnParams | ComplementParams | TextParams:
        if not isinstance(statistic, Tokens):
            return self._columns(statistic)
        kept = statistic.frequent(self.min_count)
        if self.documents is not None:
            kept = kept.in_documents(*self.documents)
        return TextParams.later(
            partial(self._columns, kept), kept.codes, tokenizer=kept.tokenizer,
            weighting=kept.scored_weighting,
        )  # fmt: skip

    def leave_one_out(self, statistic: Counts | Tokens) -> Scorer:
        if self.documents is not None:  # the tokens in use depend on the document left out
            return super().leave_one_out(statistic)
        return self._closed_form(statistic)

    @abstractmethod
    def _closed_form(self, statistic: Counts | Tokens) -> Scorer:
        """Scores each row by the estimate without this row."""

    @abstractmethod
    def _columns(self, statistic: Counts | Tokens) -> ColumnParams: ...


@dataclass(frozen=True)
class Bernoulli(ColumnDensity):
    """Presence or absence of each column: p(x | k) = Π φ_i^x_i (1 − φ_i)^(1 − x_i)."""

    constants: bool = True  # False ignores columns that are present in all rows or in none

    has_independent_columns = True

    def _closed_form(self, statistic: Counts | Tokens) -> Scorer:
        from verosim.densities.leave_one_out import bernoulli, refit

        if self.alpha == 0:
            return refit.scorer(self, statistic)
        return bernoulli.scorer(self, statistic)

    def _columns(self, statistic: Counts | Tokens) -> ColumnParams:
        found = statistic.arrays["count"][:, 0]  # (C, d)
        count = found if self.constants and self.alpha > 0 else np.maximum(found, 0.0)
        seen = statistic.weight[:, 0, None]
        if "missing" in statistic.arrays and statistic.arrays["missing"].any():
            seen = seen - statistic.arrays["missing"][:, 0]
        if not self.constants:  # a constant column gets the same counts in all classes
            n, N = count.sum(axis=0), np.maximum(seen.sum(axis=0), 0.0)
            alike = (n <= 0) | (N - n <= DIFFERENCE_ROUNDING * N)
            count, seen = np.where(alike, n, count), np.where(alike, N, seen)
        if self.alpha == 0:
            return self._exact(statistic, found, count, seen)
        C, d = count.shape
        lanes, absent = room_for_lanes(d, C), np.empty((d, C))
        kernels.log_presence(count, seen, self.alpha, lanes, absent)
        return _padded_params(statistic, found.sum(axis=1), lanes, absent)

    def _exact(
        self, statistic: Counts | Tokens, found: np.ndarray, count: np.ndarray, seen: np.ndarray
    ) -> ColumnParams:
        """The shares of maximum likelihood; one half for a class without values."""
        empty = seen <= 0
        share = np.where(empty, 0.5, count / np.where(empty, 1.0, seen))
        one = share >= 1 - DIFFERENCE_ROUNDING
        zero = share <= 0
        present = np.log(np.where(zero | one, 1.0, share))
        absent = np.log1p(np.where(zero | one, 0.0, -share))
        fields = _column_fields(statistic, found, present - absent, absent)
        return ColumnParams(**fields, certain=Certain(zero.T, one.T))


@dataclass(frozen=True)
class Multinomial(ColumnDensity):
    """Counts of tokens: p(x | k) = Π φ_i^x_i, the probability of the tokens in a fixed order."""

    def _closed_form(self, statistic: Counts | Tokens) -> Scorer:
        from verosim.densities.leave_one_out import multinomial, refit

        if self.alpha == 0:
            return refit.scorer(self, statistic)
        return multinomial.multinomial(self, statistic)

    def _columns(self, statistic: Counts | Tokens) -> ColumnParams:
        if isinstance(statistic, Tokens) and self.alpha > 0:
            return self._of_tokens(statistic)
        count = statistic.arrays["count"][:, 0]  # (C, d)
        if self.alpha > 0:
            lanes, total = room_for_lanes(count.shape[1], len(count)), np.zeros(len(count))
            kernels.log_shares(count.T, self.alpha, lanes, total)
            return _padded_params(statistic, total, lanes, np.empty((0, len(total))))
        log_share = _log_shares(count, self.alpha)
        log_share[(count <= 0).all(axis=1)] = -np.log(max(log_share.shape[1], 1))
        zero = log_share == -np.inf
        fields = _column_fields(statistic, count, np.where(zero, 0.0, log_share))
        return ColumnParams(**fields, certain=Certain(zero.T, np.zeros_like(zero.T)))

    def _of_tokens(self, statistic: Tokens) -> ColumnParams:
        """The scores from counts that are mostly zero, without a dense table of the counts."""
        count = statistic.arrays["count"]
        C, _, K = count.shape
        lanes, total = room_for_lanes(K, C), np.zeros(C)
        kernels.log_token_shares(*count.of_fold(0), self.alpha, lanes, total)
        return _padded_params(statistic, total, lanes, np.empty((0, len(total))))


@dataclass(frozen=True)
class Complement(ColumnDensity):
    """Scores −log φ̃_i|k from the counts of all other classes; normalised if `norm` is true."""

    norm: bool = False

    def _closed_form(self, statistic: Counts | Tokens) -> Scorer:
        from verosim.densities.leave_one_out import multinomial

        return multinomial.complement(self, statistic)

    def _columns(self, statistic: Counts | Tokens) -> ComplementParams:
        count = statistic.arrays["count"][:, 0]  # (C, d)
        log_rest = _log_complement(count, self.pseudo_count)
        score = -log_rest
        if self.norm:
            total = by_class(log_rest)[:, None]
            score = log_rest / np.where(total != 0, total, 1.0)
        own = np.ascontiguousarray(_log_shares(count, self.pseudo_count).T)
        return ComplementParams(**_column_fields(statistic, count, score), own=own)


@dataclass(frozen=True)
class Contrast(ColumnDensity):
    """One class against the rest: scores log φ_i|k − log φ̃_i|k, with φ̃ of all other classes."""

    def _closed_form(self, statistic: Counts | Tokens) -> Scorer:
        from verosim.densities.leave_one_out import multinomial

        return multinomial.contrast(self, statistic)

    def _columns(self, statistic: Counts | Tokens) -> ComplementParams:
        count = statistic.arrays["count"][:, 0]  # (C, d)
        own, score = np.empty(count.T.shape), np.empty(count.T.shape)  # (d, C)
        kernels.log_contrast_shares(count.T, self.pseudo_count, own, score)
        return ComplementParams(**_column_fields(statistic, count, score.T), own=own)
