"""Decisions by expected cost, from the posteriors of a fitted model.

    decision(x) = argmin_j Σ_k p(k | x) c_kj

The costs are an argument of the decision and not of the fit, so they need no training rows.
Reference: Elkan (2001), The foundations of cost-sensitive learning, IJCAI, 973–978.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.bayes.costs import cost_matrix, least_cost
from verosim.data.adapters import opened_as
from verosim.errors import VerosimError
from verosim.estimators.base import NotFitted, ScoreMixin
from verosim.validate.reject import Reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike
    from sklearn.base import ClassifierMixin

    from verosim.typing import FileOptions, MissingMarks, Source


@checked
def decide(
    model: ScoreMixin | ClassifierMixin,
    X: Source,
    costs: Mapping[tuple[Any, Any], float] | ArrayLike,
    *,
    na: MissingMarks = (),
    read: FileOptions | None = None,
) -> np.ndarray:
    """Decide for the class with the least expected cost.

    Mistakes rarely cost the same: to give a loan that is not paid back costs more than to refuse
    one that would be paid back. The posteriors of the model and the costs give the best decision
    for each row:

        decision(x) = argmin_j Σ_k p(k | x) c_kj

    where p(k | x) is the posterior of class k, and c_kj is the cost of the decision for class j if
    the true class is k. The model stays as it is, and other costs need no new fit. The decisions
    are as good as the posteriors, so use a `Calibrated` model if the posteriors are too extreme.

    Parameters
    ----------
    model : fitted classifier
        A classifier with probabilities: a model or a wrapper of verosim, or another classifier
        with `predict_proba` and `classes_`. Rows that a `Reject` model rejects get its label.
    X : array-like of shape (n, d), sparse matrix or table
        The rows.
    costs : dict, or array-like of shape (C, C)
        A dict maps pairs (true class, predicted class) to costs. A mistake that it does not name
        costs 1, and a right decision costs 0. A matrix has one row per true class and one column
        per predicted class, in the order of `classes_`.
    na : iterable of str, default=()
        Texts that mean "missing" in this table, in addition to those of the fit.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.

    Returns
    -------
    ndarray of shape (n,)
        The decision for each row. Of classes with the same expected cost, it is the first one.

    Raises
    ------
    VerosimError
        If the costs name a class that the model does not have, if a cost is not a finite number,
        or if the model gives no probabilities.

    See Also
    --------
    calibrate : Posteriors that are as reliable as the costs need them.
    reject : No decision for rows that are unusual or unclear.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI, 973–978.

    Examples
    --------
    >>> from verosim import GaussianNB, decide
    >>> model = GaussianNB().fit([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], list("gggbbb"))
    >>> model.predict([[3.0], [3.4]]).tolist()
    ['g', 'g']
    >>> decide(model, [[3.0], [3.4]], {("b", "g"): 5}).tolist()   # to miss a "b" costs 5
    ['g', 'b']
    """
    if not hasattr(model, "predict_proba"):
        raise VerosimError(
            f"The function decide needs a classifier with probabilities; got "
            f"{type(model).__name__}.",
            "Use a generative model, LogisticRegression or a Calibrated model.",
        )
    X = opened_as(X, read)
    if not isinstance(model, ScoreMixin):
        other: Any = model
        classes = np.asarray(other.classes_)
        return classes[least_cost(np.asarray(other.predict_proba(X)), cost_matrix(costs, classes))]
    if not hasattr(model, "classes_"):
        raise NotFitted.of(model)
    matrix = cost_matrix(costs, model.classes_)
    if not isinstance(model, Reject):
        return model.classes_[least_cost(model.predict_proba(X, na=na), matrix)]

    def decided(rule: Any, rows: Any) -> np.ndarray:
        at = least_cost(rule.posterior(rows), matrix)
        return np.where(rule.reasons(rows) == "", at, len(matrix))

    return model.answer(model.evaluate(X, decided, na))
