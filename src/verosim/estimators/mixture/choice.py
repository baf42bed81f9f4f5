"""Settings of a mixture, by the log-loss on held-out rows.

    argmin − Σ w log p(y | x) / Σ w,   x held out

For shared and for own covariances: first the regularisation with the fewest components, then the
number of components, which rises as long as the log-loss falls by more than one standard error of
the difference, then a stronger regularisation.
Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from verosim.bayes.rule import Rule
from verosim.engines import summarise
from verosim.estimators.mixture.fitting import MixtureSettings, fit_mixture, white_rows
from verosim.estimators.mixture.rows import LabelledRows, WhiteRows
from verosim.folds.scores import own_log_proba
from verosim.stats import Statistic

COMPONENTS = (1, 2, 3, 5, 8)
REGULARISATION = (0.01, 0.1, 0.4, 0.7)
PARTS = 4  # a quarter of the rows is held out
ROWS_FOR_ONE_SPLIT = 10_000  # with fewer rows, each quarter is held out in turn
LEAST_ROWS_PER_COMPONENT = 10
LEAST_GAIN = 0.005  # a smaller relative change of the log-loss is not visible


class Amount(NamedTuple):
    """How covariances are regularised."""

    regularisation: float
    sphere: bool

    def applied(self, settings: MixtureSettings, shared: bool) -> MixtureSettings:
        """The settings with this regularisation."""
        regularisation, sphere = self
        return replace(settings, shared=shared, regularisation=regularisation, sphere=sphere)


class Tried(NamedTuple):
    """Settings that were tried."""

    shared: bool
    amount: Amount
    components: int  # the largest number of components of a class


@dataclass(frozen=True)
class Alternatives:
    """The possible values of each setting, in increasing order."""

    shared: Sequence[bool]
    regularisation: Sequence[float]
    sphere: Sequence[bool]
    components: Sequence[np.ndarray]  # (C,) each

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return max(map(len, (self.shared, self.regularisation, self.sphere, self.components))) > 1


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
    choice: Alternatives,
    settings: MixtureSettings,
) -> tuple[dict[Tried, float], MixtureSettings, np.ndarray]:
    """The log-loss of the settings that were tried, the best settings, and the components (C,)."""
    splits = _splits(rows, zero, log_prior, settings.seed)
    weights = np.concatenate([split.test.weights for split in splits] or [np.ones(1)])
    found: dict[Tried, np.ndarray] = {}  # (held-out rows,) −log p(y | x)
    wanted: dict[int, np.ndarray] = {}

    def attempt(shared: bool, amount: Amount, components: np.ndarray) -> Tried:
        key = Tried(shared, amount, int(components.max()))
        if key not in found:
            one = replace(amount.applied(settings, shared), restarts=1)
            found[key] = _log_losses(splits, components, one, zero)
            wanted[key.components] = components
        return key

    def better(new: Tried, old: Tried, errors: float = 0.0) -> bool:
        return _lower(found[new], found[old], weights, errors)

    finals = []
    for shared in choice.shared:
        first, *more = choice.components
        amounts = [Amount(*one) for one in product(choice.regularisation, choice.sphere)]
        best = attempt(shared, amounts[0], first)
        for amount in amounts[1:]:
            tried = attempt(shared, amount, first)
            best = tried if better(tried, best) else best
        for components in more:
            tried = attempt(shared, best.amount, components)
            if not better(tried, best, errors=1.0):
                break
            best = tried
        for strength in choice.regularisation:
            if strength > best.amount.regularisation and best.components > int(first.max()):
                amount = Amount(strength, best.amount.sphere)
                tried = attempt(shared, amount, wanted[best.components])
                if not better(tried, best):
                    break
                best = tried
        finals.append(best)
    losses = {key: float(np.average(loss, weights=weights)) for key, loss in found.items()}
    key = min(finals, key=lambda one: losses[one])
    return losses, key.amount.applied(settings, key.shared), wanted[key.components]


def _lower(new: np.ndarray, old: np.ndarray, weights: np.ndarray, errors: float) -> bool:
    """Whether the mean loss is lower by a visible share, and by `errors` standard errors."""
    share = weights / weights.sum()
    gain = old - new
    mean = float(share @ gain)
    error = float(np.sqrt(share**2 @ (gain - mean) ** 2))
    return mean > max(errors * error, LEAST_GAIN * float(share @ old))


def _log_losses(
    splits: list[_Split], wanted: np.ndarray, settings: MixtureSettings, zero: Statistic
) -> np.ndarray:
    """−log p(y | x) of the held-out rows of all splits."""
    out = [np.zeros(0 if splits else 1)]
    for split in splits:
        params = fit_mixture(split.white, np.minimum(wanted, split.white.counts), settings)
        rule = Rule(split.log_prior, params, zero.axes.columns)
        out.append(-own_log_proba(rule.log_posterior(split.test.X), split.test.codes))
    return np.concatenate(out)


def _splits(
    rows: LabelledRows,
    zero: Statistic,
    log_prior: Callable[[Statistic], np.ndarray],
    seed: int,
) -> list[_Split]:
    """The splits: a quarter of each class is held out, once or each quarter in turn."""
    parts = _parts(rows, np.random.default_rng(seed))
    out = []
    for part in range(1 if rows.number[-1] >= ROWS_FOR_ONE_SPLIT else PARTS):
        train, test = rows.take(parts != part), rows.take(parts == part)
        if len(test.codes):
            statistic = summarise(train.source(), zero)
            white = white_rows(train, statistic, quiet=True)
            out.append(_Split(white, test, log_prior(statistic)))
    return out


def _parts(rows: LabelledRows, rng: np.random.Generator) -> np.ndarray:
    """(n,) the part of each row, 0 to 3. The rows of each class are divided at random.

    Equal rows are in one part. The only row of a class is never held out: its part is −1.
    """
    number, at = np.unique(rows.number, return_index=True)
    codes = rows.codes[at]  # (different rows,)
    out = np.empty(number[-1] + 1, dtype=np.intp)
    first = 0
    for c in np.unique(codes).tolist():
        mine = rng.permutation(number[codes == c])
        out[mine] = -1 if len(mine) == 1 else (first + np.arange(len(mine))) % PARTS
        first += len(mine)
    return out[rows.number]
