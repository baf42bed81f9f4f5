"""How far a row lies from the boundaries of a linear classifier."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from verosim.bayes.linear import LinearScores, signed_distances
from verosim.bayes.rule import Decision
from verosim.densities import not_a_number
from verosim.engines import map_rows
from verosim.errors import VerosimError


def _of_complete_rows(decision: Decision, rows: Any) -> np.ndarray:
    """(n, C) scores; a row with a missing cell lies nowhere."""

    def work(start: int, stop: int) -> None:
        block = decision.params.read(rows[start:stop])
        error = not_a_number(block, decision.columns, start)
        if error is not None:
            raise VerosimError(error.what, "a distance needs every cell of its row.")

    map_rows(work, rows)
    return decision.discriminants(rows)


class Distances:
    """Signed distances for whatever has linear weights `coef_` and a `decision_function`."""

    def signed_distance(self, X: Any) -> np.ndarray:
        """Distance of every row to the decision boundary, in the units of the columns.

        r(x) = y(x)/‖w‖ of two classes, (n,): positive on the side of `classes_[1]`. Of several,
        (n, C): r_k(x) = min_{j ≠ k} (y_k − y_j)/‖w_k − w_j‖, which inside the region of class k is
        the distance to its nearest face, and outside is negative.
        """
        scores = self._scores(X, _of_complete_rows)  # type: ignore[attr-defined]
        if scores.shape[1] == 2:
            scores = scores[:, 1] - scores[:, 0]
        return signed_distances(scores, self._normals)

    @property
    def _normals(self) -> np.ndarray:
        """(C, d) the weights of every class, or (1, d) their difference."""
        return self.coef_  # type: ignore[attr-defined]


class Weighted(Distances):
    """The weights of a model whose scores are linear in the row."""

    @property
    @abstractmethod
    def _linear(self) -> LinearScores:
        """The scores, as a form."""

    @property
    def coef_(self) -> np.ndarray:
        """(C, d) w_k; for two classes (1, d), their difference."""
        return self._linear.weights[0]

    @property
    def intercept_(self) -> np.ndarray:
        """(C,) b_k; for two classes (1,), their difference."""
        return self._linear.weights[1]
