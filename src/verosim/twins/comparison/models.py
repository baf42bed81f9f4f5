"""The models of a comparison: any classifiers, by name, with seeds where they need them.

    generative: models p(x | k) and uses Bayes' rule;   discriminative: models p(k | x) or decisions

Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers, NIPS 14.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.pipeline import Pipeline

from verosim.errors import VerosimError, listed
from verosim.estimators.base import GenerativeClassifier
from verosim.twins.comparison.metrics import Metric
from verosim.validate.wrapper import Wrapper


def named_models(models: Any) -> dict[str, Any]:
    """Classifiers by name. Models in a list get the names of their Python classes, numbered."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Iterable) and not isinstance(models, str):
        listing = list(models)
        kinds = [type(_inside(model)).__name__ for model in listing]
        several, seen = Counter(kinds), Counter[str]()
        named = {}
        for kind, model in zip(kinds, listing, strict=True):
            seen[kind] += 1
            named[kind if several[kind] == 1 else f"{kind} {seen[kind]}"] = model
    else:
        named = {type(_inside(models)).__name__: models}
    if not named:
        raise VerosimError("models must not be empty.", "Give a dict of classifiers by name.")
    for name, model in named.items():
        if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
            raise VerosimError(
                f"Model {name!r} must be a classifier object; got {model!r}.",
                "Give an object such as LDA().",
            )
    return named


def described(model: Any) -> str:
    """The `repr` of a model, without memory addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(model).split()))


def seeded(model: Any, state: int) -> Any:
    """The model with a fixed seed in each `random_state` that is not an integer."""
    open_ones = {
        name: state
        for name, value in model.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and not isinstance(value, int | np.integer)
    }
    return model.set_params(**open_ones) if open_ones else model


def is_generative(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, models p(x | k)."""
    inner = _inside(model)
    kinds = GenerativeClassifier | LinearDiscriminantAnalysis | QuadraticDiscriminantAnalysis
    return isinstance(inner, kinds) or type(inner).__module__ == "sklearn.naive_bayes"


def _inside(model: Any) -> Any:
    while isinstance(model, Pipeline | Wrapper):
        model = model.steps[-1][1] if isinstance(model, Pipeline) else model.model
    return model


def pairs_of(pairs: Any, named: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs (generative, discriminative) to compare; by default all such pairs."""
    if pairs is None:
        generative = [name for name, model in named.items() if is_generative(model)]
        others = [name for name in named if name not in generative]
        return tuple((g, d) for g in generative for d in others)
    found = []
    for pair in pairs:
        two = tuple(pair) if isinstance(pair, tuple | list) else (pair,)
        if len(two) != 2 or two[0] == two[1] or not set(two) <= set(named):
            raise VerosimError(
                f"{pair!r} is not a pair of models.",
                f"Give (generative, discriminative), two of {listed(list(named))}.",
            )
        found.append((str(two[0]), str(two[1])))
    return tuple(found)


def check_needs(named: dict[str, Any], metric: Metric) -> None:
    """Check that each model has the method that the metric needs."""
    for name, model in named.items():
        if not hasattr(model, metric.needs):
            raise VerosimError(
                f"Model {name!r} has no {metric.needs}, which scoring={metric.name!r} needs.",
                'Use scoring="error", or wrap the model in CalibratedClassifierCV of scikit-learn.',
            )
