"""What a model has learned, column by column, as tables for people to read.

    one row per class, one column per value, bin, token or parameter

The tables are printed as R's e1071 prints them, with readable heads.
Reference: Meyer et al., e1071: Misc Functions of the Department of Statistics, TU Wien (R package).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.data.cells import label_column
from verosim.data.libraries import pa
from verosim.data.near_names import near
from verosim.densities import estimates as of
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.terminal import in_lines, in_one_line

LINE = 88  # the width of printed tables
GAP = "missing"  # the part with the share of missing cells, if the model has learned it
MOST_HTML_TABLES = 30  # tables of columns in a notebook
SHOWN_VALUES = 24  # a printed table has at most so many values
MEANING = {
    of.GAUSSIAN_TABLE: "mean and standard deviation",
    of.RATE_TABLE: "mean count",
    of.SHARES_TABLE: "share of each value",
    of.HEIGHTS_TABLE: "height of the density in each bin",
    of.FLAGS_TABLE: "share of each value",
    of.AMOUNTS_TABLE: "share of the column in the total",
    of.TOKENS_TABLE: "share of the tokens that are typical of a class",
    of.CELLS_TABLE: "share of each value, whatever the other columns have",
}


def _as_frame(table: dict[str, Any]) -> Any:
    """A table with the labels in the column "class" as a data frame."""
    return pa.table(table | {"class": label_column(table["class"])}).to_pandas()


@dataclass(frozen=True, eq=False)
class LearnedTable:
    """What a model has learned about one column: one row per class.

    A category has one column for each of its values, with the smoothed share φ of the value in the
    class. A histogram has one for each bin, with the height of the density. A Gaussian column has
    its mean and standard deviation, a Poisson column its rate, and a text the shares of the tokens
    that are most typical of some class. A date has its hours, weekdays and months. The object
    prints as a table.

    Attributes
    ----------
    column : str
        The name of the column.
    kind : str
        What the values are: "gaussian", "rate", "shares", "heights", "flags", "amounts", "tokens"
        or "cells".
    classes : ndarray of shape (C,)
        The class labels.
    heads : tuple
        What each of the K columns of `values` is: a value of the column, a bin, a token, "mean",
        "deviation" or "rate".
    parts : tuple of str
        For each head, the part of the column it belongs to, such as "hour" of a date, "missing" if
        the model has learned the share of missing cells, and "" for the column itself.
    values : ndarray of shape (C, K)
        The estimates.
    counts : ndarray of shape (C, K)
        The weight of the training cells behind each estimate; nan for parameters such as a mean.
    weight : ndarray of shape (C,)
        The weight of the training cells of each class that have a value.
    missing : ndarray of shape (C,)
        The share of missing cells in each class; nan if it is not known.
    complete : bool
        Whether all values are listed. A text has too many tokens.
    edges : tuple of float
        The K + 1 edges of the bins of a histogram; () for other columns.
    table : dict of str to ndarray or list
        The printed numbers as columns: "class", then one for each head, then "weight".

    See Also
    --------
    Learned : The tables of several columns.

    References
    ----------
    Mitchell (1997), Machine Learning, §6.9, McGraw-Hill.

    Examples
    --------
    >>> from verosim import CategoricalNB
    >>> model = CategoricalNB().fit([["red"], ["red"], ["blue"]], ["a", "a", "b"])
    >>> model.learned("x0")
    x0: share of each value
         blue     red  weight
    a  0.2500  0.7500       2
    b  0.6667  0.3333       1
    >>> model.learned("x0").values.round(2).tolist()
    [[0.25, 0.75], [0.67, 0.33]]
    """

    column: str
    kind: str
    classes: np.ndarray  # (C,)
    heads: tuple[Any, ...]  # K
    parts: tuple[str, ...]  # K
    values: np.ndarray  # (C, K)
    counts: np.ndarray  # (C, K)
    weight: np.ndarray  # (C,)
    missing: np.ndarray  # (C,)
    complete: bool = True
    edges: tuple[float, ...] = ()  # K + 1

    @property
    def table(self) -> dict[str, Any]:
        """The numbers as columns, one row per class."""
        out: dict[str, Any] = {"class": [plain_label(label) for label in self.classes]}
        for name, column in zip(self._names(), self.values.T, strict=True):
            out[name] = column
        out["weight"] = self.weight
        if not np.isnan(self.missing).all():
            out["share missing"] = self.missing
        return out

    def _names(self) -> list[str]:
        """The names of the columns of `values`, with their parts."""
        pairs = zip(self.parts, self.heads, strict=True)
        return [f"{part} {head}" if part and part != head else str(head) for part, head in pairs]

    def to_pandas(self) -> Any:
        """The table as a data frame, one row per class.

        Returns
        -------
        pandas.DataFrame
            The columns of `table`.
        """
        return _as_frame(self.table)

    def __str__(self) -> str:
        lines = [f"{self.column}: {MEANING[self.kind]}"]
        shown, hidden = self._shown()
        for part in dict.fromkeys(self.parts):
            if part == GAP:  # printed next to the weights
                continue
            at = [i for i in shown if self.parts[i] == part]
            lines += self._lines(part, at, last=part == self.parts[0])
        if hidden:
            lines.append(f"{hidden:,} more values are in `values`.")
        return in_lines(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown, hidden = self._shown()
        names = self._names()
        rows = [(names[i], *(self._cell(value, i) for value in self.values[:, i])) for i in shown]
        rows.append(("weight", *(f"{value:.10g}" for value in self.weight.round(2))))
        if GAP not in self.parts and np.nan_to_num(self.missing).any():
            rows.append((GAP, *(f"{value:.4f}" for value in self.missing)))
        notes = [f"{hidden:,} more values are in `values`."] if hidden else []
        head = ["", *(str(plain_label(label)) for label in self.classes)]
        title = f"{self.column}: {MEANING[self.kind]}"
        return html_table(title, head, rows, notes, range(1, len(head)))

    def _shown(self) -> tuple[list[int], int]:
        """The positions of the printed heads, and the number of the others.

        Of many values the most frequent are printed.
        """
        every = list(range(len(self.heads)))
        if (
            len(every) <= SHOWN_VALUES
            or self.kind in (of.TOKENS_TABLE, of.HEIGHTS_TABLE)
            or any(self.parts)
        ):
            return every, 0
        total = np.nan_to_num(self.counts).sum(axis=0)
        kept = sorted(np.argsort(-total, kind="stable")[:SHOWN_VALUES].tolist())
        return kept, len(every) - len(kept)

    def _lines(self, part: str, at: list[int], last: bool) -> list[str]:
        """The lines of one part; a wide table continues in further lines, as in R."""
        labels = [str(plain_label(label)) for label in self.classes]
        cells = [
            (str(self.heads[i]), [self._cell(value, i) for value in self.values[:, i]]) for i in at
        ]
        if last:
            cells.append(("weight", [f"{value:.10g}" for value in self.weight.round(2)]))
            gone = self.values[:, self.parts.index(GAP)] if GAP in self.parts else self.missing
            if np.nan_to_num(gone).any():
                cells.append((GAP, [f"{value:.4f}" for value in gone]))
        part = "" if cells[0][0] == part else part
        return wrapped(part, labels, cells)

    def _cell(self, value: float, i: int) -> str:
        """An estimate as text: shares with four decimals, other numbers with their digits."""
        counted = not np.isnan(self.counts[:, i]).all()
        if counted and self.kind not in (of.HEIGHTS_TABLE, of.AMOUNTS_TABLE, of.TOKENS_TABLE):
            return f"{value:.4f}"
        return f"{value:.6g}" if 1e3 <= abs(value) < 1e6 else f"{value:.4g}"


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model has learned about its columns: the result of `learned()` of a model.

    It is a collection of tables. `found["age"]` is the table of one column, `len(found)` is the
    number of tables, and a loop gives them in the order of the columns. It prints the priors, and
    then each table.

    Attributes
    ----------
    model : str
        The name of the model.
    classes : ndarray of shape (C,)
        The class labels.
    priors : ndarray of shape (C,)
        The class priors in use.
    weight : ndarray of shape (C,)
        The weight of the training rows of each class.
    tables : tuple of LearnedTable
        The tables, one per column.
    columns : tuple of str
        The names of the columns.
    values : dict of str to ndarray of shape (C, K)
        The estimates of each column, by its name.
    table : dict of str to list
        All estimates as one long table with the columns "column", "part", "value", "class",
        "estimate" and "count".

    See Also
    --------
    LearnedTable : The table of one column.

    References
    ----------
    Mitchell (1997), Machine Learning, §6.9, McGraw-Hill.

    Examples
    --------
    >>> from verosim import GaussianNB
    >>> GaussianNB().fit([[1.0], [3.0], [5.0], [9.0]], ["a", "a", "b", "b"]).learned()
    GaussianNB
            a    b
    prior   0.5  0.5
    weight    2    2
    <BLANKLINE>
    x0: mean and standard deviation
       mean  deviation  weight
    a     2          1       2
    b     7          2       2
    """

    model: str
    classes: np.ndarray  # (C,)
    priors: np.ndarray  # (C,)
    weight: np.ndarray  # (C,)
    tables: tuple[LearnedTable, ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(table.column for table in self.tables)

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The estimates of each column."""
        return {table.column: table.values for table in self.tables}

    @property
    def table(self) -> dict[str, list[Any]]:
        """All estimates as one long table."""
        names = ("column", "part", "value", "class", "estimate", "count")
        out: dict[str, list[Any]] = {name: [] for name in names}
        for one in self.tables:
            for i, (part, head) in enumerate(zip(one.parts, one.heads, strict=True)):
                for c, label in enumerate(one.classes):
                    row = (one.column, part, str(head), plain_label(label),
                           float(one.values[c, i]), float(one.counts[c, i]))  # fmt: skip
                    for name, value in zip(names, row, strict=True):
                        out[name].append(value)
        return out

    def to_pandas(self) -> Any:
        """All estimates as one long data frame.

        Returns
        -------
        pandas.DataFrame
            The columns of `table`: one row per column, value and class.
        """
        return _as_frame(self.table)

    def __getitem__(self, column: str) -> LearnedTable:
        for table in self.tables:
            if table.column == column:
                return table
        raise VerosimError(f"The model has no column {column!r}.", near(column, self.columns))

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[LearnedTable]:
        return iter(self.tables)

    def __str__(self) -> str:
        labels = [str(plain_label(label)) for label in self.classes]
        cells = [
            (label, [f"{prior:.4g}", f"{weight:.10g}"])
            for label, prior, weight in zip(labels, self.priors, self.weight.round(2), strict=True)
        ]
        head = in_lines([self.model, *wrapped("", ["prior", "weight"], cells)])
        return "\n\n".join([head, *map(str, self.tables)])

    def _repr_html_(self) -> str:
        head = ["", *(str(plain_label(label)) for label in self.classes)]
        rows = [
            ("prior", *(f"{prior:.4g}" for prior in self.priors)),
            ("weight", *(f"{weight:.10g}" for weight in self.weight.round(2))),
        ]
        hidden = len(self) - MOST_HTML_TABLES
        notes = [f"{hidden:,} more columns are in `tables`."] if hidden > 0 else []
        first = html_table(self.model, head, rows, notes, range(1, len(head)))
        shown = [table._repr_html_() for table in self.tables[:MOST_HTML_TABLES]]
        return "\n".join([first, *shown])

    __repr__ = __str__


def wrapped(corner: str, labels: list[str], cells: list[tuple[str, list[str]]]) -> list[str]:
    """The lines of a table: `corner` above the labels of the rows, then (head, cells) per column.

    Columns that do not fit into a line are continued below, with the labels again.
    """
    labels = [in_one_line(label) for label in labels]
    cells = [(in_one_line(head), column) for head, column in cells]
    width = max(map(len, [corner, *labels]))
    blocks: list[list[tuple[str, list[str], int]]] = [[]]
    used = width
    for head, column in cells:
        wide = max(map(len, [head, *column]))
        if used + wide + 2 > LINE and blocks[-1]:
            blocks.append([])
            used = width
        blocks[-1].append((head, column, wide))
        used += wide + 2
    lines = []
    for block in blocks:
        heads = (head.rjust(wide) for head, _, wide in block)
        lines.append("  ".join([corner.ljust(width), *heads]))
        for i, label in enumerate(labels):
            row = (column[i].rjust(wide) for _, column, wide in block)
            lines.append("  ".join([label.ljust(width), *row]))
    return lines
