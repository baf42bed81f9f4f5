"""Densities of codes: each column has one category or one bin.

    φ_ij|k = (n_ijk + α) / (n_ik + α B_i)

where n_ijk is the weight of the rows of class k with value j in column i, α the smoothing and B_i
the number of values of column i. A value that was not in the training rows has n_ijk = 0.
Reference: Mitchell (1997), Machine Learning, §6.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verosim import kernels
from verosim.axes import Categories, Codes, Columns
from verosim.axes.codes import are_plain_integers
from verosim.cached import cached_property
from verosim.densities.base import Density, Params, infinite_weights, into
from verosim.densities.estimates import SHARES_TABLE, Estimates, in_reading_order
from verosim.densities.smoothing import log_of
from verosim.linalg import padded
from verosim.stats import Counts

if TYPE_CHECKING:
    from verosim.densities.conditionals import CategoryConditionals
    from verosim.densities.features import Expansion
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import Term

MOST_SLOTS = 1 << 16  # integers whose scores are stored one by one


@dataclass(frozen=True)
class CodeParams(Params):
    """The log shares of all codes."""

    is_positive: ClassVar[bool] = False

    codes: Codes
    table: np.ndarray  # (K + d, C) log φ of each code, then of an unseen value of each column
    kinds: np.ndarray  # (d,) B_i, the number of values of each column
    skipped: np.ndarray | None = None  # (K,) bool: codes without a share, which score 0

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return self.table.shape[1] * int(np.maximum(self.kinds - 1, 0).sum())

    def read(self, rows: Any) -> Any:
        return rows

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), self.table.shape[1]))
        if are_plain_integers(block) and self._by_integer is not None:
            kernels.score_integers(block, *self._by_integer, out)
        else:
            kernels.score_codes(self.codes.encode(block)[0], self._lanes, out)
        return out

    @cached_property
    def _by_integer(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The lowest integer and the first slot of each column, and the scores of all integers.

        The scores of unseen values of all columns are at the end. None if a value is not a small
        integer.
        """
        found = self.codes.table if type(self.codes) is Categories else None
        if found is None or len(found[2]) > MOST_SLOTS:
            return None
        low, offset, code = found
        column = np.repeat(np.arange(len(low)), np.diff(offset))
        at = np.where(code >= 0, code, self.codes.size + column)
        at = np.concatenate([at, self.codes.size + np.arange(len(low))])
        return low, offset, padded(self.table[at]).reshape(-1)

    @cached_property
    def _lanes(self) -> np.ndarray:
        """The table and a row of zeros for missing cells, as `score_codes` reads them."""
        return padded(np.vstack([self.table, np.zeros(self.table.shape[1])])).reshape(-1)

    def contributions(self, block: Any) -> np.ndarray:
        codes, _ = self.codes.encode(block)
        parts = np.where(codes[..., None] >= 0, self.table[codes], 0.0)
        return np.swapaxes(parts, 1, 2)

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """A category may be any value, so there is nothing to check."""

    def impossible_cell(self, block: Any, columns: Columns) -> str:
        at = self.codes.encode(block)[0][0]  # (d,)
        return self._named(at[(at >= 0) & (self.table[at] == -np.inf).any(axis=1)], columns)

    def undefined_cell(self, block: Any, columns: Columns) -> str:
        if self.skipped is None:
            return ""
        at = self.codes.encode(block)[0]  # (n, d)
        unseen = (self.table[self.codes.size :] == 0).all(axis=1)  # (d,)
        nowhere = np.concatenate([self.skipped, unseen])
        return self._named(at[(at >= 0) & nowhere[at]], columns)

    def _named(self, codes: np.ndarray, columns: Columns) -> str:
        """The column and the value of the first of some codes; an empty text if there is none."""
        if not len(codes):
            return ""
        if codes[0] >= self.codes.size:  # the last rows of the table are those of unseen values
            return f"an unseen value in column {columns.name(int(codes[0]) - self.codes.size)!r}"
        column, value = self.codes.label(int(codes[0]), columns)
        return f"column {column!r}, value {value}"

    def log_mass(self) -> np.ndarray:
        """(K, C) log of the share of each code; −∞ for a share of zero."""
        known = self.table[: self.codes.size]
        return known if self.skipped is None else np.where(self.skipped[:, None], -np.inf, known)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, mass = self.codes.first, np.exp(self.log_mass())
        drawn = np.full((len(classes), len(first) - 1), -1, dtype=np.intp)  # (n, d)
        for c in np.unique(classes):
            at = np.flatnonzero(classes == c)
            for j in range(len(first) - 1):
                share = mass[first[j] : first[j + 1], c]
                if share.sum() > 0:
                    drawn[at, j] = first[j] + rng.choice(len(share), len(at), p=share / share.sum())
        return self.values(drawn, rng)

    def values(self, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) the values of the drawn codes; a column without values stays missing."""
        assert isinstance(self.codes, Categories)
        flat = [v for values in self.codes.values for v in values]
        if all(isinstance(v, int | float) for v in flat) and (drawn >= 0).all():
            return np.array(flat)[drawn]
        out = np.empty(len(flat) + 1, dtype=object)
        out[:-1] = flat  # code −1 reads the last entry, None
        return out[drawn]

    @property
    def conditionals(self) -> CategoryConditionals | None:
        from verosim.densities.conditionals import CategoryConditionals

        return CategoryConditionals(self)

    def estimates(self, statistic: Counts, j: int, most: int) -> Estimates | None:
        assert isinstance(self.codes, Categories)
        ordered = in_reading_order(self.codes.values[j])
        at = self.codes.first[j] + np.array([self.codes.index[j][v] for v in ordered], dtype=int)
        count = statistic.arrays["count"][:, 0][:, at]  # (C, K)
        share = np.exp(self.log_mass()[at]).T
        return Estimates(SHARES_TABLE, tuple(ordered), share, count.sum(axis=1), count)

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        count = statistic.arrays["count"][:, 0]
        scores = self.table[self._places(statistic.axes.codes)].T  # (C, K)
        return (count * np.where(count > 0, scores, 0.0)).sum(axis=1)

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.code_terms import code_terms

        return code_terms(self.codes, self.table)

    def expansion(self, statistic: Counts) -> Expansion:
        from verosim.densities.features import Indicators

        if np.isinf(self.table).any():
            raise infinite_weights()
        codes, columns = self.codes, statistic.axes.columns
        names = []
        for code in range(codes.size):
            column, value = codes.label(code, columns)
            names.append(f"{column} = {value}")
        names += [f"{name} is new" for name in columns]
        C = self.table.shape[1]
        return Indicators(tuple(names), self.table.T, np.zeros(C), np.ones(len(names)), codes)

    def _places(self, codes: Any) -> np.ndarray:
        """(K,) the row of the table for each code of a statistic; unknown values use the row of an
        unseen value."""
        if not isinstance(codes, Categories) or not isinstance(self.codes, Categories):
            return np.arange(codes.size)
        return np.array(
            [
                self.codes.first[j] + self.codes.index[j][v]
                if v in self.codes.index[j]
                else self.codes.size + j
                for j, values in enumerate(codes.values)
                for v in values
            ],
            dtype=np.intp,
        )


@dataclass(frozen=True)
class Categorical(Density):
    """Smoothed shares of categories. An unseen value has the share of a count of zero.

    With α = 0 this is the estimate of maximum likelihood. A value that a class never had has the
    probability 0 there, and a value that no class had is skipped, because its odds are 0/0.
    """

    alpha: float = 1.0
    constants: bool = True  # False ignores columns with a single value
    never: float = 0.0  # with α = 0, the share of a value that a class never had

    has_independent_columns = True

    @property
    def fixed_values(self) -> bool:
        """Whether the values of a column are fixed and do not depend on the rows."""
        return False

    def leave_one_out(self, statistic: Counts) -> Scorer:
        from verosim.densities.leave_one_out import categorical

        return categorical.scorer(self, statistic)

    def log_volume(self, codes: Any, block: Any, at: np.ndarray) -> np.ndarray:
        """(n,) log volume of the cells of some rows with codes `at` (n, d); 0 for categories."""
        return np.zeros(len(at))

    def checks(self, statistic: Counts) -> bool:
        return True

    def estimate(self, statistic: Counts) -> CodeParams:
        codes = statistic.axes.codes
        assert codes is not None
        kinds = self.kinds(statistic)
        log_mass = log_of(self.shares(statistic, codes, kinds))
        if not self.constants:
            column = np.concatenate([codes.column_of(), np.arange(len(kinds))])
            log_mass[:, (kinds < 2)[column]] = 0.0
        return self.params(CodeParams, codes, log_mass, kinds)

    def params(
        self, params: type[CodeParams], codes: Codes, log_mass: np.ndarray, kinds: np.ndarray
    ) -> Any:
        """The parameters from log shares (C, K + d), where codes without a share are skipped."""
        table = np.ascontiguousarray(log_mass.T)
        nowhere = (table == -np.inf).all(axis=1)
        if not nowhere.any():
            return params(codes, table, kinds)
        table[nowhere] = 0.0
        return params(codes, table, kinds, nowhere[: codes.size])

    def kinds(self, statistic: Counts) -> np.ndarray:
        """(d,) B_i, the number of values of each column that rows have or that were declared."""
        codes = statistic.axes.codes
        assert codes is not None
        exists = (statistic.arrays["cells"].sum(axis=0) > 0) | codes.declared
        columns = len(codes.first) - 1
        return np.bincount(codes.column_of()[exists], minlength=columns).astype(float)

    def shares(self, statistic: Counts, codes: Codes, kinds: np.ndarray) -> np.ndarray:
        """(C, K + d) smoothed share of each code, then of an unseen value of each column."""
        count = np.maximum(statistic.arrays["count"][:, 0], 0.0)  # (C, K)
        d = len(kinds)
        edged = np.concatenate([count, np.zeros((len(count), 1))], axis=1)
        total = np.add.reduceat(edged, codes.first[:-1], axis=1)  # (C, d)
        total[:, codes.counts() == 0] = 0.0
        denominator = total + self.alpha * kinds
        mass = np.concatenate([count, np.zeros((len(count), d))], axis=1) + self.alpha
        column = np.concatenate([codes.column_of(), np.arange(d)])
        # If a class has no values in a column, all values of the column have the same share.
        blank = ~(denominator > 0)
        uniform = 1 / np.maximum(kinds, 1)
        mass = np.where(
            blank[:, column], uniform[column], mass / np.where(blank, 1.0, denominator)[:, column]
        )
        return np.where(mass > 0, mass, self.never)
