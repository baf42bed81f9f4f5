"""How good a model is on rows that it was not fitted on: scores, confusion and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.estimators.score_mixin import has_probabilities
from verosim.estimators.statistic_classifier import StatisticClassifier
from verosim.folds.scores import LOG_LOSS
from verosim.insight.report.some_rows import SomeRows
from verosim.validate.cross_validation import cross_validate
from verosim.validate.reliability import Reliability, reliability

REPORT_FOLDS, REFITS = 10, 5
NORMAL_95 = 1.959963984540054  # quantile of the 95 % interval


@dataclass(frozen=True, eq=False)
class Quality:
    """Out-of-fold scores, with one posterior per row where the rows were kept."""

    scores: dict[str, np.ndarray]  # (F,) by name
    confusion: np.ndarray  # (C, C)
    reliability: Reliability | None
    log_proba: np.ndarray | None  # (n, C) of the rows in their order
    rows: int
    folds: int

    def lines(self) -> list[dict[str, Any]]:
        """Each score with its mean over the folds and its interval of 95 %."""
        out = []
        for name, values in self.scores.items():
            known = values[~np.isnan(values)]
            mean = float(known.mean()) if len(known) else np.nan
            error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
            sign = -1.0 if name.startswith("neg_") else 1.0
            low, high = sorted(
                (sign * (mean - NORMAL_95 * error), sign * (mean + NORMAL_95 * error))
            )
            out.append(
                {"name": name.removeprefix("neg_"), "mean": sign * mean, "low": low, "high": high}
            )
        return out


def quality_of(model: Any, rows: SomeRows) -> Quality | None:
    """The scores on held-out rows: by subtracting sums where possible, else by refitting.

    None if a row has no label that the model knows.
    """
    if isinstance(model, StatisticClassifier):
        try:
            return _subtracted(model, rows)
        except VerosimError:
            if len(rows) < REFITS:
                raise
    return _refitted(model, rows)


def _subtracted(model: Any, rows: SomeRows) -> Quality:
    state = model.checked_state()
    schema = state.schema if isinstance(rows.y, str) else None
    found = cross_validate(model, rows.X, rows.y, cv=REPORT_FOLDS, schema=schema, keep_rows=True)
    folds = len(next(iter(found.scores.values())))
    return Quality(
        found.scores, found.confusion, found.reliability, found.log_proba, found.rows, folds
    )


def _refitted(model: Any, rows: SomeRows) -> Quality | None:
    """Fit a copy of the model once per fold."""
    n, C = len(rows), len(model.classes_)
    codes = rows.codes(model.classes_)
    if (codes < 0).any():
        return None
    order = np.argsort(codes, kind="stable")
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % REFITS  # every class is in every fold
    probable = has_probabilities(model)
    log_proba = np.full((n, C), -np.inf)
    guess = np.empty(n, dtype=np.intp)
    for f in range(REFITS):
        train, test = np.flatnonzero(folds != f), np.flatnonzero(folds == f)
        again = rows.take(train).fit(clone(model))
        held = rows.take(test)
        guess[test] = positions(again.predict(held.X), model.classes_)
        if probable:
            places = positions(again.classes_, model.classes_)
            log_proba[np.ix_(test, places)] = again.predict_log_proba(held.X)
    confusion = np.zeros((C, C))
    np.add.at(confusion, (codes, guess), 1.0)
    right = (codes == guess).astype(np.float64)
    scores = {"accuracy": np.array([right[folds == f].mean() for f in range(REFITS)])}
    curve = None
    if probable:
        own = log_proba[np.arange(n), codes]
        scores[LOG_LOSS] = np.array([own[folds == f].mean() for f in range(REFITS)])
        curve = reliability(codes, log_proba=log_proba, classes=np.arange(C))
    return Quality(scores, confusion, curve, log_proba if probable else None, n, REFITS)
