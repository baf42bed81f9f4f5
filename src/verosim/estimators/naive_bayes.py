"""Naive Bayes for categories, presence and counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes import Axes, CappedCategories, Categories
from verosim.axes.groups import sorted_labels
from verosim.data import SparseRows
from verosim.data.readers import CategoryReader, Reader, ValueReader
from verosim.data.schema import Schema
from verosim.data.stream import TableSource
from verosim.densities import Bernoulli, Categorical, Complement, Multinomial
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.distance import signed_distance
from verosim.models import Spec
from verosim.models.settings import finite
from verosim.stats import Counts


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoricalSpec(Spec):
    """Categories: any values in the cells."""

    alpha: Any = 1.0

    reads_values = True

    def reader(self, schema: Schema) -> Reader:
        return CategoryReader(schema)

    def reader_of_arrays(self, schema: Schema) -> Reader:
        return ValueReader(schema)

    def plan(self, axes: Axes, source: Any) -> Counts:
        codes: Any = Categories.empty(axes.size("column"))
        if isinstance(source, TableSource):
            schema = source.reader.schema
            frequent = tuple(column.frequent for column in schema.used)
            codes = CappedCategories.none_yet((schema.max_categories,) * len(frequent), frequent)
        return Counts(axes.with_codes(codes), what="codes")

    @cached_property
    def density(self) -> Categorical:
        return Categorical(self.pseudo_count())


@dataclass(frozen=True, eq=False, kw_only=True)
class BernoulliSpec(Spec):
    """Presence and absence of columns."""

    alpha: Any = 1.0
    binarize: float | None = 0.0

    reads_sparse = True

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"binarize": self.binarize}

    def matrix(self, X: Any, names: Any) -> Any:
        rows = super().matrix(X, names)
        if isinstance(rows, SparseRows) and (self.binarize or 0) < 0:
            raise VerosimError(
                f"binarize={self.binarize:g} makes every zero present; sparse rows store no zeros.",
                "X.toarray(), or a threshold of zero or more.",
            )
        return rows

    def plan(self, axes: Axes, source: Any) -> Counts:
        threshold = 0.0 if self.binarize is None else self.binarize
        finite("binarize", threshold)
        return Counts(axes, what="presence", threshold=float(threshold))

    @cached_property
    def density(self) -> Bernoulli:
        return Bernoulli(self.pseudo_count())


@dataclass(frozen=True, eq=False, kw_only=True)
class MultinomialSpec(Spec):
    """Amounts of columns."""

    alpha: Any = 1.0

    reads_sparse = True

    def plan(self, axes: Axes, source: Any) -> Counts:
        return Counts(axes, what="amount")

    @cached_property
    def density(self) -> Any:
        return Multinomial(self.pseudo_count())


@dataclass(frozen=True, eq=False, kw_only=True)
class ComplementSpec(MultinomialSpec):
    """Amounts, scored by the counts of the other classes."""

    norm: bool = False

    @cached_property
    def density(self) -> Complement:
        return Complement(self.pseudo_count(), self.norm)


class CategoricalNB(GenerativeClassifier):
    """Naive Bayes for categories: codes, strings or any mix of values in the cells.

    φ_ij|k = (n_ijk + α) / (n_ik + α B_i), B_i the number of values column i has shown

    A value never seen at fit gets its smoothed share, α / (n_ik + α B_i). Missing cells (NaN,
    None) are skipped at fit and marginalised at predict.

    Parameters
    ----------
    alpha : pseudo-count of every value; with 0, a value a class never had counts as 0.001;
        or "cv": chosen by held-out log-loss, see `alpha_`
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label

    Examples
    --------
    >>> model = CategoricalNB().fit([["red", 1], ["red", 2], ["blue", 2]], ["a", "a", "b"])
    >>> model.predict([["blue", 2], ["green", None]]).tolist()
    ['b', 'a']
    """

    def __init__(self, alpha: float | str = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> CategoricalSpec:
        return CategoricalSpec(**self.settings(CategoricalSpec))

    @property
    def categories_(self) -> list[list[Any]]:
        """The values seen in every column, sorted."""
        codes = self.fitted("categories_").statistic.axes.codes
        assert isinstance(codes, Categories)
        return [sorted_labels(values) for values in codes.values]


class CountClassifier(GenerativeClassifier):
    """What the classifiers of presence and amounts show; sparse rows are read as they are."""

    counts_only = False  # whether cells must not be negative

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """(C, d) log φ."""
        return self.fitted("feature_log_prob_").params.log_mass.T

    @property
    def boundary_normals(self) -> np.ndarray:
        """(C, d) the weights of every class, or (1, d) their difference."""
        weights = self.fitted("boundary_normals").params.table.T  # (C, d)
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    signed_distance = signed_distance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.counts_only
        tags.classifier_tags.poor_score = True  # on the continuous blobs of the checks
        return tags


class BernoulliNB(CountClassifier):
    """Naive Bayes for presence and absence; a column that is absent counts too.

    φ_i|k = (n_ik + α) / (n_k + 2α),   log p(x | k) = Σ_i [x_i log φ_i|k + (1 − x_i) log(1 − φ_i|k)]

    Parameters
    ----------
    alpha : pseudo-count; or "cv": chosen by held-out log-loss, see `alpha_`
    binarize : a column is present where it exceeds this; None for data already 0 and 1
    priors : as in :class:`CategoricalNB`

    Examples
    --------
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict([[1, 0]]).tolist()
    ['spam']
    """

    def __init__(
        self, alpha: float | str = 1.0, binarize: float | None = 0.0, priors: Any = None
    ) -> None:
        self.alpha = alpha
        self.binarize = binarize
        self.priors = priors

    def spec(self) -> BernoulliSpec:
        return BernoulliSpec(**self.settings(BernoulliSpec))


def decision_function_once_fitted(model: CountClassifier) -> Any:
    """scikit-learn's check of this method gives an unfitted model negative counts, whatever its
    positive_only tag says; so the method is there only after fit."""
    model.checked_state()
    return super(CountClassifier, model).decision_function


class MultinomialNB(CountClassifier):
    """Naive Bayes for counts, such as tokens: amounts matter, absence does not.

    φ_i|k = (ñ_ik + α) / (ñ_k + αV),   log p(x | k) = Σ_i x_i log φ_i|k

    p(x | k) is the chance of the row's tokens in their order. `sample` draws the length of a
    row from a Poisson with the class's mean length.

    Examples
    --------
    >>> model = MultinomialNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(self, alpha: float | str = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> MultinomialSpec:
        return MultinomialSpec(**self.settings(MultinomialSpec))

    counts_only = True
    decision_function = property(decision_function_once_fitted)


class ComplementNB(CountClassifier):
    """Complement naive Bayes: each class is judged by the counts of all the others.

    score_k(x) = log π_k − Σ_i x_i log φ̃_i|k,   φ̃ from the rows outside class k

    Steadier than the multinomial when classes differ in size. Decisions, posteriors and
    `log_joint` come from the scores, which are no density; `log_density` and `sample` come from
    the multinomial of the same counts.

    Parameters
    ----------
    alpha : pseudo-count; or "cv": chosen by held-out log-loss, see `alpha_`
    norm : divide each class's weights by their sum
    priors : "uniform" by default, as usual for this model

    References
    ----------
    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers.

    Examples
    --------
    >>> model = ComplementNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self, alpha: float | str = 1.0, norm: bool = False, priors: Any = "uniform"
    ) -> None:
        self.alpha = alpha
        self.norm = norm
        self.priors = priors

    def spec(self) -> ComplementSpec:
        return ComplementSpec(**self.settings(ComplementSpec))

    counts_only = True
    decision_function = property(decision_function_once_fitted)
