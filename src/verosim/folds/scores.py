"""Scores of held-out predictions, as reductions: parts of a fold add up to its score.

    accuracy = Σ w [argmax p = y] / Σ w,   log-loss = − Σ w log p(y) / Σ w,
    Brier = Σ w Σ_k (p_k − [y = k])² / Σ w

A score that is such a mean needs no rows to be kept. Any other is scikit-learn's own metric, which
is given the rows of a fold together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from verosim.errors import VerosimError
from verosim.linalg import EPS

LOG_LOSS, ACCURACY, BRIER = "neg_log_loss", "accuracy", "neg_brier_score"
LEAST = float(np.log(EPS))  # a class held to be impossible costs no more than this


# Of every row ------------------------------------------------------------------------------------


def is_correct(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) whether the most probable class is the row's own."""
    return log_proba.argmax(axis=1) == codes


def own_log_proba(log_proba: np.ndarray, codes: np.ndarray, least: float = LEAST) -> np.ndarray:
    """(n,) log p(y | x), no less than `least`."""
    return np.maximum(log_proba[np.arange(len(codes)), codes], least)


def squared_errors(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) Σ_k (p(k | x) − [y = k])², from 0 to 2."""
    p = np.exp(log_proba)
    p[np.arange(len(codes)), codes] -= 1.0
    return (p**2).sum(axis=1)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of values by weights, which are empty if all are one."""
    return float(np.average(values, weights=weights if len(weights) else None))


# Of a fold ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predictions:
    """Rows with a weight, and what was predicted for them."""

    log_proba: np.ndarray  # (m, C)
    codes: np.ndarray  # (m,)
    weights: np.ndarray  # (m,), empty if all are one
    classes: np.ndarray  # (C,)

    @property
    def weight(self) -> float:
        return float(self.weights.sum()) if len(self.weights) else float(len(self.codes))


class Sums(ABC):
    """Sums over rows, arrays or other values with `+`: those of some rows and of others add."""

    @abstractmethod
    def of(self, rows: Predictions) -> Any: ...


class Confusion(Sums):
    """(C, C) the weight of the rows of each class, by the class predicted."""

    def of(self, rows: Predictions) -> np.ndarray:
        C = len(rows.classes)
        pairs = rows.codes * C + rows.log_proba.argmax(axis=1)
        weights = rows.weights if len(rows.weights) else None
        return np.bincount(pairs, weights, C * C).reshape(C, C)


class Score(ABC):
    """A number for each fold, found from parts of it."""

    sums_column: int | None = None  # where its part stands in `FoldRules.score_sums`

    @abstractmethod
    def part(self, rows: Predictions) -> Any:
        """What is kept of some rows of a fold."""

    @abstractmethod
    def value(self, parts: list[Any]) -> float:
        """The score of a fold; nan if it has no rows."""

    def part_of_sums(self, sums: np.ndarray) -> Any:
        """The part of some rows, from (3,) their sums of scores and weights."""
        assert self.sums_column is not None
        return float(sums[self.sums_column]), float(sums[2])


@dataclass(frozen=True)
class MeanScore(Score):
    """A weighted mean over rows."""

    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]
    sums_column: int | None = None

    def part(self, rows: Predictions) -> tuple[float, float]:
        found = self.of_rows(rows.log_proba, rows.codes)
        return float(rows.weights @ found if len(rows.weights) else found.sum()), rows.weight

    def value(self, parts: list[Any]) -> float:
        total = sum(weight for _, weight in parts)
        return sum(part for part, _ in parts) / total if total > 0 else float("nan")


@dataclass(frozen=True)
class FoldWeight(Score):
    """The weight of the rows of a fold."""

    sums_column: int | None = 2

    def part_of_sums(self, sums: np.ndarray) -> float:
        return float(sums[2])

    def part(self, rows: Predictions) -> float:
        return rows.weight

    def value(self, parts: list[Any]) -> float:
        return float(sum(parts)) if parts else float("nan")


