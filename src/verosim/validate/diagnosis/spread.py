"""Do the classes share their covariance? Box's M and, column by column, Bartlett's test.

    M = (N − K) log|S| − Σ_k (n_k − 1) log|S_k|

with S_k the unbiased covariances and S the pooled one; M is compared with an F distribution, which
holds for smaller classes than χ² does. One column's M is Bartlett's statistic; the columns of a
naive model are independent, so theirs add up.
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
    """Box's M, its two approximations, and the classes that had no part in it."""

    M: float
    chi2: float
    df: float
    F: float
    df2: float
    p: float
    left_out: np.ndarray  # classes, by number


def box_m(statistic: Moments) -> BoxM | None:
    """Box's M of the classes whose covariance has full rank; None if fewer than two have."""
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
    """(d,) Bartlett's statistic of equal variances, and its degrees of freedom (χ²)."""
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
    """LDA or QDA?"""
    if params_of(model).covariance_form == "diagonal":
        return _equal_variances(model, statistic)
    name = "Box's M"
    if not has_full_covariance(model):
        return does_not_apply(name, "no density here has a covariance")
    moments = full_moments(statistic)
    if moments is None:
        return does_not_apply(name, "rows have missing cells, and Box's M takes complete ones")
    if moments.layout == "pooled":
        return does_not_apply(name, "only the sum of the classes' scatters was kept")
    if len(model.classes_) < 2:
        return does_not_apply(name, "there is one class")
    found = box_m(moments)
    if found is None:
        return does_not_apply(name, "fewer than two classes have a covariance of full rank")
    out = [moments.axes.groups.name(int(c)) for c in found.left_out]
    without = f" (without {first_few(out)}, too small)" if out else ""
    if found.p < LEVEL:
        reading = f"Covariances differ (p {probability(found.p)}){without}: " + (
            "QDA or RDA rather than LDA." if one_covariance(model) else
            "a covariance for each class, as here, rather than LDA."
        )  # fmt: skip
    else:
        reading = f"No sign that covariances differ (p {probability(found.p)}){without}: " + (
            "LDA is right." if one_covariance(model) else "LDA has fewer parameters."
        )
    return Finding(name, "all classes", found.M, found.p, reading)


def _equal_variances(model: Any, statistic: Moments) -> Finding:
    T, df = bartlett(Centred(statistic))
    if not df.any():
        return does_not_apply("Bartlett", "fewer than two classes have rows enough")
    p = float(chi2.sf(T.sum(), df.sum()))
    names = list(statistic.axes.columns)
    worst = first_few([repr(names[j]) for j in np.argsort(-T, kind="stable")[:2]])
    if p < LEVEL:
        reading = f"Variances differ between classes (p {probability(p)}), most in {worst}: " + (
            "GaussianNB rather than NaiveLDA." if one_covariance(model) else
            "one for each class, as here, rather than NaiveLDA."
        )  # fmt: skip
    else:
        reading = f"No sign that variances differ (p {probability(p)}): " + (
            "NaiveLDA is right." if one_covariance(model) else "NaiveLDA has fewer parameters."
        )
    return Finding("Bartlett", "all columns", float(T.sum()), p, reading)
