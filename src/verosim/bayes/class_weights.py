"""Class weights: factors that multiply the sums of the classes, as if their rows had other weights.

    balanced:  w_k = n / (C n_k)

n_k is the weight of the rows of class k, n the weight of all rows, and C the number of classes with
rows. "balanced" gives all classes the same total weight n/C.
Reference: Elkan (2001), The foundations of cost-sensitive learning, IJCAI, 973–978.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError, listed

BALANCED = "balanced"
USE = "Use None, 'balanced', or a dict with one weight per class."


def class_factors(
    setting: Any, classes: np.ndarray, weight: np.ndarray, streaming: bool = False
) -> np.ndarray:
    """(C,) the factor of each class, from the setting and the weight (C,) of its rows.

    A class that a dict does not name has the factor 1. With `streaming`, a dict may name classes
    that have no rows yet.
    """
    if setting is None:
        return np.ones(len(classes))
    if isinstance(setting, str) and setting == BALANCED:
        there = weight > 0
        return np.where(there, weight.sum() / (there.sum() * np.where(there, weight, 1.0)), 1.0)
    if not isinstance(setting, Mapping):
        raise VerosimError(f"class_weight={setting!r} is not valid.", USE)
    given = {plain_label(label): _factor(label, value) for label, value in setting.items()}
    labels = [plain_label(label) for label in classes.tolist()]
    unknown = [str(label) for label in given if label not in labels]
    left_out = [str(label) for label in labels if label not in given]
    if unknown and left_out and not streaming:
        raise VerosimError(
            f"The argument class_weight has unknown classes {listed(unknown)}, and no weight for "
            f"class {listed(left_out)}.",
            f"Use the classes {labels[:10]}.",
        )
    return np.array([given.get(label, 1.0) for label in labels])


def _factor(label: Any, value: Any) -> float:
    """A class weight as a float."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not (np.isfinite(found) and found > 0):
        raise VerosimError(
            f"class_weight must be above zero for each class; got {value!r} for class "
            f"{plain_label(label)!r}.",
            USE,
        )
    return found
