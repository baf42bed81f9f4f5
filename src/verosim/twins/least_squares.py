"""Least squares on one-hot targets, computed from the same moments as LDA.

    min_Θ Σ_i w_i ‖t_i − Θᵀx̃_i‖² + λ‖W‖²,   t_ik = [y_i = k],   x̃ = (1, x)
    w_k = (S + λI)⁻¹ n_k (μ_k − μ),   b_k = n_k/n − w_kᵀμ

Here S is the scatter of all rows about their mean μ, μ_k and n_k are the mean and the weight of
class k, and λ is the ridge penalty. Reference: Hastie, Tibshirani & Friedman (2009),
The Elements of Statistical Learning, §4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.arguments import finite
from verosim.axes import Axes
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data.sources import take_rows
from verosim.densities import ClassScores, Density, LinearForm
from verosim.densities.central import Scatter
from verosim.densities.leave_one_out import Removal, Scorer
from verosim.estimators.base import StatisticClassifier
from verosim.estimators.checks import only_one_class
from verosim.estimators.discriminant import SCATTER_BUDGET
from verosim.estimators.distance import signed_distance
from verosim.linalg import EPS, Inverse, inverse
from verosim.models import Spec
from verosim.stats import Moments, Statistic

# Smallest 1 − h for the closed form. Below it, the other rows hardly determine the fit at this row.
LEAST_RESIDUAL = 1e-6


@dataclass(frozen=True)
class OneHot(Density):
    """The regression of class indicators on the columns."""

    ridge: float = 0.0

    def estimate(self, statistic: Moments) -> OneHotScores:  # type: ignore[override]
        scatter = Scatter(statistic)
        weight = scatter.class_weight  # (C,)
        centre, place = scatter.reference_mean()
        shift = np.where(weight[:, None] > 0, place - centre, 0.0)  # (C, d)
        S = scatter.pooled + (weight[:, None] * shift).T @ shift  # (d, d)
        noise = EPS * scatter.pooled_peak
        # A spread that is not larger than the rounding errors counts as zero.
        known = scatter.total_variance * weight.sum() > 16 * noise
        S = np.where(known[:, None] & known, S, 0.0)
        S.flat[:: len(S) + 1] += self.ridge
        spread = S.diagonal()
        share = np.where(spread > 0, noise / np.where(spread > 0, spread, 1.0), 1.0)
        solved = inverse(S, np.maximum(share, EPS))
        coef = solved(weight[:, None] * shift)
        form = LinearForm(scatter.pivot[0], centre, coef, weight / weight.sum())
        return OneHotScores(form, solved)

    def leave_one_out(self, statistic: Moments) -> Scorer:
        """Scores of each row by the fit on all other rows, computed from one fit.

            ŷ_k without row i = t_ik − (t_ik − ŷ_ik)/(1 − h_i),   h_i = w_i (1/W + zᵢᵀ(S + λI)⁻¹zᵢ)

        Reference: Cook & Weisberg (1982), Residuals and influence in regression, §2.2.
        """
        refitted = super().leave_one_out(statistic)
        params = self.estimate(statistic)
        form, solved = params.form, params.solved
        if solved.rank < len(form.pivot):
            return refitted
        W = float(statistic.weight.sum())

        def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
            Z = (block - form.pivot) - form.centre
            own = (np.arange(len(classes)), classes)
            leverage = 1 / W + ((Z @ solved.root.T) ** 2).sum(axis=1)  # (n,)
            leverage = leverage * weights if len(weights) else leverage
            target = np.zeros((len(classes), len(form.coef)))
            target[own] = 1.0
            alone = leverage > 1 - LEAST_RESIDUAL  # only this row determines its direction
            with np.errstate(divide="ignore", invalid="ignore"):
                out = target - (target - form.scores(block)) / (1 - leverage)[:, None]
            gone = Removal.of(statistic, classes, weights).gone
            out[gone, classes[gone]] = -np.inf
            rest = np.flatnonzero(alone)
            if len(rest):
                heavy = weights[rest] if len(weights) else weights
                out[rest] = refitted(take_rows(block, rest), classes[rest], heavy)
            return out

        return score


@dataclass(frozen=True)
class OneHotScores(LinearScores):
    """The fitted values ŷ_k(x). They sum to one for each row, but may be outside [0, 1]."""

    solved: Inverse  # (S + λI)⁻¹


@dataclass(frozen=True, eq=False, kw_only=True)
class LeastSquaresSpec(Spec):
    """The settings of LeastSquares: the moments of LDA, with a regression instead of a density."""

    ridge: float = 0.0

    widest = False

    @property
    def allows_missing(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return "full, missing=error"

    @property
    def prior_setting(self) -> Any:
        return "uniform"  # the intercepts already contain the shares of the classes

    def plan(self, axes: Axes, source: Any) -> Statistic:
        C, d = axes.size("class"), axes.size("column")
        return Moments(axes, layout="pooled" if C * d * d > SCATTER_BUDGET else "full")

    @cached_property
    def density(self) -> OneHot:
        finite("ridge", self.ridge, least=0)
        return OneHot(float(self.ridge))

    def rule(self, params: ClassScores, statistic: Statistic, streaming: bool = False) -> Decision:
        groups = statistic.axes.groups
        rows = statistic.rows[:, 0]
        if not streaming and (rows > 0).sum() < 2:
            label = groups.classes[int(np.argmax(rows))]
            raise only_one_class("LeastSquares", int(rows.sum()), label)
        return Decision(np.zeros(len(groups.classes)), params, statistic.axes.columns)


class LeastSquares(StatisticClassifier):
    """Least squares on one-hot targets: one linear function per class.

    The model fits the indicator of each class by linear regression:

        w_k = (S + λI)⁻¹ n_k (μ_k − μ),   b_k = n_k/n − w_kᵀμ,   predict = argmax_k w_kᵀx + b_k

    where S is the scatter of all rows about their mean μ, μ_k and n_k are the mean and the weight
    of class k, n is the weight of all rows and λ is the ridge penalty.

    The statistic is the same as for LDA. So the model supports merging, forgetting, streaming and
    fast cross-validation. If columns are linearly dependent, the solution with the smallest norm is
    used, which `numpy.linalg.lstsq` also gives on centred columns. Rows far from the boundary pull
    the boundary towards them, even if they are classified correctly; :class:`LogisticRegression`
    does not have this problem. The fitted values estimate p(k | x) but can be negative, so there is
    no `predict_proba`.

    Parameters
    ----------
    ridge : float, default=0.0
        The penalty λ ≥ 0 on the squared weights. It is the same as `alpha` of scikit-learn's
        `RidgeClassifier`. The value 0 gives ordinary least squares.

    Attributes
    ----------
    coef_ : ndarray of shape (C, d), or (1, d) for two classes
        The weights w_k. For two classes, the weights of the second class minus those of the first.
    intercept_ : ndarray of shape (C,), or (1,) for two classes
        The intercepts b_k. For two classes, the second intercept minus the first.
    rank_ : int
        The number of linearly independent columns.
    n_parameters_ : int
        The number of free parameters, (C − 1)(rank + 1). The fitted values sum to one, so one class
        adds no parameters.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The sum of the weights of the rows of each class.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.
    schema_ : Schema
        The description of the columns, if the model was fitted on a table with a target column.
    stats_ : Statistic
        The sums over the training rows that the model is computed from.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.1.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LeastSquares().fit(X, y)
    >>> int((model.predict(X) != y).sum())
    23
    >>> halves = LeastSquares().fit(X[::2], y[::2]) + LeastSquares().fit(X[1::2], y[1::2])
    >>> bool(np.allclose(halves.coef_, model.coef_))
    True
    """

    gives_probabilities = False

    def __init__(self, ridge: float = 0.0) -> None:
        self.ridge = ridge

    def spec(self) -> LeastSquaresSpec:
        """Settings of the model as a frozen value.

        Returns
        -------
        LeastSquaresSpec
            The settings.
        """
        return LeastSquaresSpec(**self.settings(LeastSquaresSpec))

    @property
    def coef_(self) -> np.ndarray:
        """(C, d) the weights w_k; for two classes (1, d), the second minus the first."""
        return self.fitted("coef_").params.weights[0]

    @property
    def intercept_(self) -> np.ndarray:
        """(C,) the intercepts b_k; for two classes (1,), the second minus the first."""
        return self.fitted("intercept_").params.weights[1]

    signed_distance = signed_distance

    @property
    def rank_(self) -> int:
        """The number of linearly independent columns."""
        return int(self.fitted("rank_").params.solved.rank)

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters. The functions sum to one, so C − 1 of them are free."""
        state = self.fitted("n_parameters_")
        return (len(state.classes) - 1) * (int(state.params.solved.rank) + 1)
