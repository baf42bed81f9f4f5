"""Averaged one-dependence estimators: every column is once the parent of all others.

    p(x, k) = Σ_i v_i p(k, x_i) Π_{j≠i} p(x_j | k, x_i),   v_i ∝ I(x_i; y)

    p(k, x_i)       = (N(k, x_i) + 1/B_i) / (N + C)
    p(x_j | k, x_i) = (N(k, x_i, x_j) + p(x_j | k)) / (N(k, x_i) + 1)
    p(x_j | k)      = (N(k, x_j) + 1/B_j) / (N(k) + 1)

B_i is the number of codes of column i. A value that no row had adds nothing.
References: Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence
estimators; Jiang & Zhang (2006), Weightily averaged one-dependence estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.densities.base import Density, into
from verosim.densities.coded_rows import CodedRowParams, draw
from verosim.densities.dependence import information
from verosim.densities.smoothing import LEFTOVER
from verosim.errors import VerosimError
from verosim.stats import Pairs


@dataclass(frozen=True)
class OneDependenceParams(CodedRowParams):
    """The tables of an averaged one-dependence estimator. J is the number of codes."""

    log_parent: np.ndarray  # (J, C) log p(x_i | k), so that the prior is added outside
    log_child: np.ndarray  # (J, J, C) log p(x_j | k, x_i)
    log_weight: np.ndarray  # (d,) log v_i
    known: np.ndarray  # (J,) whether some row has the code

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        column = self.codes.column_of()[self.known]
        free = np.bincount(column, minlength=len(self.codes.sizes)) - 1  # shares sum to one
        return int(self.log_parent.shape[1] * (free.sum() ** 2 - (free**2).sum() + free.sum()))

    def log_mass(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), self.log_parent.shape[1]))
        kernels.score_one_dependence(
            block, self.codes.places, self.log_parent, self.log_child, self.log_weight, out
        )
        return out

    def contributions(self, block: Any) -> np.ndarray:
        """A sum over parents does not split by column: every column gets the same part."""
        d = block.shape[1]
        return np.repeat(self.log_density(block)[:, :, None] / d, d, axis=2)

    def sample_codes(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """First the parent column by its weight, then its code, then the codes of the others."""
        n, d, first = len(classes), len(self.codes.sizes), self.codes.first
        out = np.empty((n, d), dtype=np.intp)
        parent = rng.choice(d, size=n, p=np.exp(self.log_weight))
        for i in range(d):
            rows = np.flatnonzero(parent == i)
            mass = np.exp(self.log_parent[first[i] : first[i + 1]])[:, classes[rows]].T
            out[rows, i] = draw(mass * self.known[first[i] : first[i + 1]], rng)
            at = first[i] + out[rows, i]
            for j in range(d):
                if j != i:
                    table = self.log_child[at, first[j] : first[j + 1]]  # (rows, B_j, C)
                    mass = np.exp(table[np.arange(len(rows)), :, classes[rows]])
                    out[rows, j] = draw(mass * self.known[first[j] : first[j + 1]], rng)
        return out

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        raise VerosimError(
            "The likelihood of averaged one-dependence estimators needs the rows, and the "
            "statistic has only counts of pairs.",
            "Compare models by their predictions of held-out rows: cross_validate(model, X, y).",
        )


@dataclass(frozen=True)
class OneDependence(Density):
    """Averaged one-dependence estimators; `weighted` by the information about the class."""

    weighted: bool = True

    def estimate(self, statistic: Any) -> OneDependenceParams:
        pairs: Pairs = statistic
        codes = pairs.codes
        table = pairs.table()[:, 0]  # (C, J, J)
        weight = pairs.weight[:, 0]  # (C,)
        table = np.where(table > LEFTOVER * weight.sum(), table, 0.0)
        single = np.einsum("cjj->cj", table)  # (C, J)
        known = single.sum(axis=0) > 0  # (J,)
        column = codes.column_of()
        share = 1.0 / np.maximum(np.bincount(column[known], minlength=len(codes.sizes)), 1)[column]
        log_parent = np.log((single + share) / (weight[:, None] + 1.0))
        alone = (single + share) / (weight[:, None] + 1.0)
        log_child = np.log((table + alone[:, None, :]) / (single[:, :, None] + 1.0))
        log_child[:, :, ~known] = 0.0
        d = len(codes.sizes)
        value = information(pairs).with_class if self.weighted else np.ones(d)
        value = value / value.sum() if value.sum() > 0 else np.full(d, 1.0 / d)
        with np.errstate(divide="ignore"):
            log_weight = np.log(value)
        return OneDependenceParams(
            codes, np.ascontiguousarray(log_parent.T),
            np.ascontiguousarray(log_child.transpose(1, 2, 0)), log_weight, known,
        )  # fmt: skip
