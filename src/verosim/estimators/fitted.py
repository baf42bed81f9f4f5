"""The state of a classifier: a statistic, its schema, and the rule derived from them.

The statistic is the only fitted state. The rule that predicts is derived from it and from the
parameters, at fit and whenever a parameter changes, never by predict.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from verosim.axes import Axes
from verosim.bayes.priors import free_priors, log_priors
from verosim.bayes.rule import Rule
from verosim.data.schema import Column, Schema
from verosim.densities import Density, FullGaussian, Shared
from verosim.errors import VerosimError
from verosim.estimators.parameters import finite, same
from verosim.stats import Moments, Statistic

CHOOSE = "cv"  # a setting that fit chooses by held-out rows
CHOOSABLE = ("shrinkage", "sphericity", "pooling", "alpha")


class NotFitted(VerosimError, NotFittedError):
    """The model has no statistics yet."""


class Fitted(ClassifierMixin, BaseEstimator):
    """What a classifier declares, keeps and shows."""

    priors: Any
    stats_: Statistic
    schema_: Schema
    _chosen: dict[str, float]  # settings that were left to fit
    _family = ""  # models whose statistics serve each other
    _keeps_most = True  # whether its statistic serves the whole family
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

    # Deriving ----------------------------------------------------------------------------

    def _adopt(
        self, statistic: Statistic, schema: Schema | None = None, streaming: bool = True
    ) -> Self:
        """Take a statistic as the state, once a rule can be derived from it."""
        rule = self._derive(statistic, streaming)
        self.stats_ = statistic
        if schema is not None:
            self.schema_ = schema
        elif self._schema is not None:
            del self.schema_
        self._rule = rule
        self._fitted_with = {name: getattr(self, name) for name in self._statistic_parameters}
        return self

    def _derive(self, statistic: Statistic, streaming: bool = False) -> Any:
        return self._rule_by(self._density().estimate(statistic), statistic, streaming)

    def _rule_by(self, params: Any, statistic: Statistic, streaming: bool) -> Any:
        """What decides: Bayes' rule, unless a model says otherwise."""
        weight = statistic.weight[:, 0]
        present = (statistic.rows[:, 0] > 0) & (weight > 0)
        classes = statistic.axes.groups.classes
        log_prior = log_priors(self._priors, classes, weight, present, streaming)
        return Rule(log_prior, params, statistic.axes.columns)

    @property
    def _priors(self) -> Any:
        """The setting of the priors, where None may mean something else to a model."""
        return self.priors

    @property
    def _reading(self) -> list[Any]:
        """What the statistic depends on: models that agree in it share their sums."""
        family = self._family or type(self).__name__
        return [family, *(getattr(self, name) for name in self._statistic_parameters)]

    @property
    def _is_sum(self) -> bool:
        """Whether fitting is summing; not where all rows at once choose rows or settings."""
        return not self._open_settings and not getattr(self, "robust", False)

    @property
    def _open_settings(self) -> list[str]:
        """The settings that fit is to choose."""
        settings = self.get_params(deep=False)
        return [name for name in CHOOSABLE if str(settings.get(name)) == CHOOSE]

    def _asked(self, name: str) -> Any:
        """A setting as given or, where that was left to the data, as fit chose it."""
        value = getattr(self, name)
        if not isinstance(value, str) or value != CHOOSE:
            return value
        found = vars(self).get("_chosen", {})
        if name not in found:
            raise VerosimError(
                f'{name}="cv" is chosen by held-out rows, and only fit has all rows at hand.',
                f"call fit, or give {name} a value.",
            )
        return found[name]

    def _alpha(self) -> float:
        alpha = self._asked("alpha")
        finite("alpha", alpha, least=0)
        return float(alpha)

    def _like_this(self) -> Self:
        """A model with the same settings, those that fit chose included, and no rows."""
        other = clone(self)
        if "_chosen" in vars(self):
            other._chosen = self._chosen
        return other

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

    @property
    def _schema(self) -> Schema | None:
        """The schema of the table the model was fitted on; None if it was an array."""
        return vars(self).get("schema_")

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

    # Fitted attributes, all read off the statistic -----------------------------------------

    def _fitted(self, name: str) -> Statistic:
        if not self._is_fitted():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return self.stats_

    @property
    def _params(self) -> Any:
        """The parameters the statistic and the settings give."""
        return self._rule.params

    @property
    def classes_(self) -> np.ndarray:
        return self._fitted("classes_").axes.groups.classes

    @property
    def n_features_in_(self) -> int:
        statistic = self._fitted("n_features_in_")
        return len(statistic.axes.columns if self._schema is None else self._columns_in)

    @property
    def _columns_in(self) -> tuple[Column, ...]:
        """The columns of a table that are read; all of them by scikit-learn's door."""
        return self.schema_.columns if self.schema_.target is None else self.schema_.used

    @property
    def feature_names_in_(self) -> np.ndarray:
        names = self._fitted("feature_names_in_").axes.columns.names
        if self._schema is not None:
            names = tuple(c.name for c in self._columns_in) if self._schema.named else None
        if names is None:
            raise AttributeError("X had no column names at fit.")
        return np.array(names, dtype=object)

    @property
    def class_count_(self) -> np.ndarray:
        """(C,) the weight of every class."""
        return self._fitted("class_count_").weight[:, 0].copy()

    @property
    def alpha_(self) -> float:
        """The pseudo-count in use: the setting, or what `fit` chose for "cv"."""
        self._fitted("alpha_")
        if not hasattr(self, "alpha"):
            raise AttributeError(f"{type(self).__name__} smooths nothing.")
        return self._alpha()

    @property
    def n_parameters_(self) -> int:
        """Free parameters: K − 1 priors where they are estimated, and those of the densities."""
        self._fitted("n_parameters_")
        return self._params.n_parameters + free_priors(self._priors, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = True
        return tags


def derive_all(models: Sequence[Fitted], statistic: Statistic) -> list[Rule]:
    """The rules of several settings from one statistic; what they share is worked out once."""
    densities = [model._density() for model in models]
    if not isinstance(statistic, Moments) or not all(
        isinstance(density, FullGaussian) for density in densities
    ):
        return [model._derive(statistic, streaming=True) for model in models]
    shared = Shared(statistic)
    return [
        model._rule_by(density.estimate(statistic, shared), statistic, True)  # type: ignore[call-arg]
        for model, density in zip(models, densities, strict=True)
    ]
