"""LDA on random Fourier features, with a ridge on the covariance that all classes share.

    δ_k(x) = w_kᵀ(φ(x) − μ) + b_k,   w_k = (Σ + r I)⁻¹(μ_k − μ),   b_k = −½ (μ_k − μ)ᵀw_k

The scores are linear in the features φ, so they are smooth functions of the columns. They come from
a density of the features, which is not a density of the columns.
Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines, Advances in
Neural Information Processing Systems 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from verosim.cached import cached_property
from verosim.data.lift import Lift
from verosim.data.sources import as_block
from verosim.densities.attribution import Attribution, AttributionRequest
from verosim.densities.base import (
    ClassScores,
    Density,
    LinearForm,
    into,
    no_contributions,
    no_known_features,
)
from verosim.densities.central import Scatter
from verosim.densities.features import Expansion
from verosim.densities.leave_one_out import Scorer, lifted
from verosim.densities.terms import FeaturesTerm, Term
from verosim.stats import LiftedMoments


@dataclass(frozen=True)
class LiftedScores(ClassScores):
    """Scores that are linear in the features, and the map from rows to features."""

    form: LinearForm
    lift: Lift

    @property
    def n_parameters(self) -> int:
        """The number of means, and of entries of the covariance."""
        C, D = self.form.coef.shape
        return C * D + D * (D + 1) // 2

    def read(self, rows: Any) -> np.ndarray:
        return self.lift(as_block(rows))

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The features are between −1 and 1, so the centre is subtracted after the product."""
        out = into(out, (len(block), len(self.form.coef)))
        np.matmul(block, self.form.coef.T, out=out)
        out += self._constant
        return out

    def terms(self) -> tuple[Term, ...]:
        lift, coef = self.lift, self.form.coef
        cosines, sines = coef[:, : lift.half], coef[:, lift.half :]
        reads = tuple(range(lift.columns))
        return (FeaturesTerm(reads, lift.frequencies, cosines, sines, self._constant),)

    @cached_property
    def _constant(self) -> np.ndarray:
        """(C,) the scores of features that are all 0."""
        return self.form.scores(np.zeros((1, self.lift.features)))[0]

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The features are random functions of all columns, so the scores have no parts."""
        raise no_contributions("LiftedLDA")

    def expansion(self, statistic: Any) -> Expansion:
        """The features are random functions of all columns, so they have no names."""
        raise no_known_features()

    @property
    def linear_form(self) -> LinearForm:
        return self.form


@dataclass(frozen=True)
class LiftedGaussian(Density):
    """Gaussians of the features with one covariance for all classes."""

    ridge: float = 0.3  # r

    def estimate(self, statistic: LiftedMoments) -> LiftedScores:  # type: ignore[override]
        return self.solve(statistic, Scatter(statistic))

    @classmethod
    def estimate_family(  # type: ignore[override]
        cls, densities: Sequence[Self], statistic: LiftedMoments, quiet: bool = False
    ) -> list[LiftedScores]:
        """Estimate several ridges from one scatter."""
        scatter = Scatter(statistic)
        return [density.solve(statistic, scatter) for density in densities]

    def leave_one_out(self, statistic: LiftedMoments) -> Scorer:
        return lifted.scorer(self.ridge, statistic)

    def solve(self, statistic: LiftedMoments, scatter: Scatter) -> LiftedScores:
        """The scores from a scatter that several ridges share."""
        weight = scatter.class_weight
        centre, place = scatter.reference_mean()
        shift = np.where(weight[:, None] > 0, place - centre, 0.0)  # (C, D)
        sigma = scatter.pooled / weight.sum()
        sigma.flat[:: len(sigma) + 1] += self.ridge
        # LAPACK reads columns, so it can use the transpose of a symmetric matrix without a copy.
        try:
            coef = cho_solve(cho_factor(sigma.T, lower=True, overwrite_a=True), shift.T).T
        except LinAlgError:
            raise lifted.only_rounding_left("forgotten") from None
        bias = -0.5 * (shift * coef).sum(axis=1)
        form = LinearForm(scatter.pivot[0], centre, np.ascontiguousarray(coef), bias)
        return LiftedScores(form, statistic.lift)
