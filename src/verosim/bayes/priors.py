"""Class priors: shares of the rows, smoothed shares, equal priors, or priors given by the user.

    π_k = n_k / n        (n_k + 1) / (n + C)        1 / C

Leave-one-out priors subtract the weight w_i of row i from its class y_i:

    π_k = (n_k − w_i [k = y_i]) / (n − w_i)

A class without other rows has prior 0.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    from verosim.typing import Priors


def log_priors(
    setting: Priors,
    classes: np.ndarray,
    weight: np.ndarray,
    present: np.ndarray,
    streaming: bool = False,
) -> np.ndarray:
    """The logarithms of the class priors.

    The prior π_k of class k is one of

        π_k = n_k / n                share of the rows     (setting None)
        π_k = (n_k + 1) / (n + C)    smoothed share        ("laplace")
        π_k = (n_k + α) / (n + αC)   smoothed share        ("laplace", α)
        π_k = 1 / C                  equal priors          ("uniform")

    or a number given by the user. n_k is the weight of class k, n the total weight and C the number
    of classes with rows. The result is log π_k, and −∞ for a class with prior 0.

    Parameters
    ----------
    setting : None, {"laplace", "uniform"}, ("laplace", α), array-like or dict
        The kind of priors, or the priors: an array-like in the order of `classes`, or a dict from
        label to number. Given priors must be non-negative and sum to 1.
    classes : ndarray of shape (C,)
        The class labels.
    weight : ndarray of shape (C,)
        The total weight of the rows of each class.
    present : ndarray of shape (C,), bool
        Whether each class has rows.
    streaming : bool, default=False
        If False, a positive given prior of a class without rows is an error. If True, this prior
        is divided among the other classes in proportion to their priors.

    Returns
    -------
    ndarray of shape (C,)
        The logarithms of the priors.

    Raises
    ------
    VerosimError
        If the setting is unknown, if given priors are wrong, or if all weights are zero.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.2.2.
    Laplace (1774), Mémoire sur la probabilité des causes par les événements.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import log_priors
    >>> classes, weight = np.array(["a", "b"]), np.array([3.0, 1.0])
    >>> np.exp(log_priors(None, classes, weight, weight > 0)).round(3)
    array([0.75, 0.25])
    >>> np.exp(log_priors("laplace", classes, weight, weight > 0)).round(3)
    array([0.667, 0.333])
    """
    if _is_estimated(setting):
        mass = _mass(setting, weight, present)
    else:
        mass = _given(setting, classes, streaming)
        if streaming:
            mass = np.where(present, mass, 0.0)
        empty = [str(plain_label(c)) for c in classes[(mass > 0) & ~present].tolist()]
        if empty:
            raise VerosimError(
                f"Class {listed(empty)} has no rows, but priors gives it a positive probability.",
                "Set the prior of a class without rows to 0.",
            )
    if not mass.sum() > 0:
        raise VerosimError(
            "The weights of all classes are zero, so the priors cannot be computed.",
            "Fit the model again, or use a decay factor closer to 1.",
        )
    with np.errstate(divide="ignore"):
        return np.log(mass / mass.sum())


def _is_estimated(setting: Priors) -> bool:
    """Whether the setting names a way to compute the priors, and does not contain them."""
    return setting is None or isinstance(setting, str) or _laplace_alpha(setting) is not None


def _laplace_alpha(setting: Any) -> float | None:
    """α of "laplace" and of ("laplace", α); None for other settings."""
    if isinstance(setting, str):
        return 1.0 if setting == "laplace" else None
    if not isinstance(setting, tuple) or not setting or setting[0] != "laplace":
        return None
    alpha = _number(setting[1]) if len(setting) == 2 else np.nan
    if not (np.isfinite(alpha) and alpha >= 0):
        raise VerosimError(
            f"priors={setting!r} must have one number of zero or more after 'laplace'.",
            'Use priors=("laplace", 0.5), for example.',
        )
    return alpha


def _mass(setting: Any, weight: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The priors of a named setting, before the division by their sum; (C,) or (n, C)."""
    if setting is None:
        return np.where(present, weight, 0.0)
    alpha = _laplace_alpha(setting)
    if alpha is not None:
        return np.where(present, weight + alpha, 0.0)
    if setting == "uniform":
        return present.astype(float)
    raise VerosimError(
        f"priors={setting!r} is not a known setting.",
        'Use None, "laplace", ("laplace", α), "uniform", an array in the order of classes_, or a '
        "dict by label.",
    )


