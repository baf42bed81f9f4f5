"""Counterfactuals: the smallest change of a row that leads to another class.

    minimise  Σ_j cost_j(x'_j)   so that  argmax_k p(k | x') is the class

Reference: Wachter, Mittelstadt & Russell (2018), Counterfactual explanations without opening the
black box, Harvard Journal of Law & Technology 31, 841–887.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.axes.groups import plain_label
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.insight.column_values import PossibleValues, possible_values
from verosim.insight.explain import class_number
from verosim.insight.joint_change import change_cost, joint_change
from verosim.insight.nearest_change import Goal, nearest_change
from verosim.insight.shown_cells import shown_value
from verosim.insight.single_row import (
    DATE_ROLE,
    TEXT_ROLE,
    UNUSED_ROLE,
    SingleRow,
    class_scores,
    fitted_classifier,
)
from verosim.lazy import plotted
from verosim.terminal import in_one_line

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.estimators.base import ScoreMixin
    from verosim.typing import Source

NOT_PROVEN = "found, not proven smallest"


@checked
def counterfactual(
    model: ScoreMixin,
    row: Source | Mapping[str, Any],
    to: Hashable | None = None,
    change: str | Iterable[str] | None = None,
    *,
    allowed: Mapping[str, Any] | None = None,
    scale: Mapping[str, float] | None = None,
) -> Counterfactual:
    """Find the smallest change of some columns with which a row is predicted as another class.

    The size of a change is the sum of the costs of the changed columns:

        cost = Σ_numbers |x'_j − x_j| / s_j + number of other columns that change

    x is the row, x' is the row with other values, and s_j is the standard deviation of column j in
    the training rows, as the model knows it. A category or a boolean that changes costs 1. So does
    a missing cell that gets a value; a missing number gets the possible value that is nearest to
    the mean.

    - One column: the smallest change is exact for Gaussian, Poisson, histogram, linear and
      categorical scores. The roots of the log-odds and the edges of the bins give the boundaries.
      Whole numbers in a known range are all tried, for every model.
    - Several columns: a search. The result is labelled "found, not proven smallest", as it is for
      one column of models with other scores, such as mixtures and pools.

    Numbers are 10⁻⁶ standard deviations beyond the boundary. The new values exist: columns of whole
    numbers stay whole, categories are those of the training rows, and numbers stay in the range
    that the schema knows, such as the outer edges of the bins. Dates and texts are not changed.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    row : mapping, Series, table of one row or array-like of shape (d,)
        The row. A mapping has one value for each column, and columns that it does not have are
        missing.
    to : str, int, bool or None, default=None
        The class to reach. None accepts every class but the predicted one.
    change : str, iterable of str or None, default=None
        The columns that may change. None means all numbers, categories and booleans.
    allowed : mapping or None, default=None
        The values that columns may have: a pair `(low, high)` for a number, or a list of values.
    scale : mapping or None, default=None
        The size of a change that costs 1, by column, in place of the standard deviation. Columns of
        models that know no deviations need it.

    Returns
    -------
    Counterfactual
        The change, or the statement that there is none.

    Raises
    ------
    VerosimError
        If a column or the class does not exist, if the row already has the class, or if a column
        has dates or texts.

    See Also
    --------
    what_if : What other values of your choice change.

    References
    ----------
    Wachter, Mittelstadt & Russell (2018), Counterfactual explanations without opening the black
    box, Harvard Journal of Law & Technology 31, 841–887.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 2.0, 3.1, 2.9, 2.2], "hue": ["red", "red", "blue"] * 2,
    ...          "kind": ["a", "a", "a", "b", "b", "b"]}
    >>> model = verosim.NaiveBayes({"size": "gaussian"}).fit(table, "kind")
    >>> verosim.counterfactual(model, {"size": 1.1, "hue": "red"}, to="b", change="size")
    a → b: size 1.1 → 2.0902 (cost 1.27)
    >>> verosim.counterfactual(model, {"size": 1.1, "hue": "red"}, to="b", change="hue")
    No change of 'hue' leads from a to b.
    """
    model = fitted_classifier(model, "counterfactual")
    here = SingleRow.of(model, row, "counterfactual")
    names = _columns(here, change)
    for given, title in ((allowed, "allowed"), (scale, "scale")):
        for name in given or ():
            if name not in names:
                raise VerosimError(f"{title} has the column {name!r}, which may not change.",
                                   "Add the column to change.")  # fmt: skip
    log_p = here.log_posterior({})
    now = int(class_scores(log_p)[0].argmax())
    goal = Goal(now, away=True) if to is None else Goal(class_number(to, model.classes_))
    if len(model.classes_) < 2 or bool(goal.reached(log_p)[0]):
        label = plain_label(model.classes_[now])
        raise VerosimError(f"The row is already predicted as {label!r}.",
                           "Name another class with to.")  # fmt: skip
    columns = [possible_values(here, name, allowed or {}, scale or {}) for name in names]
    cells, exact = _smallest(here, columns, goal, now)
    return _result(here, columns, cells, exact, now, to)


def _columns(row: SingleRow, change: str | Iterable[str] | None) -> tuple[str, ...]:
    """The columns that may change."""
    if change is None:
        unfit = (DATE_ROLE, TEXT_ROLE, UNUSED_ROLE)
        return tuple(name for name in row.names if row.role(name) not in unfit)
    names = (change,) if isinstance(change, str) else tuple(dict.fromkeys(change))
    if not names:
        raise VerosimError("Argument change must have at least one column.",
                           "Use change=['age'], or leave change out.")  # fmt: skip
    return tuple(row.check(name) for name in names)


def _smallest(
    row: SingleRow, columns: list[PossibleValues], goal: Goal, now: int
) -> tuple[dict[str, Any] | None, bool]:
    """The new values of the smallest change, and whether it is proven."""
    if len(columns) == 1:
        end = nearest_change(row, columns[0], goal)
        return {columns[0].column: end.value} if end.found else None, end.exact
    return joint_change(row, columns, goal, now), False


def _result(
    row: SingleRow, columns: list[PossibleValues], cells: dict[str, Any] | None, exact: bool,
    now: int, to: Any,
) -> Counterfactual:  # fmt: skip
    classes, model = row.model.classes_, row.model
    new = row if cells is None else row.with_cells(cells)
    scores = np.vstack([row.log_posterior({}), new.log_posterior({})])
    end = int(class_scores(scores)[1].argmax())
    goal = end if cells is not None else None
    return Counterfactual(
        plain_label(classes[now]),
        (None if to is None else plain_label(to)) if goal is None else plain_label(classes[goal]),
        {name: (row.cells[name], value) for name, value in (cells or {}).items()},
        change_cost(columns, cells) if cells is not None else np.inf,
        exact,
        tuple(one.column for one in columns),
        dict(new.cells),
        classes,
        np.exp(scores) if model.gives_probabilities else None,
    )


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The smallest change of a row that leads to another class: the result of `counterfactual`.

    It is true in a condition if a change was found. `print` shows the changed values and the cost.

    Attributes
    ----------
    before : str, int or bool
        The predicted class of the row.
    after : str, int, bool or None
        The predicted class after the change. If no change was found, it is the class that was asked
        for, or None.
    changes : dict of str to tuple
        The old and the new value of each changed column. It is empty if no change was found.
    cost : float
        The sum of the costs: standard deviations of numbers, and 1 for each other column. It is ∞
        if no change was found.
    exact : bool
        Whether no smaller change exists. False means "found, not proven smallest".
    columns : tuple of str
        The columns that were allowed to change.
    row : dict
        The row after the change, by column.
    classes : ndarray of shape (C,)
        The class labels.
    posterior : ndarray of shape (2, C) or None
        The posteriors before and after the change. None if the model has no probabilities.
    found : bool
        Whether a change was found.

    References
    ----------
    Wachter, Mittelstadt & Russell (2018), Counterfactual explanations without opening the black
    box, Harvard Journal of Law & Technology 31, 841–887.

    Examples
    --------
    >>> from verosim import GaussianNB, counterfactual
    >>> model = GaussianNB().fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> found = counterfactual(model, [3.5])
    >>> found.before, found.after, found.exact
    ('a', 'b', True)
    >>> round(found.row["x0"], 4)
    4.0
    """

    before: Hashable
    after: Hashable | None
    changes: dict[str, tuple[Any, Any]]
    cost: float
    exact: bool
    columns: tuple[str, ...]
    row: dict[str, Any]
    classes: np.ndarray  # (C,)
    posterior: np.ndarray | None  # (2, C)

    @property
    def found(self) -> bool:
        """Whether a change was found."""
        return bool(self.changes)

    def __bool__(self) -> bool:
        return self.found

    def __str__(self) -> str:
        if not self.found:
            names = ", ".join(repr(name) for name in self.columns)
            goal = "another class" if self.after is None else f"{self.after}"
            verb = "leads" if self.exact else "was found that leads"
            return in_one_line(f"No change of {names} {verb} from {self.before} to {goal}.")
        parts = [f"{name} {shown_value(old)} → {shown_value(new)}"
                 for name, (old, new) in self.changes.items()]  # fmt: skip
        note = "" if self.exact else f"; {NOT_PROVEN}"
        change = f"{self.before} → {self.after}: {', '.join(parts)}"
        return in_one_line(f"{change} (cost {self.cost:.2f}{note})")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.found:
            return html_table(str(self), (), ())
        rows = [
            (name, shown_value(old), shown_value(new)) for name, (old, new) in self.changes.items()
        ]
        note = f"cost {self.cost:.2f}" + ("" if self.exact else f"; {NOT_PROVEN}")
        return html_table(
            f"{self.before} → {self.after}", ("column", "before", "after"), rows, (note,), (1, 2)
        )

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
        if not self.found:
            raise VerosimError(str(self), "Let more columns change, or name another class.")
        drawn: PlotAxes = plotted("plot_change", self.classes, self.posterior, str(self), ax=ax)
        return drawn
