"""What every generative classifier does, written once.

    fit       = statistics of the rows, then derive
    merge     = statistics + statistics, then derive
    forget    = statistics − statistics, then derive
    set_params = derive

The statistic is the only fitted state. The rule that predicts is derived from it and from the
parameters, at fit and whenever a parameter changes, never by predict.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.validation import _get_feature_names, validate_data

from verosim.axes import Axes, Columns, Groups
from verosim.axes.groups import union_of_labels
from verosim.bayes.priors import free_priors, log_priors
from verosim.bayes.rule import Rule
from verosim.data import ArraySource, as_matrix, as_weights, encode_labels
from verosim.data.labels import check_known
from verosim.densities import Density
from verosim.engines import summarise
from verosim.errors import PrecisionWarning, VerosimError, warn
from verosim.estimators.parameters import generator, same
from verosim.stats import Statistic


class NotFitted(VerosimError, NotFittedError):
    """The model has no statistics yet."""


class GenerativeClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers that keep sums per class and apply Bayes' rule."""

    priors: Any
    stats_: Statistic
    _values = False  # reads any values, not only numbers
    _sparse = False  # reads sparse rows
    _statistic_parameters: tuple[str, ...] = ()  # what the statistic itself depends on

    # What a classifier declares ----------------------------------------------------------

    @abstractmethod
    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Statistic:
        """The zero statistic for these axes; X is there for what the first look must fix."""

    @abstractmethod
    def _density(self) -> Density:
        """The density the parameters ask for."""

    # Rows in -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit from zero: one pass over the rows.

        Parameters
        ----------
        X : array of shape (n, d)
        y : labels of shape (n,): strings, bools or integers.
        sample_weight : array of shape (n,), optional. Rows of weight zero do not count.
        """
        return self._adopt(self._summarise(X, y, sample_weight), streaming=False)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add more rows. `classes` is optional, and new classes may arrive at any time."""
        if not self._is_fitted():
            return self._adopt(self._summarise(X, y, sample_weight, declared=classes))
        self._check_columns(X)
        known = self._current()
        more = self._summarise(X, y, sample_weight, known.unplaced(), classes)
        return self._adopt((known + more).recentred())

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again, in place: the model of the rows that remain."""
        known = self._current()
        self._check_columns(X)
        part = self._summarise(X, y, sample_weight, known)
        check_known(part.axes.groups.classes[part.arrays["rows"].sum(axis=1) > 0], self.classes_)
        rest = known.without(part)
        if not rest.arrays["rows"].any():
            raise VerosimError(
                "Every row would be forgotten, and a model of no rows predicts nothing.",
                "keep some rows, or start a new model.",
            )
        self._warn_of_lost_digits(rest)  # first, so that a warning made an error changes nothing
        return self._adopt(rest)

    def decay(self, factor: float) -> Self:
        """Fade what was seen so far, in place: every weight × factor, 0 < factor ≤ 1."""
        if not isinstance(factor, int | float | np.number) or not 0 < factor <= 1:
            raise VerosimError(f"decay({factor!r}): the factor lies above 0 and is at most 1.")
        return self._adopt(self._current() * factor)

    def merge(self, other: GenerativeClassifier) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        if not isinstance(other, GenerativeClassifier):
            raise VerosimError(f"A model merges with a model, not with {type(other).__name__}.")
        return clone(self)._adopt(self._current() + other._current())

    def __add__(self, other: GenerativeClassifier) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """So that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def with_priors(self, priors: Any) -> Self:
        """A new model with other priors; no data needed."""
        return clone(self).set_params(priors=priors)._adopt(self._current(), streaming=False)

    # The one road from rows to statistics --------------------------------------------------

    def _summarise(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Statistic | None = None,
        declared: Any = None,
    ) -> Statistic:
        if y is None:
            raise VerosimError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        names = _get_feature_names(X)
        rows = self._matrix(X, names)
        n, d = rows.shape
        y = self._one_column(y)
        if len(y) != n:
            raise VerosimError(f"X has {n} rows and y has {len(y)} labels: inconsistent lengths.")
        weights = as_weights(sample_weight, n)
        codes, labels = self._encode(y, weights, known, declared)
        columns = known.axes.columns if known is not None else Columns(
            d, None if names is None else tuple(names.tolist())
        )  # fmt: skip
        if known is None:
            plan = self._plan(Axes(Groups(labels), columns), rows, weights)
        else:
            plan = known.zero()
            plan = plan.align(plan.axes.with_groups(Groups(labels)))
        raw = self._values
        return summarise(ArraySource(rows, codes, weights, raw=raw), plan)

    def _encode(
        self, y: np.ndarray, weights: np.ndarray, known: Statistic | None, declared: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        labels = None if known is None else known.axes.groups.classes
        if declared is not None:
            declared = encode_labels(declared)[1]
            labels = declared if labels is None else union_of_labels(labels, declared)
        if not len(weights) or weights.all():
            return encode_labels(y, labels)
        kept = np.flatnonzero(weights)  # rows of zero weight bring no class with them
        found, labels = encode_labels(y[kept], labels)
        codes = np.zeros(len(y), dtype=np.int32)
        codes[kept] = found
        return codes, labels

    def _one_column(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn(
                "A column-vector y was passed when a 1d array was expected.", DataConversionWarning
            )
            y = y.ravel()
        if y.ndim != 1:
            raise VerosimError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        return y

    # Deriving ----------------------------------------------------------------------------

    def _adopt(self, statistic: Statistic, streaming: bool = True) -> Self:
        """Take a statistic as the state, once a rule can be derived from it."""
        rule = self._derive(statistic, streaming)
        self.stats_ = statistic
        self._rule = rule
        self._fitted_with = {name: getattr(self, name) for name in self._statistic_parameters}
        return self

    def _derive(self, statistic: Statistic, streaming: bool = False) -> Rule:
        weight = statistic.arrays["weight"][:, 0]
        present = (statistic.arrays["rows"][:, 0] > 0) & (weight > 0)
        classes = statistic.axes.groups.classes
        log_prior = log_priors(self.priors, classes, weight, present, streaming)
        return Rule(log_prior, self._density().estimate(statistic), statistic.axes.columns)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. On a fitted model they take effect at once, without data."""
        before = {name: getattr(self, name, None) for name in self.get_params(deep=False)}
        try:
            super().set_params(**parameters)
            if self._is_fitted() and not self._stale():
                self._rule = self._derive(self.stats_)
        except Exception:  # nothing is lost
            super().set_params(**before)
            raise
        return self

    def _is_fitted(self) -> bool:
        return "stats_" in vars(self)

    __sklearn_is_fitted__ = _is_fitted

    def _stale(self) -> list[str]:
        """Statistic parameters that changed since the rows were read."""
        return [
            name for name, value in self._fitted_with.items()
            if not same(value, getattr(self, name))
        ]  # fmt: skip

    def _current(self) -> Statistic:
        if not self._is_fitted():
            raise NotFitted(
                f"This {type(self).__name__} instance is not fitted yet.", "call fit(X, y) first."
            )
        stale = self._stale()
        if stale:
            raise VerosimError(
                f"{', '.join(stale)} changed after the rows were read, and what was counted "
                "depends on it.",
                "fit again.",
            )
        return self.stats_

    # Predicting --------------------------------------------------------------------------

    def _ready(self, X: Any) -> tuple[Rule, Any]:
        """The rule and the rows it is to judge."""
        self._current()
        self._check_columns(X)
        return self._rule, self._matrix(X, self.stats_.axes.columns.names)

    def _matrix(self, X: Any, names: Any) -> Any:
        return as_matrix(X, sparse_allowed=self._sparse, values=self._values, names=names)

    def _check_columns(self, X: Any) -> None:
        columns = self.stats_.axes.columns
        if type(X) is np.ndarray and columns.names is None:  # nothing but the width to check
            if X.ndim == 2 and X.shape[1] != columns.size:
                raise VerosimError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{columns.size} features as input.",
                    "give the same columns as at fit.",
                )
            return
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            raise VerosimError(str(error)) from None

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row: argmax_k δ_k(x)."""
        rule, rows = self._ready(X)
        return self.classes_[rule.decide(rows)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) posteriors p(k | x), classes in the order of `classes_`."""
        rule, rows = self._ready(X)
        return rule.posterior(rows)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        rule, rows = self._ready(X)
        return rule.log_posterior(rows)

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminants δ_k(x), (n, C), up to a term all classes share; of two classes δ_1 − δ_0.

        The linear models leave out the quadratic term their classes share, as their `coef_` do;
        `log_joint` has it.
        """
        rule, rows = self._ready(X)
        scores = rule.discriminants(rows)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def log_joint(self, X: Any) -> np.ndarray:
        """(n, C) δ_k(x) = log π_k + log p(x | k)."""
        rule, rows = self._ready(X)
        return rule.joint(rows)

    def log_density(self, X: Any) -> np.ndarray:
        """(n,) log p(x) = log Σ_k π_k p(x | k): how ordinary each row is."""
        rule, rows = self._ready(X)
        return rule.evidence(rows)

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
            codes, labels = encode_labels(wanted)
            check_known(labels, self.classes_)
            place = {label: i for i, label in enumerate(self.classes_.tolist())}
            self._check_has_rows(labels)
            classes = np.array([place[label] for label in labels.tolist()], dtype=np.intp)[codes]
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

    @property
    def _params(self) -> Any:
        """The parameters the statistic and the settings give."""
        return self._rule.params

    # Fitted attributes, all read off the statistic -------------------------------------------

    def _fitted(self, name: str) -> Statistic:
        if not self._is_fitted():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return self.stats_

    @property
    def classes_(self) -> np.ndarray:
        return self._fitted("classes_").axes.groups.classes

    @property
    def n_features_in_(self) -> int:
        return len(self._fitted("n_features_in_").axes.columns)

    @property
    def feature_names_in_(self) -> np.ndarray:
        names = self._fitted("feature_names_in_").axes.columns.names
        if names is None:
            raise AttributeError("X had no column names at fit.")
        return np.array(names, dtype=object)

    @property
    def class_count_(self) -> np.ndarray:
        """(C,) the weight of every class."""
        return self._fitted("class_count_").arrays["weight"][:, 0].copy()

    @property
    def class_prior_(self) -> np.ndarray:
        self._fitted("class_prior_")
        return np.exp(self._rule.log_prior)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: K − 1 priors where they are estimated, and those of the densities."""
        self._fitted("n_parameters_")
        return self._params.n_parameters + free_priors(self.priors, len(self.classes_))

    def _warn_of_lost_digits(self, statistic: Statistic) -> None:
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = True
        return tags
