"""The distance of rows to the boundaries of a linear classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.bayes.rule import Decision
from verosim.densities import not_a_number
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.one_state import reads

if TYPE_CHECKING:
    from verosim.typing import Source


@reads
def signed_distance(self: Any, X: Source) -> np.ndarray:
    """Compute the distance of each row to the decision boundary, in the units of the columns.

        two classes        r(x) = y(x)/‖w‖
        several classes    r_k(x) = min_{j ≠ k} (y_k(x) − y_j(x))/‖w_k − w_j‖

    Here y(x) is the decision function and w are its weights. With two classes the distance is
    positive on the side of `classes_[1]`. With several classes, r_k is positive inside the
    region of class k, where it is the distance to the nearest boundary, and negative outside.

    Parameters
    ----------
    X : array-like of shape (n, d) or table
        The rows. They must not have missing values.

    Returns
    -------
    ndarray of shape (n,) with two classes, or (n, C)
        The signed distances.
    """
    from verosim.bayes.linear import signed_distances

    scores = self.evaluate(X, _of_complete_rows)
    if scores.shape[1] == 2:
        scores = scores[:, 1] - scores[:, 0]
    normals = self.boundary_normals if hasattr(self, "boundary_normals") else self.coef_
    return signed_distances(scores, normals)


def _of_complete_rows(decision: Decision, rows: Any) -> np.ndarray:
    """(n, C) scores of rows without missing values."""

    def work(start: int, stop: int) -> None:
        block = decision.params.read(rows[start:stop])
        error = not_a_number(block, decision.columns, start)
        if error is not None:
            raise VerosimError(error.what, "Give rows in which every cell is a finite number.")

    map_rows(work, rows)
    return decision.discriminants(rows)
