"""Decisions by expected cost.

    decision(x) = argmin_j Σ_k p(k | x) c_kj

c_kj is the cost of the decision for class j if the true class is k. Costs of 1 for every mistake
give the most probable class.
Reference: Elkan (2001), The foundations of cost-sensitive learning, IJCAI, 973–978.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError

FORMS = "Use a dict such as {('bad', 'good'): 5}, from (true class, predicted class) to the cost."


def cost_matrix(costs: Any, classes: np.ndarray) -> np.ndarray:
    """(C, C) the cost by true class (row) and predicted class (column), from a dict or a matrix.

    In a dict, a mistake that is not named costs 1, and a right decision costs 0.
    """
    labels = [plain_label(label) for label in classes.tolist()]
    C = len(labels)
    if hasattr(costs, "columns") and hasattr(costs, "index"):  # a data frame has the labels
        costs = _of_frame(costs, labels)
    if isinstance(costs, Mapping):
        out = 1.0 - np.eye(C)
        place = {label: k for k, label in enumerate(labels)}
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise VerosimError(
                    f"Each key of costs must be a pair (true class, predicted class); got "
                    f"{pair!r}.",
                    FORMS,
                )
            k, j = (_position(label, place) for label in pair)
            out[k, j] = _number(cost, f" of {pair!r}")
        return out
    found = np.asarray(costs, dtype=object)
    if found.shape != (C, C):
        raise VerosimError(
            f"costs must have one row and one column for each of the {C} classes; got shape "
            f"{found.shape}.",
            f"Give the rows and columns in the order {labels[:10]}, or a dict by pairs of labels.",
        )
    return np.array([_number(cost, "") for cost in found.ravel()]).reshape(C, C)


def least_cost(posterior: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """(n,) the class with the least expected cost, from p(k | x) (n, C) and costs (C, C)."""
    return (posterior @ costs).argmin(axis=1)


def _of_frame(frame: Any, labels: list[Any]) -> Any:
    """The costs of a data frame by pairs of labels; a frame without labels is a matrix."""
    rows, columns = list(frame.index), list(frame.columns)
    numbers = list(range(len(labels)))
    if rows == numbers and columns == numbers:
        return frame.to_numpy()
    return {(k, j): frame.loc[k, j] for k in rows for j in columns}


def _position(label: Any, place: dict[Any, int]) -> int:
    """The position of a class among the classes of the model."""
    plain = plain_label(label)
    try:
        return place[plain]
    except (KeyError, TypeError):
        pass
    known = list(place)
    texts = {str(one): one for one in known}  # 1 instead of "1" is a near miss too
    close = get_close_matches(str(plain), texts, 1, 0.6)
    raise VerosimError(
        f"The class {plain!r} in costs is not one of the model's classes.",
        f"Did you mean {texts[close[0]]!r}?" if close else f"Use one of the classes {known[:10]}.",
    )


def _number(cost: Any, where: str) -> float:
    """A cost as a finite number."""
    try:
        value = float(cost)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise VerosimError(
            f"The cost{where} must be a finite number; got {cost!r}.",
            "Give each cost as a number, such as 5.",
        )
    return value
