"""What a model says about a row after some of its values have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.axes.groups import plain_label
from verosim.data.frames_of_results import pandas_frame
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.insight.explain import explain
from verosim.insight.explanation import Explanation, signed
from verosim.insight.shown_cells import shown_value
from verosim.insight.single_row import SingleRow, class_scores, fitted_classifier
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import ScoreMixin
    from verosim.typing import Source

SAME_LINE = 1e-9  # a line of an explanation that changes by less is the same line
MOST_SHOWN_LINES = 8


@checked
def what_if(
    model: ScoreMixin,
    row: Source | Mapping[str, Any],
    values: Mapping[str, Any] | None = None,
    /,
    **columns: object,
) -> WhatIf:
    """Explain a row before and after some of its values change.

    Use it to see what a decision depends on. The two explanations compare the same two classes:
    the predicted class before the change, and the predicted class after it. If the prediction
    stays, the second class is the runner-up before the change.

        change of the log-odds = Σ_j ((φ_jk − φ_jl)(x') − (φ_jk − φ_jl)(x))

    x is the row, x' is the row with other values, and φ_jk is the contribution of column j to
    class k, as `explain` defines it. If columns are independent in the model, only the lines of the
    changed columns change.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    row : mapping, Series, table of one row or array-like of shape (d,)
        The row. A mapping has one value for each column, and columns that it does not have are
        missing.
    values : mapping or None, default=None
        The new values by column, for names that cannot be written as arguments.
    **columns : object
        The new values by column, as in `age=50`. None means that the value is missing.

    Returns
    -------
    WhatIf
        The explanations before and after, and the lines that changed. It prints as a table.

    Raises
    ------
    VerosimError
        If a column does not exist, if there is not exactly one row, or if the model cannot be
        explained.

    See Also
    --------
    counterfactual : The smallest change that leads to another class.

    References
    ----------
    Wexler et al. (2020), The What-If Tool: interactive probing of machine learning models, IEEE
    Transactions on Visualization and Computer Graphics 26, 56–65.

    Examples
    --------
    >>> import verosim
    >>> table = {"rooms": [1, 2, 5, 6], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes({"rooms": "poisson"}).fit(table, "kind")
    >>> verosim.what_if(model, {"rooms": 5, "hue": "blue"}, rooms=1)
    a: 0.08 → 0.68
    rooms     5 → 1   −1.35 → +1.86
    hue       'blue'  −1.10
    prior             +0.00
    log-odds          −2.44 → +0.77
    """
    model = fitted_classifier(model, "what_if")
    before = SingleRow.of(model, row, "what_if")
    changes = {
        before.check(str(name)): value for name, value in {**(values or {}), **columns}.items()
    }
    if not changes:
        raise VerosimError(
            "The function what_if needs at least one new value.",
            "Name a column, as in what_if(model, row, age=50).",
        )
    return changed_row(before, before.with_cells(changes), tuple(changes))


def changed_row(before: SingleRow, after: SingleRow, columns: tuple[str, ...]) -> WhatIf:
    """The explanations of a row before and after a change, for the same two classes."""
    model = before.model
    scores = [class_scores(one.log_posterior({}))[0] for one in (before, after)]
    old, new = (int(one.argmax()) for one in scores)
    if old == new:
        others = np.where(np.arange(len(scores[0])) == old, -np.inf, scores[0])
        new = int(others.argmax()) if len(others) > 1 else old
    pair = {"of": plain_label(model.classes_[new]), "against": plain_label(model.classes_[old])}
    if int(scores[1].argmax()) == old:
        pair = {"of": pair["against"], "against": pair["of"]}
    found = [explain(model, one.source, **pair).folded() for one in (before, after)]
    return WhatIf(found[0], found[1], columns)


@dataclass(frozen=True, eq=False)
class WhatIf:
    """A row before and after some of its values change: the result of `what_if`.

    Both explanations compare the same two classes, so each line can be compared. `print` shows the
    lines that changed first.

    Attributes
    ----------
    before : Explanation
        The explanation of the row.
    after : Explanation
        The explanation of the row with the new values.
    columns : tuple of str
        The columns with new values.
    label : str, int or bool
        The predicted class after the change, which is the class that is explained.
    prediction : tuple
        The predicted class before and after the change.
    probability : tuple of float or None
        The posterior of `label` before and after the change. None if the model has no
        probabilities.
    posterior : ndarray of shape (2, C) or None
        The posteriors of all classes before and after the change.
    changed : dict of str to tuple of float
        The contribution before and after, for each line that changed, the largest change first.

    References
    ----------
    Wexler et al. (2020), The What-If Tool: interactive probing of machine learning models, IEEE
    Transactions on Visualization and Computer Graphics 26, 56–65.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, 2.9], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes().fit(table, "kind")
    >>> found = verosim.what_if(model, {"size": 1.1, "hue": "red"}, hue="blue")
    >>> list(found.changed), found.prediction
    (['hue'], ('a', 'a'))
    """

    before: Explanation
    after: Explanation
    columns: tuple[str, ...]

    @property
    def label(self) -> Any:
        return plain_label(self.after.chosen[0])

    @property
    def prediction(self) -> tuple[Any, Any]:
        numbers = [int(class_scores(one.log_posterior)[0].argmax()) for one in self._both]
        old, new = (plain_label(self.before.classes[k]) for k in numbers)
        return old, new

    @property
    def probability(self) -> tuple[float, float] | None:
        found = self.before.probability, self.after.probability
        if found[0] is None or found[1] is None:
            return None
        return float(found[0][0]), float(found[1][0])

    @property
    def posterior(self) -> np.ndarray | None:
        if not self.before.has_probabilities:
            return None
        return np.exp(np.vstack([one.log_posterior for one in self._both]))

    @property
    def changed(self) -> dict[str, tuple[float, float]]:
        lines = self._lines()
        found = {name: pair for name, pair in lines.items() if _differ(*pair)}
        return dict(sorted(found.items(), key=lambda one: -abs(one[1][1] - one[1][0])))

    @property
    def _both(self) -> tuple[Explanation, Explanation]:
        return self.before, self.after

    def _lines(self) -> dict[str, tuple[float, float]]:
        """The contributions of all lines before and after."""
        out = []
        for one in self._both:
            line = dict(zip(one.names, one.differences[0].tolist(), strict=True))
            line["prior"] = float(one.prior_difference[0])
            line |= {name: float(part[0]) for name, part in one.line_differences.items()}
            out.append(line)
        names = dict.fromkeys((*out[0], *out[1]))
        return {name: (out[0].get(name, 0.0), out[1].get(name, 0.0)) for name in names}

    def to_dict(self) -> dict[str, list[Any]]:
        """All lines as columns.

        Returns
        -------
        dict of str to list
            The columns "part", "value_before", "value_after", "before" and "after".
        """
        out: dict[str, list[Any]] = {
            name: [] for name in ("part", "value_before", "value_after", "before", "after")
        }
        for name, pair in self._lines().items():
            for key, item in zip(out, (name, *self._values(name), *pair), strict=True):
                out[key].append(item)
        return out

    def to_pandas(self) -> PandasFrame:
        """All lines as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_dict`.
        """
        return pandas_frame(self.to_dict())

    def _values(self, name: str) -> tuple[Any, Any]:
        if name not in self.before.names:
            return None, None
        at = self.before.names.index(name)
        return self.before.value(0, at), self.after.value(0, at)

    def _title(self) -> str:
        pair = self.probability
        return f"{self.label}" if pair is None else f"{self.label}: {pair[0]:.2f} → {pair[1]:.2f}"

    def _table(self) -> list[tuple[str, str, str]]:
        """The name, the value and the contribution of each line that is shown."""
        changed, lines = self.changed, self._lines()
        rest = sorted(lines.keys() - changed.keys() - {"prior"}, key=lambda n: -abs(lines[n][1]))
        shown = [*changed, *(() if "prior" in changed else ("prior",)), *rest]
        shown.sort(key=lambda name: (name not in changed, name == "prior"))
        hidden = [
            name for name in shown[MOST_SHOWN_LINES:] if name not in changed and name != "prior"
        ]
        table = [(name, self._shown(name), _arrow(*lines[name], signed))
                 for name in shown if name not in hidden]  # fmt: skip
        if hidden:
            total = sum(lines[name][1] for name in hidden)
            table.append((f"{len(hidden)} more", "", signed(total)))
        odds = [float(one.log_odds[0]) for one in self._both]
        table.append(("log-odds" if self.before.has_probabilities else "score", "",
                      _arrow(odds[0], odds[1], signed)))  # fmt: skip
        return table

    def __str__(self) -> str:
        return in_lines([self._title(), *table_lines(self._table())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(
            self._title(), ("", "value", "contribution"), self._table(), (), (2,)
        )  # fmt: skip

    @checked
    def plot(self, ax: PlotAxes | None = None) -> PlotAxes:
        """Draw the posterior of each class before and after the change.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted(
            "plot_change", self.before.classes, self.posterior, self._change(), ax=ax
        )
        return drawn

    def _change(self) -> str:
        """The new values in one line."""
        return ", ".join(f"{name} {self._shown(name)}" for name in self.columns)

    def _shown(self, name: str) -> str:
        if name not in self.before.names:
            return ""
        old, new = (shown_value(value) for value in self._values(name))
        return old if old == new else f"{old} → {new}"


def _differ(old: float, new: float) -> bool:
    """Whether a line changed by more than rounding."""
    if old == new or (np.isnan(old) and np.isnan(new)):
        return False
    return not abs(new - old) <= SAME_LINE * (1 + abs(old))


def _arrow(old: float, new: float, shown: Any) -> str:
    return f"{shown(old)} → {shown(new)}" if _differ(old, new) else f"{shown(new)}"
