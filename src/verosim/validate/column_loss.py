"""The held-out log-loss of a model of some of its columns, for the selection of columns.

    log-loss of S = − Σ w log p(class | x_S) / Σ w        over the held-out rows

S are the columns and w are the weights of the rows. The statistic of some columns is a part of the
statistic of all columns, so no pass over the rows is needed for another S.
Reference: McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, §12.3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim import kernels
from verosim.bayes.rule import LOG_POSTERIOR
from verosim.engines import one_blas_thread
from verosim.errors import SingularWarning, VerosimError
from verosim.folds import FoldRules, HeldOutEngine, HeldOutRows, HoldOut
from verosim.folds.rules import PerRow, visited_rows
from verosim.folds.scores import LEAST, own_log_proba
from verosim.models import Spec, derive_rules
from verosim.stats import Statistic
from verosim.validate.contributions import dense, held_out_contributions


class HeldOutLoss(ABC):
    """The held-out log-loss of any set of columns."""

    names: list[str]

    @abstractmethod
    def loss(self, columns: Sequence[int]) -> float:
        """The held-out log-loss of these columns."""

    def start(self, kept: Sequence[int]) -> float:
        """The log-loss of these columns."""
        return self.loss(kept)

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rest,) the log-loss after each step, and nan for the p-values."""
        sets = [[*kept, j] if forward else [k for k in kept if k != j] for j in rest]
        return np.array([self.loss(some) for some in sets]), np.full(len(rest), np.nan)

    def worth(self, score: float, p: float, current: float, forward: bool) -> bool:
        """Whether the step is taken."""
        return bool(score < current) if forward else bool(score <= current)


class _AdditiveLoss(HeldOutLoss):
    """Each trial is a sum of columns of log p_j(x_j | k), computed once from the held-out rows."""

    def __init__(self, engine: HeldOutEngine) -> None:
        held = held_out_contributions(engine, "Select the columns on a sample of the rows.")
        self.own, self.weights, self.prior = held.own, held.weights, held.log_prior
        self.names, of = _column_names(engine.rows)
        self.parts = np.zeros((len(self.names), *self.prior.shape))  # (d, n, C)
        for at, j in enumerate(of):
            self.parts[j] += held.parts[:, :, at]

    def loss(self, columns: Sequence[int]) -> float:
        return self._loss(self.prior + self.parts[list(columns)].sum(axis=0))

    def _loss(self, joint: np.ndarray) -> float:
        n, C = joint.shape
        kernels.normalise(joint, np.zeros(C), LOG_POSTERIOR, np.empty(n))
        return -float(self.weights @ own_log_proba(joint, self.own)) / float(self.weights.sum())

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        base = self.prior + self.parts[list(kept)].sum(axis=0)
        sign = 1.0 if forward else -1.0
        found = np.array([self._loss(base + sign * self.parts[j]) for j in rest])
        return found, np.full(len(rest), np.nan)


def _column_names(rows: HoldOut) -> tuple[list[str], list[int]]:
    """The columns of the user, and the position of the column that each contribution belongs to."""
    owners = rows.source.owners
    if owners is None:
        names = list(rows.plan.axes.columns)
        return names, list(range(len(names)))
    names = list(rows.source.reader.names)
    place = {name: j for j, name in enumerate(names)}
    return names, [place[owner] for owner in owners]


class _MarginalLoss(HeldOutLoss):
    """Each trial takes the statistic of some columns from the statistic of all columns."""

    def __init__(self, spec: Spec, engine: HeldOutEngine) -> None:
        self.spec, self.names = spec, list(engine.rows.plan.axes.columns)

        def visit(held: HeldOutRows, known: FoldRules) -> Any:
            place = np.full(len(known.classes), -1)
            place[known.places] = np.arange(len(known.places))
            rows = np.asarray(dense(held.block), dtype=np.float64)
            weights = held.weights if len(held.weights) else np.ones(len(rows))
            return known.training, rows, place[held.codes], weights

        # For each piece: the training statistic, the held-out rows, their classes, their weights.
        self.folds: list[tuple[Statistic, np.ndarray, np.ndarray, np.ndarray]] = [
            piece for _, piece in visited_rows(engine.visits(PerRow(visit)))
        ]

    def loss(self, columns: Sequence[int]) -> float:
        at, loss, total = np.array(sorted(columns), dtype=np.intp), 0.0, 0.0
        for training, rows, own, weights in self.folds:
            log_proba = self._log_proba(training, rows, at)
            known = own >= 0
            of_rows = np.full(len(own), LEAST)
            of_rows[known] = own_log_proba(log_proba[known], own[known])
            loss -= float(weights @ of_rows)
            total += float(weights.sum())
        return loss / total

    def _log_proba(self, training: Statistic, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(n, C) log-posteriors by the model of these columns; by the priors for no column."""
        if not len(at):
            weight = training.weight[:, 0]
            return np.tile(np.log(weight / weight.sum()), (len(rows), 1))
        # A trial set can be singular although the final set is not, so do not warn here.
        with one_blas_thread, warnings.catch_warnings(action="ignore", category=SingularWarning):
            rule = derive_rules([self.spec], training.narrowed(at))[0]
        return rule.log_posterior(np.ascontiguousarray(rows[:, at]))


def held_out_loss(spec: Spec, engine: HeldOutEngine) -> HeldOutLoss:
    """The held-out log-loss of this model."""
    if spec.density.is_additive:
        return _AdditiveLoss(engine)
    if engine.rows.plan.can_narrow:
        return _MarginalLoss(spec, engine)
    raise VerosimError(
        f"The columns of {spec.name} cannot be selected by the log-loss of these rows.",
        "Use a naive Bayes model, or LDA, QDA or RDA on rows without missing values.",
    )
