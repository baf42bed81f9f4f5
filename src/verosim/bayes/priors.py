"""Class priors: π_k = n_k/n, Laplace's (n_k + 1)/(n + K), uniform, or the user's own.

Without row i its weight and its count leave its class, π_k = (n_k − w_i [k = y_i]) / (n − w_i), and
likewise Laplace's and uniform ones; a class whose only row it was has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.densities.leave_one_out import Removal
from verosim.errors import VerosimError, listed


def log_priors(
    setting: Any,
    classes: np.ndarray,
    weight: np.ndarray,
    present: np.ndarray,
    streaming: bool = False,
) -> np.ndarray:
    """(C,) log π_k; −∞ for a class with no rows.

    A prior given to a class with no rows is an error, unless `streaming`: then classes come and
    go, and the mass of those not there is shared out among the others.
    """
    if setting is None or isinstance(setting, str):
        mass = _mass(setting, weight, present)
    else:
        mass = _given(setting, classes, streaming)
        if streaming:
            mass = np.where(present, mass, 0.0)
        idle = [str(plain_label(c)) for c in classes[(mass > 0) & ~present].tolist()]
        if idle:
            raise VerosimError(
                f"Class {listed(idle)} has no rows, so it cannot be given prior mass.",
                "leave it out of priors until rows of it have been seen.",
            )
    if not mass.sum() > 0:
        raise VerosimError(
            "No class has any weight left: everything has faded away.",
            "fit again, or decay less.",
        )
    with np.errstate(divide="ignore"):
        return np.log(mass / mass.sum())


def _mass(setting: str | None, weight: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The priors that a word asks for, not yet divided by their sum; of one row or of many."""
    if setting is None:
        return np.where(present, weight, 0.0)
    if setting == "laplace":
        return np.where(present, weight + 1.0, 0.0)
    if setting == "uniform":
        return present.astype(float)
    raise VerosimError(
        f"priors={setting!r} is not known.",
        'None, "laplace", "uniform", an array in the order of classes_, or a dict.',
    )


def _given(setting: Any, classes: np.ndarray, streaming: bool) -> np.ndarray:
    labels = classes.tolist()
    if isinstance(setting, Mapping):
        by_label = {plain_label(label): _number(p) for label, p in setting.items()}
        unknown = [str(label) for label in by_label if label not in labels]
        left_out = [str(label) for label in labels if label not in by_label]
        total = sum(by_label.values())
        if streaming and not left_out and abs(total - 1) < 1e-6:
            return np.array([by_label[label] for label in labels])
        if unknown or left_out:
            what = f"unknown classes {listed(unknown)}" if unknown else (
                f"no prior for class {listed(left_out)}")  # fmt: skip
            raise VerosimError(f"priors: {what}.", f"the classes are {labels[:10]}.")
        mass = np.array([by_label[label] for label in labels])
    else:
        mass = np.array([_number(p) for p in np.asarray(setting, dtype=object).ravel()])
        if mass.shape != (len(labels),):
            raise VerosimError(
                f"priors has shape {mass.shape} and there are {len(labels)} classes.",
                f"one number per class, in the order {labels[:10]}, or a dict by label.",
            )
    if not np.isfinite(mass).all() or (mass < 0).any() or abs(mass.sum() - 1) > 1e-6:
        raise VerosimError(
            f"priors must be non-negative and sum to 1; these sum to {mass.sum():g}.",
            "divide them by their sum.",
        )
    return mass


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise VerosimError(f"priors holds {value!r}, which is not a number.") from None


def free_priors(setting: Any, classes: int) -> int:
    """How many priors were estimated: K − 1, or none if they were fixed."""
    fixed = setting is not None and not (isinstance(setting, str) and setting == "laplace")
    return 0 if fixed else classes - 1


# Without one row ---------------------------------------------------------------------------------


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
    removal = Removal.from_counts(statistic_weight, statistic_rows, classes, weights)
    at = removal.own()
    weight = np.tile(np.where(statistic_rows > 0, statistic_weight, 0.0), (len(classes), 1))
    weight[at] = np.where(heavy, removal.left, weight[at])  # (n, C)
    there = weight > 0
    if setting is not None and not isinstance(setting, str):
        return _given_left_out(setting, labels, weight, there)
    mass = _mass(setting, weight, there)
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(mass / np.where(total > 0, total, 1.0))


def _given_left_out(
    setting: Any, labels: np.ndarray, weight: np.ndarray, there: np.ndarray
) -> np.ndarray:
    """The user's own priors, which depend on a row only by whether its class is still there."""
    out = np.full(weight.shape, -np.inf)
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    for t, present in enumerate(kinds):
        if present.any():
            found = log_priors(setting, labels, present.astype(float), present, streaming=True)
            out[which.ravel() == t] = found
    return out
