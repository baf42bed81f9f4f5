"""The importance of columns: by their contributions to rows, or by what the model has learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.data.clusters import check_is_here
from verosim.data.frames_of_results import pandas_frame
from verosim.data.near_names import near
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.insight.explain import explain
from verosim.insight.information import learned_information
from verosim.insight.single_row import fitted_classifier
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import ScoreMixin
    from verosim.insight.explanation import Explanation
    from verosim.typing import FileOptions, MissingMarks, Source

CONTRIBUTION, INFORMATION = "contribution", "information"
MEANINGS = {
    CONTRIBUTION: "mean |contribution| to the log-odds",
    INFORMATION: "information about the class in nats, I(x; y)",
}
MOST_SHOWN_COLUMNS = 30


@checked
def importance(
    model: ScoreMixin,
    X: Source | None = None,
    *,
    na: MissingMarks = (),
    read: FileOptions | None = None,
) -> Importance:
    """Measure how important each column is, on rows or from what the model has learned.

    With rows, the importance of column j is its mean absolute contribution to the log-odds of the
    predicted class k against the runner-up l of each row:

        importance_j = 1/n Σ_i |φ_jk(x_i) − φ_jl(x_i)|

    φ_jk is the contribution that `explain` computes. Without rows, it is the mutual information of
    the column and the class under the model:

        I(x_j; y) = Σ_k π_k ∫ p_j(x | k) log (p_j(x | k) / p_j(x)) dx

    π_k is the prior of class k, p_j(x | k) is the density of the column in class k, and
    p_j(x) = Σ_k π_k p_j(x | k). It is the mean gain in the log posterior of the true class if only
    this column is known, in nats. It is 0 for a column that is the same in all classes, and at
    most the entropy of the priors. Columns that repeat each other are all important by both
    measures.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    X : array-like of shape (n, d), table or None, default=None
        The rows. None uses only what the model has learned.
    na : iterable of str, default=()
        Texts that mean "missing" in this table, in addition to those of the fit.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.

    Returns
    -------
    Importance
        The importance of each column. It prints as a table with the largest first.

    Raises
    ------
    VerosimError
        If X is None and the model has no densities of single columns, or if the model cannot be
        explained.

    References
    ----------
    Cover & Thomas (2006), Elements of Information Theory, §2.3.
    Lundberg & Lee (2017), A unified approach to interpreting model predictions, NIPS 30.

    Examples
    --------
    >>> import verosim
    >>> table = {"rooms": [1, 2, 5, 6], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes({"rooms": "poisson"}).fit(table, "kind")
    >>> verosim.importance(model)
    information about the class in nats, I(x; y)
    rooms  0.2097
    hue    0.1308
    >>> verosim.importance(model, table)
    mean |contribution| to the log-odds, 4 rows
    rooms  1.6047
    hue    1.0986
    """
    check_is_here(X, "The function importance")
    model = fitted_classifier(model, "importance")
    if X is None:
        return _from_sums(model)
    return Importance.of(explain(model, X, na=na, read=read))


def _from_sums(model: Any) -> Importance:
    """The information of each column, from what the model has learned."""
    inner = model
    while not hasattr(inner, "learned") and hasattr(inner, "model_"):
        inner = inner.model_
    try:
        if not hasattr(inner, "learned"):
            raise VerosimError(f"{type(model).__name__} has not learned a table for each column.")
        learned = inner.learned()
    except VerosimError as error:
        raise VerosimError(
            f"{type(model).__name__} has no densities of single columns, so the importance needs "
            "rows.",
            "Give the rows, as in importance(model, X).",
        ) from error
    values = np.array([learned_information(one, learned.priors) for one in learned])
    return Importance(learned.columns, values, INFORMATION, 0)


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of the columns of a model: the result of `importance`.

    `found["age"]` is the importance of one column, `len(found)` is the number of columns, and a
    loop gives their names in the order of the table.

    Attributes
    ----------
    columns : tuple of str
        The names of the d columns.
    values : ndarray of shape (d,)
        The importance of each column. It is nan for a column such as a text, the information of
        which needs rows.
    kind : {"contribution", "information"}
        What the values are: mean absolute contributions to the log-odds of rows, or information
        about the class in nats.
    rows : int
        The number of rows; 0 if no rows were used.
    errors : ndarray of shape (d,) or None
        The standard errors of the mean contributions; None if no rows were used.
    ranking : tuple of str
        The names of the columns, the most important first.

    References
    ----------
    Cover & Thomas (2006), Elements of Information Theory, §2.3.

    Examples
    --------
    >>> from verosim import CategoricalNB, importance
    >>> model = CategoricalNB().fit([["red", 1], ["red", 1], ["blue", 1]], ["a", "a", "b"])
    >>> importance(model).ranking
    ('x0', 'x1')
    """

    columns: tuple[str, ...]
    values: np.ndarray  # (d,)
    kind: str
    rows: int
    errors: np.ndarray | None = None  # (d,)

    @classmethod
    @checked
    def of(cls, found: Explanation) -> Importance:
        """The importance of the columns of an explanation.

        Parameters
        ----------
        found : Explanation
            The result of `explain`.

        Returns
        -------
        Importance
            The mean absolute contributions to the log-odds of the two classes that are explained.
        """
        every = found.folded()
        values, errors = mean_sizes(every.differences)
        return cls(every.names, values, CONTRIBUTION, len(every), errors)

    @property
    def ranking(self) -> tuple[str, ...]:
        order = np.argsort(-np.nan_to_num(self.values, nan=-1.0), kind="stable")
        return tuple(self.columns[j] for j in order)

    def __getitem__(self, column: str) -> float:
        if column not in self.columns:
            raise VerosimError(f"The model has no column {column!r}.", near(column, self.columns))
        return float(self.values[self.columns.index(column)])

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """The importance as columns, the most important first.

        Returns
        -------
        dict of str to list
            The columns "column" and "importance".
        """
        names = list(self.ranking)
        return {"column": names, "importance": [self[name] for name in names]}

    def to_pandas(self) -> PandasFrame:
        """The importance as a pandas DataFrame, the most important first.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_dict`.
        """
        return pandas_frame(self.to_dict())

    def __str__(self) -> str:
        names = self.ranking
        shown = names[:MOST_SHOWN_COLUMNS]
        rows = f", {self.rows:,} rows" if self.rows else ""
        lines = [f"{MEANINGS[self.kind]}{rows}"]
        lines += table_lines([(name, self._shown(name)) for name in shown])
        if len(names) > len(shown):
            lines.append(f"… {len(names) - len(shown)} more columns")
        return in_lines(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = f", {self.rows:,} rows" if self.rows else ""
        shown = [(name, self._shown(name)) for name in self.ranking]
        return html_table(f"{MEANINGS[self.kind]}{rows}", ("column", "importance"), shown, (), (1,))

    def _shown(self, name: str) -> str:
        value = self[name]
        return "needs rows" if np.isnan(value) else f"{value:.4f}"

    @checked
    def plot(self, ax: PlotAxes | None = None) -> PlotAxes:
        """Draw the importance of each column, the largest first.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the dots.
        """
        drawn: PlotAxes = plotted("plot_importance", self, ax=ax)
        return drawn


def mean_sizes(parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) the mean of the absolute contributions (n, d), and its standard error."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(parts)
        mean = size.mean(axis=0)
        spread = size.std(axis=0) * np.sqrt(len(size) / max(len(size) - 1, 1))
        return mean, spread / np.sqrt(len(size))
