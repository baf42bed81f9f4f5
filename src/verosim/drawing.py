"""matplotlib, which is imported only here and only when something is drawn, and its types."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from verosim.errors import VerosimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    PlotAxes: TypeAlias = Axes
    PlotFigure: TypeAlias = Figure | SubFigure


def library(module: str = "pyplot") -> Any:
    """A module of matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise VerosimError(
            "A plot needs matplotlib, which is not installed.",
            "Install it with pip install 'verosim[plot]'.",
        ) from error
    return import_module(f"{mpl.__name__}.{module}")
