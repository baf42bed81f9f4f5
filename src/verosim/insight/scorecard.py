"""Scorecards: the log-odds of two classes as points that a person can add up.

    score(x) = offset + factor · log p(k | x) / p(l | x)
    factor = pdo / ln 2,   offset = base − factor · ln odds

The log-odds are a sum over columns, so each value and each bin has its points. Reference: Siddiqi
(2006), Credit Risk Scorecards, Wiley, chapter 6.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked, finite
from verosim.axes.groups import plain_label
from verosim.data.frames_of_results import pandas_frame
from verosim.data.near_names import near
from verosim.densities.attribution import LINEAR, SHAPLEY
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.insight.date_points import date_points
from verosim.insight.explain import class_number, explain
from verosim.insight.points import (
    CURVE,
    FORMULA,
    ColumnPoints,
    column_points,
    shown_points,
)
from verosim.insight.single_row import DATE_ROLE, UNUSED_ROLE, SingleRow, fitted_classifier
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import ScoreMixin
    from verosim.insight.explanation import Explanation
    from verosim.typing import FileOptions, MissingMarks, Source


@checked
def scorecard(
    model: ScoreMixin,
    base: float = 600,
    pdo: float = 20,
    *,
    odds: float = 1.0,
    of: Hashable | None = None,
) -> Scorecard:
    """Write a model of two classes as a scorecard: points for each value and bin.

    The score of a row is a multiple of its log-odds, as credit analysts use it:

        score(x) = offset + factor · log p(k | x) / p(l | x)
        factor = pdo / ln 2,   offset = base − factor · ln odds

    k is the class `of` and l is the other class. A row with the odds `odds` has `base` points, and
    `pdo` more points double the odds. The log-odds are a sum over columns, so the score is a sum of
    points:

        base points = offset + factor · (log π_k − log π_l)
        points_j(x_j) = factor · (φ_jk(x_j) − φ_jl(x_j))

    π_k is the prior of class k, and φ_jk is the contribution of column j, as `explain` defines it.
    Categories have points for each value, histograms for each bin. Numbers with a Gaussian, Poisson
    or linear score have no bins: their points are the formula a + b·x + c·x². Use
    `NaiveBayes(columns={"age": "histogram"})` to have bins in its place.

    The contribution of a column must depend on this column only. That is true for naive Bayes
    models, also after `calibrate` with a temperature or weights of columns, for the twins of naive
    Bayes models, and for linear models. `LDA` is used by its coefficients.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier with two classes.
    base : float, default=600
        The score of a row with the odds `odds`.
    pdo : float, default=20
        The points that double the odds.
    odds : float, default=1.0
        The odds p(k | x) / p(l | x) of a row with `base` points.
    of : str, int, bool or None, default=None
        The class k for which points are evidence, such as "good". None uses the second class of
        `classes_`.

    Returns
    -------
    Scorecard
        The points. `score(X)` gives the scores of rows. It prints as a table.

    Raises
    ------
    VerosimError
        If the model does not have two classes or has no probabilities, or if the contribution of a
        column depends on other columns.

    References
    ----------
    Siddiqi (2006), Credit Risk Scorecards, Wiley, chapter 6.

    Examples
    --------
    >>> import verosim
    >>> table = {"rooms": [1, 2, 5, 6], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes({"rooms": "poisson"}).fit(table, "kind")
    >>> card = verosim.scorecard(model)
    >>> card
    points for b: 600 at odds 1:1, 20 points double the odds
                 value                      points
    base points                              600.0
    rooms        number           −76.94 + 23.15·x
                 missing                       0.0
    hue          'blue'                       31.7
                 'red'                       −31.7
                 any other value               0.0
                 missing                       0.0
    >>> card.score({"rooms": [5], "hue": ["blue"]}).round(6)
    array([670.509642])
    """
    model = fitted_classifier(model, "scorecard")
    finite("base", base)
    finite("pdo", pdo, least=np.finfo(np.float64).tiny)
    finite("odds", odds, least=np.finfo(np.float64).tiny)
    classes = model.classes_
    if len(classes) != 2:
        raise VerosimError(
            f"A scorecard needs a model of two classes; got {len(classes)} classes.",
            "Fit the model on two classes, such as one class and all others.",
        )
    if not model.gives_probabilities:
        raise VerosimError(
            f"A scorecard needs a model with probabilities; got {type(model).__name__}.",
            "Use NaiveBayes, LDA or LogisticRegression.",
        )
    first = 1 if of is None else class_number(of, classes)
    kind, fill = _additive_kind(model)
    factor = float(pdo) / np.log(2.0)
    offset = float(base) - factor * float(np.log(float(odds)))
    blank = SingleRow.blank(model, fill)
    pair = plain_label(classes[first]), plain_label(classes[1 - first])
    start = explain(model, blank.source, of=pair[0], against=pair[1], **_asked(kind))
    if start.lines:
        raise _not_additive(model)
    names = [name for name in blank.names if blank.role(name) != UNUSED_ROLE]
    used = set(start.columns)
    columns: list[ColumnPoints] = []
    for name in (name for name in names if name in used):
        if blank.role(name) == DATE_ROLE:
            columns += date_points(blank, name, pair, factor, kind)
        else:
            columns.append(column_points(blank, name, pair, factor, kind))
    points = offset + factor * float(start.prior_difference[0])
    return Scorecard(
        pair[0], pair[1], float(base), float(pdo), float(odds), points, tuple(columns), model, kind
    )


def _asked(kind: str | None) -> Any:
    return {} if kind is None else {"kind": kind}


def _additive_kind(model: Any) -> tuple[str | None, float | None]:
    """The kind of contributions that depend on one column each, and what fills the other cells.

    None is the kind that `explain` uses by itself, and a missing cell.
    """
    inner = model
    while hasattr(inner, "model_"):
        inner = inner.model_
    blank = SingleRow.blank(model, 0.0)
    if blank.form == "texts":
        raise _not_additive(model)
    params = model.opened_to_score(blank.source)[0].params
    if hasattr(inner, "checked_state"):
        spec = inner.checked_state().spec
        if spec.is_density and spec.density.has_independent_columns:
            return None, None
        if model is inner and getattr(params, "linear_form", None) is not None:
            return LINEAR, 0.0
    elif getattr(params, "form", None) is not None:  # a linear classifier
        return None, 0.0
    expansion = getattr(params, "by", None)  # the features of a twin
    if expansion is not None and (expansion.columns_of[:, 0] == expansion.columns_of[:, 1]).all():
        return None, None
    raise _not_additive(model)


def _not_additive(model: Any) -> VerosimError:
    return VerosimError(
        "A scorecard needs a table model with independent columns or with linear scores; got "
        f"{type(model).__name__}.",
        "Use NaiveBayes, LDA, or a linear classifier.",
    )


@dataclass(frozen=True, eq=False)
class Scorecard:
    """The points of a model of two classes: the result of `scorecard`.

    `card["age"]` has the points of one column, `len(card)` is the number of columns, and a loop
    gives them in the order of the table.

    Attributes
    ----------
    of : str, int or bool
        The class for which points are evidence.
    against : str, int or bool
        The other class.
    base : float
        The score of a row with the odds `odds`.
    pdo : float
        The points that double the odds.
    odds : float
        The odds of a row with `base` points.
    base_points : float
        The points that every row has: those of the priors.
    columns : tuple of ColumnPoints
        The points of each column, or of each part of a date.
    model : classifier of verosim
        The fitted model.
    kind : str or None
        "linear" if the points come from coefficients; None if they come from densities.
    factor : float
        pdo / ln 2, the points of one unit of the log-odds.
    offset : float
        base − factor · ln odds, the score of a row with the log-odds 0.

    References
    ----------
    Siddiqi (2006), Credit Risk Scorecards, Wiley, chapter 6.

    Examples
    --------
    >>> from verosim import CategoricalNB, scorecard
    >>> model = CategoricalNB().fit([["red"], ["red"], ["blue"]], ["a", "a", "b"])
    >>> card = scorecard(model, pdo=10)
    >>> card["x0"].points.round(2).tolist()
    [14.15, -11.7, 4.15, 0.0]
    """

    of: Hashable
    against: Hashable
    base: float
    pdo: float
    odds: float
    base_points: float
    columns: tuple[ColumnPoints, ...]
    model: ScoreMixin = field(repr=False)
    kind: str | None = None

    @property
    def factor(self) -> float:
        return self.pdo / float(np.log(2.0))

    @property
    def offset(self) -> float:
        return self.base - self.factor * float(np.log(self.odds))

    def __getitem__(self, column: str) -> ColumnPoints:
        for one in self.columns:
            if one.column == column:
                return one
        names = tuple(one.column for one in self.columns)
        raise VerosimError(f"The model has no column {column!r}.", near(str(column), names))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[ColumnPoints]:
        return iter(self.columns)

    # Rows ----------------------------------------------------------------------------------------

    @checked
    def points(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> dict[str, np.ndarray]:
        """The points of each column for rows.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        dict of str to ndarray of shape (n,)
            The base points, and the points of each column.
        """
        found = self._explained(X, na, read)
        out = {"base points": self.offset + self.factor * found.prior_difference}
        for j, name in enumerate(found.names):
            out[name] = self.factor * found.differences[:, j]
        return out

    @checked
    def score(
        self,
        X: Source,
        *,
        rounded: bool = False,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> np.ndarray:
        """The scores of rows: offset + factor · log-odds.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows.
        rounded : bool, default=False
            Whether the points of each column are rounded to whole numbers before they are added,
            as on paper.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            The scores.
        """
        parts = list(self.points(X, na=na, read=read).values())
        total: np.ndarray = np.sum([np.rint(one) for one in parts] if rounded else parts, axis=0)
        return total

    def _explained(self, X: Source, na: MissingMarks, read: FileOptions | None) -> Explanation:
        asked = _asked(self.kind)
        found = explain(
            self.model, X, of=self.of, against=self.against, na=na, read=read, **asked
        )  # fmt: skip
        if found.kind not in (SHAPLEY, LINEAR) or found.lines:
            raise _not_additive(self.model)
        return found.folded()

    # Tables --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """All points as columns, one entry for each value, bin or formula.

        Returns
        -------
        dict of str to list
            The columns "column", "value", "points" and "formula". `points` is nan for a formula,
            and `formula` is an empty text for points.
        """
        out: dict[str, list[Any]] = {n: [] for n in ("column", "value", "points", "formula")}
        rows: list[tuple[str, str, float, str]] = [("base points", "", self.base_points, "")]
        for one in self.columns:
            if one.kind == FORMULA:
                rows.append((one.column, "number", np.nan, one.formula))
            elif one.kind == CURVE and not one.heads:
                rows.append((one.column, "see score(X)", np.nan, ""))
            for head, value in zip(one.heads, one.points.tolist(), strict=True):
                rows.append((one.column, head, value, ""))
        for row in rows:
            for name, item in zip(out, row, strict=True):
                out[name].append(item)
        return out

    def to_pandas(self) -> PandasFrame:
        """All points as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_dict`.
        """
        return pandas_frame(self.to_dict())

    def _title(self) -> str:
        return (
            f"points for {self.of}: {self.base:g} at odds {self.odds:g}:1, "
            f"{self.pdo:g} points double the odds"
        )

    def _notes(self) -> list[str]:
        names = [one.column for one in self.columns if one.kind == CURVE and one.heads]
        if not names:
            return []
        return [f"The points of {', '.join(names)} are a curve; some of them are shown."]

    def _lines(self) -> list[list[str]]:
        """The head of the table, and one line per value; a column is named once."""
        found, last = self.to_dict(), ""
        lines = [["", "value", "points"]]
        columns = zip(*(found[name] for name in found), strict=True)
        for name, value, number, formula in columns:
            shown = formula if formula else shown_points(number)
            lines.append(["" if name == last else name, value, shown])
            last = name
        return lines

    def __str__(self) -> str:
        return in_lines([self._title(), *table_lines(self._lines(), (2,)), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._lines()
        return html_table(self._title(), head, rows, self._notes(), (2,))

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the card as a nomogram: one line of points for each column.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : object
            Further arguments of `plot_nomogram`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted(
            "plot_nomogram", self.model, of=self.of, against=self.against, ax=ax, **how
        )
        return drawn
