"""What `auto` tried: the score of each candidate.

Reference: Cleveland (1985), The elements of graphing data (dot plots).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.insight.plots.dots import dot_list

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.pool.result import Candidates, Choice


@checked
def plot_candidates(found: Choice | Candidates, *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the score of each candidate of `auto`, with two standard errors on each side.

    A lower score is better, so the best candidate is the dot that is furthest to the left. The
    weight of an expert in a pool is written on the right. Models that were not tried are left out.

    Parameters
    ----------
    found : Choice or Candidates
        The result of :func:`auto`, or its table.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the dots.

    Raises
    ------
    VerosimError
        If `found` is not a result of `auto`.

    References
    ----------
    Cleveland (1985), The Elements of Graphing Data, Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto, plot_candidates
    >>> ax = plot_candidates(auto(*load_iris(return_X_y=True), models=[LDA(), QDA()]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['LDA()', 'QDA()']
    """
    table: Any = getattr(found, "table", found)
    if not hasattr(table, "rows") or not hasattr(table, "scoring"):
        raise VerosimError(
            f"The function plot_candidates needs a result of auto; got {type(found).__name__}.",
            "Use plot_candidates(auto(X, y)).",
        )
    tried = [row for row in table.rows if not row.why and np.isfinite(row.score)]
    if not tried:
        raise VerosimError("No candidate has a score.", "Use a table that auto has finished.")
    scores = np.array([row.score for row in tried])
    errors = np.array([row.error for row in tried])
    weights = ["" if np.isnan(row.weight) else f"weight {row.weight:.2f}" for row in tried]
    return dot_list(
        [row.name for row in tried],
        scores,
        errors,
        label="BIC" if table.scoring == "bic" else "log-loss of held-out rows (less is better)",
        best=int(scores.argmin()),
        notes=weights if any(weights) else (),
        ax=ax,
    )
