"""Columns chosen step by step, on held-out rows or by Wilks' λ, without fitting rows again.

    log-loss   − Σ log p(class | x_S) of held-out rows, S the columns kept
    Wilks      λ_S = |W_S| / |T_S|, within over total scatter; a step is tested by
               F = (1 − λ'/λ)/(λ'/λ) · (n − K − |S|)/(K − 1)

The statistic of some columns is a part of the statistic of all, so every trial is algebra; where
columns are independent within a class the score itself is a sum over columns.
References: Wilks (1932), Certain generalizations in the analysis of variance; McLachlan (1992),
Discriminant Analysis and Statistical Pattern Recognition, §12.3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import f as f_distribution
from sklearn.base import clone

from verosim import kernels
from verosim.bayes.rule import LOG_POSTERIOR
from verosim.data.stream import TableSource
from verosim.densities.central import Scatter
from verosim.engines import one_blas_thread
from verosim.engines.progress import Progress
from verosim.errors import SingularWarning, VerosimError, VerosimWarning, warn
from verosim.folds import (
    FoldRules,
    HeldOutEngine,
    HeldOutRows,
    HoldOut,
    first_warning_only,
    fit,
    inputs_of,
)
from verosim.folds.scores import LEAST, LOG_LOSS, own_log_proba
from verosim.models import Spec, State, derive, derive_rules
from verosim.models.settings import finite, one_of
from verosim.stats import Moments, Statistic
from verosim.validate.contributions import dense, held_out_contributions
from verosim.validate.cross_validation import check_generative

LEAST_UNEXPLAINED = 1e-10  # share of a column's scatter below which the others explain it all


@dataclass(frozen=True)
class Step:
    """One column more, or one less."""

    column: str
    added: bool
    score: float  # held-out log-loss, or Wilks' λ, after the step
    p_value: float | None = None  # of the step, by Wilks' λ

    def __str__(self) -> str:
        sign = "+" if self.added else "−"
        p = "" if self.p_value is None else f"  p = {self.p_value:.2g}"
        return f"{sign} {self.column}  {self.score:.4f}{p}"


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns that were kept, and how they were come by."""

    columns: list[str]
    numbers: np.ndarray  # (kept,) their places in X
    steps: list[Step]
    start: float  # the score before the first step
    scoring: str  # "neg_log_loss" or "wilks"
    model: Any = field(repr=False, default=None)  # fitted on those columns
    complete: bool = True  # False if it was interrupted

    @property
    def score(self) -> float:
        return self.steps[-1].score if self.steps else self.start

    def __str__(self) -> str:
        what = "held-out log-loss" if self.scoring == LOG_LOSS else "Wilks' λ"
        lines = [f"{what} {self.start:.4f}", *map(str, self.steps)]
        if not self.complete:
            lines.append("interrupted")
        return "\n".join([*lines, f"kept: {', '.join(self.columns)}"])

    __repr__ = __str__


