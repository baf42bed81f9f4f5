"""Learning by sums, written once.

fit       = statistics of the rows, then derive
merge     = statistics + statistics, then derive
forget    = statistics − statistics, then derive
set_params = derive
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim.axes.groups import plain
from verosim.data import as_weights
from verosim.data.labels import check_known
from verosim.errors import PrecisionWarning, VerosimError, warn
from verosim.estimators.choose import chosen
from verosim.estimators.door import Door
from verosim.estimators.judge import Judge
from verosim.estimators.predictions import accuracy
from verosim.stats import Statistic


def check_several(statistic: Statistic, target: str) -> None:
    """A target of one value leaves nothing to tell apart."""
    rows = statistic.rows.sum(axis=1)
    classes = statistic.axes.groups.classes[rows > 0]
    if len(classes) < 2:
        raise VerosimError(
            f"The target {target!r} is {plain(classes[0])!r} in all {int(rows.sum()):,} rows.",
            "two classes or more are needed; is it the right column?",
        )


class Summed(Door, Judge):
    """Base of the classifiers whose only state is a sum over the rows."""

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
        check_known(part.axes.groups.classes[part.rows.sum(axis=1) > 0], self.classes_)
        rest = known.without(part)
        if not rest.rows.any():
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

    def merge(self, other: Summed) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        if not isinstance(other, Summed):
            raise VerosimError(f"A model merges with a model, not with {type(other).__name__}.")
        mine, theirs = self._schema, other._schema
        if mine is not None and theirs is not None:
            mine.check_merges(theirs)
        elif mine is not None or theirs is not None:
            raise VerosimError(
                "One model was fitted on a table, the other on arrays.", "fit both the same way."
            )
        return self._like_this()._adopt(self._current() + other._current(), mine)

    def __add__(self, other: Summed) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """So that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; y may name the target column, and sample_weight the column of weights."""
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        self._current()
        weights = sample_weight
        if weights is not None and not isinstance(weights, str):
            weights = as_weights(weights, np.size(weights))
        return accuracy(self._rule, self.classes_, self._source(X, y, weights))
