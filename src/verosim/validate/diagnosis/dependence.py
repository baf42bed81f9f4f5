"""How much do columns depend on each other within a class?

    r = Σ_k Σ_i z_a z_b / √(Σ z_a² Σ z_b²),  z = x − mean of the class        numbers
    V = √( Σ_k (χ²_k − df_k) / Σ_k n_k (min(r_k, c_k) − 1) )                  categories

r is the pooled within-class correlation. V is Cramér's V, minus its expected value for independent
columns. One test is used for all r: −(v − (2d + 5)/6) log|R| ~ χ² with d(d − 1)/2 degrees of
freedom, where R is the correlation matrix and v is the number of rows minus the number of classes.
References: Bartlett (1951), The effect of standardization on a χ² approximation in factor
analysis; Bergsma (2013), A bias-correction for Cramér's V and Tschuprow's T.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chi2

from verosim.densities.central import Scatter
from verosim.stats import Moments, Statistic
from verosim.validate.diagnosis.findings import Finding, does_not_apply, found_that, needs_rows
from verosim.validate.diagnosis.model import full_moments, has_full_covariance, kind_of_part
from verosim.validate.diagnosis.phrases import Phrase, said
from verosim.validate.diagnosis.rows import Sample

WEAK, STRONG = 0.2, 0.6  # limits of r or V of the strongest pair
MOST_COLUMNS = 40  # the pairs of at most this many columns are tested
NAIVE = "measure how much the columns depend on each other"
EVERY = said("within classes")
UNCORRELATED = said("The columns are almost uncorrelated: GaussianNB or NaiveLDA is enough.")
INDEPENDENT = said("It is reasonable to assume that the columns are independent.")
SOME_TWICE = said("Some evidence is counted twice: calibrate the probabilities.")


def _number_of_columns(statistic: Statistic, *kinds: str) -> int:
    """The number of columns that are analysed as one of these kinds."""
    return sum(
        len(part.axes.columns)
        for name, part in statistic.named_parts()
        if kind_of_part(name, part) in kinds
    )


# Numbers ----------------------------------------------------------------------------------------


def correlations(
    model: Any, statistic: Statistic, sample: Sample | None, given: bool
) -> list[Finding]:
    """The correlations of all classes together, then of each class, the strongest first."""
    parts = [kind_of_part(name, part) for name, part in statistic.named_parts()]
    name = "correlation"
    full = has_full_covariance(model)
    columns = _number_of_columns(statistic, "numbers", "bins")
    if "joint" in parts:
        return [does_not_apply(name, "the model does not assume independent columns")]
    if "amounts" in parts and not columns:
        return [does_not_apply(name, "the words of a text are never independent")]
    if columns < 2:
        return [does_not_apply(name, "there are fewer than two number columns")]
    moments = full_moments(statistic) if full else None
    if moments is not None:
        return _from_sums(moments)
    if sample is None:
        return [needs_rows(name, NAIVE, given)]
    return _from_rows(model, sample, full)


def _from_sums(moments: Moments) -> list[Finding]:
    """The correlations from the scatter matrices of the model."""
    scatter, names = Scatter(moments), list(moments.axes.columns)
    W = scatter.class_weight
    freedom = float(W.sum() - scatter.present.sum())
    out = [_of(EVERY, scatter.pooled, names, freedom, True)]
    if not scatter.pooled_only:
        each = [
            _of(moments.axes.groups.name(int(c)), scatter.each[c], names, float(W[c] - 1), True)
            for c in np.flatnonzero(W > 2)
        ]
        out += sorted(each, key=lambda found: -(found.value or 0.0))
    return [found for found in out if found.value is not None] or out[:1]


def _from_rows(model: Any, sample: Sample, full: bool) -> list[Finding]:
    """The correlations from a sample of rows."""
    names = list(sample.number_names)
    d = len(names)
    A, B, rows = np.zeros((d, d)), np.zeros((d, d)), 0.0
    each, complete = [], True
    for c in range(len(model.classes_)):
        at = sample.classes == c
        X, w = sample.numbers[at], sample.weights[at]
        there = ~np.isnan(X)
        if len(X) < 3:
            continue
        weight = np.where(there, w[:, None], 0.0)
        mean = np.where(there, X, 0.0).T @ w / np.where(there.any(axis=0), weight.sum(axis=0), 1.0)
        Z = np.where(there, X - mean, 0.0)
        a, b = (Z * w[:, None]).T @ Z, (Z**2 * w[:, None]).T @ there
        A, B, rows = A + a, B + b, rows + w.sum() - 1
        whole = bool(there.all())
        complete = complete and whole
        subject = model.stats_.axes.groups.name(c)
        each.append(_of(subject, _scaled(a, b), names, w.sum() - 1, full, whole))
    if not each:
        return [does_not_apply("correlation", "no class has enough rows")]
    out = [_of(EVERY, _scaled(A, B), names, rows, full, complete)]
    return out + sorted((e for e in each if e.value is not None), key=lambda e: -(e.value or 0.0))


def _scaled(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Correlations over the rows with both values; 1 on the diagonal, 0 for a constant column."""
    both = np.sqrt(squares * squares.T)
    R = np.where(both > 0, products / np.where(both > 0, both, 1.0), 0.0)
    np.fill_diagonal(R, np.where(squares.diagonal() > 0, 1.0, 0.0))
    return R


