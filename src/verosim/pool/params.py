"""The parameters of a pool: the rules of its experts, and how they are combined.

    log p(k | x) = log π_k + s_k(x) − a common term,   s_k(x) = b_k + Σ_e w_e ℓ_e(k) − log π⁰_k

π⁰ are the priors of the training rows, which the experts contain, and π those in use. The density
of rows is another model, the mixture of the members that are densities of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from verosim.axes import Columns
from verosim.bayes.rule import Decision
from verosim.bayes.stacked import log_posteriors
from verosim.cached import cached_property
from verosim.data.sources import Parts
from verosim.densities import Params
from verosim.densities.attribution import Attribution, AttributionRequest
from verosim.densities.base import into
from verosim.engines import use_threads
from verosim.errors import VerosimError, listed
from verosim.estimators.density_method import NotADensity
from verosim.pool.attribution import pooled_attribution
from verosim.pool.experts import AS_CELLS, Expert, grouped
from verosim.pool.mixing import Mixing
from verosim.pool.texts import log_lengths


@dataclass(frozen=True)
class PoolParams(Params):
    """The rules of the experts by name, and the mixing."""

    members: tuple[Expert, ...]
    rules: Mapping[str, Decision]
    mixing: Mixing
    classes: np.ndarray  # (C,)
    log_shares: np.ndarray  # (C,) log π⁰_k

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        each: list[Any] = [self.rules[name].params for name in self.mixing.names]
        return sum(params.n_parameters for params in each)

    @cached_property
    def generative(self) -> Params:
        """The mixture of the members that are densities of the columns."""
        some = [expert for expert in self.members if expert.is_density]
        if not some:
            raise NotADensity(
                "The density of a pool comes from the experts AODE, KDB and TAN, and this pool has "
                f"none of them: {listed([expert.name for expert in self.members])}.",
                "Add one of them to experts, and use keep='all'.",
            )
        parts: Any = [self.rules[expert.name].params for expert in some]
        return MemberMixture(tuple(parts), density_weights(some, self.mixing))

    def read(self, rows: Any) -> Any:
        return rows

    @cached_property
    def start(self) -> np.ndarray:
        """(C,) b_k − log π⁰_k, where a class without rows is impossible."""
        offsets = self.mixing.offsets_of(self.classes)
        return np.where(np.isfinite(self.log_shares), offsets - self.log_shares, -np.inf)

    def weighted(self, block: Parts) -> Iterator[tuple[int, np.ndarray]]:
        """The number of every expert with (n, C) w_e ℓ_e: what it adds to the scores."""
        numbers = {name: e for e, name in enumerate(self.mixing.names)}
        used = [expert for expert in self.members if expert.name in numbers]
        lengths = {reading: log_lengths(rows) for reading, rows in block.items()}
        for group in grouped(used):  # they read rows in the same way, so they share it
            rules = [self.rules[name] for name in group.names]
            with use_threads(1):  # the rows of a block are scored in one of several threads
                found = log_posteriors(rules, block[group.reading])
            for name, log_p in zip(group.names, found, strict=True):
                e = numbers[name]
                tempered = self.mixing.clipped(log_p, e, lengths[group.reading])
                yield e, self.mixing.weights[e] * tempered

    def parts(self, block: Parts) -> np.ndarray:
        """(E, n, C) w_e ℓ_e of all experts."""
        found = dict(self.weighted(block))
        return np.stack([found[e] for e in range(len(found))])

    def offsets(self, log_prior: np.ndarray) -> np.ndarray:
        """(C,) b_k + log π_k − log π⁰_k, where a class without rows is impossible."""
        return np.where(np.isfinite(log_prior), self.start + log_prior, -np.inf)

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (block.shape[0], len(self.classes)))
        out[...] = self.start
        for _, part in self.weighted(block):
            out += part
        return out

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.generative.log_density(block, out)

    def contributions(self, block: Any) -> np.ndarray:
        raise VerosimError(
            "The posteriors of a pool are not a sum over columns.",
            "Use expert_scores(X), which gives what each expert adds.",
        )

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The parts of the experts times w_e τ_e, added by column.

        An expert without parts, and what clipping changes, are lines of their own.
        """
        return pooled_attribution(self, block, request)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        found: np.ndarray = self.generative.sample(classes, rng)
        return found

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        raise VerosimError(
            "A pool has no likelihood, because its posteriors are combined.",
            "Compare models by their predictions of held-out rows: cross_validate(model, X, y).",
        )

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """Every expert checks its own scores."""


def density_weights(experts: Sequence[Expert], mixing: Mixing) -> np.ndarray:
    """(M,) the weights of densities in the mixture of a pool. They sum to 1."""
    share = dict(zip(mixing.names, mixing.weights.tolist(), strict=True))
    weights = np.array([share[expert.name] for expert in experts])
    weights = weights if weights.sum() > 0 else np.ones(len(experts))
    found: np.ndarray = weights / weights.sum()
    return found


@dataclass(frozen=True)
class MemberMixture(Params):
    """A mixture of densities of rows that were read as cells."""

    parts: tuple[Params, ...]
    weights: np.ndarray  # (M,) they sum to 1

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return sum(part.n_parameters for part in self.parts)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        each = np.stack([part.log_density(block[AS_CELLS]) for part in self.parts])  # (M, n, C)
        found: np.ndarray = logsumexp(each, axis=0, b=self.weights[:, None, None])
        if out is None:
            return found
        out[...] = found
        return out

    def contributions(self, block: Any) -> np.ndarray:
        raise VerosimError(
            "The density of a mixture is not a sum over columns.", "Use log_density(X)."
        )

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) cells, each row from one member."""
        member = rng.choice(len(self.parts), size=len(classes), p=self.weights)
        out: np.ndarray | None = None
        for m, part in enumerate(self.parts):
            at = np.flatnonzero(member == m)
            drawn = part.sample(classes[at], rng)
            out = np.empty((len(classes), drawn.shape[1]), drawn.dtype) if out is None else out
            out[at] = drawn
        assert out is not None
        return out

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        raise VerosimError(
            "The likelihood of a mixture needs the rows, and the statistic has only counts.",
            "Use log_density(X).",
        )
