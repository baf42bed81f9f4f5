"""Simulated rows beside real rows: a good model gives a similar picture.

    k ~ Cat(π), then x ~ p(x | k)

Reference: Gelman et al. (2013), Bayesian Data Analysis, §6.3 (predictive checks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import (
    MOST_POINTS,
    figure_of,
    framed,
    legend,
    panels,
    row_note,
    scatter,
)
from verosim.insight.plots.palette import marks_of, shortened
from verosim.insight.plots.plane import Plane
from verosim.insight.plots.rows import check_fitted, plot_rows

if TYPE_CHECKING:
    from verosim.drawing import PlotFigure
    from verosim.estimators.score_mixin import ScoreMixin
    from verosim.typing import Labels, Source


@checked
def plot_sample(
    model: ScoreMixin,
    X: Source,
    y: Labels | None = None,
    columns: Sequence[str | int] | None = None,
    *,
    random_state: int = 0,
    figure: PlotFigure | None = None,
) -> PlotFigure:
    """Draw real rows on the left, and as many simulated rows on the right.

        k ~ Cat(π),   x ~ p(x | k)

    where π are the priors. Both panels have the same axes. A difference between them shows what the
    model has not learned, for example a correlation that a naive model leaves out.

    Parameters
    ----------
    model : generative classifier
        A fitted model with the method `sample`.
    X : array-like of shape (n, d) or table
        The real rows.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None uses the predicted classes.
    columns : sequence of two str or int, or None, default=None
        The two columns to show. None is allowed for a model of two columns.
    random_state : int, default=0
        The seed of the simulation.
    figure : matplotlib figure, subfigure or None, default=None
        The figure for both panels. None makes a new one.

    Returns
    -------
    matplotlib figure
        The figure with both panels.

    Raises
    ------
    VerosimError
        If the model cannot simulate rows, or if there are not two columns.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, §6.3, CRC Press.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, plot_sample
    >>> X, y = load_iris(return_X_y=True)
    >>> found = plot_sample(GaussianNB().fit(X, y), X, y, columns=(2, 3))
    >>> [ax.get_title(loc="left") for ax in found.axes]
    ['150 real rows', '150 simulated rows']
    """
    fitted = check_fitted(model, "plot_sample")
    if not hasattr(fitted, "sample"):
        raise VerosimError(
            f"{type(fitted).__name__} cannot simulate rows.", "Use a generative model."
        )
    names = Plane.of(fitted, columns, "marginal").names
    real = plot_rows(fitted, X, y, names)
    n = min(len(real.codes), MOST_POINTS)
    drawn, labels = fitted.sample(n, random_state=random_state)
    simulated = plot_rows(fitted, drawn, labels, names)
    marks = marks_of(fitted.classes_)
    figure = figure_of(figure, (10.4, 4.4))
    axes = panels(figure, 2, 2)
    every = np.concatenate([real.values, simulated.values])
    low, high = every.min(axis=0), every.max(axis=0)
    margin = np.where(high > low, 0.04 * (high - low), 1.0)
    for ax, rows, word in zip(axes, (real, simulated), ("real", "simulated"), strict=True):
        scatter(ax, rows.values, rows.codes, marks)
        note = row_note(len(rows.codes), rows.total)
        title = f"{word}: {note}" if note else f"{len(rows.codes):,} {word} rows"
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set(
            xlim=(low[0] - margin[0], high[0] + margin[0]),
            ylim=(low[1] - margin[1], high[1] + margin[1]),
            xlabel=shortened(names[0]),
        )
        framed(ax)
    axes[0].set_ylabel(shortened(names[1]))
    axes[1].tick_params(labelleft=False)
    legend(axes[1], marks)
    return figure