@dataclass(frozen=True)
class ScikitScore(Score):
    """One of scikit-learn's scorers, given all rows of the fold."""

    scorer: Any
    name: str
    probable: bool

    def part(self, rows: Predictions) -> Predictions:
        return rows

    def value(self, parts: list[Any]) -> float:
        if not parts:
            return float("nan")
        log_proba, codes, weights = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("log_proba", "codes", "weights")
        )
        classes = _of_one_type(parts[0].classes)
        stand_in = _WithProbabilities if self.probable else _WithScores
        given = {"sample_weight": weights} if len(weights) else {}
        rows = np.zeros((len(codes), 1))
        try:
            return float(self.scorer(stand_in(log_proba, classes), rows, classes[codes], **given))
        except AttributeError as error:
            raise _needs_probabilities(self.name) from error
        except (TypeError, ValueError) as error:
            raise VerosimError(
                f"scoring={self.name!r} cannot judge these predictions: {error}",
                "of several classes, 'roc_auc_ovr' or 'f1_macro'; a function of labels becomes a "
                "scorer by sklearn.metrics.make_scorer.",
            ) from None


class _WithScores(ClassifierMixin, BaseEstimator):
    """Stands in for an estimator: whatever rows it is given, the predictions are these."""

    def __init__(self, log_proba: np.ndarray, classes: np.ndarray) -> None:
        self.log_proba, self.classes_ = log_proba, classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.log_proba.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        scores = np.maximum(self.log_proba, np.log(np.finfo(float).tiny))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores


class _WithProbabilities(_WithScores):
    """One that has probabilities too."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.exp(self.log_proba)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.log_proba


# By name -----------------------------------------------------------------------------------------


def _clipped_log_proba(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """scikit-learn's log-loss, its clip included, over all classes: a fold may lack some."""
    own = log_proba[np.arange(len(codes)), codes]
    return np.log(np.clip(np.exp(own), EPS, 1 - EPS))


def _negative_brier(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """scikit-learn's Brier score, of two classes halved, as a score to be maximised."""
    return squared_errors(log_proba, codes) / (-2.0 if log_proba.shape[1] == 2 else -1.0)


MEANS: dict[str, MeanScore] = {
    ACCURACY: MeanScore(is_correct, 0),
    LOG_LOSS: MeanScore(_clipped_log_proba, 1),
    BRIER: MeanScore(_negative_brier),
}


def _needs_probabilities(name: str) -> VerosimError:
    return VerosimError(
        f"scoring={name!r} judges probabilities, and this model gives none.",
        "'accuracy', or 'roc_auc', which ranks its scores.",
    )


def scores_by_name(scoring: Any, probable: bool = True) -> dict[str, Score]:
    """Scores by name: names of scikit-learn's scorings, its scorers, or a dict of either."""
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    if not isinstance(scoring, Mapping):
        if not isinstance(scoring, Iterable):
            raise VerosimError(f"scoring={scoring!r} is not known.", "a name, such as 'accuracy'.")
        scoring = {_name_of(one): one for one in scoring}
    out: dict[str, Score] = {}
    for name, one in scoring.items():
        if isinstance(one, str) and one in MEANS:
            if one != ACCURACY and not probable:
                raise _needs_probabilities(one)
            out[name] = MEANS[one]
        elif isinstance(one, str):
            try:
                out[name] = ScikitScore(get_scorer(one), one, probable)
            except ValueError:
                raise VerosimError(
                    f"scoring={one!r} is not known.",
                    "'accuracy', 'neg_log_loss', 'roc_auc', … : "
                    "sklearn.metrics.get_scorer_names() lists them.",
                ) from None
        elif callable(one):
            out[name] = ScikitScore(one, str(name), probable)
        else:
            raise VerosimError(f"scoring={one!r} is neither a name nor a scorer.")
    if not out:
        raise VerosimError("scoring is empty.", "a name, such as 'accuracy'.")
    return out


def _of_one_type(labels: np.ndarray) -> np.ndarray:
    """Whole numbers and texts kept as objects, as the metrics want them."""
    return np.array(labels.tolist()) if labels.dtype == object else labels


def _name_of(scorer: Any) -> str:
    if isinstance(scorer, str):
        return scorer
    inner = getattr(scorer, "_score_func", scorer)
    return getattr(inner, "__name__", type(scorer).__name__)
