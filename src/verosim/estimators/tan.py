"""TAN: every column depends on the class and on one other column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from verosim.densities.dependence import spanning_tree
from verosim.estimators.coded import CodedClassifier
from verosim.estimators.contexts import ContextSpec, named_parents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verosim.models.structure import ChooseParents
    from verosim.typing import ClassWeight, ColumnKind, Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeSpec(ContextSpec):
    """The settings of TAN."""

    @property
    def structure_key(self) -> str:
        return f"{super().structure_key}, tree"

    @property
    def parents(self) -> ChooseParents:
        return spanning_tree


class TAN(CodedClassifier):
    """Tree-augmented naive Bayes: every column depends on the class and on one other column.

    The parents form a tree: the spanning tree of the columns with the largest sum of
    I(x_i; x_j | y), the information that two columns share within the classes. The root is the
    column with the most information about the class. The model is a product of shares:

        p(x | k) = p(x_root | k) Π_j p(x_j | k, parent of j)

    Here k is the class, and x_j the bin or category of column j. Numbers are put into bins. A
    missing value is a value of its own. Bins and tree are chosen before the rows are counted, by
    one more pass over the rows, and they are kept in `schema_`.

    Parameters
    ----------
    bins : int, "mdl" or "auto", default="auto"
        How numbers are put into bins. A number gives bins of about equal weight. "mdl" cuts where
        the classes separate, by minimum description length (Fayyad & Irani 1993). "auto" uses
        "mdl" with 1,000 rows or more, and 5 bins of equal weight with fewer rows, or if "mdl" makes
        too many bins for the counts of pairs.
    smoothing : {"backoff", "laplace"}, default="backoff"
        "backoff" smooths the share with the parent towards the share without it:
        (N(x, k, c) + m p(x | k)) / (N(k, c) + m). "laplace" uses
        (N(x, k, c) + alpha) / (N(k, c) + alpha B), where B is the number of values of the column.
    m : float, default=20.0
        How many rows the share without the parent counts for. Only for "backoff".
    alpha : float or "cv", default=1.0
        The pseudo-count of every value. "cv" chooses it by the log-loss on held-out rows, see
        `alpha_`. Only for "laplace".
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
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    parents_ : dict
        The names of the parents of each column, most informative first.
    n_parameters_ : int
        The number of free parameters: one less than the values of a column, for each
        class and value of its parent, and C − 1 priors if they are
        estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read, with its bins and its parent.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    KDB : Up to five parents per column.
    AODE : An average over models in which all columns have the same parent.
    NaiveBayes : Independent columns, with Gaussian densities for numbers.

    References
    ----------
    Friedman, Geiger & Goldszmidt (1997), Bayesian network classifiers, Machine Learning 29,
    131–163.

    Chow & Liu (1968), Approximating discrete probability distributions with dependence trees, IEEE
    Transactions on Information Theory 14, 462–467.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import TAN
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = TAN().fit(X, y)
    >>> model.score(X, y) > 0.94
    True
    >>> [name for name, parents in model.parents_.items() if not parents]
    ['petal width (cm)']
    """

    def __init__(
        self,
        bins: int | Literal["mdl", "auto"] = "auto",
        smoothing: Literal["backoff", "laplace"] = "backoff",
        m: float = 20.0,
        alpha: float | Literal["cv"] = 1.0,
        columns: Literal["auto", "gaussian", "histogram"] | Mapping[str, ColumnKind] = "auto",
        priors: Priors = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.bins = bins
        self.smoothing = smoothing
        self.m = m
        self.alpha = alpha
        self.columns = columns
        self.priors = priors
        self.class_weight = class_weight

    def spec(self) -> TreeSpec:
        return TreeSpec(**self.settings(TreeSpec))

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The names of the parents of each column, most informative first."""
        return named_parents(self.fitted("parents_"))
