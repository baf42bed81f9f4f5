"""The scores of a fitted classifier on test rows, and the direction in which each is better.

    error = mean [ŷ ≠ y],   log-loss = −mean log p(y | x),   Brier = mean Σ_k (p(k | x) − [y = k])²

The Brier score of two classes is divided by two, as is usual. A class without training rows has
probability zero, and the log-loss replaces zero by the machine epsilon.
Reference: Brier (1950), Verification of forecasts expressed in terms of probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from verosim.bayes.rule import spread
from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.folds.scores import LOG_LOSS, MEANS, scores_by_name, squared_errors

MetricFunction = Callable[[Any, Any, np.ndarray, np.ndarray], float]  # model, X, y, all classes


@dataclass(frozen=True)
class Metric:
    """One score: its name, its function and the method of the model that it needs."""

    name: str
    lower_is_better: bool
    value: MetricFunction
    needs: str = "predict"


def _error(model: Any, X: Any, y: np.ndarray, classes: np.ndarray) -> float:
    return float(np.mean(np.asarray(model.predict(X)) != y))


def _accuracy(model: Any, X: Any, y: np.ndarray, classes: np.ndarray) -> float:
    return float(np.mean(np.asarray(model.predict(X)) == y))


def _log_loss(model: Any, X: Any, y: np.ndarray, classes: np.ndarray) -> float:
    rows = MEANS[LOG_LOSS].of_rows(_log_posteriors(model, X, classes), positions(y, classes))
    return -float(rows.mean())


def _brier(model: Any, X: Any, y: np.ndarray, classes: np.ndarray) -> float:
    rows = squared_errors(_log_posteriors(model, X, classes), positions(y, classes))
    return float(rows.mean()) / (2 if len(classes) == 2 else 1)


def _log_posteriors(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """(n, C) log p(k | x) over all classes; a class unknown to the model has −inf."""
    with np.errstate(divide="ignore"):
        found = np.log(np.asarray(model.predict_proba(X)))
    return spread(found, positions(model.classes_, classes), len(classes))


KNOWN = {
    metric.name: metric
    for metric in (
        Metric("error", True, _error),
        Metric("accuracy", False, _accuracy),
        Metric("log_loss", True, _log_loss, "predict_proba"),
        Metric("brier", True, _brier, "predict_proba"),
    )
}


def metric_of(scoring: Any) -> Metric:
    """The metric of the setting `scoring`: a name, a scikit-learn name, or a scorer."""
    if isinstance(scoring, str) and scoring in KNOWN:
        return KNOWN[scoring]
    if not isinstance(scoring, str) and not callable(scoring):
        raise VerosimError(
            f"scoring={scoring!r} is not the name of a score and not a scorer.",
            f"Use one of {', '.join(map(repr, KNOWN))}, or a scorer of scikit-learn.",
        )
    (name,) = scores_by_name(scoring)  # it also checks the name
    scorer = get_scorer(scoring)
    return Metric(name, False, lambda model, X, y, classes: float(scorer(model, X, y)))
