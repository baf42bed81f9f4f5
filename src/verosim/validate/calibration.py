"""Over-confident posteriors are mended by a map, learnt where no row judged itself.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ      one number τ for all
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing          one map for each class
    columns       log p̂(k | x) ∝ b_k + Σ_j w_j log p_j(x_j | k)           one weight for each column

All are fitted out of fold. Naive Bayes counts correlated columns as if each were new evidence, so
it is usually τ < 1 that it wants. References: Guo, Pleiss, Sun & Weinberger (2017), On calibration
of modern neural networks; Zadrozny & Elkan (2002), Transforming classifier scores into accurate
multiclass probability estimates; for columns see `column_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.folds import HeldOutEngine, first_warning_only, inputs_of
from verosim.folds.inputs import without_split_columns
from verosim.models import Inputs
from verosim.models.settings import one_of
from verosim.validate.column_weights import ColumnWeights, Evidence, clipped_evidence
from verosim.validate.contributions import held_out_contributions
from verosim.validate.cross_validation import check_generative, cross_validate
from verosim.validate.reliability import Reliability, reliability
from verosim.validate.wrapper import Wrapper, fit_model, generative

FAR = 1e9  # log-odds beyond which nothing is told apart: of classes a fold never saw
TIE_BREAK = 1e-9  # parts of the model's own posterior in an isotonic one
PRIOR = 1.0  # rows' worth of belief in τ = 1
MAPS = 20  # folds beyond which maps are cross-fitted over pooled folds


class Map(Protocol):
    """From what is seen of rows, posteriors or columns, to mended posteriors."""

    def __call__(self, seen: Any, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Temperature:
    """log p̂ = τ log p, normalised: sharper for τ > 1, flatter for τ < 1, never another order."""

    tau: float

    def __call__(self, log_p: np.ndarray) -> np.ndarray:
        scaled = self.tau * log_p
        return scaled - logsumexp(scaled, axis=1, keepdims=True)

    @classmethod
    def fit(cls, log_p: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Temperature:
        """The minimum of Σ w (log Σ_k p_k^τ − τ log p_y) + (τ − log τ), which is convex in τ.

        The last term is a Gamma prior with its mode at τ = 1, worth one row: where every row is
        right the likelihood alone would send τ to infinity.
        """
        n = len(codes)
        own = log_p[np.arange(n), codes]
        usable = np.isfinite(own) & (w > 0)  # no τ helps a class its fold never saw
        a, own, w = log_p[usable], own[usable], w[usable]
        top = a.max(axis=1, initial=-np.inf, keepdims=True)
        a, own = a - top, own - top[:, 0]  # (n, C), 0 for the class called
        finite = np.where(np.isfinite(a), a, 0.0)

        def slope(log_tau: float) -> float:
            tau = np.exp(log_tau)
            p = np.exp(tau * a)
            expected = (p * finite).sum(axis=1) / p.sum(axis=1)
            return float(w @ (expected - own) + PRIOR * (1 - 1 / tau))

        low, high = -1.0, 1.0
        while slope(low) > 0:
            low *= 2
        while slope(high) < 0:
            high *= 2
        return cls(float(np.exp(brentq(slope, low, high, xtol=1e-10))))


@dataclass(frozen=True)
class Isotonic:
    """p̂_k ∝ g_k(log-odds of k): one increasing, piecewise linear g for each class."""

    knots: tuple[tuple[np.ndarray, np.ndarray], ...]  # log-odds and probability, of each class

    def __call__(self, log_p: np.ndarray) -> np.ndarray:
        z = log_odds(log_p)
        p = np.column_stack([np.interp(z[:, k], *knots) for k, knots in enumerate(self.knots)])
        p += TIE_BREAK * np.exp(log_p)  # classes on steps of one height stay in the model's order
        return np.log(p / p.sum(axis=1, keepdims=True))

    @classmethod
    def fit(cls, log_p: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Isotonic:
        """Pool adjacent violators, one class against the rest.

        Two rows are added, a success below all others and a failure above: by pooling, the lowest
        step becomes 1 / (rows + 1) rather than 0 (Laplace), so that no log-loss is infinite.
        """
        z = log_odds(log_p)
        weights = np.concatenate([w, [1.0, 1.0]])
        knots = []
        for k in range(log_p.shape[1]):
            at = np.concatenate([z[:, k], [z[:, k].min() - 1, z[:, k].max() + 1]])
            hit = np.concatenate([codes == k, [1.0, 0.0]])
            fitted = IsotonicRegression(out_of_bounds="clip").fit(at, hit, weights)
            knots.append((fitted.X_thresholds_, fitted.y_thresholds_))
        return cls(tuple(knots))


METHODS: dict[str, type[Temperature] | type[Isotonic] | type[ColumnWeights]] = {
    "temperature": Temperature,
    "isotonic": Isotonic,
    "columns": ColumnWeights,
}


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """(n, C) log p(k | x) − log Σ_{l ≠ k} p(l | x): tells apart what 1 − 1e-300 and 1 are as p."""
    n, C = log_p.shape
    rows, top = np.arange(n), log_p.argmax(axis=1)
    others = log_p.copy()
    others[rows, top] = -np.inf
    rest = np.log1p(-np.exp(np.minimum(others, np.log(0.5))))  # of the classes not called
    rest[rows, top] = logsumexp(others, axis=1) if C > 1 else -np.inf
    return np.clip(log_p - rest, -FAR, FAR)


@dataclass(frozen=True)
class CalibratedRule(Rule):
    """A rule whose posteriors go through a map; p(x) is the model's own."""

    inner: Rule
    mapping: Map

    def log_posterior(self, X: Any) -> np.ndarray:
        return self.mapping(self.inner.log_posterior(X))

    def posterior(self, X: Any) -> np.ndarray:
        return np.exp(self.log_posterior(X))

    def evidence(self, X: Any) -> np.ndarray:
        return self.inner.evidence(X)

    def posterior_and_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        log_p, evidence = self.inner.posterior_and_density(X)
        return self.mapping(log_p), evidence

    def decide(self, X: Any) -> np.ndarray:
        return self.log_posterior(X).argmax(axis=1)


