"""Several models judged on the same held-out rows.

    loss = − Σ w log p(class | x) / Σ w,   x in fold f judged by what the other folds say
    its standard error = √( F/(F−1) Σ_f (W_f/W)² (loss_f − loss)² )

Models that share their sums share the passes. What the labels had a say in is settled outside each
fold: bins chosen with a fold in sight have heard what it will be asked.
Reference: Varma & Simon (2006), Bias in error estimation when using cross-validation for model
selection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from verosim.data.labels import encode_labels, positions
from verosim.engines.progress import Progress
from verosim.errors import VerosimError
from verosim.estimators import NaiveBayes
from verosim.estimators.parameters import same
from verosim.kinds.density_choice import NUMBERS
from verosim.kinds.gaussian import GAUSSIAN
from verosim.validate.candidates import Entry, Survey
from verosim.validate.part import Labelled
from verosim.validate.scoring import LOG_LOSS, Score, scorers
from verosim.validate.search import Scored, judge_all

ANEW = 5_000  # rows, above which one look at all of them tells a fold next to nothing about itself
WEIGHT = "weight"  # of the rows of a fold, kept among its scores


@dataclass(frozen=True)
class Verdict:
    """How a model did on held-out rows, and where its sums are."""

    loss: float
    error: float  # nan with one fold
    accuracy: float
    scored: Scored = field(repr=False)
    at: int  # its number among those scored

    @classmethod
    def of(cls, scored: Scored, at: int) -> Verdict:
        loss, accuracy, W = (scored.table[name][at] for name in (LOG_LOSS, "accuracy", WEIGHT))
        there = ~np.isnan(loss)  # (F,)
        loss, accuracy, share = -loss[there], accuracy[there], W[there] / W[there].sum()
        F, mean = len(loss), float(share @ loss)
        spread = np.sqrt(F / (F - 1) * (share**2 @ (loss - mean) ** 2)) if F > 1 else np.nan
        return cls(mean, float(spread), float(share @ accuracy), scored, at)


class Jury:
    """Judges models one family after another; an interrupt leaves the verdicts reached."""

    def __init__(
        self, entries: list[Entry], survey: Survey, X: Any, y: Any, given: dict[str, Any]
    ) -> None:
        self.entries, self.survey = entries, survey
        self.X, self.y, self.given = X, y, given
        self.score_by: dict[str, Score] = {**scorers([LOG_LOSS, "accuracy"]), WEIGHT: _weight}
        self.verdicts: dict[int, Verdict] = {}  # by number of the entry
        self.why = {i: entry.why for i, entry in enumerate(entries) if entry.why}
        self.complete = True

    def hear(self) -> None:
        try:
            for family in self._families():
                self._judge(family)
        except KeyboardInterrupt:
            if not self.verdicts:
                raise
            self.complete = False
            for i in range(len(self.entries)):
                if i not in self.verdicts:
                    self.why.setdefault(i, "interrupted before it was judged")

    def fitted(self, i: int) -> Any:
        """The model of an entry, fitted on all rows: their sums may be here already."""
        verdict = self.verdicts[i]
        return verdict.scored.fitted(verdict.at, self.X, self.y)

    def given_to(self, entry: Entry) -> dict[str, Any]:
        if entry.schema is None:
            return self.given
        return {**self.given, "schema": entry.schema, "na": ()}

    def _families(self) -> list[list[int]]:
        """Entries that read the rows alike, and so share their sums."""
        found: list[list[int]] = []
        for i, entry in enumerate(self.entries):
            for family in found:
                first = self.entries[family[0]]
                if first.schema is entry.schema and same(
                    first.model._reading, entry.model._reading
                ):
                    family.append(i)
                    break
            else:
                found.append([i])
        return [[i for i in family if i not in self.why] for family in found]

    def _judge(self, family: list[int]) -> None:
        if not family:
            return
        first = self.entries[family[0]]
        models, given = [self.entries[i].model for i in family], self.given_to(first)
        try:
            if self._hears_labels(first):
                scored = self._looking_anew(models, given)
            else:
                scored = judge_all(
                    models, self.X, self.y, self.survey.folds, None, self.score_by, False, given
                )
        except VerosimError as error:
            if len(family) == 1:
                self.why[family[0]] = error.what
            else:  # one of them may be to blame, or all
                for i in family:
                    self._judge([i])
            return
        if scored.complete or not self.verdicts:  # a few folds do not compare with all
            self.verdicts |= {i: Verdict.of(scored, at) for at, i in enumerate(family)}
        if not scored.complete:
            raise KeyboardInterrupt

    # Where the first look asks the labels ----------------------------------------------------

    def _hears_labels(self, entry: Entry) -> bool:
        """Whether the labels of few rows choose densities or bins."""
        model, schema = entry.model, entry.schema
        if not isinstance(model, NaiveBayes) or self.given["schema"] is not None:
            return False
        numbers = schema is None or any(column.density in NUMBERS for column in schema.used)
        parted = isinstance(self.survey.folds, np.ndarray)
        by_label = numbers and model.columns != GAUSSIAN.name
        return by_label and parted and self.survey.rows <= ANEW

    @cached_property
    def _rows(self) -> Labelled:
        return Labelled.of(NaiveBayes(), self.X, self.y, **self.given)

    def _looking_anew(self, models: list[Any], given: dict[str, Any]) -> Scored:
        """The rows of each fold judged by models whose first look was at the others."""
        rows, folds = self._rows, self.survey.folds
        classes = encode_labels(rows.labels[rows.weights > 0])[1]
        F = int(folds.max()) + 1
        table = {name: np.full((len(models), F), np.nan) for name in self.score_by}
        out = Scored(models, table, [], given)
        with Progress(len(models) * F, "models") as bar:
            for f in range(F):
                inside = np.flatnonzero((folds == f) & (rows.weights > 0))
                for m, model in enumerate(models):
                    if len(inside):
                        fitted = rows.fit(model, folds != f)
                        log_proba = np.full((len(inside), len(classes)), -np.inf)
                        at = positions(fitted.classes_, classes)
                        log_proba[:, at] = fitted.predict_log_proba(self.X)[inside]
                        told = rows.labels[inside], log_proba, classes, rows.weights[inside]
                        for name, score in self.score_by.items():
                            out.table[name][m, f] = score(*told)
                    bar.advance(1)
        return out


def _weight(
    labels: np.ndarray, log_proba: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> float:
    return float(weights.sum()) if len(weights) else float(len(labels))
