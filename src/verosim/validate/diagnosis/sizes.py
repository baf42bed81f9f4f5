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
from verosim.validate.diagnosis.findings import Finding, does_not_apply
from verosim.validate.diagnosis.model import has_full_covariance, kind_of_part, one_covariance

FEW_PER_PARAMETER, PLENTY_PER_PARAMETER = 5, 10  # rows per parameter, rows per column
DELTA = 0.05


def rows_per_parameter(model: Any) -> Finding:
    """The number of rows for each free parameter."""
    rows, parameters = float(model.class_count_.sum()), model.n_parameters_
    if not parameters:
        return does_not_apply("rows per parameter", "the model estimates no parameters")
    ratio = rows / parameters
    reading = f"There are {rows:,.0f} rows for {parameters:,} parameters"
    parts = list(model.stats_.named_parts())
    if all(kind_of_part(name, part) == "amounts" for name, part in parts):
        words = sum(float(part.arrays["count"].sum()) for _, part in parts) / parameters
        reading += (
            f", and {words:.2g} words for each parameter. The probabilities of rare words depend "
            "on the smoothing: choose alpha on held-out rows."
        )
    elif ratio < FEW_PER_PARAMETER:
        reading += ". This is few: try a model with fewer parameters, smoothing or shrinkage."
    elif ratio < PLENTY_PER_PARAMETER:
        reading += ". This is just enough: compare with a smaller model on held-out rows."
    else:
        reading += ". This is enough."
    return Finding("rows per parameter", "the model", ratio, None, reading)


def class_sizes(model: Any) -> list[Finding]:
    """The classes with too few rows for a covariance, or one finding that all have enough."""
    if not has_full_covariance(model):
        return [does_not_apply("class size", "the model estimates no full covariance")]
    d, weights = model.n_features_in_, model.class_count_
    there = np.flatnonzero(weights > 0)
    shrunk = model.shrinkage_ not in (None, 0)
    cure = " The shrinkage of this model makes it more stable." if shrunk else ""
    if one_covariance(model):
        rows = float(weights.sum()) - len(there)
        reading = f"The shared covariance of {d} columns is estimated from {rows:,.0f} rows. "
        if rows >= FEW_PER_PARAMETER * d:
            reading += "This is enough."
        elif rows < d:
            reading += f"It is singular: use fewer columns or shrinkage.{cure}"
        else:
            reading += f"It is unstable: use shrinkage, NaiveLDA or fewer columns.{cure}"
        return [Finding("class size", "all classes", rows / d, None, reading)]
    found = []
    for c in there[np.argsort(weights[there], kind="stable")]:
        rows, name = float(weights[c]), model.stats_.axes.groups.name(int(c))
        if rows <= d:
            reading = (
                f"{rows:,.0f} rows are too few for the covariance of {d} columns, so it is "
                "singular: use LDA or shrinkage."
            )
        elif rows < FEW_PER_PARAMETER * d:
            reading = (
                f"{rows:,.0f} rows are few for the covariance of {d} columns, so it is unstable: "
                "use RDA or shrinkage."
            )
        else:
            break
        found.append(Finding("class size", name, rows / d, None, reading + cure))
    if found:
        return found
    least = float(weights[there].min())
    reading = f"The smallest class has {least:,.0f} rows for {d} columns. This is enough."
    return [Finding("class size", "all classes", least / d, None, reading)]


def error_of_priors(model: Any) -> Finding:
    """The largest error of the estimated priors, with probability 1 − δ."""
    C, rows = len(model.classes_), float(model.class_count_.sum())
    if not free_priors(model.state_.spec.prior_setting, C):
        return does_not_apply("prior error", "the priors are given, not estimated")
    error = prior_error(rows, DELTA, C)
    c = int(np.argmin(model.class_prior_))
    least, name = float(model.class_prior_[c]), model.stats_.axes.groups.name(c)
    reading = f"With 95 % confidence, the {C} priors are within ±{error:.2g} of the true values. "
    reading += f"The smallest prior, of class {name}, is {least:.2g} and is "
    if error >= least:
        reading += "not known well: use priors= if you know better values."
    else:
        reading += "roughly known." if 4 * error > least else "well known."
    return Finding("prior error", "all classes", error, None, reading)
