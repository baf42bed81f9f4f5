"""Naive Bayes with a weight for each column, fitted on held-out rows.

    log p̂(k | x) = log π_k + β_k + Σ_j w_j log p_j(x_j | k) − a term that normalises

w = 1 and β = 0 is naive Bayes. Columns that repeat each other get smaller weights, and a column
without information gets a weight near 0. w and β maximise the conditional likelihood of the
held-out rows times a Gaussian prior,

    τ ~ N(1, 1),   w_j ~ N(τ, 1/λ),   β_k ~ N(0, 1/λ).

τ is the mean weight of the columns. The prior of τ has the strength of one row, and the prior of
the differences has the strength of λ rows. λ is the value of `PENALTY_STRENGTHS` with the highest
evidence, log ∫ p(labels | w, β) p(w, β | λ), by Laplace's method.
References: Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence
assumption by attribute weighting, JMLR 14; MacKay (1992), The evidence framework applied to
classification networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp

from verosim.bayes.rule import Rule
from verosim.data import SparseRows
from verosim.engines import one_blas_thread

PENALTY_STRENGTHS = (1000.0, 100.0, 10.0, 1.0)  # λ, the strength in rows of equal weights
COMMON_STRENGTH = 1.0  # the strength in rows of τ = 1
MOST_EVIDENCE = 100.0  # nats of one cell against a class; more comes from far in a tail


def clipped_evidence(parts: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n, C, d) the evidence of each cell against each class, from −`MOST_EVIDENCE` to 0.

    `known`, (n, C) or (1, C), marks the classes with training rows. Without the limit, one variance
    near zero gives a cell 1e9 nats, and the weight of its column would be near zero too.
    """
    top = parts.max(axis=1, where=known[:, :, None], initial=-np.inf, keepdims=True)
    against = parts - top
    return np.clip(against, -MOST_EVIDENCE, 0.0, out=against)


@dataclass(frozen=True)
class Evidence:
    """The evidence of the cells of held-out rows, from which the weights are fitted."""

    against: np.ndarray  # (n, C, d), at most 0
    log_prior: np.ndarray  # (n, C); −inf for a class without training rows
    names: tuple[str, ...] = ()  # (d,)

    def __getitem__(self, rows: np.ndarray) -> Evidence:
        return Evidence(self.against[rows], self.log_prior[rows], self.names)


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """The weight of each column, and an offset for the log-prior of each class."""

    weights: np.ndarray  # (d,) 1 is naive Bayes, 0 ignores the column
    offsets: np.ndarray  # (C,)
    strength: float  # λ
    names: tuple[str, ...] = field(default=(), repr=False)  # (d,)

    def __call__(self, evidence: Evidence) -> np.ndarray:
        """(n, C) calibrated log p(k | x)."""
        scores = evidence.log_prior + self.offsets + evidence.against @ self.weights
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def rule(self, inner: Rule) -> WeightedRule:
        """The rule of the model, with these weights."""
        log_prior = inner.log_prior + self.offsets
        return WeightedRule(log_prior, inner.params, inner.columns, inner, self.weights)

    def __str__(self) -> str:
        wide = max(map(len, self.names), default=0)
        rows = zip(self.names, self.weights, strict=True)
        return "\n".join(f"{name.ljust(wide)}  {weight:6.2f}" for name, weight in rows)

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        codes: np.ndarray,
        w: np.ndarray,
        strengths: Sequence[float] = PENALTY_STRENGTHS,
        common: float = COMMON_STRENGTH,
    ) -> ColumnWeights:
        """The weights with the highest posterior density, for the λ with the highest evidence."""
        # A row is not used if its class has no training rows: no weight changes its posterior.
        usable = np.isfinite(evidence.log_prior[np.arange(len(codes)), codes]) & (w > 0)
        part = evidence if usable.all() else evidence[usable]
        likelihood = Likelihood(part.against, part.log_prior, codes[usable], w[usable])
        d, C = likelihood.d, likelihood.C
        theta = best = likelihood.start
        most, chosen = -np.inf, float(strengths[0])
        with one_blas_thread:
            for strength in strengths:  # each solution is the start of the next
                theta, log_evidence = likelihood.mode(Prior(d, C, strength, common), theta)
                if log_evidence > most:
                    best, most, chosen = theta, log_evidence, float(strength)
            best = likelihood.newton_step(Prior(d, C, chosen, common), best)
        return cls(best[:d], best[d:], chosen, evidence.names)


@dataclass(frozen=True)
class Prior:
    """The prior θ = (w, β) ~ N((1, 0), Q⁻¹), τ integrated out: Cov(w) = 11ᵀ/common + I/λ."""

    d: int
    C: int
    strength: float  # λ
    common: float

    @cached_property
    def precision(self) -> np.ndarray:
        """(d + C, d + C) the precision matrix Q."""
        Q = np.diag(np.full(self.d + self.C, self.strength))
        Q[: self.d, : self.d] -= self.strength**2 / (self.common + self.strength * self.d)
        return Q

    @property
    def log_det(self) -> float:
        """The log-determinant log |Q|."""
        share = self.common / (self.common + self.strength * self.d)
        return float((self.d + self.C) * np.log(self.strength) + np.log(share))


