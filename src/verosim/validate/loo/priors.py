"""Priors without the row: its weight and its count leave its class.

    π_k = (n_k − w_i [k = y_i]) / (n − w_i)

and likewise Laplace's and uniform ones; a class whose only row it was has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.priors import log_priors
from verosim.validate.loo.leaving import Leaving


def log_priors_left_out(
    setting: Any,
    labels: np.ndarray,
    statistic_weight: np.ndarray,
    statistic_rows: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """(n, C) log π_k as `log_priors` gives them without each row; −∞ for a class it leaves empty.

    Parameters
    ----------
    setting : the priors of a model: None, "laplace", "uniform", an array or a dict by label
    labels : (C,) of the classes
    statistic_weight, statistic_rows : (C,) of all rows
    classes : (n,) class numbers
    weights : (n,) of the rows, empty if all are one. A row of weight zero takes nothing with it

    Examples
    --------
    >>> weight = np.array([3.0, 1.0])
    >>> rows = weight.astype(int)
    >>> found = log_priors_left_out(None, np.array(["a", "b"]), weight, rows, np.array([0, 1]), [])
    >>> np.exp(found).round(3)
    array([[0.667, 0.333],
           [1.   , 0.   ]])
    """
    weights = np.asarray(weights, dtype=np.float64)
    heavy = weights > 0 if len(weights) else np.ones(len(classes), dtype=bool)
    going = Leaving.from_counts(statistic_weight, statistic_rows, classes, weights)
    at = going.own()
    weight = np.tile(np.where(statistic_rows > 0, statistic_weight, 0.0), (len(classes), 1))
    weight[at] = np.where(heavy, going.left, weight[at])  # (n, C)
    there = weight > 0
    if setting is not None and not isinstance(setting, str):
        return _given(setting, labels, weight, there)
    mass = weight
    if setting == "laplace":
        mass = np.where(there, weight + 1.0, 0.0)
    elif setting is not None:  # "uniform", or an error
        log_priors(setting, labels, statistic_weight, statistic_rows > 0, streaming=True)
        mass = there.astype(np.float64)
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(mass / np.where(total > 0, total, 1.0))


def _given(setting: Any, labels: np.ndarray, weight: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The user's own priors, which know of a row only whether its class is still there."""
    out = np.full(weight.shape, -np.inf)
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    for t, present in enumerate(kinds):
        if present.any():
            found = log_priors(setting, labels, present.astype(float), present, streaming=True)
            out[which.ravel() == t] = found
    return out
