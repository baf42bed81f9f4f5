"""The calibration of posteriors: accuracy against confidence.

    calibrated:  accuracy of the rows with confidence c = c

Reference: DeGroot & Fienberg (1983), The comparison and evaluation of forecasters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed
from verosim.insight.plots.palette import FOR, QUIET

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.validate.cross_validation import CrossValidation
    from verosim.validate.reliability import Reliability

BARS = 0.16  # the height of the largest bar of weights, as a share of the axes
INTERVAL_WIDTH = 1.96  # half the width of an interval, in standard errors


@checked
def plot_calibration(
    found: Reliability | CrossValidation, *, ax: PlotAxes | None = None
) -> PlotAxes:
    """Draw the accuracy of each bin of the confidence, with intervals and the weight of the rows.

    Posteriors are calibrated if the points are on the diagonal. Points below it are overconfident.
    The bars at the bottom show how many rows each bin has. The interval of a bin is that of Wilson
    for a share, with z = 1.96:

        (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)

    where p is the accuracy and n the weight of the rows of the bin.

    Parameters
    ----------
    found : Reliability or CrossValidation
        The result of :func:`reliability`, or of :func:`cross_validate` for a model with
        probabilities.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the curve.

    Raises
    ------
    VerosimError
        If the model has no probabilities.

    References
    ----------
    DeGroot & Fienberg (1983), The comparison and evaluation of forecasters, The Statistician 32,
    12–22.
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22,
    209–212.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, cross_validate, plot_calibration
    >>> ax = plot_calibration(cross_validate(LDA(), *load_iris(return_X_y=True)))
    >>> ax.get_xlabel()
    'confidence: posterior of the predicted class'
    """
    curve: Any = getattr(found, "reliability", found)
    if curve is None or not hasattr(curve, "confidence"):
        raise VerosimError(
            "The function plot_calibration needs posteriors of held-out rows; got "
            f"{type(found).__name__}{'' if curve is not None else ' without probabilities'}.",
            "Use cross_validate(…) of a model with probabilities, or reliability(…).",
        )
    ax = axes_of(ax, (4.8, 4.6))
    p, n = curve.accuracy, curve.weight
    low, high = _wilson(p, n)
    start = _start(curve)
    ax.plot([0, 1], [0, 1], color=QUIET, lw=1.0, ls=(0, (4, 3)), zorder=1)
    ax.fill_between([0, 1], [0, 0], [0, 1], color=QUIET, alpha=0.08, lw=0, zorder=0)
    height = BARS * (1.0 - start) * n / n.max()
    step = (1.0 - start) / 40
    ax.bar(curve.confidence, height, width=step, bottom=start, color=QUIET, alpha=0.5, zorder=1)
    ax.vlines(curve.confidence, low, high, color=FOR, lw=1.2, zorder=2)
    ax.plot(curve.confidence, p, "o-", color=FOR, ms=5, lw=1.4, zorder=3)
    span = 0.03 * (1.0 - start)
    ax.set(xlim=(start - span, 1 + span), ylim=(start, 1 + span), aspect="equal")
    ax.set_xlabel("confidence: posterior of the predicted class")
    ax.set_ylabel("accuracy")
    ax.set_title(
        f"calibration error {curve.error:.3f}, log-loss {curve.log_loss:.3f}\n"
        "below the dashed line: overconfident; bars: rows",
        loc="left", fontsize="small",
    )  # fmt: skip
    framed(ax)
    return ax


def _wilson(p: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of Wilson for shares p of n rows."""
    z2 = INTERVAL_WIDTH**2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = INTERVAL_WIDTH * np.sqrt(p * (1 - p) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return middle - half, middle + half


def _start(curve: Any) -> float:
    """The lower end of both axes: below all points, in tenths."""
    lowest = min(float(curve.confidence.min()), float(curve.accuracy.min()))
    return float(max(0.0, np.floor(10 * (lowest - 0.05)) / 10))
