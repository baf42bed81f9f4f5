"""How held-out predictions are scored: by scikit-learn's own metrics, whatever their names.

A scorer asks an estimator for its predictions; here a stand-in answers with those already made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.linalg import EPS

Score = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], float]

LOG_LOSS = "neg_log_loss"


class _Decisions(ClassifierMixin, BaseEstimator):
    """An estimator that was asked before: rows are ignored, the answers are these."""

    def __init__(self, log_proba: np.ndarray, classes: np.ndarray) -> None:
        self.log_proba, self.classes_ = log_proba, classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.log_proba.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        scores = np.maximum(self.log_proba, np.log(np.finfo(float).tiny))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores


class _Answers(_Decisions):
    """One that has probabilities too."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.exp(self.log_proba)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.log_proba


def has_posteriors(model: Any) -> bool:
    """Whether a model gives probabilities, or scores alone."""
    return hasattr(model, "predict_proba")


def _accuracy(
    labels: np.ndarray, log_proba: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> float:
    right = classes[log_proba.argmax(axis=1)] == labels
    return float(np.average(right, weights=weights if len(weights) else None))


def _neg_log_loss(
    labels: np.ndarray, log_proba: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> float:
    """scikit-learn's, its clip included, told all classes, so that a fold may lack some."""
    own = positions(labels, classes)
    told = np.clip(np.exp(log_proba[np.arange(len(own)), own]), EPS, 1 - EPS)
    return float(np.average(np.log(told), weights=weights if len(weights) else None))


def _by_scorer(scorer: Any, name: str, probable: bool) -> Score:
    stand_in = _Answers if probable else _Decisions

    def score(
        labels: np.ndarray, log_proba: np.ndarray, classes: np.ndarray, weights: np.ndarray
    ) -> float:
        rows = np.zeros((len(labels), 1))
        labels, classes = _of_one_type(labels), _of_one_type(classes)
        given = {"sample_weight": weights} if len(weights) else {}
        try:
            return float(scorer(stand_in(log_proba, classes), rows, labels, **given))
        except AttributeError as error:
            raise _needs_posteriors(name) from error
        except (TypeError, ValueError) as error:
            raise VerosimError(
                f"scoring={name!r} cannot judge these predictions: {error}",
                "of several classes, 'roc_auc_ovr' or 'f1_macro'; a function of labels becomes a "
                "scorer by sklearn.metrics.make_scorer.",
            ) from None

    return score


# The two that choose: asked for every setting and fold, so not by way of a scorer's checks.
OURS: dict[str, Score] = {"accuracy": _accuracy, LOG_LOSS: _neg_log_loss}


def _needs_posteriors(name: str) -> VerosimError:
    return VerosimError(
        f"scoring={name!r} judges probabilities, and this model gives none.",
        "'accuracy', or 'roc_auc', which ranks its scores.",
    )


def scorers(scoring: Any, probable: bool = True) -> dict[str, Score]:
    """Scores by name: names of scikit-learn's scorings, its scorers, or a dict of either."""
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    if not isinstance(scoring, Mapping):
        if not isinstance(scoring, Iterable):
            raise VerosimError(f"scoring={scoring!r} is not known.", "a name, such as 'accuracy'.")
        scoring = {_name_of(one): one for one in scoring}
    out: dict[str, Score] = {}
    for name, one in scoring.items():
        if isinstance(one, str) and one in OURS:
            if one == LOG_LOSS and not probable:
                raise _needs_posteriors(one)
            out[name] = OURS[one]
        elif isinstance(one, str):
            try:
                out[name] = _by_scorer(get_scorer(one), one, probable)
            except ValueError:
                raise VerosimError(
                    f"scoring={one!r} is not known.",
                    "'accuracy', 'neg_log_loss', 'roc_auc', … : "
                    "sklearn.metrics.get_scorer_names() lists them.",
                ) from None
        elif callable(one):
            out[name] = _by_scorer(one, str(name), probable)
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
