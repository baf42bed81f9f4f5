"""Mixtures of Gaussians: each class has a few components.

    p(x | k) = Σ_g w_g N(x; μ_g, Σ_g),   the sum is over the components g of class k

The components are found by EM on rows, so the parameters do not follow from sums alone.
Reference: Hastie & Tibshirani (1996), Discriminant analysis by Gaussian mixtures, Journal of the
Royal Statistical Society B 58, 155–176.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.cached import cached_property
from verosim.data.batch import BLOCK_CELLS
from verosim.densities.attribution import SAMPLED, SHAPLEY, Attribution, AttributionRequest
from verosim.densities.base import Density, Params, into
from verosim.densities.conditionals import MixtureConditionals
from verosim.densities.em import Convergence
from verosim.densities.estimates import Estimates
from verosim.densities.full_params import FullParams
from verosim.densities.gaussian_shapley import (
    FoundParts,
    attribution_by_pattern,
    sampled_parts,
    subset_densities,
    whitened_gaussians,
)
from verosim.densities.shapley import shapley_weights
from verosim.densities.terms import LogSumExpTerm, SumTerm, Term
from verosim.errors import VerosimError

MOST_EXACT_IN_MIXTURES = 8  # players; each row costs 2^p densities, so with more they are sampled


@dataclass(frozen=True)
class MixtureParams(Params):
    """The components of all classes. The components of a class are next to each other."""

    components: FullParams  # G components; they take the place of classes
    owner: np.ndarray  # (G,) the class of each component, in increasing order
    log_share: np.ndarray  # (G,) log w_g
    classes: int  # C
    fitted: np.ndarray  # (C,) Σ log p(x | k) over the training rows of each class
    convergence: Convergence

    @cached_property
    def starts(self) -> np.ndarray:
        """(C + 1,) the first component of each class."""
        return np.searchsorted(self.owner, np.arange(self.classes + 1))

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return self.components.n_parameters + len(self.owner) - self.classes

    def log_density(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return self._summed(self.components.log_density(block), out)

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """With one covariance, components differ by a linear function of x."""
        return self._summed(self.components.log_ratio(block), out)

    def _summed(self, scores: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """(n, C) log Σ_g w_g exp(score_g), from scores (n, G)."""
        out = into(out, (len(scores), self.classes))
        kernels.sum_components(scores, self.log_share, self.starts, out)
        return out

    def terms(self) -> tuple[Term, ...]:
        """log Σ_t exp(w_tk + s_tk): term t has the component t of each class that has so many."""
        most = np.diff(self.starts).max()
        place = self.starts[:-1] + np.arange(most)[:, None]  # (T, C)
        there = place < self.starts[1:]
        place = np.where(there, place, 0)
        log_weight = np.where(there, self.log_share[place], -np.inf)
        reads = tuple(range(len(self.components.used)))
        gaussians = self.components.terms()
        parts: list[Term] = [one.of_classes(at) for at in place for one in gaussians]
        if not parts:  # all columns are constant
            parts = [SumTerm(reads, (), np.zeros(self.classes)) for _ in place]
        return (LogSumExpTerm(reads, tuple(parts), log_weight),)

    def contributions(self, block: Any) -> np.ndarray:
        return self.attribution(block, AttributionRequest()).parts

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """Shapley values of the game v(S) = log Σ_g w_g N(x_S; μ_g, Σ_g)."""
        return attribution_by_pattern(
            self.components, block, request, self.classes, self._of_complete_rows
        )

    def _of_complete_rows(
        self, components: FullParams, block: np.ndarray, request: AttributionRequest
    ) -> FoundParts:
        gaussians = whitened_gaussians(components, request)
        p, C = gaussians.players, self.classes
        if not gaussians.few_players or p > MOST_EXACT_IN_MIXTURES:
            running = sampled_parts(gaussians, block, request, C, self._values_of_prefixes)
            return running.parts, running.errors, SAMPLED
        out = np.empty((len(block), C, p))
        step = max(1, BLOCK_CELLS // ((1 << p) * C))
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            each = subset_densities(gaussians, rows)  # (2^p, rows, G)
            values = self._summed(each.reshape(-1, len(self.owner)), None)
            found = shapley_weights(p).T @ values.reshape(1 << p, -1)  # (p, rows · C)
            out[start : start + step] = np.moveaxis(found.reshape(p, len(rows), C), 0, 2)
        return out, None, SHAPLEY

    def _values_of_prefixes(self, each: np.ndarray) -> np.ndarray:
        """(n, C, p) log Σ_g w_g exp(score_g), from scores (n, G, p)."""
        n, G, p = each.shape
        flat = np.ascontiguousarray(each.transpose(0, 2, 1)).reshape(n * p, G)
        return np.ascontiguousarray(self._summed(flat, None).reshape(n, p, -1).transpose(0, 2, 1))

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chosen = np.empty(len(classes), dtype=np.intp)
        for c in np.unique(classes).tolist():
            at = np.flatnonzero(classes == c)
            first, stop = self.starts[c : c + 2].tolist()
            share = np.exp(self.log_share[first:stop])
            chosen[at] = first + rng.choice(stop - first, size=len(at), p=share / share.sum())
        return self.components.sample(chosen, rng)

    @property
    def conditionals(self) -> MixtureConditionals:
        return MixtureConditionals(self)

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates:
        """The mean and the deviation of each class, over its components."""
        share, parts = np.exp(self.log_share), self.components
        pivot, shift = parts.about_one_pivot
        spread = np.broadcast_to(parts.variances, parts.pivot.shape)[:, j]
        centre = np.bincount(self.owner, share * shift[:, j], self.classes)  # (C,)
        apart = shift[:, j] - centre[self.owner]
        variance = np.bincount(self.owner, share * (spread + apart**2), self.classes)
        return Estimates.of_gaussian(pivot[j] + centre, variance, statistic.weight[:, 0])

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        """(C,) the log-likelihood of the training rows, known from the fit."""
        return self.fitted


@dataclass(frozen=True)
class MixtureDensity(Density):
    """A mixture that was fitted to rows. Sums alone do not determine it."""

    params: MixtureParams | None = None

    def estimate(self, statistic: Any) -> MixtureParams:
        if self.params is None:
            raise VerosimError(
                "A mixture is fitted to rows, and only sums are known here.",
                "Call fit with the rows.",
            )
        return self.params
