"""Scores of a fitted model on new rows with labels, read once and in pieces.

    score = Σ w s(x, y) / Σ w

The sums of the pieces are added, so memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim import engines
from verosim.data import cells
from verosim.data.adapters import open_table
from verosim.data.label_match import SAME_LABELS_HINT, check_shared, codes_of_target
from verosim.data.libraries import pa
from verosim.data.near_names import check_in_table
from verosim.data.stream import (
    TableChunk,
    UnreadableLabel,
    kind_of_labels,
)
from verosim.errors import VerosimError
from verosim.estimators.base import has_probabilities
from verosim.estimators.checks import empty_table
from verosim.estimators.predictions import known_target, rows_to_score
from verosim.folds.inputs import inputs_of
from verosim.folds.row_groups import row_groups
from verosim.folds.scores import (
    ACCURACY,
    BRIER,
    LOG_LOSS,
    Confusion,
    MeanScore,
    Predictions,
    scores_by_name,
)
from verosim.models.opening import open_table_to_score, with_marks
from verosim.models.unseen_values import UnseenValues
from verosim.terminal import in_lines, table_lines
from verosim.validate.group_scores import ByGroup, GroupScores
from verosim.validate.reliability import Reliability, ReliabilityBins


@dataclass(frozen=True, eq=False)
class NewRows:
    """Scores of new rows, and how far the rows differ from those of the fit."""

    rows: int
    classes: np.ndarray  # (C,)
    scores: dict[str, float]
    confusion: np.ndarray  # (C, C) weights by true class and predicted class
    reliability: Reliability | None = field(repr=False)
    by: GroupScores | None = field(repr=False)
    new_labels: dict[Any, int]  # labels that are not classes of the model, and their rows
    missing: dict[str, float]  # the share of missing cells of each column
    unseen: dict[str, float]  # the share of values of each category column not seen at fit
    log_density: tuple[float, float] | None  # mean and standard deviation of log p(x)
    # (n,) the scores of each row that are means over rows; {} unless they were asked for
    of_rows: dict[str, np.ndarray] = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows, {len(self.classes)} classes"]
        named = {name: f"{value:.4f}" for name, value in self.scores.items()}
        if self.reliability is not None:
            named["calibration error"] = f"{self.reliability.error:.4f}"
        if self.log_density is not None:
            mean, spread = self.log_density
            named["mean log p(x)"] = f"{mean:.4f}, deviation {spread:.4f}"
        if self.missing:  # they were counted
            named["missing cells"] = _shares(self.missing)
            named["unseen values"] = _shares(self.unseen)
        lines += table_lines(list(named.items()))
        for label, count in self.new_labels.items():
            lines.append(f"label {label!r} is not a class of the model: {count:,} rows")
        if self.by is not None:
            lines += ["", *str(self.by).split("\n")]
        return in_lines(lines)


def _shares(shares: dict[str, float], most: int = 5) -> str:
    """The columns with the largest shares."""
    found = sorted(((-share, name) for name, share in shares.items() if share > 0))
    if not found:
        return "none"
    shown = ", ".join(f"{name} {-share:.1%}" for share, name in found[:most])
    return shown if len(found) <= most else f"{shown} and {len(found) - most} more columns"


def score_new_rows(
    model: Any,
    source: Any,
    y: str | None = None,
    *,
    scoring: Sequence[str] = (),
    sample_weight: str | None = None,
    by: str | None = None,
    na: Sequence[str] = (),
    unlabelled: str = "error",
    each_row: bool = False,
) -> NewRows:
    """Score a fitted model on a table with labels. The model is not fitted again.

    A row with a label that is not a class of the model counts as wrong.
    """
    state = model.checked_state()
    classes = model.classes_
    target = known_target(state, y)
    table = with_marks(open_table(source), na)
    check_in_table(target, table.names, "target")
    if sample_weight is not None:
        check_in_table(sample_weight, table.names, "column of weights")
    X, _, weights = rows_to_score(state, table, target, sample_weight, unlabelled)
    opened = open_table_to_score(state, X, target, weights)
    rule, _ = model.opened_to_score(X)
    probable = has_probabilities(model)
    named = dict.fromkeys([ACCURACY, *([LOG_LOSS, BRIER] if probable else []), *scoring])
    scores = scores_by_name(list(named), probable)
    grouped = None
    if by is not None:
        inputs = inputs_of(X, target, weights, known=state.schema)
        grouped = ByGroup(by, *row_groups(by, inputs), scores, probable)
    watch = _Counting(state)
    opened.reader.watched(watch)
    schema = opened.reader.schema
    if schema.target is None:
        schema = replace(schema, target=target, target_type=kind_of_labels(classes))
    density = probable and state.spec.is_density

    def work(chunk: TableChunk) -> _Sums:
        codes, labels = codes_of_target(target, chunk.rows, schema, classes)
        found: list[np.ndarray] = []
        if density:
            log_posterior, *found = rule.posterior_and_density(chunk.block())
        else:
            log_posterior = rule.log_posterior(chunk.block())
        weights = chunk.row_weights()
        place = {label: at for at, label in enumerate(classes.tolist())}
        at = np.array([place.get(label, len(classes)) for label in labels.tolist()], dtype=int)
        known = at[codes]  # len(classes) if the label is not a class of the model
        new = {
            label: int((codes == i).sum())
            for i, label in enumerate(labels.tolist()) if label not in place
        }  # fmt: skip
        outside = np.full((len(codes), 1), -np.inf)
        numbers = chunk.first + np.arange(len(codes))
        both = np.hstack([log_posterior, outside]) if new else log_posterior
        rows = Predictions(both, known, weights, _widened(classes) if new else classes, numbers)
        kept = rows.taken(np.flatnonzero(known < len(classes))) if new else rows
        kept = replace(kept, log_proba=kept.log_proba[:, : len(classes)], classes=classes)
        return _Sums(
            len(codes),
            {name: [score.part(rows)] for name, score in scores.items()},
            Confusion().of(kept),
            ReliabilityBins().of(kept) if probable and len(kept.codes) else None,
            grouped.of(kept) if grouped is not None and len(kept.codes) else None,
            new,
            labels.tolist(),
            {name: _missing(chunk, name) for name in opened.reader.names},
            np.array([found[0].sum(), (found[0] ** 2).sum()]) if found else np.zeros(2),
            {
                name: np.asarray(score.of_rows(rows.log_proba, rows.codes), dtype=float)
                for name, score in scores.items() if each_row and isinstance(score, MeanScore)
            },
        )  # fmt: skip

    try:
        parts = list(engines.map(opened, work))
    except UnreadableLabel as error:
        raise VerosimError(
            f"{error.what} The classes of the model are {classes.tolist()[:5]}.", SAME_LABELS_HINT
        ) from None
    if not parts:
        raise empty_table()
    labels = list(dict.fromkeys(label for part in parts for label in part.labels))
    check_shared(labels, labels, classes)
    n = sum(part.rows for part in parts)
    bins = _total([part.bins for part in parts])
    groups = _total([part.groups for part in parts])
    mean, square = sum(part.density for part in parts) / n
    return NewRows(
        n, classes,
        {name: score.value([p for part in parts for p in part.parts[name]])
         for name, score in scores.items()},
        sum(part.confusion for part in parts),
        None if bins is None else bins.reliability(),
        None if grouped is None or groups is None else grouped.result(groups, classes),
        _counts([part.new for part in parts]),
        {name: count / n for name, count in _counts([part.missing for part in parts]).items()},
        watch.shares,
        (float(mean), float(max(square - mean * mean, 0.0) ** 0.5)) if density else None,
        {name: np.concatenate([p.of_rows[name] for p in parts]) for name in parts[0].of_rows},
    )  # fmt: skip


@dataclass(frozen=True)
class _Sums:
    """The sums of one piece of the table."""

    rows: int
    parts: dict[str, list[Any]]  # the parts of each score
    confusion: np.ndarray  # (C, C)
    bins: Any
    groups: Any
    new: dict[Any, int]
    labels: list[Any]
    missing: dict[str, int]
    density: np.ndarray  # (2,) Σ log p(x) and Σ (log p(x))²
    of_rows: dict[str, np.ndarray]  # (n,) the scores of each row


class _Counting(UnseenValues):
    """Unseen values by column, kept after the report."""

    shares: dict[str, float]

    def report(self) -> None:
        found = [one for one in self.counted if one[0] not in self.units]
        unseen = _counts([{name: k} for name, k, _, _ in found])
        of = _counts([{name: m} for name, _, m, _ in found])
        self.shares = {name: k / max(of[name], 1) for name, k in unseen.items()}
        super().report()


def _counts(parts: Sequence[dict[Any, int]]) -> dict[Any, int]:
    out: dict[Any, int] = {}
    for part in parts:
        for name, count in part.items():
            out[name] = out.get(name, 0) + count
    return out


def _total(parts: Sequence[Any]) -> Any:
    """The sum of the parts that exist, or None."""
    found = [part for part in parts if part is not None]
    return sum(found[1:], found[0]) if found else None


def _missing(chunk: TableChunk, name: str) -> int:
    """The number of missing cells of a column."""
    if name not in chunk.rows.batch.schema.names:
        return len(chunk)
    column = cells.without_dictionary(chunk.rows.batch.column(name))
    count = int(column.null_count)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        import pyarrow.compute as pc

        marks = pa.array(["", *chunk.reader.schema.na], column.type)
        count += int(pc.sum(pc.is_in(column, marks)).as_py() or 0)
    elif pa.types.is_floating(column.type):
        import pyarrow.compute as pc

        count += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return count


def _widened(classes: np.ndarray) -> np.ndarray:
    """The classes and one more for all other labels."""
    return np.append(classes.astype(object), [None])


def paired_difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The mean of second − first over the same rows, and its standard error.

    mean(d),   √(Σ (d − mean(d))² / (n − 1) / n),   d = second − first
    """
    d = second - first
    error = d.std(ddof=1) / len(d) ** 0.5 if len(d) > 1 else np.nan
    return float(d.mean()), float(error)