def _of(
    subject: str | Phrase, scatter: np.ndarray, names: list[str], freedom: float, full: bool,
    whole: bool = True,
) -> Finding:  # fmt: skip
    """The finding for one scatter matrix or correlation matrix."""
    varies = np.flatnonzero(scatter.diagonal() > 0)
    d = len(varies)
    if d < 2 or freedom <= 1:
        why = f"Needs more rows, and at least two columns that vary; {d} columns vary."
        shown = subject.text() if isinstance(subject, Phrase) else subject
        return Finding("correlation", shown, None, None, why)
    unit = np.sqrt(scatter.diagonal()[varies])
    R = scatter[np.ix_(varies, varies)] / unit / unit[:, None]
    i, j = np.triu_indices(d, 1)
    r = np.clip(R[i, j], -1, 1)
    top = np.argsort(-np.abs(r), kind="stable")[:2]
    pairs = [_pair(names[varies[i[t]]], names[varies[j[t]]], f"{r[t]:+.2f}") for t in top]
    mean, most = float(np.abs(r).mean()), float(np.abs(r[top[0]]))
    p = _independent(R, freedom) if whole else None
    phrases = [
        said("The mean |r| is {mean}; {pairs}.", mean=f"{mean:.2f}", pairs=_strongest(pairs))
    ]
    if subject is EVERY:
        phrases.append(_advice(most, full))
    return found_that("correlation", subject, mean, p, *phrases)


def _pair(a: str, b: str, value: str) -> Phrase:
    return said("{a} and {b} ({value})", a=repr(a), b=repr(b), value=value)


def _strongest(pairs: list[Phrase]) -> Phrase:
    """The first two pairs, in words."""
    if len(pairs) == 1:
        return said("the only pair is {pair}", pair=pairs[0])
    return said("the strongest pairs are {first}, and {second}", first=pairs[0], second=pairs[1])


def _advice(most: float, full: bool) -> Phrase:
    """The advice for a strongest correlation |r| of `most`."""
    if most < WEAK:
        return UNCORRELATED if full else INDEPENDENT
    if full:
        return said("A full covariance is needed, as in this model.")
    if most < STRONG:
        return SOME_TWICE
    return said("Evidence is counted twice: use LDA or QDA, or drop one column of each pair.")


def _independent(R: np.ndarray, freedom: float) -> float | None:
    """The p-value of the test that all correlations are zero."""
    d = len(R)
    factor = freedom - (2 * d + 5) / 6
    sign, log_det = np.linalg.slogdet(R)
    if factor <= 0 or sign <= 0:
        return None
    return float(chi2.sf(-factor * log_det, d * (d - 1) / 2))


# Categories -------------------------------------------------------------------------------------


