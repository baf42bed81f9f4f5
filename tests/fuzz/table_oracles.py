"""Exact scores of models of tables, texts and histograms, and of columns that depend on others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.fuzz.exact import LOGARITHMS, ROUNDING, ZERO, decimal, log
from tests.fuzz.lives import Row
from tests.fuzz.oracles import (
    Cells,
    Errors,
    GaussianColumns,
    Joint,
    Share,
    Truth,
    bernoulli,
    categorical,
    diagonal,
    has,
    multinomial,
    ratio,
    skipping,
)


def of_columns(truth: Truth, columns: Sequence[int]) -> Truth:
    """The same rows with some of their columns."""

    def cut(rows: list[Row]) -> list[Row]:
        return [replace(row, cells=tuple(row.cells[j] for j in columns)) for row in rows]

    return replace(truth, rows=[cut(part) for part in truth.rows],
                   ever=[cut(part) for part in truth.ever])  # fmt: skip


def summed(parts: Sequence[tuple[Any, Sequence[int]]]) -> Any:
    """The sum of the scores of several parts, each with its columns."""

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        scores: Joint = []
        errors: Errors = []
        for score, columns in parts:
            found, wrong = score(tuple(cells[j] for j in columns))
            scores = found if not scores else [
                None if a is None or b is None else a + b
                for a, b in zip(scores, found, strict=True)
            ]  # fmt: skip
            errors = wrong if not errors else [a + b for a, b in zip(errors, wrong, strict=True)]
        return scores, errors

    return joint


def mixed(truth: Truth, settings: dict[str, Any], kinds: Sequence[str]) -> Any:
    """Naive Bayes on a table with columns of several kinds."""
    parts: list[tuple[Any, Sequence[int]]] = []
    for kind in sorted(set(kinds)):
        columns = [j for j, one in enumerate(kinds) if one == kind]
        part = of_columns(truth, columns)
        if kind == "gaussian":
            score = diagonal(part, settings, len(columns), shared=False)
        elif kind == "category":
            columns = varying(truth, columns)
            part = of_columns(truth, columns)
            score = categorical(part, settings, len(columns))
        elif kind == "boolean":
            columns = varying(truth, columns)
            part = of_columns(truth, columns)
            score = bernoulli(part, settings | {"binarize": 0.5}, len(columns))
        else:
            score = poisson(part, settings, len(columns))
        parts.append((score, columns))
    return summed(parts)


def varying(truth: Truth, columns: Sequence[int]) -> list[int]:
    """The columns with two values or more."""
    return [
        j for j in columns
        if len({row.cells[j] for part in truth.rows for row in part if has(row.cells[j])}) > 1
    ]  # fmt: skip


def poisson(truth: Truth, settings: dict[str, Any], d: int) -> Any:
    """Counts with one rate per class and column, smoothed by α rows with the mean."""
    C = len(truth.rows)
    alpha = decimal(settings.get("alpha", 1.0))
    moments = GaussianColumns(truth, d)
    rates: list[list[Decimal]] = [[ZERO] * d for _ in range(C)]
    errors = [[0.0] * d for _ in range(C)]
    for j in range(d):
        if moments.total(j) == 0:
            if truth.forgot and moments.everywhere(j).peak > 0:
                errors = [[math.inf] * d for _ in range(C)]
            continue
        all_ = moments.everywhere(j)
        for k in range(C):
            p = moments.by_class[k][j]
            weight, total = (p.weight, p.weight * p.mean) if p else (ZERO, ZERO)
            bottom = weight + alpha
            rate = (total + alpha * all_.mean) / bottom if bottom else all_.mean
            rates[k][j] = max(rate, Decimal("1e-10") * all_.mean)
            peak = p.peak.sqrt() * p.weight.sqrt() if p else ZERO
            peak += alpha * (all_.peak / all_.weight).sqrt() + total
            low = max(total + alpha * all_.mean, Decimal("1e-10") * all_.mean * bottom)
            errors[k][j] = truth.rounding * (1 + ratio(peak, low))
            if truth.forgot:
                absorbed = sum(r.ever * Fraction(r.cells[j] or 0) for r in truth.ever[k])
                errors[k][j] += 2e-12 * ratio(decimal(absorbed), low)

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        scores: Joint = []
        wrong: Errors = []
        for k in range(C):
            score, error = ZERO, 0.0
            for j in range(d):
                if not has(cells[j]):
                    continue
                if rates[k][j] == 0:
                    error += errors[k][j]
                    continue
                x, rate, e = decimal(cells[j]), rates[k][j], errors[k][j]
                score += x * log(rate) - rate
                size = float(x) * (1 + abs(float(log(rate)))) + float(rate)
                error += math.inf if e > 1e-3 else e * (float(x) + float(rate))
                error += 8 * ROUNDING * size
            scores.append(score if truth.rows[k] else None)
            wrong.append(error)
        return scores, wrong

    return joint


def histogram(truth: Truth, settings: dict[str, Any], edges: Sequence[Sequence[float]]) -> Any:
    """One histogram per column, with given edges: the widths are the same in all classes."""
    binned = replace(
        truth,
        rows=[[in_bins(row, edges) for row in part] for part in truth.rows],
        ever=[[in_bins(row, edges) for row in part] for part in truth.ever],
    )
    # All bins count as values of the column, also those without rows.
    kinds = [max(len(e) - 1, 1) for e in edges]
    score = categorical(binned, settings, len(edges), kinds=kinds)

    widths = 8 * ROUNDING * log_widths(edges)

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        found, errors = score(tuple(bin_of(x, e) for x, e in zip(cells, edges, strict=True)))
        return found, [error + widths for error in errors]

    return joint


def joint_histogram(
    truth: Truth, settings: dict[str, Any], edges: Sequence[Sequence[float]]
) -> Any:
    """One histogram over all columns together."""

    def one(row: Row) -> Row:
        return replace(row, cells=(in_bins(row, edges).cells,))

    binned = replace(
        truth, rows=[[one(row) for row in part] for part in truth.rows],
        ever=[[one(row) for row in part] for part in truth.ever],
    )  # fmt: skip
    possible = math.prod(max(len(e) - 1, 1) for e in edges)
    score = categorical(binned, settings, 1, kinds=[possible])

    widths = 8 * ROUNDING * log_widths(edges)

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        found, errors = score((tuple(bin_of(x, e) for x, e in zip(cells, edges, strict=True)),))
        return found, [error + widths for error in errors]

    return joint


def log_widths(edges: Sequence[Sequence[float]]) -> float:
    """The size of the logarithms of the widths, which a program adds and subtracts."""
    return sum(
        max((abs(math.log(b - a)) for a, b in pairwise(e) if b > a), default=0.0) for e in edges
    )


def in_bins(row: Row, edges: Sequence[Sequence[float]]) -> Row:
    return replace(row, cells=tuple(bin_of(x, e) for x, e in zip(row.cells, edges, strict=True)))


def bin_of(x: float | None, edges: Sequence[float]) -> int | None:
    """The number of inner edges at or below x; None for a missing cell."""
    return bisect_right(list(edges[1:-1]), x) if x is not None else None


def texts(truth: Truth, settings: dict[str, Any]) -> Any:
    """Counts, or presence, of the words of texts; words that no row has are skipped."""
    words = sorted({w for part in truth.rows for row in part for w in row.cells[0].split()})
    at = {word: j for j, word in enumerate(words)}

    def counted(row: Row) -> Row:
        found = Counter(row.cells[0].split())
        return replace(row, cells=tuple(found[word] for word in words))

    table = replace(
        truth, rows=[[counted(row) for row in part] for part in truth.rows],
        ever=[[counted(row) for row in part] for part in truth.ever],
    )  # fmt: skip
    model = settings.get("model", "multinomial")
    score = (multinomial if model == "multinomial" else bernoulli)(table, settings, len(words))

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        found = Counter(word for word in cells[0].split() if word in at)
        return score(tuple(found[word] for word in words))

    return joint


# Columns that depend on others -----------------------------------------------------------------


class Counts:
    """Weights of the rows of a class in which some columns have some values."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.known: dict[Any, tuple[Fraction, Fraction]] = {}

    def __call__(self, k: int, *where: tuple[int, Any]) -> tuple[Fraction, Fraction]:
        """What is left, and what was ever absorbed."""
        key = (k, where)
        if key not in self.known:
            left, ever = Fraction(0), Fraction(0)
            for row in self.truth.ever[k]:
                if all(row.cells[j] == value for j, value in where):
                    left, ever = left + row.weight, ever + row.ever
            self.known[key] = left, ever
        return self.known[key]

    def error(self, k: int, ever: Fraction, top: Fraction) -> float:
        """The relative error of a share with the numerator `top`."""
        lost = self.truth.rounding * float(ever)
        if self.truth.forgot:
            lost += 2e-12 * float(ever) + 2e-15 * float(self.truth.absorbed(k))
        return self.truth.rounding + (lost / float(top) if top else math.inf)


