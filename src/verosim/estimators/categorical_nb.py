"""Naive Bayes for categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verosim.arguments import finite
from verosim.axes import Axes, CappedCategories, Categories
from verosim.cached import cached_property
from verosim.data.readers import CategoryReader, Reader, ValueReader
from verosim.data.schema import Schema
from verosim.densities import Categorical
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.scikit_names import (
    categories,
    category_count,
    category_log_prob,
    class_log_prior,
    n_categories,
)
from verosim.models import Spec
from verosim.stats import Counts

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoricalSpec(Spec):
    """The settings of a model of categories. A cell may have any value."""

    alpha: Any = 1.0
    never: float = 0.0

    reads_values = True
    may_wait = True

    def reader(self, schema: Schema) -> Reader:
        return CategoryReader(schema)

    def reader_of_arrays(self, schema: Schema) -> Reader:
        return ValueReader(schema)

    def plan(self, axes: Axes, source: Any) -> Counts:
        codes: Any = Categories.empty(axes.size("column"))
        schema = source.schema
        if schema is not None and not isinstance(source.reader, ValueReader):
            frequent = tuple(column.frequent for column in schema.used)
            declared = tuple(column.values for column in schema.used)
            caps = (schema.max_categories,) * len(frequent)
            codes = CappedCategories.none_yet(caps, frequent, declared)
        return Counts(axes.with_codes(codes), what="codes")

    @cached_property
    def density(self) -> Categorical:
        finite("never", self.never, least=0, most=1)
        return Categorical(self.pseudo_count(), never=float(self.never))


class CategoricalNB(GenerativeClassifier):
    """Naive Bayes for categories: strings, codes or a mix of values in the cells.

    Use it when every column has a limited number of values, such as colours or postal codes. The
    values need no encoding. The model assumes that the columns are independent within each class.
    The log discriminant of class k is:

        δ_k(x) = log π_k + Σ_j log φ_j(x_j | k),   φ_j(v | k) = (n_jvk + α) / (n_jk + α K_j)

    Here π_k is the prior of class k, n_jvk is the number of rows of class k with the value v in
    column j, n_jk is the number of rows of class k with any value in column j, and K_j is the
    number of distinct values of column j. A value that does not occur in the training rows gets
    the share α / (n_jk + α K_j). Missing values (NaN, None) are skipped at fit, and predictions use
    the values that a row has.

    Parameters
    ----------
    alpha : float or "cv", default=1.0
        The pseudo-count α that is added to the count of every value. With 0, a value that a class
        never had gets the share `never`. "cv" chooses α by the log-loss on held-out rows, see
        `alpha_`.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    never : float, default=0.0
        With `alpha=0`, the share of a value that a class never had. Zero gives the estimate of
        maximum likelihood: the value has probability 0 in that class. R's e1071 uses 0.001.
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
    class_log_prior_ : ndarray of shape (C,)
        log π_k, the logarithms of the priors.
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    categories_ : list of list
        The values of each column, sorted.
    n_categories_ : ndarray of shape (d,)
        The number of values of each column.
    category_count_ : list of ndarray of shape (C, K_j)
        For each column, the weight of the rows of each class with each value, in the order of
        `categories_`.
    feature_log_prob_ : list of ndarray of shape (C, K_j)
        For each column, log φ_j(v | k) of each value, in the order of `categories_`.
    n_parameters_ : int
        The number of free parameters: C (K_j − 1) for each column, and C − 1 priors if they are
        estimated.
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
    NaiveBayes : For tables that also have numbers, dates and texts.
    BernoulliNB : For columns that are present or absent.

    References
    ----------
    Mitchell (1997), Machine Learning, §6.9, McGraw-Hill.

    Examples
    --------
    >>> model = CategoricalNB().fit([["red", 1], ["red", 2], ["blue", 2]], ["a", "a", "b"])
    >>> model.predict([["blue", 2], ["green", None]]).tolist()
    ['b', 'a']
    """

    def __init__(
        self,
        alpha: float | Literal["cv"] = 1.0,
        priors: Priors = None,
        never: float = 0.0,
        class_weight: ClassWeight = None,
    ) -> None:
        self.alpha = alpha
        self.priors = priors
        self.never = never
        self.class_weight = class_weight

    def spec(self) -> CategoricalSpec:
        return CategoricalSpec(**self.settings(CategoricalSpec))

    class_log_prior_ = property(class_log_prior)
    categories_ = property(categories)
    n_categories_ = property(n_categories)
    category_count_ = property(category_count)
    feature_log_prob_ = property(category_log_prob)