class Calibrated(Wrapper):
    """A classifier whose posteriors were mended; :func:`calibrate` makes one.

    Attributes
    ----------
    model_ : the model fitted on all rows, its own posteriors untouched
    map_ : the map that mends: `map_.tau` of a temperature, `map_.weights` of columns
    before, after : :class:`Reliability` of the out-of-fold posteriors, as they were and mended.
        The map that mends a fold is fitted on the other folds, so `after` flatters nobody
    """

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
        """Fit the model on all rows, and the map on what is said of them out of fold."""
        one_of("method", self.method, tuple(METHODS))
        inner = generative(self.model, "Calibrating")
        by_columns = self.method == "columns"
        if by_columns:
            _check_columns(self.model, self.cv)
        inputs = inputs_of(X, y, sample_weight, schema, na)
        inputs = without_split_columns(inner.spec(), inputs, self.cv, groups)
        model = fit_model(self.model, inputs)
        look = _columns_of if by_columns else _posteriors_of
        found = look(self.model, inputs, self.cv, groups)
        fit = METHODS[self.method].fit
        mended = _cross_fitted(fit, found)
        self.before_, self.after_ = (
            reliability(
                found.classes[found.codes], log_proba=p, classes=found.classes, bins=self.bins,
                weights=found.weights,
            )
            for p in (found.log_p, mended)
        )  # fmt: skip
        self.map_ = fit(found.seen, found.codes, found.weights)
        self.model_ = model
        return self

    @property
    def before(self) -> Reliability:
        return self.before_

    @property
    def after(self) -> Reliability:
        return self.after_

    def rule_of(self, rule: Rule) -> Rule:
        if isinstance(self.map_, ColumnWeights):
            return self.map_.rule(rule)
        return CalibratedRule(rule.log_prior, rule.params, rule.columns, rule, self.map_)


class _Found(NamedTuple):
    """Rows held out, those of no weight left out."""

    seen: Any  # what a map is fitted on
    log_p: np.ndarray  # (n, C) posteriors as they were
    codes: np.ndarray  # (n,) the class of each row
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    classes: np.ndarray  # (C,)


def _posteriors_of(model: Any, inputs: Inputs, cv: Any, groups: Any) -> _Found:
    found = cross_validate(
        model, inputs.X, inputs.y, cv, "accuracy", groups, sample_weight=inputs.sample_weight,
        schema=inputs.schema, na=inputs.na, keep_rows=True,
    ).out_of_fold  # fmt: skip
    assert found is not None
    if len(found.folds) != len(found.labels):
        raise VerosimError(
            "These folds do not hold every row out just once.",
            "a number of folds, or a splitter that parts the rows, such as KFold.",
        )
    w = found.row_weights
    there = w > 0  # rows of zero weight do not exist
    log_p, codes = found.scores[there], positions(found.labels[there], found.classes)
    return _Found(log_p, log_p, codes, w[there], found.folds[there], found.classes)


