"""Scores of held-out predictions as reductions: the parts of a fold add up to its score.

    accuracy = Σ w [argmax p = y] / Σ w,   log-loss = − Σ w log p(y) / Σ w,
    Brier = Σ w Σ_k (p_k − [y = k])² / Σ w

Such a mean needs no rows in memory. All other scores are scorers of scikit-learn, which get the
rows of a whole fold.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from verosim.data.labels import array_of_labels
from verosim.errors import VerosimError, listed
from verosim.linalg import EPS

LOG_LOSS, ACCURACY, BRIER = "neg_log_loss", "accuracy", "neg_brier_score"
LEAST = float(np.log(EPS))  # the smallest log probability, also for an impossible class


# Scores of rows ----------------------------------------------------------------------------------


def is_correct(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) whether the most probable class is the true class."""
    return log_proba.argmax(axis=1) == codes


def own_log_proba(log_proba: np.ndarray, codes: np.ndarray, least: float = LEAST) -> np.ndarray:
    """(n,) log p(y | x), at least `least`."""
    return np.maximum(log_proba[np.arange(len(codes)), codes], least)


def squared_errors(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) Σ_k (p(k | x) − [y = k])², from 0 to 2."""
    p = np.exp(log_proba)
    p[np.arange(len(codes)), codes] -= 1.0
    return (p**2).sum(axis=1)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The weighted mean. Empty weights mean that all weights are 1."""
    return float(np.average(values, weights=weights if len(weights) else None))


# Scores of folds ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predictions:
    """Rows with positive weight, and their predictions."""

    log_proba: np.ndarray  # (m, C)
    codes: np.ndarray  # (m,)
    weights: np.ndarray  # (m,), empty if all weights are 1
    classes: np.ndarray  # (C,)
    # (m,) the row numbers; empty if they are not known
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    # (m,) the group of each row; empty if it follows from the row numbers
    groups: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def taken(self, at: np.ndarray) -> Predictions:
        """Some of these rows."""
        weights, *rest = (
            array[at] if len(array) else array
            for array in (self.weights, self.numbers, self.groups)
        )
        return Predictions(self.log_proba[at], self.codes[at], weights, self.classes, *rest)

    @property
    def weight(self) -> float:
        """The total weight."""
        return float(self.weights.sum()) if len(self.weights) else float(len(self.codes))


class Sums(ABC):
    """Sums over rows: arrays, or other values with `+`. Sums of different rows can be added."""

    @abstractmethod
    def of(self, rows: Predictions) -> Any:
        """The sum over some rows."""

    def reduced(self) -> Sums:
        """The same sums, which do not grow with the rows, for rows on a cluster."""
        return self

    def packed(self, found: Any) -> Any:
        """The sum as plain data, which workers of a cluster send."""
        return found

    def unpacked(self, plain: Any) -> Any:
        """The sum, from plain data."""
        return plain


class Confusion(Sums):
    """(C, C) the weight of the rows by true class and predicted class."""

    def of(self, rows: Predictions) -> np.ndarray:
        C = len(rows.classes)
        pairs = rows.codes * C + rows.log_proba.argmax(axis=1)
        weights = rows.weights if len(rows.weights) else None
        return np.bincount(pairs, weights, C * C).reshape(C, C)


class Score(ABC):
    """One number per fold, computed from the parts of the fold."""

    sums_column: int | None = None  # its column in `FoldRules.score_sums`

    @abstractmethod
    def part(self, rows: Predictions) -> Any:
        """The part of the score for some rows of a fold."""

    @abstractmethod
    def value(self, parts: list[Any]) -> float:
        """The score of a fold; nan if the fold has no rows."""

    def reduced(self) -> Score:
        """The same score with parts that do not grow with the rows, for rows on a cluster."""
        return self

    def joined(self, parts: Sequence[Any]) -> Any:
        """One part for the rows of several parts. Parts are numbers, or tuples of numbers."""
        first = parts[0]
        return tuple(map(sum, zip(*parts, strict=True))) if isinstance(first, tuple) else sum(parts)

    def part_of_sums(self, sums: np.ndarray) -> Any:
        """The part of some rows, from (3,) the sums of their scores and weights."""
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
    """The total weight of the rows of a fold."""

    sums_column: int | None = 2

    def part_of_sums(self, sums: np.ndarray) -> float:
        return float(sums[2])

    def part(self, rows: Predictions) -> float:
        return rows.weight

    def value(self, parts: list[Any]) -> float:
        return float(sum(parts)) if parts else float("nan")


@dataclass(frozen=True)
class ScikitScore(Score):
    """A scorer of scikit-learn, which gets all rows of the fold."""

    scorer: Any
    name: str
    probable: bool

    def part(self, rows: Predictions) -> list[Predictions]:
        return [rows]

    def joined(self, parts: Sequence[list[Predictions]]) -> list[Predictions]:
        return [rows for part in parts for rows in part]

    def reduced(self) -> Score:
        from verosim.folds.ranking import AVERAGES, HistogramArea

        if self.name in AVERAGES:
            return HistogramArea(self.name)
        if needs_only_classes(self.scorer):
            return ConfusionScore(self)
        raise VerosimError(
            f"scoring={self.name!r} needs the predictions of all rows in one process, but the rows "
            "are on a cluster.",
            f"Use {listed([*MEANS, 'f1_macro', *AVERAGES], most=9)} there.",
        )

    def value(self, parts: list[Any]) -> float:
        if not parts:
            return float("nan")
        rows = self.joined(parts)
        log_proba, codes, weights = (
            np.concatenate([getattr(one, name) for one in rows])
            for name in ("log_proba", "codes", "weights")
        )
        return self.of(log_proba, codes, weights, rows[0].classes)

    def of(
        self, log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray, classes: np.ndarray
    ) -> float:
        """The score of these rows. Empty weights mean that all weights are 1."""
        classes = _for_scikit(classes)
        stand_in = _WithProbabilities if self.probable else _WithScores
        given = {"sample_weight": weights} if len(weights) else {}
        rows = np.zeros((len(codes), 1))
        try:
            return float(self.scorer(stand_in(log_proba, classes), rows, classes[codes], **given))
        except AttributeError as error:
            raise _needs_probabilities(self.name) from error
        except (TypeError, ValueError) as error:
            raise VerosimError(
                f"scoring={self.name!r} cannot score these predictions ({error}).",
                "With several classes use 'roc_auc_ovr' or 'f1_macro', and turn a function into a "
                "scorer with sklearn.metrics.make_scorer.",
            ) from None


