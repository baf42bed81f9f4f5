"""Linear scores: what a discriminative classifier fits, and signed distances to its boundaries.

    y_k(x) = w_kᵀx + b_k,   of two classes r(x) = y(x)/‖w‖,
    of several r_k(x) = min_{j ≠ k} (y_k − y_j)/‖w_k − w_j‖

Inside the region of class k, r_k is the distance to its nearest face; outside it is negative.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.data import SparseRows
from verosim.densities import ClassScores, LinearForm, not_a_number
from verosim.densities.base import into
from verosim.errors import VerosimError
from verosim.linalg import padded


@dataclass(frozen=True)
class LinearScores(ClassScores):
    """A linear function for each class; of two classes one may do, and the first then scores 0."""

    form: LinearForm

    @classmethod
    def of(cls, coef: np.ndarray, intercept: np.ndarray) -> LinearScores:
        """From weights (1 or C, d) and intercepts (1 or C,)."""
        origin = np.zeros(coef.shape[1])
        return cls(LinearForm(origin, origin, coef, intercept))

    @property
    def linear_form(self) -> LinearForm | None:
        return self.form if len(self.form.coef) > 1 else None

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        functions = len(self.form.coef)
        out = into(out, (len(block), max(functions, 2)))
        if functions == 1:
            out[:, 0] = 0.0
            out[:, 1:] = self._values(block, np.empty((len(block), 1)))
            return out
        return self._values(block, out)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """The scores themselves: they are no density, and all that is known of a row."""
        return self.log_ratio(block, out)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """(C, d) and (C,): w_k and b_k; of two classes (1, d) and (1,), their difference."""
        coef, intercept = self.form.coef, self._stored_bias
        if len(coef) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    @property
    def _stored_bias(self) -> np.ndarray:
        """The scores of a row of zeros."""
        form = self.form
        return form.bias - form.coef @ (form.pivot + form.centre)

    def _values(self, block: Any, out: np.ndarray) -> np.ndarray:
        """(n, functions)."""
        if not isinstance(block, SparseRows):
            return self.form.scores(block, out)
        table, bias = self._stored
        kernels.score_sparse(
            block.data, block.indices, block.indptr, False, 0.0, table, table[:0], bias, out
        )
        return out

    @cached_property
    def _stored(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights as the sparse kernel reads them, and the scores of a row of zeros."""
        return padded(np.ascontiguousarray(self.form.coef.T)), self._stored_bias

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        if isinstance(block, SparseRows):  # the kernel skips missing cells
            scores = block.data[block.stored]
        if not np.isfinite(scores).all():
            error = not_a_number(block, columns, start)
            if error is not None:
                raise VerosimError(error.what, "fill the cell, or a generative model skips it.")


def signed_distances(scores: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Distances from decision values: (n,) of two classes, (n, C) of several."""
    if scores.ndim == 1:
        return _over(scores, float(np.linalg.norm(coef)))
    C = len(coef)
    out = np.full(scores.shape, np.inf)  # (n, C)
    for k in range(C):
        for j in range(C):
            if j != k:
                apart = float(np.linalg.norm(coef[k] - coef[j]))
                np.minimum(out[:, k], _over(scores[:, k] - scores[:, j], apart), out=out[:, k])
    return out


def _over(values: np.ndarray, norm: float) -> np.ndarray:
    """values / norm; where there is no hyperplane, its side at infinity."""
    if norm > 0:
        return values / norm
    return np.where(values == 0, 0.0, np.copysign(np.inf, values))
