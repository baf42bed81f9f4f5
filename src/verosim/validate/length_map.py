"""Posteriors of texts, calibrated by their length.

    log p̂(k | x) = t ℓ^(−c) s_k(x) + b_k − log Σ_j exp(t ℓ^(−c) s_j(x) + b_j)

Here s_k = log p(k | x) − mean_j log p(j | x), and ℓ is the number of tokens of x plus 1. The words
of a text repeat each other, so the evidence of a long text grows more slowly than its length: c is
above 0.
The map is found by Fisher scoring, which is Newton's method with the expected Hessian.
Reference: Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from verosim.bayes.explain import ScoreParts
from verosim.bayes.program import Program
from verosim.bayes.rule import Rule
from verosim.data.labels import values_of_classes
from verosim.linalg import normalised_logs
from verosim.models import State
from verosim.validate.calibration_maps import (
    PRIOR_ROWS,
    CalibratedRule,
    PosteriorMap,
    tempered,
)

MOST_SCORING_STEPS = 50
SMALLEST_GAIN = 1e-9  # the share of the loss below which a step is the last one
LARGEST_MOVE = 2.0  # of log t, c and b in one step


@dataclass(frozen=True)
class LengthMap(PosteriorMap):
    """A temperature t ℓ^(−c) that depends on the length of the row, and an offset per class."""

    scale: float  # t
    exponent: float  # c
    offsets: np.ndarray  # (C,) b

    @classmethod
    def inputs(cls, log_p: np.ndarray, rule: Any, rows: Any) -> np.ndarray:
        """(n, C + 1) the log-posteriors of rows, and log ℓ."""
        lengths = rule.params.row_lengths(rule.params.read(rows))
        return np.column_stack([log_p, np.log1p(lengths)])

    @classmethod
    def log_posteriors(cls, inputs: np.ndarray) -> np.ndarray:
        return inputs[:, :-1]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(n, C) calibrated log-posteriors."""
        eta = _Scores(inputs).eta(np.log(self.scale), self.exponent, self.offsets)
        return normalised_logs(eta)

    def of_parts(self, parts: ScoreParts, inner: Rule, rows: Any) -> ScoreParts:
        """t ℓ^(−c) multiplies all parts and the prior, and the offsets join the prior."""
        log_length = np.log1p(inner.params.row_lengths(inner.params.read(rows)))
        factor = self.scale * np.exp(-self.exponent * log_length)
        return parts.scaled(factor).shifted(self.offsets)

    def program(self, inner: Program, state: State) -> Program:
        """The posterior of the program of the model, tempered by the length of the row."""
        length = state.params.program_length()
        term = tempered(inner, self.scale, exponent=float(self.exponent), length=length)
        return inner.of_posterior([term], self.offsets)

    def rule(self, inner: Rule) -> Rule:
        """The rule of the model, with this map."""
        return CalibratedRule(inner.log_prior, inner.params, inner.columns, inner, self)

    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> LengthMap:
        """The map for other classes. The offset of a new class is 0."""
        return replace(self, offsets=values_of_classes(self.offsets, known, classes))

    @classmethod
    def fit(
        cls, inputs: np.ndarray, codes: np.ndarray, w: np.ndarray, offsets: bool = True
    ) -> LengthMap:
        """The minimum of Σ w (−log p̂_y) + (τ − log τ) + c² + ‖b‖².

        τ is the temperature at the mean of log ℓ. The last terms are priors with the strength of
        about one row. Without them, t is infinite if every row is predicted correctly. b is 0 if
        there are no `offsets`.
        """
        C = inputs.shape[1] - 1
        usable = np.isfinite(inputs[np.arange(len(codes)), codes]) & (w > 0)
        rows, codes, w = _Scores(inputs[usable]), codes[usable], w[usable]
        middle = float(w @ rows.log_length / w.sum()) if len(w) else 0.0
        rows.log_length -= middle
        theta = np.zeros(C + 2)  # log τ, c and b
        loss = _loss(rows, theta, codes, w)
        for _ in range(MOST_SCORING_STEPS):
            step = _step(rows, theta, codes, w, len(theta) if offsets else 2)
            move = step * min(1.0, LARGEST_MOVE / max(np.abs(step).max(), LARGEST_MOVE))
            while True:
                new = _loss(rows, theta + move, codes, w)
                if new <= loss or np.abs(move).max() < SMALLEST_GAIN:
                    break
                move = move / 2
            if new >= loss:
                break
            theta, before, loss = theta + move, loss, new
            if before - loss <= SMALLEST_GAIN * (1 + abs(loss)):
                break
        a, c, b = theta[0], theta[1], theta[2:]
        return cls(float(np.exp(a + c * middle)), float(c), b)