def select(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    scoring: str = LOG_LOSS,
    direction: str = "forward",
    cv: Any = 10,
    most: int | None = None,
    level: float = 0.05,
    groups: Any = None,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
) -> Selection:
    """Choose columns one at a time, forward from none or backward from all.

    Parameters
    ----------
    model : a generative classifier; it is left as it is
    X, y, cv, groups, sample_weight, schema, na : as in :func:`cross_validate`
    scoring : "neg_log_loss" takes the step that lowers the held-out log-loss most, and stops when
        none does; "wilks" goes by Wilks' λ of the Gaussian with one covariance, from the statistic
        alone, and stops when a step is not significant at `level`. Of both, `score` is the value
        that less of is better
    direction : "forward" or "backward"
    most : how many columns to keep at most (forward) or at least (backward); None for no limit
    level : significance a column must have to be added, or kept, by Wilks' λ

    An interrupt (Ctrl-C) returns the columns chosen so far. The significance levels are those of
    single steps; of the best of many they are too small.

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
    check_generative(model)
    one_of("scoring", scoring, (LOG_LOSS, "wilks"))
    one_of("direction", direction, ("forward", "backward"))
    finite("level", level, 0, 1)
    if most is not None:
        finite("most", most, least=1)
    spec = model.spec()
    if not spec.is_decomposable:
        raise VerosimError(
            f"{model!r} is chosen by its rows, so its columns cannot be taken apart.",
            "give the setting a value.",
        )
    inputs = inputs_of(X, y, sample_weight, schema, na)
    engine = HeldOutEngine([spec], inputs, cv, groups)
    forward = direction == "forward"
    with first_warning_only():
        trial: _Wilks | _HeldOut
        if scoring == "wilks":
            trial = _Wilks(_full_moments(spec, engine.rows), level)
        else:
            trial = _held_out(spec, engine)
        kept, steps, start, complete = _stepwise(trial, forward, most)
        numbers = np.array(sorted(kept), dtype=np.intp)
        names = [trial.names[j] for j in numbers]
        winner = clone(model).set_state(_fitted(spec, engine.rows, numbers, names))
    return Selection(names, numbers, steps, start, scoring, winner, complete)


def _stepwise(
    trial: Any, forward: bool, most: int | None
) -> tuple[list[int], list[Step], float, bool]:
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
        warn("Interrupted: the columns chosen so far.", VerosimWarning)
    if not kept:
        raise VerosimError(
            "No column tells the classes apart better than their priors do.",
            "check the target, or fit on all columns.",
        )
    return kept, steps, float(start), complete


# Wilks' λ ----------------------------------------------------------------------------------


def _full_moments(spec: Spec, rows: HoldOut) -> Moments:
    next(iter(rows.trainings()))  # which knows the total, too
    total = rows.total
    if not total.has_scatter:
        raise VerosimError(
            f"Wilks' λ needs the scatter of complete rows, and {spec.name} keeps none.",
            'scoring="neg_log_loss", or select with LDA and fit with another.',
        )
    found: Moments = total.complete
    return found


class _Wilks:
    """λ of a step from swept scatters: what a column has left once the kept ones explain it."""

    def __init__(self, statistic: Moments, level: float) -> None:
        scatter = Scatter(statistic)
        W = scatter.pooled
        centre, shift = scatter.reference_mean()
        between = (scatter.class_weight[:, None] * (shift - centre)).T @ (shift - centre)
        self.within, self.total = W, W + between
        self.n, self.classes = float(scatter.class_weight.sum()), int(scatter.present.sum())
        self.names, self.level = list(statistic.axes.columns), level

    def start(self, kept: Sequence[int]) -> float:
        return float(np.exp(self._log_det(self.within, kept) - self._log_det(self.total, kept)))

    def _log_det(self, matrix: np.ndarray, kept: Sequence[int]) -> float:
        return float(np.linalg.slogdet(matrix[np.ix_(kept, kept)])[1]) if len(kept) else 0.0

    def _left(self, matrix: np.ndarray, kept: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        """(rest,) scatter of each column that the kept ones do not explain."""
        own = matrix.diagonal()[list(rest)]
        if not len(kept):
            return own
        scale = np.sqrt(matrix.diagonal()[list(kept)])
        inner = matrix[np.ix_(kept, kept)] / (scale[:, None] * scale)
        cross = matrix[np.ix_(kept, rest)] / scale[:, None]
        left = own - (cross * np.linalg.lstsq(inner, cross, rcond=None)[0]).sum(axis=0)
        return np.where(left > LEAST_UNEXPLAINED * own, left, np.nan)

    def _ratio(self, kept: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        """(rest,) by how much each column changes λ of the kept ones."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._left(self.within, kept, rest) / self._left(self.total, kept, rest)

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
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
        return bool(p < self.level) if forward else bool(not p < self.level)


# Held-out log-loss -------------------------------------------------------------------------


class _HeldOut(ABC):
    """Held-out log-loss of any set of columns."""

    names: list[str]

    @abstractmethod
    def loss(self, columns: Sequence[int]) -> float:
        """Held-out log-loss of these columns."""

    def start(self, kept: Sequence[int]) -> float:
        return self.loss(kept)

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        sets = [[*kept, j] if forward else [k for k in kept if k != j] for j in rest]
        return np.array([self.loss(some) for some in sets]), np.full(len(rest), np.nan)

    def worth(self, score: float, p: float, current: float, forward: bool) -> bool:
        return bool(score < current) if forward else bool(score <= current)


