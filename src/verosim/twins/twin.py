"""The discriminative twin of a generative model: logistic regression on the same features.

    p(k | x) ∝ exp(w_kᵀφ(x) + b_k)

It begins as the model itself, whose weights on φ are known in closed form, so both give the same
posteriors; `fit` then moves the weights to where they tell the classes apart best.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from verosim.axes import Columns
from verosim.bayes.rule import Decision
from verosim.data.batch import Batch
from verosim.data.labels import check_known, positions
from verosim.data.stream import TableSource
from verosim.densities import ClassScores, Expansion, Params
from verosim.densities.base import into
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, NotFitted, ScoreMixin
from verosim.folds import inputs_of
from verosim.models import open_rows
from verosim.twins.logistic import LogisticRegression
from verosim.twins.training_rows import check_two_classes


@dataclass(frozen=True)
class FeatureScores(ClassScores):
    """Scores linear in the features of a row."""

    params: Params  # of the generative model, which reads the rows
    by: Expansion
    coef: np.ndarray  # (C, F)
    bias: np.ndarray  # (C,)

    def read(self, rows: Any) -> Any:
        return self.params.read(rows)

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        features = self.by.features(block)
        out = into(out, (features.shape[0], len(self.bias)))
        out[...] = features @ self.coef.T
        out += self.bias
        return out

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        if not np.isfinite(scores).all():
            self.params.check(block, self.params.log_density(block), columns, start)


class Twin(ScoreMixin, ClassifierMixin, BaseEstimator):
    """Logistic regression on the features in which a generative model is linear.

    φ(x) is x for LDA and NaiveLDA, x and x² for GaussianNB, x and all products for QDA and RDA,
    indicators of values or bins for CategoricalNB and HistogramNB, amounts for the naive Bayes of
    counts and texts, and all of these side by side for NaiveBayes on a table. It reads whatever
    the model reads, but for missing cells under full covariances. A feature that no row of `fit`
    has, such as that of a value never seen, keeps the model's weight. Made by :func:`twin`.

    Parameters
    ----------
    model : a generative classifier; one that is not fitted yet is fitted by `fit`
    C : weight of the rows against the penalty on the weights, each in the unit of its feature;
        `inf` for none
    solver : as in :class:`LogisticRegression`

    Attributes
    ----------
    coef_, intercept_ : (C, F) and (C,), of two classes (1, F) and (1,): weights on the features.
        Those of LDA and NaiveLDA are weights of x itself
    features_ : the names of the features
    model_ : the generative model
    """

    model_: GenerativeClassifier
    logistic_: LogisticRegression
    _by: Expansion
    _decision: Decision

    def __init__(self, model: GenerativeClassifier, C: float = 1.0, solver: str = "auto") -> None:
        self.model = model
        self.C = C
        self.solver = solver

    # Learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the weights from the model's to those that tell the classes of these rows apart.

        X, y and sample_weight are what the model takes: arrays, or a table and its target's name.
        """
        check_has_twin(self.model)
        model = self.model
        if not model.__sklearn_is_fitted__():
            model = clone(model).fit(X, y, sample_weight)
        self.start_from(model)
        model.check_columns(X)
        features, codes, weights = self._features(X, y, sample_weight)
        check_two_classes("Twin", codes, self.model_.classes_)
        # Features that no row has keep the weights of the model.
        met = _met(features)
        start, whole = self.logistic_, self.logistic_.coef_
        rows = features if len(met) == features.shape[1] else features[:, met]
        logistic = self._regression(np.unique(codes), whole[:, met], start.intercept_)
        logistic.fit(rows, codes, weights if len(weights) else None)
        coef = np.zeros((len(logistic.coef_), features.shape[1]))
        if len(coef) == len(whole):
            coef[:] = whole
        coef[:, met] = logistic.coef_
        return self._take(coef, logistic.intercept_, logistic)

    def start_from(self, model: GenerativeClassifier) -> Self:
        """The model itself, as weights on its features."""
        state = model.checked_state()
        rule = state.rule
        self.model_, self._by = model, rule.params.expansion(state.current)
        if not np.isfinite(rule.log_prior).all():
            lost = model.classes_[~np.isfinite(rule.log_prior)][0]
            raise VerosimError(
                f"Class {lost!r} has no rows or a prior of zero, so it has no finite weights.",
                "fit the model on rows of every class.",
            )
        coef, bias = self._by.coef * self._by.scale, self._by.bias + rule.log_prior
        if len(coef) == 2:
            coef, bias = coef[1:] - coef[:1], bias[1:] - bias[:1]
        else:  # only differences count
            coef, bias = coef - coef.mean(axis=0), bias - bias.mean()
        return self._take(coef, bias, self._regression(np.arange(len(model.classes_)), coef, bias))

    def _regression(
        self, classes: np.ndarray, coef: np.ndarray, bias: np.ndarray
    ) -> LogisticRegression:
        """A regression that has these weights, and starts from them."""
        start = LogisticRegression(self.C, self.solver, warm_start=True)
        return start.set_weights(classes, Columns(coef.shape[1]), np.ascontiguousarray(coef), bias)

    def _take(self, coef: np.ndarray, bias: np.ndarray, logistic: LogisticRegression) -> Self:
        """Weights on the features in units of their scale, and where they come from."""
        self.logistic_ = logistic
        self.classes_ = self.model_.classes_[logistic.classes_]
        coef = coef / self._by.scale
        self.coef_, self.intercept_ = coef, self._by.at_zero(coef, bias)
        if len(coef) == 1:
            coef, bias = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, bias)
        rule = self.model_.state_.rule
        scores = FeatureScores(rule.params, self._by, coef, bias)
        self._decision = Decision(np.zeros(len(self.classes_)), scores, rule.columns)
        return self

    def _features(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """(n, F) features in units of their scale, (n,) class numbers and weights."""
        state = self.model_.checked_state()
        read, classes = state.params.read, state.classes
        opened = open_rows(state.spec, inputs_of(X, y, sample_weight), state)
        source, plan = opened.source, opened.plan

        def expand(batch: Batch) -> tuple[Any, np.ndarray, np.ndarray]:
            found = self._by.features(read(batch.block))
            unit = 1 / self._by.scale
            found = found.multiply(unit).tocsr() if sparse.issparse(found) else found * unit
            codes = batch.groups
            if batch.labels is not None:
                check_known(batch.labels, classes)
                codes = positions(batch.labels, classes)[codes]
            return found, codes, batch.weights

        if isinstance(source, TableSource):
            parts = list(map_chunks(lambda chunk: expand(chunk.batch()), source))
        else:
            check_known(plan.axes.groups.classes, classes)
            parts = [expand(batch) for batch in source.batches()]
        features, codes, weights = zip(*parts, strict=True)
        stack = sparse.vstack(features, "csr") if sparse.issparse(features[0]) else (
            features[0] if len(features) == 1 else np.concatenate(features)
        )  # fmt: skip
        return stack, np.concatenate(codes), np.concatenate(weights)

    # Predicting ------------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Decision, Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        return self._decision, self.model_.opened_to_score(X)[1]

    def __sklearn_is_fitted__(self) -> bool:
        return "_decision" in vars(self)

    @property
    def features_(self) -> tuple[str, ...]:
        return self._by.names

    @property
    def n_features_in_(self) -> int:
        return self.model_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        return self.model_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.model.__sklearn_tags__().input_tags
        tags.classifier_tags.poor_score = self.model.__sklearn_tags__().classifier_tags.poor_score
        return tags


def _met(features: Any) -> np.ndarray:
    """The features that some row has."""
    if sparse.issparse(features):
        return np.flatnonzero(np.bincount(features.indices, features.data != 0, features.shape[1]))
    return np.flatnonzero(features.any(axis=0))


def twin(model: GenerativeClassifier, C: float = 1.0, solver: str = "auto") -> Twin:
    """The discriminative counterpart of a fitted generative model.

    It starts as the model: the same posteriors, as weights on the features in which the model is
    linear. `fit` on rows then makes it logistic regression on those features. For LDA the weights
    are the closed form a = Σ⁻¹(μ₁ − μ₀), b = ½(μ₀ᵀΣ⁻¹μ₀ − μ₁ᵀΣ⁻¹μ₁) + log(π₁/π₀).

    Parameters
    ----------
    model : a fitted generative classifier
    C, solver : as in :class:`LogisticRegression`; the penalty acts on weights in units of their
        features' deviations

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import LDA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LDA().fit(X[::2], y[::2])
    >>> other = twin(model)
    >>> bool(np.allclose(other.coef_, model.coef_))
    True
    >>> other.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > model.score(X[1::2], y[1::2])
    True
    """
    check_has_twin(model)
    model.checked_state()
    return Twin(model, C, solver).start_from(model)


def check_has_twin(model: Any) -> None:
    if not isinstance(model, GenerativeClassifier):
        what = model.__name__ if isinstance(model, type) else type(model).__name__
        raise VerosimError(
            f"{what} is no generative classifier of verosim, so it has no discriminative twin.",
            "LDA().fit(X, y), for one.",
        )
