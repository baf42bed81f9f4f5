"""Independent parts of a row, each with its own density, such as numbers and categories.

    log p(x | k) = Σ_parts log p(x_part | k)

Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Columns
from verosim.cached import cached_property
from verosim.data.sources import Parts
from verosim.densities.attribution import SHAPLEY, Attribution, AttributionRequest
from verosim.densities.base import Density, Params
from verosim.errors import VerosimError
from verosim.stats import Product

if TYPE_CHECKING:
    from verosim.densities.conditionals import ProductConditionals
    from verosim.densities.features import Expansion
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import Term


@dataclass(frozen=True)
class ProductParams(Params):
    """The parameters of all parts by name."""

    parts: Mapping[str, Params]
    columns: Mapping[str, Columns]  # the columns of each part, for messages
    kinds: Mapping[str, str]  # the kind of each part

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return sum(part.n_parameters for part in self.parts.values())

    @cached_property
    def has_compiled_ratio(self) -> bool:
        return all(part.has_compiled_ratio for part in self.parts.values())

    def read(self, rows: Mapping[str, Any]) -> Parts:
        return Parts({name: part.read(rows[name]) for name, part in self.parts.items()})

    def log_density(self, block: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
        return self._sum("log_density", block, out)

    def log_ratio(self, block: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
        return self._sum("log_ratio", block, out)

    def _sum(self, score: str, block: Mapping[str, Any], out: np.ndarray | None) -> np.ndarray:
        """(n, C) the sum of the scores of all parts. The first part writes into `out`."""
        total: np.ndarray | None = None
        for name, part in self.parts.items():
            if total is None:
                total = getattr(part, score)(block[name], out)
            else:
                total += getattr(part, score)(block[name])
        assert total is not None
        return total

    @property
    def generative(self) -> ProductParams:
        parts = {name: part.generative for name, part in self.parts.items()}
        if all(parts[name] is part for name, part in self.parts.items()):
            return self  # so that a rule computes posteriors and densities in one pass
        return replace(self, parts=parts)

    def contributions(self, block: Mapping[str, Any]) -> np.ndarray:
        return np.concatenate(
            [part.contributions(block[name]) for name, part in self.parts.items()], axis=2
        )

    def attribution(self, block: Mapping[str, Any], request: AttributionRequest) -> Attribution:
        """The parts are independent, so their columns stand side by side."""
        found = [
            part.attribution(block[name], replace(request, owner=None))
            for name, part in self.parts.items()
        ]
        first = np.concatenate([[0], np.cumsum([one.parts.shape[2] for one in found])])
        whole = Attribution(
            np.concatenate([one.parts for one in found], axis=2),
            next((one.kind for one in found if one.kind != SHAPLEY), SHAPLEY),
            {name: line for one in found for name, line in one.lines.items()},
            tokens=tuple(replace(terms, player=int(a) + terms.player)
                         for a, one in zip(first, found, strict=False) for terms in one.tokens),
        )  # fmt: skip
        return whole.by_owner(request.owner)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> Any:
        return {name: part.sample(classes, rng) for name, part in self.parts.items()}

    @property
    def conditionals(self) -> ProductConditionals:
        from verosim.densities.conditionals import ProductConditionals

        return ProductConditionals.of(self)

    def log_likelihood(self, statistic: Product) -> np.ndarray:
        return np.sum(
            [part.log_likelihood(statistic.parts[name]) for name, part in self.parts.items()],
            axis=0,
        )

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """Check each part; the part with a score that is not finite names the cell."""
        if np.isfinite(scores).all():
            return
        for name, part in self.parts.items():
            part.check(block[name], part.log_density(block[name]), self.columns[name], start)

    def impossible_cell(self, block: Any, columns: Columns) -> str:
        cells = (
            part.impossible_cell(block[name], self.columns[name])
            for name, part in self.parts.items()
        )
        return next(filter(None, cells), "")

    def undefined_cell(self, block: Any, columns: Columns) -> str:
        for name, part in self.parts.items():
            if cell := part.undefined_cell(block[name], self.columns[name]):
                return cell
        return ""

    @property
    def is_gaussian(self) -> bool:
        return any(part.is_gaussian for part in self.parts.values())

    def terms(self) -> tuple[Term, ...]:
        """The terms of all parts. The readings are the columns of all parts, one after another."""
        out, start = [], 0
        for name, part in self.parts.items():
            stop = start + len(self.columns[name])
            out += [term.moved(range(start, stop)) for term in part.terms()]
            start = stop
        return tuple(out)

    def expansion(self, statistic: Product) -> Expansion:
        from verosim.densities.features import SideBySide

        return SideBySide.of(
            {name: part.expansion(statistic.parts[name]) for name, part in self.parts.items()}
        )

    def named_parts(self) -> Iterator[tuple[str, Params]]:
        yield from self.parts.items()

    def column_parts(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        yield from ((self.kinds[part], names) for part, names in self.columns.items())


@dataclass(frozen=True)
class ProductDensity(Density):
    """One density per kind of part."""

    parts: Mapping[str, Density]

    def densities_of(self, statistic: Product) -> dict[str, Density]:
        """The density of each part, by the name of the part."""
        lost = [name for name, kind in statistic.kinds.items() if kind not in self.parts]
        if lost:
            raise VerosimError(
                f"The part {lost[0]!r} has no density; the known kinds are {sorted(self.parts)}.",
                "Give one density for each kind of part.",
            )
        return {name: self.parts[kind] for name, kind in statistic.kinds.items()}

    def checks(self, statistic: Product) -> bool:
        densities = self.densities_of(statistic)
        return all(density.checks(statistic.parts[name]) for name, density in densities.items())

    def estimate(self, statistic: Product) -> ProductParams:
        return ProductParams(
            {
                name: density.estimate(statistic.parts[name])
                for name, density in self.densities_of(statistic).items()
            },
            {name: part.axes.columns for name, part in statistic.parts.items()},
            statistic.kinds,
        )

    has_independent_columns = True  # a part without columns, such as a text, counts as one column

    @property
    def is_additive(self) -> bool:
        parts = self.parts.values()
        return all(part.is_additive for part in parts if part.has_independent_columns)

    def leave_one_out(self, statistic: Product) -> Scorer:
        """The sum of the leave-one-out scores of all parts."""
        scorers = {
            name: density.leave_one_out(statistic.parts[name])
            for name, density in self.densities_of(statistic).items()
        }

        def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
            found = [one(block[name], classes, weights) for name, one in scorers.items()]
            total: np.ndarray = np.sum(found, axis=0)
            return total

        return score
