"""Leave-one-out: every row judged by the model of all the others.

    log p(k | x_i) from T(all) − T(x_i)

The densities without the row are closed forms (`loo`); here they meet the priors without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.bayes.priors import log_priors
from verosim.bayes.rule import LOG_POSTERIOR
from verosim.data.batch import BLOCK_CELLS, UNWEIGHTED
from verosim.data.labels import positions
from verosim.data.sources import cells_per_row
from verosim.data.stream import Chunk, TableSource, weights_of
from verosim.engines import map_chunks, summarise
from verosim.engines.progress import Progress
from verosim.errors import VerosimError
from verosim.estimators.arrays import one_column
from verosim.stats import Statistic
from verosim.validate.loo import leaver, log_priors_left_out

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def judged_one_by_one(model: Any, X: Any, y: Any, *, keep_priors: bool, **given: Any) -> Found:
    """(n, C) log p(k | x) of every row by all others; the labels, the classes and the weights."""
    if not model._is_sum:
        raise VerosimError(
            f"{model!r} chooses among its rows or settings, so no row can be taken out in closed "
            "form.",
            "a number of folds refits it for each.",
        )
    source, plan, _ = model._opened(X, y, given.pop("sample_weight"), **given)
    if isinstance(source, TableSource) and source.table.once:
        raise VerosimError(
            "This source can be read only once, and validation reads it twice.",
            "give a file, a table, or a list of the pieces.",
        )
    statistic = summarise(source, plan)
    judge = _Judge(model, statistic, keep_priors)
    if isinstance(source, TableSource):
        parts = list(map_chunks(judge.chunk, source))
        log_proba, labels, weights = (np.concatenate([part[i] for part in parts]) for i in range(3))
        labels = labels if isinstance(source.target, str) else one_column(y)
        return log_proba, labels, judge.classes, weights
    labels, n = one_column(y), len(source)
    log_proba = np.empty((n, len(judge.classes)))
    step = max(1, int(BLOCK_CELLS / max(cells_per_row(source.X), 1)))
    with Progress(n) as bar:
        for start in range(0, n, step):
            stop = min(n, start + step)
            weights = source.weights[start:stop] if len(source.weights) else UNWEIGHTED
            block = judge.params.read(source.X[start:stop])
            log_proba[start:stop] = judge(block, source.groups[start:stop], weights)
            bar.advance(stop - start)
    return log_proba, labels, judge.classes, source.weights


class _Judge:
    """A model's density and priors, asked about rows as if each had not been there."""

    def __init__(self, model: Any, statistic: Statistic, keep_priors: bool) -> None:
        density = model._density()
        self.setting, self.left_out = model._priors, leaver(density, statistic)
        self.classes = statistic.axes.groups.classes
        self.params = density.estimate(statistic)
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        self.weight, self.rows = weight, rows
        self.kept = None
        if keep_priors:
            present = (rows > 0) & (weight > 0)
            self.kept = log_priors(self.setting, self.classes, weight, present, True)

    def __call__(self, block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scores = self.left_out(block, classes, weights)
        scores += self.kept if self.kept is not None else log_priors_left_out(
            self.setting, self.classes, self.weight, self.rows, classes, weights
        )  # fmt: skip
        nothing = np.zeros(scores.shape[1])
        kernels.normalise(scores, nothing, LOG_POSTERIOR, np.empty(len(scores)))
        return scores

    def chunk(self, chunk: Chunk) -> Found:
        codes, labels = chunk.labels()
        at = np.maximum(positions(labels, self.classes), 0)  # of no weight, if a stranger
        weights = weights_of(chunk.weights, chunk.rows)
        found = self(self.params.read(chunk.block()), at[codes], weights)
        return found, labels[codes], weights, codes
