"""Rows without a label teach a generative model too: EM shares them out among the classes.

    E: r_ic = p(c | x_i)            of every unlabelled row
    M: T_c = T_c(labelled) + λ Σ_i r_ic T(x_i),  and the model of T

    ℓ = Σ_labelled log p(x, y) + λ Σ_unlabelled log p(x)

No step lowers ℓ where the estimates maximise the likelihood. Smoothing, floors, shrinkage and
unbiased covariances maximise a penalised one instead: it is that which never falls, and ℓ may, by
a little. Reference: Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and
unlabeled documents using EM, Machine Learning 39; there λ < 1 is EM-λ.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from verosim.densities import Convergence
from verosim.errors import ConvergenceWarning, SingularWarning, VerosimError, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.folds import inputs_of
from verosim.models import derive
from verosim.models.settings import finite
from verosim.validate.partially_labelled import PartiallyLabelled, fit_labelled
from verosim.validate.soft_assignment import SoftStatistic, soft_statistic
from verosim.validate.wrapper import Wrapper, generative

Recorded = list[warnings.WarningMessage]


class SemiSupervised(Wrapper):
    """A generative classifier fitted by EM to rows with and without a label.

    T_c = T_c(labelled) + λ Σ_i p(c | x_i) T(x_i), again and again until the likelihood settles

    It starts from the model of the labelled rows, and every class needs one of them at least.
    Unlabelled rows help where labels are few and the model is about right; where labels are many,
    or the classes are not what the columns cluster by, they can hurt: check on held-out rows. The
    rows are read many times, so a table is held in memory. `ComplementNB` decides by
    scores that are no density: with it this is self-training, and nothing is maximised.

    Parameters
    ----------
    model : any generative classifier of verosim; a copy of it is fitted
    unlabelled : the label of rows without one: −1, "?" or any other; None for labels that are
        missing: None, NaN or an empty text
    weight : λ, what an unlabelled row counts beside a labelled one; 0 leaves them out
    max_iter : most EM iterations
    tol : EM stops when the log-likelihood changes by less, in parts of itself

    Attributes
    ----------
    model_ : the fitted classifier, with all it can do
    convergence_ : iterations, whether it converged, and the log-likelihood: that of the model of
        the labelled rows, then of the model after every iteration. The first does not know the
        words or categories that only unlabelled rows show, so with those the two do not compare.
    n_iter_ : how often the rows were scored, once more than there were iterations

    References
    ----------
    Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled
    documents using EM, Machine Learning 39.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> few = [-1 if i % 10 else int(label) for i, label in enumerate(y)]  # five labels a class
    >>> model = SemiSupervised(LDA()).fit(X, few)
    >>> model.convergence_.converged, int((model.predict(X) != y).sum())
    (True, 3)
    """

    def __init__(
        self,
        model: Any,
        unlabelled: Any = -1,
        weight: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.model = model
        self.unlabelled = unlabelled
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, schema: Any = None, na: Any = ()
    ) -> Self:
        """Fit as the model does; rows whose label is `unlabelled` have none.

        Parameters
        ----------
        X, y, sample_weight, schema, na : as the model's own `fit` takes them; y may name the
            target column of a table
        """
        finite("weight", self.weight, least=0)
        finite("max_iter", self.max_iter, least=0)
        finite("tol", self.tol, least=0)
        if isinstance(self.model, Wrapper):
            raise VerosimError(
                f"SemiSupervised needs a generative classifier, not {type(self.model).__name__}.",
                "wrap the model inside: SemiSupervised(model).",
            )
        model: GenerativeClassifier = clone(generative(self.model, "SemiSupervised"))
        model.spec().check_updates("SemiSupervised")
        with warnings.catch_warnings(record=True, action="always") as first:
            inputs = inputs_of(X, y, sample_weight, schema, na)
            rows = fit_labelled(model, inputs, self.unlabelled)
        convergence, last = self._climb(model, rows)
        if convergence.iterations:  # the covariances of the first model are not used any more
            first = [one for one in first if not issubclass(one.category, SingularWarning)]
        for one in (*first, *last):
            warn(str(one.message), one.category)
        if not convergence.converged:
            warn(
                f"EM stopped after {self.max_iter} iterations, before the log-likelihood had "
                f"settled to {self.tol:g} of itself. Raise max_iter, or tol.",
                ConvergenceWarning,
            )
        self.model_, self.convergence_ = model, convergence
        self.n_iter_ = len(convergence.log_likelihood)
        return self

    def _climb(
        self, model: GenerativeClassifier, rows: PartiallyLabelled
    ) -> tuple[Convergence, Recorded]:
        """Iterate EM from the model of the labelled rows, in place; its convergence, and the
        warnings of the last estimate."""
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
                return Convergence(len(history) - 1, converged, np.array(history)), last
            if summed is None:
                summed = soft_statistic(labelled.zero(), rows.blocks, spec.reads_values)
            share[hidden] = np.exp(log_posterior[hidden]) * weights[hidden, None]
            with warnings.catch_warnings(record=True, action="always") as last:
                statistic = (labelled + summed(share)).recentred()
                state = derive(spec, statistic, state.schema, state.tuned)

    def rule_of(self, rule: Any) -> Any:
        return rule

    def _settled(self, history: list[float], total: float) -> bool:
        if len(history) < 2:
            return False
        return abs(history[-1] - history[-2]) <= self.tol * max(abs(history[-1]), total)
