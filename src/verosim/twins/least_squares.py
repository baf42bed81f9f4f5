"""Least squares on one-hot targets, from the moments that give LDA: no row is read again.

    min_Θ Σ_i w_i ‖t_i − Θᵀx̃_i‖² + λ‖W‖²,   t_ik = [y_i = k],   x̃ = (1, x)
    w_k = (S + λI)⁻¹ n_k (μ_k − μ),   b_k = n_k/n − w_kᵀμ

with S the scatter of all rows about their mean μ. Reference: Hastie, Tibshirani & Friedman (2009),
The Elements of Statistical Learning, §4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes import Axes
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Decision
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
from verosim.models.settings import finite
from verosim.stats import Moments, Statistic

# What is left of 1 − h where the other rows hardly tell of a row's direction.
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
        # As in a covariance: a spread no larger than what rounding leaves is none.
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
        """Scores of every row by the fit of all the others, from one fit.

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
            alone = leverage > 1 - LEAST_RESIDUAL  # nothing else tells of the row's direction
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
    """ŷ_k(x), which estimate p(k | x) but may leave [0, 1]; of every row they sum to one."""

    solved: Inverse  # (S + λI)⁻¹


@dataclass(frozen=True, eq=False, kw_only=True)
class LeastSquaresSpec(Spec):
    """The moments of LDA, QDA and RDA, and a regression instead of a density."""

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
        return "uniform"  # the shares of the classes are in the intercepts

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
    """Least squares on one-hot targets: K linear functions fitted to class indicators.

    w_k = (S + λI)⁻¹ n_k (μ_k − μ),   b_k = n_k/n − w_kᵀμ,   predict = argmax_k w_kᵀx + b_k

    The statistic is LDA's, so it merges, forgets, streams and cross-validates as LDA does. Where
    columns depend on each other the solution is the one of least norm, as `numpy.linalg.lstsq`
    gives on centred columns. The squares also punish rows that are classified too well: far
    points pull the boundary, as they do not with :class:`LogisticRegression`. Its values estimate
    p(k | x) but may be negative, so it gives no probabilities.

    Parameters
    ----------
    ridge : λ ≥ 0, the penalty on the squared weights, as `alpha` of scikit-learn's
        `RidgeClassifier`; 0 is plain least squares

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
        return LeastSquaresSpec(**self.settings(LeastSquaresSpec))

    @property
    def coef_(self) -> np.ndarray:
        """(C, d) w_k; for two classes (1, d), their difference."""
        return self.fitted("coef_").params.weights[0]

    @property
    def intercept_(self) -> np.ndarray:
        """(C,) b_k; for two classes (1,), their difference."""
        return self.fitted("intercept_").params.weights[1]

    signed_distance = signed_distance

    @property
    def rank_(self) -> int:
        """How many columns are independent."""
        return int(self.fitted("rank_").params.solved.rank)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: K − 1 functions, for their sum is one everywhere."""
        self.fitted("n_parameters_")
        return (len(self.classes_) - 1) * (self.rank_ + 1)
