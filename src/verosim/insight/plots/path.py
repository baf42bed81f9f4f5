"""The held-out score of each setting of a search, and of each step of a selection.

    mean over the folds ± 2 standard errors

Reference: Friedman (1989), Regularized discriminant analysis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed, small
from verosim.insight.plots.dots import dot_list
from verosim.insight.plots.palette import COLOURS, FOR, QUIET

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.validate.search import Search
    from verosim.validate.select import Selection

LONG_RANGE = 50.0  # positive values that vary by more than this have a logarithmic axis


@checked
def plot_path(
    found: Search | Selection, *, scoring: str | None = None, ax: PlotAxes | None = None
) -> PlotAxes:
    """Draw the score of each setting of a search, with a band of two standard errors.

    One parameter with numbers gives a curve. Its axis is logarithmic if all values are positive and
    they vary by a factor of more than 50. Other settings give a list of dots, the best first. A
    selection of columns gives the score after each step.

    Parameters
    ----------
    found : Search or Selection
        The result of :func:`search`, :func:`path` or :func:`select`.
    scoring : str or None, default=None
        The name of the score. None is the score that chooses.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the scores.

    Raises
    ------
    VerosimError
        If `found` is not such a result, or has no such score.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, JASA 84, 165–175.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import LDA, path, plot_path
    >>> X, y = load_wine(return_X_y=True)
    >>> ax = plot_path(path(LDA(), X, y, "shrinkage", [0.0, 0.1, 0.5]))
    >>> ax.get_xlabel()
    'shrinkage'
    """
    if hasattr(found, "steps") and hasattr(found, "start"):
        return _steps(found, ax)
    if not hasattr(found, "settings") or not hasattr(found, "scores"):
        raise VerosimError(
            "The function plot_path needs a result of search, path or select; got "
            f"{type(found).__name__}.",
            "Use plot_path(search(model, X, y, grid)).",
        )
    if scoring is not None and scoring not in found.scores:
        raise VerosimError(
            f"The search has no score {scoring!r}.", f"Use one of {', '.join(found.scores)}."
        )
    name = scoring or found.scoring
    mean, error = found.mean(name), found.error(name)
    label = name.replace("neg_log_loss", "−log-loss").replace("_", " ")
    label = f"{label} of held-out rows"
    varied = _varied(found.settings)
    values = [setting[varied[0]] for setting in found.settings] if len(varied) == 1 else []
    if len(values) < 2 or not all(_is_number(value) for value in values):
        order = np.argsort(-mean, kind="stable")
        names = [_named(found.settings[i], varied) for i in order.tolist()]
        return dot_list(names, mean[order], error[order], label=label, best=0, ax=ax)
    ax = axes_of(ax)
    x = np.array(values, dtype=np.float64)
    order = np.argsort(x, kind="stable")
    x, mean, error = x[order], mean[order], error[order]
    band = 2 * np.nan_to_num(error)
    ax.fill_between(x, mean - band, mean + band, color=FOR, alpha=0.15, lw=0)
    ax.plot(x, mean, "o-", color=FOR, ms=4, lw=1.6)
    best = int(np.nanargmax(mean))
    ax.plot(x[best], mean[best], "D", color=COLOURS[1], ms=8, zorder=4)
    ax.annotate(
        f"best: {x[best]:.4g}", (x[best], mean[best]), xytext=(0, 9), textcoords="offset points",
        ha=_side(best, len(x)), fontsize=small(ax), color=COLOURS[1],
    )  # fmt: skip
    if x.min() > 0 and x.max() / x.min() > LONG_RANGE:
        ax.set_xscale("log")
    ax.margins(y=0.15)
    ax.set(xlabel=varied[0], ylabel=label)
    framed(ax, "y")
    return ax


def _steps(found: Any, ax: Any) -> Any:
    """Draw the score after each step of a selection."""
    names = ["start", *(f"{'+' if one.added else '−'} {one.column}" for one in found.steps)]
    scores = np.array([found.start, *(one.score for one in found.steps)])
    label = "Wilks' λ" if found.scoring == "wilks" else "log-loss of held-out rows"
    ax = dot_list(
        names, scores, np.full(len(scores), np.nan), label=f"{label} (less is better)",
        best=int(np.nanargmin(scores)), ax=ax,
    )  # fmt: skip
    n = len(ax.get_yticks())
    ax.plot(scores[:n], np.arange(n), color=QUIET, lw=1.0, zorder=1)
    return ax


def _varied(settings: list[dict[str, Any]]) -> list[str]:
    """The parameters with more than one value; all of them if there are none."""
    names = list(settings[0])
    found = [name for name in names if len({repr(setting.get(name)) for setting in settings}) > 1]
    return found or names


def _named(setting: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name}={setting.get(name)!r}" for name in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _side(i: int, n: int) -> str:
    """The alignment that keeps a label inside the axes."""
    return "left" if i < n / 4 else "right" if i > 3 * n / 4 else "center"
