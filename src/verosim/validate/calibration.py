"""Over-confident posteriors are calibrated by a map that is fitted on out-of-fold posteriors.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ      one number τ for all
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing          one map for each class
    columns       log p̂(k | x) ∝ b_k + Σ_j w_j log p_j(x_j | k)           one weight for each column

Naive Bayes counts correlated columns as if each were new evidence, so τ is usually below 1. The
maps are in `calibration_maps` and `column_weights`. Reference: Guo, Pleiss, Sun & Weinberger
(2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.folds import first_warning_only
from verosim.folds.evaluation import out_of_fold
from verosim.folds.leave_one_out import leave_one_out
from verosim.models.settings import one_of
from verosim.validate.calibration_maps import Isotonic, Map, Temperature
from verosim.validate.column_weights import ColumnWeights, Evidence, clipped_evidence
from verosim.validate.contributions import held_out_contributions
from verosim.validate.cross_validation import LOO, check_generative, is_leave_one_out
from verosim.validate.reliability import Reliability, reliability
from verosim.validate.wrapper import Training, Wrapper, fit_model

MOST_MAPS = 20  # with more folds, `after_` cross-fits its maps over pooled folds
METHODS: dict[str, type[Temperature] | type[Isotonic] | type[ColumnWeights]] = {
    "temperature": Temperature,
    "isotonic": Isotonic,
    "columns": ColumnWeights,
}


class Calibrated(Wrapper):
    """A classifier whose posteriors are calibrated on out-of-fold rows.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing, by pooling adjacent violators
    columns       log p̂(k | x) ∝ b_k + Σ_j w_j log p_j(x_j | k)

    τ and w minimise the log-loss, the g_k the squared error, of rows out of fold. A temperature
    changes no prediction. Isotonic maps take any shape, need more rows (about a thousand), and may
    change some predictions. Column weights correct the cause: columns that repeat each other share
    one weight, misleading columns get a small one, and predictions improve too. They need a model
    whose log p(x | k) is a sum over columns: `GaussianNB`, `NaiveLDA`, `CategoricalNB`,
    `HistogramNB`, `BernoulliNB`, `NaiveBayes`.

    Parameters
    ----------
    model : a generative classifier, fitted or not; a copy of it is fitted
    cv : folds, as in `cross_validate`; where there are fewer rows, as many folds as rows
    method : "temperature", "isotonic" or "columns"
    bins : number of bins of the reliability curves

    Attributes
    ----------
    model_ : the model fitted on all rows, its own posteriors unchanged
    map_ : the fitted map: `map_.tau` of a temperature, `map_.knots` of isotonic maps,
        `map_.weights` and `map_.offsets` of columns
    before_ : :class:`Reliability` of the out-of-fold posteriors of the model
    after_ : :class:`Reliability` of the same posteriors, calibrated. The map of each fold is
        fitted on the other folds, so it shows what to expect of new rows
    classes_ : (C,) the labels
    n_features_in_ : number of columns of X
    feature_names_in_ : their names, where X has names

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks.
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates.
    Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence
    assumption by attribute weighting.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import Calibrated, GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> weighted = Calibrated(GaussianNB(), method="columns").fit(X, y)
    >>> round(weighted.before_.log_loss, 3), round(weighted.after_.log_loss, 3)
    (0.699, 0.091)
    >>> len(weighted.map_.weights)
    30
    """

    map_: Map
    before_: Reliability
    after_: Reliability

    def __init__(
        self, model: Any, cv: Any = 10, method: str = "temperature", bins: int = 15
    ) -> None:
        self.model = model
        self.cv = cv
        self.method = method
        self.bins = bins

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        schema: Any = None,
        na: Any = (),
    ) -> Self:
        """Fit the model on all rows, and the map on the out-of-fold posteriors.

        Parameters
        ----------
        X, y, sample_weight, schema, na : as the model's own `fit` takes them
        groups : an array or the name of a column: rows of one group share a fold
        """
        one_of("method", self.method, tuple(METHODS))
        training = Training.of(self, X, y, sample_weight, schema, na, groups)
        check_generative(self.model)
        by_columns = self.method == "columns"
        if by_columns:
            _check_columns(self.model, self.cv)
        model = fit_model(self.model, training.inputs)
        held = _held_out_evidence(training) if by_columns else _held_out_posteriors(training)
        fit = METHODS[self.method].fit
        self.before_, self.after_ = (
            reliability(
                held.classes[held.codes], log_proba=log_p, classes=held.classes, bins=self.bins,
                sample_weight=held.weights,
            )
            for log_p in (held.log_p, _cross_fitted(fit, held))
        )  # fmt: skip
        self.map_ = fit(held.scores, held.codes, held.weights)
        self.model_ = model
        return self

    def rule_of(self, rule: Rule) -> Rule:
        return self.map_.rule(rule)


class _HeldOut(NamedTuple):
    """Rows out of fold; rows of zero weight are left out."""

    scores: Any  # what a map is fitted on: posteriors, or the contributions of columns
    log_p: np.ndarray  # (n, C) posteriors of the model
    codes: np.ndarray  # (n,) the class of each row
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    classes: np.ndarray  # (C,)


def _held_out_posteriors(training: Training) -> _HeldOut:
    if is_leave_one_out(training.cv, training.groups):
        with first_warning_only():
            found = leave_one_out(training.spec, training.inputs)
    else:
        found, _ = out_of_fold(training.engine(), lambda rule, rows: rule.log_posterior(rows))
    counted = found.row_weights > 0
    log_p, codes = found.scores[counted], positions(found.labels[counted], found.classes)
    weights, folds = found.row_weights[counted], found.folds[counted]
    return _HeldOut(log_p, log_p, codes, weights, folds, found.classes)


def _held_out_evidence(training: Training) -> _HeldOut:
    engine = training.engine()
    engine.rows.check_partition()
    hint = 'calibrate on a sample of the rows, or method="temperature".'
    with first_warning_only():
        held = held_out_contributions(engine, hint)
    joint = held.log_prior + held.parts.sum(axis=2)
    log_p = joint - logsumexp(joint, axis=1, keepdims=True)
    against = clipped_evidence(held.parts, np.isfinite(held.log_prior))
    evidence = Evidence(against, held.log_prior, held.names)
    return _HeldOut(evidence, log_p, held.own, held.weights, held.folds, held.classes)


def _check_columns(model: Any, cv: Any) -> None:
    spec = model.spec()
    settled = spec.resolved(dict.fromkeys(spec.open_settings, 0.5))
    if not settled.density.has_independent_columns:
        raise VerosimError(
            f"{type(model).__name__} takes its columns together, so none has a weight of its own.",
            'method="temperature" or "isotonic"; or a naive model: GaussianNB(), NaiveBayes() …',
        )
    if isinstance(cv, str) and cv == LOO:
        raise VerosimError(
            'cv="loo" keeps no columns apart, only their sum.', "a number of folds, such as cv=10."
        )


def _cross_fitted(fit: Any, held: _HeldOut) -> np.ndarray:
    """(n, C) every fold's posteriors by a map fitted on the other folds."""
    scores, _, codes, w, folds, _ = held
    count = int(folds.max()) + 1
    parts = folds if count <= MOST_MAPS else folds % MOST_MAPS
    out = np.empty_like(held.log_p)
    for f in np.unique(parts):
        test = parts == f
        out[test] = fit(scores[~test], codes[~test], w[~test])(scores[test])
    return out


def calibrate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    schema: Any = None,
    na: Any = (),
    **settings: Any,
) -> Calibrated:
    """Fit a model and calibrate its posteriors: `Calibrated(clone(model), **settings).fit(X, y)`.

    Parameters
    ----------
    model : a generative classifier, fitted or not; a copy of it is fitted on all rows
    X, y : as for `fit`: arrays, or a table and the name of its target
    sample_weight, schema, na : as for `fit`
    groups : an array or the name of a column: rows of one group share a fold
    **settings : `cv`, `method` and `bins` of :class:`Calibrated`

    Returns
    -------
    Calibrated, fitted

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import calibrate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = calibrate(verosim.GaussianNB(), X, y)
    >>> model.before_
    Reliability(error=0.0672, classwise_error=0.0662, log_loss=0.6988, brier=0.1324)
    >>> model.after_
    Reliability(error=0.0189, classwise_error=0.0319, log_loss=0.1554, brier=0.0908)
    >>> model.map_.tau < 0.3          # its columns repeat each other
    True
    >>> (model.predict(X) == model.model_.predict(X)).all()
    np.True_
    """
    wrapper = Calibrated(clone(model), **settings)
    return wrapper.fit(X, y, sample_weight, groups=groups, schema=schema, na=na)
