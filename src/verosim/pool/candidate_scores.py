"""Several models scored on the same held-out rows.

    loss = − Σ w log p(class | x) / Σ w,   x in fold f scored by the model of the other folds
    its standard error = √( F/(F−1) Σ_f (W_f/W)² (loss_f − loss)² )

Models that share their sums share the passes. Where the labels choose bins or densities, they are
chosen again outside each fold: choosing them with the test fold visible leaks its labels.
Reference: Varma & Simon (2006), Bias in error estimation when using cross-validation for model
selection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

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

# Rows above which one look at all of them tells a fold little about itself.
MOST_ROWS_TO_LOOK_AGAIN = 5_000
WEIGHT = "weight"  # of the rows of a fold, kept among its scores


@dataclass(frozen=True)
class CandidateScore:
    """How a model did on held-out rows, and where its sums are."""

    loss: float
    error: float  # nan with one fold
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
    """Scores models one family after another; an interrupt leaves the scores reached."""

    def __init__(self, entries: list[Entry], plan: FoldPlan, inputs: Inputs) -> None:
        self.entries, self.plan, self.inputs = entries, plan, inputs
        self.score_by: dict[str, Score] = {
            **scores_by_name([LOG_LOSS, "accuracy"]), WEIGHT: FoldWeight(),
        }  # fmt: skip
        self.scores: dict[int, CandidateScore] = {}  # by number of the entry
        self.why = {i: entry.why for i, entry in enumerate(entries) if entry.why}
        self.complete = True

    def run(self) -> None:
        try:
            for family in self._families():
                self._score(family)
        except KeyboardInterrupt:
            if not self.scores:
                raise
            self.complete = False
            for i in range(len(self.entries)):
                if i not in self.scores:
                    self.why.setdefault(i, "interrupted before it was judged")

    def fitted(self, i: int) -> Any:
        """The model of an entry, fitted on all rows: their sums may be here already."""
        found = self.scores[i]
        return clone(self.entries[i].model).set_state(found.scored.engine.state(found.number))

    def _families(self) -> list[list[int]]:
        """Entries that read the rows alike, and so share their sums."""
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
                self.why[family[0]] = error.what
            else:  # one of them may be the reason, or all
                for i in family:
                    self._score([i])
            return
        if scored.complete or not self.scores:  # a few folds do not compare with all
            self.scores |= {i: CandidateScore.of(scored, at) for at, i in enumerate(family)}
        if not scored.complete:
            raise KeyboardInterrupt

    def _chooses_by_labels(self, entry: Entry) -> bool:
        """Whether the labels of few rows choose densities or bins at the first look."""
        model, schema = entry.model, entry.schema
        if not isinstance(model, NaiveBayes) or self.inputs.schema is not None:
            return False
        numbers = schema is None or any(column.density in NUMBER_KINDS for column in schema.used)
        by_label = numbers and model.columns != GAUSSIAN.name
        return by_label and self.plan.is_partition and self.plan.rows <= MOST_ROWS_TO_LOOK_AGAIN
