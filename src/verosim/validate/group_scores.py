"""Scores, calibration and decision rates of each group of held-out rows.

    true positive rate of class k    Σ w [predicted k, true k] / Σ w [true k]
    false positive rate of class k   Σ w [predicted k, not true k] / Σ w [not true k]

The sums are over the rows of one group, so a model that treats groups alike has similar rates in
all of them. The sums of different rows can be added.
Reference: Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning, NeurIPS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.data.libraries import pa
from verosim.errors import VerosimError
from verosim.folds.scores import Confusion, Predictions, Score, Sums
from verosim.terminal import in_lines, table_lines
from verosim.validate.reliability import Reliability, ReliabilityBins

ROWS_OF_SMALL_GROUPS = 30  # the rates of a group with fewer rows are marked
WIDEST_LABEL = 24


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores, calibration and decision rates of each group of held-out rows.

    It is the field `by` of the result of ``cross_validate(…, by=…)``. Each row is predicted by a
    model that was not fitted on it. The scores of a group are those of all its held-out rows
    together. With two classes, a positive decision is one for the second class. The object prints
    as a table, with the largest difference between groups in the last line. Groups with fewer
    than 30 rows are marked and do not count in this line.

    Attributes
    ----------
    column : str
        The name of the column of groups, or "groups" for an array.
    groups : ndarray of shape (G,)
        The groups, sorted. Rows without a value are in the group "‹missing›".
    classes : ndarray of shape (C,)
        The class labels, sorted.
    rows : ndarray of shape (G,)
        The number of held-out rows of each group. A row that is held out twice counts twice.
    scores : dict of str to ndarray of shape (G,)
        The scores of each group, by name. A score that does not exist for a group is nan.
    confusion : ndarray of shape (G, C, C)
        For each group, the weight of its rows by true class and predicted class.
    reliability : tuple of Reliability
        The calibration of the posteriors of each group. It is () for a model without
        probabilities.
    calibration_error : ndarray of shape (G,)
        The expected calibration error of each group; nan for a model without probabilities.
    true_shares : ndarray of shape (G, C)
        The share of each class among the rows of each group.
    predicted_shares : ndarray of shape (G, C)
        The share of the rows of each group that are predicted as each class.
    true_positive_rates : ndarray of shape (G, C)
        Of the rows of a class, the share that is predicted as this class; nan without such rows.
    false_positive_rates : ndarray of shape (G, C)
        Of the rows of other classes, the share that is predicted as this class; nan without such
        rows.
    few : ndarray of bool of shape (G,)
        Whether a group has fewer than 30 rows, so that its scores say little.
    table : dict of str to ndarray or list
        The printed numbers as columns, one row per group.

    See Also
    --------
    cross_validate : Scores on held-out rows, also by group.

    References
    ----------
    Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import GaussianNB, cross_validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> size = np.where(X[:, 0] > 14, "large", "small")
    >>> found = cross_validate(GaussianNB(), X, y, by=size, scoring="accuracy").by
    >>> found.groups.tolist(), found.rows.tolist(), found.scores["accuracy"].round(2).tolist()
    (['large', 'small'], [232, 337], [0.92, 0.94])
    """

    column: str
    groups: np.ndarray  # (G,)
    classes: np.ndarray  # (C,)
    rows: np.ndarray  # (G,)
    scores: dict[str, np.ndarray]  # (G,) by name
    confusion: np.ndarray  # (G, C, C)
    reliability: tuple[Reliability, ...] = field(repr=False, default=())

    @property
    def calibration_error(self) -> np.ndarray:
        """(G,) the expected calibration error; nan without probabilities."""
        if not self.reliability:
            return np.full(len(self.groups), np.nan)
        return np.array([one.error for one in self.reliability])

    @property
    def true_shares(self) -> np.ndarray:
        """(G, C) the share of each class."""
        return _ratio(self.confusion.sum(axis=2), self.confusion.sum(axis=(1, 2))[:, None])

    @property
    def predicted_shares(self) -> np.ndarray:
        """(G, C) the share of the rows that are predicted as each class."""
        return _ratio(self.confusion.sum(axis=1), self.confusion.sum(axis=(1, 2))[:, None])

    @property
    def true_positive_rates(self) -> np.ndarray:
        """(G, C) of the rows of each class, the share that is predicted as this class."""
        return _ratio(np.einsum("gkk->gk", self.confusion), self.confusion.sum(axis=2))

    @property
    def false_positive_rates(self) -> np.ndarray:
        """(G, C) of the rows of other classes, the share that is predicted as each class."""
        hits = np.einsum("gkk->gk", self.confusion)
        total = self.confusion.sum(axis=(1, 2))[:, None]
        return _ratio(self.confusion.sum(axis=1) - hits, total - self.confusion.sum(axis=2))

    @property
    def few(self) -> np.ndarray:
        """(G,) whether a group has fewer than 30 rows."""
        return self.rows < ROWS_OF_SMALL_GROUPS

    @property
    def table(self) -> dict[str, Any]:
        """The numbers as columns, one row per group."""
        out: dict[str, Any] = {self.column: self.groups.tolist(), "rows": self.rows}
        out.update(self.scores)
        if self.reliability:
            out["calibration error"] = self.calibration_error
        positive = range(1, 2) if len(self.classes) == 2 else range(len(self.classes))
        for k in positive:
            label = plain_label(self.classes[k])
            out[f"share {label}"] = self.true_shares[:, k]
            out[f"predicted {label}"] = self.predicted_shares[:, k]
            out[f"true positive {label}"] = self.true_positive_rates[:, k]
            out[f"false positive {label}"] = self.false_positive_rates[:, k]
        return out

    def to_pandas(self) -> Any:
        """The table as a data frame, one row per group.

        Returns
        -------
        pandas.DataFrame
            The columns of `table`, and `few`.
        """
        return pa.table({**self.table, "few": self.few}).to_pandas()

    def __str__(self) -> str:
        marks = np.where(self.few, " *", "")
        labels = [_short(group) + mark for group, mark in zip(self.groups, marks, strict=True)]
        first: dict[str, np.ndarray] = {"rows": self.rows, **self.scores}
        if self.reliability:
            first["calibration"] = self.calibration_error
        rates = {
            "share": self.true_shares, "predicted": self.predicted_shares,
            "true pos.": self.true_positive_rates, "false pos.": self.false_positive_rates,
        }  # fmt: skip
        lines = []
        if len(self.classes) == 2:
            first |= {name: rate[:, 1] for name, rate in rates.items()}
            lines += [f"by {self.column!r}, positive class {plain_label(self.classes[1])!r}"]
            lines += self._lines(labels, first)
        else:
            lines += [f"by {self.column!r}", *self._lines(labels, first)]
            for k, label in enumerate(self.classes):
                lines += ["", f"class {plain_label(label)!r}"]
                lines += self._lines(labels, {name: rate[:, k] for name, rate in rates.items()})
        if self.few.any():
            lines.append(f"* fewer than {ROWS_OF_SMALL_GROUPS} rows")
        return in_lines(lines)

    __repr__ = __str__

    def _lines(self, labels: list[str], columns: Mapping[str, np.ndarray]) -> list[str]:
        """The lines of a table, and the largest difference between groups with enough rows."""
        cells = {
            name: [_number(name, value) for value in column] for name, column in columns.items()
        }
        if (~self.few).sum() > 1:
            labels = [*labels, "largest gap"]
            for name, column in columns.items():
                known = column[~self.few & ~np.isnan(column)]
                gap = known.max() - known.min() if len(known) > 1 and name != "rows" else np.nan
                cells[name].append("" if np.isnan(gap) else _number(name, gap))
        rows = zip(labels, *cells.values(), strict=True)
        return table_lines([("", *cells), *rows], range(1, 1 + len(cells)))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole; nan where the whole is zero."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _number(name: str, value: Any) -> str:
    if name == "rows":
        return f"{int(value):,}"
    return "–" if np.isnan(value) else f"{value:.3f}"


