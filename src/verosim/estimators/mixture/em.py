"""EM for mixtures of Gaussians within classes.

    E step   r_ig = w_g N(z_i; m_g, Σ_g) / Σ_h w_h N(z_i; m_h, Σ_h)   h: components of the class
    M step   n_g = Σ_i r_ig,   w_g = n_g / n_k,   m_g = Σ_i r_ig z_i / n_g
             shared   Σ = (Σ_g S_g + a T) / (n + a)
             own      Σ_g = (S_g + a T) / (n_g + a)

S_g = Σ_i r_ig (z_i − m_g)(z_i − m_g)ᵀ is the scatter of a component, T is a fixed covariance and a
is its weight in rows. Eigenvalues of Σ_g below a floor are raised to it, which is the maximum under
this constraint. No iteration lowers the log-likelihood, or with a > 0 the penalised one,

    ℓ − ½ a Σ_g (log|Σ_g| − log|T| + tr Σ_g⁻¹T − p)

References: Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM
algorithm; Hastie & Tibshirani (1996), Discriminant analysis by Gaussian mixtures; Fraley & Raftery
(2007), Bayesian regularization for normal mixture estimation and model-based clustering.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from verosim import kernels
from verosim.cached import cached_property
from verosim.densities.central import LEAST_FREEDOM
from verosim.estimators.mixture.rows import WhiteRows
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import EPS

# The rounding error of the objective, relative to its size.
MIXTURE_ROUNDING = 1e-12
LARGE_FALL = 1e-8  # relative; rounding errors that lower the objective by more are reported


@dataclass(frozen=True)
class Components:
    """Gaussian components, sorted by class. G is their number."""

    owner: np.ndarray  # (G,) the class of each component
    share: np.ndarray  # (G,) w_g; the shares of a class sum to one
    mean: np.ndarray  # (G, p)
    covariance: np.ndarray  # (G or 1, p, p)

    shared: bool  # one covariance for all components

    @cached_property
    def whitener(self) -> np.ndarray:
        """(G or 1, p, p) L⁻¹ with L Lᵀ = Σ."""
        return np.linalg.inv(np.linalg.cholesky(self.covariance))

    @cached_property
    def log_det(self) -> np.ndarray:
        """(G or 1,) log|Σ|."""
        return -2 * np.log(np.diagonal(self.whitener, axis1=1, axis2=2)).sum(axis=1)

    def starts(self, classes: int) -> np.ndarray:
        """(C + 1,) the first component of each class."""
        return np.searchsorted(self.owner, np.arange(classes + 1))

    def take(self, at: np.ndarray) -> Components:
        """The components with these numbers."""
        covariance = self.covariance if self.shared else self.covariance[at]
        return Components(self.owner[at], self.share[at], self.mean[at], covariance, self.shared)

    @classmethod
    def joined(cls, parts: list[Components]) -> Components:
        """All components of all parts, each with its own covariance."""
        return cls(
            np.concatenate([part.owner for part in parts]),
            np.concatenate([part.share for part in parts]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.covariance for part in parts]),
            shared=False,
        )

    def with_own_covariances(self) -> Components:
        """The same components, each with its own copy of the covariance."""
        G, p = self.mean.shape
        covariance = np.broadcast_to(self.covariance, (G, p, p)).copy()
        return replace(self, covariance=covariance, shared=False)

    def pooled(self, class_weight: np.ndarray) -> np.ndarray:
        """(p, p) the mean of the covariances, weighted by the rows of each component."""
        weight = self.share * class_weight[self.owner]
        if self.shared:
            return self.covariance[0]
        return np.tensordot(weight / weight.sum(), self.covariance, axes=1)


@dataclass(frozen=True)
class CovariancePrior:
    """A covariance T that counts like additional rows of each component.

    `rows` (C,) is their number, a_k, for a component of each class. A shared covariance has the sum
    over the classes.
    """

    rows: np.ndarray  # (C,)
    target: np.ndarray  # (p, p) T

    def penalty(self, now: Components) -> np.ndarray:
        """(C,) the penalty of the components of each class; zero if all Σ_g equal T."""
        if not self.rows.any():
            return np.zeros(len(self.rows))
        W = now.whitener
        trace = (W @ self.target * W).sum(axis=(1, 2))
        level = np.linalg.slogdet(self.target)[1]
        each = -0.5 * (now.log_det - level + trace - len(self.target))  # (G or 1,)
        if now.shared:
            return self.rows * each[0]
        return np.bincount(now.owner, self.rows[now.owner] * each, len(self.rows))


@dataclass(frozen=True)
class Expected:
    """The sums of an E step."""

    log_likelihood: np.ndarray  # (C,)
    weight: np.ndarray  # (G,) Σ r
    first: np.ndarray  # (G, p) Σ r z
    second: np.ndarray | None  # (G, p, p) Σ r z zᵀ; None if the covariance is shared


def expect(rows: WhiteRows, now: Components) -> Expected:
    """The E step: expected sums of each component, and the log-likelihood of each class."""
    C, (G, p) = len(rows.class_weight), now.mean.shape
    starts = now.starts(C)
    white, log_det = now.whitener, np.broadcast_to(now.log_det, G)
    level = np.log(now.share) - 0.5 * (p * LOG_2PI + log_det)  # (G,)
    shift = (white @ now.mean[:, :, None])[:, :, 0]  # (G, p) L⁻¹ m
    log_likelihood, weight = np.zeros(C), np.zeros(G)
    first = np.zeros((G, p))
    second = None if now.shared else np.zeros((G, p, p))
    single = np.flatnonzero(np.diff(starts) == 1)
    several = np.flatnonzero(np.diff(starts) > 1)
    for c in single.tolist():  # one component: the sums of the class are known
        g = int(starts[c])
        W = white[0 if now.shared else g]
        weight[g], first[g] = rows.class_weight[c], rows.first[c]
        if second is not None:
            second[g] = rows.second[c]
        quadratic = (W @ rows.second[c] * W).sum() - 2 * shift[g] @ (W @ rows.first[c])
        quadratic += weight[g] * shift[g] @ shift[g]
        log_likelihood[c] = weight[g] * level[g] - 0.5 * quadratic
    if now.shared:
        coef = shift @ white[0]  # (G, p) Σ⁻¹ m
        level = level - 0.5 * (shift**2).sum(axis=1)
        for c in several.tolist():
            log_likelihood[c] = -0.5 * (white[0] @ rows.second[c] * white[0]).sum()
    else:
        table = np.concatenate([W.T for W in white], axis=1)  # (p, G · p)

    def work(c: int, start: int, stop: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        a, b = starts[c], starts[c + 1]
        z, w = rows.Z[start:stop], rows.weights[start:stop]
        evidence, score = np.empty(len(z)), np.empty((len(z), b - a))
        if now.shared:
            np.matmul(z, coef[a:b].T, out=score)
        else:
            kernels.shifted_norms(z @ table[:, a * p : b * p], shift[a:b], p, score)
            score *= -0.5
        kernels.normalise(score, level[a:b], 2, evidence)
        score *= w[:, None]
        products = np.empty(0)
        if not now.shared:
            soft = (score[:, :, None] * z[:, None, :]).reshape(len(z), -1)  # (rows, G · p)
            products = soft.T @ z
        return float(w @ evidence), score.sum(axis=0), score.T @ z, products

    for c, (found, n, s, products) in rows.by_blocks(work, several.tolist()):
        at = slice(starts[c], starts[c + 1])
        log_likelihood[c] += found
        weight[at] += n
        first[at] += s
        if second is not None:
            second[at] += products.reshape(-1, p, p)
    return Expected(log_likelihood, weight, first, second)


def maximise(
    rows: WhiteRows, sums: Expected, owner: np.ndarray, prior: CovariancePrior, floor: float
) -> Components:
    """The M step. A component with less than one row of its class is removed."""
    share = sums.weight / rows.class_weight[owner]
    # Rounding must not remove components of one row: a class could lose all of them.
    alive = share * rows.counts[owner] >= 1 - LEAST_FREEDOM
    owner, share, n = owner[alive], share[alive], sums.weight[alive]
    share = share / np.bincount(owner, share, len(rows.counts))[owner]
    mean = sums.first[alive] / n[:, None]
    outer = mean[:, :, None] * mean[:, None, :]
    if sums.second is None:
        between = np.tensordot(n, outer, axes=1)
        a = prior.rows.sum()
        scatter = rows.second.sum(axis=0) - between
        covariance = ((scatter + a * prior.target) / (rows.class_weight.sum() + a))[None]
    else:
        a = prior.rows[owner, None, None]
        scatter = sums.second[alive] - n[:, None, None] * outer
        covariance = (scatter + a * prior.target) / (n[:, None, None] + a)
    return Components(owner, share, mean, floored(covariance, floor), sums.second is None)


def floored(covariance: np.ndarray, floor: float) -> np.ndarray:
    """The covariances (G, p, p) with their eigenvalues raised to at least `floor`."""
    covariance = (covariance + np.swapaxes(covariance, 1, 2)) / 2
    p = covariance.shape[1]
    try:
        np.linalg.cholesky(covariance - floor * np.eye(p))
        return covariance
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
    # Eigenvalues are in increasing order. Those below the rounding error of the largest are noise.
    least = np.maximum(floor, 64 * p * EPS * values[:, -1])
    low = values[:, 0] < least
    V = vectors[low]
    raised = np.maximum(values[low], least[low, None])
    covariance[low] = (V * raised[:, None, :]) @ np.swapaxes(V, 1, 2)
    return covariance


@dataclass(frozen=True)
class EMRun:
    """The components at the end of EM and its course."""

    components: Components
    log_likelihood: np.ndarray  # (C,) without the penalty
    objective: np.ndarray  # (C,) with the penalty
    history: np.ndarray  # the objective of each iteration, the start first
    converged: bool


def run_em(
    rows: WhiteRows, start: Components, prior: CovariancePrior, floor: float, tol: float, most: int
) -> EMRun:
    """Iterate EM until the objective rises by at most `tol` times its size.

    The objective never falls, apart from rounding errors: if an iteration lowers it, the components
    before it are kept and EM ends. If a component is removed, the history starts again, because a
    mixture of fewer components has another objective.
    """
    now = start
    history: list[float] = []
    scale = float(rows.class_weight.sum())
    best: EMRun | None = None
    while True:
        sums = expect(rows, now)
        objective = sums.log_likelihood + prior.penalty(now)
        total = float(objective.sum())
        if best is not None and len(best.components.owner) > len(now.owner):
            most, history, best = most - len(history), [], None
        size = max(abs(total), scale)
        if best is not None and total < history[-1] - MIXTURE_ROUNDING * size:
            fall = history[-1] - total  # a rounding error, as EM never lowers the objective
            return replace(best, converged=fall <= max(tol, LARGE_FALL) * size)
        history.append(total)
        settled = best is not None and abs(total - history[-2]) <= tol * size
        best = EMRun(now, sums.log_likelihood, objective, np.array(history), settled)
        if settled or len(history) > most:
            return best
        now = maximise(rows, sums, now.owner, prior, floor)
