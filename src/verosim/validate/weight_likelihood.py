"""The likelihood of the weights of columns and pairs, and its mode by Newton's method.

    loss(θ) = − Σ_i v_i log p̂(y_i | x_i) + ½ (θ − start)ᵀ Q (θ − start),   θ = (w, u, β)

w are the weights of columns, u those of pairs, β the offsets of classes, v_i the weight of row i,
and Q the precision of the prior. The loss is convex, so the start has no influence on the mode.
Reference: Bertsekas (1982), Projected Newton methods for optimization problems with simple
constraints, SIAM Journal on Control and Optimization 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from verosim.cached import cached_property
from verosim.linalg import positive_solution

MOST_STEPS = 100  # of Newton's method; it needs about five
MOST_CHORDS = 10  # steps with a Hessian from nearby
CLOSE = 10.0  # nats between two approximate log evidences that may have another order
FAR = 50.0  # nats between two log evidences that have the same order in all folds
ENOUGH = 1e-7  # nats; by default the last step is expected to gain less than this
SMALLEST_STEP = 1e-6  # the smallest share of a Newton step
ARMIJO = 1e-4  # the least share of the gain that a step must have

ColumnPair: TypeAlias = tuple[str, str]  # the names of two columns


@dataclass(frozen=True)
class Evidence:
    """The evidence of the cells of held-out rows, from which the weights are fitted.

    The features are those of d columns, then the interactions of P pairs of columns.
    """

    against: np.ndarray  # (n, C, d + P), at most 0 for columns
    log_prior: np.ndarray  # (n, C); −inf for a class without training rows
    names: tuple[str, ...] = ()  # (d,)
    pairs: tuple[ColumnPair, ...] = ()  # (P,)

    def __getitem__(self, rows: np.ndarray) -> Evidence:
        return replace(self, against=self.against[rows], log_prior=self.log_prior[rows])

    @classmethod
    def joined(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of all rows. A pair that a part has not chosen is 0 there."""
        names, pairs = parts[0].names, tuple(dict.fromkeys(p for part in parts for p in part.pairs))
        features = [(part.against, part.pairs) for part in parts]
        log_prior = np.concatenate([part.log_prior for part in parts])
        return cls(joined_features(features, pairs, len(names)), log_prior, names, pairs)


def joined_features(
    parts: Sequence[tuple[np.ndarray, Sequence[ColumnPair]]],
    pairs: Sequence[ColumnPair],
    columns: int = 0,
) -> np.ndarray:
    """(n, C, d + P) the features of all rows: those of d columns, then those of these pairs.

    Each part is (n, C, d + its pairs). A pair that a part does not have is 0 there.
    """
    place = {pair: columns + p for p, pair in enumerate(pairs)}
    rows = np.cumsum([0, *(len(features) for features, _ in parts)]).tolist()
    out = np.zeros((rows[-1], parts[0][0].shape[1], columns + len(pairs)))
    for (features, own), start, stop in zip(parts, rows[:-1], rows[1:], strict=True):
        out[start:stop, :, [*range(columns), *(place[pair] for pair in own)]] = features
    return out


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


class Mode(NamedTuple):
    """θ with the highest posterior density, and the log evidence of the prior."""

    theta: np.ndarray
    log_evidence: float