class Likelihood:
    """The loss − Σ_i v_i log p̂(y_i | x_i), its gradient and its Hessian in θ = (w, β)."""

    def __init__(
        self, against: np.ndarray, log_prior: np.ndarray, codes: np.ndarray, v: np.ndarray
    ) -> None:
        self.n, self.C, self.d = against.shape
        # Only differences between classes matter, so class 0 is the reference.
        self.D = against[:, 1:] - against[:, :1]  # (n, C − 1, d)
        self.flat = self.D.reshape(self.n * (self.C - 1), self.d)
        self.log_prior, self.codes, self.v = log_prior, codes, v

    @property
    def start(self) -> np.ndarray:
        """(d + C,) θ of naive Bayes: w = 1, β = 0."""
        return np.concatenate([np.ones(self.d), np.zeros(self.C)])

    def log_posterior(self, theta: np.ndarray) -> np.ndarray:
        """(n, C) log p̂(k | x)."""
        scores = self.log_prior + theta[self.d :]
        scores[:, 1:] += (self.flat @ theta[: self.d]).reshape(self.n, self.C - 1)
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient, Σ_i v_i Σ_k (p̂_ik − [y_i = k]) ∂score_ik."""
        rows = np.arange(self.n)
        log_p = self.log_posterior(theta)
        loss = -float(self.v @ log_p[rows, self.codes])
        excess = np.exp(log_p)  # (n, C)
        excess[rows, self.codes] -= 1
        excess *= self.v[:, None]
        return loss, np.concatenate([self.flat.T @ excess[:, 1:].ravel(), excess.sum(axis=0)])

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """(d + C, d + C) the Hessian Σ_i v_i Cov_k∼p̂ᵢ(∂score_ik)."""
        p = np.exp(self.log_posterior(theta))
        vp, d = self.v[:, None] * p, self.d  # (n, C)
        mean = np.einsum("nk,nkd->nd", p[:, 1:], self.D)  # (n, d)
        H = np.empty((d + self.C, d + self.C))
        H[:d, :d] = (self.flat * vp[:, 1:].reshape(-1, 1)).T @ self.flat
        H[:d, :d] -= (mean * self.v[:, None]).T @ mean
        H[:d, d:] = -mean.T @ vp
        H[:d, d + 1 :] += np.einsum("nk,nkd->dk", vp[:, 1:], self.D)
        H[d:, :d] = H[:d, d:].T
        H[d:, d:] = np.diag(vp.sum(axis=0)) - vp.T @ p
        return H

    def mode(self, prior: Prior, start: np.ndarray) -> tuple[np.ndarray, float]:
        """θ with the highest posterior density, and the log evidence of this prior.

        L-BFGS works in coordinates in which the curvature at the start is 1 in every direction.
        """
        Q, centre = prior.precision, self.start
        root = cholesky(self.hessian(start) + Q, lower=True)

        def at(z: np.ndarray) -> np.ndarray:
            return start + solve_triangular(root, z, lower=True, trans="T")

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            theta = at(z)
            value, gradient = self.loss(theta)
            pull = Q @ (theta - centre)
            value += 0.5 * float((theta - centre) @ pull)
            return value, solve_triangular(root, gradient + pull, lower=True)

        options = {"maxiter": 1000, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-7}
        found = minimize(loss, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
        theta = at(found.x)
        curvature = np.linalg.slogdet(self.hessian(theta) + Q)[1]
        return theta, float(-found.fun + 0.5 * (prior.log_det - curvature))

    def newton_step(self, prior: Prior, theta: np.ndarray) -> np.ndarray:
        """θ after one Newton step, which gives the digits that L-BFGS leaves inexact."""
        Q = prior.precision
        gradient = self.loss(theta)[1] + Q @ (theta - self.start)
        return theta - cho_solve(cho_factor(self.hessian(theta) + Q), gradient)


@dataclass(frozen=True)
class WeightedRule(Rule):
    """A rule with weighted columns and shifted priors; p(x) is that of the model."""

    inner: Rule
    weights: np.ndarray  # (d,)

    def evidence(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of the model."""
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) log p̂(k | x) and (n,) log p(x)."""
        return self.log_posterior(X), self.inner.evidence(X)

    def score(self, block: Any, out: np.ndarray) -> np.ndarray:
        """(n, C) the weighted sum over columns Σ_j w_j log p_j(x_j | k), up to a common term."""
        if isinstance(block, SparseRows):
            for rows, some in block.dense_blocks():
                self.score(some, out[rows])
            return out
        known = np.isfinite(self.log_prior)[None]
        parts = self.params.contributions(block)
        np.matmul(clipped_evidence(parts, known), self.weights, out=out)
        out[np.isnan(self.params.log_density(block)).any(axis=1)] = np.nan  # `check` finds the row
        return out
