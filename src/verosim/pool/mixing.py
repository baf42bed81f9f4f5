"""How the experts of a pool are combined: a weighted sum of their tempered log-posteriors.

    ℓ_e(k) = max( log softmax_k(τ_e m^(−c_e) log p_e(k | x)), −6 − log C )
    log p(k | x) = b_k + Σ_e w_e ℓ_e(k) − log Σ_l exp(b_l + Σ_e w_e ℓ_e(l)),   w_e ≥ 0

m is the number of words of a text, plus 1, and c_e = 0 for experts that do not read texts. The
temperatures τ_e, the exponents c_e, the weights w_e and the offsets b_k are learned on held-out
rows:

    minimise  − Σ v log p(y | x) + 8 ‖w − 1/E‖² + ‖b‖²

with v the weights of the rows. Experts with a weight of zero are dropped.
References: Genest & Zidek (1986), Combining probability distributions (logarithmic pools); Wolpert
(1992), Stacked generalization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from verosim.axes.groups import union_of_labels
from verosim.cached import cached_property
from verosim.data.labels import values_of_classes
from verosim.validate.calibration_maps import Temperature
from verosim.validate.length_map import LengthMap

LOWEST_BELOW_UNIFORM = 6.0  # nats below the uniform share at which a log-posterior is cut
PENALTY = 8.0  # of a weight that differs from 1/E
LEAST_WEIGHT = 1e-6  # below it an expert is dropped
LOWEST = -1e3  # of a log-posterior before it is tempered
MIXING_TOLERANCE = 1e-8  # relative, of the loss
SCORE_TOLERANCE = 1e-5  # the same, for weights that only give the score of the pool
ROWS_FOR_TEMPERATURES = 4_000  # more rows change a temperature very little
SCORE_PARTS = 3  # of the held-out rows, for the score of the pool itself


@dataclass(frozen=True, eq=False)
class Mixing:
    """Temperatures, weights and offsets of the experts of a pool."""

    names: tuple[str, ...]  # of the experts
    temperatures: np.ndarray  # (E,) τ_e
    exponents: np.ndarray  # (E,) c_e of the lengths of texts
    weights: np.ndarray  # (E,) w_e
    offsets: np.ndarray  # (C,) b_k
    classes: np.ndarray  # (C,)
    rows: float  # the weight of the rows of the model when they were learned
    since: float = 0.0  # the weight of the rows that were added or removed since then

    @property
    def is_old(self) -> bool:
        """Whether more rows have changed than the weights were learned on."""
        return self.since > self.rows

    def clipped(
        self, log_p: np.ndarray, e: int, log_length: np.ndarray | None = None
    ) -> np.ndarray:
        """(n, C) ℓ_e of the log-posteriors of expert e, for texts with these log m (n,)."""
        return clipped(log_p, _at_length(self.temperatures[e], self.exponents[e], log_length))

    def temperature(self, e: int, log_length: np.ndarray | None = None) -> float | np.ndarray:
        """τ_e, or (n, 1) τ_e m^(−c_e) for texts with these log m (n,)."""
        return _at_length(self.temperatures[e], self.exponents[e], log_length)

    def offsets_of(self, classes: np.ndarray) -> np.ndarray:
        """(C,) the offsets of some classes; a class that is new has none."""
        return values_of_classes(self.offsets, self.classes, classes)

    def of_classes(self, classes: np.ndarray) -> Mixing:
        """The same mixing with the offsets of these classes only."""
        return replace(self, offsets=self.offsets_of(classes), classes=classes)

    def kept(self) -> Mixing:
        """Only the experts with a weight, and at least one."""
        at = np.flatnonzero(self.weights > LEAST_WEIGHT)
        at = at if len(at) else np.array([self.weights.argmax()])
        names = tuple(self.names[e] for e in at)
        return self._taken(names, at)

    def averaged(self, other: Mixing, mine: float, theirs: float) -> Mixing:
        """The mean of two mixings of the same experts, weighted by the rows of the two models."""
        share = mine / (mine + theirs)
        classes = union_of_labels(self.classes, other.classes)
        return replace(
            self,
            temperatures=share * self.temperatures + (1 - share) * other.temperatures,
            exponents=share * self.exponents + (1 - share) * other.exponents,
            weights=share * self.weights + (1 - share) * other.weights,
            offsets=share * self.offsets_of(classes) + (1 - share) * other.offsets_of(classes),
            classes=classes,
            rows=share * self.rows + (1 - share) * other.rows,
            # For the weights of each model, the rows of the other model are new.
            since=share * (self.since + theirs) + (1 - share) * (other.since + mine),
        )

    def ordered(self, names: Sequence[str]) -> Mixing:
        """The same mixing with the experts in another order."""
        at = [self.names.index(name) for name in names]
        return self._taken(tuple(names), at)

    def _taken(self, names: tuple[str, ...], at: Any) -> Mixing:
        """The experts at some places."""
        return replace(
            self, names=names, temperatures=self.temperatures[at], exponents=self.exponents[at],
            weights=self.weights[at],
        )  # fmt: skip


def _at_length(tau: float, exponent: float, log_length: np.ndarray | None) -> float | np.ndarray:
    """The temperature, or (n, 1) those of texts with these log m (n,)."""
    if log_length is None or exponent == 0.0:
        return float(tau)
    found: np.ndarray = float(tau) * np.exp(-exponent * log_length)[:, None]
    return found


def clipped(log_p: np.ndarray, temperature: float | np.ndarray) -> np.ndarray:
    """(n, C) tempered log-posteriors, none far below the uniform share."""
    scaled: np.ndarray = temperature * np.maximum(log_p, LOWEST)
    scaled -= log_sum(scaled)
    return np.maximum(scaled, floor_of(log_p.shape[1]), out=scaled)


def floor_of(classes: int) -> float:
    """The smallest tempered log-posterior for this number of classes."""
    return float(-LOWEST_BELOW_UNIFORM - np.log(classes))


def log_sum(scores: np.ndarray) -> np.ndarray:
    """(n, 1) log Σ_k exp of finite scores (n, C)."""
    columns = scores.T.copy()  # sums over few classes are faster this way
    top = columns.max(axis=0)
    columns -= top
    total: np.ndarray = np.log(np.exp(columns, out=columns).sum(axis=0)) + top
    return total[:, None]


class HeldOutFeatures:
    """The tempered log-posteriors ℓ_e of held-out rows, from which a mixing is learned."""

    def __init__(
        self,
        log_p: Sequence[np.ndarray],
        codes: np.ndarray,
        weights: np.ndarray,
        log_lengths: Sequence[np.ndarray | None] | None = None,
    ) -> None:
        """`log_lengths` has for each expert (n,) log m, or None if it does not read texts."""
        self.codes, self.weights = codes, as_row_counts(weights)
        lengths = [None] * len(log_p) if log_lengths is None else log_lengths
        found = [self._temperature(*one) for one in zip(log_p, lengths, strict=True)]
        self.temperatures, self.exponents = np.array(found).reshape(-1, 2).T
        self.features = np.stack([
            clipped(one, _at_length(*how, length))
            for one, how, length in zip(log_p, found, lengths, strict=True)
        ])  # (E, n, C)  # fmt: skip

    def _temperature(self, log_p: np.ndarray, log_length: np.ndarray | None) -> tuple[float, float]:
        """The temperature of one expert, and the exponent of the length of a text."""
        some = slice(None, None, max(1, -(-len(self.codes) // ROWS_FOR_TEMPERATURES)))
        codes, v = self.codes[some], self.weights[some]
        if log_length is None:
            return Temperature.fit(log_p[some], codes, v).tau, 0.0
        rows = np.column_stack([log_p[some], log_length[some]])
        found = LengthMap.fit(rows, codes, v, offsets=False)
        return found.scale, found.exponent

    @cached_property
    def _solution(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights and offsets of all rows."""
        return logarithmic_pool(self.features, self.codes, self.weights)

    def mixing(self, names: Sequence[str], classes: np.ndarray, rows: float) -> Mixing:
        """The mixing of all held-out rows."""
        w, b = self._solution
        return Mixing(tuple(names), self.temperatures, self.exponents, w, b, classes, rows)

    def score(self) -> ExpertScore:
        """The score of the pool: the rows of each part are predicted by the weights of the rest."""
        out = np.empty(self.features.shape[1:])
        part_of = np.arange(len(self.codes)) % min(SCORE_PARTS, len(self.codes))
        for part in range(part_of.max() + 1):
            test, rest = part_of == part, part_of != part
            if rest.any():
                w, b = logarithmic_pool(
                    self.features[:, rest], self.codes[rest], self.weights[rest], self._solution,
                    SCORE_TOLERANCE,
                )  # fmt: skip
                out[test] = np.tensordot(w, self.features[:, test], 1) + b
        return self._scored(out - log_sum(out))

    def scores(self) -> list[ExpertScore]:
        """The score of every expert."""
        return [self._scored(one - log_sum(one)) for one in self.features]

    def _scored(self, log_p: np.ndarray) -> ExpertScore:
        n = len(self.codes)
        own, share = log_p[np.arange(n), self.codes], self.weights / self.weights.sum()
        loss = -float(share @ own)
        error = float(np.sqrt(share**2 @ (own + loss) ** 2))
        return ExpertScore(loss, error, float(share @ (log_p.argmax(axis=1) == self.codes)))


