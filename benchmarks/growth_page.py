"""The page of `benchmarks.growth`: tables, exponents and pictures.

    log y = a + b log size          by least squares over the last two decades of sizes

b is the exponent. It is 1 if the time doubles with the size, and 0 if memory stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import shown
from benchmarks.pages import ROOT, keep, oldest

PAGE = "docs/scale.md"
DECADES = 2  # the exponent is that of the largest sizes, where fixed costs are small
WHAT = {"seconds": "CPU seconds", "peak": "peak memory in MB"}
STYLES = {
    "NaiveBayes": ("#0b5394", "o", "-"), "GaussianNB": ("#38761d", "s", "-"),
    "LDA": ("#741b47", "^", "-"), "sklearn GaussianNB": ("#38761d", "s", "--"),
    "sklearn LDA": ("#741b47", "^", "--"),
}  # fmt: skip
CAPTIONS = {
    "rows": "Rows: 6 columns of numbers, 3 classes",
    "columns": "Columns: 10,000 rows, 3 classes",
    "classes": "Classes: 300,000 rows, 10 columns",
}
LEAST_GAP = 0.055  # between two labels, as a share of the height


def curve(
    axis: str, model: str, sizes: tuple[int, ...], found: dict[str, Any], what: str
) -> tuple[np.ndarray, np.ndarray]:
    """The measured sizes and the values at them."""
    points = [(size, found.get(f"{axis}, {model}, {size}", {})) for size in sizes]
    kept = [(size, point[what]) for size, point in points if what in point]
    return np.array([size for size, _ in kept]), np.array([value for _, value in kept], dtype=float)


def exponent(sizes: np.ndarray, values: np.ndarray) -> float:
    late = sizes >= sizes[-1] / 10**DECADES * 0.99
    return float(np.polyfit(np.log(sizes[late]), np.log(values[late]), 1)[0])


def cell(point: dict[str, Any]) -> str:
    if "stopped" in point:
        return f"stopped ({point['stopped']})"
    return f"{shown(point['seconds'])}, {point['peak']:,} MB" if point else "–"


def table(
    axis: str, sizes: tuple[int, ...], models: tuple[str, ...], found: dict[str, Any]
) -> list[str]:
    decades = [size for size in sizes if str(size).strip("0") in ("1", "2")]
    lines = [
        f"| {axis} | {' | '.join(f'{size:,}' for size in decades)} | exponent: time | memory |",
        "|---|" + "---|" * (len(decades) + 2),
    ]
    for model in models:
        cells = [cell(found.get(f"{axis}, {model}, {size}", {})) for size in decades]
        powers = [exponent(*curve(axis, model, sizes, found, what)) for what in WHAT]
        name = model.replace("sklearn", "scikit-learn")
        lines.append(f"| {name} | {' | '.join([*cells, *(f'{b:.2f}' for b in powers)])} |")
    return lines


def spread_out(heights: list[float]) -> list[float]:
    """The heights of labels (shares of the panel), moved up so that none overlap."""
    out = np.array(heights)
    for before, at in zip(np.argsort(heights)[:-1], np.argsort(heights)[1:], strict=True):
        out[at] = max(out[at], out[before] + LEAST_GAP)
    return (out - max(0.0, out.max() - 1.0)).tolist()


def draw(axis: str, sizes: tuple[int, ...], models: tuple[str, ...], found: dict[str, Any]) -> str:
    """Draw time and memory, with the exponents beside the curves. Returns the path."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "verosim"  # the same picture has the same bytes
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    for panel, (what, title) in zip(panels, WHAT.items(), strict=True):
        panel.set(xscale="log", yscale="log", xlabel=axis, title=title)
        ends = []
        for model in models:
            at, values = curve(axis, model, sizes, found, what)
            colour, marker, line = STYLES[model]
            panel.plot(at, values, line, color=colour, marker=marker, markersize=4)
            ends.append((at, values))
        panel.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
        panel.grid(alpha=0.25)
        low, high = np.log(panel.get_ylim())
        heights = spread_out([(np.log(values[-1]) - low) / (high - low) for _, values in ends])
        for model, (at, values), height in zip(models, ends, heights, strict=True):
            panel.annotate(
                f"{model.replace('sklearn', 'scikit-learn')}  {exponent(at, values):.2f}",
                (1.02, height), xycoords="axes fraction", va="center", fontsize=8,
                color=STYLES[model][0], annotation_clip=False,
            )  # fmt: skip
    path = f"docs/pictures/growth_{axis}.svg"
    figure.savefig(ROOT / path, metadata={"Date": None})
    plt.close(figure)
    return path


def write_page(
    axes: dict[str, tuple[int, ...]], models: tuple[str, ...], found: dict[str, Any]
) -> None:
    lines: list[str] = []
    for axis, sizes in axes.items():
        path = draw(axis, sizes, models, found).removeprefix("docs/")
        text = f"Time and memory of fits against the number of {axis}, with exponents"
        lines += [f"**{CAPTIONS[axis]}**", "", f"![{text}]({path})", ""]
        lines += [*table(axis, sizes, models, found), ""]
    keep(PAGE, "growth", "\n".join(lines), oldest(found.values()))
