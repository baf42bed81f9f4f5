"""Predictions, written once: a decision over the rows, a piece at a time where they stream.

predict = argmax_k δ_k(x),   p(k | x) = exp δ_k / Σ_j exp δ_j
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from verosim.bayes.rule import Decision
from verosim.data.stream import TableSource
from verosim.engines import map_chunks
from verosim.errors import VerosimError


class Judge:
    """Classes decided by a score each."""

    @abstractmethod
    def _ready(self, X: Any) -> tuple[Any, Any]:
        """The decision and the rows it is to judge: an array, or a source that streams."""

    def _scores(self, X: Any, score: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """score(rule, rows), a piece at a time where X streams."""
        rule, rows = self._ready(X)
        if not isinstance(rows, TableSource):
            return score(rule, rows)
        parts = list(map_chunks(lambda chunk: score(rule, chunk.block()), rows))
        if not parts:
            raise VerosimError("The table has no rows.", "there is nothing to predict.")
        return np.concatenate(parts)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row: argmax_k δ_k(x)."""
        decided = self._scores(X, Decision.decide)
        return self.classes_[decided]  # type: ignore[attr-defined]

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminants δ_k(x), (n, C), up to a term all classes share; of two classes δ_1 − δ_0.

        The linear models leave out the quadratic term their classes share, as their `coef_` do;
        `log_joint` has it.
        """
        scores = self._scores(X, Decision.discriminants)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class Posterior(Judge):
    """Classes with a probability each."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) posteriors p(k | x), classes in the order of `classes_`."""
        return self._scores(X, Decision.posterior)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self._scores(X, Decision.log_posterior)
