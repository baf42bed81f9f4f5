"""A visit: what is computed from the chunks of a source, in parts that merge.

    finish(zero + chunk + chunk + …),   (zero + a) merged with (zero + b) = zero + a + b

An engine gives each worker a `zero` of the visit, lets it absorb chunks, and merges the workers. So
the same few lines run in the threads of this process and on a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from verosim.data.batch import Batch
    from verosim.data.clusters import Cluster


@dataclass
class Visit(ABC):
    """What is computed from chunks. The fields describe it; `found` is what was found so far.

    It is pickled for the workers of a cluster, before it has found anything. What they found comes
    back as plain data: dicts, lists, tuples, numbers, texts, bytes and numpy arrays.
    """

    found: Any = field(default=None, init=False, repr=False)
    prepares: ClassVar[bool] = False  # whether the first rows fix what all workers share

    @property
    def size(self) -> int:
        """About how many numbers it keeps, if they may be many."""
        return 0

    def zero(self) -> Self:
        """The same visit before the first chunk."""
        return self.holding(self.nothing())

    def holding(self, found: Any) -> Self:
        """The same visit after it has found something."""
        out = object.__new__(type(self))
        vars(out).update(vars(self), found=found)
        return out

    @abstractmethod
    def nothing(self) -> Any:
        """What is found in no rows."""

    def prepare(self, batch: Batch) -> None:  # noqa: B027  most visits need no preparation
        """Fix what all workers share, from the first rows."""

    @abstractmethod
    def absorb(self, chunk: Any) -> None:
        """Add the rows of a chunk."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add what another worker has found. Its rows come after those of this visit."""

    def finish(self) -> Any:
        """The result of all rows."""
        return self.found

    def packed(self) -> Any:
        """What was found, as plain data."""
        return self.found

    def unpacked(self, plain: Any) -> Any:
        """What was found, from plain data."""
        return plain

    def there(self, cluster: Cluster) -> Self:
        """The visit as workers of a cluster run it. It is an error if it needs all rows here."""
        return self
