"""The Bayesian information criterion of a fitted model.

    BIC = − 2 log p(x, y) + parameters · log n, computed from the statistics

Reference: Schwarz (1978), Estimating the dimension of a model.
"""

from __future__ import annotations

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.density_method import check_density
from verosim.stats.hollow import check_has_sums


@checked
def bic(model: GenerativeClassifier) -> float:
    """Bayesian information criterion of a fitted model, computed from its statistic.

        BIC = − 2 log p(x, y) + p log n

    where log p(x, y) is the log-likelihood of the training rows and their labels, p is the number
    of free parameters and n is the sum of the weights of the rows. A lower value is better. No rows
    are read.

    Parameters
    ----------
    model : generative classifier
        A fitted generative classifier of verosim.

    Returns
    -------
    float
        The BIC.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model, Annals of Statistics 6, 461–464.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, bic
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(bic(model.fit(X, y)), 1) for model in (LDA(), QDA())]
    [646.7, 597.2]
    """
    if not isinstance(model, GenerativeClassifier):
        raise VerosimError(
            f"A BIC needs a generative classifier of verosim; got {type(model).__name__}.",
            "Use a model such as LDA().fit(X, y).",
        )
    state = model.checked_state()
    check_has_sums(state.statistic, "bic")
    check_density(state.spec, "bic", "Compare models by held-out scores: cross_validate.")
    there = model.class_count_ > 0
    log_x = state.params.generative.log_likelihood(state.current)[there].sum()
    log_y = (model.class_count_ * state.rule.log_prior)[there].sum()
    n = float(model.class_count_.sum())
    return float(-2 * (log_x + log_y) + model.n_parameters_ * np.log(n))