def _given(setting: Any, classes: np.ndarray, streaming: bool) -> np.ndarray:
    """(C,) the priors that the user gives, checked."""
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
            raise VerosimError(
                f"The argument priors has {what}.",
                f"Give one prior for each of the classes {labels[:10]}.",
            )
        mass = np.array([by_label[label] for label in labels])
    else:
        mass = np.array([_number(p) for p in np.asarray(setting, dtype=object).ravel()])
        if mass.shape != (len(labels),):
            raise VerosimError(
                f"priors must have one number for each of the {len(labels)} classes; got "
                f"{len(mass)} numbers.",
                f"Give the priors in the order {labels[:10]}, or as a dict by label.",
            )
    if not np.isfinite(mass).all() or (mass < 0).any() or abs(mass.sum() - 1) > 1e-6:
        raise VerosimError(
            f"priors must be non-negative and must sum to 1; got priors that sum to "
            f"{mass.sum():g}.",
            "Divide the priors by their sum.",
        )
    return mass


def _number(value: Any) -> float:
    """A prior as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise VerosimError(
            f"priors must contain numbers; got {value!r}.", "Give one number for each class."
        ) from None


def free_priors(setting: Priors, classes: int) -> int:
    """The number of estimated priors: C − 1, or 0 if the priors are fixed."""
    return classes - 1 if setting is None or _laplace_alpha(setting) is not None else 0


# Without one row ---------------------------------------------------------------------------------


def log_priors_left_out(
    setting: Priors,
    labels: np.ndarray,
    statistic_weight: np.ndarray,
    statistic_rows: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """(n, C) the logarithms of the priors without each row; −∞ for a class without other rows.

    Parameters
    ----------
    setting : None, {"laplace", "uniform"}, ("laplace", α), array-like or dict
        The priors of the model.
    labels : ndarray of shape (C,)
        The class labels.
    statistic_weight : ndarray of shape (C,)
        The weight of each class, with all rows.
    statistic_rows : ndarray of shape (C,)
        The number of rows of each class, with all rows.
    classes : ndarray of shape (n,)
        The class number of each row.
    weights : ndarray of shape (n,) or (0,)
        The weights of the rows; empty if all weights are 1. A row of weight zero does not change
        the priors.

    Returns
    -------
    ndarray of shape (n, C)
        The logarithms of the priors.

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
    from verosim.densities.leave_one_out import Removal

    removal = Removal.from_counts(statistic_weight, statistic_rows, classes, weights)
    at = removal.own()
    weight = np.tile(np.where(statistic_rows > 0, statistic_weight, 0.0), (len(classes), 1))
    weight[at] = np.where(heavy, removal.left, weight[at])  # (n, C)
    there = weight > 0
    if not _is_estimated(setting):
        return _given_left_out(setting, labels, weight, there)
    mass = _mass(setting, weight, there)
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(mass / np.where(total > 0, total, 1.0))


def _given_left_out(
    setting: Any, labels: np.ndarray, weight: np.ndarray, there: np.ndarray
) -> np.ndarray:
    """(n, C) given priors; they change only if the class of the row has no other rows."""
    out = np.full(weight.shape, -np.inf)
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    for t, present in enumerate(kinds):
        if present.any():
            found = log_priors(setting, labels, present.astype(float), present, streaming=True)
            out[which.ravel() == t] = found
    return out
