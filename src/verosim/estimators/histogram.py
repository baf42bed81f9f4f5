"""Histograms: one per column (naive Bayes), or one over all columns at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from verosim.axes import Axes, Bins, Categories, Cells
from verosim.axes.bins import edges_of
from verosim.bayes.enough import rows_for_histogram
from verosim.data.stream import TableSource
from verosim.data.tables import Table
from verosim.densities import Histogram, JointHistogramDensity
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.parameters import one_of
from verosim.kinds.look import LOOK
from verosim.stats import Counts, Statistic

PER_CELL = 10  # rows a cell needs to say something
HOPELESS = 1000  # times as many cells as rows
MOST_CELLS = 1_000_000  # fewer are harmless, however few the rows


class _BinnedClassifier(GenerativeClassifier):
    bins: Any
    strategy: str
    alpha: float | str
    _statistic_parameters = ("bins", "strategy")

    def _plan_table(self, axes: Axes, table: Table, source: TableSource) -> Statistic:
        batches = [chunk.batch() for chunk in source.first(LOOK)]
        rows = np.concatenate([batch.block for batch in batches])[:LOOK]
        return self._plan(axes, rows, np.concatenate([b.weights for b in batches])[:LOOK])

    def _edges(self, axes: Axes, X: np.ndarray, weights: np.ndarray) -> Bins:
        one_of("strategy", self.strategy, ("uniform", "quantile"))
        d = axes.size("column")
        bins = self._number_of_bins(weights.sum() if len(weights) else len(X), d)
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

    def _number_of_bins(self, n: float, d: int) -> Any:
        return self.bins

    @property
    def bin_edges_(self) -> list[np.ndarray]:
        """The edges of every column; the end bins are open."""
        codes = self._fitted("bin_edges_").axes.codes
        bins = codes.bins if isinstance(codes, Cells) else codes
        assert isinstance(bins, Bins)
        return list(bins.edges)


class HistogramNB(_BinnedClassifier):
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

    def _plan(self, axes: Axes, X: np.ndarray, weights: np.ndarray) -> Counts:
        return Counts(axes.with_codes(self._edges(axes, X, weights)), what="codes")

    def _density(self) -> Histogram:
        return Histogram(self._alpha())


class JointHistogram(_BinnedClassifier):
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

    def _plan(self, axes: Axes, X: np.ndarray, weights: np.ndarray) -> Counts:
        bins = self._edges(axes, X, weights)
        cells = Cells(bins, Categories.empty(1))
        if cells.possible > max(MOST_CELLS, HOPELESS * len(X)):
            B, d = int(bins.counts().max()), axes.size("column")
            need = PER_CELL * cells.possible
            raise VerosimError(
                f"{B} bins in {d} columns make about {cells.possible:.1e} cells. With {PER_CELL} "
                f"rows in each it would need {need:.1e} rows, and there are {len(X)}.",
                f"HistogramNB needs about {rows_for_histogram(d, B, PER_CELL, naive=True):,}; or "
                "use fewer columns or bins.",
            )
        return Counts(axes.with_codes(cells), what="codes")

    def _number_of_bins(self, n: float, d: int) -> Any:
        if not isinstance(self.bins, str) or self.bins != "auto":
            return self.bins
        affordable = int((n / PER_CELL) ** (1 / d) + 1e-9)
        hope = 2.0**d <= max(MOST_CELLS, HOPELESS * n)
        if affordable < 2 and not hope:
            warn(
                f"{n:g} rows cannot fill a joint histogram of {d} columns with even two bins "
                "each: one bin is left, and only the priors count. HistogramNB can use them.",
                VerosimWarning,
            )
        return max(affordable, 2 if hope else 1)

    def _density(self) -> JointHistogramDensity:
        return JointHistogramDensity(self._alpha())

    @property
    def n_cells_(self) -> int:
        """How many cells there are, B^d."""
        codes = self._fitted("n_cells_").axes.codes
        assert isinstance(codes, Cells)
        return int(codes.possible)

    @property
    def n_occupied_(self) -> int:
        """How many of them have ever held a row."""
        codes = self._fitted("n_occupied_").axes.codes
        assert codes is not None
        return codes.size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
