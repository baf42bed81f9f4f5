"""A statistic is a vector with labelled axes: align, then add.

    T(A ∪ B) = T(A) + T(B),   T(A \\ B) = T(A) − T(B)

so one pass over rows serves merging, forgetting, decay and cross-validation. This file says what
may be asked of a statistic. `ArrayStatistic` answers it for sums kept in arrays; `Product` and
`Patterns` answer it by asking their parts.
Reference: Fisher (1922), On the mathematical foundations of theoretical statistics.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from verosim.axes import Axes, Groups
from verosim.data import Batch
from verosim.errors import VerosimError


@runtime_checkable
class Statistic(Protocol):
    """Sums of rows, per class and fold. A class that names this as its base gets `with_classes_of`,
    `outside` and the answers of a statistic in which nothing can cancel."""

    axes: Axes

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """(C, F) whole numbers of rows: they alone decide whether a class exists."""

    @property
    @abstractmethod
    def weight(self) -> np.ndarray:
        """(C, F) sums of the weights of the rows."""

    # Rows come in ------------------------------------------------------------------------

    @abstractmethod
    def absorb(self, batch: Batch) -> None:
        """Add the rows of a batch, in place. For an engine that owns the statistic."""

    def prepare(self, batch: Batch) -> None:
        """A first look at some rows before they are shared among workers."""
        return  # most statistics need nothing

    def with_classes_of(self, batch: Batch) -> tuple[Self, Batch]:
        """Room for the classes of a batch that brings its own labels, and its groups in ours."""
        if batch.labels is None:
            return self, batch
        groups = self.axes.groups
        wider = groups.union(Groups(batch.labels, groups.folds))
        place = Groups(batch.labels, groups.folds).positions(wider)
        out = self if wider is groups else self.align(self.axes.with_groups(wider))
        return out, batch.regrouped(place, groups.folds)

    # What it can do: asked of the object, never tested by its class -----------------------

    @property
    def sums_of(self) -> str:
        """ "numbers", "categories", "bins", "joint", "presence", "amounts", "tokens" or "parts"."""
        return "numbers"

    @property
    def can_narrow(self) -> bool:
        """Whether `narrowed` gives the statistic of some columns."""
        return False

    def narrowed(self, columns: np.ndarray) -> Self:
        """The statistic of some columns, by their numbers."""
        raise VerosimError(
            f"{self!r} cannot be narrowed to some of its columns.", "sum the columns wanted alone."
        )

    @property
    def size(self) -> int:
        """How many numbers it keeps."""
        return sum(part.size for _, part in self.named_parts())

    @property
    def grows(self) -> bool:
        """Whether more rows keep making it much larger, as new tokens of texts do."""
        return False

    @property
    def complete(self) -> Any:
        """The statistic of complete rows; None if rows with missing cells are kept apart in it."""
        return self

    @property
    def has_scatter(self) -> bool:
        """Whether `complete` keeps products of columns, for each class or for all together."""
        return False

    def count_names(self) -> list[str]:
        """What each of its counts is of: the columns or, of texts, the tokens."""
        return list(self.axes.columns)

    def named_parts(self) -> Iterator[tuple[str, Statistic]]:
        """The parts by name; itself, without a name, if it is of one piece."""
        yield "", self

    def map_parts(self, make: Callable[[str], Statistic]) -> Statistic:
        """A statistic made of `make(name)` for every named part."""
        return make("")

    # Building ----------------------------------------------------------------------------

    @abstractmethod
    def zero(self) -> Self:
        """The zero on these axes; it keeps the pivots, so sums of more rows simply add."""

    @abstractmethod
    def unplaced(self) -> Self:
        """The zero on these axes with its pivots unset: more rows choose their own."""

    @abstractmethod
    def copy(self) -> Self:
        """The same value in arrays of its own."""

    @abstractmethod
    def align(self, axes: Axes) -> Self:
        """The same statistic on wider axes: coordinates move, new ones are zero."""

    def leaves(self) -> Iterator[Statistic]:
        """The statistics this one is made of, itself if it is of one piece."""
        yield self

    # Algebra -----------------------------------------------------------------------------

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def __sub__(self, other: Self) -> Self: ...

    @abstractmethod
    def __iadd__(self, other: Self) -> Self:
        """For an engine that owns the statistic; it may reuse its arrays."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Scale every weight. Rows stay rows: a faded class is still a class."""

    def __rmul__(self, factor: float) -> Self:
        return self * factor

    def recentred(self) -> Self:
        """The same statistic about pivots nearer its means, where drift has left them behind."""
        return self

    def digits(self) -> np.ndarray | None:
        """(class, column) correct digits left in the spread; None where nothing can cancel.

        A statistic of several leaves has no columns in common: ask the leaves.
        """
        return None

    # Folds -------------------------------------------------------------------------------

    @abstractmethod
    def folded(self, folds: int) -> Self:
        """The zero on these axes with so many folds."""

    @abstractmethod
    def fold(self, f: int) -> Self:
        """The statistic of one fold."""

    @abstractmethod
    def total(self, dim: str = "fold") -> Self:
        """The sum over folds."""

    @abstractmethod
    def complement(self, dim: str = "fold") -> Self:
        """For every fold, the statistic of all rows outside it: total − fold."""

    def outside(self) -> Iterator[Self]:
        """For every fold, the statistic of all rows outside it.

        It is total − fold, found as (the folds before) + (the folds after): where nothing is
        subtracted, nothing cancels.
        """
        parts = [self.fold(f) for f in range(self.axes.groups.folds)]
        before = after = parts[0].zero()
        later = [after]
        for part in parts[:0:-1]:
            after = part + after
            later.append(after)
        for part in parts:
            yield before + later.pop()
            before = before + part

    # Removing ----------------------------------------------------------------------------

    @abstractmethod
    def without(self, part: Self) -> Self:
        """self − part, for rows that were seen: checked, and rid of what they alone stood for."""

    @abstractmethod
    def prune(self) -> Self:
        """Drop what no row stands for: classes with no rows, codes no row has."""

    # Identity ----------------------------------------------------------------------------

    @abstractmethod
    def fingerprint(self) -> str:
        """Identifies this value, bit by bit; other orders of the same rows differ in rounding."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """This value as plain data: dicts, lists, numbers, texts, bytes and numpy arrays.

        `kind` is the name of the class. The arrays are this statistic's own: read, do not write.
        """

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The value that gave this state, in arrays of its own."""


def unlike(a: Statistic, b: Any) -> VerosimError:
    """The error for two statistics that do not add."""
    return VerosimError(
        f"{a!r} and {b!r} are sums of different things.",
        "merge models of the same class fitted with the same settings.",
    )


def check_fold_dim(dim: str) -> None:
    if dim != "fold":
        raise VerosimError(f"{dim!r} is no dim to sum over.", "'fold' is.")
