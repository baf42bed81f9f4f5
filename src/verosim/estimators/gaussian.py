"""The attributes and methods that all Gaussian classifiers share.

    p(x | k) = N(x; μ_k, Σ_k)

The classifiers differ in the form of the covariances Σ_k: full or diagonal, shared or not.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from verosim.arguments import checked, share
from verosim.bayes.rule import Rule
from verosim.data import SparseRows
from verosim.densities import LinearForm
from verosim.engines import map_rows
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.column_position import column_position
from verosim.estimators.one_state import reads
from verosim.models import State

if TYPE_CHECKING:
    from verosim.bayes import Covariance, Ellipse, Quadratic
    from verosim.typing import ClassWeight, Priors, Source


def _mahalanobis(rule: Rule, rows: Any) -> np.ndarray:
    """(n, C) Mahalanobis distances, block by block."""
    params: Any = rule.params
    out = np.empty((rows.shape[0], len(rule.log_prior)))

    def work(start: int, stop: int) -> None:
        block, part = params.read(rows[start:stop]), out[start:stop]
        pieces = block.dense_blocks() if isinstance(block, SparseRows) else [(slice(None), block)]
        for at, dense in pieces:
            with np.errstate(over="ignore", invalid="ignore"):
                part[at] = params.mahalanobis(dense)
            params.check(dense, part[at], rule.columns, start + (at.start or 0))

    map_rows(work, rows)
    return out


class GaussianClassifier(GenerativeClassifier):
    """The parameters of all Gaussian classifiers; means, covariances, distances and boundaries."""

    def __init__(
        self,
        priors: Priors = None,
        covariance: Literal["mle", "unbiased"] = "mle",
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = None,
        floor: float = 1e-9,
        robust: bool = False,
        class_weight: ClassWeight = None,
    ) -> None:
        self.priors = priors
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.floor = floor
        self.robust = robust
        self.class_weight = class_weight

    @property
    def shrinkage_(self) -> float | str | None:
        """The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv"."""
        found: float | str | None = self.fitted("shrinkage_").spec.setting("shrinkage")
        return found

    @property
    def means_(self) -> np.ndarray:
        """(C, d) the mean of each class."""
        return self.fitted("means_").params.means

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances: (C, d, d), or (d, d) if shared; diagonals (C, d), or (d,) if shared."""
        return self.fitted("covariances_").params.covariances()

    @checked
    def mahalanobis(self, X: Source) -> np.ndarray:
        """Compute the Mahalanobis distance of each row to each class mean.

            D_k(x) = √((x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k))

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows.

        Returns
        -------
        ndarray of shape (n, C)
            The distances (not squared). Columns are in the order of `classes_`.
        """
        return self.evaluate(X, _mahalanobis)

    @reads
    def boundary(
        self,
        i: Hashable,
        j: Hashable,
        columns: Sequence[str | int] | None = None,
        others: Literal["marginal"] | Mapping[str | int, float] = "marginal",
    ) -> Quadratic:
        """Compute the decision boundary between two classes: δ_i(x) − δ_j(x) = 0.

        Parameters
        ----------
        i : label
            The first class. The equation is positive on its side.
        j : label
            The second class.
        columns : sequence of str or int, or None, default=None
            The columns to keep, by name or by number. None keeps all columns.
        others : "marginal" or dict, default="marginal"
            The columns that are not kept. "marginal" averages them out, which gives the boundary of
            the model of the kept columns. A dict maps columns to values: the boundary is a slice at
            these values, and columns that are not in it are averaged out.

        Returns
        -------
        Quadratic
            The equation xᵀA x + bᵀx + c = 0. It is linear if the classes share a covariance. With
            two columns, its method `curve` gives the boundary as pieces of a conic.
        """
        state = self.checked_state()
        first, second = self._class_numbers(i, j)
        names = state.statistic.axes.columns
        from verosim.bayes.quadratic import boundary
        from verosim.estimators.two_columns import MARGINAL, ShownColumns

        if columns is None and isinstance(others, str) and others == MARGINAL:
            return boundary(state.params, state.rule.log_prior, first, second, tuple(names))
        if columns is None:
            fixed = {column_position(names, one) for one in others}
            columns = [k for k in range(len(names)) if k not in fixed]
        shown = ShownColumns.of(state.params, names, columns, others)
        return shown.boundary(state.rule.log_prior, first, second)

    @reads
    def ellipse(
        self,
        k: Hashable,
        columns: Sequence[str | int] | None = None,
        level: float = 0.95,
        others: Literal["marginal"] | Mapping[str | int, float] = "marginal",
    ) -> Ellipse:
        """Compute the ellipse that holds a given share of the rows of a class in two columns.

            (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) = −2 log(1 − level)

        Parameters
        ----------
        k : label
            The class.
        columns : sequence of two str or int, or None, default=None
            The two columns, by name or by number. None is allowed for a model of two columns.
        level : float, default=0.95
            The share of the rows of the class that are inside, above 0 and below 1.
        others : "marginal" or dict, default="marginal"
            The other columns. "marginal" averages them out. A dict maps columns to values: the
            ellipse is that of p(x | values, k), and columns that are not in it are averaged out.

        Returns
        -------
        Ellipse
            The centre, the half-axes and the points of the ellipse.
        """
        state = self.checked_state()
        share("level", level)
        from verosim.estimators.two_columns import ShownColumns, two_columns

        names = state.statistic.axes.columns
        shown = ShownColumns.of(state.params, names, two_columns(names, columns), others)
        return shown.ellipse(self._class_numbers(k)[0], float(level))

    @reads
    def covariance_of(self, k: Hashable = None) -> Covariance:
        """Compute the roots Σ^½ and Σ^(−½), the eigenvalues and the axes of a covariance.

        Parameters
        ----------
        k : label or None, default=None
            The class. None gives the covariance within classes, Σ_k w_k Σ_k, where w_k is the share
            of class k in the total weight. If all classes share one covariance, it is this one.

        Returns
        -------
        Covariance
            The covariance, with its roots, eigenvalues, axes and whiteners.
        """
        state = self.checked_state()
        params, names = state.params, tuple(state.statistic.axes.columns)
        from verosim.bayes.covariance import Covariance

        if k is not None:
            (at,) = self._class_numbers(k)
            return Covariance(params.covariance_of(at), params.means[at], names)
        pivot, centre, _ = params.reference
        each = range(1 if params.shared else len(params.share))
        weights = np.ones(1) if params.shared else params.share
        matrix = sum(weights[c] * params.covariance_of(c) for c in each)
        return Covariance(np.asarray(matrix), pivot + centre, names)

    def _class_numbers(self, *labels: Hashable) -> list[int]:
        """The numbers of some classes, which must have rows."""
        wanted = np.empty(len(labels), dtype=object)
        wanted[:] = labels
        self.check_has_rows(wanted)
        known = self.classes_.tolist()
        return [known.index(label) for label in labels]


# The weights of Gaussians with a shared covariance are for the user to read. Predictions do not
# use them: see `Located.linear`.


def gaussian_coef(model: GaussianClassifier) -> np.ndarray:
    """(C, d) w_k; with two classes (1, d), their difference."""
    return _weights(model.fitted("coef_"))[0]


def gaussian_intercept(model: GaussianClassifier) -> np.ndarray:
    """(C,) b_k; with two classes (1,), their difference."""
    return _weights(model.fitted("intercept_"))[1]


class ClassWeights(NamedTuple):
    """The weights and the constants of linear discriminants, w_kᵀx + b_k."""

    w: np.ndarray  # (C, d)
    b: np.ndarray  # (C,)


def weights_of_classes(model: GaussianClassifier) -> ClassWeights:
    """w_k = Σ⁻¹μ_k and b_k = log π_k − ½ μ_kᵀΣ⁻¹μ_k of every class."""
    state = model.fitted("weights_")
    means = state.params.means
    w = state.params.solve(means)
    return ClassWeights(w, state.rule.log_prior - 0.5 * (w * means).sum(axis=1))


def _weights(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The weights and the intercepts of the linear discriminants."""
    from verosim.bayes.linear import LinearScores

    pivot, centre, _ = state.params.reference
    coef, bias = state.params.linear
    return LinearScores(LinearForm(pivot, centre, coef, bias + state.rule.log_prior)).weights
