"""A pool of models of texts, as a spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.schema import Schema
from verosim.data.tables import Table
from verosim.estimators.text import documents_of, look_for_texts, texts_of
from verosim.pool.spec import PoolSpec
from verosim.pool.text_experts import text_experts


@dataclass(frozen=True, eq=False, kw_only=True)
class TextPoolSpec(PoolSpec):
    """The settings of a pool of models of texts."""

    @property
    def is_density(self) -> bool:
        return False

    def as_model(self) -> Any:
        from verosim.pool.text_pool import TextPool

        effort: Any = self.effort
        keep: Any = self.keep
        return TextPool(self.given, effort, keep=keep)

    def usual_experts(self, schema: Schema, rows: int, classes: int, text: float) -> list[Any]:
        return text_experts(self.effort, rows, text)

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        return look_for_texts(table, target, **given)

    def value_matrix(self, X: Any) -> np.ndarray:
        return texts_of(documents_of(X))
