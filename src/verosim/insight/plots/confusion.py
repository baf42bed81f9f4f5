"""The confusion matrix: the true class of each row against its predicted class.

    share(k, l) = weight of the rows of class k that are predicted as l / weight of class k

Reference: Stehman (1997), Selecting and interpreting measures of thematic classification accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim.arguments import checked, number_array
from verosim.axes.groups import plain_label
from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.folds.inputs import one_column
from verosim.insight.plots.canvas import axes_of, ground, ink_on, mixed, name_values, small
from verosim.insight.plots.palette import FOR

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.drawing import PlotAxes
    from verosim.validate.cross_validation import CrossValidation

MOST_WITH_NUMBERS = 12  # with more classes, only cells with many rows have a number
LEAST_WRITTEN = 0.05  # the smallest share with a number, if there are many classes
SMALLEST_TEXT = 3.5  # points


@checked
def plot_confusion(
    found: CrossValidation | ArrayLike,
    classes: ArrayLike | None = None,
    *,
    normalise: bool = True,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw a confusion matrix, with one row for each true class.

    The colour of a cell is the share of the rows of its true class. The number in it is this share
    in percent, or the weight of the rows.

        share(k, l) = weight of the rows of class k that are predicted as l / weight of class k

    Parameters
    ----------
    found : CrossValidation or array-like of shape (C, C)
        The result of :func:`cross_validate`, or the weights by true class (row) and predicted class
        (column).
    classes : array-like of shape (C,) or None, default=None
        The class labels. None uses those of `found`, or numbers.
    normalise : bool, default=True
        Whether the numbers are percentages of the true class. False shows weights.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the matrix.

    Raises
    ------
    VerosimError
        If the matrix is not square, or does not match the labels.

    References
    ----------
    Stehman (1997), Selecting and interpreting measures of thematic classification accuracy, Remote
    Sensing of Environment 62, 77–89.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, cross_validate, plot_confusion
    >>> ax = plot_confusion(cross_validate(LDA(), *load_iris(return_X_y=True)))
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts][:1]
    ('predicted class', ['100'])
    """
    matrix = number_array("found", getattr(found, "confusion", found), 2)
    if matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise VerosimError(
            f"A confusion matrix must be square; got the shape {matrix.shape}.",
            "Use cross_validate(…), or an array of shape (C, C).",
        )
    C = len(matrix)
    labels = one_column(getattr(found, "classes", range(C)) if classes is None else classes)
    if len(labels) != C:
        raise VerosimError(
            f"The matrix has {C} classes; got {len(labels)} labels.", "Give one label per class."
        )
    total = matrix.sum(axis=1, keepdims=True)
    share = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    side = float(np.clip(2.4 + 0.36 * C, 4.0, 11.0))
    ax = axes_of(ax, (side + 0.8, side))
    base, full = mixed(FOR, ax, 0.0), mixed(FOR, ax, 1.0)
    # Errors are rare: the root makes small shares visible.
    image = base + np.sqrt(share)[..., None] * (full - base)
    ax.imshow(image, interpolation="nearest", aspect="equal")
    cell = ax.get_window_extent().height / ax.figure.dpi * 72 / C  # points
    size = min(small(ax), 0.4 * cell)
    shown = matrix > 0 if C <= MOST_WITH_NUMBERS else share >= LEAST_WRITTEN
    shown &= size >= SMALLEST_TEXT
    for i, j in np.argwhere(shown).tolist():
        text = _percent(share[i, j]) if normalise else f"{matrix[i, j]:,.10g}"
        ax.text(
            j, i, text, ha="center", va="center", fontsize=size, color=ink_on(image[i, j]),
        )  # fmt: skip
    names = [plain_label(one) for one in labels.tolist()]
    name_values(ax, names, small(ax))
    name_values(ax, names, small(ax), axis="x")
    ax.set(xlabel="predicted class", ylabel="true class")
    unit = "% of the true class" if normalise else "weight of the rows"
    correct = np.trace(matrix) / matrix.sum() if matrix.sum() else np.nan
    ax.set_title(f"accuracy {correct:.3f}; numbers: {unit}", loc="left", fontsize="small")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ticker = library("ticker")
    ax.xaxis.set_minor_locator(ticker.FixedLocator(np.arange(C + 1) - 0.5))
    ax.yaxis.set_minor_locator(ticker.FixedLocator(np.arange(C + 1) - 0.5))
    ax.grid(which="minor", color=ground(ax), lw=1.2 if C <= 30 else 0.0)
    ax.tick_params(which="minor", length=0)
    return ax


def _percent(share: float) -> str:
    """A share in percent with few letters."""
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.95 or percent == 0 else f"{percent:.1f}"
