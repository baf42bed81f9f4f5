"""Maps from the posteriors of a model to calibrated ones.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ      one number τ for all
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing          one map for each class

Both are fitted on out-of-fold posteriors. References: Guo, Pleiss, Sun & Weinberger (2017), On
calibration of modern neural networks; Zadrozny & Elkan (2002), Transforming classifier scores into
accurate multiclass probability estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from sklearn.isotonic import IsotonicRegression

from verosim.bayes.rule import Rule

MOST_LOG_ODDS = 1e9  # larger log-odds are equal; a class that a fold never saw has −∞
TIE_BREAK = 1e-9  # share of the model's own posterior in an isotonic one
PRIOR_ROWS = 1.0  # the weight of the prior at τ = 1, in rows


class Map(Protocol):
    """From posteriors, or what each column contributes to them, to calibrated posteriors."""

    def __call__(self, scores: Any, /) -> np.ndarray:
        """(n, C) calibrated log p(k | x) of held-out rows."""

    def rule(self, inner: Rule) -> Rule:
        """The model's rule with calibrated posteriors."""


@dataclass(frozen=True)
class Temperature:
    """log p̂ = τ log p, normalised: sharper for τ > 1, flatter for τ < 1, in the same order."""

    tau: float

    def __call__(self, log_p: np.ndarray) -> np.ndarray:
        scaled = self.tau * log_p
        return scaled - logsumexp(scaled, axis=1, keepdims=True)

    def rule(self, inner: Rule) -> Rule:
        """The model's rule with this temperature."""
        return CalibratedRule(inner.log_prior, inner.params, inner.columns, inner, self)

    @classmethod
    def fit(cls, log_p: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Temperature:
        """The minimum of Σ w (log Σ_k p_k^τ − τ log p_y) + (τ − log τ), which is convex in τ.

        The last term is a Gamma prior with its mode at τ = 1, worth one row: where every row is
        right the likelihood alone would send τ to infinity.
        """
        n = len(codes)
        own = log_p[np.arange(n), codes]
        usable = np.isfinite(own) & (w > 0)  # τ cannot change the posterior of an unknown class
        a, own, w = log_p[usable], own[usable], w[usable]
        top = a.max(axis=1, initial=-np.inf, keepdims=True)
        a, own = a - top, own - top[:, 0]  # (n, C), 0 for the predicted class
        finite = np.where(np.isfinite(a), a, 0.0)

        def slope(log_tau: float) -> float:
            tau = np.exp(log_tau)
            p = np.exp(tau * a)
            expected = (p * finite).sum(axis=1) / p.sum(axis=1)
            return float(w @ (expected - own) + PRIOR_ROWS * (1 - 1 / tau))

        low, high = -1.0, 1.0
        while slope(low) > 0:
            low *= 2
        while slope(high) < 0:
            high *= 2
        return cls(float(np.exp(brentq(slope, low, high, xtol=1e-10))))


@dataclass(frozen=True)
class Isotonic:
    """p̂_k ∝ g_k(log-odds of k): one increasing, piecewise linear g for each class."""

    knots: tuple[tuple[np.ndarray, np.ndarray], ...]  # log-odds and probability, of each class

    def __call__(self, log_p: np.ndarray) -> np.ndarray:
        z = log_odds(log_p)
        p = np.column_stack([np.interp(z[:, k], *knots) for k, knots in enumerate(self.knots)])
        p += TIE_BREAK * np.exp(log_p)  # classes on steps of equal height keep the model's order
        return np.log(p / p.sum(axis=1, keepdims=True))

    def rule(self, inner: Rule) -> Rule:
        """The model's rule with these maps."""
        return CalibratedRule(inner.log_prior, inner.params, inner.columns, inner, self)

    @classmethod
    def fit(cls, log_p: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Isotonic:
        """Pool adjacent violators, one class against the rest.

        Two rows are added, a success below all others and a failure above: by pooling, the lowest
        step becomes 1 / (rows + 1) rather than 0 (Laplace), so that no log-loss is infinite.
        """
        z = log_odds(log_p)
        weights = np.concatenate([w, [1.0, 1.0]])
        knots = []
        for k in range(log_p.shape[1]):
            at = np.concatenate([z[:, k], [z[:, k].min() - 1, z[:, k].max() + 1]])
            hit = np.concatenate([codes == k, [1.0, 0.0]])
            fitted = IsotonicRegression(out_of_bounds="clip").fit(at, hit, weights)
            knots.append((fitted.X_thresholds_, fitted.y_thresholds_))
        return cls(tuple(knots))


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """(n, C) log p(k | x) − log Σ_{l ≠ k} p(l | x), exact where p is 1 − 1e-300."""
    n, C = log_p.shape
    rows, top = np.arange(n), log_p.argmax(axis=1)
    others = log_p.copy()
    others[rows, top] = -np.inf
    rest = np.log1p(-np.exp(np.minimum(others, np.log(0.5))))  # of the classes not predicted
    rest[rows, top] = logsumexp(others, axis=1) if C > 1 else -np.inf
    return np.clip(log_p - rest, -MOST_LOG_ODDS, MOST_LOG_ODDS)


@dataclass(frozen=True)
class CalibratedRule(Rule):
    """A rule whose posteriors go through a map; p(x) is the model's own."""

    inner: Rule
    mapping: Map

    def log_posterior(self, X: Any) -> np.ndarray:
        return self.mapping(self.inner.log_posterior(X))

    def posterior(self, X: Any) -> np.ndarray:
        return np.exp(self.log_posterior(X))

    def discriminants(self, X: Any) -> np.ndarray:
        return self.log_posterior(X)

    def evidence(self, X: Any) -> np.ndarray:
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        log_p, evidence = self.inner.posterior_and_density(X)
        return self.mapping(log_p), evidence