class _Scores:
    """Row-centred log-posteriors (n, C) and log ℓ (n,). Classes with p = 0 keep p = 0."""

    def __init__(self, inputs: np.ndarray) -> None:
        log_p, self.log_length = inputs[:, :-1], inputs[:, -1].copy()
        self.possible = np.isfinite(log_p)
        known = np.where(self.possible, log_p, 0.0)
        mean = known.sum(axis=1) / np.maximum(self.possible.sum(axis=1), 1)
        self.centred = np.where(self.possible, known - mean[:, None], 0.0)

    def scaled(self, a: float, c: float) -> np.ndarray:
        """(n, C) exp(a) ℓ^(−c) s_k."""
        found: np.ndarray = np.exp(a - c * self.log_length)[:, None] * self.centred
        return found

    def eta(self, a: float, c: float, b: np.ndarray) -> np.ndarray:
        """(n, C) exp(a) ℓ^(−c) s_k + b_k; −∞ for classes with p = 0."""
        return np.where(self.possible, self.scaled(a, c) + b, -np.inf)


def _loss(rows: _Scores, theta: np.ndarray, codes: np.ndarray, w: np.ndarray) -> float:
    """The log-loss and the priors at theta = (log τ, c, b)."""
    a, c, b = theta[0], theta[1], theta[2:]
    with np.errstate(over="ignore", invalid="ignore"):
        eta = rows.eta(a, c, b)
        own = eta[np.arange(len(codes)), codes]
        found = float(w @ (logsumexp(eta, axis=1) - own))
    found += PRIOR_ROWS * float(np.exp(a) - a + c * c + b @ b)
    return found if np.isfinite(found) else np.inf


def _step(
    rows: _Scores, theta: np.ndarray, codes: np.ndarray, w: np.ndarray, free: int
) -> np.ndarray:
    """The step of Fisher scoring from theta = (log τ, c, b). The first `free` numbers change."""
    a, c, b = theta[0], theta[1], theta[2:]
    Z = rows.scaled(a, c)  # (n, C)
    eta = rows.eta(a, c, b)
    P = np.exp(normalised_logs(eta))
    expected = (P * Z).sum(axis=1)  # (n,)
    off = P * (Z - expected[:, None])  # (n, C) p_k (z_k − E z)
    spread = w * (off * Z).sum(axis=1)  # (n,) w Var z
    turn = -rows.log_length
    error = w * (expected - Z[np.arange(len(codes)), codes])
    own = np.bincount(codes, w, len(b))
    slope = np.concatenate([[error.sum(), error @ turn], w @ P - own])
    slope += PRIOR_ROWS * np.concatenate([[np.exp(a) - 1, 2 * c], 2 * b])
    H = np.empty((len(theta), len(theta)))
    H[0, 0], H[0, 1], H[1, 1] = spread.sum(), spread @ turn, spread @ turn**2
    H[0, 2:], H[1, 2:] = w @ off, (w * turn) @ off
    H[2:, 2:] = np.diag(w @ P) - P.T @ (w[:, None] * P)
    H[1:, 0], H[2:, 1] = H[0, 1:], H[1, 2:]
    H.flat[:: len(H) + 1] += PRIOR_ROWS * np.concatenate([[np.exp(a)], np.full(len(b) + 1, 2.0)])
    step = np.zeros(len(theta))
    step[:free] = -np.linalg.solve(H[:free, :free], slope[:free])
    return step
