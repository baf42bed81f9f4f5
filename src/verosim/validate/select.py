"""Columns are selected step by step, on held-out rows or by Wilks' λ, without refitting.

    log-loss   − Σ log p(class | x_S) over the held-out rows, with S the selected columns
    Wilks      λ_S = |W_S| / |T_S|, with W the scatter within classes and T the total scatter;
               a step from λ to λ' is tested by F = (1 − λ'/λ)/(λ'/λ) · (n − C − |S|)/(C − 1)

The statistic of some columns is a part of the statistic of all columns, so each trial needs no
pass over the rows. If the columns are independent within a class, the score is a sum over columns.
References: Wilks (1932), Certain generalizations in the analysis of variance; McLachlan (1992),
Discriminant Analysis and Statistical Pattern Recognition, §12.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import f as f_distribution
from sklearn.base import clone

from verosim.arguments import checked, finite, one_of
from verosim.data.adapters import opened_as
from verosim.data.clusters import check_is_here
from verosim.data.schema import with_kinds
from verosim.densities.central import Scatter
from verosim.engines.progress import Progress
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.density_method import check_density
from verosim.folds import HeldOutEngine, HoldOut, first_warning_only, fit, inputs_of
from verosim.folds.inputs import target_of
from verosim.folds.scores import LOG_LOSS
from verosim.lazy import plotted
from verosim.models import Spec, State, derive
from verosim.stats import Moments
from verosim.terminal import in_lines, in_one_line
from verosim.validate.column_loss import HeldOutLoss, held_out_loss
from verosim.validate.cross_validation import check_generative

if TYPE_CHECKING:
    from verosim.data.schema import Schema
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, Source, Weights

NOT_SELECTED = "not selected"  # the reason why a column is ignored
LEAST_UNEXPLAINED = 1e-10  # a column with a smaller share of own scatter is linear in the others


@dataclass(frozen=True)
class Step:
    """One step of :func:`select`: a column is added or removed.

    Attributes
    ----------
    column : str
        The name of the column.
    added : bool
        True if the column was added, False if it was removed.
    score : float
        The held-out log-loss, or Wilks' λ, after the step. Lower is better.
    p_value : float or None
        The p-value of the step, for `scoring="wilks"`. None otherwise.

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, §12.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import LDA, select
    >>> data = load_wine(as_frame=True)
    >>> print(select(LDA(), data.data, data.target, scoring="wilks", most=1).steps[0])
    + flavanoids  0.2722  p = 3.6e-50
    """

    column: str
    added: bool
    score: float  # held-out log-loss, or Wilks' λ, after the step
    p_value: float | None = None  # of the step, by Wilks' λ

    def __str__(self) -> str:
        sign = "+" if self.added else "−"
        p = "" if self.p_value is None else f"  p = {self.p_value:.2g}"
        return in_one_line(f"{sign} {self.column}  {self.score:.4f}{p}")


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected columns and the steps, the result of :func:`select`.

    The object prints the score at the start, one line for each step, and the selected columns.

    Attributes
    ----------
    columns : list of str
        The names of the selected columns.
    numbers : ndarray of shape (d,)
        The positions of the selected columns in X.
    steps : list of Step
        The steps, in order.
    start : float
        The score before the first step.
    scoring : {"neg_log_loss", "wilks"}
        The score that was used.
    model : GenerativeClassifier
        The model, fitted on the selected columns.
    complete : bool
        False if the selection was interrupted.
    score : float
        The held-out log-loss, or Wilks' λ, of the selected columns. Lower is better.

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, §12.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import LDA, select
    >>> data = load_wine(as_frame=True)
    >>> found = select(LDA(), data.data, data.target, scoring="wilks", most=3)
    >>> found.columns, found.numbers, round(found.score, 4)
    (['flavanoids', 'color_intensity', 'proline'], array([ 6,  9, 12]), 0.0478)
    """

    columns: list[str]
    numbers: np.ndarray  # (selected,) their positions in X
    steps: list[Step]
    start: float  # the score before the first step
    scoring: str  # "neg_log_loss" or "wilks"
    model: Any = field(repr=False, default=None)  # fitted on the selected columns
    complete: bool = True  # False if it was interrupted

    @property
    def score(self) -> float:
        """The score after the last step."""
        return self.steps[-1].score if self.steps else self.start

    def __str__(self) -> str:
        what = "held-out log-loss" if self.scoring == LOG_LOSS else "Wilks' λ"
        lines = [f"{what} {self.start:.4f}", *map(str, self.steps)]
        if not self.complete:
            lines.append("Interrupted: the selection is not complete.")
        return in_lines([*lines, f"kept: {', '.join(self.columns)}"])

    __repr__ = __str__

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the score after each step.

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


