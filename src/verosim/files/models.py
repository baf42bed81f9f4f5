"""The estimators that a model file may contain, and their fitted attributes: a fixed list.

    model  ⇄  (name of the class, parameters, fitted attributes)

A classifier with sums is stored as its sums, its schema and the values that `fit` chose. Its
decision rule follows from them when the file is read. A file cannot set other attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Columns
from verosim.axes.groups import union_of_labels
from verosim.bayes.rule import Decision
from verosim.data.schema import Schema
from verosim.densities.base import LinearForm
from verosim.errors import VerosimError, VerosimWarning
from verosim.files.compact import with_codes, without_codes
from verosim.files.fits import fits
from verosim.files.layout import check_features_fit, check_rule_fits, check_sums_fit
from verosim.files.named_classes import NamedClasses
from verosim.files.shapes import are_distinct, check_estimates, check_shapes, sizes_of
from verosim.models import Spec, State, derive
from verosim.stats import Statistic
from verosim.stats.codec import DATA_ERRORS
from verosim.stats.hollow import hollow
from verosim.stats.plain_trees import damaged

if TYPE_CHECKING:
    from verosim.estimators.statistic_classifier import StatisticClassifier

Array = np.ndarray
OF_COLUMNS: dict[str, Any] = {"n_features_in_": int, "feature_names_in_": Array}
OF_LINEAR: dict[str, Any] = {
    **OF_COLUMNS, "classes_": Array, "coef_": Array, "intercept_": Array, "_decision": Decision,
}  # fmt: skip


@dataclass(frozen=True)
class SavedState:
    """What a file has of the fitted state of a classifier with sums."""

    statistic: Statistic
    schema: Schema | None
    tuned: dict[str, Any]
    rule: Decision | None = None  # only in a file without sums


OF_SUMS = NamedClasses({
    "estimators": (
        "AODE KDB LDA MDA QDA RDA TAN BernoulliNB CategoricalNB ComplementNB GaussianNB "
        "HistogramNB JointHistogram LiftedLDA MultinomialNB NaiveBayes NaiveLDA TextNB TextRidge"
    ),
    "estimators.paired": "PairedNaiveBayes",
    "twins.least_squares": "LeastSquares",
    "pool.estimator": "Pool",
    "pool.text_pool": "TextPool",
    "pool.text_svm": "TextSVM",
    "pool.weighted_pairs": "WeightedPairs",
})  # fmt: skip
SAVED_MODELS = NamedClasses({
    **OF_SUMS.names_of,
    "estimators.whiten": "Whiten",
    "twins.logistic": "LogisticRegression",
    "twins.svm": "LinearSVM",
    "twins.perceptron": "Perceptron",
    "twins.multiclass": "OneVsRest OneVsOne",
    "twins.twin": "Twin",
    "validate.calibration": "Calibrated",
    "validate.conformal": "Conformal",
    "validate.reject": "Reject",
    "validate.semi": "SemiSupervised",
})  # fmt: skip
LINEAR_MODELS = ("LogisticRegression", "LinearSVM", "Perceptron")
NOT_ALWAYS = {  # attributes that depend on the settings or on the rows
    "feature_names_in_", "loss_curve_", "norm_curve_", "_seen", "_rate", "objective_", "gap_",
    "n_iter_", "regularisation_", "pairwise_indices_",
}  # fmt: skip
# What `fit` chose, which is not one number or text
TUNED: dict[str, dict[str, str]] = {
    "MDA": {"found": "FoundMixture"},
    "Pool": {"members": "Expert", "mixing": "Mixing", "report": "Candidates"},
    "TextPool": {"members": "Expert", "mixing": "Mixing", "report": "Candidates"},
}
MAP_NAMES = {"PolynomialMap": "polynomial", "FourierMap": "fourier"}
# The parameters that `predict` reads. Others are checked when a model is fitted.
PREDICTING: dict[str, dict[str, Any]] = {
    "Reject": {"confidence": float | None}, "LDA": {"n_components": int | None},
    "BernoulliNB": {"binarize": float | None}, "Perceptron": {"fit_intercept": bool | float},
}  # fmt: skip


@cache
def attributes_of(name: str) -> dict[str, Any]:
    """The fitted attributes of a class, and their types. A file may lack some of them."""
    if name in OF_SUMS:
        return {"state_": SavedState}
    if name in LINEAR_MODELS:
        return {**OF_LINEAR, **_of_linear(name)}
    if name == "Whiten":
        return {
            **OF_COLUMNS, "_model": OF_SUMS["LDA"], "covariance_": Array, "mean_": Array,
            "whitener_": Array, "unwhitener_": Array,
        }  # fmt: skip
    if name == "OneVsRest":
        return {**OF_COLUMNS, "classes_": Array, "estimators_": list}
    if name == "OneVsOne":
        return {
            **OF_COLUMNS, "classes_": Array, "estimators_": tuple, "pairwise_indices_": None,
        }  # fmt: skip
    return _of_wrapper(name)


def _of_linear(name: str) -> dict[str, Any]:
    if name == "LogisticRegression":
        return {
            "n_iter_": int, "regularisation_": float, "objective_": float, "gap_": float,
            "loss_curve_": Any, "norm_curve_": Any, "_seen": int, "_rate": float,
        }  # fmt: skip
    if name == "LinearSVM":
        return {"objective_": Array, "gap_": Array, "n_iter_": Array}
    from verosim.files.feature_maps import SavedMap
    from verosim.twins.perceptron import PerceptronCourse

    return {
        "features_": SavedMap | None, "_course": PerceptronCourse, "mistakes_": Array,
        "criterion_": Array, "n_iter_": int, "converged_": bool, "_columns": Columns,
    }  # fmt: skip


def _of_wrapper(name: str) -> dict[str, Any]:
    """The fitted attributes of a model that contains another one."""
    from verosim.estimators.statistic_classifier import StatisticClassifier

    if name == "Twin":
        from verosim.densities.features import Expansion

        return {
            "model_": StatisticClassifier, "_by": Expansion,
            "logistic_": SAVED_MODELS["LogisticRegression"],
            "classes_": Array, "coef_": Array, "intercept_": Array, "scores_": LinearForm,
        }  # fmt: skip
    if name == "Calibrated":
        from verosim.validate.calibration_maps import PosteriorMap
        from verosim.validate.column_weights import ColumnWeights
        from verosim.validate.reliability import Reliability

        return {
            "map_": PosteriorMap | ColumnWeights, "before_": Reliability, "after_": Reliability,
            "model_": StatisticClassifier, "rows_since_map_": float, "refit_after_": float,
        }  # fmt: skip
    if name == "Conformal":
        from verosim.validate.nonconformity import NonconformityScores

        return {
            "model_": Any, "rules_": list[Decision], "scores_": list[list[NonconformityScores]],
            "_classes": Array,
        }  # fmt: skip
    if name == "Reject":
        return {"model_": Any, "log_least_": float}
    from verosim.densities.em import Convergence

    assert name == "SemiSupervised"
    return {"model_": Any, "convergence_": Convergence, "n_iter_": int}


def foreign(value: Any, where: str) -> VerosimError:
    """The error for code that a file cannot contain."""
    name = getattr(value, "__qualname__", None) or type(value).__name__
    return VerosimError(
        f"{where} is {name}, which is code from outside of verosim, and a model file contains no "
        "code.",
        "Use pickle or joblib for this model, and load such files only if you trust their author.",
    )


# Saving ------------------------------------------------------------------------------------------


def model_tree(model: Any, statistics: bool) -> dict[str, Any]:
    """The name, the parameters and the fitted attributes of a model."""
    kind, name_ = type(model), type(model).__name__
    if not SAVED_MODELS.has(kind):
        raise foreign(model, "The model")
    params = parameters_of(model)
    for name, value in params.items():
        is_code = callable(value) or hasattr(value, "fit")
        if is_code and not SAVED_MODELS.has(type(value)):
            raise foreign(value, f"The parameter {name} of {kind.__name__}")
    left_out = {*params, "_metadata_request"}  # how scikit-learn passes weights on at the fit
    fitted = {name: value for name, value in vars(model).items() if name not in left_out}
    if "state_" in fitted:
        fitted["state_"] = _saved_state(model, statistics)
    if name_ in ("OneVsRest", "OneVsOne"):
        fitted.pop("label_binarizer_", None)
        for one in fitted.get("estimators_", ()):
            if not SAVED_MODELS.has(type(one)):
                raise foreign(one, f"A binary model of {kind.__name__}")
    if name_ == "Perceptron" and fitted.get("features_") is not None:
        from verosim.files.feature_maps import saved_map
        from verosim.twins.features import is_named_map

        named = is_named_map(params["features"])
        found = saved_map(fitted["features_"]) if named else None
        if found is None:
            raise foreign(fitted["features_"], "The feature map of Perceptron")
        fitted["features_"] = found
    if name_ == "Twin" and "_decision" in fitted:
        scores = fitted.pop("_decision").params
        none = np.zeros(scores.coef.shape[1])
        fitted["scores_"] = LinearForm(scores.mean, none, scores.coef, scores.bias)
    known = attributes_of(name_)
    unknown = [name for name in fitted if name not in known]
    if unknown:
        raise VerosimError(
            f"{kind.__name__} has the attribute {unknown[0]!r}, which is not an attribute of "
            "verosim.",
            f"Delete the attribute {unknown[0]!r} before you save the model.",
        )
    return {"model": kind.__name__, "params": params, "fitted": fitted}


def parameters_of(model: Any) -> dict[str, Any]:
    """The parameters of a model by name."""
    return {name: vars(model)[name] for name in signature(type(model)).parameters}


def _saved_state(model: StatisticClassifier, statistics: bool) -> SavedState:
    state = model.checked_state()
    tuned = dict(state.tuned)
    if statistics and hollow(state.statistic) is not state.statistic:
        return SavedState(state.statistic, state.schema, tuned)
    sums = without_codes(hollow(state.statistic), state.rule.params)
    return SavedState(sums, state.schema, tuned, state.rule)


# Loading -----------------------------------------------------------------------------------------


def built_model(tree: Any) -> Any:
    """The model of a tree, with checked parameters and attributes."""
    if not isinstance(tree, dict) or tree.keys() != {"model", "params", "fitted"}:
        raise damaged("a model has unknown fields")
    name, params, fitted = tree["model"], tree["params"], tree["fitted"]
    if not isinstance(name, str) or name not in SAVED_MODELS:
        raise damaged(f"{str(name)[:40]!r} is not a model")
    if not isinstance(params, dict) or not isinstance(fitted, dict):
        raise damaged(f"{name} has no parameters")
    kind, attributes = SAVED_MODELS[name], attributes_of(name)
    known = signature(kind).parameters
    unknown = [one for one in params if one not in known]
    unknown += [one for one in fitted if one not in attributes]
    if unknown:
        raise damaged(f"{name} has no parameter or attribute {str(unknown[0])[:40]!r}")
    lost = attributes.keys() - fitted.keys() - NOT_ALWAYS
    if fitted and lost:
        raise damaged(f"{name} has no attribute {min(lost)!r}")
    wraps = attributes.keys() & {"model_", "estimators_"}
    for one in ("model", "estimator"):
        if wraps and one in params and not SAVED_MODELS.has(type(params[one])):
            raise damaged(f"the parameter {one!r} of {name} is not a model")
    for one, hint in PREDICTING.get(name, {}).items():
        if one in params and not fits(params[one], hint):
            raise damaged(f"the parameter {one!r} of {name} has a wrong type")
    for one, value in fitted.items():
        if not fits(value, attributes[one]):
            raise damaged(f"the attribute {one!r} of {name} has a wrong type")
    try:
        model = kind(**params)
        with without_warnings():
            _restore(model, name, fitted)
    except VerosimError:
        raise
    except DATA_ERRORS as error:
        raise damaged(f"{name} has wrong values ({type(error).__name__}: {error})") from error
    return model


@contextmanager
def without_warnings() -> Iterator[None]:
    """Estimate without the warnings, which were given by fit."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", VerosimWarning)
        yield