def associations(
    statistic: Statistic, sample: Sample | None, best: list[str], given: bool
) -> list[Finding]:
    """Cramér's V within classes, for pairs of columns with at least one category column.

    `best` are the columns, the most informative first. If there are many columns, only the pairs of
    the first columns are tested.
    """
    name = "association"
    coded = _number_of_columns(statistic, "codes")
    if not coded or coded + _number_of_columns(statistic, "numbers", "bins") < 2:
        return []
    if sample is None:
        return [needs_rows(name, NAIVE, given)]
    names = sample.code_names + sample.number_names
    codes = np.column_stack([sample.codes, _quarters(sample.numbers)])
    order = {column: i for i, column in enumerate(best)}
    chosen = sorted(range(len(names)), key=lambda j: order.get(names[j], len(order)))
    chosen = sorted(chosen[:MOST_COLUMNS])
    found = []
    for a, b in combinations(chosen, 2):
        if a < len(sample.code_names):
            V, p = cramer(codes[:, a], codes[:, b], sample.classes, sample.weights)
            found.append((V, p, _pair(names[a], names[b], f"{V:.2f}")))
    found.sort(key=lambda pair: -pair[0])
    mean = float(np.mean([V for V, _, _ in found]))
    p = min(1.0, len(found) * min(p for _, p, _ in found))
    some = len(names) > len(chosen)
    pairs = _strongest([pair for _, _, pair in found])
    if some:
        phrase = said(
            "The mean V among the {most} most informative columns is {mean}; {pairs}.",
            most=str(MOST_COLUMNS), mean=f"{mean:.2f}", pairs=pairs,
        )  # fmt: skip
    else:
        phrase = said("The mean V is {mean}; {pairs}.", mean=f"{mean:.2f}", pairs=pairs)
    advice = INDEPENDENT
    if found[0][0] >= STRONG:
        advice = said("Evidence is counted twice: drop one column of each pair, or merge them.")
    elif found[0][0] >= WEAK:
        advice = SOME_TWICE
    return [found_that(name, EVERY, mean, p, phrase, advice)]


def _quarters(X: np.ndarray) -> np.ndarray:
    """Numbers as codes 0 to 3 by their quartiles, −1 if missing."""
    out = np.full(X.shape, -1, dtype=np.int32)
    for j in range(X.shape[1]):
        there = ~np.isnan(X[:, j])
        if there.any():
            edges = np.unique(np.quantile(X[there, j], (0.25, 0.5, 0.75)))
            out[there, j] = np.searchsorted(edges, X[there, j])
    return out


def cramer(
    a: np.ndarray, b: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Cramér's V of two columns of codes within classes, corrected for bias, and its p-value."""
    both = (a >= 0) & (b >= 0)
    a, b, classes, w = a[both].astype(np.int64), b[both], classes[both], weights[both]
    if not len(a):
        return 0.0, 1.0
    C, A, B = (int(v.max()) + 1 for v in (classes, a, b))
    cells, which = np.unique((classes * A + a) * B + b, return_inverse=True)
    n_ab = np.bincount(which, weights=w)  # occupied cells only
    k, rest = np.divmod(cells, A * B)
    row, column = k * A + rest // B, k * B + rest % B
    n_a, n_b = np.bincount(row, weights=n_ab), np.bincount(column, weights=n_ab)
    n_k = np.bincount(k, weights=n_ab, minlength=C)
    squares = np.bincount(k, weights=n_ab**2 / (n_a[row] * n_b[column]), minlength=C)
    statistic = n_k * (squares - 1)
    rows, columns = (
        np.bincount(np.unique(at) // size, minlength=C) for at, size in ((row, A), (column, B))
    )
    some = n_k > 0
    df = np.where(some, (rows - 1) * (columns - 1), 0)
    most = np.where(some, n_k * (np.minimum(rows, columns) - 1), 0.0).sum()
    if not most > 0:
        return 0.0, 1.0
    total = statistic[some].sum()
    V = float(np.sqrt(np.clip((total - df.sum()) / most, 0, 1)))
    return V, float(chi2.sf(total, df.sum()))
