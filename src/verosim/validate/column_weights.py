"""Naive Bayes with a weight for each column and for pairs of columns, fitted on held-out rows.

    log p̂(k | x) = log π_k + β_k + Σ_j w_j log p_j(x_j | k) + Σ_ij u_ij s_ij(k) − a common term

    s_ij(k) = log p(x_i, x_j | k) / (p(x_i | k) p(x_j | k))      the interaction of two columns

The common term normalises. w = 1, u = 0 and β = 0 is naive Bayes. Columns that repeat each other
get smaller weights, and a column without information gets a weight near 0. w, u and β maximise the
conditional likelihood of the held-out rows times a Gaussian prior,

    τ ~ N(1, 1),   w_j ~ N(τ, 1/λ),   u_ij ~ N(0, 1/λ),   β_k ~ N(0, 1/λ),   w ≥ 0,   u ≥ 0.

τ is the mean weight of the columns. The prior of τ has the strength of one row, and the prior of
the differences has the strength of λ rows. λ is the value of `PENALTY_STRENGTHS` with the highest
evidence, log ∫ p(labels | w, u, β) p(w, u, β | λ), by Laplace's method over the weights that are
not 0. References: Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute
independence assumption by attribute weighting, JMLR 14; Zaidi, Webb, Carman, Petitjean, Buntine,
Hynes & De Sterck (2017), Efficient parameter learning of Bayesian network classifiers, Machine
Learning 106; MacKay (1992), The evidence framework applied to classification networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp

from verosim.bayes.rule import Rule
from verosim.data import SparseRows
from verosim.data.sources import CELLS_PART
from verosim.densities.interactions import Interactions
from verosim.engines import one_blas_thread

PENALTY_STRENGTHS = (1000.0, 100.0, 10.0, 1.0)  # λ, the strength in rows of equal weights
COMMON_STRENGTH = 1.0  # the strength in rows of τ = 1
MOST_EVIDENCE = 100.0  # nats of one cell against a class; more comes from far in a tail

MOST_STEPS = 100  # of Newton's method; it needs about five
ENOUGH = 1e-7  # nats; the last step is expected to gain less than this
LEAST_STEP = 1e-6  # the smallest share of a Newton step
ARMIJO = 1e-4  # the least share of the gain that a step must have


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
    """The evidence of the cells of held-out rows, from which the weights are fitted.

    The features are those of d columns, then the interactions of P pairs of columns.
    """

    against: np.ndarray  # (n, C, d + P), at most 0 for columns
    log_prior: np.ndarray  # (n, C); −inf for a class without training rows
    names: tuple[str, ...] = ()  # (d,)
    pairs: tuple[tuple[str, str], ...] = ()  # (P,)

    def __getitem__(self, rows: np.ndarray) -> Evidence:
        return replace(self, against=self.against[rows], log_prior=self.log_prior[rows])


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """The weight of each column and of pairs of columns, and an offset for each class."""

    weights: np.ndarray  # (d,) 1 is naive Bayes, 0 ignores the column
    offsets: np.ndarray  # (C,) added to the log-prior of each class
    strength: float  # λ
    names: tuple[str, ...] = field(default=(), repr=False)  # (d,)
    pair_weights: np.ndarray = field(default_factory=lambda: np.empty(0))  # (P,) 0 is naive Bayes
    pairs: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # (P,)

    def __call__(self, evidence: Evidence) -> np.ndarray:
        """(n, C) calibrated log p(k | x)."""
        every = np.concatenate([self.weights, self.pair_weights])
        scores = evidence.log_prior + self.offsets + evidence.against @ every
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def rule(self, inner: Rule) -> WeightedRule:
        """The rule of the model, with these weights."""
        log_prior, found = inner.log_prior + self.offsets, inner.params.interactions
        if found is not None:
            by_pair = dict(zip(self.pairs, self.pair_weights, strict=True))
            # A pair that no fold has chosen has no weight.
            found = found.weighted(np.array([by_pair.get(pair, 0.0) for pair in found.names]))
        return WeightedRule(log_prior, inner.params, inner.columns, inner, self.weights, found)

    def __str__(self) -> str:
        order = np.argsort(-self.pair_weights, kind="stable")
        names = [*self.names, *(" × ".join(self.pairs[p]) for p in order if self.pair_weights[p])]
        wide = max(map(len, names), default=0)
        rows = zip(names, [*self.weights, *self.pair_weights[order]], strict=False)
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
        P = len(evidence.pairs)
        likelihood = Likelihood(part.against, part.log_prior, codes[usable], w[usable], P)
        d, C = likelihood.d, likelihood.C
        theta = best = likelihood.start
        most, chosen = -np.inf, float(strengths[0])
        with one_blas_thread:
            for strength in strengths:  # each solution is the start of the next
                theta, log_evidence = likelihood.mode(Prior(d, C, strength, common, P), theta)
                if log_evidence > most:
                    best, most, chosen = theta, log_evidence, float(strength)
            best = likelihood.newton_step(Prior(d, C, chosen, common, P), best)
        return cls(
            best[:d], best[d + P :], chosen, evidence.names, best[d : d + P], evidence.pairs
        )


@dataclass(frozen=True)
class Prior:
    """The prior θ = (w, u, β) ~ N((1, 0, 0), Q⁻¹), τ integrated out: Cov(w) = 11ᵀ/common + I/λ."""

    d: int
    C: int
    strength: float  # λ
    common: float
    P: int = 0

    @cached_property
    def precision(self) -> np.ndarray:
        """(d + P + C, d + P + C) the precision matrix Q."""
        Q = np.diag(np.full(self.d + self.P + self.C, self.strength))
        Q[: self.d, : self.d] -= self.strength**2 / (self.common + self.strength * self.d)
        return Q

    @property
    def log_det(self) -> float:
        """The log-determinant log |Q|."""
        return self.log_det_of(np.arange(self.d + self.P + self.C))

    def log_det_of(self, free: np.ndarray) -> float:
        """The log-determinant of the rows and columns `free` of Q."""
        columns = int((free < self.d).sum())
        share = 1 - self.strength * columns / (self.common + self.strength * self.d)
        return float(len(free) * np.log(self.strength) + np.log(share))


class Likelihood:
    """The loss − Σ_i v_i log p̂(y_i | x_i), its gradient and its Hessian in θ = (w, u, β).

    The last P features of `against` (n, C, d + P) are those of pairs.
    """

    def __init__(
        self,
        against: np.ndarray,
        log_prior: np.ndarray,
        codes: np.ndarray,
        v: np.ndarray,
        P: int = 0,
    ) -> None:
        self.n, self.C, self.D = against.shape  # D features: d columns and P pairs
        self.d, self.P = self.D - P, P
        # Only differences between classes matter, so class 0 is the reference.
        self.apart = against[:, 1:] - against[:, :1]  # (n, C − 1, D)
        self.flat = self.apart.reshape(self.n * (self.C - 1), self.D)
        self.log_prior, self.codes, self.v = log_prior, codes, v
        self.bounded = np.arange(self.D + self.C) < self.D  # the weights are at least 0

    @property
    def start(self) -> np.ndarray:
        """(D + C,) θ of naive Bayes: w = 1, u = 0, β = 0."""
        return np.concatenate([np.ones(self.d), np.zeros(self.P + self.C)])

    def log_posterior(self, theta: np.ndarray) -> np.ndarray:
        """(n, C) log p̂(k | x)."""
        scores = self.log_prior + theta[self.D :]
        scores[:, 1:] += (self.flat @ theta[: self.D]).reshape(self.n, self.C - 1)
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
        """(D + C, D + C) the Hessian Σ_i v_i Cov_k∼p̂ᵢ(∂score_ik)."""
        p = np.exp(self.log_posterior(theta))
        vp, D = self.v[:, None] * p, self.D  # (n, C)
        mean = np.einsum("nk,nkd->nd", p[:, 1:], self.apart)  # (n, D)
        H = np.empty((D + self.C, D + self.C))
        H[:D, :D] = (self.flat * vp[:, 1:].reshape(-1, 1)).T @ self.flat
        H[:D, :D] -= (mean * self.v[:, None]).T @ mean
        H[:D, D:] = -mean.T @ vp
        H[:D, D + 1 :] += np.einsum("nk,nkd->dk", vp[:, 1:], self.apart)
        H[D:, :D] = H[:D, D:].T
        H[D:, D:] = np.diag(vp.sum(axis=0)) - vp.T @ p
        return H

    def penalised(self, prior: Prior, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss with the penalty ½ (θ − start)ᵀ Q (θ − start), and its gradient."""
        value, gradient = self.loss(theta)
        pull = prior.precision @ (theta - self.start)
        return value + 0.5 * float((theta - self.start) @ pull), gradient + pull

    def mode(self, prior: Prior, start: np.ndarray) -> tuple[np.ndarray, float]:
        """θ with the highest posterior density, and the log evidence of this prior.

        Newton's method for the weights that are not held at 0 (Bertsekas 1982, Projected Newton
        methods). The evidence is that of these weights.
        """
        theta = start
        value, gradient = self.penalised(prior, theta)
        for _ in range(MOST_STEPS):
            H = self.hessian(theta) + prior.precision
            step, free = self._newton(theta, gradient, H)
            gain = -float(gradient @ step)
            size, found = 1.0, self._moved(theta, step)
            new = self.penalised(prior, found)
            while gain > ENOUGH and size > LEAST_STEP and new[0] > value - ARMIJO * float(
                gradient @ (theta - found)
            ):
                size /= 2
                found = self._moved(theta, size * step)
                new = self.penalised(prior, found)
            theta, (value, gradient) = found, new
            if gain <= ENOUGH or size <= LEAST_STEP:
                break
        curvature = np.linalg.slogdet(H[np.ix_(free, free)])[1]
        return theta, float(-value + 0.5 * (prior.log_det_of(free) - curvature))

    def newton_step(self, prior: Prior, theta: np.ndarray) -> np.ndarray:
        """θ after one more Newton step, which gives the last digits."""
        gradient = self.penalised(prior, theta)[1]
        step, _ = self._newton(theta, gradient, self.hessian(theta) + prior.precision)
        return self._moved(theta, step)

    def _moved(self, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
        """θ + step, with weights of at least 0."""
        found = theta + step
        return np.where(self.bounded, np.maximum(found, 0.0), found)

    def _newton(
        self, theta: np.ndarray, gradient: np.ndarray, H: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Newton step, and the places of the entries that it may change."""
        at_bound = self.bounded & (theta <= 0)
        held = at_bound & (gradient > 0)
        while True:
            free = np.flatnonzero(~held)
            step = np.zeros_like(theta)
            step[free] = -cho_solve(cho_factor(H[np.ix_(free, free)]), gradient[free])
            below = at_bound & (step < 0)  # these weights would become negative
            if not below.any():
                return step, free
            held |= below


@dataclass(frozen=True)
class WeightedRule(Rule):
    """A rule with weighted columns and pairs, and shifted priors; p(x) is that of the model."""

    inner: Rule
    weights: np.ndarray  # (d,)
    interactions: Interactions | None = None  # of pairs, multiplied by their weights

    def evidence(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of the model."""
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) log p̂(k | x) and (n,) log p(x)."""
        return self.log_posterior(X), self.inner.evidence(X)

    def score(self, block: Any, out: np.ndarray) -> np.ndarray:
        """(n, C) the weighted sum over columns and pairs, up to a common term."""
        if isinstance(block, SparseRows):
            for rows, some in block.dense_blocks():
                self.score(some, out[rows])
            return out
        known = np.isfinite(self.log_prior)[None]
        parts = self.params.contributions(block)
        np.matmul(clipped_evidence(parts, known), self.weights, out=out)
        if self.interactions is not None:
            self.interactions.add(block[CELLS_PART], out)
        out[np.isnan(self.params.log_density(block)).any(axis=1)] = np.nan  # `check` finds the row
        return out
