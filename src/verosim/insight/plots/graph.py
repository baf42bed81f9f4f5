"""The graphical model: the class, the columns, and the arrows between them.

    p(k, x) = π_k Π_j p(x_j | k, parents of x_j)

Columns without other parents than the class are repeated, so many of them are one plate.
Reference: Koller & Friedman (2009), Probabilistic Graphical Models, §3.2 and §6.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.drawing import library
from verosim.insight.plots.canvas import axes_of, ink, mixed, small
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, shortened
from verosim.insight.plots.rows import check_fitted, column_names, has_independent_columns

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.estimators.score_mixin import ScoreMixin

MOST_NODES = 24
SHORT_NAME = 18  # letters of a node
INCH_PER_LETTER = 0.072  # of a name
ACROSS = 6  # nodes in one line
DASHED = (0, (4, 3))
SMALLEST = 6.0  # letters, in points


@dataclass(frozen=True)
class ModelGraph:
    """The class, the columns, and the parents of each column other than the class."""

    target: str
    columns: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]
    groups: tuple[tuple[str, ...], ...] = ()  # columns that depend on each other without arrows

    @classmethod
    def of(cls, model: Any, function: str) -> ModelGraph:
        check_fitted(model, function)
        target = getattr(getattr(model, "schema_", None), "target", None) or "class"
        names = column_names(model)
        parents: dict[str, tuple[str, ...]] = dict(getattr(model, "parents_", {}))
        names = tuple(parents) or names  # a date has several parts
        joint = not parents and not has_independent_columns(model)
        return cls(str(target), names, parents, (names,) if joint and len(names) > 1 else ())

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The arrows between columns."""
        return [(one, name) for name, found in self.parents.items() for one in found]

    def depth(self) -> dict[str, int]:
        """The longest chain of arrows that ends at each column."""
        found: dict[str, int] = {}

        def of(name: str) -> int:
            if name not in found:
                found[name] = 0  # a column is never its own ancestor
                found[name] = max((1 + of(one) for one in self.parents.get(name, ())), default=0)
            return found[name]

        for name in self.columns:
            of(name)
        return found


@checked
def to_dot(model: ScoreMixin) -> str:
    """Write the graphical model in the DOT language of Graphviz.

        p(k, x) = π_k Π_j p(x_j | k, parents of x_j)

    The class has an arrow to each column. Models such as `TAN` and `KDB` have further arrows
    between columns. Columns that depend on each other without arrows, such as those of a covariance
    matrix, are joined in one box.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.

    Returns
    -------
    str
        The graph. `dot -Tsvg graph.dot` draws it.

    References
    ----------
    Koller & Friedman (2009), Probabilistic Graphical Models, §3.2, MIT Press.

    Examples
    --------
    >>> from verosim import CategoricalNB, to_dot
    >>> print(to_dot(CategoricalNB().fit([["red"], ["blue"]], ["a", "b"])))
    digraph model {
      "class" [shape=doublecircle];
      "x0";
      "class" -> "x0";
    }
    """
    graph = ModelGraph.of(model, "to_dot")
    target = graph.target if graph.target not in graph.columns else f"class {graph.target}"
    lines = ["digraph model {", f"  {_quoted(target)} [shape=doublecircle];"]
    if graph.groups:
        lines += ["  subgraph cluster_joint {", '    label="dependent columns";']
        lines += [f"    {_quoted(name)};" for name in graph.columns]
        lines.append("  }")
    else:
        lines += [f"  {_quoted(name)};" for name in graph.columns]
    lines += [f"  {_quoted(target)} -> {_quoted(name)};" for name in graph.columns]
    lines += [f"  {_quoted(one)} -> {_quoted(name)};" for one, name in graph.edges]
    return "\n".join([*lines, "}"])


def _quoted(name: str) -> str:
    text = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


