"""Settings of a mixture, by the log-loss on held-out rows.

    argmin − Σ w log p(y | x) / Σ w,   x held out

For shared and for own covariances: first the regularisation with the fewest components, then the
number of components, which rises until the log-loss rises, then a stronger regularisation.
Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from verosim.bayes.rule import Rule
from verosim.engines import summarise
from verosim.estimators.mixture.fitting import MixtureSettings, fit_mixture, white_rows
from verosim.estimators.mixture.rows import LabelledRows, WhiteRows
from verosim.folds.scores import own_log_proba
from verosim.stats import Statistic

COMPONENTS = (1, 2, 3, 5, 8)
REGULARISATION = (0.01, 0.1, 0.4)
PARTS = 4  # a quarter of the rows is held out
ROWS_FOR_ONE_SPLIT = 10_000  # with fewer rows, each quarter is held out in turn
LEAST_ROWS_PER_COMPONENT = 10


class Tried(NamedTuple):
    """Settings that were tried."""

    shared: bool
    regularisation: float
    components: int  # the largest number of components of a class


@dataclass(frozen=True)
class Choice:
    """The possible values of each setting, in increasing order."""

    shared: Sequence[bool]
    regularisation: Sequence[float]
    components: Sequence[np.ndarray]  # (C,) each

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return max(len(self.shared), len(self.regularisation), len(self.components)) > 1


@dataclass(frozen=True)
class _Split:
    """Training rows, and held-out rows with the priors of the training rows."""

    white: WhiteRows
    test: LabelledRows
    log_prior: np.ndarray  # (C,)


def limited(count: int, rows: np.ndarray) -> np.ndarray:
    """(C,) the components of classes with these numbers of rows, with enough rows for each."""
    return np.clip(rows // LEAST_ROWS_PER_COMPONENT, 1, count)


def numbers_to_try(rows: np.ndarray) -> list[np.ndarray]:
    """The numbers of components to try for classes with these numbers of rows; (C,) each."""
    found = [limited(count, rows) for count in COMPONENTS]
    return [one for i, one in enumerate(found) if i == 0 or (one != found[i - 1]).any()]


def choose(
    rows: LabelledRows,
    zero: Statistic,
    log_prior: Callable[[Statistic], np.ndarray],
    choice: Choice,
    settings: MixtureSettings,
) -> tuple[dict[Tried, float], MixtureSettings, np.ndarray]:
    """The log-loss of the settings that were tried, the best settings, and the components (C,)."""
    splits = _splits(rows, zero, log_prior, settings.seed)
    losses: dict[Tried, float] = {}
    wanted: dict[int, np.ndarray] = {}

    def loss(shared: bool, regularisation: float, components: np.ndarray) -> float:
        key = Tried(shared, regularisation, int(components.max()))
        wanted[key.components] = components
        one = replace(settings, shared=shared, regularisation=regularisation)
        losses[key] = _log_loss(splits, components, one, zero)
        return losses[key]

    for shared in choice.shared:
        first, *more = choice.components
        tried = [loss(shared, amount, first) for amount in choice.regularisation]
        at, least = int(np.argmin(tried)), min(tried)
        best = first
        for components in more:
            found = loss(shared, choice.regularisation[at], components)
            if found >= least:
                break
            best, least = components, found
        if best is not first and at + 1 < len(choice.regularisation):
            loss(shared, choice.regularisation[at + 1], best)
    key = min(losses, key=lambda one: losses[one])
    chosen = replace(settings, shared=key.shared, regularisation=key.regularisation)
    return losses, chosen, wanted[key.components]


def _log_loss(
    splits: list[_Split], wanted: np.ndarray, settings: MixtureSettings, zero: Statistic
) -> float:
    """The mean log-loss of the held-out rows of all splits."""
    loss = weight = 0.0
    for split in splits:
        params = fit_mixture(split.white, np.minimum(wanted, split.white.counts), settings)
        rule = Rule(split.log_prior, params, zero.axes.columns)
        log_p = own_log_proba(rule.log_posterior(split.test.X), split.test.codes)
        loss -= float(split.test.weights @ log_p)
        weight += float(split.test.weights.sum())
    return loss / weight if weight else 0.0


def _splits(
    rows: LabelledRows,
    zero: Statistic,
    log_prior: Callable[[Statistic], np.ndarray],
    seed: int,
) -> list[_Split]:
    """The splits: a quarter of each class is held out, once or each quarter in turn."""
    parts = _parts(rows.codes, np.random.default_rng(seed))
    out = []
    for part in range(1 if len(rows.codes) >= ROWS_FOR_ONE_SPLIT else PARTS):
        train, test = rows.take(parts != part), rows.take(parts == part)
        if len(test.codes):
            statistic = summarise(train.source(), zero)
            white = white_rows(train, statistic, quiet=True)
            out.append(_Split(white, test, log_prior(statistic)))
    return out


def _parts(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) the part of each row, 0 to 3. The rows of each class are divided at random.

    The only row of a class is never held out: its part is −1.
    """
    out = np.empty(len(codes), dtype=np.intp)
    first = 0
    for c in np.unique(codes).tolist():
        at = rng.permutation(np.flatnonzero(codes == c))
        out[at] = -1 if len(at) == 1 else (first + np.arange(len(at))) % PARTS
        first += len(at)
    return out
