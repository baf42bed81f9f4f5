"""What every generative classifier does, written once.

fit       = statistics of the rows, then derive
merge     = statistics + statistics, then derive
forget    = statistics − statistics, then derive
set_params = derive
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from verosim.axes.groups import plain
from verosim.bayes.rule import Rule
from verosim.data import as_weights, encode_labels
from verosim.data.labels import check_known, positions
from verosim.data.stream import TableSource
from verosim.engines import map_chunks
from verosim.errors import PrecisionWarning, VerosimError, warn
from verosim.estimators.choose import chosen
from verosim.estimators.door import Door
from verosim.estimators.parameters import generator
from verosim.estimators.predictions import accuracy, prediction_reader
from verosim.stats import Statistic


def check_several(statistic: Statistic, target: str) -> None:
    """A target of one value leaves nothing to tell apart."""
    rows = statistic.arrays["rows"].sum(axis=1)
    classes = statistic.axes.groups.classes[rows > 0]
    if len(classes) < 2:
        raise VerosimError(
            f"The target {target!r} is {plain(classes[0])!r} in all {int(rows.sum()):,} rows.",
            "two classes or more are needed; is it the right column?",
        )


class GenerativeClassifier(Door):
    """Base of the classifiers that keep sums per class and apply Bayes' rule."""

    # Learning ------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, schema: Any = None, na: Any = ()
    ) -> Self:
        """Fit from zero: one pass over the rows.

        Parameters
        ----------
        X : array of shape (n, d), or any table: a data frame, Arrow data, a DuckDB relation,
            `verosim.query`, a file, a folder or a glob of files, an iterable of tables
        y : labels of shape (n,): strings, bools or integers; or the name of the target column
        sample_weight : array of shape (n,) or the name of a column. Rows of weight zero do not
            count.
        schema : what `verosim.look` gave; models fitted from one schema merge
        na : texts that mean missing in a table, besides the empty cell
        """
        if self._open_settings:
            self._chosen, holdout = chosen(
                self, X, y, sample_weight=sample_weight, schema=schema, na=na
            )
            statistic, found = holdout.total, holdout.schema
        if not self._open_settings or getattr(self, "robust", False):
            statistic, found = self._summarise(X, y, sample_weight, schema=schema, na=na)
        if found is not None and found.target is not None:
            check_several(statistic, found.target)
        return self._adopt(statistic, found, streaming=False)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        schema: Any = None,
        na: Any = (),
    ) -> Self:
        """Add more rows. `classes` is optional, and new classes may arrive at any time."""
        if not self._is_fitted():
            return self._adopt(
                *self._summarise(X, y, sample_weight, declared=classes, schema=schema, na=na)
            )
        self._check_columns(X)
        known = self._current()
        known_rows = known.unplaced()
        more, found = self._summarise(X, y, sample_weight, known_rows, classes, schema, na)
        return self._adopt((known + more).recentred(), found)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out again, in place: the model of the rows that remain."""
        known = self._current()
        self._check_columns(X)
        part, found = self._summarise(X, y, sample_weight, known)
        check_known(part.axes.groups.classes[part.arrays["rows"].sum(axis=1) > 0], self.classes_)
        rest = known.without(part)
        if not rest.arrays["rows"].any():
            raise VerosimError(
                "Every row would be forgotten, and a model of no rows predicts nothing.",
                "keep some rows, or start a new model.",
            )
        self._warn_of_lost_digits(rest)  # first, so that a warning made an error changes nothing
        return self._adopt(rest, found)

    def decay(self, factor: float) -> Self:
        """Fade what was seen so far, in place: every weight × factor, 0 < factor ≤ 1."""
        if not isinstance(factor, int | float | np.number) or not 0 < factor <= 1:
            raise VerosimError(f"decay({factor!r}): the factor lies above 0 and is at most 1.")
        return self._adopt(self._current() * factor, self._schema)

    def merge(self, other: GenerativeClassifier) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        if not isinstance(other, GenerativeClassifier):
            raise VerosimError(f"A model merges with a model, not with {type(other).__name__}.")
        mine, theirs = self._schema, other._schema
        if mine is not None and theirs is not None:
            mine.check_merges(theirs)
        elif mine is not None or theirs is not None:
            raise VerosimError(
                "One model was fitted on a table, the other on arrays.", "fit both the same way."
            )
        return self._like_this()._adopt(self._current() + other._current(), mine)

    def __add__(self, other: GenerativeClassifier) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """So that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def with_priors(self, priors: Any) -> Self:
        """A new model with other priors; no data needed."""
        other = self._like_this().set_params(priors=priors)
        return other._adopt(self._current(), self._schema, streaming=False)

    def _warn_of_lost_digits(self, statistic: Statistic) -> None:
        for leaf in statistic.leaves():
            self._warn_of_digits(leaf)

    def _warn_of_digits(self, statistic: Statistic) -> None:
        digits = statistic.digits()
        if digits is None or not (digits < 8).any():
            return
        c, j = (int(v) for v in np.argwhere(digits == digits.min())[0])
        one = len(digits) == len(statistic.axes.groups.classes)
        whose = f"class {statistic.axes.groups.name(c)}" if one else "all classes"
        warn(
            f"Column {statistic.axes.columns.name(j)!r}, {whose}: what was forgotten was so large "
            f"that about {max(digits[c, j], 0):.0f} digits remain of the variance. "
            "Refit on the remaining rows to get them back.",
            PrecisionWarning,
        )

    # Predicting ------------------------------------------------------------------------------

    def _scores(self, X: Any, score: Callable[[Rule, Any], np.ndarray]) -> np.ndarray:
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
        decided = self._scores(X, Rule.decide)
        return self.classes_[decided]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) posteriors p(k | x), classes in the order of `classes_`."""
        return self._scores(X, Rule.posterior)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self._scores(X, Rule.log_posterior)

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminants δ_k(x), (n, C), up to a term all classes share; of two classes δ_1 − δ_0.

        The linear models leave out the quadratic term their classes share, as their `coef_` do;
        `log_joint` has it.
        """
        scores = self._scores(X, Rule.discriminants)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; y may name the target column, and sample_weight the column of weights."""
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        self._current()
        weights = sample_weight
        if weights is not None and not isinstance(weights, str):
            weights = as_weights(weights, np.size(weights))
        return accuracy(self._rule, self.classes_, self._source(X, y, weights))

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
