"""The information of a column about the class, from what the model has learned.

    I(x_j; y) = Σ_k π_k ∫ p_j(x | k) log (p_j(x | k) / p_j(x)) dx,   p_j(x) = Σ_k π_k p_j(x | k)

π_k is the prior of class k and p_j(x | k) is the density of column j in class k. The unit is the
nat. No rows are needed. Values, bins and counts are summed exactly, and a Gaussian is integrated by
the trapezoidal rule. The parts of a date are independent within a class.
Reference: Cover & Thomas (2006), Elements of Information Theory, §2.3.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, poisson

from verosim.bayes.learned import GAP, LearnedTable
from verosim.densities import estimates as of

GRID_POINTS = 801  # of a Gaussian, for each class
REACH = 10.0  # standard deviations
MOST_JOINT_CELLS = 1 << 23  # numbers of the joint distribution of the parts of a column


def learned_information(table: LearnedTable, priors: np.ndarray) -> float:
    """I(x_j; y) of one column in nats; NaN if its distribution is not known."""
    parts: dict[str, list[int]] = {}
    for i, part in enumerate(table.parts):
        parts.setdefault(part, []).append(i)
    missing = np.zeros(len(priors))
    masses: list[np.ndarray] = []
    for part, at in parts.items():
        if part == GAP:
            missing = table.values[:, at[0]]
            continue
        heads = [table.heads[i] for i in at]
        mass = _masses(table, heads, table.values[:, at])
        if mass is None or (masses and tuple(heads) == (of.MEAN_HEAD, of.DEVIATION_HEAD)):
            return np.nan  # tokens, or several numbers that are not independent
        masses.append(mass)
    seen = priors > 0
    joint = np.ones((int(seen.sum()), 1))  # (C, K)
    for mass in masses:
        if joint.shape[1] * mass.shape[1] * len(joint) > MOST_JOINT_CELLS:
            return np.nan
        joint = (joint[:, :, None] * mass[seen][:, None, :]).reshape(len(joint), -1)
    joint = joint / joint.sum(axis=1, keepdims=True)
    gap = missing[seen]
    joint = np.hstack([joint * (1 - gap)[:, None], gap[:, None]])
    return _information(joint, priors[seen] / priors[seen].sum())


def _information(mass: np.ndarray, priors: np.ndarray) -> float:
    """Σ_k π_k Σ_v p(v | k) log (p(v | k) / p(v)) of shares (C, K)."""
    overall = priors @ mass
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(mass > 0, mass * np.log(mass / overall), 0.0)
    return max(float(priors @ each.sum(axis=1)), 0.0)


def _masses(table: LearnedTable, heads: list[object], values: np.ndarray) -> np.ndarray | None:
    """(C, K) the share of each value, bin or grid point; None if they are not known."""
    if tuple(heads) == (of.MEAN_HEAD, of.DEVIATION_HEAD):
        return _gaussian_masses(values[:, 0], values[:, 1])
    if table.kind == of.RATE_TABLE:
        last = int(np.ceil(np.max(values + 12 * np.sqrt(values)) + 40))
        found: np.ndarray = poisson.pmf(np.arange(last + 1), values)
        return found
    if table.kind == of.HEIGHTS_TABLE:
        width = np.diff(np.asarray(table.edges))
        return values * np.where(width > 0, width, 1.0)
    if table.kind in (of.SHARES_TABLE, of.FLAGS_TABLE, of.CELLS_TABLE, of.GAUSSIAN_TABLE):
        return values
    return None


def _gaussian_masses(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray | None:
    """(C, K) densities at the points of a grid, times the distance of the points."""
    if not (deviation > 0).all():
        return None
    steps = np.linspace(-REACH, REACH, GRID_POINTS)
    x = np.unique(mean[:, None] + deviation[:, None] * steps)
    gaps = np.diff(x)
    weight = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2
    found: np.ndarray = norm.pdf(x, mean[:, None], deviation[:, None]) * weight
    return found
