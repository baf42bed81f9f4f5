"""Independent parts: log p(x | k) = Σ_parts log p(x_part | k)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.densities.base import Density, Params
from verosim.errors import VerosimError
from verosim.stats import Product


@dataclass(frozen=True)
class ProductParams(Params):
    parts: Mapping[str, Params]

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return sum(part.n_parameters for part in self.parts.values())

    def read(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        return {name: part.read(rows[name]) for name, part in self.parts.items()}

    def log_density(self, block: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
        total = sum(part.log_density(block[name]) for name, part in self.parts.items())
        assert isinstance(total, np.ndarray)
        if out is not None:
            out[...] = total
        return total

    def contributions(self, block: Mapping[str, Any]) -> np.ndarray:
        return np.concatenate(
            [part.contributions(block[name]) for name, part in self.parts.items()], axis=2
        )

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> Any:
        return {name: part.sample(classes, rng) for name, part in self.parts.items()}

    def marginal(self, columns: Any) -> ProductParams:
        """`columns` maps a part's name to its columns; a part left out is marginalised whole."""
        return ProductParams({name: self.parts[name].marginal(at) for name, at in columns.items()})

    def log_likelihood(self, statistic: Product) -> np.ndarray:
        return np.sum(
            [part.log_likelihood(statistic.parts[name]) for name, part in self.parts.items()],
            axis=0,
        )


@dataclass(frozen=True)
class ProductDensity(Density):
    parts: Mapping[str, Density]

    def estimate(self, statistic: Product) -> ProductParams:
        if self.parts.keys() != statistic.parts.keys():
            raise VerosimError(
                f"Densities for {sorted(self.parts)}, statistics of {sorted(statistic.parts)}.",
                "give every part one density.",
            )
        return ProductParams(
            {name: part.estimate(statistic.parts[name]) for name, part in self.parts.items()}
        )
