"""Settings compared on held-out rows, the whole grid from two passes.

    score(θ) = Σ_f score of fold f by the model of T(outside f) and setting θ

A setting belongs to estimation, not to the statistic: another one needs no other sums, and one
eigendecomposition serves all shrinkages of a covariance. Settings the statistic does depend on
(bins, n-grams, columns) are grouped, two passes a group.
Reference: Friedman (1989), Regularized discriminant analysis (the square, by cross-validation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.axes.groups import plain_label
from verosim.engines.progress import Progress
from verosim.errors import VerosimError
from verosim.folds import HeldOutEngine, first_warning_only, fit, inputs_of
from verosim.folds.evaluation import score_specs
from verosim.folds.leave_one_out import leave_one_out
from verosim.folds.scores import LOG_LOSS, Score
from verosim.models import Inputs, Spec
from verosim.validate.cross_validation import (
    alone,
    check_statistic_classifier,
    is_leave_one_out,
    keeps_priors,
    scores_of,
)


@dataclass(frozen=True, eq=False)
class Search:
    """Settings and how each did on held-out rows."""

    settings: list[dict[str, Any]]  # P of them
    scores: dict[str, np.ndarray]  # (P, F) by name; nan where an interrupt came first
    model: Any = field(repr=False, default=None)  # fitted on all rows with the best of them
    complete: bool = True  # False if it was interrupted

    @property
    def scoring(self) -> str:
        """The score that chooses: the first asked for."""
        return next(iter(self.scores))

    def mean(self, name: str | None = None) -> np.ndarray:
        """(P,) the mean over the folds all settings were judged on."""
        return _common(self.scores[name or self.scoring]).mean(axis=1)

    def error(self, name: str | None = None) -> np.ndarray:
        """(P,) its standard error over the folds."""
        found = _common(self.scores[name or self.scoring])
        if found.shape[1] < 2:
            return np.full(len(found), np.nan)
        return found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])

    @property
    def best(self) -> int:
        """The number of the setting with the highest mean; of equals the first."""
        return int(np.nanargmax(self.mean()))

    @property
    def best_settings(self) -> dict[str, Any]:
        return self.settings[self.best]

    @property
    def best_score(self) -> float:
        return float(self.mean()[self.best])

    def __str__(self) -> str:
        names = list(self.settings[0])
        head = [*names, *(f"{name} ± se" for name in self.scores)]
        lines = [head]
        columns = [(self.mean(name), self.error(name)) for name in self.scores]
        for p, setting in enumerate(self.settings):
            cells = [_shown(setting[name]) for name in names]
            cells += [
                f"{mean[p]:.4f}" + ("" if np.isnan(error[p]) else f" ± {error[p]:.4f}")
                for mean, error in columns
            ]
            lines.append(cells)
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        out = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        out[1 + self.best] += "  ← best"
        if not self.complete:
            folds = _common(self.scores[self.scoring]).shape[1]
            out.append(f"interrupted: by {folds} of {self.scores[self.scoring].shape[1]} folds")
        return "\n".join(line.rstrip() for line in out)

    __repr__ = __str__


def _common(found: np.ndarray) -> np.ndarray:
    """(P, F') the folds every setting has a score on."""
    return found[:, ~np.isnan(found).any(axis=0)]


def _shown(value: Any) -> str:
    value = plain_label(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def search(
    model: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    fold_priors: str = "fit",
    schema: Any = None,
    na: Any = (),
) -> Search:
    """Compare settings on held-out rows: any grid of estimation settings costs two passes.

    Parameters
    ----------
    model : a generative classifier or :class:`LeastSquares`; it is left as it is
    X, y : rows and labels, or any table and the name of its target, as in `fit`
    grid : {parameter: values}, every combination of which is tried, or a list of settings
    cv, groups, sample_weight, fold_priors, schema, na : as in :func:`cross_validate`
    scoring : as there, and the first score chooses; None is neg_log_loss, or accuracy of a model
        without probabilities

    An interrupt (Ctrl-C) returns what is known so far; `complete` is then False.

    Returns
    -------
    Search with `settings`, `scores` (settings × folds) by name, `best_settings`, and `model`,
    fitted on all rows with the best settings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import RDA, search
    >>> X, y = load_wine(return_X_y=True)
    >>> found = search(RDA(), X, y, {"pooling": [0, 0.5, 1], "shrinkage": [0, 1e-4, 0.1]})
    >>> found.best_settings
    {'pooling': 0.5, 'shrinkage': 0}
    """
    check_statistic_classifier(model)
    keep_priors = keeps_priors(fold_priors)
    settings = _settings(grid)
    score_by = scores_of(model, scoring, (LOG_LOSS,))
    inputs = inputs_of(X, y, sample_weight, schema, na)
    models = [_with(model, setting) for setting in settings]
    specs = [one.spec() for one in models]
    with first_warning_only():
        if is_leave_one_out(cv, groups):
            found = Search(settings, _leave_one_out(specs, inputs, score_by, keep_priors))
            state = fit(specs[found.best], inputs)
        else:
            engine = HeldOutEngine(specs, inputs, cv, groups, keep_priors)
            scored = score_specs(engine, score_by)
            found = Search(settings, scored.table, complete=scored.complete)
            state = engine.state(found.best)
    return replace(found, model=models[found.best].set_state(state))


def _leave_one_out(
    specs: list[Spec], inputs: Inputs, score_by: dict[str, Score], keep_priors: bool
) -> dict[str, np.ndarray]:
    """By name, (specs, 1) scores of all rows, each by the model of all others."""
    table = {name: np.full((len(specs), 1), np.nan) for name in score_by}
    with Progress(len(specs), "models") as bar:
        for i, spec in enumerate(specs):
            found = leave_one_out(spec, inputs, keep_priors)
            for name, value in alone(found, score_by).items():
                table[name][i] = value
            bar.advance(1)
    return table


def path(
    model: Any,
    X: Any,
    y: Any,
    name: str,
    values: Iterable[Any],
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    **given: Any,
) -> Search:
    """One setting along a line of values: :func:`search` of one parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import LDA, path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path(LDA(), X, y, "shrinkage", [0, 1e-6, 1e-3], scoring="accuracy")
    shrinkage  accuracy ± se
    0          0.9560 ± 0.0088  ← best
    1e-06      0.9525 ± 0.0083
    0.001      0.9403 ± 0.0087
    """
    if not isinstance(name, str):
        raise VerosimError(f"name={name!r} is no name of a parameter.", "'shrinkage', for one.")
    return search(model, X, y, {name: values}, cv, scoring, groups, **given)


def _settings(grid: Any) -> list[dict[str, Any]]:
    if not isinstance(grid, Iterable):
        raise VerosimError(f"grid={grid!r} is no grid.", '{"shrinkage": [0, 0.1, 0.5]}, for one.')
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise VerosimError(f"The grid has {values!r} for {name!r}.", "a list of values.")
        lists = {name: list(values) for name, values in grid.items()}
        for name, values in lists.items():
            if not values:
                raise VerosimError(f"The grid has no values of {name!r}.", "one or more.")
        settings = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    else:
        settings = [dict(setting) for setting in grid]
    if not settings or not settings[0]:
        raise VerosimError("The grid is empty.", '{"shrinkage": [0, 0.1, 0.5]}, for one.')
    if any(setting.keys() != settings[0].keys() for setting in settings):
        raise VerosimError("The settings name different parameters.", "name the same in each.")
    return settings


def _with(model: Any, setting: dict[str, Any]) -> Any:
    try:
        return clone(model).set_params(**setting)
    except ValueError as error:
        raise VerosimError(str(error)) from None
