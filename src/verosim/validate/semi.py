"""A generative model can also use rows without a label, by the EM algorithm.

    E step   r_ik = p(k | x_i)                             for each unlabelled row
    M step   T_k = T_k(labelled) + λ Σ_i r_ik T(x_i),      then the model of T

    ℓ = Σ_labelled log p(x, y) + λ Σ_unlabelled log p(x)

T is the statistic and λ is the weight of unlabelled rows. If the estimates maximise the likelihood,
no iteration lowers ℓ. Smoothing, floors, shrinkage and unbiased covariances maximise a penalised
likelihood, so ℓ itself can decrease a little. Reference: Nigam, McCallum, Thrun & Mitchell (2000),
Text classification from labeled and unlabeled documents using EM, Machine Learning 39 (λ < 1 is
called EM-λ there).
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import clone

from verosim.arguments import finite
from verosim.data.adapters import opened_as
from verosim.data.clusters import check_is_here
from verosim.densities import Convergence
from verosim.errors import ConvergenceWarning, SingularWarning, VerosimError, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.density_method import check_density
from verosim.estimators.one_state import updates
from verosim.folds import inputs_of
from verosim.models import derive
from verosim.validate.partially_labelled import PartiallyLabelled, fit_labelled
from verosim.validate.soft_assignment import SoftStatistic, soft_statistic
from verosim.validate.wrapper import Wrapper, generative

if TYPE_CHECKING:
    from verosim.bayes.rule import Rule
    from verosim.data.schema import Schema
    from verosim.typing import FileOptions, Labels, MissingMarks, Source, Weights

# The rounding error of a log-likelihood, relative to its size.
RELATIVE_ROUNDING = 1e-9

Recorded = list[warnings.WarningMessage]


class SemiSupervised(Wrapper):
    """A generative classifier, fitted by EM to rows with and without a label.

    EM starts with the model of the labelled rows and repeats this step until the likelihood
    converges:

        T_k = T_k(labelled) + λ Σ_i p(k | x_i) T(x_i)

    where T_k is the statistic of class k, x_i are the unlabelled rows, p(k | x_i) is the posterior
    by the current model, and λ is the parameter `weight`. Each class needs at least one labelled
    row.

    Unlabelled rows help if there are few labels and the model describes the data well. If there are
    many labels, or if the classes are not clusters of rows, they can make the model worse: compare
    on held-out rows. All rows are kept in memory, because they are read many times. `ComplementNB`
    has no density, so with it EM is a form of self-training without a likelihood to maximise.

    Parameters
    ----------
    model : GenerativeClassifier
        The model, fitted or not. A copy of it is fitted.
    unlabelled : object, default=-1
        The label that marks rows without a label, such as −1 or "?". Rows with a missing label
        (None, NaN or an empty text) have no label either. None marks only these. Use None, or
        another mark, if −1 is a class. In an array whose labels are all −1 or 1, −1 is a class, and
        `fit` warns.
    weight : float, default=1.0
        λ, the weight of an unlabelled row. A labelled row has the weight 1. The value 0 ignores
        the unlabelled rows.
    max_iter : int, default=100
        The largest number of EM iterations.
    tol : float, default=1e-06
        EM stops when the relative change of the log-likelihood is at most this value.

    Attributes
    ----------
    model_ : GenerativeClassifier
        The fitted classifier, with all its methods.
    convergence_ : Convergence
        The number of iterations, whether EM converged, and the log-likelihood of the model of the
        labelled rows and of the model after each iteration. Its field `regularised` is True if an
        iteration lowered it, which smoothing and shrinkage can do. If some words or categories
        occur only in unlabelled rows, the first value cannot be compared with the others.
    n_iter_ : int
        The number of times that the rows were scored: the number of iterations plus one.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had column names that are texts.

    References
    ----------
    Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled
    documents using EM, Machine Learning 39.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> few = [-1 if i % 10 else int(k) for i, k in enumerate(y)]  # five labels per class
    >>> model = SemiSupervised(LDA()).fit(X, few)
    >>> model.convergence_.converged, int((model.predict(X) != y).sum())
    (True, 3)
    """

    def __init__(
        self,
        model: GenerativeClassifier,
        unlabelled: Hashable = -1,
        weight: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.model = model
        self.unlabelled = unlabelled
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol

    @updates
    def fit(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> Self:
        """Fit the model to all rows; rows with the label `unlabelled` have no label.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
            to a file or a folder, or an iterable of tables.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. None uses the target of
            `schema`.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
        schema : Schema or None, default=None
            The kinds of the columns, from `verosim.look`. None finds them from the table.
        na : iterable of str, default=()
            Texts that mean a missing value in a table, in addition to the empty cell.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        SemiSupervised
            The fitted object itself.
        """
        check_is_here(X, "SemiSupervised")
        finite("weight", self.weight, least=0)
        finite("max_iter", self.max_iter, least=0)
        finite("tol", self.tol, least=0)
        if isinstance(self.model, Wrapper):
            raise VerosimError(
                "SemiSupervised needs a generative classifier of verosim; got "
                f"{type(self.model).__name__}.",
                "Use the generative classifier inside the wrapper.",
            )
        model: GenerativeClassifier = clone(generative(self.model, "SemiSupervised"))
        model.spec().check_updates("SemiSupervised")
        check_density(model.spec(), "SemiSupervised", "Use NaiveBayes.")
        with warnings.catch_warnings(record=True, action="always") as first:
            inputs = inputs_of(opened_as(X, read), y, sample_weight, schema, na)
            rows = fit_labelled(model, inputs, self.unlabelled)
        convergence, last = self._climb(model, rows)
        if convergence.iterations:  # the covariances of the first model are not in use
            first = [one for one in first if not issubclass(one.category, SingularWarning)]
        for one in (*first, *last):
            warn(str(one.message), one.category)
        if not convergence.converged:
            warn(
                f"EM stopped after {self.max_iter} iterations, before the relative change of the "
                f"log-likelihood was at most {self.tol:g}. Use a larger max_iter or tol.",
                ConvergenceWarning,
            )
        self.model_, self.convergence_ = model, convergence
        self.n_iter_ = len(convergence.log_likelihood)
        return self

    def _climb(
        self, model: GenerativeClassifier, rows: PartiallyLabelled
    ) -> tuple[Convergence, Recorded]:
        """Run EM on the model of the labelled rows, in place.

        Returns its convergence, and the warnings of the last estimate.
        """
        hidden = rows.codes < 0
        weights = np.where(hidden, self.weight * rows.weights, rows.weights)
        state = model.checked_state()
        labelled, spec = state.current, state.spec
        share = np.zeros((len(hidden), len(model.classes_)))  # (n, C)
        summed: SoftStatistic | None = None
        history: list[float] = []
        last: Recorded = []
        while True:
            log_posterior, log_joint = rows.scored(state)
            log_joint[~hidden] += log_posterior[~hidden, rows.codes[~hidden]]
            history.append(float(weights @ log_joint))
            converged = not weights[hidden].any() or self._settled(history, float(weights.sum()))
            if converged or len(history) > self.max_iter:
                model.set_state(state)
                values = np.array(history)
                fell = np.diff(values[1:]) < -RELATIVE_ROUNDING * np.abs(values[2:])
                # The first value can be that of other words or categories.
                return Convergence(len(values) - 1, converged, values, bool(fell.any())), last
            if summed is None:
                summed = soft_statistic(labelled.zero(), rows.blocks, spec.reads_values)
            share[hidden] = np.exp(log_posterior[hidden]) * weights[hidden, None]
            with warnings.catch_warnings(record=True, action="always") as last:
                statistic = (labelled + summed(share)).recentred()
                state = derive(spec, statistic, state.schema, state.tuned)

    def rule_of(self, rule: Rule) -> Rule:
        """The rule that predicts: that of the model.

        Parameters
        ----------
        rule : Rule
            The rule of the model.

        Returns
        -------
        Rule
            The same rule.
        """
        return rule

    def _settled(self, history: list[float], total: float) -> bool:
        """Whether the last iteration changed the log-likelihood by at most `tol`, relatively."""
        if len(history) < 2:
            return False
        return abs(history[-1] - history[-2]) <= self.tol * max(abs(history[-1]), total)