@checked
def select(
    model: GenerativeClassifier,
    X: Source,
    y: Labels | None = None,
    *,
    scoring: Literal["neg_log_loss", "wilks"] = "neg_log_loss",
    direction: Literal["forward", "backward"] = "forward",
    cv: CV = 10,
    most: int | None = None,
    level: float = 0.05,
    groups: Labels | None = None,
    sample_weight: Weights | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
) -> Selection:
    """Select columns one at a time: forward from none, or backward from all.

    Each step adds (or removes) the column that gives the lowest score. The score is the held-out
    log-loss, or Wilks' λ:

        log-loss = − Σ log p(class | x_S) / n
        λ_S = |W_S| / |T_S|

    where S are the selected columns, n is the number of rows, W is the scatter within classes and T
    is the total scatter. An interrupt (Ctrl-C) returns the columns selected so far. The p-value of
    a step is that of one test. It is too small for the best of many columns.

    Parameters
    ----------
    model : GenerativeClassifier
        The model, fitted or not. It is not changed. The log-loss needs a naive Bayes model, or a
        Gaussian model on rows without missing values. Wilks' λ needs a Gaussian model with a full
        covariance.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    scoring : {"neg_log_loss", "wilks"}, default="neg_log_loss"
        "neg_log_loss" takes the step with the lowest held-out log-loss. It stops when no step
        lowers the log-loss (forward), or when every step raises it (backward). "wilks" uses Wilks'
        λ, which needs no held-out rows. It stops when no column is significant (forward), or when
        all columns are significant (backward).
    direction : {"forward", "backward"}, default="forward"
        "forward" starts with no column and adds columns. "backward" starts with all columns and
        removes columns.
    cv : int, splitter, array-like, str or iterable, default=10
        The folds: a number of folds, a scikit-learn splitter, the fold of each row, the name of a
        column of folds, "time:column" for blocks in the order of time, or pairs of training and
        test positions.
    most : int or None, default=None
        The number of columns at which the selection stops: the largest number for "forward", the
        smallest number for "backward". None sets no limit.
    level : float, default=0.05
        The significance level of a step, for `scoring="wilks"`.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights. The weights are used in the fit
        and in the scores.
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
    Selection
        The selected columns, the steps, and the model fitted on the selected columns.

    Raises
    ------
    VerosimError
        If no column is selected, or if the score cannot be computed for this model.

    References
    ----------
    Wilks (1932), Certain generalizations in the analysis of variance, Biometrika 24.
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, §12.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import LDA, select
    >>> data = load_wine(as_frame=True)
    >>> found = select(LDA(), data.data, data.target, scoring="wilks", most=3)
    >>> print(found)
    Wilks' λ 1.0000
    + flavanoids  0.2722  p = 3.6e-50
    + color_intensity  0.1025  p = 1.2e-37
    + proline  0.0478  p = 2.1e-29
    kept: flavanoids, color_intensity, proline
    """
    if scoring != "wilks":  # Wilks' λ needs only sums
        check_is_here(X, "The function select with the log-loss", 'Use scoring="wilks".')
    check_generative(model, "select")
    one_of("scoring", scoring, (LOG_LOSS, "wilks"))
    one_of("direction", direction, ("forward", "backward"))
    finite("level", level, 0, 1)
    if most is not None:
        finite("most", most, least=1)
    spec = model.spec()
    check_density(spec, "select", "Use select with a model of the columns.")
    if not spec.is_decomposable:
        raise VerosimError(
            f"The columns of {model!r} cannot be selected, because fit chooses a setting of it.",
            "Give the setting a fixed value.",
        )
    inputs = inputs_of(
        opened_as(X, read), target_of(model, y), sample_weight, schema, na, unlabelled
    )
    engine = HeldOutEngine([spec], inputs, cv, groups)
    forward = direction == "forward"
    with first_warning_only():
        trial: _Wilks | HeldOutLoss
        if scoring == "wilks":
            trial = _Wilks(_full_moments(spec, engine.rows), level)
        else:
            trial = held_out_loss(spec, engine)
        kept, steps, start, complete = _stepwise(trial, forward, most)
        numbers = np.array(sorted(kept), dtype=np.intp)
        names = [trial.names[j] for j in numbers]
        winner = clone(model).set_state(_fitted(spec, engine.rows, numbers, names))
    return Selection(names, numbers, steps, start, scoring, winner, complete)