def _restore(model: Any, name: str, fitted: dict[str, Any]) -> None:
    """Set the fitted attributes."""
    fitted = dict(fitted)
    saved = fitted.pop("state_", None)
    form = fitted.pop("scores_", None) if name == "Twin" else None
    if name == "Perceptron" and fitted.get("features_") is not None:
        from verosim.files.feature_maps import built_map

        size = fitted["coef_"].shape[1]
        if model.features != MAP_NAMES[type(fitted["features_"]).__name__]:
            raise damaged("Perceptron has features that its settings do not name")
        fitted["features_"] = built_map(fitted["features_"], fitted["n_features_in_"], size)
    vars(model).update(fitted)
    if saved is not None:
        _set_state(model, saved)
    if name == "OneVsRest" and "classes_" in fitted:
        from sklearn.preprocessing import LabelBinarizer

        numbers = np.arange(len(model.classes_))  # it does not accept labels of all types
        model.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(numbers)
        model.label_binarizer_.classes_ = model.classes_
    if name == "Twin" and form is not None:
        from verosim.twins.twin import FeatureScores

        rule = model.model_.state_.rule
        scores = FeatureScores(rule.params, fitted["_by"], form.coef, form.bias, form.pivot)
        decision = Decision(np.zeros(len(model.classes_)), scores, rule.columns)
        vars(model)["_decision"] = decision
    check_parts(model, fitted)


