"""Maps from the posteriors of a model to calibrated posteriors.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ      one number τ for all
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing          one map for each class

Both are fitted on the posteriors of held-out rows. References: Guo, Pleiss, Sun & Weinberger
(2017), On calibration of modern neural networks; Zadrozny & Elkan (2002), Transforming classifier
scores into accurate multiclass probability estimates.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.isotonic import IsotonicRegression

from verosim import kernels
from verosim.axes.groups import plain_label
from verosim.bayes.explain import ScoreParts
from verosim.bayes.program import Program
from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.data.nodes import no_program
from verosim.densities.attribution import AttributionRequest
from verosim.densities.terms import TemperedTerm
from verosim.errors import VerosimError
from verosim.linalg import normalised_logs
from verosim.models import State

MOST_LOG_ODDS = 1e9  # the limit of log-odds; a class without training rows has −∞
TIE_BREAK = 1e-9  # share of the posterior of the model in an isotonic posterior
PRIOR_ROWS = 1.0  # the strength of the prior at τ = 1, in rows
MOST_TRIES = 200  # of a τ; about six are needed
FARTHEST_TRY, NEAREST_TRY = 2.0, 1e-10  # the distance between two of them, in log τ


class Map(Protocol):
    """A map from posteriors, or from the evidence of columns, to calibrated posteriors."""

    def __call__(self, scores: Any, /) -> np.ndarray:
        """(n, C) calibrated log p(k | x) of held-out rows."""

    def rule(self, inner: Rule) -> Rule:
        """The rule of the model, with calibrated posteriors."""

    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> Self:
        """The map for other classes (C,). `known` are the classes of this map."""

    def program(self, inner: Program, state: State) -> Program:
        """The program of calibrated posteriors, from that of the model and its state."""


class PosteriorMap:
    """A map of the posteriors of held-out rows, which it is fitted on.

    Its inputs are the log-posteriors (n, C), unless a map needs more columns.
    """

    @classmethod
    def inputs(cls, log_p: np.ndarray, rule: Any, rows: Any) -> np.ndarray:
        """The inputs of the map, from the log-posteriors (n, C) of rows and the rule."""
        return log_p

    @classmethod
    def log_posteriors(cls, inputs: np.ndarray) -> np.ndarray:
        """(n, C) the log-posteriors in the inputs."""
        return inputs

    @classmethod
    @abstractmethod
    def fit(cls, inputs: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Self:
        """The map for inputs of n rows, classes (n,) and weights (n,)."""

    @abstractmethod
    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(n, C) calibrated log-posteriors."""

    @abstractmethod
    def rule(self, inner: Rule) -> Rule:
        """The rule of the model, with this map."""

    @abstractmethod
    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> Self:
        """The map for other classes (C,). `known` are the classes of this map."""

    def of_parts(self, parts: ScoreParts, inner: Rule, rows: Any) -> ScoreParts:
        """The parts of the calibrated log-posteriors, from those of the model."""
        raise VerosimError(
            "An isotonic calibration cannot be explained by columns, because its map is not a "
            "multiple of the log-odds.",
            'Use calibrate(…, method="temperature"), or explain the model inside: model.model_.',
        )

    @abstractmethod
    def program(self, inner: Program, state: State) -> Program:
        """The program of calibrated posteriors, from that of the model and its state."""

    @classmethod
    def cross_fitted(
        cls, inputs: np.ndarray, codes: np.ndarray, w: np.ndarray, parts: np.ndarray
    ) -> tuple[Self, np.ndarray]:
        """The map of all rows, and (n, C) log p̂ of each part by the map of the other parts."""
        out = np.empty_like(cls.log_posteriors(inputs))
        for f in np.unique(parts):
            test = parts == f
            out[test] = cls.fit(inputs[~test], codes[~test], w[~test])(inputs[test])
        return cls.fit(inputs, codes, w), out


