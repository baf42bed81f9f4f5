"""Do the parts of a model fit each other: its sums, its schema and its decision rule?

    columns that the reader gives = columns of the sums = columns of the rule

Compiled loops trust this, so a file in which it is not true is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Axes, CellCodes, Columns, Groups
from verosim.axes.contexts import ContextCodes
from verosim.bayes.rule import Decision
from verosim.data.adapters import open_table
from verosim.data.schema import Schema
from verosim.data.sources import rows_in_memory
from verosim.data.stream import rows_of_table
from verosim.errors import VerosimError
from verosim.files.shapes import sizes_of
from verosim.models import Spec
from verosim.stats.codec import DATA_ERRORS
from verosim.stats.plain_trees import damaged


def check_sums_fit(spec: Spec, statistic: Any, schema: Schema | None) -> None:
    """Raise an error unless the reader of the model gives the columns of its sums."""
    if statistic.axes.size("class") < 1:
        raise damaged("it has no class")
    if schema is None:
        if has_parts(statistic) or spec.reads_only_tables:
            raise damaged("the model has no schema")
        _check_kind_of_sums(spec, statistic)
        return
    reader = spec.reader(schema)
    axes = Axes(statistic.axes.groups, reader.columns)
    try:
        empty = open_table({name: [] for name in reader.names})
        plan: Any = spec.plan(axes, rows_of_table(empty, reader, None, None))
    except LookupError as error:
        raise damaged("its schema does not have what the model chose") from error
    except (VerosimError, *DATA_ERRORS):  # the plan depends on rows, as bins do
        plan = None
    if plan is None:
        check_block_columns(statistic, reader.columns)
        _check_kind_of_sums(spec, statistic)
    else:
        _check_same_layout(plan, statistic)


def _check_kind_of_sums(spec: Spec, statistic: Any) -> None:
    """Raise an error unless the sums are those that the model counts in rows of an array."""
    plan = _plan_of_arrays(spec, statistic.axes.groups, statistic.axes.columns)
    if plan is not None and plan.sums_of != statistic.sums_of:
        raise damaged("its sums are not those of the model")


def _plan_of_arrays(spec: Spec, groups: Groups, columns: Columns) -> Any:
    """The zero statistic of an array of one column, or of these columns; None if there is none."""
    tried = ((Columns(1), np.array([[0.0], [1.0]])), (columns, np.zeros((0, columns.size))))
    for some, rows in tried:
        X: Any = ["a", "b"][: len(rows)] if spec.reads_texts else rows
        source = rows_in_memory(X, np.zeros(len(rows), dtype=np.int32))
        try:
            return spec.plan(Axes(groups, some), source)
        except (VerosimError, *DATA_ERRORS):  # bins may be given for all columns
            continue
    return None


def check_block_columns(statistic: Any, columns: Columns) -> None:
    """Raise an error unless a statistic without parts has these columns."""
    if has_parts(statistic) or statistic.block_columns != columns.size:
        raise damaged("its sums do not have the columns of its schema")


def _check_same_layout(plan: Any, statistic: Any) -> None:
    if has_parts(plan) != has_parts(statistic):
        raise damaged("its sums do not have the kinds of its columns")
    if has_parts(plan):
        if list(plan.parts) != list(statistic.parts):
            raise damaged("its sums do not have the kinds of its columns")
        for name, part in plan.parts.items():
            _check_same_layout(part, statistic.parts[name])
        return
    mine, theirs = plan.axes, statistic.axes
    same = mine.columns.size == theirs.columns.size and type(mine.codes) is type(theirs.codes)
    same &= plan.block_columns == statistic.block_columns
    if not same or plan.sums_of != statistic.sums_of:
        raise damaged("its sums do not have the columns of its schema")
    if isinstance(mine.codes, CellCodes | ContextCodes):
        mine.codes.union(theirs.codes, mine.columns)  # an error if bins or parents differ


def check_rule_fits(rule: Decision, statistic: Any, spec: Spec) -> None:
    """Raise an error unless a rule is one of the model, and has the classes and columns of sums."""
    if len(rule.log_prior) != statistic.axes.size("class"):
        raise damaged("its rule does not have the classes of its sums")
    if rule.columns.size != statistic.axes.columns.size:
        raise damaged("its rule does not have the columns of its sums")
    check_params_fit(rule.params, statistic, spec)


def check_params_fit(params: Any, statistic: Any, made_by: Any) -> None:
    """Raise an error unless a model or a density makes such parameters from such sums.

    What it makes is what its `estimate` declares.
    """
    known = type(made_by).estimate.__annotations__["return"]
    if known == "Any":  # the density of a model makes them
        made_by = made_by.density
        known = type(made_by).estimate.__annotations__["return"]
    if type(params).__name__ not in known.split(" | "):
        raise damaged("the parameters of its rule are those of another model")
    sizes = sizes_of(params)
    if sizes.get("C", statistic.axes.size("class")) != statistic.axes.size("class"):
        raise damaged("its rule does not have the classes of its sums")
    check = PARTS_OF_RULES.get(type(params).__name__, _check_one)
    check(params, statistic, made_by)


def _check_one(params: Any, statistic: Any, made_by: Any) -> None:
    size = statistic.block_columns
    if has_parts(statistic) or sizes_of(params).get("d", size) != size:
        raise damaged("its rule does not have the columns of its sums")


def _check_full(params: Any, statistic: Any, made_by: Any) -> None:
    _check_one(params, statistic, made_by)
    pooling = getattr(made_by, "pooling", "auto")  # "auto" is chosen from the sums
    if not isinstance(pooling, str) and params.shared != (pooling == 1):
        raise damaged("its covariances are not those of its settings")


def _check_lifted(params: Any, statistic: Any, made_by: Any) -> None:
    if has_parts(statistic) or params.lift.columns != statistic.block_columns:
        raise damaged("its rule does not have the columns of its sums")


def _check_product(params: Any, statistic: Any, made_by: Any) -> None:
    if not has_parts(statistic) or params.parts.keys() != statistic.parts.keys():
        raise damaged("its rule does not have the kinds of its columns")
    _check_parts(params, statistic, made_by)


def _check_parts(params: Any, statistic: Any, made_by: Any) -> None:
    for name, part in params.parts.items():
        if params.kinds[name] not in made_by.parts:
            raise damaged("its rule does not have the kinds of its columns")
        check_params_fit(part, statistic.parts[name], made_by.parts[params.kinds[name]])


def _check_paired(params: Any, statistic: Any, made_by: Any) -> None:
    """The sums of pairs are one more part, and its codes are those of the interactions."""
    more = set(statistic.parts) - set(params.parts) if has_parts(statistic) else set()
    found = params.interactions
    if len(more) != 1 or not set(params.parts) <= set(statistic.parts):
        raise damaged("its rule does not have the kinds of its columns")
    if found is not None and found.codes.columns_of() != statistic.parts[more.pop()].block_columns:
        raise damaged("its rule does not have the columns of its sums")
    _check_parts(params, statistic, made_by)


def _check_pool(params: Any, statistic: Any, made_by: Any) -> None:
    from verosim.pool.pool_statistic import part_of_pool

    for expert in params.members:
        sums = part_of_pool(statistic, expert.part)
        check_rule_fits(params.rules[expert.name], sums, expert.spec)


# The parameters that are not those of the columns of one statistic.
PARTS_OF_RULES = {
    "PoolParams": _check_pool,
    "ProductParams": _check_product,
    "PairedParams": _check_paired,
    "LiftedScores": _check_lifted,
    "FullParams": _check_full,
}


def has_parts(statistic: Any) -> bool:
    """Whether a statistic has parts with columns of their own."""
    return bool(statistic.sums_of == "parts")


def check_features_fit(by: Any, statistic: Any) -> None:
    """Raise an error unless the features of a twin are those of the columns of its model."""
    from verosim.densities.features import Deviations, Indicators, SideBySide

    wrong = damaged("the features of a twin are not those of its model")
    if len(by.names) != by.coef.shape[1] or len(by.scale) != by.coef.shape[1]:
        raise wrong
    if isinstance(by, SideBySide):
        if not has_parts(statistic) or by.parts.keys() != statistic.parts.keys():
            raise wrong
        for name, part in by.parts.items():
            check_features_fit(part, statistic.parts[name])
    elif isinstance(by, Deviations | Indicators):
        size = len(by.pivot) if isinstance(by, Deviations) else by.codes.columns_of()
        if size != statistic.axes.columns.size:
            raise wrong