def _set_state(model: Any, saved: SavedState) -> None:
    """Set the state of a classifier with sums."""
    tuned = saved.tuned
    known = TUNED.get(type(model).__name__, {})
    for name, value in tuned.items():
        values = value if name == "members" and isinstance(value, tuple) else [value]
        kinds = {type(one).__name__ for one in values}
        plain = isinstance(value, bool | int | str) or (
            isinstance(value, float) and isfinite(value)
        )
        if kinds != {known[name]} if name in known else not plain:
            raise damaged(f"{name!r} of {type(model).__name__} has a wrong type")
    if tuned.keys() & known.keys() and known.keys() - tuned.keys():
        raise damaged(f"what {type(model).__name__} has chosen is not complete")
    if "mixing" in known:
        names = [expert.name for expert in tuned["members"]]
        if len(set(names)) < len(names) or not set(tuned["mixing"].names) <= set(names):
            raise damaged(f"the weights of {type(model).__name__} are not those of its experts")
    if "members" in tuned:  # the settings of a pool contain its members
        vars(model)["state_"] = State(None, saved.statistic, saved.schema, None, tuned)  # type: ignore[arg-type]
    model.set_state(restored_state(model.spec(), saved))


def restored_state(spec: Spec, saved: SavedState) -> State:
    """The state of a classifier with sums. Its rule follows from the sums."""
    tuned = saved.tuned
    sums, schema, resolved = saved.statistic, saved.schema, spec.resolved(tuned)
    if (hollow(sums) is sums) != (saved.rule is not None):
        raise damaged("it has a rule beside sums, or neither of them")
    if saved.rule is not None:
        sums = with_codes(sums, saved.rule.params)
    check_sums_fit(resolved, sums, schema)
    if saved.rule is None:
        state = derive(spec, sums, schema, tuned, streaming=True, quiet=True)
        if state.made is not None:
            check_estimates(state.made)
        return state
    check_rule_fits(saved.rule, sums, resolved)
    return State(resolved, sums, schema, saved.rule, tuned)


