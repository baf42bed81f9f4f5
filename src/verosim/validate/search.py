"""Settings are compared on held-out rows; a whole grid needs two passes over the rows.

    score(θ) = mean over folds f of the score of fold f, by the model of T(outside f) and setting θ

T is the statistic of the rows. Most settings change only the estimation, so all of them use the
same sums, and one eigendecomposition is used for all shrinkages of a covariance. Settings that
change the statistic (bins, n-grams, columns) are grouped, with two passes for each group.
Reference: Friedman (1989), Regularized discriminant analysis (a grid, by cross-validation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
from sklearn.base import clone

from verosim.arguments import checked, one_of
from verosim.axes.groups import plain_label
from verosim.data.adapters import opened_as
from verosim.engines.progress import Progress
from verosim.errors import VerosimError
from verosim.estimators.base import StatisticClassifier
from verosim.folds import HeldOutEngine, first_warning_only, fit, inputs_of
from verosim.folds.evaluation import score_specs
from verosim.folds.inputs import target_of
from verosim.folds.leave_one_out import leave_one_out
from verosim.folds.scores import LOG_LOSS, Score
from verosim.lazy import plotted
from verosim.models import Inputs, Spec
from verosim.terminal import in_lines, table_lines
from verosim.validate.cross_validation import (
    alone,
    check_statistic_classifier,
    is_leave_one_out,
    keeps_priors,
    scores_of,
)

if TYPE_CHECKING:
    from verosim.data.schema import Schema
    from verosim.drawing import PlotAxes
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, Scoring, Source, Weights

ASK_GRID = 'Use, for example, grid={"shrinkage": [0, 0.1, 0.5]}.'


class SearchOptions(TypedDict, total=False):
    """The keyword arguments of `search` that `path` passes on."""

    sample_weight: Weights | None
    fold_priors: Literal["fit", "keep"]
    schema: Schema | None
    na: MissingMarks
    read: FileOptions | None
    unlabelled: Literal["error", "skip"]


@dataclass(frozen=True, eq=False)
class Search:
    """Settings and their scores on held-out rows, the result of :func:`search` and :func:`path`.

    The object prints one line for each setting, with the mean of each score over the folds and its
    standard error. P is the number of settings, and F is the number of folds.

    Attributes
    ----------
    settings : list of dict
        The P settings that were tried, each a dict from parameter to value.
    scores : dict of str to ndarray of shape (P, F)
        The score of each setting and fold, by the name of the score. Leave-one-out has one column.
        A score is nan if the search was interrupted before it.
    model : GenerativeClassifier or LeastSquares
        The model with the best settings, fitted on all rows.
    complete : bool
        False if the search was interrupted.
    scoring : str
        The name of the score that chooses the best setting: the first of `scores`.
    best : int
        The position in `settings` of the setting with the highest mean score. If several are
        equal, it is the first of them.
    best_settings : dict
        The setting with the highest mean score.
    best_score : float
        The mean score of the best setting.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import GaussianNB, search
    >>> X, y = load_wine(return_X_y=True)
    >>> found = search(GaussianNB(), X, y, {"priors": [None, "uniform"]}, cv=5)
    >>> found.best_settings, found.scores["neg_log_loss"].shape
    ({'priors': None}, (2, 5))
    """

    settings: list[dict[str, Any]]  # P of them
    scores: dict[str, np.ndarray]  # (P, F) by name; nan for folds after an interrupt
    model: Any = field(repr=False, default=None)  # fitted on all rows with the best setting
    complete: bool = True  # False if it was interrupted

    @property
    def scoring(self) -> str:
        """The score that chooses: the first of the scores."""
        return next(iter(self.scores))

    def _scores_of(self, name: str | None) -> np.ndarray:
        """(P, F) the scores of one name, or those that choose."""
        if name is not None:
            one_of("name", name, tuple(self.scores))
        return self.scores[name or self.scoring]

    @checked
    def mean(self, name: str | None = None) -> np.ndarray:
        """The mean score of each setting, over the folds that have scores for all settings.

        Parameters
        ----------
        name : str or None, default=None
            The name of the score, a key of `scores`. None is the score that chooses.

        Returns
        -------
        ndarray of shape (P,)
            The mean of each setting.
        """
        return _common(self._scores_of(name)).mean(axis=1)

    @checked
    def error(self, name: str | None = None) -> np.ndarray:
        """The standard error of the mean score of each setting.

            error = s / √F

        with s the standard deviation of the scores of the F folds.

        Parameters
        ----------
        name : str or None, default=None
            The name of the score, a key of `scores`. None is the score that chooses.

        Returns
        -------
        ndarray of shape (P,)
            The standard error of each setting; nan if there is only one fold.
        """
        found = _common(self._scores_of(name))
        if found.shape[1] < 2:
            return np.full(len(found), np.nan)
        return found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])

    @property
    def best(self) -> int:
        """The position of the setting with the highest mean; the first if several are equal."""
        return int(np.nanargmax(self.mean()))

    @property
    def best_settings(self) -> dict[str, Any]:
        """The setting with the highest mean score."""
        return self.settings[self.best]

    @property
    def best_score(self) -> float:
        """The mean score of the best setting."""
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
        marks = ["← best" if p == self.best else "" for p in range(-1, len(self.settings))]
        out = table_lines([*line, mark] for line, mark in zip(lines, marks, strict=True))
        if not self.complete:
            folds = _common(self.scores[self.scoring]).shape[1]
            total = self.scores[self.scoring].shape[1]
            out.append(f"Interrupted: the scores use {folds} of {total} folds.")
        return in_lines(out)

    __repr__ = __str__

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the score of each setting.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : object
            Further arguments of `plot_path`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_path", self, ax=ax, **how)
        return drawn


def _common(found: np.ndarray) -> np.ndarray:
    """(P, F') the scores of the folds that have a score for every setting."""
    return found[:, ~np.isnan(found).any(axis=0)]


def _shown(value: Any) -> str:
    value = plain_label(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@checked
def search(
    model: StatisticClassifier,
    X: Source,
    y: Labels | None,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    cv: CV = 10,
    scoring: Scoring = None,
    groups: Labels | None = None,
    *,
    sample_weight: Weights | None = None,
    fold_priors: Literal["fit", "keep"] = "fit",
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
) -> Search:
    """Compare settings of a model on held-out rows.

    Every setting is scored on the same folds. All settings of the estimation together (shrinkage,
    smoothing, priors and others) need two passes over the rows. An interrupt (Ctrl-C) returns the
    results of the folds that are complete; `complete` is then False.

        score(θ) = mean over folds f of the score of fold f, by the model of T(outside f) and θ

    where θ is a setting and T(outside f) is the statistic of the training rows of fold f.

    Parameters
    ----------
    model : GenerativeClassifier or LeastSquares
        The model, fitted or not. It is not changed.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    grid : mapping or iterable of mappings
        A mapping from parameter to values, such as `{"shrinkage": [0, 0.1]}`, tries all
        combinations. An iterable of mappings tries each of them, such as `[{"shrinkage": 0}]`.
    cv : int, "loo", splitter, array-like, str or iterable, default=10
        The folds: a number of folds, "loo" for leave-one-out, a scikit-learn splitter, the fold of
        each row, the name of a column of folds, "time:column" for blocks in the order of time, or
        pairs of training and test positions.
    scoring : str, callable, sequence, dict or None, default=None
        Names of scikit-learn scorings, scorers, or a dict of them. The first score chooses the best
        settings. None is "neg_log_loss", or "accuracy" for a model without probabilities.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights. The weights are used in the fit
        and in the scores.
    fold_priors : {"fit", "keep"}, default="fit"
        "fit" estimates the priors from the training rows of each fold. "keep" uses the priors of
        all rows in every fold.
    schema : Schema or None, default=None
        The kinds of the columns, from `verosim.look`. None finds them from the table.
    na : iterable of str, default=()
        Texts that mean a missing value in a table, in addition to the empty cell.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label. "error" raises an error that counts them. "skip"
        leaves them out.

    Returns
    -------
    Search
        The settings, their scores in each fold, the best settings, and the model with the best
        settings, fitted on all rows.

    Raises
    ------
    VerosimError
        If the grid is empty, or if it has a parameter or a value that the model does not accept.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import RDA, search
    >>> X, y = load_wine(return_X_y=True)
    >>> found = search(RDA(), X, y, {"pooling": [0, 0.5, 1], "shrinkage": [0, 1e-4, 0.1]})
    >>> found.best_settings
    {'pooling': 0.5, 'shrinkage': 0}
    """
    check_statistic_classifier(model, "search")
    keep_priors = keeps_priors(fold_priors)
    settings = _settings(grid)
    score_by = scores_of(model, scoring, (LOG_LOSS,))
    inputs = inputs_of(
        opened_as(X, read), target_of(model, y), sample_weight, schema, na, unlabelled
    )
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
    """By name, (specs, 1) the scores of all rows; each row is scored by the model of the others."""
    table = {name: np.full((len(specs), 1), np.nan) for name in score_by}
    with Progress(len(specs), "models") as bar:
        for i, spec in enumerate(specs):
            found = leave_one_out(spec, inputs, keep_priors)
            for name, value in alone(found, score_by).items():
                table[name][i] = value
            bar.advance(1)
    return table


@checked
def path(
    model: StatisticClassifier,
    X: Source,
    y: Labels | None,
    name: str,
    values: Iterable[Any],
    cv: CV = 10,
    scoring: Scoring = None,
    groups: Labels | None = None,
    **given: Unpack[SearchOptions],
) -> Search:
    """Compare the values of one parameter on held-out rows.

    This is `search(model, X, y, {name: values}, cv, scoring, groups, **given)`. Use it to see how
    the score changes along one setting, for example the shrinkage of a covariance.

        score(v) = mean over folds f of the score of fold f, by the model of T(outside f) and v

    where v is a value of the parameter and T(outside f) is the statistic of the training rows of
    fold f.

    Parameters
    ----------
    model : GenerativeClassifier or LeastSquares
        The model, fitted or not. It is not changed.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    name : str
        The name of the parameter, such as "shrinkage".
    values : iterable
        The values to compare.
    cv : int, "loo", splitter, array-like, str or iterable, default=10
        The folds: a number of folds, "loo" for leave-one-out, a scikit-learn splitter, the fold of
        each row, the name of a column of folds, "time:column" for blocks in the order of time, or
        pairs of training and test positions.
    scoring : str, callable, sequence, dict or None, default=None
        Names of scikit-learn scorings, scorers, or a dict of them. The first score chooses the best
        settings. None is "neg_log_loss", or "accuracy" for a model without probabilities.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    **given : keyword arguments
        The arguments `sample_weight`, `fold_priors`, `schema`, `na` and `read` of :func:`search`.

    Returns
    -------
    Search
        The values, their scores in each fold, the best value, and the model with the best value,
        fitted on all rows.

    Raises
    ------
    VerosimError
        If `name` is not a parameter of the model.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84.

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
        raise VerosimError(
            f"name must be the name of a parameter; got {name!r}.", "Use, for example, 'shrinkage'."
        )
    return search(model, X, y, {name: values}, cv, scoring, groups, **given)


def _settings(grid: Any) -> list[dict[str, Any]]:
    """The settings of a grid, checked."""
    if not isinstance(grid, Iterable):
        raise VerosimError(f"grid must be a mapping or a list of mappings; got {grid!r}.", ASK_GRID)
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise VerosimError(
                    f"The grid must have a list of values for {name!r}; got {values!r}.", ASK_GRID
                )
        lists = {name: list(values) for name, values in grid.items()}
        for name, values in lists.items():
            if not values:
                raise VerosimError(f"The grid has an empty list of values for {name!r}.", ASK_GRID)
        settings = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    else:
        settings = list(grid)
        if not all(isinstance(setting, Mapping) for setting in settings):
            raise VerosimError("grid must be a mapping or a list of mappings.", ASK_GRID)
        settings = [dict(setting) for setting in settings]
    if not settings or not settings[0]:
        raise VerosimError("The grid is empty.", ASK_GRID)
    if any(setting.keys() != settings[0].keys() for setting in settings):
        raise VerosimError(
            "The settings of the grid have different parameters.",
            "Give the same parameters in each setting.",
        )
    return settings


def _with(model: Any, setting: dict[str, Any]) -> Any:
    """A copy of the model with this setting."""
    known = model.get_params()
    unknown = [name for name in setting if name not in known]
    if unknown:
        raise VerosimError(
            f"{type(model).__name__} has no setting {unknown[0]!r}.",
            f"Use one of {', '.join(model.get_params(deep=False))}.",
        )
    return clone(model).set_params(**setting)
