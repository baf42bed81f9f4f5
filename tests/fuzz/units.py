"""Gaussian models of tiny classes in other units and in another row order: the same posteriors.

    log p(k | s x; s X) = log p(k | x; X) up to 1e-12 × condition

s is one factor for all columns. Without a target σ²I in the covariance there may be one factor per
column. The condition is the factor by which a rounding error of the rows grows in a log posterior:

    condition = max_j 1/(1 − R²_j) · max(1, t²) · max_j |x_j|/σ_j

where R²_j is that of column j given the others, t is the largest distance to a mean in standard
deviations, and σ_j is the smallest deviation of column j. Classes have one row or more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import verosim

ALLOWED = 1e-12
FACTORS = (0.1, 3.0, 1 / 3, 1e-40, 7e25, 2.0**-30)


def table(seed: int, least: int = 1, most: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and labels (n,) of a few small classes: ties, copies, dependent columns."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(least, most + 1, rng.integers(2, 4))
    d = int(rng.integers(1, 5))
    y = np.repeat(np.arange(len(sizes)), sizes)
    apart = rng.choice([0.0, 1.0, 30.0]) * rng.normal(size=d)
    X = rng.normal(size=(len(y), d)) + apart * y[:, None]
    if rng.random() < 0.4:
        X = np.round(4 * X) / 4
    if d > 1 and rng.random() < 0.3:
        X[:, 0] = X[:, 1] * 2 - X[:, -1] + rng.choice([0.0, 1e-3]) * X[:, 0]
    if rng.random() < 0.3:
        X = X + rng.normal(size=d) * rng.choice([10.0, 1e4])
    return X, y


def fitted(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        return make().fit(X, y)


def condition(model: Any, X: np.ndarray, probes: np.ndarray) -> float:
    """The condition of the log posteriors of a fitted model of the rows X."""
    inflation = getattr(model.state_.params, "inflation", np.ones(1)).max(initial=1.0)
    found = np.asarray(model.covariances_)
    if model.state_.params.covariance_form == "full":
        found = np.diagonal(found, axis1=-2, axis2=-1)
    variance = found.reshape(-1, X.shape[1]).min(axis=0)
    far = np.abs(np.vstack([X, probes])).max(axis=0)
    away = np.max(far[variance > 0] / np.sqrt(variance[variance > 0]), initial=1.0)
    return float(inflation * max(1.0, model.mahalanobis(probes).max() ** 2) * away)


def check_units(
    make: Callable[[], Any], by_column: bool, seed: int, least: int = 1, most: int = 3
) -> None:
    """Check a random table with classes of `least` to `most` rows. `by_column`: units per column"""
    X, y = table(seed, least, most)
    rng = np.random.default_rng([seed, 1])
    probes = np.vstack([X[:2], rng.normal(size=(3, X.shape[1])) + X.mean(axis=0)])
    model = fitted(make, X, y)
    wanted = model.predict_log_proba(probes)
    allowed = ALLOWED * condition(model, X, probes)
    order = rng.permutation(len(y))
    units = [rng.choice(FACTORS), 10.0 ** rng.uniform(-30, 30)]
    if by_column:
        units.append(10.0 ** rng.uniform(-30, 30, X.shape[1]))
    for rows, labels, unit in [(X[order], y[order], 1.0), *((X * unit, y, unit) for unit in units)]:
        found = fitted(make, rows, labels).predict_log_proba(probes * unit)
        seen = (wanted > -700) & (found > -700)
        np.testing.assert_allclose(found[seen], wanted[seen], rtol=0, atol=allowed)
        np.testing.assert_allclose(np.exp(found), np.exp(wanted), rtol=0, atol=allowed)
