"""Linear scores, and the signed distances of rows to the boundaries between classes.

    y_k(x) = w_kᵀx + b_k
    two classes:      r(x) = y(x)/‖w‖
    several classes:  r_k(x) = min_{j ≠ k} (y_k − y_j)/‖w_k − w_j‖

Inside the region of class k, r_k is the distance to the nearest boundary. Outside the region it is
negative.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.densities import ClassScores, LinearForm, not_a_number
from verosim.densities.attribution import (
    LINEAR,
    Attribution,
    AttributionRequest,
    summed_by_owner,
)
from verosim.densities.base import into
from verosim.densities.terms import LinearTerm, Term
from verosim.errors import VerosimError
from verosim.linalg import padded


@dataclass(frozen=True)
class LinearScores(ClassScores):
    """Linear scores of classes, one linear function per class.

        y_k(x) = w_kᵀx + b_k

    w_k are the weights and b_k the intercept of class k. For two classes one function is enough: it
    is the score of the second class, and the score of the first class is 0. A `Decision` with
    linear scores predicts the class with the largest score plus log prior.

    Attributes
    ----------
    form : LinearForm
        The weights and intercepts, relative to a point near the data.
    mean : ndarray of shape (d,) or None
        The mean of the training rows, from which contributions are measured. None uses the point
        of `form`.
    has_compiled_ratio : bool
        Whether compiled loops alone compute the scores, which give no floating-point warnings.
    linear_form : LinearForm or None
        The form if it has one function per class; None if it has only one function.
    weights : tuple of (ndarray, ndarray)
        The weights (C, d) and intercepts (C,). For two classes, the weights (1, d) and intercept
        (1,) of the difference between the second and the first class.
    all_weights : tuple of (ndarray, ndarray)
        The weights (C, d) and intercepts (C,), also for two classes.

    See Also
    --------
    signed_distances : The distances of rows to the boundaries.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import LinearScores
    >>> scores = LinearScores.of(np.array([[2.0, -1.0]]), np.array([0.5]))
    >>> scores.log_ratio(np.array([[1.0, 1.0], [0.0, 3.0]]))
    array([[ 0. ,  1.5],
           [ 0. , -2.5]])
    """

    has_attribution: ClassVar[bool] = True

    form: LinearForm
    mean: np.ndarray | None = field(default=None, kw_only=True)  # (d,)

    @classmethod
    def of(
        cls, coef: np.ndarray, intercept: np.ndarray, mean: np.ndarray | None = None
    ) -> LinearScores:
        """Linear scores from weights and intercepts.

        Parameters
        ----------
        coef : ndarray of shape (1, d) or (C, d)
            The weights. One row is the function of the second of two classes.
        intercept : ndarray of shape (1,) or (C,)
            The intercepts.
        mean : ndarray of shape (d,) or None, default=None
            The mean of the training rows, from which contributions are measured.

        Returns
        -------
        LinearScores
            The scores.
        """
        origin = np.zeros(coef.shape[1])  # (d,)
        return cls(LinearForm(origin, origin, coef, intercept), mean=mean)

    @property
    def linear_form(self) -> LinearForm | None:
        return self.form if len(self.form.coef) > 1 else None

    def log_ratio(
        self, block: np.ndarray | SparseRows, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The scores y_k(x) of rows.

        Parameters
        ----------
        block : ndarray or SparseRows of shape (n, d)
            The rows.
        out : ndarray of shape (n, C) or None, default=None
            The array for the result. If None, a new array is made.

        Returns
        -------
        ndarray of shape (n, C)
            The scores.
        """
        functions = len(self.form.coef)
        out = into(out, (len(block), max(functions, 2)))
        if functions == 1:
            out[:, 0] = 0.0
            out[:, 1:] = self._values(block, np.empty((len(block), 1)))
            return out
        return self._values(block, out)

    def log_density(
        self, block: np.ndarray | SparseRows, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The scores y_k(x) of rows, in place of a log density.

        A discriminative classifier has no density p(x | k), so this method returns the scores.

        Parameters
        ----------
        block : ndarray or SparseRows of shape (n, d)
            The rows.
        out : ndarray of shape (n, C) or None, default=None
            The array for the result. If None, a new array is made.

        Returns
        -------
        ndarray of shape (n, C)
            The scores.
        """
        return self.log_ratio(block, out)

    def terms(self) -> tuple[Term, ...]:
        """The linear functions as the terms of a program.

        Returns
        -------
        tuple of Term
            One term of all columns.
        """
        form, reads = self.form, tuple(range(len(self.form.pivot)))
        return (LinearTerm(reads, form.pivot, form.centre, *self._every(form.bias)),)

    @property
    def all_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """(C, d) the weights and (C,) the intercepts, one function per class."""
        return self._every(self._stored_bias)

    def _every(self, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coef = self.form.coef
        if len(coef) == 1:  # the score of the first of two classes is 0
            return np.vstack([np.zeros_like(coef), coef]), np.append(0.0, bias)
        return coef, bias

    def attribution(
        self, block: np.ndarray | SparseRows, request: AttributionRequest
    ) -> Attribution:
        """The parts w_kj (x_j − mean_j); the scores of the mean row join the prior.

        Parameters
        ----------
        block : ndarray or SparseRows of shape (n, d)
            The rows.
        request : AttributionRequest
            Which columns belong together.

        Returns
        -------
        Attribution
            The parts of the columns.
        """
        form = self.form
        mean = form.pivot + form.centre if self.mean is None else self.mean
        rows = block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block
        coef, level = form.coef, self._stored_bias + form.coef @ mean
        if len(coef) == 1:  # the score of the first of two classes is 0
            coef, level = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, level)
        parts = (rows - mean)[:, None, :] * coef  # (n, C, d)
        return Attribution(summed_by_owner(parts, request.owner), LINEAR, prior=level)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        coef, intercept = self.form.coef, self._stored_bias
        if len(coef) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    @property
    def _stored_bias(self) -> np.ndarray:
        """(1,) or (C,) the scores of a row of zeros."""
        form = self.form
        return form.bias - form.coef @ (form.pivot + form.centre)

    def _values(self, block: np.ndarray | SparseRows, out: np.ndarray) -> np.ndarray:
        """(n, 1) or (n, C) the values of the linear functions."""
        if not isinstance(block, SparseRows):
            return self.form.scores(block, out)
        table, bias = self._stored
        kernels.score_sparse(
            block.data, block.indices, block.indptr, False, 0.0, table, table[:0], bias, out
        )
        return out

    @cached_property
    def _stored(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights (d, C) for the sparse kernel, and the scores (C,) of a row of zeros."""
        return padded(np.ascontiguousarray(self.form.coef.T)), self._stored_bias

    def check(
        self, block: np.ndarray | SparseRows, scores: np.ndarray, columns: Columns, start: int
    ) -> None:
        """Raise an error that names the cell if a row has a cell that is NaN or infinite.

        Parameters
        ----------
        block : ndarray or SparseRows of shape (n, d)
            The rows.
        scores : ndarray of shape (n, C)
            The scores of the rows.
        columns : Columns
            The names of the columns.
        start : int
            The number of the first row of the block.

        Raises
        ------
        VerosimError
            If a cell is NaN or infinite.
        """
        if isinstance(block, SparseRows):  # the kernel skips missing cells, so check the cells
            scores = block.data[block.stored]
        if not np.isfinite(scores).all():
            error = not_a_number(block, columns, start)
            if error is not None:
                raise VerosimError(
                    error.what,
                    "Replace the value by a finite number, or use a generative model that accepts "
                    "missing values.",
                )


def signed_distances(scores: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The signed distances of rows to the boundaries between classes with linear scores.

    For two classes with one linear function y, and for several classes with functions y_k:

        r(x) = y(x)/‖w‖,      r_k(x) = min_{j ≠ k} (y_k(x) − y_j(x)) / ‖w_k − w_j‖

    where w are the weights. For several classes, r_k is positive for rows in the region of class k,
    and it is the distance to the nearest boundary of this region. If two classes have the same
    weights, there is no boundary between them, and the distance is infinite.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, C)
        The values of the linear functions: (n,) for two classes, (n, C) for several classes.
    coef : ndarray of shape (1, d), (d,) or (C, d)
        The weights of the linear functions.

    Returns
    -------
    ndarray of shape (n,) or (n, C)
        The distances, in the same shape as `scores`.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import signed_distances
    >>> signed_distances(np.array([10.0, -5.0]), np.array([[3.0, 4.0]]))
    array([ 2., -1.])
    """
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
    """values / norm; if the norm is 0, infinity with the sign of the value, and 0 for 0."""
    if norm > 0:
        return values / norm
    return np.where(values == 0, 0.0, np.copysign(np.inf, values))
