"""The settings and attributes that histogram classifiers share: the bins of every column.

The bins depend on the first rows that a model sees, or on edges that the user gives. After that
they do not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.arguments import one_of
from verosim.axes import Axes, Bins, JointBins
from verosim.axes.bins import edges_of
from verosim.cached import cached_property
from verosim.data.source import RowSource
from verosim.data.sources import joined_blocks
from verosim.data.tables import FIRST_LOOK_ROWS
from verosim.densities import Density, Histogram
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.models import Spec
from verosim.stats import Counts
from verosim.stats.memory_limit import check_memory


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramSpec(Spec):
    """The settings of one histogram per column. The first rows fix the bins."""

    bins: Any = 10
    strategy: str = "quantile"
    alpha: Any = 1.0

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"bins": self.bins, "strategy": self.strategy}

    def plan(self, axes: Axes, source: RowSource) -> Counts:
        return Counts(axes.with_codes(self.edges(axes, *rows_for_bins(source))), what="codes")

    @cached_property
    def density(self) -> Density:
        return Histogram(self.pseudo_count())

    def number_of_bins(self, n: float, d: int) -> Any:
        """The setting `bins`, for models in which it depends on the n rows and d columns."""
        return self.bins

    def edges(self, axes: Axes, X: np.ndarray, weights: np.ndarray) -> Bins:
        """The bins of each column: from the given edges, or from the first rows."""
        one_of("strategy", self.strategy, ("uniform", "quantile"))
        d = axes.size("column")
        bins = self.number_of_bins(weights.sum() if len(weights) else len(X), d)
        if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
            if bins < 1:
                raise VerosimError(f"bins must be at least 1; got {bins}.")
            C, F = axes.size("class"), axes.size("fold")
            check_memory(int(bins) * d * C * F, f"Histograms of {bins:,} bins")
            if len(X) < bins:
                warn(
                    f"The bins of each column are fixed by these first {len(X)} rows, which are "
                    f"fewer than the {bins} bins. Start with more rows, or give the edges in bins.",
                    VerosimWarning,
                )
            return Bins(
                edges_of(np.asarray(X[:, j], dtype=np.float64), weights, int(bins), self.strategy)
                for j in range(d)
            )
        return Bins(self._given_edges(axes))

    def _given_edges(self, axes: Axes) -> list[np.ndarray]:
        """The edges that the user gave, checked, for each column."""
        d = axes.size("column")
        if not isinstance(self.bins, Iterable) or isinstance(self.bins, str):
            raise VerosimError(
                f"bins must be a whole number or edges; got {self.bins!r}.",
                "Give the number of bins, one array of edges, or one array per column.",
            )
        given = list(self.bins)
        if given and np.ndim(given[0]) == 0:
            given = [given] * d
        if len(given) != d:
            raise VerosimError(
                f"bins must have edges for all {d} columns of X; got edges for {len(given)}.",
                "Give one array of edges for all columns, or one array per column.",
            )
        try:
            edges = [np.asarray(e, dtype=np.float64) for e in given]
        except (TypeError, ValueError) as error:
            raise VerosimError(
                f"bins must have only numbers as edges ({error}).",
                "Give the edges as numbers.",
            ) from None
        for j, e in enumerate(edges):
            if e.ndim != 1 or len(e) < 1 or not np.isfinite(e).all() or (np.diff(e) <= 0).any():
                raise VerosimError(
                    f"Column {axes.columns.name(j)!r}: the edges must be finite and increasing; "
                    f"got {e.tolist()[:10]}.",
                    "Give two or more edges, or one edge for a constant column.",
                )
        return edges


def rows_for_bins(source: RowSource) -> tuple[np.ndarray, np.ndarray]:
    """Rows (m, d) and weights (m,) that fix the bins: all of an array, the first of a table."""
    chunks = source.first(FIRST_LOOK_ROWS)
    if not chunks:
        raise VerosimError("The table has no rows.", "The bins need rows; check the table.")
    most = None if source.schema is None else FIRST_LOOK_ROWS
    rows = joined_blocks([chunk.block() for chunk in chunks])[:most]
    return rows, np.concatenate([chunk.row_weights() for chunk in chunks])[:most]


def bin_edges(model: GenerativeClassifier) -> list[np.ndarray]:
    """The edges of the bins of each column. The first and the last bin are open."""
    codes = model.fitted("bin_edges_").statistic.axes.codes
    bins = codes.bins if isinstance(codes, JointBins) else codes
    assert isinstance(bins, Bins)
    return list(bins.edges)
