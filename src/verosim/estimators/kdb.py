"""KDB and TAN: columns that depend on the class and on a few parent columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verosim.axes import Axes, ContextCodes
from verosim.axes.contexts import MOST_PARENTS
from verosim.densities.context_tables import ContextDensity
from verosim.densities.dependence import Information, Parents, ranked_parents, tree
from verosim.estimators.coded import CodedClassifier, CodedSpec
from verosim.models.settings import finite, one_of, whole
from verosim.stats import Contexts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verosim.typing import ColumnKind, Priors

SMOOTHINGS = ("backoff", "laplace")


@dataclass(frozen=True, eq=False, kw_only=True)
class ContextSpec(CodedSpec):
    """The settings of a model whose columns have parents."""

    smoothing: str = "backoff"
    m: Any = 20.0
    alpha: Any = 1.0

    def plan(self, axes: Axes, source: Any) -> Contexts:
        schema = source.reader.schema
        parents = self.structure(schema).parents
        return Contexts(axes.with_codes(ContextCodes(self.codes(schema), parents)))

    @cached_property
    def density(self) -> ContextDensity:
        one_of("smoothing", self.smoothing, SMOOTHINGS)
        finite("m", self.m, least=0)
        return ContextDensity(self.smoothing, float(self.m), self.pseudo_count())


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedSpec(ContextSpec):
    """The settings of KDB."""

    k: Any = 1

    @property
    def structure_key(self) -> str:
        return f"bins={self.bins!r}, k={self.k!r}"

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {**super().statistic_settings, "k": self.k}

    def parents(self, found: Information) -> Parents:
        whole("k", self.k, 0, MOST_PARENTS)
        return ranked_parents(found, int(self.k))


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeSpec(ContextSpec):
    """The settings of TAN."""

    @property
    def structure_key(self) -> str:
        return f"bins={self.bins!r}, tree"

    def parents(self, found: Information) -> Parents:
        return tree(found)


class KDB(CodedClassifier):
    """k-dependence Bayes: every column depends on the class and on at most k other columns.

    Columns are ordered by their information about the class, I(x; y). The parents of a column are
    the k columns before it with the largest I(x_i; x_j | y). With k = 0 it is naive Bayes. With
    many rows, k = 3 or 5 finds strong interactions. The model is a product of shares:

        p(x | k) = Π_j p(x_j | k, parents of j)

        p_t(x | k, c_t) = (N(x, k, c_t) + m p_{t−1}(x | k, c_{t−1})) / (N(k, c_t) + m)

    c_t are the values of the first t parents, and N counts rows. So a combination of parents that
    few rows have takes its share from fewer parents. Numbers are put into bins. A missing value is
    a value of its own.

    Parameters
    ----------
    k : int, default=1
        The largest number of parents, from 0 to 5.
    bins : int or "mdl", default="mdl"
        How numbers are put into bins: a number of bins of about equal weight, or "mdl" for cuts
        that separate the classes. Use a number with fewer than about 1,000 rows.
    smoothing : {"backoff", "laplace"}, default="backoff"
        "backoff" smooths towards the share with one parent fewer, as above. "laplace" uses
        (N(x, k, c) + alpha) / (N(k, c) + alpha B), where B is the number of values of the column.
    m : float, default=20.0
        How many rows the share with one parent fewer counts for. Only for "backoff".
    alpha : float, default=1.0
        The pseudo-count of every value. Only for "laplace".
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
    Sahami (1996), Learning limited dependence Bayesian classifiers, KDD. Martínez, Webb, Chen &
    Zaidi (2016), Scalable learning of Bayesian network classifiers, JMLR 17.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import KDB
    >>> X, y = load_iris(return_X_y=True)
    >>> KDB(k=1, bins=5).fit(X, y).score(X, y)
    0.96
    """

    def __init__(
        self,
        k: int = 1,
        bins: int | str = "mdl",
        smoothing: Literal["backoff", "laplace"] = "backoff",
        m: float = 20.0,
        alpha: float = 1.0,
        columns: str | Mapping[str, ColumnKind | str] = "auto",
        priors: Priors = None,
    ) -> None:
        self.k = k
        self.bins = bins
        self.smoothing = smoothing
        self.m = m
        self.alpha = alpha
        self.columns = columns
        self.priors = priors

    def spec(self) -> RankedSpec:
        return RankedSpec(**self.settings(RankedSpec))


class TAN(CodedClassifier):
    """Tree-augmented naive Bayes: every column depends on the class and on one other column.

    The parents form a tree: the spanning tree of the columns with the largest sum of
    I(x_i; x_j | y), the information that two columns share within the classes. The model is a
    product of shares:

        p(x | k) = p(x_root | k) Π_j p(x_j | k, parent of j)

    Numbers are put into bins. A missing value is a value of its own.

    Parameters
    ----------
    bins : int or "mdl", default="mdl"
        How numbers are put into bins: a number of bins of about equal weight, or "mdl" for cuts
        that separate the classes. Use a number with fewer than about 1,000 rows.
    smoothing : {"backoff", "laplace"}, default="backoff"
        "backoff" smooths the share with the parent towards the share without it:
        (N(x, k, c) + m p(x | k)) / (N(k, c) + m). "laplace" uses
        (N(x, k, c) + alpha) / (N(k, c) + alpha B), where B is the number of values of the column.
    m : float, default=20.0
        How many rows the share without the parent counts for. Only for "backoff".
    alpha : float, default=1.0
        The pseudo-count of every value. Only for "laplace".
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
    Friedman, Geiger & Goldszmidt (1997), Bayesian network classifiers, Machine Learning 29.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import TAN
    >>> X, y = load_iris(return_X_y=True)
    >>> TAN(bins=5).fit(X, y).score(X, y)
    0.96
    """

    def __init__(
        self,
        bins: int | str = "mdl",
        smoothing: Literal["backoff", "laplace"] = "backoff",
        m: float = 20.0,
        alpha: float = 1.0,
        columns: str | Mapping[str, ColumnKind | str] = "auto",
        priors: Priors = None,
    ) -> None:
        self.bins = bins
        self.smoothing = smoothing
        self.m = m
        self.alpha = alpha
        self.columns = columns
        self.priors = priors

    def spec(self) -> TreeSpec:
        return TreeSpec(**self.settings(TreeSpec))
