"""Bayes' rule as a program, in log space.

δ_k(x) = log π_k + log p(x | k),   log p(x) = log Σ_k exp δ_k,   log p(k | x) = δ_k − log p(x)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.densities import ClassScores, Params
from verosim.engines import map_rows

JOINT, LOG_POSTERIOR, POSTERIOR, DISCRIMINANT = 0, 1, 2, 3


@dataclass(frozen=True)
class Decision:
    """A score of each of C classes: what it takes to decide between them."""

    log_prior: np.ndarray  # (C,) added to the scores
    params: ClassScores
    columns: Columns

    def score(self, block: Any, out: np.ndarray) -> np.ndarray:
        """(n, C) what the rows of a block say of each class, up to a term all classes share."""
        return self.params.log_ratio(block, out)

    def discriminants(self, X: Any) -> np.ndarray:
        """(n, C) δ_k(x) up to a term all classes share: linear in x where the model is."""
        return self._evaluate(X, self.score, DISCRIMINANT)[0]

    def posterior(self, X: Any) -> np.ndarray:
        """(n, C) p(k | x)."""
        return self._evaluate(X, self.score, POSTERIOR)[0]

    def log_posterior(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self._evaluate(X, self.score, LOG_POSTERIOR)[0]

    def decide(self, X: Any) -> np.ndarray:
        """(n,) the class number with the largest discriminant."""
        return self.discriminants(X).argmax(axis=1)

    def _evaluate(
        self, X: Any, score: Callable[..., np.ndarray], mode: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n = X.shape[0]
        out = np.empty((n, len(self.log_prior)))
        evidence = np.empty(n)

        def work(start: int, stop: int) -> None:
            block, part = self.params.read(X[start:stop]), out[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):  # named by `check` instead
                score(block, part)
            self.params.check(block, part, self.columns, start)
            kernels.normalise(part, self.log_prior, mode, evidence[start:stop])

        map_rows(work, X)
        return out, evidence


@dataclass(frozen=True)
class Rule(Decision):
    """Priors and densities of C classes: everything a prediction needs."""

    params: Params

    def joint(self, X: Any) -> np.ndarray:
        """(n, C) δ_k(x) = log π_k + log p(x | k)."""
        return self._evaluate(X, self.params.log_density, JOINT)[0]

    def evidence(self, X: Any) -> np.ndarray:
        """(n,) log p(x)."""
        return self._evaluate(X, self.params.generative.log_density, JOINT)[1]

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) log p(k | x) and (n,) log p(x), in one pass where one density gives both."""
        if self.params.generative is not self.params:
            return self.log_posterior(X), self.evidence(X)
        return self._evaluate(X, self.params.log_density, LOG_POSTERIOR)

    def sample(
        self, n: int, classes: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray]:
        """k ~ Cat(π) unless given, then x ~ p(x | k)."""
        if classes is None:
            classes = rng.choice(len(self.log_prior), size=n, p=np.exp(self.log_prior))
        return self.params.sample(classes, rng), classes


@dataclass(frozen=True)
class WidenedRule(Rule):
    """A rule over more classes than it has seen: the others are impossible."""

    inner: Any  # a Decision
    places: np.ndarray  # where the classes it has seen stand among all
    classes: int  # C

    def discriminants(self, X: Any) -> np.ndarray:
        return spread(self.inner.discriminants(X), self.places, self.classes)

    def posterior(self, X: Any) -> np.ndarray:
        return spread(self.inner.posterior(X), self.places, self.classes, 0.0)

    def log_posterior(self, X: Any) -> np.ndarray:
        return spread(self.inner.log_posterior(X), self.places, self.classes)

    def joint(self, X: Any) -> np.ndarray:
        return spread(self.inner.joint(X), self.places, self.classes)

    def evidence(self, X: Any) -> np.ndarray:
        found: np.ndarray = self.inner.evidence(X)
        return found

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        log_posterior, evidence = self.inner.posterior_and_density(X)
        return spread(log_posterior, self.places, self.classes), evidence


def widened(rule: Decision, places: np.ndarray, classes: int) -> Decision:
    """The rule over all classes, of which it has seen those at `places`."""
    if len(places) == classes:
        return rule
    params: Any = rule.params
    return WidenedRule(rule.log_prior, params, rule.columns, rule, places, classes)


def spread(
    scores: np.ndarray, places: np.ndarray, classes: int, empty: float = -np.inf
) -> np.ndarray:
    """(m, C, …) the scores of some classes among those of all."""
    if len(places) == classes:
        return scores
    out = np.full((len(scores), classes, *scores.shape[2:]), empty)
    out[:, places] = scores
    return out
