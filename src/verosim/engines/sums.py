"""The visit of a statistic: the sums of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from verosim.data.batch import Batch
from verosim.data.source import Chunk
from verosim.data.visits import Visit
from verosim.stats import Statistic
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes

LARGE = 1 << 16  # numbers of a statistic from which new zeros are cheaper than a copy


@dataclass
class Sum(Visit):
    """T = plan + Σ T(row). The plan is a zero statistic and does not change."""

    plan: Statistic
    prepares: ClassVar[bool] = True  # the first rows fix pivots and codes

    @property
    def size(self) -> int:
        return self.plan.size

    def nothing(self) -> Statistic:
        """The plan, or the sums of another worker without their rows."""
        known = self.plan if self.found is None else self.found
        # Large arrays of new zeros need no memory before they are used.
        return known.zero() if self.plan.size > LARGE else known.copy()

    def prepare(self, batch: Batch) -> None:
        self.found, batch = self.found.with_classes_of(batch)
        self.found.prepare(batch)

    def absorb(self, chunk: Chunk) -> None:
        for batch in chunk.batches():
            self.found, batch = self.found.with_classes_of(batch)
            self.found.absorb(batch)

    def merge(self, other: Self) -> None:
        self.found += other.found

    def packed(self) -> bytes:
        return statistic_to_bytes(self.found)

    def unpacked(self, plain: bytes) -> Statistic:
        return statistic_from_bytes(plain)

    def __reduce__(self) -> Any:
        return _sum_of, (statistic_to_bytes(self.plan),)


def _sum_of(plan: bytes) -> Sum:
    return Sum(statistic_from_bytes(plan))