class _Additive(_HeldOut):
    """One look at the held-out rows gives every column's part of log p(x | k): the rest is sums."""

    def __init__(self, engine: HeldOutEngine) -> None:
        held = held_out_contributions(engine, "select on a sample of the rows.")
        self.own, self.weights, self.prior = held.own, held.weights, held.log_prior
        self.names, of = _column_names(engine.rows)
        self.parts = np.zeros((len(self.names), *self.prior.shape))  # (d, n, C)
        for at, j in enumerate(of):
            self.parts[j] += held.parts[:, :, at]

    def loss(self, columns: Sequence[int]) -> float:
        return self._loss(self.prior + self.parts[list(columns)].sum(axis=0))

    def _loss(self, joint: np.ndarray) -> float:
        n, C = joint.shape
        kernels.normalise(joint, np.zeros(C), LOG_POSTERIOR, np.empty(n))
        return -float(self.weights @ own_log_proba(joint, self.own)) / float(self.weights.sum())

    def scores(
        self, kept: Sequence[int], rest: Sequence[int], forward: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        base = self.prior + self.parts[list(kept)].sum(axis=0)
        sign = 1.0 if forward else -1.0
        found = np.array([self._loss(base + sign * self.parts[j]) for j in rest])
        return found, np.full(len(rest), np.nan)


def _column_names(rows: HoldOut) -> tuple[list[str], list[int]]:
    """The user's columns, and which of them each part of a score belongs to."""
    source = rows.source
    if not isinstance(source, TableSource):
        names = list(rows.plan.axes.columns)
        return names, list(range(len(names)))
    names = list(source.reader.names)
    place = {name: j for j, name in enumerate(names)}
    return names, [place[owner] for owner in source.reader.owners]


class _Marginals(_HeldOut):
    """The statistics of some columns are parts of the statistics of all."""

    def __init__(self, spec: Spec, engine: HeldOutEngine) -> None:
        self.spec, self.names = spec, list(engine.rows.plan.axes.columns)

        def visit(held: HeldOutRows, known: FoldRules) -> Any:
            place = np.full(len(known.classes), -1)
            place[known.places] = np.arange(len(known.places))
            rows = np.asarray(dense(held.block), dtype=np.float64)
            weights = held.weights if len(held.weights) else np.ones(len(rows))
            return known.training, rows, place[held.codes], weights

        # By fold the statistic outside it, its rows, their classes outside it, and their weights.
        self.folds: list[tuple[Statistic, np.ndarray, np.ndarray, np.ndarray]] = [
            visited.value for visited in engine.visits(visit)
        ]

    def loss(self, columns: Sequence[int]) -> float:
        at, loss, total = np.array(sorted(columns), dtype=np.intp), 0.0, 0.0
        for training, rows, own, weights in self.folds:
            log_proba = self._log_proba(training, rows, at)
            known = own >= 0
            of_rows = np.full(len(own), LEAST)
            of_rows[known] = own_log_proba(log_proba[known], own[known])
            loss -= float(weights @ of_rows)
            total += float(weights.sum())
        return loss / total

    def _log_proba(self, training: Statistic, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(n, C) by the model of these columns alone; by the priors if there are none."""
        if not len(at):
            weight = training.weight[:, 0]
            return np.tile(np.log(weight / weight.sum()), (len(rows), 1))
        # Some of the columns may be singular where all are not.
        with one_blas_thread, warnings.catch_warnings(action="ignore", category=SingularWarning):
            rule = derive_rules([self.spec], training.narrowed(at))[0]
        return rule.log_posterior(np.ascontiguousarray(rows[:, at]))


def _held_out(spec: Spec, engine: HeldOutEngine) -> _HeldOut:
    if spec.density.is_additive:
        return _Additive(engine)
    if engine.rows.plan.can_narrow:
        return _Marginals(spec, engine)
    raise VerosimError(
        f"The columns of {spec.name} cannot be taken apart.",
        "naive Bayes, LDA, QDA and RDA on complete rows can.",
    )


def _fitted(spec: Spec, rows: HoldOut, numbers: np.ndarray, names: list[str]) -> State:
    """The state of the kept columns."""
    total = rows.total
    if total.can_narrow and not isinstance(rows.source, TableSource):
        return derive(spec, total.narrowed(numbers))
    schema = rows.schema
    assert schema is not None
    dropped = {c.name: "ignore" for c in schema.used if c.name not in names}
    return fit(spec, replace(rows.inputs, schema=schema.edit(dropped), na=()))
