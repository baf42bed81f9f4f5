"""What every generative classifier does, written once: Bayes' rule on sums."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim.bayes.rule import Rule
from verosim.data import encode_labels
from verosim.data.labels import check_known, positions
from verosim.errors import VerosimError
from verosim.estimators.judge import Posterior
from verosim.estimators.parameters import generator
from verosim.estimators.predictions import prediction_reader
from verosim.estimators.summed import Summed


class GenerativeClassifier(Posterior, Summed):
    """Base of the classifiers that keep sums per class and apply Bayes' rule."""

    _rule: Rule

    def with_priors(self, priors: Any) -> Self:
        """A new model with other priors; no data needed."""
        other = self._like_this().set_params(priors=priors)
        return other._adopt(self._current(), self._schema, streaming=False)

    @property
    def class_prior_(self) -> np.ndarray:
        self._fitted("class_prior_")
        return np.exp(self._rule.log_prior)

    def log_joint(self, X: Any) -> np.ndarray:
        """(n, C) δ_k(x) = log π_k + log p(x | k)."""
        return self._scores(X, Rule.joint)

    def log_density(self, X: Any) -> np.ndarray:
        """(n,) log p(x) = log Σ_k π_k p(x | k): how ordinary each row is."""
        return self._scores(X, Rule.evidence)

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader that predicts as it is read: any size of table, in little memory.

        Its columns are `prediction`, one posterior `p_…` per class and `log_density`, after the
        columns of the source named in `keep`.
        """
        self._current()
        self._check_columns(source)
        return prediction_reader(self._rule, self.classes_, self._source(source), keep)

    # Simulating ------------------------------------------------------------------------------

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Simulate n rows: k ~ Cat(π), then x ~ p(x | k). `y` fixes the class, or each row's.

        Returns the rows and their labels.
        """
        self._current()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise VerosimError(f"sample({n!r}): a whole number of rows, zero or more, is needed.")
        rng = generator(random_state)
        classes = None
        if y is not None:
            wanted = np.full(n, y) if np.ndim(y) == 0 else np.asarray(y)
            if wanted.shape != (n,):
                raise VerosimError(f"y is one label, or one for each of the {n} rows.")
            labels = encode_labels(wanted)[1]
            check_known(labels, self.classes_)
            self._check_has_rows(labels)
            classes = positions(wanted, self.classes_)
        rows, classes = self._rule.sample(n, classes, rng)
        return rows, self.classes_[classes]

    def _check_has_rows(self, labels: np.ndarray) -> None:
        known = self.classes_.tolist()
        for label in labels.tolist():
            if not self.class_count_[known.index(label)] > 0:
                raise VerosimError(
                    f"Class {label!r} has no rows yet, so nothing is known of it.",
                    "fit some rows of it first.",
                )
