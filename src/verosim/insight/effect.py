"""The effect of one column: its contribution to each class, by its value."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.axes.groups import plain_label
from verosim.data.frames_of_results import pandas_frame
from verosim.densities import estimates as of
from verosim.densities.attribution import LINEAR
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.insight.column_values import ListedValues, learned_table, possible_values
from verosim.insight.explain import class_number, explain
from verosim.insight.explanation import signed
from verosim.insight.shown_cells import shown_value
from verosim.insight.single_row import SingleRow, fitted_classifier
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import ScoreMixin
    from verosim.typing import Source

EFFECT_GRID = 101  # numbers of a grid
MOST_SHOWN_VALUES = 25
DEVIATIONS = 3.0  # a grid without known limits has so many standard deviations on both sides


@checked
def effect(
    model: ScoreMixin,
    column: str,
    values: Sequence[Any] | None = None,
    *,
    row: Source | Mapping[str, Any] | None = None,
) -> Effect:
    """Compute what one column adds to the score of each class, by its value.

    All other cells are missing, so that they are marginalised. For a generative model the
    contribution is then the log density of the column alone:

        φ_jk(x_j) = log p(x_j | k)

    If columns are independent in the model, this is the contribution of the column to every row.
    Otherwise it is the contribution in a row in which nothing else is known; with `row`, the other
    cells are those of a row. For linear models it is w_kj (x_j − mean of column j).

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    column : str
        The name of the column.
    values : sequence or None, default=None
        The values. None uses all known values of a category, the middle of each bin of a
        histogram, and 101 numbers in the known range of any other number. Without a known range,
        these are within three standard deviations of the mean.
    row : mapping, Series, table of one row, array-like of shape (d,) or None, default=None
        The row that the other cells are taken from. None means that they are missing.

    Returns
    -------
    Effect
        The contributions. It prints as a table.

    Raises
    ------
    VerosimError
        If the column does not exist, or if the values of a date or a text are not given.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §10.13.2.

    Examples
    --------
    >>> import verosim
    >>> table = {"rooms": [1, 2, 5, 6], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes({"rooms": "poisson"}).fit(table, "kind")
    >>> verosim.effect(model, "hue")
    hue          a      b  b − a
    'blue'   −1.39  −0.29  +1.10
    'red'    −0.29  −1.39  −1.10
    missing  +0.00  +0.00  +0.00
    """
    model = fitted_classifier(model, "effect")
    base = SingleRow.blank(model) if row is None else SingleRow.of(model, row, "effect")
    base.check(column)
    if values is None:
        found, edges = shown_values(base, column)
    else:
        found, edges = list(values), ()
        if not found:
            raise VerosimError("values must have at least one value.", "Leave values out.")
    try:
        return column_effect(base, column, found, edges)
    except VerosimError as error:
        if row is not None:
            raise
        raise VerosimError(
            f"The effect of column {column!r} cannot be computed with all other cells missing "
            f"({error.what.rstrip('.')}).",
            "Give the other cells, as in effect(model, column, row=X[:1]).",
        ) from error


def column_effect(
    base: SingleRow, column: str, values: Sequence[Any], edges: tuple[float, ...] = (),
    kind: str | None = None,
) -> Effect:  # fmt: skip
    """The contributions of a column with these values, next to the other cells of a row."""
    asked: Any = {} if kind is None else {"kind": kind}
    source = base.copies({column: list(values)}, len(values))
    found = explain(base.model, source, **asked).folded()
    at = found.names.index(column)
    return Effect(
        column, base.model.classes_, tuple(values), found.contributions[:, :, at], found.kind, edges
    )


def shown_values(base: SingleRow, column: str) -> tuple[list[Any], tuple[float, ...]]:
    """Values of a column that show its effect, and the edges if these are bins."""
    table = learned_table(base.model, column)
    if table is not None and table.kind == of.HEIGHTS_TABLE and len(table.edges) > 1:
        return [*middles(table.edges), *_missing(base)], table.edges
    try:
        known = possible_values(base, column, {}, {})
    except VerosimError as error:
        raise VerosimError(
            f"The values of column {column!r} are not known to {type(base.model).__name__}.",
            "Give some values, as in effect(model, column, values=[…]).",
        ) from error
    if isinstance(known, ListedValues):
        return [*known.values, *_missing(base)], ()
    far = DEVIATIONS * known.scale
    low = known.low if np.isfinite(known.low) else known.centre - far
    high = known.high if np.isfinite(known.high) else known.centre + far
    if known.whole and high - low < EFFECT_GRID:
        return np.arange(np.ceil(low), np.floor(high) + 1).astype(int).tolist(), ()
    return np.linspace(low, high, EFFECT_GRID).tolist(), ()


def middles(edges: Sequence[float]) -> list[float]:
    """The middle of each bin; a bin of one value has this value."""
    places = np.asarray(edges, dtype=np.float64)
    found: list[float] = ((places[1:] + places[:-1]) / 2).tolist()
    return found


def _missing(base: SingleRow) -> list[None]:
    """A missing value, if the model takes one."""
    return [] if base.form == "array" and not _takes_missing(base) else [None]


def _takes_missing(base: SingleRow) -> bool:
    return all(value is None for value in base.cells.values())


@dataclass(frozen=True, eq=False)
class Effect:
    """The contribution of one column to each class, by its value: the result of `effect`.

    Attributes
    ----------
    column : str
        The name of the column.
    classes : ndarray of shape (C,)
        The class labels.
    values : tuple
        The n values of the column; None is a missing value.
    contributions : ndarray of shape (n, C)
        The contribution of each value to the score of each class.
    kind : str
        The kind of the contributions: "shapley", "chain", "linear" or "pool".
    edges : tuple of float
        The edges of the bins, if the values are the middles of bins.
    heads : tuple of str
        The values as they are printed: bins as intervals.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §10.13.2.

    Examples
    --------
    >>> from verosim import GaussianNB, effect
    >>> model = GaussianNB().fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> effect(model, "x0", [2, 4, 6]).difference("b", "a").tolist()
    [-8.0, 0.0, 8.0]
    """

    column: str
    classes: np.ndarray  # (C,)
    values: tuple[Any, ...]  # (n,)
    contributions: np.ndarray  # (n, C)
    kind: str
    edges: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @checked
    def difference(self, of: Hashable, against: Hashable) -> np.ndarray:
        """The contribution of each value to the log-odds of two classes.

        Parameters
        ----------
        of : str, int or bool
            The class for which a positive contribution is evidence.
        against : str, int or bool
            The other class.

        Returns
        -------
        ndarray of shape (n,)
            The contributions.
        """
        k, other = (class_number(label, self.classes) for label in (of, against))
        with np.errstate(invalid="ignore"):
            found: np.ndarray = self.contributions[:, k] - self.contributions[:, other]
        return found

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(value_heads(self.values, self.edges))

    def to_dict(self) -> dict[str, Any]:
        """The contributions as columns.

        Returns
        -------
        dict of str to list
            The column "value", and one column for each class.
        """
        out: dict[str, Any] = {"value": list(self.values)}
        for k, label in enumerate(self.classes):
            out[str(plain_label(label))] = self.contributions[:, k].tolist()
        return out

    def to_pandas(self) -> PandasFrame:
        """The contributions as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_dict`.
        """
        return pandas_frame(self.to_dict())

    def _lines(self) -> list[list[str]]:
        """The head of the table, and one line for each value that is shown."""
        labels = [str(plain_label(label)) for label in self.classes]
        columns = [list(self.contributions[:, k]) for k in range(len(labels))]
        if len(labels) == 2:
            columns.append(list(self.difference(self.classes[1], self.classes[0])))
            labels.append(f"{labels[1]} − {labels[0]}")
        at = list(range(len(self)))
        if len(at) > MOST_SHOWN_VALUES:
            at = np.linspace(0, len(at) - 1, MOST_SHOWN_VALUES).round().astype(int).tolist()
        lines = [[self.column, *labels]]
        heads = self.heads
        return lines + [[heads[i], *(signed(float(one[i])) for one in columns)] for i in at]

    def __str__(self) -> str:
        lines = self._lines()
        shown = table_lines(lines, range(1, len(lines[0])))
        return in_lines([*shown, *(f"({note})" for note in self._notes())])

    def _notes(self) -> list[str]:
        return ["about the mean of the training rows"] if self.kind == LINEAR else []

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._lines()
        return html_table("", head, rows, self._notes(), range(1, len(head)))

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the contributions against the values.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : object
            Further arguments of `plot_effect`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_effect", self, ax=ax, **how)
        return drawn


def value_heads(values: Sequence[Any], edges: Sequence[float]) -> list[str]:
    """Values as they are printed; the first ones are bins if there are edges."""
    bins = [f"[{low:g}, {high:g})" if high > low else f"{low:g}" for low, high in pairwise(edges)]
    return [bins[i] if i < len(bins) else shown_value(value) for i, value in enumerate(values)]
