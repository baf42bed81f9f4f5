"""Are there enough rows for the parameters, the covariances and the priors?

    rows per parameter   n / p, with p free parameters
    class size           n_k / d, with n_k rows of class k and d columns
    prior error          ε = √(log(2C/δ) / (2n)): all priors are within ε with probability 1 − δ

Reference: Hoeffding (1963), Probability inequalities for sums of bounded random variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.priors import free_priors
from verosim.bayes.sample_size import prior_error
from verosim.validate.diagnosis.findings import (
    ALL_CLASSES,
    Finding,
    does_not_apply,
    found_that,
)
from verosim.validate.diagnosis.model import has_full_covariance, kind_of_part, one_covariance
from verosim.validate.diagnosis.phrases import Phrase, said

FEW_PER_PARAMETER, PLENTY_PER_PARAMETER = 5, 10  # rows per parameter, rows per column
DELTA = 0.05
ENOUGH_ROWS = said("This is enough.")


def rows_per_parameter(model: Any) -> Finding:
    """The number of rows for each free parameter."""
    rows, parameters = float(model.class_count_.sum()), model.n_parameters_
    if not parameters:
        return does_not_apply("rows per parameter", "the model estimates no parameters")
    ratio = rows / parameters
    numbers = {"rows": f"{rows:,.0f}", "parameters": f"{parameters:,}"}
    start = said("There are {rows} rows for {parameters} parameters.", **numbers)
    parts = list(model.stats_.named_parts())
    if all(kind_of_part(name, part) == "amounts" for name, part in parts):
        words = sum(float(part.arrays["count"].sum()) for _, part in parts) / parameters
        start = said(
            "There are {rows} rows for {parameters} parameters, and {words} words for each "
            "parameter.",
            **numbers, words=f"{words:.2g}",
        )  # fmt: skip
        advice = said(
            "The probabilities of rare words depend on the smoothing: choose alpha on held-out "
            "rows."
        )
    elif ratio < FEW_PER_PARAMETER:
        advice = said("This is few: try a model with fewer parameters, smoothing or shrinkage.")
    elif ratio < PLENTY_PER_PARAMETER:
        advice = said("This is just enough: compare with a smaller model on held-out rows.")
    else:
        advice = ENOUGH_ROWS
    return found_that("rows per parameter", said("the model"), ratio, None, start, advice)


def class_sizes(model: Any) -> list[Finding]:
    """The classes with too few rows for a covariance, or one finding that all have enough."""
    if not has_full_covariance(model):
        return [does_not_apply("class size", "the model estimates no full covariance")]
    d, weights = model.n_features_in_, model.class_count_
    there = np.flatnonzero(weights > 0)
    shrunk = model.shrinkage_ not in (None, 0)
    cure = (said("The shrinkage of this model makes it more stable."),) if shrunk else ()
    if one_covariance(model):
        rows = float(weights.sum()) - len(there)
        phrases: tuple[Phrase, ...] = (
            said(
                "The shared covariance of {d} columns is estimated from {rows} rows.",
                d=str(d), rows=f"{rows:,.0f}",
            ),
        )  # fmt: skip
        if rows >= FEW_PER_PARAMETER * d:
            phrases += (ENOUGH_ROWS,)
        elif rows < d:
            phrases += (said("It is singular: use fewer columns or shrinkage."), *cure)
        else:
            phrases += (said("It is unstable: use shrinkage, NaiveLDA or fewer columns."), *cure)
        return [found_that("class size", ALL_CLASSES, rows / d, None, *phrases)]
    found = []
    for c in there[np.argsort(weights[there], kind="stable")]:
        rows, name = float(weights[c]), model.stats_.axes.groups.name(int(c))
        if rows <= d:
            phrase = said(
                "{rows} rows are too few for the covariance of {d} columns, so it is singular: "
                "use LDA or shrinkage.",
                rows=f"{rows:,.0f}", d=str(d),
            )  # fmt: skip
        elif rows < FEW_PER_PARAMETER * d:
            phrase = said(
                "{rows} rows are few for the covariance of {d} columns, so it is unstable: use "
                "RDA or shrinkage.",
                rows=f"{rows:,.0f}", d=str(d),
            )  # fmt: skip
        else:
            break
        found.append(found_that("class size", name, rows / d, None, phrase, *cure))
    if found:
        return found
    least = float(weights[there].min())
    phrase = said(
        "The smallest class has {rows} rows for {d} columns.", rows=f"{least:,.0f}", d=str(d)
    )
    return [found_that("class size", ALL_CLASSES, least / d, None, phrase, ENOUGH_ROWS)]


def error_of_priors(model: Any) -> Finding:
    """The largest error of the estimated priors, with probability 1 − δ."""
    C, rows = len(model.classes_), float(model.class_count_.sum())
    if not free_priors(model.state_.spec.prior_setting, C):
        return does_not_apply("prior error", "the priors are given, not estimated")
    error = prior_error(rows, DELTA, C)
    c = int(np.argmin(model.class_prior_))
    least, name = float(model.class_prior_[c]), model.stats_.axes.groups.name(c)
    start = said(
        "With 95 % confidence, the {C} priors are within ±{error} of the true values.",
        C=str(C), error=f"{error:.2g}",
    )  # fmt: skip
    smallest = {"name": name, "least": f"{least:.2g}"}
    if error >= least:
        end = said(
            "The smallest prior, of class {name}, is {least} and is not known well: use priors= "
            "if you know better values.",
            **smallest,
        )
    elif 4 * error > least:
        end = said(
            "The smallest prior, of class {name}, is {least} and is roughly known.", **smallest
        )
    else:
        end = said("The smallest prior, of class {name}, is {least} and is well known.", **smallest)
    return found_that("prior error", ALL_CLASSES, error, None, start, end)
