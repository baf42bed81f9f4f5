"""Fitting: one pass over the rows, and before it the choice of settings with the value "cv"."""

from __future__ import annotations

from verosim.models import Inputs, Spec, State, learn
from verosim.models.learning import derived_from, summarise_rows
from verosim.models.opening import open_rows


def fit(spec: Spec, inputs: Inputs) -> State:
    """The state of all rows. Settings with the value "cv" are chosen first on held-out rows."""
    if spec.learns_weights:
        state: State = spec.learned(inputs)
        return state
    if not spec.open_settings:
        return learn(spec, inputs)
    from verosim.folds.tuning import tune  # most fits choose nothing

    tuned, holdout = tune(spec, inputs)
    if spec.resolved(tuned).is_decomposable:
        return derived_from(spec, holdout.total, holdout.schema, tuned)
    opened = open_rows(spec, inputs)
    return derived_from(spec, summarise_rows(spec, opened), opened.schema, tuned)
