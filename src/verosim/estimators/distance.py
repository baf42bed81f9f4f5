"""How far a row lies from the boundaries of a linear classifier: a method that classes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.linear import signed_distances
from verosim.bayes.rule import Decision
from verosim.densities import not_a_number
from verosim.engines import map_rows
from verosim.errors import VerosimError


def signed_distance(self: Any, X: Any) -> np.ndarray:
    """Distance of every row to the decision boundary, in the units of the columns.

    r(x) = y(x)/‖w‖ of two classes, (n,): positive on the side of `classes_[1]`. Of several,
    (n, C): r_k(x) = min_{j ≠ k} (y_k − y_j)/‖w_k − w_j‖, which inside the region of class k is
    the distance to its nearest face, and outside is negative.
    """
    scores = self.evaluate(X, _of_complete_rows)
    if scores.shape[1] == 2:
        scores = scores[:, 1] - scores[:, 0]
    normals = self.boundary_normals if hasattr(self, "boundary_normals") else self.coef_
    return signed_distances(scores, normals)


def _of_complete_rows(decision: Decision, rows: Any) -> np.ndarray:
    """(n, C) scores; a row with a missing cell has no place."""

    def work(start: int, stop: int) -> None:
        block = decision.params.read(rows[start:stop])
        error = not_a_number(block, decision.columns, start)
        if error is not None:
            raise VerosimError(error.what, "a distance needs every cell of its row.")

    map_rows(work, rows)
    return decision.discriminants(rows)
