"""How much information does each column have about the class? Computed from the sums.

    numbers      η² = between / (between + within),  F = (between/(C − 1)) / (within/(n − C))
    categories   I(x; class) / H(class),  G = 2 n I(x; class) ~ χ²

"between" and "within" are the sums of squares between and within classes, I is the mutual
information and H is the entropy. If each class has its own variance, Bartlett's test is used
together with F. For tables with fewer than five rows per cell, Pearson's χ² is used instead of G,
because its expected value is correct there too.
References: Fisher (1925), Statistical Methods for Research Workers; Agresti (2013), Categorical
Data Analysis, §3.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from verosim.densities.central import Centred, Scatter
from verosim.linalg import EPS
from verosim.stats import Counts, Moments, Patterns, Statistic, Tokens
from verosim.validate.diagnosis.findings import (
    LEVEL,
    Finding,
    does_not_apply,
    found_that,
    probability,
)
from verosim.validate.diagnosis.model import has_full_covariance, kind_of_part, params_of
from verosim.validate.diagnosis.phrases import Phrase, said
from verosim.validate.diagnosis.spread import bartlett

NEGLIGIBLE = 1e-3  # a column with a smaller share is not informative
THIN = 5  # rows per cell; with fewer, Pearson's χ² is used
MOST_WORDS = 100  # with more words, only the summary is a finding


NUMBER_COLUMNS, CATEGORY_COLUMNS = said("number columns"), said("category columns")
BINNED_COLUMNS, WORD_COLUMNS = said("binned columns"), said("words")


@dataclass(frozen=True)
class ColumnInformation:
    """The information of the columns of one part about the class; each array is (d,)."""

    names: list[str]
    share: np.ndarray  # of the variance of the column, or of the entropy of the class
    p: np.ndarray
    constant: np.ndarray  # bool
    worth: np.ndarray  # the share, with the information of different variances
    what: Phrase = CATEGORY_COLUMNS

    @property
    def useless(self) -> np.ndarray:
        """(d,) whether each column has no information about the class."""
        least = 0.0 if self.what is WORD_COLUMNS else NEGLIGIBLE  # one word has a small share
        negligible = self.worth < least
        return self.constant | (self.p > LEVEL) | negligible

    @property
    def unit(self) -> Phrase:
        """The meaning of the share, in words."""
        if self.what is NUMBER_COLUMNS:
            return said("of its variance")
        return said("of the class entropy")


def column_information(model: Any, statistic: Statistic) -> list[ColumnInformation]:
    """The information of all columns, by part of the statistic."""
    out = []
    densities = dict(params_of(model).named_parts())
    part: Any
    for name, part in statistic.named_parts():
        kind = kind_of_part(name, part)
        if kind == "numbers":
            density = densities[name]
            out.append(of_numbers(part, density.is_gaussian and not density.one_covariance))
        elif kind in ("codes", "bins"):
            found = of_presence(part) if part.sums_of == "presence" else of_codes(part)
            out.append(replace(found, what=BINNED_COLUMNS) if kind == "bins" else found)
        elif kind == "amounts":
            out.append(of_amounts(part))
    return out


def of_numbers(moments: Moments | Patterns, own_variances: bool) -> ColumnInformation:
    """The one-way F test of each column; with `own_variances`, also Bartlett's test."""
    statistic = moments.available()
    centred = Centred(statistic)
    W = centred.weight  # (C, d)
    place = (centred.pivot - centred.pivot[0]) + centred.offset
    total, K = W.sum(axis=0), (W > 0).sum(axis=0)
    centre = (W * place).sum(axis=0) / np.where(total > 0, total, 1.0)
    between = (W * (place - centre) ** 2).sum(axis=0)
    if statistic.layout == "pooled":
        scatter = Scatter(statistic)
        within, noise = scatter.pooled.diagonal(), EPS * scatter.pooled_peak
    else:
        within, noise = centred.squares.sum(axis=0), centred.noise.sum(axis=0)
    within = np.where(within > noise, within, 0.0)
    between = np.where(between > noise + 64 * EPS**2 * total * centre**2, between, 0.0)
    constant = ~(within + between > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (between / (K - 1)) / (within / (total - K))
        p = np.where((K > 1) & (total > K), f_distribution.sf(F, K - 1, total - K), 1.0)
    p = np.where((within == 0) & (between > 0), 0.0, p)
    share = np.where(constant, 0.0, between / np.where(constant, 1.0, within + between))
    worth = share
    if own_variances and statistic.layout != "pooled":
        T, df = bartlett(centred)
        p = np.minimum(1.0, 2 * np.fmin(p, np.where(df > 0, chi2.sf(T, np.maximum(df, 1)), 1.0)))
        worth = _of_likelihood(centred, within + between)
    names = list(statistic.axes.columns)
    p = np.where(constant, 1.0, p)
    return ColumnInformation(names, share, p, constant, worth, NUMBER_COLUMNS)


def _of_likelihood(centred: Centred, spread: np.ndarray) -> np.ndarray:
    """(d,) 1 − Π_k (σ²_k / σ²)^(n_k/n), a form of η² for classes with different variances."""
    W = centred.weight
    total = np.where(W.sum(axis=0) > 0, W.sum(axis=0), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(centred.squares / W) - np.log(spread / total)
        gain = np.where(W > 0, W * log_ratio, 0.0).sum(axis=0) / total
    return np.nan_to_num(-np.expm1(gain), nan=0.0)


def of_codes(statistic: Counts) -> ColumnInformation:
    """The G-test of each column of categories or bins."""
    codes = statistic.axes.codes
    assert codes is not None
    count = np.maximum(statistic.arrays["count"][:, 0], 0.0)  # (C, K)
    found = [_test(count[:, a:b]) for a, b in zip(codes.first[:-1], codes.first[1:], strict=True)]
    share, p, constant = (np.array(v) for v in zip(*found, strict=True))
    return ColumnInformation(list(statistic.axes.columns), share, p, constant, share)


def of_presence(statistic: Counts) -> ColumnInformation:
    """The G-test of each column of presence or absence."""
    count = statistic.arrays["count"][:, 0]  # (C, d)
    seen = statistic.weight[:, 0, None] - statistic.arrays["missing"][:, 0]
    return _of_pairs(list(statistic.axes.columns), count, np.maximum(seen - count, 0.0))


def of_amounts(statistic: Counts | Tokens) -> ColumnInformation:
    """The G-test of each token against all others."""
    count = np.maximum(statistic.arrays["count"][:, 0], 0.0)
    names = statistic.count_names()
    if statistic.what == "presence":
        rest = statistic.weight[:, 0, None] - count
    else:
        rest = count.sum(axis=1, keepdims=True) - count
    return replace(_of_pairs(names, count, np.maximum(rest, 0.0)), what=WORD_COLUMNS)


def _of_pairs(names: list[str], there: np.ndarray, absent: np.ndarray) -> ColumnInformation:
    """The G-tests of the tables C × 2 of all columns."""
    n_k = there + absent  # (C, d)
    n = n_k.sum(axis=0)
    joint = xlogy(there, there).sum(axis=0) + xlogy(absent, absent).sum(axis=0)
    sides = [side.sum(axis=0) for side in (there, absent)]
    classes = xlogy(n_k, n_k).sum(axis=0)
    G = 2 * (joint - classes - xlogy(sides[0], sides[0]) - xlogy(sides[1], sides[1]) + xlogy(n, n))
    G = np.maximum(G, 0.0)
    entropy = xlogy(n, n) - classes  # n H(class)
    df = np.maximum((n_k > 0).sum(axis=0) - 1, 0)
    constant = (sides[0] <= 0) | (sides[1] <= 0)
    p = np.where(constant | (df == 0), 1.0, chi2.sf(G, np.maximum(df, 1)))
    share = np.where(constant | (entropy <= 0), 0.0, G / 2 / np.where(entropy > 0, entropy, 1.0))
    share = np.minimum(share, 1.0)
    return ColumnInformation(names, share, p, constant, share)


def _test(table: np.ndarray) -> tuple[float, float, bool]:
    """(share of the class entropy, p-value, whether constant) of a table C × K."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    C, K = table.shape
    if K < 2 or C < 2:
        return 0.0, 1.0, K < 2
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    G = 2 * (xlogy(table, table).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum())
    G = max(float(G + 2 * xlogy(n, n)), 0.0)
    df = (C - 1) * (K - 1)
    tested = G
    if n < THIN * C * K:
        tested = float(n * ((table**2 / rows[:, None] / columns).sum() - 1))
    entropy = float(xlogy(n, n) - xlogy(rows, rows).sum())
    by_chance = df / 2  # the expected value for independent columns (Miller 1955)
    share = max(G / 2 - by_chance, 0.0) / entropy
    return min(share, 1.0), float(chi2.sf(tested, df)), False


def uninformative(model: Any, columns: list[ColumnInformation]) -> list[Finding]:
    """The number of informative columns, and one finding for each other column."""
    if not columns:
        return [does_not_apply("information", "one density describes all columns together")]
    if len(model.classes_) < 2:
        return [does_not_apply("information", "there is only one class")]
    naive = not has_full_covariance(model)
    out = [_summary(part) for part in _by_kind(columns)]
    for part in columns:
        if part.what is WORD_COLUMNS and len(part.names) > MOST_WORDS:
            continue  # the summary is enough
        order = np.lexsort((-part.p, ~part.constant))
        out += [_useless(part, int(j), naive) for j in order[part.useless[order]]]
    return out


def _by_kind(columns: list[ColumnInformation]) -> list[ColumnInformation]:
    """Parts with the same kind of columns, merged."""
    out = []
    for what in (NUMBER_COLUMNS, CATEGORY_COLUMNS, BINNED_COLUMNS, WORD_COLUMNS):
        same = [part for part in columns if part.what is what]
        if not same:
            continue
        names = [name for part in same for name in part.names]
        share, p, constant, worth = (
            np.concatenate([getattr(part, name) for part in same])
            for name in ("share", "p", "constant", "worth")
        )
        out.append(ColumnInformation(names, share, p, constant, worth, what))
    return out


def _summary(part: ColumnInformation) -> Finding:
    """The number of informative columns, and the best of them."""
    useful = int((~part.useless).sum())
    order = np.argsort(-np.where(part.useless, -1.0, part.share), kind="stable")[: min(3, useful)]
    best = [(repr(part.names[j]), f"{part.share[j]:.1%}") for j in order]
    numbers: dict[str, str | Phrase] = {
        "useful": f"{useful:,}", "count": f"{len(part.names):,}", "columns": part.what,
    }  # fmt: skip
    if not best:
        phrase = said(
            "{useful} of {count} {columns} are informative: check that the target is correct.",
            **numbers,
        )
        return found_that("information", part.what, float(useful), None, phrase)
    first = said("{column} ({share} {unit})", column=best[0][0], share=best[0][1], unit=part.unit)
    if len(best) == 1:
        phrase = said(
            "{useful} of {count} {columns} are informative; the best is {first}.",
            **numbers, first=first,
        )  # fmt: skip
    else:
        phrase = said(
            "{useful} of {count} {columns} are informative; the best are {first}, {others}.",
            **numbers, first=first, others=", ".join(f"{a} ({b})" for a, b in best[1:]),
        )  # fmt: skip
    return found_that("information", part.what, float(useful), None, phrase)


def _useless(part: ColumnInformation, j: int, naive: bool) -> Finding:
    """The finding for a column without information."""
    p = float(part.p[j])
    if part.constant[j]:
        phrase = said("The column is constant: drop it.")
        return found_that("information", part.names[j], 0.0, None, phrase)
    if naive:
        drop = said("drop it")
    else:
        drop = said("drop it, unless it helps together with other columns")
    if p > LEVEL:
        phrase = said(
            "No difference between the classes was found (p {p}): {drop}.",
            p=probability(p), drop=drop,
        )  # fmt: skip
    else:
        phrase = said(
            "The information is very small ({share} {unit}): {drop}.",
            share=f"{part.share[j]:.2%}", unit=part.unit, drop=drop,
        )  # fmt: skip
    return found_that("information", part.names[j], float(part.share[j]), p, phrase)


def best_first(columns: list[ColumnInformation]) -> list[str]:
    """The names of the columns, the most informative first."""
    pairs = [
        (float(s), name) for part in columns for name, s in zip(part.names, part.share, strict=True)
    ]
    return [name for _, name in sorted(pairs, key=lambda pair: -pair[0])]
