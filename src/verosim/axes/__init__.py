"""The meaning of each coordinate of a statistic: classes, folds, columns and codes.

Axes are immutable values. Two statistics are added after both are moved to the union of their axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.bins import Bins, JointBins
from verosim.axes.capped_categories import CappedCategories, CodedColumns
from verosim.axes.cell_codes import CellCodes
from verosim.axes.codes import Categories, Codes
from verosim.axes.columns import Columns
from verosim.axes.contexts import ContextCodes
from verosim.axes.groups import Groups
from verosim.axes.state_checks import require
from verosim.axes.vocabulary import Hashed, TokenCodes, Vocabulary
from verosim.errors import VerosimError

__all__ = [
    "Axes",
    "Bins",
    "CappedCategories",
    "Categories",
    "CellCodes",
    "CodedColumns",
    "Codes",
    "Columns",
    "ContextCodes",
    "Groups",
    "Hashed",
    "JointBins",
    "TokenCodes",
    "Vocabulary",
]


@dataclass(frozen=True)
class Axes:
    """The named axes of a statistic: class × fold, column and, if values are coded, code."""

    groups: Groups
    columns: Columns
    codes: Codes | None = None

    def size(self, dim: str) -> int:
        return self.sizes()[dim]

    def sizes(self) -> dict[str, int]:
        """The size of each dimension by its name."""
        out = {
            "class": len(self.groups.classes),
            "fold": self.groups.folds,
            "column": self.columns.size,
        }
        if self.codes is not None:
            out["code"] = self.codes.size
        return out

    def union(self, other: Axes) -> Axes:
        """The smallest axes that contain both. Different columns or bins are an error."""
        if self is other:
            return self
        groups, columns = self.groups.union(other.groups), self.columns.union(other.columns)
        codes = self.codes
        if codes is not None and other.codes is not None:
            codes = codes.union(other.codes, columns)
        same = groups is self.groups and columns is self.columns and codes is self.codes
        return self if same else Axes(groups, columns, codes)

    def positions(self, dim: str, wider: Axes) -> np.ndarray | None:
        """The position of each coordinate of `dim` on the wider axes; None if nothing moves."""
        if self is wider:
            return None
        if dim == "class":
            return self.groups.positions(wider.groups)
        if dim == "code" and self.codes is not wider.codes:
            assert self.codes is not None
            assert wider.codes is not None
            return self.codes.positions(wider.codes)
        return None

    def with_groups(self, groups: Groups) -> Axes:
        return self if groups is self.groups else Axes(groups, self.columns, self.codes)

    def with_codes(self, codes: Codes) -> Axes:
        return Axes(self.groups, self.columns, codes)

    def state(self) -> dict[str, Any]:
        """The axes as plain data."""
        codes = self.codes
        return {
            "groups": self.groups.state(),
            "columns": self.columns.state(),
            "codes": None if codes is None else [type(codes).__name__, codes.state()],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Axes:
        """The axes that `state` described."""
        groups, columns = Groups.from_state(state["groups"]), Columns.from_state(state["columns"])
        if state["codes"] is None:
            return cls(groups, columns)
        kind, codes = state["codes"]
        if kind not in CODES_BY_NAME:
            raise VerosimError(
                f"{kind!r} is not a kind of codes; known kinds are {', '.join(CODES_BY_NAME)}.",
                "The state is damaged or comes from another version; create it again.",
            )
        out = CODES_BY_NAME[kind].from_state(codes)
        require(out.columns_of() == columns.size, "its codes are not those of its columns")
        return cls(groups, columns, out)


CODES_BY_NAME: dict[str, type[Codes]] = {
    kind.__name__: kind
    for kind in (
        Bins,
        Categories,
        CellCodes,
        ContextCodes,
        JointBins,
        Hashed,
        Vocabulary,
        CappedCategories,
    )
}
