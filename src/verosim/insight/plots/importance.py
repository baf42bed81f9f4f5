"""The importance of columns: the mean size of their evidence.

    importance of column j = mean over the rows of |φ_jk − φ_jl|

Reference: Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions
with feature contributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim.arguments import checked
from verosim.insight.explanation import Explanation
from verosim.insight.importance import CONTRIBUTION, MEANINGS, Importance, mean_sizes
from verosim.insight.plots.dots import dot_list
from verosim.insight.plots.evidence import check_explanation
from verosim.insight.plots.words import DrawnParts

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes


@checked
def plot_importance(found: Explanation | Importance, *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the importance of each column, the largest first.

        importance of column j = mean over the rows of |φ_jk − φ_jl|

    with φ_jk the contribution of column j to class k. The line of a column is two standard errors
    of the mean on each side. A text is drawn by its words: a row without a word counts as 0. The
    result of `importance(model)` without rows is drawn as information about the class, in nats.

    Parameters
    ----------
    found : Explanation or Importance
        The result of :func:`explain` for many rows, or of :func:`importance`.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the dots.

    Raises
    ------
    VerosimError
        If `found` is neither an explanation nor an importance.

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
    if isinstance(found, Importance):
        names, values, errors = found.columns, found.values, found.errors
        total, label = len(names), MEANINGS[found.kind]
    else:
        drawn = DrawnParts.of(check_explanation(found, "plot_importance"))
        # A word that a row does not have contributes nothing to it.
        names, total, label = drawn.names, drawn.total, MEANINGS[CONTRIBUTION]
        values, errors = mean_sizes(np.where(np.isnan(drawn.parts), 0.0, drawn.parts))
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(-values[known], kind="stable")]
    finite = np.isfinite(values)
    end = 1.1 * float(values[finite].max(initial=0.0)) or 1.0
    errors = np.zeros(len(values)) if errors is None else np.where(finite, errors, 0.0)
    ax = dot_list(
        [names[j] for j in order.tolist()],
        np.where(finite, values, end)[order],
        errors[order],
        label=label,
        notes=() if finite[order].all() else ["" if finite[j] else "∞" for j in order.tolist()],
        total=total,
        ax=ax,
    )
    ax.set_xlim(left=0)
    return ax
