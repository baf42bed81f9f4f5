"""Chooses a Gaussian or a histogram for a column of numbers: the one that separates classes better.

    Σ w log p(class | x)  −  number of parameters          (Akaike)

is computed for one Gaussian per class and for histograms with several numbers of bins. w is the
weight of a row. A row of weight two gives the same result as two equal rows.
Reference: Akaike (1974), A new look at the statistical model identification.
"""

from __future__ import annotations

import numpy as np

from verosim.axes.bins import Bins, distinct_values, quantile_edges
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.histogram import HISTOGRAM

NUMBER_KINDS = (GAUSSIAN.name, HISTOGRAM.name)  # the kinds that any number can have
BINS_TRIED = (5, 10, 20, 50)  # the numbers of bins that are compared
DEFAULT_BINS = 20  # the number of bins if nothing was compared
LEAST_ROWS_TO_CHOOSE = 20  # with fewer rows per class, the kind is a Gaussian


def choose_density(
    x: np.ndarray, labels: np.ndarray | None, weights: np.ndarray
) -> tuple[str, tuple[float, ...], str]:
    """(kind, edges of the bins, reason): a histogram if its AIC is better than a Gaussian's."""
    values = distinct_values(x, weights)
    usual = tuple(quantile_edges(*values, DEFAULT_BINS).tolist())
    if labels is None:
        return GAUSSIAN.name, usual, "numbers"
    kept = np.isfinite(x)
    w = weights[kept] if len(weights) else np.ones(int(kept.sum()))
    x, y = x[kept], _class_numbers(labels[kept])
    C = int(y.max(initial=0)) + 1
    if w.sum() < LEAST_ROWS_TO_CHOOSE * C or C < 2 or C > 100 or len(usual) < 3:
        return GAUSSIAN.name, usual, "numbers"
    base = _gaussian_fit(x, y, w, C) - 2 * C  # AIC subtracts one nat per parameter
    best, edges = 0.0, usual
    for bins in BINS_TRIED:
        tried = quantile_edges(*values, bins)
        bin_of = Bins([tried]).encode(x[:, None])[0][:, 0]
        cost = C * (len(tried) - 2)
        gain = _histogram_fit(bin_of, y, w, C, len(tried) - 1) - cost - base
        if gain > best + 1e-9 * w.sum():
            best, edges = gain, tuple(tried.tolist())
    if best > 0:
        reason = f"numbers; {len(edges) - 1} bins separate the classes better than a Gaussian"
        return HISTOGRAM.name, edges, reason
    return GAUSSIAN.name, usual, "numbers"


def _class_numbers(labels: np.ndarray) -> np.ndarray:
    """(n,) the classes of the labels, as the numbers 0, 1, … of the labels that occur."""
    if (
        labels.dtype.kind in "iu"
        and len(labels)
        and 0 <= labels.min() <= labels.max() < len(labels)
    ):
        numbers = np.cumsum(np.bincount(labels) > 0) - 1  # faster than sorting
        out: np.ndarray = numbers[labels]
        return out
    return np.unique(labels, return_inverse=True)[1]


def _log_sum(joint: np.ndarray) -> np.ndarray:
    """log Σ_k exp joint_k over the first axis."""
    top = joint.max(axis=0)
    return np.log(np.exp(joint - top).sum(axis=0)) + top


def _gaussian_fit(x: np.ndarray, y: np.ndarray, w: np.ndarray, C: int) -> float:
    """Σ w log p(class | x), with one Gaussian per class."""
    weight = np.bincount(y, w, C)
    z = x - np.average(x, weights=w)
    mean = np.bincount(y, w * z, C) / weight
    variance = np.bincount(y, w * (z - mean[y]) ** 2, C) / weight
    total = np.average(z * z, weights=w)
    variance = np.maximum(variance, max(1e-9 * total, 1e-300))
    level = np.log(weight / w.sum()) - 0.5 * np.log(variance)
    joint = level[:, None] - 0.5 * (z - mean[:, None]) ** 2 / variance[:, None]  # (C, n)
    return float((w * (joint[y, np.arange(len(y))] - _log_sum(joint))).sum())


def _histogram_fit(bin_of: np.ndarray, y: np.ndarray, w: np.ndarray, C: int, bins: int) -> float:
    """Σ w log p(class | x), with one histogram per class, computed from the counts."""
    count = np.bincount(y * bins + bin_of, w, C * bins).reshape(C, bins)
    weight = count.sum(axis=1, keepdims=True)
    joint = np.log(weight / w.sum()) + np.log((count + 1) / (weight + bins))
    return float((count * (joint - _log_sum(joint))).sum())
