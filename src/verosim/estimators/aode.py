"""AODE: averaged one-dependence estimators for tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verosim.axes import Axes
from verosim.densities.dependence import Information, Parents
from verosim.densities.one_dependence import OneDependence
from verosim.estimators.coded import CodedClassifier, CodedSpec
from verosim.kinds.structure import check_pairs
from verosim.stats import Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verosim.typing import ColumnKind, Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class OneDependenceSpec(CodedSpec):
    """The settings of AODE."""

    bins: Any = 12
    weighted: bool = True

    has_parents = False

    @property
    def structure_key(self) -> str:
        return f"bins={self.bins!r}"

    def parents(self, found: Information) -> Parents:
        return ()

    def plan(self, axes: Axes, source: Any) -> Pairs:
        codes = self.codes(source.reader.schema)
        check_pairs(codes, max(len(axes.groups.classes), 1))
        return Pairs(axes.with_codes(codes))

    @cached_property
    def density(self) -> OneDependence:
        return OneDependence(bool(self.weighted))


class AODE(CodedClassifier):
    """Averaged one-dependence estimators: every column is once the parent of all others.

    Naive Bayes assumes that columns are independent within each class. AODE lets every column
    depend on one other column, and averages over the choice of that column. It counts pairs of
    values, so it is still one pass over the rows and a sum that can be merged and forgotten:

        p(k, x) = Σ_i v_i p(k, x_i) Π_{j≠i} p(x_j | k, x_i),   v_i ∝ I(x_i; y)

    Here k is the class, x_i the bin or category of column i, and I(x_i; y) the information of the
    column about the class. p(x_j | k, x_i) = (N(k, x_i, x_j) + p(x_j | k)) / (N(k, x_i) + 1) is the
    share of x_j among the rows of class k with x_i, smoothed. Numbers are put into bins. A missing
    value is a value of its own.

    Parameters
    ----------
    bins : int or "mdl", default=12
        How numbers are put into bins: a number of bins of about equal weight, or "mdl" for cuts
        that separate the classes. Use "mdl" only with about 1,000 rows or more.
    weighted : bool, default=True
        Whether the parents are weighted by their information about the class. False gives all
        parents the same weight.
    columns : {"auto", "gaussian", "histogram"} or dict, default="auto"
        The kind of each column, by name: "gaussian" or "histogram" for a number, "category",
        "boolean", "date" or "ignore". "auto" chooses by the first rows. Columns of text are not
        read.
    priors : array-like of shape (C,), dict, {"laplace", "uniform"} or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses
        (n_k + 1)/(n + C). "uniform" gives all classes the same prior. An array is in the order
        of `classes_`. A dict maps labels to priors.

    References
    ----------
    Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators,
    Machine Learning 58. Jiang & Zhang (2006), Weightily averaged one-dependence estimators, PRICAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import AODE
    >>> X, y = load_iris(return_X_y=True)
    >>> AODE(bins=5).fit(X, y).score(X, y)
    0.96
    """

    def __init__(
        self,
        bins: int | str = 12,
        weighted: bool = True,
        columns: str | Mapping[str, ColumnKind | str] = "auto",
        priors: Priors = None,
    ) -> None:
        self.bins = bins
        self.weighted = weighted
        self.columns = columns
        self.priors = priors

    def spec(self) -> OneDependenceSpec:
        return OneDependenceSpec(**self.settings(OneDependenceSpec))
