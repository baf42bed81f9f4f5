"""Fitting, with a choice of the settings that have the value "cv".

    θ = argmin_θ − Σ w log p(y | x),   x held out, over a fixed grid of θ

The scores of some models do not have the scale of log-probabilities. For them the log-loss is that
of p^τ, normalised, with the best τ on a grid. The folds are stratified; those of a table depend on
a hash. All values of θ use the sums of two passes. If several values are equally good, the first
one in the grid, which is the smallest, is chosen.
Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from verosim.engines.progress import Progress
from verosim.folds.holdout import FoldVisit, HeldOutRows, HoldOut
from verosim.folds.rules import FoldRules, visits_by_sums
from verosim.folds.scores import own_log_proba
from verosim.linalg import normalised_logs
from verosim.models import Inputs, Spec

SHARES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
GRIDS: dict[str, tuple[float, ...]] = {
    "shrinkage": SHARES,
    "pooling": (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    "penalty": (0.03, 0.1, 0.3, 1.0, 3.0),
    "alpha": (1e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0),
}
TEMPERATURES = 2.0 ** (np.arange(-6, 7) / 2)  # values of τ, from 1/8 to 8
FOLDS = 10


def tune(spec: Spec, inputs: Inputs) -> tuple[dict[str, float], HoldOut]:
    """The values for the settings with the value "cv", and the rows in their folds."""
    names = spec.open_settings
    settings = [
        dict(zip(names, values, strict=True))
        for values in product(*(spec.grid(n) or GRIDS[n] for n in names))
    ]
    specs = [spec.resolved(setting) for setting in settings]
    n = FOLDS if inputs.y is None or isinstance(inputs.y, str) else len(inputs.y)
    holdout = HoldOut(specs[0], inputs, max(2, min(FOLDS, n)))

    powers = TEMPERATURES if spec.has_free_scale else np.ones(1)
    loss = np.zeros((len(specs), len(powers)))
    with Progress(len(specs) * holdout.count, "models") as bar:
        for part in visits_by_sums(specs, range(len(specs)), holdout, _Losses(powers)):
            loss[list(part.numbers)] += part.value
            bar.advance(len(part.numbers))
    return settings[int(np.argmin(loss.min(axis=1)))], holdout


@dataclass(frozen=True)
class _Losses(FoldVisit):
    """(specs, powers) the sum of the log-loss over the rows, for each rule and each τ."""

    powers: np.ndarray

    def __call__(self, held: HeldOutRows, rules: FoldRules) -> np.ndarray:
        found = rules.log_posteriors(held.block)
        rows = [held.predictions(log_proba, rules.classes) for log_proba in found]
        weights = rows[0].weights if len(held.weights) else np.ones(len(rows[0].codes))
        return np.array([
            [
                -float(weights @ own_log_proba(raised(one.log_proba, tau), one.codes))
                for tau in self.powers
            ]
            for one in rows
        ])  # fmt: skip

    def joined(self, found: Sequence[np.ndarray]) -> np.ndarray:
        return np.sum(found, axis=0)


def raised(log_p: np.ndarray, tau: float) -> np.ndarray:
    """(n, C) log of p^τ, normalised."""
    if tau == 1.0:
        return log_p
    scaled = tau * log_p
    return normalised_logs(scaled)
