"""A pool written as a spec: all experts are counted in one pass, and merge and forget as one sum.

    statistic of a pool = (statistic of every expert)

Experts that read the table in the same way share the reading, and experts that count the same share
the statistic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim.arguments import finite, one_of
from verosim.axes import Axes
from verosim.bayes.rule import Decision, Rule
from verosim.cached import cached_property
from verosim.data.readers import Reader
from verosim.data.schema import Schema, with_kinds
from verosim.data.tables import Table
from verosim.densities import Density
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.robust import Refused
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.histogram import HISTOGRAM
from verosim.kinds.look import full_look
from verosim.kinds.reader import MixedReader
from verosim.models import Inputs, Spec, State
from verosim.models.spec import LabelledTable
from verosim.pool.experts import Expert, as_experts, experts_for, one_line
from verosim.pool.mixing import Mixing
from verosim.pool.params import PoolParams
from verosim.pool.pool_statistic import PartKey, part_of_pool, pool_statistic
from verosim.pool.rows import PoolReader, Reading
from verosim.pool.weighted_pairs import WeightedPairsSpec
from verosim.stats import Counts, Product, Several, Statistic

EFFORTS = ("fast", "default", "max")
KEEP = ("used", "all")
BY_EXPERTS = "the experts choose the density"  # the reason for the kind of a number
ROWS = "rows"  # the way of reading of a pool without experts
LIKE_HINT = "Fit the second pool with the schema and the experts of the first: auto(…, like=pool)."
LEARNED = ("members", "mixing", "report")  # what `fit` learns in addition to the sums


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolSpec(Spec):
    """The settings of a pool, and its experts once they are known."""

    given: Any = None  # the experts that the user gave
    cv: Any = None
    effort: str = "default"
    columns: Any = "auto"
    keep: str = "used"
    time_limit: float | None = None
    random_state: Any = 0
    members: tuple[Expert, ...] = ()
    fitted_members: tuple[Expert, ...] = ()  # of the model, before its members are known here
    mixing: Mixing | None = None
    report: Any = None  # the table of all experts that were tried
    unsettled: bool = False  # whether nothing is chosen for the experts yet

    reads_values = True
    reads_only_tables = True

    def check(self) -> None:
        """Check the settings."""
        one_of("effort", self.effort, EFFORTS)
        one_of("keep", self.keep, KEEP)
        if self.time_limit is not None:
            finite("time_limit", self.time_limit, least=0)
        if self.given is not None:
            check_experts(self.given)

    @property
    def learns_weights(self) -> bool:
        return self.mixing is None

    @property
    def is_decomposable(self) -> bool:
        return False  # the weights are learned on held-out rows

    @property
    def is_density(self) -> bool:
        """Whether some member is a density of the columns. Before `fit` it may be unknown: True."""
        found = self.known_members
        return not found or any(expert.is_density for expert in found)

    @property
    def known_members(self) -> tuple[Expert, ...]:
        """The members of the fitted pool, or else the given experts, or none."""
        if self.members or self.fitted_members:
            return self.members or self.fitted_members
        return () if self.given is None else as_experts(self.given)

    def as_model(self) -> Any:
        """The pool that is not fitted, with the settings that its table shows."""
        from verosim.pool.estimator import Pool

        effort: Any = self.effort
        keep: Any = self.keep
        return Pool(self.given, effort, self.columns, keep=keep)

    def usual_experts(self, schema: Schema, rows: int, classes: int, text: float) -> list[Any]:
        """The models for a table of this size, if the user gives none. `text` is the mean number
        of bytes of its texts."""
        return experts_for(self.effort, rows, classes, schema, text)

    @property
    def statistic_settings(self) -> dict[str, Any]:
        names = None if self.given is None else tuple(one_line(model) for model in self.given)
        return {"experts": names, "effort": self.effort, "columns": self.columns}

    def learned(self, inputs: Inputs, classes: Any = None) -> State:
        from verosim.pool.learning import learn_pool

        return learn_pool(self, inputs, classes=classes)

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        known = {name: tuned[name] for name in LEARNED if name in tuned}
        if not known:
            return self
        given = () if "members" in known else self.fitted_members
        return replace(self, **known, fitted_members=given)

    # Reading rows --------------------------------------------------------------------------

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        """The first look, without the choice of histograms, which uses the labels of all rows."""
        columns: Any = self.columns
        if not isinstance(columns, str):
            schema = full_look(table, target, columns=columns, **given)
            free = [c for c in schema.of(HISTOGRAM.name) if c.name not in columns]
        elif columns == "auto":
            schema = full_look(table, target, columns=GAUSSIAN.name, **given)
            free = list(schema.of(GAUSSIAN.name))
        else:
            return full_look(table, target, columns=columns, **given)
        return with_kinds(schema, {c.name: GAUSSIAN.name for c in free}, BY_EXPERTS)

    def settled(self, schema: Schema, rows: LabelledTable) -> Schema:
        for expert in () if self.unsettled else self.members:
            schema = expert.spec.settled(schema, rows)
        return schema

    def reader(self, schema: Schema) -> PoolReader:
        found: dict[str, Reader] = {}
        if not self.members and not self.unsettled:  # only folds are needed, by the cells of a row
            found[ROWS] = MixedReader(schema)
        for expert in () if self.unsettled else self.members:
            if expert.reading not in found:
                found[expert.reading] = expert.spec.reader(schema)
        return PoolReader(schema, found)

    def plan(self, axes: Axes, source: Any) -> Product:
        if not self.members or self.unsettled:
            return Several({ROWS: Counts(axes, what="presence")})
        plans: dict[PartKey, Statistic] = {}
        for expert in self.members:
            if expert.part not in plans:
                own: Any = Reading(source.reader.readers[expert.reading])
                plan = expert.spec.plan(Axes(axes.groups, own.reader.columns), own)
                plans[expert.part] = plan
        return pool_statistic(plans)

    # Estimating ------------------------------------------------------------------------------

    @cached_property
    def density(self) -> Density:
        raise VerosimError(
            "A pool combines several models, and it has no density of its own.",
            "Use one of its experts instead of the pool.",
        )

    def estimate(self, statistic: Any) -> PoolParams:
        assert self.mixing is not None
        rules: dict[str, Decision] = {}
        for expert in self.members:
            seen = expert.spec.view(part_of_pool(statistic, expert.part))
            seen = expert.spec.with_class_weights(seen, streaming=True)
            params = expert.spec.estimate_quietly(seen)
            rules[expert.name] = expert.spec.rule(params, seen, streaming=True)
        classes = statistic.axes.groups.classes
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        shares = replace(self, priors=None).log_prior(classes, weight, rows, streaming=True)
        return PoolParams(self.members, rules, self.mixing, classes, shares)

    def rule(self, params: Any, statistic: Statistic, streaming: bool = False) -> Decision:
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        log_prior = self.log_prior(params.classes, weight, rows, streaming)
        return Rule(log_prior, params, statistic.axes.columns)

    # Rows that are added and removed -----------------------------------------------------------

    def check_updates(self, verb: str) -> None:
        if self.effort == "max" and not self.known_members:
            raise Refused(
                f'{verb} is not available for a new pool with effort="max", because it may use '
                "models that need all rows.",
                'Call fit first, or use effort="default".',
            )
        for name, spec in ((expert.name, expert.spec) for expert in self.known_members):
            try:
                spec.check_updates(verb)
            except VerosimError as error:
                raise Refused(
                    f"{verb} is not available for this pool, because its expert {name} does not "
                    "allow it.",
                    f"Fit the pool again on all rows, or leave {name} out of experts.",
                ) from error

    def updated(self, tuned: Mapping[str, Any], changed: float) -> Mapping[str, Any]:
        mixing: Mixing = tuned["mixing"]
        after = replace(mixing, since=mixing.since + changed)
        _warn_if_old(after, [mixing])
        return {**tuned, "mixing": after}

    def for_classes(self, tuned: Mapping[str, Any], classes: np.ndarray) -> Mapping[str, Any]:
        members = tuple(replace(e, spec=e.spec.of_classes(classes)) for e in tuned["members"])
        return {**tuned, "members": members, "mixing": tuned["mixing"].of_classes(classes)}

    def check_merges(self, other: Spec) -> None:
        if not isinstance(other, PoolSpec):
            raise VerosimError(
                f"A pool can be merged only with another pool; got {other.name}.",
                "Merge models of the same kind.",
            )
        mine, theirs = ({expert.name for expert in spec.members} for spec in (self, other))
        if mine != theirs:
            apart = sorted(mine ^ theirs)[0]
            raise VerosimError(
                f"The two pools have different experts: only one of them has {apart}.",
                LIKE_HINT,
            )

    def merged(self, other: Spec, mine: float, theirs: float) -> dict[str, Any]:
        """What was learned, averaged by rows until `reweigh`."""
        assert isinstance(other, PoolSpec)
        assert self.mixing is not None
        assert other.mixing is not None
        given = {expert.name: expert for expert in other.members}
        members = tuple(
            replace(expert, spec=_averaged(expert.spec, given[expert.name].spec, mine, theirs))
            for expert in self.members
        )
        mixing = self.mixing.averaged(other.mixing.ordered(self.mixing.names), mine, theirs)
        _warn_if_old(mixing, [self.mixing, other.mixing])
        return {"members": members, "mixing": mixing, "report": self.report}


def _averaged(spec: Spec, other: Spec, mine: float, theirs: float) -> Spec:
    """The settings of an expert, with weights that are the mean of both."""
    if not isinstance(spec, WeightedPairsSpec) or not isinstance(other, WeightedPairsSpec):
        return spec
    return spec.averaged(other, mine / (mine + theirs))


def _warn_if_old(mixing: Mixing, before: Sequence[Mixing]) -> None:
    """Warn once, when too many rows have changed since the weights were learned."""
    if mixing.is_old and not any(one.is_old for one in before):
        warn(
            f"Rows with a total weight of {mixing.since:,.0f} were added or removed since the "
            f"weights of the experts were learned on {mixing.rows:,.0f}. Call reweigh(X, y) with "
            "recent rows to learn them again.",
            VerosimWarning,
        )


def check_experts(experts: Any) -> None:
    """Raise an error unless these are different models with a spec."""
    if isinstance(experts, str) or not isinstance(experts, Iterable):
        raise VerosimError(
            f"experts must be a list of generative classifiers or None; got {experts!r}.",
            "Use experts=[AODE(), KDB()].",
        )
    names: set[str] = set()
    for model in experts:
        if isinstance(model, type) or not callable(getattr(model, "spec", None)):
            raise VerosimError(
                f"experts must be generative classifiers; got {one_line(model)}.",
                "Use models such as AODE(), KDB(), LDA() or LiftedLDA().",
            )
        if one_line(model) in names:
            raise VerosimError(
                f"experts must be different models; got {one_line(model)} twice.",
                "Give each expert once.",
            )
        names.add(one_line(model))
    if not names:
        raise VerosimError(
            "experts must not be empty.", "Give at least one model, or None for the default."
        )
