"""One histogram over all columns together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verosim.axes import Axes, Categories, JointBins
from verosim.bayes.sample_size import rows_for_histogram
from verosim.cached import cached_property
from verosim.data.source import RowSource
from verosim.densities import Density, JointHistogramDensity
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.histogram import HistogramSpec, bin_edges, rows_for_bins
from verosim.stats import Counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import ClassWeight, Priors

ROWS_PER_CELL = 10  # rows that a cell needs for a useful estimate
MOST_CELLS_PER_ROW = 1000  # the limit of cells per row
MOST_CELLS = 1_000_000  # up to this number, cells are allowed however few the rows are


@dataclass(frozen=True, eq=False, kw_only=True)
class JointHistogramSpec(HistogramSpec):
    """The settings of one histogram over all columns."""

    @property
    def allows_missing(self) -> bool:
        return False

    def plan(self, axes: Axes, source: RowSource) -> Counts:
        X, weights = rows_for_bins(source)
        bins = self.edges(axes, X, weights)
        cells = JointBins(bins, Categories.empty(1))
        if cells.possible > max(MOST_CELLS, MOST_CELLS_PER_ROW * len(X)):
            B, d = int(bins.counts().max()), axes.size("column")
            need = ROWS_PER_CELL * cells.possible
            raise VerosimError(
                f"{B} bins in {d} columns make about {cells.possible:.1e} cells, which need "
                f"{need:.1e} rows; there are {len(X)}.",
                "Use fewer columns or bins, or HistogramNB, which needs about "
                f"{rows_for_histogram(d, B, ROWS_PER_CELL, naive=True):,} rows.",
            )
        return Counts(axes.with_codes(cells), what="codes")

    @cached_property
    def density(self) -> Density:
        return JointHistogramDensity(self.pseudo_count())

    def number_of_bins(self, n: float, d: int) -> Any:
        if not isinstance(self.bins, str) or self.bins != "auto":
            return self.bins
        affordable = int((n / ROWS_PER_CELL) ** (1 / d) + 1e-9)
        hope = 2.0**d <= max(MOST_CELLS, MOST_CELLS_PER_ROW * n)
        if affordable < 2 and not hope:
            warn(
                f"{n:g} rows are too few for a joint histogram of {d} columns with two bins "
                "each, so one bin is used and only the priors count. Use HistogramNB.",
                VerosimWarning,
            )
        return max(affordable, 2 if hope else 1)


class JointHistogram(GenerativeClassifier):
    """One histogram per class over all columns together.

    Use it for two or three numeric columns with many rows. It makes no assumption about the
    dependence between the columns. The number of cells, and with it the number of rows that are
    needed, grows as B^d: this is the curse of dimensionality. If there are far too many cells for
    the rows, `fit` raises an error that states how many rows are needed. The density of class k is:

        p(x | k) = (n_ck + α) / (n_k + α B^d) / volume_c,   δ_k(x) = log π_k + log p(x | k)

    Here π_k is the prior of class k, c is the cell of x, n_ck is the number of rows of class k in
    this cell, n_k is the number of rows of class k, B is the number of bins per column, and d is
    the number of columns. Only occupied cells are stored. Missing values are not allowed.

    Parameters
    ----------
    bins : int, "auto", array-like or list of array-like, default="auto"
        The number of bins per column, or the edges. "auto" uses as many bins as leave ten rows per
        cell on average, and at least two if that many cells are allowed. An increasing array of
        edges is used for all columns. A list has one array of edges per column.
    strategy : {"uniform", "quantile"}, default="quantile"
        How a number of bins becomes edges. "uniform" makes bins of equal width. "quantile" makes
        bins with equal numbers of rows.
    alpha : float or "cv", default=1.0
        The pseudo-count that is added to the count of every cell. "cv" chooses it by the log-loss
        on held-out rows, see `alpha_`.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes at estimation. The sums of class k are multiplied by w_k, as if each
        row of the class had the weight w_k, so a prior n_k/n becomes w_k n_k / Σ_j w_j n_j. A dict
        maps labels to factors, and the classes that it does not name have the factor 1. "balanced"
        uses w_k = n/(C n_k), which gives all classes the same weight. None uses 1 for all classes.
        The stored sums and `class_count_` stay the same, so it can change after the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    bin_edges_ : list of ndarray
        The edges of the bins of each column. The first and the last bin are open.
    n_cells_ : int
        The number of cells, B^d.
    n_occupied_ : int
        The number of cells that have had at least one row.
    n_parameters_ : int
        The number of free parameters: C (B^d − 1) shares, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read. It exists only after a fit on a table.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    HistogramNB : One histogram per column, for more columns.

    References
    ----------
    Scott (2015), Multivariate Density Estimation, 2nd edition, chapter 3, Wiley.
    Bellman (1961), Adaptive Control Processes, Princeton University Press.

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
        bins: int | Literal["auto"] | ArrayLike | Sequence[ArrayLike] = "auto",
        strategy: Literal["uniform", "quantile"] = "quantile",
        alpha: float | Literal["cv"] = 1.0,
        priors: Priors = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.bins = bins
        self.strategy = strategy
        self.alpha = alpha
        self.priors = priors
        self.class_weight = class_weight

    def spec(self) -> JointHistogramSpec:
        return JointHistogramSpec(**self.settings(JointHistogramSpec))

    bin_edges_ = property(bin_edges)

    @property
    def n_cells_(self) -> int:
        """The number of cells, B^d."""
        codes = self.fitted("n_cells_").statistic.axes.codes
        assert isinstance(codes, JointBins)
        return int(codes.possible)

    @property
    def n_occupied_(self) -> int:
        """The number of cells that have had at least one row."""
        codes = self.fitted("n_occupied_").statistic.axes.codes
        assert codes is not None
        return codes.size