@dataclass(frozen=True)
class Temperature(PosteriorMap):
    """log p̂ = τ log p, normalised: more confident for τ > 1, less for τ < 1, in the same order."""

    tau: float

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(n, C) calibrated log-posteriors."""
        scaled = self.tau * inputs
        return normalised_logs(scaled)

    def of_parts(self, parts: ScoreParts, inner: Rule, rows: Any) -> ScoreParts:
        """The temperature multiplies all parts and the prior."""
        return parts.scaled(self.tau)

    def program(self, inner: Program, state: State) -> Program:
        """The tempered posterior of the program of the model."""
        return inner.of_posterior([tempered(inner, self.tau)], np.zeros(len(inner.classes)))

    def rule(self, inner: Rule) -> Rule:
        """The rule of the model, with this temperature."""
        return CalibratedRule(inner.log_prior, inner.params, inner.columns, inner, self)

    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> Temperature:
        """The same temperature: it does not depend on the classes."""
        return self

    @classmethod
    def fit(cls, inputs: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Temperature:
        """The minimum of Σ w (log Σ_k p_k^τ − τ log p_y) + (τ − log τ), which is convex in τ.

        The last term is a Gamma prior with its mode at τ = 1 and the strength of one row. Without
        it, τ is infinite if every row is predicted correctly.
        """
        rows = TemperedRows.of(inputs, codes, w)
        search = TemperatureSearch()
        while not search.is_done:
            search = search.moved(rows.slopes(search.tau))
        return cls(search.tau)


@dataclass(frozen=True)
class TemperedRows:
    """Rows with a posterior of their class above 0. τ cannot change a posterior of 0."""

    a: np.ndarray  # (n, C) log p(k | x), 0 for the predicted class
    own: np.ndarray  # (n,) the same for the true class
    w: np.ndarray  # (n,)

    @classmethod
    def of(cls, log_p: np.ndarray, codes: np.ndarray, w: np.ndarray) -> TemperedRows:
        """The usable rows among those with log-posteriors (n, C), classes and weights (n,)."""
        own = log_p[np.arange(len(codes)), codes]
        usable = np.isfinite(own) & (w > 0)
        a, own, w = log_p[usable], own[usable], w[usable]
        top = a.max(axis=1, initial=-np.inf, keepdims=True)
        return cls(a - top, own - top[:, 0], w)

    def slopes(self, tau: float) -> np.ndarray:
        """(2,) the slope and the curvature of Σ w (log Σ_k p_k^τ − τ log p_y) in τ."""
        return np.array(kernels.temper(self.a, self.own, self.w, tau))


@dataclass(frozen=True)
class TemperatureSearch:
    """The search for the best τ by Newton's method in log τ, between bounds that enclose it.

    The rows of each step may be anywhere: the slopes of several sets of rows can be added.
    """

    at: float = 0.0  # log τ
    low: float = -np.inf
    high: float = np.inf
    tries: int = 0
    is_done: bool = False

    @property
    def tau(self) -> float:
        return float(np.exp(self.at))

    def moved(self, slopes: np.ndarray) -> TemperatureSearch:
        """The search after one more step, from the slope and the curvature at τ."""
        tau = self.tau
        value = slopes[0] + PRIOR_ROWS * (1 - 1 / tau)
        slope = tau * slopes[1] + PRIOR_ROWS / tau  # of the value in log τ, positive
        low, high = (self.at, self.high) if value < 0 else (self.low, self.at)
        step = -float(np.clip(value / slope, -FARTHEST_TRY, FARTHEST_TRY))
        after, tries = self.at + step, self.tries + 1
        if abs(step) < NEAREST_TRY:
            return TemperatureSearch(after, low, high, tries, True)
        at = after if low < after < high else 0.5 * (low + high)
        return TemperatureSearch(at, low, high, tries, tries == MOST_TRIES)


@dataclass(frozen=True)
class Isotonic(PosteriorMap):
    """p̂_k ∝ g_k(log-odds of k), with g_k increasing and piecewise linear, one for each class."""

    knots: tuple[tuple[np.ndarray, np.ndarray], ...]  # (log-odds, probability) of each class

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(n, C) calibrated log-posteriors."""
        log_p = inputs
        z = log_odds(log_p)
        p = np.column_stack([np.interp(z[:, k], *knots) for k, knots in enumerate(self.knots)])
        p += TIE_BREAK * np.exp(log_p)  # classes with equal p̂ keep the order of the model
        return np.log(p / p.sum(axis=1, keepdims=True))

    def rule(self, inner: Rule) -> Rule:
        """The rule of the model, with these maps."""
        return CalibratedRule(inner.log_prior, inner.params, inner.columns, inner, self)

    def program(self, inner: Program, state: State) -> Program:
        """An isotonic map of each class is not a term."""
        raise no_program(
            "its calibration is isotonic",
            'Use calibrate(…, method="temperature"), or the model inside: model_.program().',
        )

    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> Isotonic:
        """The maps of these classes; an error for a class that has no map."""
        at = positions(classes, known)
        if (at < 0).any():
            raise VerosimError(
                f"Class {plain_label(classes[at < 0][0])!r} is new, and the isotonic maps were "
                "fitted without it.",
                'Fit the calibrated model again, or use method="temperature".',
            )
        return Isotonic(tuple(self.knots[k] for k in at.tolist()))

    @classmethod
    def fit(cls, inputs: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Isotonic:
        """Isotonic regression (pool adjacent violators), one class against the others.

        Two rows are added: a row of the class below all others, and a row of another class above
        all others. So the lowest probability is 1 / (rows + 1) and not 0 (Laplace), and no log-loss
        is infinite.
        """
        z = log_odds(inputs)
        weights = np.concatenate([w, [1.0, 1.0]])
        knots = []
        for k in range(inputs.shape[1]):
            at = np.concatenate([z[:, k], [z[:, k].min() - 1, z[:, k].max() + 1]])
            hit = np.concatenate([codes == k, [1.0, 0.0]])
            fitted = IsotonicRegression(out_of_bounds="clip").fit(at, hit, weights)
            knots.append((fitted.X_thresholds_, fitted.y_thresholds_))
        return cls(tuple(knots))


def tempered(inner: Program, tau: float, **length: Any) -> TemperedTerm:
    """The log-posterior of a program times τ, which may depend on the length of a row."""
    reads = tuple(range(len(inner.readings)))
    return TemperedTerm(reads, "", inner.terms, inner.log_prior, float(tau), **length)


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """(n, C) log p(k | x) − log Σ_{l ≠ k} p(l | x), exact even if p rounds to 1."""
    n, C = log_p.shape
    rows, top = np.arange(n), log_p.argmax(axis=1)
    others = log_p.copy()
    others[rows, top] = -np.inf
    rest = np.log1p(-np.exp(np.minimum(others, np.log(0.5))))  # of the other classes
    rest[rows, top] = logsumexp(others, axis=1) if C > 1 else -np.inf
    return np.clip(log_p - rest, -MOST_LOG_ODDS, MOST_LOG_ODDS)


@dataclass(frozen=True)
class CalibratedRule(Rule):
    """A rule with a map of the posteriors; p(x) is that of the model."""

    inner: Rule
    mapping: PosteriorMap

    def log_posterior(self, X: Any) -> np.ndarray:
        return self._mapped(self.inner.log_posterior(X), X)

    def posterior(self, X: Any) -> np.ndarray:
        return np.exp(self.log_posterior(X))

    def discriminants(self, X: Any) -> np.ndarray:
        return self.log_posterior(X)

    def evidence(self, X: Any) -> np.ndarray:
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        log_p, evidence = self.inner.posterior_and_density(X)
        return self._mapped(log_p, X), evidence

    def attributed(self, X: Any, request: AttributionRequest) -> ScoreParts:
        return self.mapping.of_parts(self.inner.attributed(X, request), self.inner, X)

    def _mapped(self, log_p: np.ndarray, X: Any) -> np.ndarray:
        return self.mapping(self.mapping.inputs(log_p, self.inner, X))