class Path(NamedTuple):
    """The modes for several strengths λ of the prior."""

    priors: list[Prior]
    modes: list[Mode]

    def near_best(self) -> Path:
        """Without the λ that are much worse, which cannot be the best of most of the rows."""
        most = max(mode.log_evidence for mode in self.modes)
        kept = [at for at, mode in enumerate(self.modes) if mode.log_evidence > most - FAR]
        return Path([self.priors[at] for at in kept], [self.modes[at] for at in kept])

    @property
    def best(self) -> tuple[Prior, Mode]:
        """The prior with the highest evidence, and its mode."""
        at = int(np.argmax([mode.log_evidence for mode in self.modes]))
        return self.priors[at], self.modes[at]


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
        self.log_prior = np.asfortranarray(log_prior)
        self.codes, self.v = codes, v
        self.bounded = np.arange(self.D + self.C) < self.D  # the weights are at least 0
        self.rows = np.arange(self.n)  # the numbers of the rows in the evidence

    @classmethod
    def of(cls, evidence: Evidence, codes: np.ndarray, w: np.ndarray) -> Likelihood:
        """The likelihood of held-out rows.

        A row is not used if its class has no training rows: no weight changes its posterior.
        """
        usable = np.isfinite(evidence.log_prior[np.arange(len(codes)), codes]) & (w > 0)
        part = evidence if usable.all() else evidence[usable]
        out = cls(part.against, part.log_prior, codes[usable], w[usable], len(evidence.pairs))
        out.rows = np.flatnonzero(usable)
        return out

    def only(self, rows: np.ndarray) -> Likelihood:
        """The likelihood of some rows of the evidence, given by a mask (n,)."""
        at, out = rows[self.rows], copy(self)
        out.apart, out.log_prior = self.apart[at], self.log_prior[at]
        out.codes, out.v, out.rows = self.codes[at], self.v[at], self.rows[at]
        out.n = len(out.codes)
        out.flat = out.apart.reshape(out.n * (out.C - 1), out.D)
        return out

    @property
    def start(self) -> np.ndarray:
        """(D + C,) θ of naive Bayes: w = 1, u = 0, β = 0."""
        return np.concatenate([np.ones(self.d), np.zeros(self.P + self.C)])

    def posterior(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(C, n) p̂(k | x), and (n,) log p̂ of the class of each row."""
        scores = self.log_prior.T + theta[self.D :, None]  # one class after the other: it is faster
        scores[1:] += (self.flat @ theta[: self.D]).reshape(self.n, self.C - 1).T
        scores -= scores.max(axis=0)
        own = scores[self.codes, np.arange(self.n)]
        p = np.exp(scores, out=scores)
        total = p.sum(axis=0)
        p /= total
        return p, own - np.log(total)

    def loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient, Σ_i v_i Σ_k (p̂_ik − [y_i = k]) ∂score_ik."""
        excess, own = self.posterior(theta)  # (C, n), (n,)
        excess[self.codes, np.arange(self.n)] -= 1
        excess *= self.v
        gradient = np.concatenate([excess[1:].T.ravel() @ self.flat, excess.sum(axis=1)])
        return -float(self.v @ own), gradient

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """(D + C, D + C) the Hessian Σ_i v_i Cov_k∼p̂ᵢ(∂score_ik)."""
        p, _ = self.posterior(theta)
        vp, D = self.v * p, self.D  # (C, n)
        H = np.empty((D + self.C, D + self.C))
        if self.C == 2:  # one difference: its variance is p (1 − p)
            bend = vp[1] * p[0]
            H[:D, :D] = _scatter(self.flat, bend)
            H[:D, D + 1] = bend @ self.flat
            H[:D, D] = -H[:D, D + 1]
        else:
            mean = (p[1:].T[:, None] @ self.apart)[:, 0]  # (n, D)
            H[:D, :D] = _scatter(self.flat, vp[1:].T.ravel()) - _scatter(mean, self.v)
            H[:D, D:] = -mean.T @ vp.T
            for k in range(1, self.C):
                H[:D, D + k] += vp[k] @ self.apart[:, k - 1]
        H[D:, :D] = H[:D, D:].T
        H[D:, D:] = np.diag(vp.sum(axis=1)) - vp @ p.T
        return H

    def penalised(self, prior: Prior, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss with the penalty ½ (θ − start)ᵀ Q (θ − start), and its gradient."""
        value, gradient = self.loss(theta)
        pull = prior.precision @ (theta - self.start)
        return value + 0.5 * float((theta - self.start) @ pull), gradient + pull

    def path(
        self,
        strengths: Sequence[float],
        common: float,
        near: Sequence[tuple[np.ndarray, np.ndarray | None]] = (),
        enough: float = ENOUGH,
    ) -> Path:
        """The modes for several λ. Each mode is the start of the next.

        `near` has a start for each λ, if modes of similar rows are known, and the Hessian there or
        None. With the Hessian, the evidence is not exact, and it is computed again where it is
        close to the best.
        """
        priors = [Prior(self.d, self.C, strength, common, self.P) for strength in strengths]
        if near:
            modes = [self.mode(p, *at, enough) for p, at in zip(priors, near, strict=True)]
            most = max(mode.log_evidence for mode in modes)
            return Path(priors, [
                self.mode(prior, mode.theta, None, enough)
                if curvature is not None and mode.log_evidence > most - CLOSE
                else mode
                for prior, mode, (_, curvature) in zip(priors, modes, near, strict=True)
            ])  # fmt: skip
        theta, modes = self.start, []
        for prior in priors:
            modes.append(self.mode(prior, theta, None, enough))
            theta = modes[-1].theta
        return Path(priors, modes)

    def mode(
        self,
        prior: Prior,
        start: np.ndarray,
        curvature: np.ndarray | None = None,
        enough: float = ENOUGH,
    ) -> Mode:
        """θ with the highest posterior density, and the log evidence of this prior.

        Newton's method for the weights that are not held at 0 (Bertsekas 1982, Projected Newton
        methods). The evidence is that of these weights. `curvature` is the Hessian near the mode;
        without it, or if it is not near enough, the Hessian is computed in each step. The last step
        is expected to gain less than `enough` nats.
        """
        theta = start
        value, gradient = self.penalised(prior, theta)
        for t in range(MOST_STEPS):
            known = curvature is not None and t < MOST_CHORDS
            H = (curvature if known else self.hessian(theta)) + prior.precision
            step, free = self._newton(theta, gradient, H)
            gain = -float(gradient @ step)
            size, found = 1.0, self._moved(theta, step)
            new = self.penalised(prior, found)
            while (
                gain > enough
                and size > SMALLEST_STEP
                and new[0] > value - ARMIJO * float(gradient @ (theta - found))
            ):
                size /= 2
                found = self._moved(theta, size * step)
                new = self.penalised(prior, found)
            theta, (value, gradient) = found, new
            if gain <= enough or size <= SMALLEST_STEP:
                break
        log_det = np.linalg.slogdet(H[np.ix_(free, free)])[1]
        return Mode(theta, float(-value + 0.5 * (prior.log_det_of(free) - log_det)))

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
            part = H if len(free) == len(H) else H[np.ix_(free, free)]
            step[free] = -positive_solution(part, gradient[free])
            below = at_bound & (step < 0)  # these weights would become negative
            if not below.any():
                return step, free
            held |= below


def _scatter(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(D, D) Σ_i weights_i rows_i rows_iᵀ."""
    scaled = rows * np.sqrt(weights)[:, None]
    found: np.ndarray = scaled.T @ scaled
    return found
