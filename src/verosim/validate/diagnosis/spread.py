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
    LEVEL,
    Finding,
    does_not_apply,
    first_few,
    probability,
)
from verosim.validate.diagnosis.model import (
    full_moments,
    has_full_covariance,
    one_covariance,
    params_of,
)


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
    if found.p < LEVEL:
        reading = f"The covariances differ between the classes (p {p}): " + (
            "use QDA or RDA instead of LDA." if one_covariance(model) else
            "use one covariance for each class, as this model does, instead of LDA."
        )  # fmt: skip
    else:
        reading = f"No evidence was found that the covariances differ (p {p}): " + (
            "LDA is appropriate." if one_covariance(model) else "LDA has fewer parameters."
        )
    if out:
        reading += f" Classes with too few rows were not tested: {first_few(out)}."
    return Finding(name, "all classes", found.M, found.p, reading)


def _equal_variances(model: Any, statistic: Moments) -> Finding:
    """Test whether the variances are equal: NaiveLDA or GaussianNB?"""
    T, df = bartlett(Centred(statistic))
    if not df.any():
        return does_not_apply("Bartlett", "fewer than two classes have enough rows")
    p = float(chi2.sf(T.sum(), df.sum()))
    names = list(statistic.axes.columns)
    worst = first_few([repr(names[j]) for j in np.argsort(-T, kind="stable")[:2]])
    if p < LEVEL:
        reading = (
            f"The variances differ between the classes (p {probability(p)}), most strongly in "
            f"{worst}: "
        )
        reading += (
            "use GaussianNB instead of NaiveLDA." if one_covariance(model) else
            "use one variance for each class, as this model does, instead of NaiveLDA."
        )  # fmt: skip
    else:
        reading = f"No evidence was found that the variances differ (p {probability(p)}): " + (
            "NaiveLDA is appropriate." if one_covariance(model)
            else "NaiveLDA has fewer parameters."
        )  # fmt: skip
    return Finding("Bartlett", "all columns", float(T.sum()), p, reading)