def as_row_counts(weights: np.ndarray) -> np.ndarray:
    """(n,) weights that count rows. Whole numbers do, and others are made to sum to n."""
    if (weights == np.floor(weights)).all():
        return weights
    scaled: np.ndarray = weights * (len(weights) / weights.sum())
    return scaled


class ExpertScore(NamedTuple):
    """The log-loss of held-out rows, its standard error, and the accuracy."""

    loss: float
    error: float
    accuracy: float


def logarithmic_pool(
    features: np.ndarray,
    codes: np.ndarray,
    v: np.ndarray,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tolerance: float = MIXING_TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """The weights (E,) and offsets (C,) for features (E, n, C)."""
    E, n, C = features.shape
    rows, target = np.arange(n), 1.0 / E
    # One class after the other: sums over few classes are faster this way.
    flat = np.ascontiguousarray(features.transpose(0, 2, 1)).reshape(E, C * n)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = theta[:E], theta[E:]
        scores = (w @ flat).reshape(C, n)
        scores += b[:, None]
        scores -= scores.max(axis=0)
        own = scores[codes, rows]
        rest = np.exp(scores, out=scores)  # (C, n) posteriors, then residuals
        total = rest.sum(axis=0)
        rest /= total
        value = -float(v @ (own - np.log(total)))
        rest[codes, rows] -= 1.0
        rest *= v
        value += PENALTY * float(((w - target) ** 2).sum()) + float(b @ b)
        slope = np.concatenate([flat @ rest.ravel(), rest.sum(axis=1)])
        slope[:E] += 2 * PENALTY * (w - target)
        slope[E:] += 2 * b
        return value, slope

    first = (np.full(E, target), np.zeros(C)) if start is None else start
    bounds = [(0.0, None)] * E + [(None, None)] * C
    found = minimize(
        loss, np.concatenate(first), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 200, "ftol": tolerance},
    )  # fmt: skip
    return found.x[:E], found.x[E:]