def _columns_of(model: Any, inputs: Inputs, cv: Any, groups: Any) -> _Found:
    engine = HeldOutEngine([model.spec()], inputs, cv, groups)
    engine.rows.check_partition()
    room = 'calibrate on a sample of the rows, or method="temperature".'
    with first_warning_only():
        held = held_out_contributions(engine, room)
    joint = held.log_prior + held.parts.sum(axis=2)
    log_p = joint - logsumexp(joint, axis=1, keepdims=True)
    against = clipped_evidence(held.parts, np.isfinite(held.log_prior))
    seen = Evidence(against, held.log_prior, held.names)
    return _Found(seen, log_p, held.own, held.weights, held.folds, held.classes)


def _check_columns(model: Any, cv: Any) -> None:
    check_generative(model)
    spec = model.spec()
    settled = spec.resolved(dict.fromkeys(spec.open_settings, 0.5))
    if not settled.density.has_independent_columns:
        raise VerosimError(
            f"{type(model).__name__} takes its columns together, so none has a weight of its own.",
            'method="temperature" or "isotonic"; or a naive model: GaussianNB(), NaiveBayes() …',
        )
    if isinstance(cv, str) and cv == "loo":
        raise VerosimError(
            'cv="loo" keeps no columns apart, only their sum.', "a number of folds, such as cv=10."
        )


def _cross_fitted(fit: Any, found: _Found) -> np.ndarray:
    """(n, C) every fold's posteriors by a map fitted on the other folds."""
    seen, _, codes, w, folds, _ = found
    count = int(folds.max()) + 1
    parts = folds if count <= MAPS else folds % MAPS
    out = np.empty_like(found.log_p)
    for f in np.unique(parts):
        held = parts == f
        out[held] = fit(seen[~held], codes[~held], w[~held])(seen[held])
    return out


def calibrate(
    model: Any,
    X: Any,
    y: Any = None,
    cv: Any = 10,
    method: str = "temperature",
    *,
    sample_weight: Any = None,
    groups: Any = None,
    bins: int = 15,
    schema: Any = None,
    na: Any = (),
) -> Calibrated:
    """A classifier with the model's predictions and posteriors that can be taken at their word.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing, by pooling adjacent violators
    columns       log p̂(k | x) ∝ b_k + Σ_j w_j log p_j(x_j | k)

    τ and w minimise the log-loss, the g_k the squared error, of rows out of fold. A temperature
    keeps every prediction as it was; isotonic maps bend to any shape, ask for more rows (a
    thousand, say), and may change some predictions. Weights go to the cause: columns that repeat
    each other share one weight, those that mislead get little, and predictions get better too.
    They take a model whose log p(x | k) is a sum over columns: `GaussianNB`, `NaiveLDA`,
    `CategoricalNB`, `HistogramNB`, `BernoulliNB`, `NaiveBayes`.

    Parameters
    ----------
    model : a generative classifier, fitted or not: it is fitted anew on all rows
    X, y : as for `fit`: arrays, or a table and the name of its target
    cv : folds, as in `cross_validate`
    method : "temperature", "isotonic" or "columns"
    sample_weight, schema, na : as for `fit`
    groups : rows of one group stay in one fold, as in `cross_validate`
    bins : bins of the reliability curves

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks.
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates.
    Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence
    assumption by attribute weighting.

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import calibrate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> mended = calibrate(verosim.GaussianNB(), X, y)
    >>> mended.before
    Reliability(error=0.0672, classwise_error=0.0662, log_loss=0.6988, brier=0.1324)
    >>> mended.after
    Reliability(error=0.0189, classwise_error=0.0319, log_loss=0.1554, brier=0.0908)
    >>> mended.map_.tau < 0.3          # its columns say much the same
    True
    >>> (mended.predict(X) == mended.model_.predict(X)).all()
    np.True_
    >>> weighted = calibrate(verosim.GaussianNB(), X, y, method="columns")
    >>> round(weighted.after.log_loss, 3), len(weighted.map_.weights)
    (0.091, 30)
    """
    wrapper = Calibrated(clone(model), cv, method, bins)
    return wrapper.fit(X, y, sample_weight, groups=groups, schema=schema, na=na)
