"""The result of `explain`: the log-odds of each row as a sum over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked, whole
from verosim.axes.groups import plain_label
from verosim.bayes.explain import ScoreParts
from verosim.data.frames_of_results import pandas_frame
from verosim.densities.attribution import CHAIN, LINEAR, POOLED, SAMPLED, SHAPLEY
from verosim.errors import VerosimError, listed
from verosim.html_table import html_table
from verosim.insight.shown_cells import MISSING_VALUE, ShownCells, shown_value
from verosim.lazy import plotted
from verosim.pool.attribution import CLIPPING
from verosim.terminal import in_lines, in_one_line, table_lines

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes

MOST_SHOWN_ROWS = 10
MOST_SHOWN_PARTS = 6
MOST_SHOWN_TOKENS = 3
NOTES = {
    SHAPLEY: "",
    SAMPLED: "Shapley values from sampled orders of the columns",
    CHAIN: "chain: the term of each column given its parents, not a Shapley value",
    LINEAR: "linear: coefficient × (value − mean of the training rows)",
    POOLED: "pool: the parts of the experts, multiplied by their weights",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log-odds of rows as sums, with one part for each column.

    For each row, the class that is explained (the predicted class unless another was asked for) is
    compared with another class, which is the runner-up unless another was asked for:

        log p(k | x) / p(l | x) = (prior_k − prior_l) + Σ_j (φ_jk − φ_jl) + Σ_m (r_mk − r_ml)

    φ_jk is the contribution of column j to class k, and r_m are the lines that belong to no column,
    such as the clipping of an expert of a pool. A positive difference is evidence for class k.
    `print` shows each row as a sentence. `len(found)` is the number of rows, and `found[i]` is the
    explanation of row i. :func:`~verosim.explain` returns this object.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        The class labels.
    names : tuple of str
        The names of the p columns or parts of columns, such as the hour of a date.
    columns : tuple of str
        The column of the table that each of them belongs to.
    kind : str
        "shapley" for exact Shapley values, "sampled" for Shapley values with standard errors,
        "chain" for terms given parents, "linear" for coefficients, "pool" for a pool.
    contributions : ndarray of shape (n, C, p)
        The contribution of each column to the score of each class.
    prior : ndarray of shape (n, C)
        The part of the priors, with the offsets of a calibration.
    lines : dict of str to ndarray of shape (n, C)
        Lines that belong to no column.
    experts : dict of str to ndarray of shape (n, C)
        The exact part of each expert of a pool; empty for other models.
    chosen : ndarray of shape (n,)
        The label of the class that is explained.
    against : ndarray of shape (n,)
        The label of the class that it is compared with.
    probability : ndarray of shape (n,) or None
        The posterior of the class that is explained. None if the model has no probabilities.
    log_odds : ndarray of shape (n,)
        The log-odds of the two classes by the model, or the difference of their scores.
    differences : ndarray of shape (n, p)
        φ_jk − φ_jl, the contribution of each column to the log-odds.
    prior_difference : ndarray of shape (n,)
        The contribution of the priors to the log-odds.
    line_differences : dict of str to ndarray of shape (n,)
        The contribution of each line to the log-odds.
    standard_errors : ndarray of shape (n, p) or None
        The standard errors of `differences` if they were sampled, else None.
    log_posterior : ndarray of shape (n, C)
        The log posteriors of the model, or its scores up to a term that all classes share.
    pair : ndarray of shape (n, 2)
        The numbers of the two classes of each row.
    parts : ScoreParts
        All parts as one value, from which the other attributes are computed.
    cells : ShownCells
        The cells of the rows, which are converted when they are shown.
    has_probabilities : bool
        Whether the scores are log posteriors.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games 2, 307–317.
    Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, 647–665.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, 2.9], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes().fit(table, "kind")
    >>> found = verosim.explain(model, {"size": [1.1], "hue": ["blue"]})
    >>> found.names
    ('size', 'hue')
    >>> total = found.prior_difference + found.differences.sum(axis=1)
    >>> bool(abs(total - found.log_odds).max() < 1e-9)
    True
    """

    classes: np.ndarray  # (C,)
    names: tuple[str, ...]  # (p,)
    columns: tuple[str, ...]  # (p,)
    parts: ScoreParts
    log_posterior: np.ndarray  # (n, C)
    pair: np.ndarray  # (n, 2) the numbers of the two classes
    cells: ShownCells
    has_probabilities: bool = True

    # What the parts are ------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.parts.kind

    @property
    def contributions(self) -> np.ndarray:
        return self.parts.parts

    @property
    def prior(self) -> np.ndarray:
        return self.parts.prior

    @property
    def lines(self) -> dict[str, np.ndarray]:
        return dict(self.parts.lines)

    @property
    def experts(self) -> dict[str, np.ndarray]:
        return dict(self.parts.experts)

    @property
    def chosen(self) -> np.ndarray:
        return self.classes[self.pair[:, 0]]

    @property
    def against(self) -> np.ndarray:
        return self.classes[self.pair[:, 1]]

    @property
    def probability(self) -> np.ndarray | None:
        if not self.has_probabilities:
            return None
        return np.exp(self.log_posterior[np.arange(len(self)), self.pair[:, 0]])

    @property
    def log_odds(self) -> np.ndarray:
        return self._between(self.log_posterior)

    @property
    def differences(self) -> np.ndarray:
        return self._between(self.parts.parts)

    @property
    def prior_difference(self) -> np.ndarray:
        return self._between(self.parts.prior)

    @property
    def line_differences(self) -> dict[str, np.ndarray]:
        return {name: self._between(line) for name, line in self.parts.lines.items()}

    @property
    def standard_errors(self) -> np.ndarray | None:
        return self.parts.errors

    def _between(self, scores: np.ndarray) -> np.ndarray:
        """(n, …) the difference of the two classes, from (n, C, …)."""
        rows = np.arange(len(scores))
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            found: np.ndarray = scores[rows, self.pair[:, 0]] - scores[rows, self.pair[:, 1]]
        return found

    # Rows and columns ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.pair)

    def __getitem__(self, row: int) -> Explanation:
        whole("row", row)
        n = len(self)
        if not -n <= row < n:
            raise IndexError(f"Row {row} does not exist; the explanation has {n} rows.")
        at = np.array([row % n])
        found = self.parts
        return replace(
            self,
            parts=replace(
                found,
                prior=found.prior[at],
                parts=found.parts[at],
                lines={name: line[at] for name, line in found.lines.items()},
                errors=None if found.errors is None else found.errors[at],
                tokens=tuple(one.rows(at) for one in found.tokens),
                experts={name: part[at] for name, part in found.experts.items()},
            ),
            log_posterior=self.log_posterior[at],
            pair=self.pair[at],
            cells=self.cells.rows(at),
        )

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    @checked
    def of(self, column: str) -> np.ndarray:
        """The contribution of one column to the log-odds of each row.

        Parameters
        ----------
        column : str
            The name of a column of the table, or of a part of a column.

        Returns
        -------
        ndarray of shape (n,)
            The contribution. For a column with several parts it is their sum.

        Raises
        ------
        VerosimError
            If the model has no such column.
        """
        own = [j for j, name in enumerate(self.columns) if name == column]
        own = own or [j for j, name in enumerate(self.names) if name == column]
        if not own:
            known = list(dict.fromkeys((*self.columns, *self.names)))
            raise VerosimError(
                f"The column {column!r} is not a column of the model.",
                f"Use one of {listed(known)}.",
            )
        total: np.ndarray = self.differences[:, own].sum(axis=1)
        return total

    def folded(self) -> Explanation:
        """The same explanation with one part for each column of the table.

        The parts of a date and the mark of a missing value are added to the part of their column.

        Returns
        -------
        Explanation
            The explanation by columns.
        """
        names = tuple(dict.fromkeys(self.columns))
        owner = np.array([names.index(name) for name in self.columns], dtype=np.intp)
        return replace(
            self,
            names=names,
            columns=names,
            parts=self.parts.by_owner(owner),
            cells=self.cells.of_columns(names),
        )

    @checked
    def tokens(self, row: int, column: str | None = None) -> dict[str, float]:
        """The contribution of each token of a text to the log-odds of a row.

        Parameters
        ----------
        row : int
            The number of the row.
        column : str or None, default=None
            The name of the column of texts. None uses all of them.

        Returns
        -------
        dict of str to float
            The tokens with the largest contributions first. Tokens that the model does not know
            are left out.
        """
        out: dict[str, float] = {}
        k, other = self.pair[row].tolist()
        for terms in self.parts.tokens:
            if column in (None, self.names[terms.player], self.columns[terms.player]):
                words, each = terms.of_row(row)
                for word, part in zip(words, (each[:, k] - each[:, other]).tolist(), strict=True):
                    out[word] = out.get(word, 0.0) + part
        return dict(sorted(out.items(), key=lambda one: -abs(one[1])))

    # Tables and texts ----------------------------------------------------------------------------

    @checked
    def value(self, row: int, column: int) -> object:
        """The value of a cell.

        Parameters
        ----------
        row : int
            The number of the row.
        column : int
            The number of the column in `names`.

        Returns
        -------
        object
            The value as it is in the table; None if it is missing.
        """
        whole("row", row, 0, len(self.pair) - 1)
        whole("column", column, 0, len(self.names) - 1)
        return self.cells.value(row, column)

    def to_dict(self) -> dict[str, list[Any]]:
        """All parts as columns, with one entry for each row and part, the prior first.

        Returns
        -------
        dict of str to list
            The columns "row", "class", "against", "part", "value" and "contribution", and
            "standard_error" if the contributions were sampled.
        """
        out: dict[str, list[Any]] = {
            name: [] for name in ("row", "class", "against", "part", "value", "contribution")
        }
        errors = self.standard_errors
        if errors is not None:
            out["standard_error"] = []
        differences, prior, lines = self.differences, self.prior_difference, self.line_differences
        for i, (one, other) in enumerate(zip(self.chosen, self.against, strict=True)):
            found: list[tuple[str, object, float, float]] = [("prior", None, prior[i], 0.0)]
            for j, name in enumerate(self.names):
                error = 0.0 if errors is None else errors[i, j]
                found.append((name, self.value(i, j), differences[i, j], error))
            found += [(name, None, line[i], 0.0) for name, line in lines.items()]
            for name, value, part, error in found:
                entry = (i, plain_label(one), plain_label(other), name, value, float(part))
                for key, item in zip(out, (*entry, float(error)), strict=False):
                    out[key].append(item)
        return out

    def to_pandas(self) -> PandasFrame:
        """All parts as a pandas DataFrame, with one line for each row and part.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_dict`.
        """
        return pandas_frame(self.to_dict())

    @checked
    def table(self, markdown: bool = True) -> str:
        """One row as a table, with the largest contribution first and the log-odds last.

        Parameters
        ----------
        markdown : bool, default=True
            Whether to write a Markdown table. False writes aligned columns.

        Returns
        -------
        str
            The table of each row, one after the other.
        """
        return "\n\n".join(self._table(i, markdown) for i in range(len(self)))

    def _table(self, i: int, markdown: bool) -> str:
        errors = self.standard_errors
        lines = [["", "value", f"contribution to {self._title(i)}"]]
        lines.append(["prior", "", signed(self.prior_difference[i])])
        for name, value, part, j in self._sorted(i):
            shown = signed(part)
            if errors is not None and j >= 0:
                shown += f" ± {errors[i, j]:.2f}"
            lines.append([name, value, shown])
        lines.append(["log-odds" if self.has_probabilities else "score", "",
                      signed(self.log_odds[i])])  # fmt: skip
        if markdown:
            head, *rest = (f"| {' | '.join(line)} |" for line in lines)
            return in_lines([head, "|---|---|--:|", *rest])
        return "\n".join(table_lines(lines, (2,)))

    def _title(self, i: int, words: Mapping[str, str] | None = None) -> str:
        """'bad', or 'bad against good' if there are more than two classes."""
        one, other = plain_label(self.chosen[i]), plain_label(self.against[i])
        against = (words or {}).get("against", "against")
        return f"{one}" if len(self.classes) == 2 else f"{one} {against} {other}"

    def _sorted(self, i: int) -> list[tuple[str, str, float, int]]:
        """Name, value, contribution and number of all parts of a row, the largest first."""
        row = self[i]
        found = [
            (name, shown_value(self.value(i, j)), float(row.differences[0, j]), j)
            for j, name in enumerate(self.names)
        ]
        found += [(name, "", float(line[0]), -1) for name, line in row.line_differences.items()]
        return sorted(found, key=lambda one: -abs(one[2]))

    @checked
    def sentence(self, row: int = 0, words: Mapping[str, str] | None = None) -> str:
        """Explain a row in one line, such as "0.83 bad: prior −0.85, account 'none' +1.20".

        Parameters
        ----------
        row : int, default=0
            The number of the row.
        words : dict of str to str or None, default=None
            Translations of the English words of the sentence: "prior", "against", "more",
            "missing", the names of `lines`, and "column x" for a column x. A word without a
            translation stays as it is.

        Returns
        -------
        str
            The sentence.
        """
        i, known = row, words or {}
        probability = self.probability
        start = "" if probability is None else f"{probability[i]:.2f} "
        parts = [f"{known.get('prior', 'prior')} {signed(self.prior_difference[i])}"]
        found = self._sorted(i)
        for name, value, part, j in found[:MOST_SHOWN_PARTS]:
            texts = self.tokens(i, name) if j >= 0 and self.parts.tokens else {}
            tokens = [f"'{w}' {signed(x)}" for w, x in list(texts.items())[:MOST_SHOWN_TOKENS]]
            shown = f" ({', '.join(tokens)}{', …' if len(texts) > len(tokens) else ''})"
            if value == MISSING_VALUE:
                value = known.get(value, value)
            name = _line_name(name, known) if j < 0 else known.get(f"column {name}", name)
            if not tokens:
                shown = f" {value}" if value else ""
            parts.append(f"{name}{shown} {signed(part)}")
        rest = found[MOST_SHOWN_PARTS:]
        if rest:
            more = known.get("more", "more")
            parts.append(f"… ({len(rest)} {more} {signed(sum(one[2] for one in rest))})")
        return in_one_line(f"{start}{self._title(i, words)}: {', '.join(parts)}")

    def __str__(self) -> str:
        lines = [self.sentence(i) for i in range(min(len(self), MOST_SHOWN_ROWS))]
        if len(self) > MOST_SHOWN_ROWS:
            lines.append(f"… {len(self) - MOST_SHOWN_ROWS:,} more rows")
        note = NOTES.get(self.kind, self.kind)
        return in_lines([*lines, f"({note})"] if note else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = []
        for i in range(min(len(self), MOST_SHOWN_ROWS)):
            title = self._title(i)
            if self.probability is not None:
                title = f"{self.probability[i]:.2f} {title}"
            rows = [("prior", "", signed(self.prior_difference[i]))]
            rows += [(name, value, signed(part)) for name, value, part, _ in self._sorted(i)]
            total = "log-odds" if self.has_probabilities else "score"
            rows.append((total, "", signed(self.log_odds[i])))
            shown.append(html_table(title, ("", "value", "contribution"), rows, (), (2,)))
        if len(self) > MOST_SHOWN_ROWS:
            shown.append(f"<div>… {len(self) - MOST_SHOWN_ROWS:,} more rows</div>")
        return "\n".join(shown)

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the evidence: bars for one row, one strip of points per column for many rows.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : object
            Further arguments of `plot_evidence` or `plot_evidence_summary`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        function = "plot_evidence" if len(self) == 1 else "plot_evidence_summary"
        drawn: PlotAxes = plotted(function, self, ax=ax, **how)
        return drawn


def _line_name(name: str, words: Mapping[str, str]) -> str:
    """The name of a line that belongs to no column, with translated words."""
    if name.startswith(f"{CLIPPING} "):
        return f"{words.get(CLIPPING, CLIPPING)} {name.removeprefix(f'{CLIPPING} ')}"
    return words.get(name, name)


def signed(value: float) -> str:
    """A number with its sign and two decimals, with the minus sign of mathematics."""
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return f"{value:+.2f}".replace("-", "−")