@checked
def plot_graph(model: ScoreMixin, *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the graphical model: the class, its columns and the arrows between them.

        p(k, x) = π_k Π_j p(x_j | k, parents of x_j)

    The class has an arrow to each column. If there are arrows between columns, as in `TAN` and
    `KDB`, a column is to the right of its parents. Then, and if the columns need several lines, one
    arrow from the class to the frame around all columns stands for the arrows to each of them. A
    frame, called a plate, stands for repetition: over the n rows, and over the columns if there are
    more than 24 of them. Columns that depend on each other without arrows are joined by a dashed
    frame.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the graph.

    See Also
    --------
    to_dot : The same graph for Graphviz.

    References
    ----------
    Koller & Friedman (2009), Probabilistic Graphical Models, §3.2 and §6.4, MIT Press.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, plot_graph
    >>> ax = plot_graph(GaussianNB().fit(*load_iris(return_X_y=True)))
    >>> [text.get_text() for text in ax.texts][:2]
    ['class', 'x0']
    """
    graph = ModelGraph.of(model, "plot_graph")
    plate = len(graph.columns) > MOST_NODES and not graph.edges
    names = {"": f"column j = 1, …, {len(graph.columns):,}"} if plate else _shown_names(graph)
    longest = max(map(len, names.values()))
    place = _across(list(names), longest) if not graph.edges else _tree(graph, longest)
    every = np.array(list(place.values()))
    (left, low), (right, high) = every.min(axis=0), every.max(axis=0)
    half = max(0.62, 0.045 * longest)  # of a node, in inches
    inner = (left - half - 0.1, low - 0.4), (right + half + 0.1, high + 0.3)
    middle = (inner[0][0] + inner[1][0]) / 2
    top = (left - half - 1.1, (low + high) / 2) if graph.edges else (middle, high + 1.15)
    corner = min(inner[0][0], top[0] - half) - 0.2, inner[0][1] - 0.4
    end = max(inner[1][0], top[0] + half) + 0.2, max(inner[1][1], top[1] + 0.3) + 0.2
    wide, tall = end[0] - corner[0] + 0.2, end[1] - corner[1] + 0.2
    ax = axes_of(ax, (wide, tall))
    extent = ax.get_window_extent()
    size = small(ax) * min(
        1.0, 1.25 * extent.width / ax.figure.dpi / wide, 1.25 * extent.height / ax.figure.dpi / tall
    )
    size = max(size, SMALLEST)
    ax.set(xlim=(corner[0] - 0.1, end[0] + 0.1), ylim=(corner[1] - 0.1, end[1] + 0.1))
    boxes = _Boxes.on(ax, size)
    root = shortened(graph.target, SHORT_NAME)
    if graph.edges or len(names) > ACROSS:  # one arrow to the frame: one to each column
        edge = (inner[0][0], top[1]) if graph.edges else (middle, inner[1][1])
        if not graph.groups:
            _frame(ax, *inner, "each column depends on the class", size)
        boxes.arrow(ax, (top, root), (edge, ""), QUIET, 1.6)
    else:
        for name, at in place.items():
            boxes.arrow(ax, (top, root), (at, names[name]), QUIET, 1.0)
    for one, name in graph.edges:
        bend = _bend(place[one], place[name], 1.2 * _step(longest))
        start, stop = (place[one], names[one]), (place[name], names[name])
        boxes.arrow(ax, start, stop, ink(ax), 1.1, bend)
    _node(ax, top, root, AGAINST, size)
    for name, at in place.items():
        _node(ax, at, names[name], FOR, size)
    if plate:
        word = "dependent columns" if graph.groups else "columns"
        _frame(ax, *inner, f"{len(graph.columns):,} {word}", size, DASHED if graph.groups else "-")
    elif graph.groups:
        _frame(ax, *inner, "dependent columns", size, DASHED)
    _frame(ax, corner, end, "rows", size)
    ax.set_axis_off()
    return ax


def _shown_names(graph: ModelGraph) -> dict[str, str]:
    return {name: shortened(name, SHORT_NAME) for name in graph.columns}


def _across(names: list[str], longest: int) -> dict[str, tuple[float, float]]:
    """Places in lines below the class, in inches."""
    step = max(1.45, INCH_PER_LETTER * longest + 0.5)
    lines = -(-len(names) // ACROSS)
    per_line = -(-len(names) // lines)
    found = {}
    for i, name in enumerate(names):
        line = i // per_line
        own = min(per_line, len(names) - line * per_line)
        found[name] = (step * (i % per_line - (own - 1) / 2), -0.55 * line)
    return found


def _tree(graph: ModelGraph, longest: int) -> dict[str, tuple[float, float]]:
    """Places from left to right by depth, in inches; a column is beside its first children."""
    depth = graph.depth()
    owned: dict[str, list[str]] = {name: [] for name in graph.columns}
    roots: list[str] = []
    for name in graph.columns:
        deepest = max(graph.parents.get(name, ()), key=lambda one: depth[one], default=None)
        (roots if deepest is None else owned[deepest]).append(name)
    height: dict[str, float] = {}
    line = 0.0
    stack = [(name, False) for name in reversed(roots)]
    while stack:
        name, ready = stack.pop()
        if owned[name] and not ready:
            stack.append((name, True))
            stack += [(one, False) for one in reversed(owned[name])]
        elif owned[name]:
            height[name] = float(np.mean([height[one] for one in owned[name]]))
        else:
            height[name], line = -line, line + 0.42
    # A chain is a straight line, so every second column of a chain with several parents is moved.
    step = _step(longest)
    several = any(len(found) > 1 for found in graph.parents.values())
    return {
        name: (step * depth[name], height[name] + (0.5 * (depth[name] % 2) if several else 0.0))
        for name in graph.columns
    }


def _step(longest: int) -> float:
    """The distance between a column and its parent in a tree, in inches."""
    return max(1.75, INCH_PER_LETTER * longest + 0.75)


def _bend(start: tuple[float, float], stop: tuple[float, float], straight: float) -> float:
    """Arrows that skip a level are bent."""
    return 0.0 if stop[0] - start[0] < straight else 0.18 if stop[1] <= start[1] else -0.18


def _node(ax: Any, at: tuple[float, float], text: str, colour: str, size: float) -> None:
    """A rounded box with a name."""
    ax.annotate(
        text, at, ha="center", va="center", fontsize=size, color=ink(ax), zorder=4,
        bbox={
            "boxstyle": "round,pad=0.45,rounding_size=0.6", "facecolor": mixed(colour, ax, 0.22),
            "edgecolor": colour, "linewidth": 1.3,
        },
    )  # fmt: skip


@dataclass(frozen=True)
class _Boxes:
    """The size of the boxes around names, to let arrows end at their edges."""

    scale: tuple[float, float]  # points per unit of each axis
    size: float  # of the text

    @classmethod
    def on(cls, ax: Any, size: float) -> _Boxes:
        extent = ax.get_window_extent()
        points = np.array([extent.width, extent.height]) / ax.figure.dpi * 72
        units = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
        across, up = (points / units).tolist()
        return cls((across, up), size)

    def edge(self, text: str, way: np.ndarray) -> float:
        """The distance from the middle of a box to its edge in a direction, in points."""
        if not text:
            return 0.0
        half = np.array([0.31 * len(text) + 0.55, 1.05]) * self.size + 2
        with np.errstate(divide="ignore"):
            return float(np.min(half / np.abs(way)))

    def arrow(
        self, ax: Any, start: tuple[Any, str], stop: tuple[Any, str], colour: str, width: float,
        bend: float = 0.0,
    ) -> None:  # fmt: skip
        """An arrow from box to box; each is given by its middle and its text."""
        way = (np.array(stop[0]) - np.array(start[0])) * self.scale
        way = way / max(float(np.linalg.norm(way)), 1e-9)
        ax.add_patch(
            library("patches").FancyArrowPatch(
                start[0], stop[0], arrowstyle="-|>", mutation_scale=10, color=colour, lw=width,
                shrinkA=self.edge(start[1], way), shrinkB=self.edge(stop[1], way), zorder=2,
                connectionstyle=f"arc3,rad={bend}",
            )
        )  # fmt: skip


def _frame(
    ax: Any, low: tuple[float, float], high: tuple[float, float], text: str, size: float,
    dash: Any = "-",
) -> None:  # fmt: skip
    """A plate with its label in the lower right corner."""
    ax.add_patch(
        library("patches").FancyBboxPatch(
            low, high[0] - low[0], high[1] - low[1], boxstyle="round,pad=0,rounding_size=0.12",
            fill=False, edgecolor=QUIET, lw=1.0, ls=dash, zorder=1,
        )
    )  # fmt: skip
    ax.annotate(
        text, (high[0], low[1]), xytext=(-6, 3), textcoords="offset points", ha="right",
        va="bottom", fontsize=size, color=QUIET, zorder=3,
    )  # fmt: skip
