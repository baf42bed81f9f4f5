"""An expert of a pool: columns and pairs of columns, with weights learned on held-out rows.

    score_k(x) = β_k + Σ_j w_j log p(x_j | k) + Σ_ij u_ij s_ij(k),   w ≥ 0, u ≥ 0

s_ij(k) is the interaction of two columns (`densities.interactions`), and the weights are those of
`validate.column_weights`. The counts are those of AODE, so both share one statistic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from verosim.axes.groups import union_of_labels
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data.labels import values_of_classes
from verosim.data.readings import CellReading
from verosim.densities import ClassScores
from verosim.densities.attribution import Attribution, AttributionRequest, summed_by_owner
from verosim.densities.dependence import informative_pairs
from verosim.densities.interactions import ROWS_PER_PAIR, Interactions
from verosim.densities.one_dependence import log_code_shares
from verosim.densities.terms import CodeTerm, Term
from verosim.engines import one_blas_thread
from verosim.estimators.aode import OneDependenceSpec
from verosim.stats import Statistic
from verosim.validate.column_weights import COMMON_STRENGTH, ColumnWeights, clipped_evidence
from verosim.validate.weight_likelihood import Evidence, Likelihood

MOST_PAIRS = 60
STRENGTHS = (10.0, 0.3)  # λ, the strength in rows of equal weights
ENOUGH_TO_POOL = 1e-3  # nats; the last step towards the weights is expected to gain less
EVIDENCE_BUDGET = 1 << 20  # numbers in the evidence of the rows that weights are learned from


@dataclass(frozen=True)
class PairScores(ClassScores):
    """The evidence of codes and pairs of codes against each class, and their weights."""

    has_attribution: ClassVar[bool] = True

    log_share: np.ndarray  # (J, C) log p(x_j | k), at most 0 and at least −100 after the largest
    interactions: Interactions
    log_prior: np.ndarray  # (C,)
    weights: ColumnWeights | None

    @property
    def n_parameters(self) -> int:
        return int(self.log_share.size + self.interactions.table.size)

    def read(self, rows: Any) -> Any:
        return rows

    def evidence(self, block: np.ndarray) -> Evidence:
        """The evidence of rows of cells (n, d), from which weights are learned."""
        found, (n, d) = self.interactions, block.shape
        against = np.empty((n, len(self.log_prior), d + len(found.pairs)))
        against[:, :, :d] = self.log_share[found.codes.encode(block)[0]].transpose(0, 2, 1)
        found.features(block, against[:, :, d:])
        names = tuple(found.columns.name(j) for j in range(block.shape[1]))
        log_prior = np.repeat(self.log_prior[None], len(block), axis=0)
        return Evidence(against, log_prior, names, found.names)

    @cached_property
    def _weighted(self) -> tuple[np.ndarray, Interactions]:
        """The shares of columns and the interactions, multiplied by their weights."""
        assert self.weights is not None
        found = self.interactions
        of_code = self.weights.weights[found.codes.column_of()]
        weighted = found.weighted(self.weights.of_pairs(found.names))
        return of_code[:, None] * self.log_share, weighted

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """Half of the interaction of two columns belongs to each of them.

        That is the Shapley value of the game in which a pair counts if both columns are there.
        """
        share, found = self._weighted
        parts = share[found.codes.encode(block)[0]].transpose(0, 2, 1).copy()  # (n, C, d)
        half = 0.5 * found.features(block)  # (n, C, P)
        for p, (i, j) in enumerate(found.pairs):
            parts[:, :, i] += half[:, :, p]
            parts[:, :, j] += half[:, :, p]
        return Attribution(summed_by_owner(parts, request.owner))

    def readings(self, block: tuple[CellReading, ...]) -> tuple[CellReading, ...]:
        """The codes in place of the cells."""
        return self.interactions.readings(block)

    def terms(self) -> tuple[Term, ...]:
        share, found = self._weighted
        columns = np.split(share, found.codes.first[1:-1])
        return (*(CodeTerm((j,), table) for j, table in enumerate(columns)), *found.terms())

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        share, found = self._weighted
        places = found.codes.encode(block)[0]
        scores = np.zeros((len(block), share.shape[1])) if out is None else out
        scores[...] = 0.0
        for j in range(places.shape[1]):
            scores += share[places[:, j]]
        found.add(block, scores)
        return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedPairsSpec(OneDependenceSpec):
    """The settings of weighted columns and pairs. The weights are learned by the pool."""

    weights: ColumnWeights | None = None
    classes: np.ndarray | None = None  # (C,) the classes of the offsets

    @property
    def learns_in_pool(self) -> bool:
        return True

    @property
    def is_density(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return "AODE"  # the same statistic

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"columns": self.columns, "bins": self.bins}

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        known = {name: tuned[name] for name in ("weights", "classes") if name in tuned}
        return replace(self, **known) if known else self

    def offsets(self, classes: np.ndarray) -> np.ndarray:
        """(C,) the offsets of some classes; a class that is new has none."""
        if self.weights is None or self.classes is None:
            return np.zeros(len(classes))
        return values_of_classes(self.weights.offsets, self.classes, classes)

    def of_classes(self, classes: np.ndarray) -> Self:
        if self.weights is None:
            return self
        weights = replace(self.weights, offsets=self.offsets(classes))
        return replace(self, weights=weights, classes=classes)

    def averaged(self, other: WeightedPairsSpec, share: float) -> WeightedPairsSpec:
        """The settings with the mean of two weights; `share` is the part of the first."""
        assert self.weights is not None
        assert other.weights is not None
        assert self.classes is not None
        assert other.classes is not None
        classes = union_of_labels(self.classes, other.classes)
        mine = replace(self.weights, offsets=self.offsets(classes))
        theirs = replace(other.weights, offsets=other.offsets(classes))
        return replace(self, weights=mine.averaged(theirs, share), classes=classes)

    def estimate(self, statistic: Any) -> PairScores:
        most = min(MOST_PAIRS, int(statistic.weight.sum() / ROWS_PER_PAIR))
        found = Interactions.of(statistic, informative_pairs(statistic, most))
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        classes = statistic.axes.groups.classes
        log_prior = self.log_prior(classes, weight, rows, streaming=True)
        known = np.isfinite(log_prior)[None]
        share = clipped_evidence(log_code_shares(statistic)[..., None], known)[..., 0]
        return PairScores(share, found, log_prior, self.weights)

    def rule(self, params: Any, statistic: Statistic, streaming: bool = False) -> Decision:
        offsets = self.offsets(statistic.axes.groups.classes)
        return Decision(params.log_prior + offsets, params, statistic.axes.columns)


class WeightedPairs:
    """The settings of the expert, as an estimator has them."""

    def __init__(self, bins: int | str = 12) -> None:
        self.bins = bins

    def __repr__(self) -> str:
        return f"WeightedPairs(bins={self.bins!r})"

    def spec(self) -> WeightedPairsSpec:
        """The settings as a spec."""
        return WeightedPairsSpec(name=type(self).__name__, bins=self.bins)


def learned_weights(
    evidence: Evidence, codes: np.ndarray, v: np.ndarray, near: Sequence[ColumnWeights] = ()
) -> list[ColumnWeights]:
    """The weights of held-out rows for each strength λ that may be the best, the best first.

    `near` are the weights of similar rows, from which these are found in fewer steps.
    """
    rows = _some_rows(evidence)
    some = evidence[rows]
    likelihood = Likelihood.of(some, codes[rows], v[rows])
    with one_blas_thread:
        path = likelihood.path(
            [one.strength for one in near] or STRENGTHS,
            COMMON_STRENGTH,
            [(one.theta(some), None) for one in near],
            ENOUGH_TO_POOL,
        ).near_best()
    order = np.argsort([-mode.log_evidence for mode in path.modes], kind="stable")
    return [ColumnWeights.at(path.modes[at].theta, path.priors[at], some) for at in order]


def cross_fitted_weights(
    evidence: Evidence, codes: np.ndarray, v: np.ndarray, parts: np.ndarray
) -> tuple[ColumnWeights, np.ndarray]:
    """The weights of all rows, and (n, C) log p̂ of each part by the weights of the others."""
    rows = _some_rows(evidence, 2 * EVIDENCE_BUDGET)  # each part has fewer
    found, without = ColumnWeights.without_parts(
        evidence[rows], codes[rows], v[rows], parts[rows], STRENGTHS, ENOUGH_TO_POOL
    )
    out = np.empty_like(evidence.log_prior)
    for part, weights in without.items():
        test = parts == part
        out[test] = weights(evidence[test])
    return found, out


def _some_rows(evidence: Evidence, budget: int = EVIDENCE_BUDGET) -> np.ndarray:
    """The rows that weights are learned from: all, or some at equal steps if there are many."""
    return np.arange(0, len(evidence.against), max(1, -(-evidence.against.size // budget)))
