"""Settings compared on held-out rows, the whole grid from two passes.

    score(θ) = Σ_f score of fold f by the model of T(outside f) and setting θ

A setting belongs to estimation, not to the statistic: another one needs no other sums, and one
eigendecomposition serves all shrinkages of a covariance. Settings the statistic does depend on
(bins, n-grams, columns) are grouped, two passes a group.
Reference: Friedman (1989), Regularized discriminant analysis (the square, by cross-validation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.axes.groups import plain
from verosim.engines.progress import Progress
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.holdout import Holdout
from verosim.estimators.parameters import same
from verosim.validate.cross import (
    ALONE,
    check_sums,
    judge,
    keeps_priors,
    no_groups_alone,
    one_warning,
    scored,
)
from verosim.validate.left_out import judged_one_by_one
from verosim.validate.scoring import LOG_LOSS, Score, has_posteriors, scorers


@dataclass(frozen=True, eq=False)
class Search:
    """Settings and how each did on held-out rows."""

    settings: list[dict[str, Any]]  # P of them
    scores: dict[str, np.ndarray]  # (P, F) by name; nan where an interrupt came first
    model: Any = field(repr=False)  # fitted on all rows with the best of them
    complete: bool = True  # False if it was interrupted

    @property
    def scoring(self) -> str:
        """The score that chooses: the first asked for."""
        return next(iter(self.scores))

    def mean(self, name: str | None = None) -> np.ndarray:
        """(P,) the mean over the folds all settings were judged on."""
        return _means(self.scores[name or self.scoring])

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


def _means(found: np.ndarray) -> np.ndarray:
    return _common(found).mean(axis=1)


def _shown(value: Any) -> str:
    value = plain(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def search(
    model: Any,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    X: Any,
    y: Any = None,
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    priors: str = "fit",
    schema: Any = None,
    na: Any = (),
) -> Search:
    """Compare settings on held-out rows: any grid of estimation settings costs two passes.

    Parameters
    ----------
    model : a generative classifier or :class:`LeastSquares`; it is left as it is
    grid : {parameter: values}, every combination of which is tried, or a list of settings
    X, y, cv, groups, sample_weight, priors, schema, na : as in :func:`cross_validate`
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
    >>> found = search(RDA(), {"pooling": [0, 0.5, 1], "sphericity": [0, 1e-4, 0.1]}, X, y)
    >>> found.best_settings
    {'pooling': 0.5, 'sphericity': 0}
    """
    check_sums(model)
    keep = keeps_priors(priors)
    settings = _settings(grid)
    probable = has_posteriors(model)
    if scoring is None:
        scoring = LOG_LOSS if probable else "accuracy"
    score_by = scorers(scoring, probable)
    given: dict[str, Any] = {"sample_weight": sample_weight, "schema": schema, "na": na}
    models = [_with(model, setting) for setting in settings]
    with one_warning():
        found = judge_all(models, X, y, cv, groups, score_by, keep, given)
        best = int(np.nanargmax(_means(found.table[next(iter(found.table))])))
        winner = found.fitted(best, X, y)
    return Search(settings, found.table, winner, found.complete)


@dataclass
class Scored:
    """Models and their scores on held-out rows, and the sums they came from."""

    models: list[Any]
    table: dict[str, np.ndarray]  # (models, F) by name
    holdouts: list[tuple[list[int], Holdout]]
    given: dict[str, Any]  # what else `fit` takes
    complete: bool = True

    def fitted(self, i: int, X: Any, y: Any) -> Any:
        """The i-th model, fitted on all rows: their sums are here already."""
        model = self.models[i]
        holdout = next((holdout for of, holdout in self.holdouts if i in of), None)
        if holdout is None or not model._is_sum:
            return model.fit(X, y, **self.given)
        return model._adopt(holdout.total, holdout.schema, streaming=False)


def judge_all(
    models: list[Any],
    X: Any,
    y: Any,
    cv: Any,
    groups: Any,
    score_by: dict[str, Score],
    keep: bool,
    given: dict[str, Any],
) -> Scored:
    """Every model's scores on the same held-out rows; an interrupt leaves what is known."""
    if isinstance(cv, str) and cv == ALONE:
        no_groups_alone(groups)
        return _judge_alone(models, X, y, score_by, keep, given)
    holdouts: list[tuple[list[int], Holdout]] = []
    for of in _alike(models):
        reader = next((models[i] for i in of if models[i]._keeps_most), models[of[0]])
        holdouts.append((of, Holdout(reader, X, y, cv, groups, **given)))
    F = holdouts[0][1].count
    table = {name: np.full((len(models), F), np.nan) for name in score_by}
    out = Scored(models, table, holdouts, given)
    try:
        with Progress(len(models) * F, "models") as bar:
            for of, holdout in holdouts:
                for part in judge(holdout, [models[i] for i in of], keep, X):
                    for m in range(len(part.log_proba)):
                        at = of[part.first + m]
                        for name, found in scored(part, m, holdout, score_by).items():
                            out.table[name][at, part.fold] = found
                    bar.advance(len(part.log_proba))
    except KeyboardInterrupt:
        if np.isnan(out.table[next(iter(out.table))]).any(axis=0).all():
            raise  # nothing is known of all of them yet
        out.complete = False
        warn("Interrupted: the scores are of the folds done so far.", VerosimWarning)
    if out.complete:  # hashing a small table may leave a fold without rows: it is no fold
        kept = ~np.isnan(next(iter(out.table.values()))).all(axis=0)
        out.table = {name: found[:, kept] for name, found in out.table.items()}
    return out


def _judge_alone(
    models: list[Any],
    X: Any,
    y: Any,
    score_by: dict[str, Score],
    keep: bool,
    given: dict[str, Any],
) -> Scored:
    """Every row by the model of all others: one score of them all together."""
    table = {name: np.full((len(models), 1), np.nan) for name in score_by}
    with Progress(len(models), "models") as bar:
        for i, model in enumerate(models):
            log_proba, labels, classes, weights = judged_one_by_one(
                clone(model), X, y, keep_priors=keep, **given
            )
            for name, score in score_by.items():
                table[name][i] = score(labels, log_proba, classes, weights)
            bar.advance(1)
    return Scored(models, table, [], given)


def path(
    model: Any,
    parameter: str,
    grid: Iterable[Any],
    X: Any,
    y: Any = None,
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
    >>> path(LDA(), "shrinkage", [0, 1e-6, 1e-3], X, y, scoring="accuracy")
    shrinkage  accuracy ± se
    0          0.9560 ± 0.0088  ← best
    1e-06      0.9525 ± 0.0083
    0.001      0.9403 ± 0.0087
    """
    if not isinstance(parameter, str):
        raise VerosimError(f"parameter={parameter!r} is no name.", "'shrinkage', for one.")
    return search(model, {parameter: grid}, X, y, cv, scoring, groups, **given)


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


def _alike(models: list[Any]) -> list[list[int]]:
    """Models that read the rows alike, and so share their sums."""
    groups: list[list[int]] = []
    for i, model in enumerate(models):
        for group in groups:
            if same(models[group[0]]._reading, model._reading):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups
