"""The protocol of all statistics: a statistic is a sum over rows with labelled axes.

    T(A ∪ B) = T(A) + T(B),   T(A \\ B) = T(A) − T(B)

One pass over the rows is therefore enough for merging, forgetting, decay and cross-validation.
`ArrayStatistic` implements the protocol for sums in arrays. `Product` and `Patterns` implement it
with the methods of their parts.
Reference: Fisher (1922), On the mathematical foundations of theoretical statistics, Philosophical
Transactions of the Royal Society A 222, 309–368.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from verosim.axes import Axes, Groups
from verosim.data import Batch
from verosim.errors import VerosimError


@runtime_checkable
class Statistic(Protocol):
    """Sums over rows, per class and fold.

    A subclass inherits `with_classes_of`, `outside`, and the defaults for a statistic without
    cancellation errors.
    """

    axes: Axes

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """(C, F) the numbers of rows, as integers. They alone decide whether a class exists."""

    @property
    @abstractmethod
    def weight(self) -> np.ndarray:
        """(C, F) sums of the weights of the rows."""

    # Adding rows -------------------------------------------------------------------------

    @abstractmethod
    def absorb(self, batch: Batch) -> None:
        """Add the rows of a batch, in place. Only the engine that owns the statistic calls this."""

    def prepare(self, batch: Batch) -> None:
        """Read some first rows before the rows are divided among workers."""
        return  # most statistics need no preparation

    def with_classes_of(self, batch: Batch) -> tuple[Self, Batch]:
        """Add the classes of a batch with labels of its own.

        Returns the wider statistic, and the batch with the group numbers of that statistic.
        """
        if batch.labels is None:
            return self, batch
        groups = self.axes.groups
        own = Groups(batch.labels, groups.folds)
        wider = groups.union(own)
        place = own.positions(wider)
        out = self if wider is groups else self.align(self.axes.with_groups(wider))
        return out, batch.regrouped(place, groups.folds)

    # Capabilities: callers read these properties and never test the class ------------------

    @property
    def sums_of(self) -> str:
        """The kind of values in the sums.

        One of "numbers", "categories", "bins", "joint", "presence", "amounts", "tokens", "terms",
        "pairs", "contexts", "parts".
        """
        return "numbers"

    @property
    def has_sums(self) -> bool:
        """Whether the sums are there. A model that was saved without them can only predict."""
        return True

    @property
    def can_narrow(self) -> bool:
        """Whether `narrowed` is available."""
        return False

    def narrowed(self, columns: np.ndarray) -> Self:
        """The statistic of some columns, given by their numbers."""
        raise VerosimError(
            f"The sums of some columns cannot be found from {self!r}.",
            "Fit a model on these columns only.",
        )

    @property
    def size(self) -> int:
        """How many numbers the statistic stores."""
        return sum(part.size for _, part in self.named_parts())

    @property
    def grows(self) -> bool:
        """Whether the size increases with the number of rows, for example by new tokens."""
        return False

    @property
    def complete(self) -> Any:
        """The statistic of complete rows; None if it also contains rows with missing cells."""
        return self

    @property
    def has_scatter(self) -> bool:
        """Whether `complete` has sums of products of columns, per class or for all classes."""
        return False

    @property
    def block_columns(self) -> int:
        """The number of columns of the blocks that it absorbs."""
        return self.axes.columns.size

    def count_names(self) -> list[str]:
        """The names of the counts: names of columns, or tokens if the rows are texts."""
        return list(self.axes.columns)

    @property
    def has_values(self) -> bool:
        """Whether the codes are values of the rows, such as categories or tokens."""
        return False

    def pruned(self, min_count: float) -> Self:
        """The statistic without values that have a smaller count, as if they had not occurred."""
        return self

    def rows_with_cells(self) -> dict[str, np.ndarray] | None:
        """For each column, the number of rows with each cell; None if rows are not cells."""
        return None

    def column_sums(self) -> np.ndarray | None:
        """(d,) Σw x of each column of numbers; None if this cannot be found from the sums."""
        return None

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same statistic with new names of some columns, by the old names."""
        return self

    def named_parts(self) -> Iterator[tuple[str, Statistic]]:
        """The parts with their names; ("", self) if the statistic has no parts."""
        yield "", self

    def map_parts(self, make: Callable[[str], Statistic]) -> Statistic:
        """A statistic with `make(name)` in place of each named part."""
        return make("")

    # Building ----------------------------------------------------------------------------

    @abstractmethod
    def zero(self) -> Self:
        """The zero on these axes with the same pivots, so that sums of more rows can be added."""

    @abstractmethod
    def unplaced(self) -> Self:
        """The zero on these axes with unset pivots; the next rows set them."""

    @abstractmethod
    def copy(self) -> Self:
        """The same value in new arrays."""

    @abstractmethod
    def align(self, axes: Axes) -> Self:
        """The same statistic on wider axes; entries move, and new entries are zero."""

    def leaves(self) -> Iterator[Statistic]:
        """The statistics without parts in this one; itself if it has no parts."""
        yield self

    # Algebra -----------------------------------------------------------------------------

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def __sub__(self, other: Self) -> Self: ...

    @abstractmethod
    def __iadd__(self, other: Self) -> Self:
        """Add in place. Only the engine that owns the statistic calls this."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Multiply every weight. The numbers of rows do not change, so no class disappears."""

    def __rmul__(self, factor: float) -> Self:
        return self * factor

    @abstractmethod
    def with_class_weights(self, factors: np.ndarray) -> Self:
        """Multiply the sums of each class by its factor (C,), as if its rows had other weights.

        The numbers of rows do not change.
        """

    def lean(self, least: float) -> Self:
        """The statistic for models that ignore codes with a count below `least`.

        Rows can still be subtracted from it, but no new codes are counted.
        """
        return self

    def recentred(self) -> Self:
        """The same statistic with pivots moved to the means where they are far from the means."""
        return self

    def digits(self) -> np.ndarray | None:
        """(C, d) correct digits of each variance; None if no cancellation is possible.

        The parts of a product have no columns in common, so call this method of its `leaves`.
        """
        return None

    # Folds -------------------------------------------------------------------------------

    @abstractmethod
    def folded(self, folds: int) -> Self:
        """The zero on these axes with this number of folds."""

    @abstractmethod
    def fold(self, f: int) -> Self:
        """The statistic of one fold."""

    @abstractmethod
    def total(self, dim: str = "fold") -> Self:
        """The sum over folds."""

    @abstractmethod
    def complement(self, dim: str = "fold") -> Self:
        """For each fold, the statistic of all rows outside the fold: total − fold."""

    def outside(self) -> Iterator[Self]:
        """For each fold, the statistic of all rows outside the fold.

        It equals total − fold. It is computed as (sum of the folds before) + (sum of the folds
        after), because additions do not cancel.
        """
        yield from sums_of_others([self.fold(f) for f in range(self.axes.groups.folds)])

    # Removing ----------------------------------------------------------------------------

    @abstractmethod
    def without(self, part: Self) -> Self:
        """self − part, checked, without the classes and codes that have no rows left.

        The rows of `part` must be among the rows of this statistic.
        """

    def without_traces(self) -> Self:
        """The statistic after rows were forgotten, without values that no remaining row has.

        `without` keeps codes that were chosen before the rows were counted, and references to
        other statistics. It is also used for folds, which need both.
        """
        return self

    @abstractmethod
    def prune(self) -> Self:
        """Drop classes without rows and codes that occur in no row. It may be this statistic."""

    # Identity ----------------------------------------------------------------------------

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the content.

        Counts of rows, and all sums that are exact, have the same hash for the same rows in any
        order, in any pieces and after any merges. Sums of other numbers can differ by rounding if
        the order or the pieces differ. They do not depend on the memory order of an array.
        """

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The statistic as plain data: dicts, lists, numbers, texts, bytes and numpy arrays.

        `kind` is the name of the class. The arrays are not copied, so do not write to them.
        """

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The statistic with this state, in new arrays."""


def sums_of_others(parts: Sequence[Any]) -> Iterator[Any]:
    """For each statistic, the sum of all others. Each sum is a new statistic."""
    later = [parts[0].zero()]
    for part in parts[:0:-1]:
        later.append(part + later[-1])
    before = parts[0].zero()
    for part in parts:
        others = later.pop()  # nothing else uses it, so it can be changed
        others += before
        yield others
        before += part


def unlike(a: Statistic, b: Any) -> VerosimError:
    """The error for two statistics that cannot be added."""
    return VerosimError(
        f"{a!r} and {b!r} are sums of different kinds and cannot be merged.",
        "Merge models of the same class that were fitted with the same settings.",
    )


def check_fold_dim(dim: str) -> None:
    """Raise an error unless the dimension is "fold"."""
    if dim != "fold":
        raise VerosimError(f'dim must be "fold"; got {dim!r}.', 'Use dim="fold".')