def _short(label: Any) -> str:
    text = str(plain_label(label))
    return text if len(text) <= WIDEST_LABEL else text[: WIDEST_LABEL - 1] + "…"


# Sums by group ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupSums:
    """The sums of the rows of one group."""

    rows: int
    parts: dict[str, list[Any]]  # the parts of each score
    confusion: np.ndarray  # (C, C)
    bins: Any  # of the reliability; None without probabilities

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(
            self.rows + other.rows,
            {name: part + other.parts[name] for name, part in self.parts.items()},
            self.confusion + other.confusion,
            None if self.bins is None else self.bins + other.bins,
        )


@dataclass(frozen=True)
class SumsByGroup:
    """The sums of all groups, by number."""

    groups: dict[int, GroupSums]
    scores: dict[str, Score]  # that made the parts

    def __add__(self, other: SumsByGroup) -> SumsByGroup:
        out = dict(self.groups)
        for g, sums in other.groups.items():
            out[g] = out[g] + sums if g in out else sums
        return SumsByGroup(out, self.scores)


@dataclass(frozen=True)
class ByGroup(Sums):
    """Scores and sums of the rows of each group."""

    column: str
    names: np.ndarray  # (G,)
    codes: np.ndarray  # (n,) the group of each row; empty if the rows have their groups
    scores: dict[str, Score]
    probable: bool  # whether the model has probabilities

    def of(self, rows: Predictions) -> SumsByGroup:
        group = rows.groups if len(rows.groups) else self.codes[rows.numbers]
        return SumsByGroup({
            g: self._sums(rows.taken(np.flatnonzero(group == g))) for g in np.unique(group).tolist()
        }, self.scores)  # fmt: skip

    def reduced(self) -> ByGroup:
        return replace(self, scores={name: one.reduced() for name, one in self.scores.items()})

    def _sums(self, rows: Predictions) -> GroupSums:
        parts = {name: [score.part(rows)] for name, score in self.scores.items()}
        bins = ReliabilityBins().of(rows) if self.probable else None
        return GroupSums(len(rows.codes), parts, Confusion().of(rows), bins)

    def packed(self, found: SumsByGroup) -> Any:
        plain = []
        for g, sums in found.groups.items():
            parts = {name: self.scores[name].joined(part) for name, part in sums.parts.items()}
            bins = None if sums.bins is None else ReliabilityBins().packed(sums.bins)
            plain.append([g, sums.rows, parts, sums.confusion, bins])
        return plain

    def unpacked(self, plain: Any) -> SumsByGroup:
        return SumsByGroup({
            g: GroupSums(
                rows, {name: [part] for name, part in parts.items()}, confusion,
                None if bins is None else ReliabilityBins().unpacked(bins),
            )
            for g, rows, parts, confusion, bins in plain
        }, self.scores)  # fmt: skip

    def result(self, sums: SumsByGroup, classes: np.ndarray) -> GroupScores:
        """The scores of all groups that have held-out rows."""
        there = sorted(sums.groups)
        found = [sums.groups[g] for g in there]
        scores = {
            name: np.array([_value(score, one.parts[name]) for one in found])
            for name, score in sums.scores.items()
        }
        return GroupScores(
            self.column, self.names[there], classes, np.array([one.rows for one in found]),
            scores, np.array([one.confusion for one in found]),
            tuple(one.bins.reliability() for one in found) if self.probable else (),
        )  # fmt: skip


def _value(score: Score, parts: list[Any]) -> float:
    """A score of a group; nan if it does not exist, such as an AUC with one class."""
    try:
        return score.value(parts)
    except VerosimError:
        return float("nan")
