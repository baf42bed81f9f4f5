"""Cross-validation without refitting.

    T(outside fold f) = T(all) − T(fold f)

T is the statistic of the rows. One pass over the rows gives the statistic of every class and fold.
A subtraction gives the model of the training rows of each fold, and a second pass scores the
held-out rows. For leave-one-out (`cv="loo"`), the model without each row has a closed form.
References: Stone (1974), Cross-validatory choice and assessment of statistical predictions;
Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis (leave-one-out).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked, one_of
from verosim.data.adapters import opened_as
from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, StatisticClassifier, has_probabilities
from verosim.folds import HeldOutEngine, first_warning_only, inputs_of
from verosim.folds.evaluation import OutOfFold, score_specs
from verosim.folds.inputs import target_of
from verosim.folds.leave_one_out import leave_one_out
from verosim.folds.row_groups import check_lengths, named_groups, row_groups
from verosim.folds.scores import (
    LOG_LOSS,
    Confusion,
    Predictions,
    Score,
    Sums,
    scores_by_name,
)
from verosim.html_table import html_table
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines
from verosim.validate.group_scores import ByGroup, GroupScores
from verosim.validate.reliability import Reliability, ReliabilityBins

if TYPE_CHECKING:
    from verosim.data.schema import Schema
    from verosim.drawing import PlotAxes
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, Scoring, Source, Weights

LOO = "loo"  # each row is a fold


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores and predictions of held-out rows, the result of :func:`cross_validate`.

    Each row is predicted by a model that was not fitted on it. The object prints one line for each
    score, with the mean over the folds and the standard error of this mean.

    Attributes
    ----------
    scores : dict of str to ndarray of shape (F,)
        The score of each fold, by the name of the score. Leave-one-out has one value.
    classes : ndarray of shape (C,)
        The class labels, sorted.
    rows : int
        The number of rows.
    confusion : ndarray of shape (C, C)
        The weight of the held-out rows, by true class (row) and predicted class (column).
    reliability : Reliability or None
        The calibration of the posteriors of the held-out rows. None for a model without
        probabilities.
    out_of_fold : OutOfFold or None
        The scores, labels, weights and folds of the held-out rows. None if the rows were not kept.
        The properties below read it, and raise an error if it is None.
    timings : dict of str to float
        The seconds for the scores ("score") and for the whole call ("all").
    by : GroupScores or None
        The scores, the calibration and the decision rates of each group. None without the argument
        `by`.
    log_density : tuple of float or None
        The mean and the standard deviation of log p(x) of the held-out rows. New rows with a much
        smaller mean are unlike the training rows. None without the argument `log_density`, for a
        model that is not a density of the columns, for leave-one-out, and if a row has the
        density 0.
    log_proba : ndarray of shape (n, C)
        The log-posteriors log p(k | x) of the held-out rows, in the order of the rows. A row that
        is held out several times has the mean of its posteriors. A row that is never held out has
        nan.
    proba : ndarray of shape (n, C)
        The posteriors p(k | x) of the held-out rows.
    predictions : ndarray of shape (n,)
        The most probable class of each held-out row.
    labels : ndarray of shape (n,)
        The true label of each row.
    folds : ndarray of shape (n,)
        The fold of each row. The array is empty if the folds overlap.
    weights : ndarray of shape (n,)
        The weight of each row. The array is empty if all rows have the weight 1.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, cross_validate
    >>> X, y = load_iris(return_X_y=True)
    >>> found = cross_validate(LDA(), X, y, cv=5, scoring="accuracy")
    >>> round(found.mean("accuracy"), 2), found.scores["accuracy"].shape, found.proba.shape
    (0.98, (5,), (150, 3))
    """

    scores: dict[str, np.ndarray]  # (F,) by name; one number for leave-one-out
    classes: np.ndarray  # (C,)
    rows: int  # n
    confusion: np.ndarray = field(repr=False)  # (C, C) weights by class and predicted class
    reliability: Reliability | None = field(repr=False)  # of the posteriors, if there are any
    out_of_fold: OutOfFold | None = field(repr=False, default=None)  # if the rows were kept
    timings: dict[str, float] = field(default_factory=dict)  # seconds
    by: GroupScores | None = field(repr=False, default=None)  # if groups were given
    log_density: tuple[float, float] | None = None  # mean and deviation of log p(x)

    @property
    def log_proba(self) -> np.ndarray:
        """(n, C) log p(k | x) of the held-out rows, in the order of the rows."""
        return self._kept.scores

    @property
    def labels(self) -> np.ndarray:
        """(n,) the true labels."""
        return self._kept.labels

    @property
    def folds(self) -> np.ndarray:
        """(n,) the fold of each row; empty if the folds overlap."""
        return self._kept.folds

    @property
    def weights(self) -> np.ndarray:
        """(n,) the weight of each row; empty if all rows have the weight 1."""
        return self._kept.weights

    @property
    def _kept(self) -> OutOfFold:
        if self.out_of_fold is None:
            raise VerosimError(
                "The predictions of the held-out rows were not kept.",
                "Use cross_validate(…, keep_rows=True).",
            )
        return self.out_of_fold

    @property
    def predictions(self) -> np.ndarray:
        """(n,) the most probable class of each held-out row."""
        never = np.isnan(self.log_proba).any(axis=1)
        if never.any():
            raise VerosimError(
                f"{int(never.sum())} of {len(never)} rows were never held out and have no "
                f"prediction; the first is row {int(np.flatnonzero(never)[0])}.",
                "Use folds that hold out each row, such as cv=10.",
            )
        return self.classes[self.log_proba.argmax(axis=1)]

    @property
    def proba(self) -> np.ndarray:
        """(n, C) p(k | x) of the held-out rows."""
        return np.exp(self.log_proba)

    @checked
    def mean(self, name: str) -> float:
        """The mean of a score over the folds.

        Folds without a score (nan) are left out.

        Parameters
        ----------
        name : str
            The name of the score, a key of `scores`.

        Returns
        -------
        float
            The mean.
        """
        one_of("name", name, tuple(self.scores))
        return float(np.nanmean(self.scores[name]))

    @checked
    def error(self, name: str) -> float:
        """The standard error of the mean of a score over the folds.

            error = s / √F

        with s the standard deviation of the scores of the F folds.

        Parameters
        ----------
        name : str
            The name of the score, a key of `scores`.

        Returns
        -------
        float
            The standard error; nan if only one fold has a score.
        """
        one_of("name", name, tuple(self.scores))
        found = self.scores[name][~np.isnan(self.scores[name])]
        if len(found) < 2:
            return float("nan")
        return float(found.std(ddof=1) / np.sqrt(len(found)))

    def __str__(self) -> str:
        folds = len(next(iter(self.scores.values())))
        kept = self.out_of_fold
        alone = folds == 1 and kept is not None and len(np.unique(kept.folds)) == self.rows
        how = "leave-one-out" if alone else f"{folds} folds"
        lines = [f"{self.rows:,} rows, {len(self.classes)} classes, {how}"]
        errors = {name: self.error(name) for name in self.scores}
        spread = {name: "" if np.isnan(e) else f" ± {e:.4f}" for name, e in errors.items()}
        named = [(name, f"{self.mean(name):.4f}{spread[name]}") for name in self.scores]
        lines += table_lines(named)
        if self.log_density is not None:
            mean, deviation = self.log_density
            lines.append(f"mean log p(x) {mean:.4f}, deviation {deviation:.4f}")
        if self.by is not None:
            lines += ["", *str(self.by).split("\n")]
        return in_lines(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title, *_ = str(self).splitlines()
        rows = [
            (name, f"{self.mean(name):.4f}", "" if np.isnan(error) else f"{error:.4f}")
            for name, error in ((name, self.error(name)) for name in self.scores)
        ]
        groups = [] if self.by is None else str(self.by).splitlines()
        return html_table(title, ("score", "mean", "standard error"), rows, groups, (1, 2))

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the confusion matrix of the held-out rows.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : object
            Further arguments of `plot_confusion`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_confusion", self, ax=ax, **how)
        return drawn


@checked
def cross_validate(
    model: StatisticClassifier,
    X: Source,
    y: Labels | None = None,
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
    keep_rows: bool | None = None,
    by: Labels | None = None,
    log_density: bool = False,
) -> CrossValidation:
    """Score a model on held-out rows, without refitting it for each fold.

    The statistic of the training rows of fold f is a difference of sums:

        T(outside fold f) = T(all) − T(fold f)

    where T is the statistic that the model is computed from. The scores are equal to those of
    refitting the model on the training rows of each fold with the same schema. The schema (the
    kinds of the columns and the bins of histograms) is found once from all rows. It uses the labels
    only to choose between a Gaussian and a histogram for a number column of a table, and to choose
    the bins and parents of `AODE`, `KDB` and `TAN`. With few rows, the scores of these three models
    are therefore a little too good.

    Parameters
    ----------
    model : GenerativeClassifier or LeastSquares
        The model to score, fitted or not. It is not changed.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    cv : int, "loo", splitter, array-like, str or iterable, default=10
        The folds: a number of folds, "loo" for leave-one-out, a scikit-learn splitter, the fold of
        each row, the name of a column of folds, or pairs of training and test positions.
        "time:when" orders the rows of a table by the column `when` and predicts ten blocks, each by
        the model of all rows before it; "time:when:5" predicts five. A number makes stratified
        folds if y is an array. For a table with a named target, the fold of a row depends on a hash
        of the row, or of its group. These folds do not depend on the order of the rows.
    scoring : str, callable, sequence, dict or None, default=None
        Names of scikit-learn scorings, scorers, or a dict of them. None is "accuracy" and, for a
        model with probabilities, "neg_log_loss".
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights. The weights are used in the fit
        and in the scores.
    fold_priors : {"fit", "keep"}, default="fit"
        "fit" estimates the priors from the training rows of each fold. "keep" uses the priors of
        all rows in every fold. The R package MASS does the second with `CV=TRUE`.
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
    keep_rows : bool or None, default=None
        Whether to keep the posteriors of all held-out rows. None keeps them if the rows are in
        memory. Scores that are means over rows do not need them.
    by : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of the table, such as "sex". The result then
        has the scores, the calibration and the decision rates of each group in its field `by`. The
        column may be one that the model uses or ignores; `by` changes nothing in the model.
    log_density : bool, default=False
        Whether to compute the mean and the standard deviation of log p(x) of the held-out rows. It
        needs the density of each row in addition to its posterior. `verosim.save` keeps them in the
        file, so that later rows can be compared with them.

    Returns
    -------
    CrossValidation
        The scores of each fold, the confusion matrix, the reliability, and the posteriors of the
        held-out rows.

    Raises
    ------
    VerosimError
        If the model is not a generative classifier of verosim or `LeastSquares`, or if the folds
        or the scores cannot be used with these rows.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36.
    Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis,
    Technometrics 10.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import QDA, cross_validate
    >>> X, y = load_wine(return_X_y=True)
    >>> cross_validate(QDA(), X, y)
    178 rows, 3 classes, 10 folds
    accuracy      0.9722 ± 0.0093
    neg_log_loss  -0.0394 ± 0.0133
    >>> cross_validate(QDA(), X, y, cv="loo").scores["accuracy"].round(4)
    array([0.9944])
    """
    check_statistic_classifier(model, "cross_validate")
    keep_priors = keeps_priors(fold_priors)
    score_by = scores_of(model, scoring, ("accuracy", LOG_LOSS))
    inputs = inputs_of(
        opened_as(X, read), target_of(model, y), sample_weight, schema, na, unlabelled
    )
    start = time.perf_counter()
    kept: OutOfFold | None
    summed: dict[str, Sums] = {"confusion": Confusion()}
    if has_probabilities(model):
        summed["reliability"] = ReliabilityBins()
    grouped = None
    alone_held_out = is_leave_one_out(cv, groups)
    named = by if isinstance(by, str) else str(getattr(by, "name", None) or "groups")
    probable = has_probabilities(model)
    with first_warning_only():
        if alone_held_out:
            if by is not None:
                grouped = ByGroup(named, *row_groups(by, inputs, y), score_by, probable)
                summed["by"] = grouped
            found = leave_one_out(model.spec(), inputs, keep_priors)
            scores = {name: np.array([value]) for name, value in alone(found, score_by).items()}
            timings = {"score": time.perf_counter() - start}
            rows, kept, predicted, density = len(found.labels), found, counted(found), None
            if grouped is not None:
                check_lengths(grouped.codes, rows)
            sums = {name: one.of(predicted) for name, one in summed.items()}
        else:
            engine = HeldOutEngine([model.spec()], inputs, cv, groups, keep_priors)
            keep_rows = engine.rows.source.in_memory if keep_rows is None else keep_rows
            if by is not None:
                found_groups = named_groups(by, engine.rows, inputs, y)
                grouped = ByGroup(named, *found_groups, score_by, probable)
                summed["by"] = grouped
            scored = score_specs(engine, score_by, keep_rows, summed, log_density)
            timings = {"score": time.perf_counter() - start}
            scores = {name: found[0] for name, found in scored.table.items()}
            rows, kept, sums = scored.rows, scored.kept, scored.sums
            density = scored.log_density
    timings["all"] = time.perf_counter() - start
    classes = kept.classes if kept is not None else engine.rows.classes
    bins = sums.get("reliability")
    return CrossValidation(
        scores, classes, rows, sums["confusion"], None if bins is None else bins.reliability(),
        kept, timings, None if grouped is None else grouped.result(sums["by"], classes), density,
    )  # fmt: skip


def scores_of(model: Any, scoring: Any, default: tuple[str, ...]) -> dict[str, Score]:
    """The scores by name; if `scoring` is None, the default scores that the model can have."""
    probable = has_probabilities(model)
    if scoring is None:
        scoring = [name for name in default if probable or name != LOG_LOSS] or ["accuracy"]
    return scores_by_name(scoring, probable)


def alone(found: OutOfFold, score_by: dict[str, Score]) -> dict[str, float]:
    """The scores of leave-one-out, from all rows together."""
    rows = counted(found)
    return {name: score.value([score.part(rows)]) for name, score in score_by.items()}


def counted(found: OutOfFold) -> Predictions:
    """The predictions of the held-out rows with a positive weight."""
    at = np.flatnonzero(found.row_weights)
    weights = found.weights[at] if len(found.weights) else found.weights
    codes = positions(found.labels[at], found.classes)
    return Predictions(found.scores[at], codes, weights, found.classes, at)


def is_leave_one_out(cv: Any, groups: Any) -> bool:
    """Whether cv is leave-one-out; an error if groups are given too."""
    if not isinstance(cv, str) or cv != LOO:
        return False
    if groups is not None:
        raise VerosimError(
            'cv="loo" cannot be used with groups, because it holds out single rows.',
            "Use a number of folds, or cv=groups to hold out one group at a time.",
        )
    return True


def check_statistic_classifier(model: Any, caller: str) -> None:
    """Raise an error unless the model is computed from sums of rows, which can be subtracted."""
    _check_instance(model)
    if not isinstance(model, StatisticClassifier):
        raise VerosimError(
            f"{caller} needs a generative classifier of verosim or LeastSquares; got "
            f"{type(model).__name__}.",
            "Use scikit-learn's cross_validate or GridSearchCV, which refit any model.",
        )


def check_generative(
    model: Any,
    caller: str = "This function",
    hint: str = "Use a model such as NaiveBayes(), LDA() or TextNB().",
) -> None:
    """Raise an error unless the model is a generative classifier."""
    _check_instance(model)
    if not isinstance(model, GenerativeClassifier):
        raise VerosimError(
            f"{caller} needs a generative classifier of verosim; got {type(model).__name__}.", hint
        )


def _check_instance(model: Any) -> None:
    if isinstance(model, type):
        raise VerosimError(f"{model.__name__} is a class, not a model.", f"Use {model.__name__}().")


def keeps_priors(fold_priors: str) -> bool:
    """Whether every fold uses the priors of all rows."""
    if fold_priors not in ("fit", "keep"):
        raise VerosimError(
            f'fold_priors must be "fit" or "keep"; got {fold_priors!r}.',
            "To set the priors themselves, use the parameter priors of the model.",
        )
    return bool(fold_priors == "keep")
