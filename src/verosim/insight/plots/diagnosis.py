"""The findings of a diagnosis: the evidence against each assumption.

−log₁₀ p:  1.3 is p = 0.05

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed, room, small
from verosim.insight.plots.palette import AGAINST, QUIET, shortened

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes

MOST_FINDINGS = 20
SMALLEST_P = 1e-12
SIGNIFICANT = 0.05
INCH_PER_FINDING = 0.29


def plot_diagnosis(found: Any, *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the findings that have a p-value, the smallest first, with their values on the right."""
    tested = [one for one in found if one.p_value is not None and not np.isnan(one.p_value)]
    if not tested:
        raise VerosimError(
            "The diagnosis has no p-values to draw.", "Use diagnose(model, X, y) with rows."
        )
    tested.sort(key=lambda one: one.p_value)
    n = min(len(tested), MOST_FINDINGS)
    ax = axes_of(ax, (7.2, 1.2 + INCH_PER_FINDING * max(n, 4)))
    n = min(n, room(ax, small(ax)))
    strength = -np.log10(np.maximum([one.p_value for one in tested[:n]], SMALLEST_P))
    for i, (one, height) in enumerate(zip(tested[:n], strength.tolist(), strict=True)):
        clear = one.p_value < SIGNIFICANT
        colour, marker = (AGAINST, "D") if clear else (QUIET, "o")
        marker = ">" if one.p_value < SMALLEST_P else marker
        ax.plot([0, height], [i, i], color=colour, lw=1.6, alpha=0.7)
        ax.plot(height, i, marker, color=colour, ms=6)
        if one.value is not None:
            ax.annotate(
                f"{one.value:.3g}", (1.0, i), xycoords=("axes fraction", "data"), xytext=(6, 0),
                textcoords="offset points", va="center", fontsize=small(ax), color=QUIET,
                annotation_clip=False,
            )  # fmt: skip
    ax.axvline(-np.log10(SIGNIFICANT), color=QUIET, lw=0.9, ls=(0, (3, 3)), zorder=0)
    names = [shortened(f"{one.name}: {one.subject}", 44) for one in tested[:n]]
    ax.set_yticks(range(n), names, fontsize=small(ax))
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xlim(left=0)
    label = "−log₁₀ p; dashed line: p = 0.05"
    if tested[0].p_value < SMALLEST_P:  # longer lines end with an arrow
        label += "; arrow: p < 10⁻¹²"
    ax.set_xlabel(label)
    title = found.title
    if n < len(tested):
        title += f"\n{n} of {len(tested)} tests are drawn"
    ax.set_title(title, loc="left", fontsize="small")
    framed(ax, "x")
    ax.tick_params(axis="y", length=0)
    return ax
