"""Histograms: one per column (naive Bayes), or one over all columns at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes import Axes, Bins, Categories, JointBins
from verosim.axes.bins import edges_of
from verosim.bayes.sample_size import rows_for_histogram
from verosim.data import ArraySource
from verosim.data.stream import TableSource
from verosim.densities import Density, Histogram, JointHistogramDensity
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.kinds.look import FIRST_LOOK_ROWS
from verosim.models import Spec
from verosim.models.settings import one_of
from verosim.stats import Counts

ROWS_PER_CELL = 10  # rows a cell needs to say something
MOST_CELLS_PER_ROW = 1000  # times as many cells as rows
MOST_CELLS = 1_000_000  # fewer are harmless, however few the rows


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramSpec(Spec):
    """A histogram for each column, its bins settled by the first rows."""

    bins: Any = 10
    strategy: str = "quantile"
    alpha: Any = 1.0

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"bins": self.bins, "strategy": self.strategy}

    def plan(self, axes: Axes, source: ArraySource | TableSource) -> Counts:
        return Counts(axes.with_codes(self.edges(axes, *rows_for_bins(source))), what="codes")

    @property
    def density(self) -> Density:
        return Histogram(self.pseudo_count())

    def number_of_bins(self, n: float, d: int) -> Any:
        """The setting `bins`, where it depends on the n rows and d columns."""
        return self.bins

    def edges(self, axes: Axes, X: np.ndarray, weights: np.ndarray) -> Bins:
        """The bins of every column: as given, or by the first rows."""
        one_of("strategy", self.strategy, ("uniform", "quantile"))
        d = axes.size("column")
        bins = self.number_of_bins(weights.sum() if len(weights) else len(X), d)
        if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
            if bins < 1:
                raise VerosimError(f"bins={bins}: at least one bin is needed.")
            if len(X) < bins:
                warn(
                    f"The bins of every column are fixed by these first {len(X)} rows, fewer than "
                    f"the {bins} bins asked for. Start with more rows, or give edges.",
                    VerosimWarning,
                )
            return Bins(
                edges_of(np.asarray(X[:, j], dtype=np.float64), weights, int(bins), self.strategy)
                for j in range(d)
            )
        if not isinstance(self.bins, Iterable) or isinstance(self.bins, str):
            raise VerosimError(
                f"bins={self.bins!r} is not known.", "a number of bins, or edges for every column."
            )
        given = list(self.bins)
        if given and np.ndim(given[0]) == 0:
            given = [given] * d
        if len(given) != d:
            raise VerosimError(f"bins has edges for {len(given)} columns and X has {d}.")
        try:
            edges = [np.asarray(e, dtype=np.float64) for e in given]
        except (TypeError, ValueError) as error:
            raise VerosimError(f"bins holds something that is no edge: {error}.") from None
        for j, e in enumerate(edges):
            if e.ndim != 1 or len(e) < 1 or not np.isfinite(e).all() or (np.diff(e) <= 0).any():
                raise VerosimError(
                    f"Column {axes.columns.name(j)!r}: edges must be finite and increasing, "
                    f"two or more (one for a constant); got {e.tolist()[:10]}.",
                    "the end bins are open, so the outer edges only say how wide they are.",
                )
        return Bins(edges)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointHistogramSpec(HistogramSpec):
    """One histogram over all columns at once."""

    @property
    def allows_missing(self) -> bool:
        return False

    def plan(self, axes: Axes, source: ArraySource | TableSource) -> Counts:
        X, weights = rows_for_bins(source)
        bins = self.edges(axes, X, weights)
        cells = JointBins(bins, Categories.empty(1))
        if cells.possible > max(MOST_CELLS, MOST_CELLS_PER_ROW * len(X)):
            B, d = int(bins.counts().max()), axes.size("column")
            need = ROWS_PER_CELL * cells.possible
            raise VerosimError(
                f"{B} bins in {d} columns make about {cells.possible:.1e} cells. With "
                f"{ROWS_PER_CELL} rows in each it would need {need:.1e} rows, and there are "
                f"{len(X)}.",
                f"HistogramNB needs about {rows_for_histogram(d, B, ROWS_PER_CELL, naive=True):,}; "
                "or use fewer columns or bins.",
            )
        return Counts(axes.with_codes(cells), what="codes")

    @property
    def density(self) -> Density:
        return JointHistogramDensity(self.pseudo_count())

    def number_of_bins(self, n: float, d: int) -> Any:
        if not isinstance(self.bins, str) or self.bins != "auto":
            return self.bins
        affordable = int((n / ROWS_PER_CELL) ** (1 / d) + 1e-9)
        hope = 2.0**d <= max(MOST_CELLS, MOST_CELLS_PER_ROW * n)
        if affordable < 2 and not hope:
            warn(
                f"{n:g} rows cannot fill a joint histogram of {d} columns with even two bins "
                "each: one bin is left, and only the priors count. HistogramNB can use them.",
                VerosimWarning,
            )
        return max(affordable, 2 if hope else 1)


def rows_for_bins(source: ArraySource | TableSource) -> tuple[np.ndarray, np.ndarray]:
    """Rows (m, d) and weights (m,) that settle the bins: all of an array, the first of a table."""
    if not isinstance(source, TableSource):
        return source.X, source.weights
    batches = [chunk.batch() for chunk in source.first(FIRST_LOOK_ROWS)]
    rows = np.concatenate([batch.block for batch in batches])[:FIRST_LOOK_ROWS]
    return rows, np.concatenate([batch.weights for batch in batches])[:FIRST_LOOK_ROWS]


def bin_edges(model: GenerativeClassifier) -> list[np.ndarray]:
    """The edges of every column; the end bins are open."""
    codes = model.fitted("bin_edges_").statistic.axes.codes
    bins = codes.bins if isinstance(codes, JointBins) else codes
    assert isinstance(bins, Bins)
    return list(bins.edges)


class HistogramNB(GenerativeClassifier):
    """Naive Bayes with a histogram per column.

    log p(x | k) = Σ_j log [ (n_bjk + α) / (n_jk + αB_j) / width_b ],  b the bin of x_j

    The bins are fixed by the first rows the model sees; the end bins are open, so every number
    has one. Missing cells are skipped at fit and marginalised at predict.

    Parameters
    ----------
    bins : how many, or the edges: one increasing array for all columns, or a list with one each.
        Give edges to merge models fitted apart.
    strategy : "uniform" widths or "quantile" (equal counts)
    alpha : pseudo-count of every bin; or "cv": chosen by held-out log-loss, see `alpha_`
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> HistogramNB(bins=8).fit(X, y).score(X, y) > 0.94
    True
    """

    def __init__(
        self,
        bins: Any = 10,
        strategy: str = "quantile",
        alpha: float | str = 1.0,
        priors: Any = None,
    ) -> None:
        self.bins = bins
        self.strategy = strategy
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> HistogramSpec:
        return HistogramSpec(**self.settings(HistogramSpec))

    bin_edges_ = property(bin_edges)


class JointHistogram(GenerativeClassifier):
    """The joint histogram of all columns: the B^d cells that naive Bayes saves you from.

    p(x | k) = (n_cell,k + α) / (n_k + α B^d) / volume

    Only occupied cells are stored, yet rows needed grow like B^d: kept as the lesson in the curse
    of dimensionality, and for two or three columns a fine model. When B^d is hopeless it refuses
    and says how many rows it would take.

    Parameters
    ----------
    bins : as in :class:`HistogramNB`, or "auto": as many as leave ten rows a cell, at least two
        while there is hope
    strategy, alpha, priors : as in :class:`HistogramNB`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JointHistogram(bins=4).fit(X[:, 2:], y)
    >>> model.n_cells_, model.n_occupied_
    (16, 10)
    """

    def __init__(
        self,
        bins: Any = "auto",
        strategy: str = "quantile",
        alpha: float | str = 1.0,
        priors: Any = None,
    ) -> None:
        self.bins = bins
        self.strategy = strategy
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> JointHistogramSpec:
        return JointHistogramSpec(**self.settings(JointHistogramSpec))

    bin_edges_ = property(bin_edges)

    @property
    def n_cells_(self) -> int:
        """How many cells there are, B^d."""
        codes = self.fitted("n_cells_").statistic.axes.codes
        assert isinstance(codes, JointBins)
        return int(codes.possible)

    @property
    def n_occupied_(self) -> int:
        """How many of them have ever held a row."""
        codes = self.fitted("n_occupied_").statistic.axes.codes
        assert codes is not None
        return codes.size