def needs_only_classes(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn needs only the predicted classes, and accepts weights.

    A weighted median is left out, because a row of weight 2 is not two rows there.
    """
    if getattr(scorer, "_response_method", None) != "predict":
        return False
    function = getattr(scorer, "_score_func", scorer)
    accepts = "sample_weight" in inspect.signature(function).parameters
    return accepts and "median" not in getattr(function, "__name__", "")


@dataclass(frozen=True)
class ConfusionScore(Score):
    """A score of predicted classes, such as F1, from the confusion matrix of the fold.

    Each cell of the matrix is one row with the weight of the cell. A part is the matrix and the
    classes.
    """

    score: ScikitScore

    def part(self, rows: Predictions) -> list[Any]:
        return [Confusion().of(rows).astype(np.float64), rows.classes.tolist()]

    def joined(self, parts: Sequence[Any]) -> list[Any]:
        return [np.sum([counts for counts, _ in parts], axis=0), parts[0][1]]

    def value(self, parts: list[Any]) -> float:
        if not parts:
            return float("nan")
        counts, classes = self.joined(parts)
        codes, predicted = np.nonzero(counts)
        log_proba = np.full((len(codes), len(classes)), -np.inf)
        log_proba[np.arange(len(codes)), predicted] = 0.0
        return self.score.of(log_proba, codes, counts[codes, predicted], array_of_labels(classes))


class _WithScores(ClassifierMixin, BaseEstimator):
    """An estimator that returns fixed predictions, for the scorers of scikit-learn."""

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
    """The same with probabilities."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.exp(self.log_proba)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.log_proba


# Scores by name -----------------------------------------------------------------------------------


def _clipped_log_proba(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) log p(y | x), clipped as in scikit-learn's log-loss. A fold may lack some classes."""
    own = log_proba[np.arange(len(codes)), codes]
    return np.log(np.clip(np.exp(own), EPS, 1 - EPS))


def _negative_brier(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) minus the Brier score of scikit-learn, which is halved with two classes."""
    return squared_errors(log_proba, codes) / (-2.0 if log_proba.shape[1] == 2 else -1.0)


MEANS: dict[str, MeanScore] = {
    ACCURACY: MeanScore(is_correct, 0),
    LOG_LOSS: MeanScore(_clipped_log_proba, 1),
    BRIER: MeanScore(_negative_brier),
}


def _needs_probabilities(name: str) -> VerosimError:
    """The error for a score of probabilities and a model without them."""
    return VerosimError(
        f"scoring={name!r} needs probabilities, and this model gives none.",
        "Use 'accuracy', or 'roc_auc', which needs only scores.",
    )


def scores_by_name(scoring: Any, probable: bool = True) -> dict[str, Score]:
    """Scores by name, from names of scikit-learn, scorers, a list of them, or a dict."""
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    if not isinstance(scoring, Mapping):
        if not isinstance(scoring, Iterable):
            raise _unknown_scoring(scoring)
        scoring = {_name_of(one): one for one in scoring}
    out: dict[str, Score] = {}
    for name, one in scoring.items():
        if isinstance(one, str) and one in MEANS:
            if one != ACCURACY and not probable:
                raise _needs_probabilities(one)
            out[name] = MEANS[one]
        elif isinstance(one, str):
            from sklearn.metrics import get_scorer  # slow to import, and rarely needed

            try:
                out[name] = ScikitScore(get_scorer(one), one, probable)
            except ValueError:
                raise _unknown_scoring(one) from None
        elif callable(one):
            out[name] = ScikitScore(one, str(name), probable)
        else:
            raise _unknown_scoring(one)
    if not out:
        raise VerosimError(
            "scoring must have at least one score; got none.", "Use a name, such as 'accuracy'."
        )
    return out


def _unknown_scoring(scoring: Any) -> VerosimError:
    """The error for a score that scikit-learn does not have."""
    return VerosimError(
        f"scoring={scoring!r} is not the name of a score and not a scorer.",
        "Use a name from sklearn.metrics.get_scorer_names(), such as 'accuracy'.",
    )


def _for_scikit(classes: np.ndarray) -> np.ndarray:
    """The classes in a type that the metrics of scikit-learn accept: their numbers at last."""
    found = array_of_labels(classes.tolist())
    is_large = found.dtype.kind == "f" and np.abs(found).max() > 1 << 53
    return found if found.dtype.kind in "biufU" and not is_large else np.arange(len(found))


def _name_of(scorer: Any) -> str:
    """The name of a score in the results."""
    if isinstance(scorer, str):
        return scorer
    inner = getattr(scorer, "_score_func", scorer)
    return getattr(inner, "__name__", type(scorer).__name__)
