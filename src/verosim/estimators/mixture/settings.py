"""The settings of mixture discriminant analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim.arguments import finite, one_of, share, whole
from verosim.axes import Axes, Groups
from verosim.axes.groups import plain_label
from verosim.cached import cached_property
from verosim.data.labels import check_known
from verosim.data.source import RowSource
from verosim.densities.mixture import MixtureDensity, MixtureParams
from verosim.errors import ConvergenceWarning, VerosimError, warn
from verosim.estimators.checks import generator
from verosim.estimators.mixture.choice import (
    REGULARISATION,
    Alternatives,
    Tried,
    choose,
    numbers_to_try,
)
from verosim.estimators.mixture.fitting import MixtureSettings, fit_mixture, white_rows
from verosim.estimators.mixture.rows import LabelledRows
from verosim.estimators.robust import Refused
from verosim.models import Spec
from verosim.models.spec import CHOSEN
from verosim.stats import Moments, Statistic

MOST_COMPONENTS = 1000


@dataclass(frozen=True)
class FoundMixture:
    """The mixture that EM found, its settings, and the log-losses of settings that were tried."""

    params: MixtureParams
    settings: MixtureSettings
    losses: Mapping[Tried, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureSpec(Spec):
    """The settings of mixture discriminant analysis."""

    components: Any = CHOSEN
    covariance: str = CHOSEN
    regularisation: Any = CHOSEN
    target: str = CHOSEN
    max_iter: int = 200
    tol: float = 1e-5
    restarts: int = 3
    random_state: Any = 0
    found: FoundMixture | None = None  # known after the rows were read

    @property
    def allows_missing(self) -> bool:
        return False

    @property
    def statistic_settings(self) -> dict[str, Any]:
        names = ("components", "covariance", "regularisation", "target", "max_iter", "tol",
                 "restarts", "random_state")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @property
    def is_decomposable(self) -> bool:
        return False

    def check_updates(self, verb: str) -> None:
        """Refuse updates: EM reads all rows many times."""
        raise Refused(
            f"{verb} is not available for {self.name}, because its EM algorithm needs all rows.",
            f"Fit {self.name} again on all rows, or use LDA, QDA or RDA.",
        )

    def plan(self, axes: Axes, source: Any) -> Statistic:
        self.check_mixture()
        return Moments(axes, layout="full")

    def counted_rows(self, source: RowSource, groups: Groups) -> RowSource:
        """The rows, kept in memory if they can be read only once."""
        return source.held() if source.passes == 1 else source

    @property
    def needs_rows(self) -> bool:
        return self.found is None

    def found_in_rows(self, source: RowSource, statistic: Statistic) -> dict[str, Any]:
        axes = statistic.axes
        rows = LabelledRows.of(source, axes.groups)
        choice = self._choice(axes.groups.classes, rows.counts(len(axes.groups.classes)))
        settings = MixtureSettings(
            choice.shared[0], choice.regularisation[0], choice.sphere[0], int(self.max_iter),
            float(self.tol), int(self.restarts),
            int(generator(self.random_state).integers(1 << 62)),
        )  # fmt: skip
        wanted = choice.components[0]
        losses: Mapping[Tried, float] = {}
        if choice.is_open:
            zero = Moments(axes, layout="full")
            losses, settings, wanted = choose(rows, zero, self._log_prior_of, choice, settings)
        params = fit_mixture(white_rows(rows, statistic), wanted, settings)
        if not params.convergence.converged:
            warn(
                f"EM stopped after {params.convergence.iterations} iterations, before the relative "
                f"change of the log-likelihood was at most {self.tol:g}. Use a larger max_iter or "
                "tol.",
                ConvergenceWarning,
            )
        return {"found": FoundMixture(params, settings, losses)}

    def _choice(self, classes: np.ndarray, rows: np.ndarray) -> Alternatives:
        """The values to choose from, for classes with these numbers of different rows (C,)."""
        covariance, amount, target = self.covariance, self.regularisation, self.target
        return Alternatives(
            (True, False) if covariance == CHOSEN else (covariance == "shared",),
            REGULARISATION if isinstance(amount, str) else (float(amount),),
            (False, True) if target == CHOSEN and amount != 0 else (target == "sphere",),
            numbers_to_try(rows)
            if isinstance(self.components, str)
            else [np.minimum(self.wanted(classes), rows)],
        )

    def _log_prior_of(self, statistic: Statistic) -> np.ndarray:
        """(C,) the log priors of rows with this statistic."""
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        return self.log_prior(statistic.axes.groups.classes, weight, rows, True)

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        return replace(self, found=tuned["found"]) if "found" in tuned else self

    @cached_property
    def density(self) -> MixtureDensity:
        self.check_mixture()
        return MixtureDensity(None if self.found is None else self.found.params)

    def check_mixture(self) -> None:
        """Check the settings."""
        one_of("covariance", self.covariance, ("shared", "own", CHOSEN))
        if self.regularisation != CHOSEN:
            share("regularisation", self.regularisation, zero=True)
        one_of("target", self.target, ("diagonal", "sphere", CHOSEN))
        whole("max_iter", self.max_iter, least=1)
        finite("tol", self.tol, least=0)
        whole("restarts", self.restarts, least=1)
        if isinstance(self.components, Mapping):
            for label, count in self.components.items():
                whole(f"components[{plain_label(label)!r}]", count, 1, MOST_COMPONENTS)
        elif isinstance(self.components, str):
            if self.components != CHOSEN:
                raise VerosimError(
                    "components must be a number, a dict with one number per class, or 'cv'; got "
                    f"{self.components!r}.",
                    'Use components="cv" or components=3.',
                )
        else:
            whole("components", self.components, 1, MOST_COMPONENTS)

    def wanted(self, classes: np.ndarray) -> np.ndarray:
        """(C,) the numbers of components that the user gave."""
        if not isinstance(self.components, Mapping):
            return np.full(len(classes), int(self.components))
        given = np.empty(len(self.components), dtype=object)
        given[:] = list(self.components)
        check_known(given, classes)
        missing = [label for label in classes.tolist() if label not in self.components]
        if missing:
            raise VerosimError(
                f"components must have a number for each class; there is none for {missing[0]!r}.",
                "Give one number of components per class, or one number for all classes.",
            )
        return np.array([int(self.components[label]) for label in classes.tolist()])
