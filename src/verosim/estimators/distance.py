"""How far a row lies from the boundaries of a linear classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.linear import LinearScores, signed_distances


class Distances:
    """Signed distances for whatever has linear weights `coef_` and a `decision_function`."""

    def signed_distance(self, X: Any) -> np.ndarray:
        """Distance of every row to the decision boundary, in the units of the columns.

        r(x) = y(x)/‖w‖ of two classes, (n,): positive on the side of `classes_[1]`. Of several,
        (n, C): r_k(x) = min_{j ≠ k} (y_k − y_j)/‖w_k − w_j‖, which inside the region of class k is
        the distance to its nearest face, and outside is negative.
        """
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        return signed_distances(scores, self._normals)

    @property
    def _normals(self) -> np.ndarray:
        """(C, d) the weights of every class, or (1, d) their difference."""
        return self.coef_  # type: ignore[attr-defined]


class Weighted(Distances):
    """The weights of a model whose scores are linear in the row."""

    @property
    def _linear(self) -> LinearScores:
        raise NotImplementedError

    @property
    def coef_(self) -> np.ndarray:
        """(C, d) w_k; for two classes (1, d), their difference."""
        return self._linear.weights[0]

    @property
    def intercept_(self) -> np.ndarray:
        """(C,) b_k; for two classes (1,), their difference."""
        return self._linear.weights[1]
