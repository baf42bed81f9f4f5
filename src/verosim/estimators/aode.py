"""AODE: averaged one-dependence estimators for tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.densities.one_dependence import OneDependence
from verosim.estimators.coded import CodedClassifier, CodedSpec
from verosim.stats import Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verosim.typing import ClassWeight, ColumnKind, Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class OneDependenceSpec(CodedSpec):
    """The settings of AODE."""

    weighted: bool = True

    def plan(self, axes: Axes, source: Any) -> Pairs:
        return Pairs(axes.with_codes(self.codes(source.reader.schema)))

    @cached_property
    def density(self) -> OneDependence:
        return OneDependence(bool(self.weighted))


class AODE(CodedClassifier):
    """Averaged one-dependence estimators: every column is once the parent of all others.

    Naive Bayes assumes that columns are independent within each class. AODE lets every column
    depend on one other column, and averages over the choice of that column. It counts pairs of
    values, so the model is a sum over the rows that can be merged and forgotten:

        p(x | k) = Σ_i v_i p(x_i | k) Π_{j≠i} p(x_j | k, x_i),   v_i ∝ I(x_i; y)

        p(x_j | k, x_i) = (N(k, x_i, x_j) + p(x_j | k)) / (N(k, x_i) + 1)

    Here k is the class, x_i the bin or category of column i, N counts rows, and I(x_i; y) is the
    information of the column about the class. Numbers are put into bins. A missing value is a
    value of its own. Bins are chosen before the rows are counted, and they are kept in `schema_`.
    The memory grows with the square of the number of values of all columns together, and a table
    that needs too much is refused.

    Parameters
    ----------
    bins : int, "mdl" or "auto", default=12
        How numbers are put into bins. A number gives bins of about equal weight. "mdl" cuts where
        the classes separate, by minimum description length (Fayyad & Irani 1993). "auto" uses
        "mdl" with 1,000 rows or more, and 5 bins of equal weight with fewer rows, or if "mdl" makes
        too many bins for the counts of pairs.
    weighted : bool, default=True
        Whether the parents are weighted by their information about the class. False gives all
        parents the same weight.
    columns : {"auto", "gaussian", "histogram"} or dict, default="auto"
        How each column is read, by name: "gaussian", "histogram" and "poisson" are numbers, and
        all of them are put into bins. Others are "category", "boolean", "date", "date+trend" and
        "ignore". A list such as ["S", "M", "L"] is a category with exactly these possible values.
        "auto" chooses by the first rows. Columns of text are not read.
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
    parent_weights_ : dict
        The weight v_i of each column as a parent. The weights sum to 1.
    n_parameters_ : int
        The number of free parameters: those of all pairs of columns, and C − 1 priors if they are
        estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read, with its bins.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    TAN : One parent per column, so that the parents form the best tree.
    KDB : Up to five parents per column.
    NaiveBayes : Independent columns, with Gaussian densities for numbers.

    References
    ----------
    Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators, Machine
    Learning 58, 5–24.

    Jiang & Zhang (2006), Weightily averaged one-dependence estimators, PRICAI 2006, 970–974.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import AODE
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AODE().fit(X, y)
    >>> model.score(X, y) > 0.94
    True
    >>> max(model.parent_weights_, key=model.parent_weights_.get)
    'petal length (cm)'
    """

    def __init__(
        self,
        bins: int | Literal["mdl", "auto"] = 12,
        weighted: bool = True,
        columns: Literal["auto", "gaussian", "histogram"] | Mapping[str, ColumnKind] = "auto",
        priors: Priors = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.bins = bins
        self.weighted = weighted
        self.columns = columns
        self.priors = priors
        self.class_weight = class_weight

    def spec(self) -> OneDependenceSpec:
        return OneDependenceSpec(**self.settings(OneDependenceSpec))

    @property
    def parent_weights_(self) -> dict[str, float]:
        """The weight v_i of each column as a parent, by name."""
        state = self.fitted("parent_weights_")
        weights = np.exp(state.params.log_weight).tolist()
        return dict(zip(state.statistic.axes.columns, weights, strict=True))