def _stepwise(
    trial: Any, forward: bool, most: int | None
) -> tuple[list[int], list[Step], float, bool]:
    """The selected columns, the steps, the score at the start, and whether it was completed."""
    d = len(trial.names)
    kept: list[int] = [] if forward else list(range(d))
    steps: list[Step] = []
    start = current = trial.start(kept)
    complete = True
    limit = (d if forward else 1) if most is None else min(int(most), d)
    try:
        with Progress(None, "trials") as bar:
            while (len(kept) < limit) if forward else (len(kept) > limit):
                rest = [j for j in range(d) if j not in kept] if forward else list(kept)
                scores, p_values = trial.scores(kept, rest, forward)
                bar.advance(len(rest))
                best = int(np.nanargmin(scores)) if np.isfinite(scores).any() else -1
                if best < 0 or not trial.worth(scores[best], p_values[best], current, forward):
                    break
                j, current = rest[best], float(scores[best])
                kept = [*kept, j] if forward else [k for k in kept if k != j]
                p = None if np.isnan(p_values[best]) else float(p_values[best])
                steps.append(Step(trial.names[j], forward, current, p))
    except KeyboardInterrupt:
        complete = False
        warn("Interrupted: the result has the columns selected so far.", VerosimWarning)
    if not kept:
        raise VerosimError(
            "No column predicts the classes better than the priors.",
            "Check the target, or fit the model on all columns.",
        )
    return kept, steps, float(start), complete


# Wilks' λ ----------------------------------------------------------------------------------


def _full_moments(spec: Spec, rows: HoldOut) -> Moments:
    """The moments of all rows, with full scatter matrices."""
    next(iter(rows.trainings()))  # this also computes the total
    total = rows.total
    if not total.has_scatter:
        raise VerosimError(
            f"Wilks' λ needs a full scatter matrix, and {spec.name} does not compute one from "
            "these rows.",
            'Use scoring="neg_log_loss", or select the columns with LDA() on complete rows.',
        )
    found: Moments = total.complete
    return found


class _Wilks:
    """λ of each step, from the scatter of a column that the selected columns do not explain."""

    def __init__(self, statistic: Moments, level: float) -> None:
        scatter = Scatter(statistic)
        W = scatter.pooled
        centre, shift = scatter.reference_mean()
        between = (scatter.class_weight[:, None] * (shift - centre)).T @ (shift - centre)
        self.within, self.total = W, W + between
        self.n, self.classes = float(scatter.class_weight.sum()), int(scatter.present.sum())
        self.names, self.level = list(statistic.axes.columns), level

    def start(self, kept: Sequence[int]) -> float:
        """λ of these columns."""
        return float(np.exp(self._log_det(self.within, kept) - self._log_det(self.total, kept)))

    def _log_det(self, matrix: np.ndarray, kept: Sequence[int]) -> float:
        return float(np.linalg.slogdet(matrix[np.ix_(kept, kept)])[1]) if len(kept) else 0.0

    def _left(self, matrix: np.ndarray, kept: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        """(rest,) the scatter of each column that the selected columns do not explain."""
        own = matrix.diagonal()[list(rest)]
        if not len(kept):
            return own
        scale = np.sqrt(matrix.diagonal()[list(kept)])
        inner = matrix[np.ix_(kept, kept)] / (scale[:, None] * scale)
        cross = matrix[np.ix_(kept, rest)] / scale[:, None]
        left = own - (cross * np.linalg.lstsq(inner, cross, rcond=None)[0]).sum(axis=0)
        return np.where(left > LEAST_UNEXPLAINED * own, left, np.nan)

    def _ratio(self, kept: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        """(rest,) the factor by which each column changes λ of the selected columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._left(self.within, kept, rest) / self._left(self.total, kept, rest)

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rest,) λ after each step, and its p-value."""
        now = self.start(kept)
        if forward:
            ratio = self._ratio(kept, rest)
            known, after = len(kept), now * ratio
        else:
            others = ([k for k in kept if k != j] for j in rest)
            ratio = np.array([self._ratio(o, [j])[0] for o, j in zip(others, rest, strict=True)])
            known, after = len(kept) - 1, now / ratio
        freedom = self.n - self.classes - known
        with np.errstate(divide="ignore", invalid="ignore"):
            F = (1 - ratio) / ratio * freedom / (self.classes - 1)
        p = f_distribution.sf(F, self.classes - 1, freedom) if freedom > 0 else np.full(len(F), 1.0)
        return np.where(np.isnan(ratio), np.nan if forward else now, after), p

    def worth(self, score: float, p: float, current: float, forward: bool) -> bool:
        """Whether the step is taken."""
        return bool(p < self.level) if forward else bool(not p < self.level)


# The model of the selected columns -------------------------------------------------------------


def _fitted(spec: Spec, rows: HoldOut, numbers: np.ndarray, names: list[str]) -> State:
    """The state of the model of the selected columns."""
    total = rows.total
    if total.can_narrow and rows.schema is None:
        return derive(spec, total.narrowed(numbers))
    schema = rows.schema
    assert schema is not None
    dropped = {c.name: "ignore" for c in schema.used if c.name not in names}
    return fit(spec, replace(rows.inputs, schema=with_kinds(schema, dropped, NOT_SELECTED), na=()))