def _has_map(model: Any) -> bool:
    """Whether the weights of a linear model are those of features and not of columns."""
    return getattr(model, "features_", None) is not None


def check_parts(model: Any, fitted: dict[str, Any]) -> None:
    """Raise an error unless the fitted attributes fit each other."""
    name = type(model).__name__
    if not fitted:
        return
    check_shapes(model, fitted)
    inside = fitted.get("model_")
    ok = inside is None or (SAVED_MODELS.has(type(inside)) and hasattr(inside, "classes_"))
    ok &= are_distinct(fitted.get("classes_", np.empty(0)))
    if not ok or not PARTS_FIT.get(name, lambda model: True)(model):
        raise damaged(f"the parts of {name} do not fit each other")


def _fits_linear(model: Any) -> bool:
    decision, C = vars(model)["_decision"], len(model.classes_)
    form = decision.params.form
    return (
        len(decision.log_prior) == C
        and model.coef_.shape == form.coef.shape
        and len(form.bias) in ((1, 2) if C == 2 else (C,))
        and decision.columns.size == form.coef.shape[1]
        and (_has_map(model) or model.n_features_in_ == form.coef.shape[1])
    )


def _fit_binary(model: Any, functions: int) -> bool:
    """Whether the models of pairs of classes, or of one class and the rest, have two classes."""
    return len(model.estimators_) == functions and all(
        type(one) is type(model.estimator)
        and len(getattr(one, "classes_", ())) == 2
        and one.n_features_in_ == model.n_features_in_
        for one in model.estimators_
    )