def one_dependence(truth: Truth, settings: dict[str, Any], d: int) -> Any:
    """Averaged one-dependence estimators."""
    C = len(truth.rows)
    count = Counts(truth)
    rows = [row for part in truth.rows for row in part]
    values = [{row.cells[j] for row in rows} for j in range(d)]
    weights = class_information(truth, d) if settings.get("weighted", True) else [Decimal(1)] * d
    everything = sum(weights, ZERO)
    shares = [w / everything if everything > 0 else Decimal(1) / d for w in weights]
    # The weights of the parents are differences of sums of x log x.
    total = sum((truth.weight(k) for k in range(C)), Fraction(0))
    lost = 10 * truth.rounding * ratio(decimal(total), everything) * (1 + abs(float(log(total))))
    if not settings.get("weighted", True):
        lost = 0.0

    def alone(k: int, j: int, value: Any) -> tuple[Fraction, float]:
        left, ever = count(k, (j, value))
        total = count(k)
        top = left + Fraction(1, len(values[j]))
        return top / (total[0] + 1), count.error(k, ever, top) + count.error(
            k, total[1], total[0] + 1
        )

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        seen = [j for j in range(d) if cells[j] in values[j]]
        scores: Joint = []
        errors: Errors = []
        for k in range(C):
            total, error, products = ZERO, 0.0, []
            for i in seen:
                product, wrong = alone(k, i, cells[i])
                inside, ever_inside = count(k, (i, cells[i]))
                for j in seen:
                    if j == i:
                        continue
                    lower, e = alone(k, j, cells[j])
                    both, ever = count(k, (i, cells[i]), (j, cells[j]))
                    product *= (both + lower) / (inside + 1)
                    wrong += e + count.error(k, ever, both + lower)
                    wrong += count.error(k, ever_inside, inside + 1)
                total += shares[i] * decimal(product)
                products.append(decimal(product))
                error = max(error, wrong)
            if not seen:
                total = Decimal(1)
            scores.append(LOGARITHMS.ln(total) if total > 0 and truth.rows[k] else None)
            error += lost * (1 + sum(ratio(product, total) for product in products))
            errors.append(math.inf if error > 1e-3 else error)
        return scores, errors

    return joint


