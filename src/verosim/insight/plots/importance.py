"""The importance of columns: the mean size of their evidence.

    importance of column j = mean over the rows of |φ_jk − φ_jl|

Reference: Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions
with feature contributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim.insight.explanation import Explanation
from verosim.insight.plots.dots import dot_list
from verosim.insight.plots.evidence import check_explanation

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes


def plot_importance(found: Explanation, *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the mean absolute contribution of each column, the largest first.

        importance of column j = mean over the rows of |φ_jk − φ_jl|

    with φ_jk the contribution of column j to class k. The line of a column is two standard errors
    of the mean on each side.

    Parameters
    ----------
    found : Explanation
        The result of :func:`explain` for many rows.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the dots.

    Raises
    ------
    VerosimError
        If `found` is not an explanation.

    References
    ----------
    Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, 647–665.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, explain, plot_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_importance(explain(GaussianNB().fit(X, y), X))
    >>> ax.get_yticklabels()[0].get_text()
    'x3'
    """
    every = check_explanation(found, "plot_importance").folded()
    parts = np.abs(every.differences)
    parts = np.where(np.isfinite(parts), parts, np.nan)
    known = np.maximum((~np.isnan(parts)).sum(axis=0), 1)
    mean = np.nansum(parts, axis=0) / known
    spread = np.sqrt(np.nansum((parts - mean) ** 2, axis=0) / np.maximum(known - 1, 1))
    error = spread / np.sqrt(known)
    order = np.argsort(-mean, kind="stable")
    names = [every.names[j] for j in order.tolist()]
    ax = dot_list(
        names, mean[order], error[order], label="mean absolute contribution to the log-odds", ax=ax
    )
    ax.set_xlim(left=0)
    return ax