def _fits_one_vs_rest(model: Any) -> bool:
    C = len(model.classes_)
    return _fit_binary(model, 1 if C == 2 else C)


def _fits_one_vs_one(model: Any) -> bool:
    C = len(model.classes_)
    return _fit_binary(model, C * (C - 1) // 2)


def _fits_twin(model: Any) -> bool:
    C, m, scores = (
        len(model.classes_),
        len(vars(model)["_by"].names),
        vars(model)["_decision"].params,
    )
    check_features_fit(vars(model)["_by"], model.model_.checked_state().statistic)
    return (
        np.array_equal(model.classes_, model.model_.classes_)
        and scores.coef.shape == (C, m) == (C, len(scores.mean))
        and model.coef_.shape == (1 if C == 2 else C, m)
    )


def _fits_inside(model: Any) -> bool:
    """Whether the fitted model inside a wrapper is one of its parameter `model`."""
    return isinstance(model.model_, type(model.model))


def _fits_generative(model: Any) -> bool:
    from verosim.validate.wrapper import generative

    generative(model.model, type(model).__name__)  # it raises the error of `fit`
    return _fits_inside(model)


def _fits_reject(model: Any) -> bool:
    from verosim.validate.wrapper import generative

    if not _fits_generative(model):
        return False
    spec = generative(model.model_, "Reject").spec()
    return bool(model.log_least_ == -np.inf) or spec.is_density


def _fits_calibrated(model: Any) -> bool:
    if not _fits_generative(model):
        return False
    C, params = len(model.model_.classes_), model.model_.checked_state().params
    sizes = sizes_of(model.map_)
    columns = sum(len(one) for _, one in params.column_parts(model.rule().columns))
    knots = getattr(model.map_, "knots", None)
    return (
        sizes.get("C", C) == C
        and sizes.get("d", columns) == columns
        and (knots is None or len(knots) == C)
    )


def _fits_conformal(model: Any) -> bool:
    if not _fits_inside(model):
        return False
    classes, known = vars(model)["_classes"], model.model_.classes_
    state = model.checked_state()
    for rule in model.rules_:
        check_rule_fits(rule, state.statistic, state.spec)
    return (
        classes.dtype == union_of_labels(classes, known).dtype
        and np.array_equal(classes, union_of_labels(classes, known))
        and len(model.scores_) == max(len(model.rules_), 1)
        and all(len(one) in (1, len(classes)) for one in model.scores_)
        and len({len(one) for one in model.scores_}) == 1
    )


def _fits_perceptron(model: Any) -> bool:
    rows, features = model.coef_.shape
    return (
        _fits_linear(model)
        and vars(model)["_course"].theta.shape == (rows, features + 1)
        and (model.features is None) == (getattr(model, "features_", None) is None)
    )


# What must be true of the fitted attributes, in addition to their shapes
PARTS_FIT: dict[str, Callable[[Any], bool]] = {
    "LogisticRegression": _fits_linear, "LinearSVM": _fits_linear, "Perceptron": _fits_perceptron,
    "OneVsRest": _fits_one_vs_rest, "OneVsOne": _fits_one_vs_one, "Twin": _fits_twin,
    "Calibrated": _fits_calibrated, "Conformal": _fits_conformal, "Reject": _fits_reject,
    "SemiSupervised": _fits_generative,
}  # fmt: skip
