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
from typing import Any

import numpy as np

from verosim.bayes.explain import ScoreParts
from verosim.bayes.program import Program
from verosim.bayes.rule import Rule
from verosim.data import SparseRows
from verosim.data.labels import values_of_classes
from verosim.data.sources import CELLS_PART
from verosim.densities.attribution import AttributionRequest
from verosim.densities.interactions import Interactions
from verosim.densities.terms import EvidenceTerm, Term
from verosim.engines import one_blas_thread
from verosim.kinds.cell_reader import CellReader
from verosim.linalg import normalised_logs
from verosim.models import State
from verosim.terminal import table_lines
from verosim.validate.weight_likelihood import ENOUGH, Evidence, Likelihood, Prior

PENALTY_STRENGTHS = (1000.0, 100.0, 10.0, 1.0)  # λ, the strength in rows of equal weights
COMMON_STRENGTH = 1.0  # the strength in rows of τ = 1
MOST_EVIDENCE = 100.0  # nats of one cell against a class; more comes from far in a tail

LEAST_SHOWN = 0.005  # pairs with smaller weights are not printed


def clipped_evidence(parts: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n, C, d) the evidence of each cell against each class, from −`MOST_EVIDENCE` to 0.

    `known`, (n, C) or (1, C), marks the classes with training rows. Without the limit, one variance
    near zero gives a cell 1e9 nats, and the weight of its column would be near zero too. A cell
    that is impossible in all of these classes is the same evidence against each of them.
    """
    top = parts.max(axis=1, where=known[:, :, None], initial=-np.inf, keepdims=True)
    against = parts - np.where(np.isneginf(top), 0.0, top)
    return np.clip(against, -MOST_EVIDENCE, 0.0, out=against)


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
        every = np.concatenate([self.weights, self.of_pairs(evidence.pairs)])
        scores = evidence.log_prior + self.offsets + evidence.against @ every
        return normalised_logs(scores)

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """The weights of these pairs; 0 for a pair that no fold has chosen."""
        known = dict(zip(self.pairs, self.pair_weights.tolist(), strict=True))
        return np.array([known.get(pair, 0.0) for pair in pairs])

    def theta(self, evidence: Evidence) -> np.ndarray:
        """(d + P + C,) these weights as θ = (w, u, β) of the features of some evidence."""
        return np.concatenate([self.weights, self.of_pairs(evidence.pairs), self.offsets])

    def averaged(self, other: ColumnWeights, share: float) -> ColumnWeights:
        """The mean of two weights of the same columns; `share` is the part of the first."""
        pairs = tuple(dict.fromkeys((*self.pairs, *other.pairs)))
        rest = 1.0 - share
        return replace(
            self,
            weights=share * self.weights + rest * other.weights,
            offsets=share * self.offsets + rest * other.offsets,
            pair_weights=share * self.of_pairs(pairs) + rest * other.of_pairs(pairs),
            pairs=pairs,
        )

    def rule(self, inner: Rule) -> WeightedRule:
        """The rule of the model, with these weights."""
        log_prior, found = inner.log_prior + self.offsets, inner.params.interactions
        if found is not None:
            found = found.weighted(self.of_pairs(found.names))
        return WeightedRule(log_prior, inner.params, inner.columns, inner, self.weights, found)

    def program(self, inner: Program, state: State) -> Program:
        """The clipped evidence of each column times its weight. Offsets join the prior."""
        known = tuple(np.isfinite(inner.log_prior).tolist())
        terms: list[Term] = [
            EvidenceTerm(
                one.reads, (one.moved({j: i for i, j in enumerate(one.reads)}),),
                float(self.weights[one.reads[0]]), MOST_EVIDENCE, known,
            )
            for term in inner.terms for one in term.by_column()
        ]  # fmt: skip
        found: Interactions | None = state.params.interactions
        if found is not None and state.schema is not None:
            first, more = len(inner.readings), found.readings(CellReader(state.schema).readings)
            pairs = found.weighted(self.of_pairs(found.names)).terms()
            terms += [term.moved(range(first, first + len(more))) for term in pairs]
            inner = replace(inner, readings=(*inner.readings, *more))
        return inner.of_posterior(terms, inner.log_prior + self.offsets)

    def for_classes(self, known: np.ndarray, classes: np.ndarray) -> ColumnWeights:
        """The weights for other classes. The offset of a new class is 0."""
        return replace(self, offsets=values_of_classes(self.offsets, known, classes))

    def __str__(self) -> str:
        order = np.argsort(-self.pair_weights, kind="stable")
        shown = [p for p in order if self.pair_weights[p] >= LEAST_SHOWN]
        names = [*self.names, *(" × ".join(self.pairs[p]) for p in shown)]
        rows = zip(names, [*self.weights, *self.pair_weights[shown]], strict=True)
        return "\n".join(table_lines([(name, f"{weight:6.2f}") for name, weight in rows], (1,)))

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
        likelihood = Likelihood.of(evidence, codes, w)
        with one_blas_thread:
            path = likelihood.path(strengths, common)
            prior, mode = path.best
            return cls.at(likelihood.newton_step(prior, mode.theta), prior, evidence)

    @classmethod
    def at(cls, theta: np.ndarray, prior: Prior, evidence: Evidence) -> ColumnWeights:
        """The weights in θ = (w, u, β)."""
        w, u, offsets = np.split(theta, [prior.d, prior.d + prior.P])
        return cls(w, offsets, float(prior.strength), evidence.names, u, evidence.pairs)

    @classmethod
    def cross_fitted(
        cls, evidence: Evidence, codes: np.ndarray, w: np.ndarray, parts: np.ndarray
    ) -> tuple[ColumnWeights, np.ndarray]:
        """The weights of all rows, and (n, C) log p̂ of each part by the weights of the others."""
        found, without = cls.without_parts(evidence, codes, w, parts)
        out = np.empty_like(evidence.log_prior)
        for f, weights in without.items():
            test = parts == f
            out[test] = weights(evidence[test])
        return found, out

    @classmethod
    def without_parts(
        cls,
        evidence: Evidence,
        codes: np.ndarray,
        w: np.ndarray,
        parts: np.ndarray,
        strengths: Sequence[float] = PENALTY_STRENGTHS,
        enough: float = ENOUGH,
    ) -> tuple[ColumnWeights, dict[int, ColumnWeights]]:
        """The weights of all rows, and for each part the weights of the other parts.

        The weights of the other parts are near those of all rows. So Newton's method starts there,
        with the Hessian of all rows minus that of the part. Its last step is expected to gain less
        than `enough` nats.
        """
        likelihood = Likelihood.of(evidence, codes, w)
        out: dict[int, ColumnWeights] = {}
        with one_blas_thread:
            path = likelihood.path(strengths, COMMON_STRENGTH, (), enough).near_best()
            strengths = [prior.strength for prior in path.priors]
            curvatures = [likelihood.hessian(mode.theta) for mode in path.modes]
            for f in np.unique(parts).tolist():
                part = likelihood.only(parts == f)
                near = [
                    (mode.theta, H - part.hessian(mode.theta))
                    for mode, H in zip(path.modes, curvatures, strict=True)
                ]
                rest = likelihood.only(parts != f).path(strengths, COMMON_STRENGTH, near, enough)
                prior, mode = rest.best
                out[f] = cls.at(mode.theta, prior, evidence)
            prior, mode = path.best
            return cls.at(likelihood.newton_step(prior, mode.theta), prior, evidence), out


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

    def attributed(self, X: Any, request: AttributionRequest) -> ScoreParts:
        """The clipped evidence of each column times its weight. Pairs are lines of their own."""
        block = self.params.read(X)
        found = self.params.attribution(block, replace(request, owner=None))
        parts = clipped_evidence(found.parts, np.isfinite(self.log_prior)[None])
        tokens = tuple(one.scaled(self.weights[one.player]) for one in found.tokens)
        lines: dict[str, np.ndarray] = {}
        if self.interactions is not None and self.interactions.pairs:
            each = self.interactions.features(block[CELLS_PART])  # (n, C, P)
            lines = {
                " × ".join(pair): each[:, :, p] for p, pair in enumerate(self.interactions.names)
            }
        weighted = replace(found, parts=parts * self.weights, lines=lines, tokens=tokens)
        return ScoreParts.of(self.log_prior, weighted.by_owner(request.owner))

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