def class_information(truth: Truth, d: int) -> list[Decimal]:
    """I(x_j; y) of every column, times the weight of all rows."""
    C = range(len(truth.rows))
    weights = [truth.weight(k) for k in C]
    count = Counts(truth)
    out = []
    for j in range(d):
        values = {row.cells[j] for part in truth.rows for row in part}
        found = x_log_x(sum(weights, Fraction(0))) - sum((x_log_x(w) for w in weights), ZERO)
        for value in values:
            each = [count(k, (j, value))[0] for k in C]
            found += sum((x_log_x(n) for n in each), ZERO) - x_log_x(sum(each, Fraction(0)))
        out.append(max(found, ZERO) if found > Decimal("1e-20") else ZERO)
    return out


def x_log_x(x: Fraction) -> Decimal:
    return decimal(x) * log(x) if x else ZERO


def contexts(
    truth: Truth, settings: dict[str, Any], d: int, parents: Sequence[Sequence[int]]
) -> Any:
    """Columns that depend on the class and on some parents (TAN, KDB)."""
    C = len(truth.rows)
    count = Counts(truth)
    values = [{row.cells[j] for part in truth.rows for row in part} for j in range(d)]
    m = Fraction(settings.get("m", 20.0))
    alpha = Fraction(settings.get("alpha", 1.0))
    backs_off = settings.get("smoothing", "backoff") == "backoff"
    everyone = sum((truth.weight(k) for k in range(C)), Fraction(0))

    def share(k: int, j: int, cells: Cells) -> Share:
        if not backs_off:
            where = [(i, cells[i]) for i in parents[j]]
            left, ever = count(k, (j, cells[j]), *where)
            inside, ever_inside = count(k, *where)
            top, bottom = left + alpha, inside + alpha * len(values[j])
            if bottom == 0:
                return Share(Fraction(0), math.inf)
            return Share(
                top / bottom, count.error(k, ever, top) + count.error(k, ever_inside, bottom)
            )
        over = sum((count(q, (j, cells[j]))[0] for q in range(C)), Fraction(0))
        p = (over + Fraction(1, 2)) / (everyone + Fraction(len(values[j]), 2))
        error = truth.rounding * (1 + (1e4 if truth.forgot else 0))
        for t in range(len(parents[j]) + 1):
            where = [(i, cells[i]) for i in parents[j][:t]]
            strength = min(m, Fraction(1)) if t == 0 else m
            left, ever = count(k, (j, cells[j]), *where)
            inside, ever_inside = count(k, *where)
            if inside + strength == 0:
                return Share(p, math.inf)
            top = left + strength * p
            error += count.error(k, ever, top) + count.error(k, ever_inside, inside + strength)
            p = top / (inside + strength)
        return Share(p, error)

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        factors = [
            [(share(k, j, cells), Fraction(1)) for k in range(C)]
            for j in range(d)
            if cells[j] in values[j]
        ]
        if any(one.value < Fraction(1, 10**29) for factor in factors for one, _ in factor):
            return [ZERO] * C, [math.inf] * C  # the program replaces smaller shares
        return skipping(factors, C, [k for k in range(C) if truth.rows[k]])

    return joint
