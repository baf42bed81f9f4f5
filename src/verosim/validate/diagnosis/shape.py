"""Are the classes Gaussian? Mardia's multivariate skewness and kurtosis of each class.

    b₁ = Σ_ij (z_iᵀ S⁻¹ z_j)³ / n²,   b₂ = Σ_i (z_iᵀ S⁻¹ z_i)² / n,   z = x − mean

For a Gaussian class, n b₁/6 has a χ² distribution with d(d + 1)(d + 2)/6 degrees of freedom, and
b₂ is approximately normal with mean d(d + 2)(n − 1)/(n + 1). b₁ is also the sum of the squares of
the d³ third moments of the whitened rows, which is faster if there are at least d² rows.
References: Mardia (1970), Measures of multivariate skewness and kurtosis with applications;
Mardia (1974), Applications of some measures of multivariate skewness and kurtosis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from verosim.validate.diagnosis.findings import (
    LEVEL,
    Finding,
    does_not_apply,
    found_that,
    needs_rows,
    probability,
)
from verosim.validate.diagnosis.model import params_of
from verosim.validate.diagnosis.phrases import Phrase, said
from verosim.validate.diagnosis.rows import Sample

MOST_MULTIPLICATIONS = 2e9  # the limit for b₁; a larger class is sampled
MARDIA_BLOCK_ROWS = 512


@dataclass(frozen=True)
class Mardia:
    """The skewness b₁ and kurtosis b₂ of n rows in d dimensions, with their p-values."""

    skewness: float
    kurtosis: float
    rows: int
    d: int
    expected: float  # the kurtosis of a Gaussian
    skewness_p: float
    kurtosis_p: float


def mardia(X: np.ndarray, weights: np.ndarray | None = None) -> Mardia | None:
    """The skewness and kurtosis of complete rows (n, d), in the subspace that they span.

    The result is None if there are too few rows. A row with weight w counts as w rows.

    >>> from sklearn.datasets import load_iris
    >>> found = mardia(load_iris().data[:50])
    >>> round(found.skewness, 4), round(found.kurtosis, 4)
    (3.0797, 26.5377)
    """
    w = np.ones(len(X)) if weights is None else weights
    n = float(w.sum())
    U = _whitened(X, w)
    d = U.shape[1]
    if not d or n <= d + 1 or n <= 3:
        return None
    lengths = (U**2).sum(axis=1)
    b2 = float(w @ lengths**2) / n
    b1 = _third_moments(U, w) / n**2 if d * d <= len(U) else _all_pairs(U, w) / n**2
    full = d * (d + 2)
    expected = full * (n - 1) / (n + 1)
    variance = 8 * full * (n - 3) * (n - d - 1) * (n - d + 1)
    variance /= (n + 1) ** 2 * (n + 3) * (n + 5)
    z = (b2 - expected) / np.sqrt(variance)
    return Mardia(
        b1, b2, len(X), d, expected, float(chi2.sf(n * b1 / 6, full * (d + 1) / 6)),
        float(2 * norm.sf(abs(z))),
    )  # fmt: skip


def _whitened(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(n, r) the rows with covariance I, in the r dimensions in which they vary."""
    Z = X - (w @ X) / w.sum()
    Z = Z - (w @ Z) / w.sum()  # a second time, to remove the rounding error of a large mean
    unit = np.sqrt(w @ Z**2 / w.sum())
    varies = unit > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    Z = Z[:, varies] / unit[varies]
    values, vectors = np.linalg.eigh((Z * w[:, None]).T @ Z / w.sum())
    kept = values > 1e-10 * max(len(values), 1)
    return Z @ (vectors[:, kept] / np.sqrt(values[kept]))


def _third_moments(U: np.ndarray, w: np.ndarray) -> float:
    """The sum Σ_abc (Σ_i w_i u_ia u_ib u_ic)², from third moments."""
    total = 0.0
    for a in range(U.shape[1]):
        total += float((((U * (w * U[:, a])[:, None]).T @ U) ** 2).sum())
    return total


def _all_pairs(U: np.ndarray, w: np.ndarray) -> float:
    """The same number as Σ_ij w_i w_j (u_iᵀ u_j)³, from all pairs of rows."""
    total = 0.0
    for start in range(0, len(U), MARDIA_BLOCK_ROWS):
        products = U[start : start + MARDIA_BLOCK_ROWS] @ U.T
        total += float(w[start : start + MARDIA_BLOCK_ROWS] @ products**3 @ w)
    return total


