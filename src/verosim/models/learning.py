"""Learning by sums. Each function computes a statistic and derives the state from it.

    learn          T(rows)
    add_rows       T + T(rows)
    forget_rows    T − T(rows)
    decay          T × factor
    merge          T + T(other model)
    prune          T without rare values

Here T is the statistic of a model, and T(rows) is the statistic of the given rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from verosim.arguments import finite
from verosim.axes.groups import plain_label
from verosim.data.labels import check_known
from verosim.data.source import RowSource
from verosim.engines import summarise
from verosim.errors import PrecisionWarning, VerosimError, VerosimWarning, warn
from verosim.kinds.missing_marks import LABEL_MARKS
from verosim.models.opening import Inputs, Opened, open_rows
from verosim.models.spec import Spec
from verosim.models.state import State, derive
from verosim.stats import Statistic

FEW_DIGITS = 8  # with fewer correct digits of a variance, forgetting issues a warning


def learn(spec: Spec, inputs: Inputs) -> State:
    """Fit to rows. Earlier rows are not used. Most models need one pass."""
    opened = open_rows(spec, inputs)
    source = spec.counted_rows(opened.source, opened.plan.axes.groups)
    statistic = summed(source, opened.plan)
    found = spec.found_in_rows(source, statistic)
    return derived_from(spec, statistic, opened.schema, found)


def derived_from(
    spec: Spec, statistic: Statistic, schema: Any, tuned: dict[str, Any] | None = None
) -> State:
    """The state of a first fit. A target column must have at least two classes."""
    if schema is not None and schema.target is not None:
        _check_two_classes(statistic, schema.target)
        _warn_of_marks(statistic, schema.target)
    return derive(spec, statistic, schema, tuned)


def summarise_rows(spec: Spec, opened: Opened) -> Statistic:
    """The statistic of the rows with positive weight."""
    return summed(spec.counted_rows(opened.source, opened.plan.axes.groups), opened.plan)


def summed(source: RowSource, plan: Statistic) -> Statistic:
    """The statistic of rows. There must be at least one row with positive weight."""
    statistic = summarise(source, plan)
    if not statistic.rows.any():
        raise no_weighted_rows()
    return statistic


def no_weighted_rows() -> VerosimError:
    """The error for a table that has no rows, or no rows with positive weight."""
    return VerosimError(
        "The table has no rows with positive weight.", "Check the table and the column of weights."
    )


def _check_two_classes(statistic: Statistic, target: str) -> None:
    """Raise an error if the target column has fewer than two classes."""
    rows = statistic.rows.sum(axis=1)
    classes = statistic.axes.groups.classes[rows > 0]
    if len(classes) < 2:
        raise VerosimError(
            f"The target {target!r} is {plain_label(classes[0])!r} in all {int(rows.sum()):,} "
            "rows.",
            "Use a target column with two classes or more.",
        )


def _warn_of_marks(statistic: Statistic, target: str) -> None:
    """Warn if a class has a name that often means missing."""
    classes = statistic.axes.groups.classes.tolist()
    for label, rows in zip(classes, statistic.rows.sum(axis=1).tolist(), strict=True):
        if label in LABEL_MARKS and rows:
            warn(
                f"The target {target!r} has the class {label!r} with {int(rows):,} rows, which "
                f'often means missing. If so, use na=[{label!r}] and unlabelled="skip".',
                VerosimWarning,
            )


def add_rows(spec: Spec, state: State | None, inputs: Inputs, classes: Any = None) -> State:
    """The state after rows are added. The state is None at the first call. Classes may be new."""
    if state is None and spec.learns_weights:
        first: State = spec.learned(inputs, classes)
        return first
    if state is None:
        opened = open_rows(spec, inputs, classes=classes)
        return derive(spec, summarise_rows(spec, opened), opened.schema, streaming=True)
    known, spec = state.current, spec.resolved(state.tuned)
    spec.check_updates("partial_fit")
    opened = open_rows(spec, inputs, replace(state, statistic=known.unplaced()), classes)
    part = summarise_rows(spec, opened)
    tuned = spec.updated(state.tuned, float(part.weight.sum()))
    total = (known + part).recentred()
    if opened.schema is not None:
        from verosim.models.stream_start import warn_of_few_rows, warn_of_fixed

        warn_of_fixed(opened.schema, opened.source)
        warn_of_few_rows(spec, opened.schema, known, total)
    return derive(spec, total, opened.schema, tuned, streaming=True)


def sums_of_rows(spec: Spec, state: State, inputs: Inputs) -> Statistic:
    """The statistic of other rows, with the bins, parents and terms of the model."""
    spec = spec.resolved(state.tuned)
    opened = open_rows(spec, inputs, replace(state, statistic=state.current.unplaced()))
    return summarise_rows(spec, opened)


def forget_rows(spec: Spec, state: State, inputs: Inputs) -> State:
    """The state of the remaining rows."""
    known, spec = state.current, spec.resolved(state.tuned)
    spec.check_updates("forget")
    opened = open_rows(spec, inputs, replace(state, statistic=known))
    part = summarise_rows(spec, opened)
    check_known(part.axes.groups.classes[part.rows.sum(axis=1) > 0], state.classes)
    rest = known.without(part).without_traces()
    if not rest.rows.any():
        raise VerosimError(
            "Every row would be forgotten, and a model without rows cannot predict.",
            "Keep some rows, or fit a new model.",
        )
    _warn_of_lost_digits(rest)  # before any change, because a filter may make it an error
    tuned = spec.updated(state.tuned, float(part.weight.sum()))
    tuned = spec.for_classes(tuned, rest.axes.groups.classes)
    schema = opened.schema
    if schema is not None:
        from verosim.kinds.forgotten_values import without_forgotten

        schema, rest = without_forgotten(schema, rest)
    return derive(spec, rest, schema, tuned, streaming=True)


def prune(spec: Spec, state: State, min_count: float) -> State:
    """The state without categories and tokens that have a smaller count."""
    from verosim.kinds.forgotten_values import has_values, without_forgotten

    schema, statistic = state.schema, state.statistic
    finite("min_count", min_count, least=0)
    in_schema = schema is not None and has_values(schema)
    if not in_schema and not any(leaf.has_values for leaf in statistic.leaves()):
        raise VerosimError(
            f"This {spec.name} has no categories or tokens, so nothing can be pruned.",
            "Use prune with a model of categories or texts.",
        )
    rest = statistic.pruned(float(min_count)).without_traces()
    if schema is not None:
        schema, rest = without_forgotten(schema, rest, float(min_count))
    return derive(spec, rest, schema, state.tuned, streaming=True)


def decay(spec: Spec, state: State, factor: float) -> State:
    """The state with every weight multiplied by the factor."""
    if not isinstance(factor, int | float | np.number) or not 0 < factor <= 1:
        raise VerosimError(
            f"The factor of decay must be a number above 0 and at most 1; got {factor!r}."
        )
    return derive(spec, state.current * factor, state.schema, state.tuned, streaming=True)


def merge(spec: Spec, state: State, other: State) -> State:
    """The state of the rows of both states, with the settings of the first."""
    for one in (state, other):
        one.spec.check_updates("merge")
    state.spec.check_merges(other.spec)
    mine, theirs = state.schema, other.schema
    if mine is not None and theirs is not None:
        mine.check_merges(theirs)
    elif mine is not None or theirs is not None:
        raise VerosimError(
            "One model was fitted on a table, the other on arrays.",
            "Fit both models on tables, or both on arrays.",
        )
    rows = (float(one.statistic.weight.sum()) for one in (state, other))
    tuned = state.spec.merged(other.spec, *rows) or state.tuned
    first, second = state.current, spec.view(other.statistic)
    if mine is None or theirs is None:
        return derive(spec, first + second, None, tuned, streaming=True)
    from verosim.kinds import forgotten_values

    schema = forgotten_values.joined_schema(mine, theirs)
    first = first.renamed(forgotten_values.new_names(mine, schema))
    total = first + second.renamed(forgotten_values.new_names(theirs, schema))
    if any(map(forgotten_values.has_hashes, (mine, theirs))):  # a lost value gets no name again
        schema, total = forgotten_values.without_forgotten(schema, total.without_traces())
    return derive(spec, total, schema, tuned, streaming=True)


def _warn_of_lost_digits(statistic: Statistic) -> None:
    """Warn if a subtraction left few correct digits of a variance."""
    for leaf in statistic.leaves():
        digits = leaf.digits()
        if digits is None or not (digits < FEW_DIGITS).any():
            continue
        groups, columns = leaf.axes.groups, leaf.axes.columns
        c, j = (int(v) for v in np.argwhere(digits == digits.min())[0])
        whose = f"class {groups.name(c)}" if len(digits) == len(groups.classes) else "all classes"
        warn(
            f"Column {columns.name(j)!r}, {whose}: the forgotten values were so large that only "
            f"about {max(digits[c, j], 0):.0f} digits of the variance are correct. "
            "Fit again on the remaining rows.",
            PrecisionWarning,
        )
