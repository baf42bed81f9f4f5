"""The discriminative twin of a generative model: logistic regression on the same features.

    p(k | x) ∝ exp(w_kᵀφ(x) + b_k)

φ(x) are the features in which the log-densities of the model are linear. The twin starts with the
weights of the model, which are known in closed form, so both give the same posteriors. `fit` then
changes the weights to those that maximise the conditional likelihood of the labels.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from verosim import engines
from verosim.arguments import checked
from verosim.axes import Columns
from verosim.bayes.program import POSTERIOR_OUTPUT, Program
from verosim.bayes.rule import Decision
from verosim.data.adapters import check_not_read_once
from verosim.data.batch import Batch
from verosim.data.clusters import check_is_here
from verosim.data.labels import check_known, positions
from verosim.densities import ClassScores, Expansion, Params
from verosim.densities.attribution import (
    LINEAR,
    Attribution,
    AttributionRequest,
    summed_by_owner,
)
from verosim.densities.base import into
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, NotFitted, ScoreMixin
from verosim.estimators.one_state import reads, snapshot, updates
from verosim.folds import inputs_of
from verosim.models import open_rows
from verosim.models.program import readings_of
from verosim.twins.logistic import LogisticRegression, LogisticSolver
from verosim.twins.training_rows import check_two_classes

if TYPE_CHECKING:
    from verosim.typing import Labels, Source, Weights


@dataclass(frozen=True)
class FeatureScores(ClassScores):
    """Scores that are linear in the features of a row."""

    params: Params  # of the generative model, which also reads the rows
    by: Expansion
    coef: np.ndarray  # (C, F)
    bias: np.ndarray  # (C,)
    mean: np.ndarray  # (F,) of the features of the training rows; 0 before the twin is fitted

    has_attribution: ClassVar[bool] = True

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The parts w_kf (φ_f(x) − mean of φ_f), added by column.

        Half of the part of a product of two columns belongs to each of them.
        """
        features, columns = self.by.features(block), self.by.columns_of  # (n, F), (F, 2)
        F, d = len(columns), 1 + int(columns.max(initial=-1))
        halves = np.full(2 * F, 0.5)
        places = (np.tile(np.arange(F), 2), columns.T.ravel())
        to_column = sparse.csr_matrix((halves, places), shape=(F, d))
        parts = np.empty((features.shape[0], len(self.coef), d))
        for k, coef in enumerate(self.coef):
            weights = to_column.multiply(coef[:, None]).tocsr()  # (F, d)
            found = features @ weights
            parts[:, k] = (found.toarray() if sparse.issparse(found) else found) - (
                self.mean @ weights
            )
        level = self.bias + self.coef @ self.mean
        return Attribution(summed_by_owner(parts, request.owner), LINEAR, prior=level)

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

    The twin and the model have posteriors of the same form:

        p(k | x) ∝ exp(w_kᵀφ(x) + b_k)

    where φ(x) are the features, w_k are the weights and b_k is the intercept of class k. The
    features depend on the model. They are x for LDA and NaiveLDA; x and x² for GaussianNB; x and
    all products of two columns for QDA and RDA; indicators of values or bins for CategoricalNB and
    HistogramNB; and counts for the naive Bayes models of counts and texts. NaiveBayes on a table
    uses the features of all its columns together. Models that skip missing values also have an
    indicator of a missing value for each column.

    The twin reads the same rows as the model, except rows with missing values under full
    covariances. A feature that is zero in all training rows keeps the weight of the model.
    :func:`twin` makes a twin that starts with the weights of a fitted model.

    Parameters
    ----------
    model : generative classifier
        A generative classifier of verosim. If it is not fitted, `fit` fits a copy of it.
    C : float, default=1.0
        The inverse strength of the penalty on the weights. A smaller value means a stronger
        penalty, and `inf` means no penalty. Each feature is divided by its scale before.
    solver : {"auto", "newton", "lbfgs", "sgd"}, default="auto"
        The solver of the logistic regression. "newton" uses exact Hessians and "lbfgs" uses
        gradients. "auto" chooses the cheaper of these two. "sgd" is stochastic gradient descent.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_weights), or (1, n_weights) for two classes
        The weights of the features. For LDA and NaiveLDA they are weights of the columns.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        The intercepts.
    features_ : tuple of str
        The names of the features.
    model_ : generative classifier
        The fitted generative model.
    logistic_ : LogisticRegression
        The logistic regression on the scaled features.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import QDA, Twin
    >>> X, y = load_iris(return_X_y=True)
    >>> other = Twin(QDA()).fit(X, y)
    >>> len(other.features_), other.coef_.shape
    (14, (3, 14))
    >>> int((other.predict(X) != y).sum())
    2
    """

    model_: GenerativeClassifier
    logistic_: LogisticRegression
    _by: Expansion
    _decision: Decision

    def __init__(
        self, model: GenerativeClassifier, C: float = 1.0, solver: LogisticSolver = "auto"
    ) -> None:
        self.model = model
        self.C = C
        self.solver = solver

    # Learning ------------------------------------------------------------------------------

    @updates
    def fit(self, X: Source, y: Labels | None = None, sample_weight: Weights | None = None) -> Self:
        """Fit the weights by logistic regression, starting from the weights of the model.

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            The training rows, in a form that the generative model reads.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weights of the rows, or the name of the column of weights. None gives each row the
            weight 1.

        Returns
        -------
        Twin
            The fitted twin itself.
        """
        check_is_here(X, "Twin")
        check_has_twin(self.model)
        model = self.model
        if not model.__sklearn_is_fitted__():
            check_not_read_once(X, "Twin")
            model = clone(model).fit(X, y, sample_weight)
        self.start_from(model)
        model.check_columns(X)
        features, codes, weights = self._features(X, y, sample_weight)
        check_two_classes("Twin", codes, self.model_.classes_)
        # A feature that is zero in all rows keeps the weight of the model.
        met = _met(features)
        start, whole = self.logistic_, self.logistic_.coef_
        rows = features if len(met) == features.shape[1] else features[:, met]
        logistic = self._regression(np.unique(codes), whole[:, met], start.intercept_)
        logistic.fit(rows, codes, weights if len(weights) else None)
        coef = np.zeros((len(logistic.coef_), features.shape[1]))
        if len(coef) == len(whole):
            coef[:] = whole
        coef[:, met] = logistic.coef_
        total = weights if len(weights) else np.ones(len(codes))
        mean = (features.T @ total) / total.sum() * self._by.scale
        return self._take(coef, logistic.intercept_, logistic, mean)

    @updates
    def start_from(self, model: GenerativeClassifier) -> Self:
        """Use the weights of a fitted generative model.

        Parameters
        ----------
        model : generative classifier
            A fitted generative classifier of verosim.

        Returns
        -------
        Twin
            The twin itself, with the posteriors of the model.

        Raises
        ------
        VerosimError
            If a class has no rows or a prior of zero, or if the weights overflow.
        """
        check_has_twin(model)
        model = snapshot(model)  # later updates of the model do not change the twin
        state = model.checked_state()
        rule, self.model_ = state.rule, model
        self._by = rule.params.expansion(state.current)
        if not np.isfinite(rule.log_prior).all():
            lost = model.classes_[~np.isfinite(rule.log_prior)][0]
            raise VerosimError(
                f"Class {lost!r} has no rows or a prior of zero, so it has no finite weights.",
                "Fit the model on rows of each class.",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            coef, bias = self._by.coef * self._by.scale, self._by.bias + rule.log_prior
        if not (np.isfinite(coef).all() and np.isfinite(bias).all()):
            raise VerosimError(
                "The classes are so far apart, in standard deviations, that the weights of the "
                "model overflow.",
                "Scale the columns, or leave out columns that are constant within classes.",
            )
        if len(coef) == 2:
            coef, bias = coef[1:] - coef[:1], bias[1:] - bias[:1]
        else:  # only differences between classes count
            coef, bias = coef - coef.mean(axis=0), bias - bias.mean()
        return self._take(coef, bias, self._regression(np.arange(len(model.classes_)), coef, bias))

    def _regression(
        self, classes: np.ndarray, coef: np.ndarray, bias: np.ndarray
    ) -> LogisticRegression:
        """A logistic regression that has these weights and starts from them."""
        start = LogisticRegression(self.C, self.solver, warm_start=True)
        return start.set_weights(classes, Columns(coef.shape[1]), np.ascontiguousarray(coef), bias)

    def _take(
        self,
        coef: np.ndarray,
        bias: np.ndarray,
        logistic: LogisticRegression,
        mean: np.ndarray | None = None,
    ) -> Self:
        """Store the weights, which are given for the scaled features, and their regression."""
        self.logistic_ = logistic
        self.classes_ = self.model_.classes_[logistic.classes_]
        coef = coef / self._by.scale
        self.coef_, self.intercept_ = coef, self._by.at_zero(coef, bias)
        if len(coef) == 1:
            coef, bias = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, bias)
        rule = self.model_.state_.rule
        mean = np.zeros(coef.shape[1]) if mean is None else mean
        scores = FeatureScores(rule.params, self._by, coef, bias, mean)
        self._decision = Decision(np.zeros(len(self.classes_)), scores, rule.columns)
        return self

    def _features(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """The scaled features, one row per training row, the class numbers and the weights."""
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

        check_known(plan.axes.groups.classes, classes)
        pieces = engines.map(source, lambda chunk: [expand(one) for one in chunk.batches()])
        parts = [part for some in pieces for part in some]
        features, codes, weights = zip(*parts, strict=True)
        stack = sparse.vstack(features, "csr") if sparse.issparse(features[0]) else (
            features[0] if len(features) == 1 else np.concatenate(features)
        )  # fmt: skip
        return stack, np.concatenate(codes), np.concatenate(weights)

    # Predicting ------------------------------------------------------------------------------

    def opened_to_score(self, X: Source) -> tuple[Decision, Any]:
        """Check X and prepare its rows for the decision rule.

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            Rows with the columns of the model.

        Returns
        -------
        decision : Decision
            The decision rule of the twin.
        rows : source
            The rows that the rule scores.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        return self._decision, self.model_.opened_to_score(X)[1]

    @reads
    def program(self) -> Program:
        """Write the posteriors of the twin down as data: readings of cells, and terms.

            log p(k | x) = b_k + w_kᵀφ(x) − a common term

        Returns
        -------
        Program
            The program. Its `evaluate` gives `predict_log_proba`. Its `log_prior` are the
            intercepts b_k.

        Raises
        ------
        VerosimError
            If the model cannot be written as a program.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        scores: Any = self._decision.params
        return Program(
            tuple(self.classes_.tolist()), scores.bias, readings_of(self.model_.checked_state()),
            self._by.terms(scores.coef), POSTERIOR_OUTPUT,
        )  # fmt: skip

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
    """The numbers of the features that are not zero in all rows."""
    if sparse.issparse(features):
        return np.flatnonzero(np.bincount(features.indices, features.data != 0, features.shape[1]))
    return np.flatnonzero(features.any(axis=0))


@checked
def twin(model: GenerativeClassifier, C: float = 1.0, solver: LogisticSolver = "auto") -> Twin:
    """Make the discriminative twin of a fitted generative model.

    The twin is logistic regression on the features in which the model is linear. Before `fit` it
    has the weights of the model, so both give the same posteriors. `fit` then fits the weights
    directly to the labels. For LDA with two classes the first weights are

        a = Σ⁻¹(μ₁ − μ₀),   b = ½(μ₀ᵀΣ⁻¹μ₀ − μ₁ᵀΣ⁻¹μ₁) + log(π₁/π₀)

    where μ₀ and μ₁ are the class means, Σ is the shared covariance and π₀ and π₁ are the priors.

    Parameters
    ----------
    model : generative classifier
        A fitted generative classifier of verosim.
    C : float, default=1.0
        The inverse strength of the penalty on the weights. A smaller value means a stronger
        penalty, and `inf` means no penalty. Each feature is divided by its scale before.
    solver : {"auto", "newton", "lbfgs", "sgd"}, default="auto"
        The solver of the logistic regression. "newton" uses exact Hessians and "lbfgs" uses
        gradients. "auto" chooses the cheaper of these two. "sgd" is stochastic gradient descent.

    Returns
    -------
    Twin
        The twin, with the posteriors of the model.

    Raises
    ------
    VerosimError
        If the model is not a fitted generative classifier of verosim, or if a class has no rows.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

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
    """Raise an error unless the model is a generative classifier."""
    if not isinstance(model, GenerativeClassifier):
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise VerosimError(
            f"A discriminative twin needs a generative classifier of verosim; got {what}.",
            "Use a model such as LDA().fit(X, y).",
        )