def gaussian_shape(model: Any, sample: Sample | None, given: bool) -> list[Finding]:
    """The skewness and kurtosis of each class, the smallest p-value first."""
    both = ("skewness", "kurtosis")
    if not params_of(model).is_gaussian:
        return [does_not_apply(name, "the model has no Gaussian density") for name in both]
    if sample is None:
        reading = "test whether the classes are Gaussian"
        return [needs_rows(name, reading, given) for name in both]
    columns = np.flatnonzero(sample.gaussian)
    names = [sample.number_names[j] for j in columns]
    out = []
    for c in range(len(model.classes_)):
        X, w = _rows_of(sample, c, columns)
        subject = model.stats_.axes.groups.name(c)
        found = mardia(X, w) if len(X) else None
        if found is None:
            reading = f"{len(X)} complete rows are too few to test {len(columns)} columns."
            out += [Finding(name, subject, None, None, reading) for name in both]
            continue
        where = sample.some_of(c, len(X))
        phrase = _skewed(found, X, w, names)
        out.append(
            found_that("skewness", subject, found.skewness, found.skewness_p, phrase, *where)
        )
        phrase = _tailed(found, X, w, names, getattr(model, "robust", None) is False)
        out.append(
            found_that("kurtosis", subject, found.kurtosis, found.kurtosis_p, phrase, *where)
        )
    return sorted(out, key=_worst)


def _worst(found: Finding) -> tuple[bool, float, float]:
    """The order of the findings: skewness first, then by p-value."""
    p = 2.0 if found.p_value is None else found.p_value
    return found.name == "kurtosis", p, -(found.value or 0.0)


def _rows_of(sample: Sample, c: int, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The complete rows of a class; evenly spaced rows if all of them would take too long."""
    at = np.flatnonzero(sample.classes == c)
    X = sample.numbers[at][:, columns]
    complete = ~np.isnan(X).any(axis=1)
    X, w = X[complete], sample.weights[at][complete]
    n, d = X.shape
    work = MOST_MULTIPLICATIONS
    most = int(max(work / max(d, 1) ** 3, np.sqrt(work / max(d, 1))))
    if n <= most:
        return X, w
    taken = np.linspace(0, n - 1, most).astype(np.intp)
    return X[taken], w[taken]


def _moment(X: np.ndarray, w: np.ndarray, power: int) -> np.ndarray:
    """(d,) the standardised moment of each column, 0 for a constant column."""
    Z = X - (w @ X) / w.sum()
    spread = w @ Z**2 / w.sum()
    safe = np.where(spread > 0, spread, 1.0)
    return np.where(spread > 0, (w @ Z**power / w.sum()) / safe ** (power / 2), 0.0)


def _skewed(found: Mardia, X: np.ndarray, w: np.ndarray, names: list[str]) -> Phrase:
    """The reading of the skewness."""
    p = probability(found.skewness_p)
    if found.skewness_p >= LEVEL:
        return said("No evidence of skewness was found (p {p}).", p=p)
    each = _moment(X, w, 3)
    j = int(np.abs(each).argmax())
    return said(
        "The class is skewed (p {p}), most strongly in {column} ({moment}): transform the columns "
        "with logarithms or roots, or use histograms.",
        p=p, column=repr(names[j]), moment=f"{each[j]:+.2f}",
    )  # fmt: skip


def _tailed(
    found: Mardia, X: np.ndarray, w: np.ndarray, names: list[str], can_be_robust: bool
) -> Phrase:
    """The reading of the kurtosis."""
    p = probability(found.kurtosis_p)
    if found.kurtosis_p >= LEVEL:
        return said("No evidence was found that the tails differ from a Gaussian (p {p}).", p=p)
    excess = found.kurtosis / found.expected - 1
    each = _moment(X, w, 4) - 3
    if excess > 0:
        j = int(each.argmax())
        cure = said("robust=True or histograms") if can_be_robust else said("histograms")
        return said(
            "The tails are {share} heavier than those of a Gaussian (p {p}), most strongly in "
            "{column}: look for outliers, or use {cure}.",
            share=f"{excess:.0%}", p=p, column=repr(names[j]), cure=cure,
        )  # fmt: skip
    j = int(each.argmin())
    return said(
        "The tails are {share} lighter than those of a Gaussian (p {p}), most strongly in "
        "{column}: the class may have several groups or bounded values, so try histograms.",
        share=f"{-excess:.0%}", p=p, column=repr(names[j]),
    )  # fmt: skip
