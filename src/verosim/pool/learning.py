"""Learns a pool: experts predict rows that they were not fitted on, and this gives the weights."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes import Groups
from verosim.data.blocks import Folds
from verosim.data.clusters import check_is_here
from verosim.data.folds import GivenFolds, GroupFolds, Partition
from verosim.data.labels import encode_labels
from verosim.data.near_names import check_in_table
from verosim.data.same_rows import reason_to_leave_out
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.data.tables import FIRST_LOOK_ROWS
from verosim.engines import one_blas_thread, summarise
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.checks import generator
from verosim.folds import first_warning_only, splits
from verosim.folds.inputs import brought_if_small
from verosim.folds.splits import groups_of_rows, number_of_folds
from verosim.kinds.first_rows import FirstRows
from verosim.models import Inputs, State, derive, open_rows
from verosim.models.learning import derived_from
from verosim.models.structure import UNKNOWN_ROWS
from verosim.pool.counted_trial import CountedTrial
from verosim.pool.experts import Expert, ExpertGroup, as_experts, grouped
from verosim.pool.held_out import held_out_part
from verosim.pool.rows import HeldOutPart, PoolRows, hashed, joined, read_rows
from verosim.pool.spec import PoolSpec
from verosim.pool.splitting import rows_per_class, trial_of, with_held_out
from verosim.pool.texts import completed, divided, mean_bytes
from verosim.pool.trial import Trial
from verosim.pool.tried_experts import (
    TriedExperts,
    learn_mixing,
    no_expert,
    try_experts,
    with_log_density,
)
from verosim.pool.weighted_pairs import MOST_PAIRS
from verosim.stats import Statistic

MOST_EVIDENCE_NUMBERS = 4_000_000  # rows × classes × columns and pairs
MOST_GROUPS = 1 << 16  # hashes of groups that are distinguished


def learn_pool(
    spec: PoolSpec,
    inputs: Inputs,
    groups: Any = None,
    like: State | None = None,
    classes: Any = None,
) -> State:
    """The state of a pool: the sums of its experts, and what was learned on held-out rows.

    `groups` has one entry per row, or is the name of a column. Rows of one group are in the same
    fold. With `like`, the schema and the experts are those of another pool. `classes` are labels
    that may appear later. Experts and folds may repeat a warning, and only the first one is shown.
    """
    spec.check()
    start = time.perf_counter()
    if not isinstance(spec.random_state, int):
        seed = int(generator(spec.random_state).integers(1 << 32))
        spec = replace(spec, random_state=seed)
    # Our own threads call BLAS, and many of its problems are too small for threads.
    with first_warning_only(), one_blas_thread:
        state = _learned(spec, inputs, groups, like, classes, start)
    if not state.tuned["report"].complete:
        warn("The fit was interrupted, and the pool has only the experts so far.", VerosimWarning)
    return state


def _learned(
    spec: PoolSpec, inputs: Inputs, groups: Any, like: State | None, classes: Any, start: float
) -> State:
    if like is not None:
        assert isinstance(like.spec, PoolSpec)
        spec = replace(spec, members=like.spec.members, keep="all")
        inputs = replace(inputs, schema=like.schema)
    inputs = brought_if_small(inputs)
    named = tuple(name for name in (groups, spec.cv) if isinstance(name, str))
    opened = open_rows(
        replace(spec, unsettled=True), replace(inputs, ignored=(*inputs.ignored, *named)),
        classes=classes,
    )  # fmt: skip
    source, schema = opened.source, opened.schema
    assert schema is not None
    first = spec if spec.members else replace(spec, members=_experts(spec, schema))
    schema, first, unreadable = _described(first, schema, source)
    source = source.read_by(first.reader(schema))
    rows, count = _rows_in_folds(spec, source, schema, groups)
    asked = spec.members or _experts(
        spec, schema, rows.count, len(rows.groups.classes), mean_bytes(rows)
    )
    left_out = {e.name: unreadable[e.reading] for e in asked if e.reading in unreadable}
    left_out |= _without_folds(asked)
    spec = replace(spec, members=tuple(e for e in asked if e.name not in left_out))
    if not spec.members:
        raise no_expert(left_out)
    rows = divided(rows, spec.members)
    schema = completed(schema, rows, spec.members)
    every = grouped(spec.members)
    trial = trial_of(every, schema, rows, spec.random_state, count)
    out = left_out | trial.left_out | _with_much_evidence(every, trial)
    tried = TriedExperts(trial, left_out=out)
    every = [group.without(out) for group in every]
    until = None if spec.time_limit is None else start + spec.time_limit
    try_experts(tried, every, until, chosen=spec.given is None and like is None)
    mixing, report = learn_mixing(spec, tried, asked, _not_read(schema, spec))
    mixing = mixing if spec.keep == "all" else mixing.kept()
    members = tuple(expert for expert in tried.experts if expert.name in mixing.names)
    report = with_log_density(report, tried, members, mixing)
    statistic: Statistic = tried.statistic(members)
    if source.passes == 1:  # the experts have seen only the first rows
        reader = replace(spec, members=members).reader(trial.schema)
        statistic = summarise(source.read_by(reader), statistic.zero())
        mixing = replace(mixing, rows=float(statistic.weight.sum()))
    tuned = {"members": members, "mixing": mixing, "report": report}
    if classes is None:
        return derived_from(spec, statistic, trial.schema, tuned)
    every_class = statistic.axes.groups.union(Groups(encode_labels(classes)[1]))
    statistic = statistic.align(statistic.axes.with_groups(every_class))
    return derive(spec, statistic, trial.schema, tuned, streaming=True)


def _rows_in_folds(
    spec: PoolSpec, source: RowSource, schema: Schema, groups: Any
) -> tuple[PoolRows | HeldOutPart, int | None]:
    """The rows, with their folds if these are given, and the number of folds that is wanted."""
    count = None if spec.cv is None else number_of_folds(spec.cv)
    if spec.cv is None or count is not None:
        folds = folds_of(groups, schema, source.rows)
        if folds is not None or count is not None:
            _check_is_here(source, "groups" if count is None else f"cv={count}")
        rows = _rows(source if folds is None else source.folded(folds), spec.random_state)
        if isinstance(rows, PoolRows):
            rows = with_held_out(rows, count)
            rows = rows.in_order() if rows.held is None else rows
        return rows, count
    _check_is_here(source, "cv")
    given = splits.folds_of_source(spec.cv, source, None, groups)
    if not isinstance(given, Partition):
        shown = f"cv={spec.cv!r} does" if isinstance(spec.cv, str) else "These folds do"
        raise VerosimError(
            f"A pool needs folds that hold out each row exactly once, and {shown} not.",
            "Use a number of folds, or compare textbook models: auto(…, simple=True).",
        )
    rows = _rows(source.folded(given), spec.random_state)
    assert isinstance(rows, PoolRows)
    return replace(rows.in_order(), are_folds=True), None


def _experts(
    spec: PoolSpec, schema: Schema, rows: int = UNKNOWN_ROWS, classes: int = 2, text: float = 0.0
) -> tuple[Expert, ...]:
    """The given experts, or those for the table, with texts of this mean size."""
    models = spec.given
    if models is None:
        models = spec.usual_experts(schema, rows, classes, text)
    return as_experts(models)


def _described(
    spec: PoolSpec, schema: Schema, source: RowSource
) -> tuple[Schema, PoolSpec, dict[str, str]]:
    """The schema with what the experts need, the experts that can read the table, and the ways of
    reading that are not possible, with the reason."""
    members, unreadable, first = [], {}, FirstRows(source.table, source.weights)
    for expert in spec.members:
        try:
            found = expert.spec.look_closer(schema, first)
            expert.spec.reader(found)
        except VerosimError as error:
            unreadable[expert.reading] = reason_to_leave_out(error)
        else:
            schema = found
            members.append(expert)
    if not members:
        raise no_expert({e.name: unreadable[e.reading] for e in spec.members})
    return schema, replace(spec, members=tuple(members)), unreadable


def _without_folds(experts: Sequence[Expert]) -> dict[str, str]:
    """The experts that cannot be fitted without some rows, with the reason."""
    why = "Its settings or its rows are chosen from all rows, so no rows can be held out."
    return {e.name: why for e in experts if not (e.spec.is_decomposable or e.spec.needs_rows)}


def _with_much_evidence(every: Sequence[ExpertGroup], trial: Trial) -> dict[str, str]:
    """The experts that would learn weights from too many numbers, with the reason."""
    numbers = len(trial.codes) * len(trial.classes) * (len(trial.schema.cells) + MOST_PAIRS)
    if numbers <= MOST_EVIDENCE_NUMBERS:
        return {}
    why = (
        f"The evidence of {len(trial.codes):,} held-out rows for {len(trial.classes):,} classes "
        f"needs {numbers:,} numbers, and at most {MOST_EVIDENCE_NUMBERS:,} are allowed."
    )
    experts = (expert for group in every for expert in group.experts)
    return {expert.name: why for expert in experts if expert.spec.learns_in_pool}


def _not_read(schema: Schema, spec: PoolSpec) -> dict[str, str]:
    """The columns that no expert reads, with the reason."""
    read = {name for expert in spec.members for name in expert.spec.columns_read(schema)}
    return {
        column.name: f"No expert reads columns of kind {column.density}."
        for column in schema.used
        if column.name not in read
    }


def folds_of(groups: Any, schema: Schema, rows: int | None) -> Folds | None:
    """Rows of one group are in the same fold. `rows` is the number of rows if it is known."""
    if groups is None:
        return None
    if isinstance(groups, str):
        if groups == schema.target:
            raise VerosimError(
                f"{groups!r} is the target, so it cannot define the groups.",
                "Use another column, or give an array of groups.",
            )
        check_in_table(groups, schema.names, "column of groups")
        return GroupFolds(groups, MOST_GROUPS, frozenset(schema.na))
    codes, names = encode_labels(groups_of_rows(groups, rows))
    return GivenFolds(codes.astype(np.int32), max(2, len(names)))


def _rows(source: RowSource, seed: Any) -> PoolRows | HeldOutPart:
    """The rows to learn from: the first ones of a source that can be read only once."""
    number = int(np.random.default_rng(seed).integers(1 << 32))
    if source.passes == 1:
        first = hashed(source, number).first(FIRST_LOOK_ROWS)
        return joined([chunk.batch() for chunk in first], source.folds)
    return read_rows(source, number) or held_out_part(source, rows_per_class, number)


def _check_is_here(source: RowSource, what: str) -> None:
    """Raise an error if the rows are on a cluster, where folds cannot be taken out of them."""
    instead = "Leave it out, so that rows are held out by their hashes."
    check_is_here(source, f"A pool with {what}", instead)


def reweighed(spec: PoolSpec, state: State, inputs: Inputs, counted: bool) -> State:
    """The same sums with a new mixing, learned on these rows.

    If the rows are `counted` in the sums, each fold is subtracted before it is predicted.
    """
    pool = spec.resolved(state.tuned)
    if counted:
        pool.check_updates("reweigh(counted=True)")
    seed = int(generator(pool.random_state).integers(1 << 32))
    opened = open_rows(pool, brought_if_small(inputs), state)
    every = grouped(pool.members)
    rows = _rows(opened.source, seed)
    some = rows.in_order() if isinstance(rows, PoolRows) else rows.held
    trial = CountedTrial(state, some, seed, counted)
    tried = TriedExperts(trial)
    with first_warning_only():
        try_experts(tried, every)
    mixing, report = learn_mixing(pool, tried, pool.members, _not_read(trial.schema, pool))
    report = with_log_density(report, tried, tried.experts, mixing)
    tuned = {"members": tuple(tried.experts), "mixing": mixing, "report": report}
    return derive(spec, state.statistic, state.schema, tuned, streaming=True)
