"""Are there rows enough for what is learnt from them?

    rows per free parameter n/p;   rows per class against its columns;   priors within
    ε = √(log(2K/δ)/(2n)) with probability 1 − δ

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
    rows, parameters = float(model.class_count_.sum()), model.n_parameters_
    if not parameters:
        return does_not_apply("rows per parameter", "nothing is estimated")
    ratio = rows / parameters
    reading = f"{rows:,.0f} rows for {parameters:,} parameters: "
    parts = list(model.stats_.named_parts())
    if all(kind_of_part(name, part) == "amounts" for name, part in parts):
        words = sum(float(part.arrays["count"].sum()) for _, part in parts) / parameters
        reading += (
            f"{words:.2g} words for each; rare ones rest on the smoothing, so choose alpha well."
        )
    elif ratio < FEW_PER_PARAMETER:
        reading += "few; a model with fewer parameters, smoothing or shrinkage may do better."
    elif ratio < PLENTY_PER_PARAMETER:
        reading += "just enough; compare with a smaller model on held-out rows."
    else:
        reading += "enough."
    return Finding("rows per parameter", "the model", ratio, None, reading)


def class_sizes(model: Any) -> list[Finding]:
    """Classes with too few rows for a covariance of their own, or one finding that there are
    none."""
    if not has_full_covariance(model):
        return [does_not_apply("class size", "the classes have no full covariance to estimate")]
    d, weights = model.n_features_in_, model.class_count_
    there = np.flatnonzero(weights > 0)
    cure = "" if model.shrinkage_ in (None, 0) else " Shrinkage makes up for some of it."
    if one_covariance(model):
        rows = float(weights.sum()) - len(there)
        reading = f"The shared covariance of {d} columns rests on {rows:,.0f} rows: "
        if rows >= FEW_PER_PARAMETER * d:
            reading += "enough."
        elif rows < d:
            reading += f"it is singular; fewer columns or shrinkage.{cure}"
        else:
            reading += f"it is unsteady; shrinkage, NaiveLDA or fewer columns.{cure}"
        return [Finding("class size", "all classes", rows / d, None, reading)]
    found = []
    for c in there[np.argsort(weights[there], kind="stable")]:
        rows, name = float(weights[c]), model.stats_.axes.groups.name(int(c))
        if rows <= d:
            reading = f"{rows:,.0f} rows cannot fill a covariance of {d} columns: LDA or shrinkage."
        elif rows < FEW_PER_PARAMETER * d:
            reading = (
                f"{rows:,.0f} rows make an unsteady covariance of {d} columns: RDA or shrinkage."
            )
        else:
            break
        found.append(Finding("class size", name, rows / d, None, reading + cure))
    if found:
        return found
    least = float(weights[there].min())
    reading = f"The smallest class has {least:,.0f} rows for {d} columns: enough."
    return [Finding("class size", "all classes", least / d, None, reading)]


def error_of_priors(model: Any) -> Finding:
    K, rows = len(model.classes_), float(model.class_count_.sum())
    if not free_priors(model.state_.spec.prior_setting, K):
        return does_not_apply("prior error", "the priors are given, not estimated")
    error = prior_error(rows, DELTA, K)
    c = int(np.argmin(model.class_prior_))
    least, name = float(model.class_prior_[c]), model.stats_.axes.groups.name(c)
    reading = f"With 95 % confidence the {K} priors are within ±{error:.2g} of the truth; the "
    reading += f"smallest, of {name}, is {least:.2g}: "
    if error >= least:
        reading += "it could be next to nothing; give priors= if you know them better."
    else:
        reading += "roughly known." if 4 * error > least else "well known."
    return Finding("prior error", "all classes", error, None, reading)
