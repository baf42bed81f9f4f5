"""Leave-one-out: each row is scored by the model of all other rows.

    log p(k | x_i) from T(all) − T(x_i)

The densities without the row are closed forms (`Density.leave_one_out`). This module adds the
priors without the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import engines, kernels
from verosim.bayes.priors import log_priors_left_out
from verosim.bayes.rule import LOG_POSTERIOR
from verosim.data.batch import BLOCK_CELLS
from verosim.data.clusters import check_is_here
from verosim.data.labels import positions
from verosim.data.source import Chunk
from verosim.densities.leave_one_out import left_out_scorer
from verosim.errors import VerosimError
from verosim.folds.evaluation import OutOfFold
from verosim.folds.splits import check_readable_twice
from verosim.models import Inputs, Spec, open_rows
from verosim.stats import Statistic


def leave_one_out(spec: Spec, inputs: Inputs, keep_priors: bool = False) -> OutOfFold:
    """(n, C) log p(k | x) of each row by the model of all other rows."""
    if not spec.is_decomposable:
        raise VerosimError(
            f"{spec.name} chooses its rows or its settings from the data, so leave-one-out has no "
            "closed form.",
            "Use a number of folds, for example cv=10.",
        )
    if isinstance(spec.class_weight, str):
        raise VerosimError(
            f"class_weight={spec.class_weight!r} depends on all rows, so leave-one-out has no "
            "closed form.",
            "Use a number of folds, for example cv=10, or give class_weight as a dict.",
        )
    opened = open_rows(spec, inputs)
    source = opened.source
    check_is_here(source, 'cv="loo"')
    check_readable_twice(source)
    scorer = _Scorer(spec, engines.summarise(source, opened.plan), keep_priors)
    rows = max(1, int(BLOCK_CELLS * (source.rows or 1) / max(source.cells or 1, 1)))
    parts = list(engines.map(source, scorer.chunk, rows=rows))
    log_proba, labels, weights = (np.concatenate([part[i] for part in parts]) for i in range(3))
    labels = labels if isinstance(source.target, str) else np.asarray(inputs.y)
    return OutOfFold(log_proba, labels, weights, np.arange(len(labels)), scorer.classes)


class _Scorer:
    """Scores rows as if each row had not been in the training rows."""

    def __init__(self, spec: Spec, statistic: Statistic, keep_priors: bool) -> None:
        density = spec.density
        self.factors = spec.factors_of(statistic.axes.groups.classes, statistic.weight[:, 0])
        statistic = spec.with_class_weights(statistic)
        self.setting, self.without_row = spec.prior_setting, left_out_scorer(density, statistic)
        self.classes = statistic.axes.groups.classes
        self.params = density.estimate(statistic)
        self.weight, self.rows = statistic.weight[:, 0], statistic.rows[:, 0]
        self.kept = None
        if keep_priors:
            self.kept = spec.log_prior(self.classes, self.weight, self.rows, True)

    def __call__(self, block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if (self.factors != 1).any():  # the row has the weight with which it was counted
            own = self.factors[classes]
            weights = weights * own if len(weights) else own
        scores = self.without_row(block, classes, weights)
        priors = self.kept if self.kept is not None else log_priors_left_out(
            self.setting, self.classes, self.weight, self.rows, classes, weights
        )  # fmt: skip
        scores += priors
        evidence = np.empty(len(scores))
        kernels.normalise(scores, np.zeros(scores.shape[1]), LOG_POSTERIOR, evidence)
        impossible = evidence == -np.inf  # in every class: the posterior is the prior
        scores[impossible] = np.broadcast_to(priors, scores.shape)[impossible]
        return scores

    def chunk(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The log posteriors, labels and weights of some rows."""
        codes, labels = chunk.labels()
        at = np.maximum(positions(labels, self.classes), 0)  # an unknown label has weight zero
        weights = chunk.row_weights()
        return self(self.params.read(chunk.block()), at[codes], weights), labels[codes], weights
