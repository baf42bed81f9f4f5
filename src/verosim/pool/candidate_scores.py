"""Scores of several models on the same held-out rows.

    loss = − Σ w log p(y | x) / Σ w,   a row in fold f is scored by the model of the other folds
    standard error = √( F/(F−1) Σ_f (W_f/W)² (loss_f − loss)² )

Here W_f is the weight of fold f and W is the weight of all folds. Models with the same statistic
share the passes over the rows. If the labels choose bins or densities, these are chosen again
without each test fold, because a choice with the test fold visible leaks its labels.
Reference: Varma & Simon (2006), Bias in error estimation when using cross-validation for model
selection.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.same_rows import reason_to_leave_out
from verosim.errors import VerosimError
from verosim.estimators import NaiveBayes
from verosim.folds import HeldOutEngine
from verosim.folds.evaluation import FoldScores, score_specs
from verosim.folds.scores import LOG_LOSS, FoldWeight, Score, scores_by_name
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.gaussian import GAUSSIAN
from verosim.models import Inputs
from verosim.models.spec import share_statistic
from verosim.pool.candidates import Entry, FoldPlan

# With more rows, one look at all rows leaks little about the labels of a single fold.
MOST_ROWS_TO_LOOK_AGAIN = 5_000
TIME_IS_OVER = "The time limit was reached."
WEIGHT = "weight"  # the name under which the weight of a fold is stored with its scores


@dataclass(frozen=True)
class CandidateScore:
    """The scores of a model on held-out rows, and the engine that has its statistic."""

    loss: float
    error: float  # standard error of the loss; nan with one fold
    accuracy: float
    scored: FoldScores = field(repr=False)
    number: int  # among the specs that were scored together

    @classmethod
    def of(cls, scored: FoldScores, number: int) -> CandidateScore:
        loss, accuracy, W = (scored.table[name][number] for name in (LOG_LOSS, "accuracy", WEIGHT))
        there = ~np.isnan(loss)  # (F,)
        loss, accuracy, share = -loss[there], accuracy[there], W[there] / W[there].sum()
        F, mean = len(loss), float(share @ loss)
        spread = np.sqrt(F / (F - 1) * (share**2 @ (loss - mean) ** 2)) if F > 1 else np.nan
        return cls(mean, float(spread), float(share @ accuracy), scored, number)


class CandidateScorer:
    """Scores models, one family after another. After an interrupt, known scores are kept.

    After the time `until` of `time.perf_counter`, no further family is scored.
    """

    def __init__(
        self, entries: list[Entry], plan: FoldPlan, inputs: Inputs, until: float | None = None
    ) -> None:
        self.entries, self.plan, self.inputs, self.until = entries, plan, inputs, until
        self.score_by: dict[str, Score] = {
            **scores_by_name([LOG_LOSS, "accuracy"]), WEIGHT: FoldWeight(),
        }  # fmt: skip
        self.scores: dict[int, CandidateScore] = {}  # by number of the entry
        self.why = {i: entry.why for i, entry in enumerate(entries) if entry.why}
        self.complete = True

    def run(self) -> None:
        try:
            for family in self._families():
                if self.scores and self.is_late:
                    self.why |= dict.fromkeys(family, TIME_IS_OVER)
                else:
                    self._score(family)
        except KeyboardInterrupt:
            if not self.scores:
                raise
            self.complete = False
            for i in range(len(self.entries)):
                if i not in self.scores:
                    self.why.setdefault(i, "The search was interrupted before this model.")

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.until is not None and time.perf_counter() > self.until

    def fitted(self, i: int) -> Any:
        """The model of an entry, fitted on all rows; its statistic is often known already."""
        found = self.scores[i]
        return clone(self.entries[i].model).set_state(found.scored.engine.state(found.number))

    def _families(self) -> list[list[int]]:
        """Groups of entries that read the rows in the same way and share one statistic."""
        families: dict[tuple[int, int], list[int]] = {}
        for number, alike in enumerate(share_statistic([e.model.spec() for e in self.entries])):
            for i in alike:
                if i not in self.why:
                    key = number, id(self.entries[i].schema)
                    families.setdefault(key, []).append(i)
        return sorted(families.values())

    def _score(self, family: list[int]) -> None:
        first = self.entries[family[0]]
        again = self._chooses_by_labels(first)
        inputs = self.inputs if again else first.inputs(self.inputs)
        specs = [self.entries[i].model.spec() for i in family]
        try:
            engine = HeldOutEngine(specs, inputs, self.plan.folds, look_again=again)
            scored = score_specs(engine, self.score_by)
        except VerosimError as error:
            if len(family) == 1:
                self.why[family[0]] = reason_to_leave_out(error)
            else:  # find out which of them fail
                for i in family:
                    self._score([i])
            return
        if scored.complete or not self.scores:  # scores of some folds and of all do not compare
            self.scores |= {i: CandidateScore.of(scored, at) for at, i in enumerate(family)}
        if not scored.complete:
            raise KeyboardInterrupt

    def _chooses_by_labels(self, entry: Entry) -> bool:
        """Whether the first look uses the labels to choose densities or bins, with few rows."""
        model, schema = entry.model, entry.schema
        if not isinstance(model, NaiveBayes) or self.inputs.schema is not None:
            return False
        numbers = schema is None or any(column.density in NUMBER_KINDS for column in schema.used)
        by_label = numbers and model.columns != GAUSSIAN.name
        return by_label and self.plan.is_partition and self.plan.rows <= MOST_ROWS_TO_LOOK_AGAIN
