"""Do all classes have the same covariance? Box's M and, for single columns, Bartlett's test.

    M = (n − C) log|S| − Σ_k (n_k − 1) log|S_k|

S_k are the unbiased covariances of the classes and S is the pooled covariance. M is compared with
an F distribution, which is valid for smaller classes than χ². M of one column is Bartlett's
statistic. The columns of a naive model are independent, so their statistics are added.
References: Box (1949), A general distribution theory for a class of likelihood criteria;
Bartlett (1937), Properties of sufficiency and statistical tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from verosim.densities.central import Centred, Scatter
from verosim.linalg import EPS, factor
from verosim.stats import Moments
from verosim.validate.diagnosis.findings import (
    ALL_CLASSES,
    ALL_COLUMNS,
    LEVEL,
    Finding,
    does_not_apply,
    first_few,
    found_that,
    probability,
)
from verosim.validate.diagnosis.model import (
    full_moments,
    has_full_covariance,
    one_covariance,
    params_of,
)
from verosim.validate.diagnosis.phrases import said


@dataclass(frozen=True)
class BoxM:
    """Box's M, its two approximations, and the classes that were not tested."""

    M: float
    chi2: float
    df: float
    F: float
    df2: float
    p: float
    left_out: np.ndarray  # positions of the classes


def box_m(statistic: Moments) -> BoxM | None:
    """Box's M of the classes with a covariance of full rank; None for fewer than two classes."""
    scatter = Scatter(statistic)
    weight, there = scatter.class_weight, np.flatnonzero(scatter.present)
    varies = scatter.pooled.diagonal() > EPS * scatter.pooled_peak
    at = np.ix_(varies, varies)
    d = int(varies.sum())
    unit = np.sqrt(scatter.pooled.diagonal()[varies])
    log_dets, tested = [], []
    for c in there:
        if weight[c] <= d or not d:
            continue
        S = scatter.each[c][at] / unit / unit[:, None] / (weight[c] - 1)
        share = (
            EPS * scatter.peak[c][varies] / np.maximum(scatter.each[c].diagonal()[varies], 1e-300)
        )
        found = factor(S, share)
        if found is not None:
            log_dets.append(found.log_det)
            tested.append(c)
    g = len(tested)
    if g < 2:
        return None
    v = weight[tested] - 1  # degrees of freedom of each
    V = v.sum()
    pooled = scatter.each[tested].sum(axis=0)[at] / unit / unit[:, None] / V
    M = float(V * np.linalg.slogdet(pooled)[1] - v @ np.array(log_dets))
    df = d * (d + 1) * (g - 1) / 2
    c1 = ((1 / v).sum() - 1 / V) * (2 * d**2 + 3 * d - 1) / (6 * (d + 1) * (g - 1))
    c2 = ((1 / v**2).sum() - 1 / V**2) * (d - 1) * (d + 2) / (6 * (g - 1))
    df2 = (df + 2) / abs(c2 - c1**2)
    if c2 > c1**2:
        F = M * (1 - c1 - df / df2) / df
    else:
        b = df2 / (1 - c1 + 2 / df2)
        F = df2 * M / (df * (b - M)) if b > M else np.inf
    return BoxM(
        M, (1 - c1) * M, df, float(F), float(df2), float(f_distribution.sf(F, df, df2)),
        np.setdiff1d(there, tested),
    )  # fmt: skip


def bartlett(centred: Centred) -> tuple[np.ndarray, np.ndarray]:
    """(d,) Bartlett's statistic of equal variances, and (d,) its degrees of freedom (χ²)."""
    v = np.where(centred.weight > 1, centred.weight - 1, 0.0)  # (C, d)
    squares = np.where(centred.squares > centred.noise, centred.squares, 0.0)
    some = v > 0
    V, K = v.sum(axis=0), some.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = np.where(some, squares, 0.0).sum(axis=0) / V
        each = np.where(some, v * np.log(squares / np.where(some, v, 1.0)), 0.0).sum(axis=0)
        shrink = 1 + (np.where(some, 1 / v, 0.0).sum(axis=0) - 1 / V) / (3 * (K - 1))
        T = (V * np.log(pooled) - each) / shrink
    tested = (K > 1) & (pooled > 0)
    return np.where(tested, T, 0.0), np.where(tested, K - 1, 0)


def equal_covariances(model: Any, statistic: Any) -> Finding:
    """Test whether the covariances are equal: LDA or QDA?"""
    if params_of(model).covariance_form == "diagonal":
        return _equal_variances(model, statistic)
    name = "Box's M"
    if not has_full_covariance(model):
        return does_not_apply(name, "the model has no covariance")
    moments = full_moments(statistic)
    if moments is None:
        return does_not_apply(name, "some values are missing, and Box's M needs complete rows")
    if moments.layout == "pooled":
        return does_not_apply(name, "the model keeps only the pooled scatter of the classes")
    if len(model.classes_) < 2:
        return does_not_apply(name, "there is only one class")
    found = box_m(moments)
    if found is None:
        return does_not_apply(name, "fewer than two classes have a covariance of full rank")
    out = [moments.axes.groups.name(int(c)) for c in found.left_out]
    p = probability(found.p)
    shared = one_covariance(model)
    if found.p < LEVEL and shared:
        phrases = [
            said(
                "The covariances differ between the classes (p {p}): use QDA or RDA instead of "
                "LDA.",
                p=p,
            )
        ]
    elif found.p < LEVEL:
        phrases = [
            said(
                "The covariances differ between the classes (p {p}): use one covariance for each "
                "class, as this model does, instead of LDA.",
                p=p,
            )
        ]
    elif shared:
        phrases = [
            said(
                "No evidence was found that the covariances differ (p {p}): LDA is appropriate.",
                p=p,
            )
        ]
    else:
        phrases = [
            said(
                "No evidence was found that the covariances differ (p {p}): LDA has fewer "
                "parameters.",
                p=p,
            )
        ]
    if out:
        few = said("Classes with too few rows were not tested: {names}.", names=first_few(out))
        phrases.append(few)
    return found_that(name, ALL_CLASSES, found.M, found.p, *phrases)


def _equal_variances(model: Any, statistic: Moments) -> Finding:
    """Test whether the variances are equal: NaiveLDA or GaussianNB?"""
    T, df = bartlett(Centred(statistic))
    if not df.any():
        return does_not_apply("Bartlett", "fewer than two classes have enough rows")
    p = float(chi2.sf(T.sum(), df.sum()))
    names = list(statistic.axes.columns)
    worst = first_few([repr(names[j]) for j in np.argsort(-T, kind="stable")[:2]])
    shown, shared = probability(p), one_covariance(model)
    if p < LEVEL and shared:
        phrase = said(
            "The variances differ between the classes (p {p}), most strongly in {worst}: use "
            "GaussianNB instead of NaiveLDA.",
            p=shown, worst=worst,
        )  # fmt: skip
    elif p < LEVEL:
        phrase = said(
            "The variances differ between the classes (p {p}), most strongly in {worst}: use one "
            "variance for each class, as this model does, instead of NaiveLDA.",
            p=shown, worst=worst,
        )  # fmt: skip
    elif shared:
        phrase = said(
            "No evidence was found that the variances differ (p {p}): NaiveLDA is appropriate.",
            p=shown,
        )
    else:
        phrase = said(
            "No evidence was found that the variances differ (p {p}): NaiveLDA has fewer "
            "parameters.",
            p=shown,
        )
    return found_that("Bartlett", ALL_COLUMNS, float(T.sum()), p, phrase)
