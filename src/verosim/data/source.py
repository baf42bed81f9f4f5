"""A source: rows with labels and weights, wherever they are, in chunks.

    arrays, frames, files, streams, queries, clusters → chunks → a visit

Only `data` makes sources and only `engines` asks where their rows are. All other code reads the
properties below, and gives visits and functions to an engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from verosim.data.batch import Batch

MANY = 1 << 30  # passes over a source that can be read as often as it is needed


class Chunk(ABC):
    """Some rows of a source, one after the other."""

    first: int  # the number of its first row
    folds: Any  # the rule that gives the fold of each row, or None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def numbers(self) -> np.ndarray:
        """(n,) the numbers of the rows in the source."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows of positive weight with their groups, in pieces that kernels read."""

    @abstractmethod
    def block(self) -> Any:
        """All rows, as the model reads them."""

    @abstractmethod
    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """(codes (n,), labels) of all rows."""

    @abstractmethod
    def row_weights(self) -> np.ndarray:
        """(n,) the weights of all rows; empty if all are 1."""

    @abstractmethod
    def folds_of(self, block: Any) -> np.ndarray:
        """(n,) the fold of each row, or its block of folds."""

    def kept(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The positions of the rows that have a weight. `weights` are all weights, if known."""
        weights = self.row_weights() if weights is None else weights
        return np.flatnonzero(weights) if len(weights) else np.arange(len(self))


class RowSource(ABC):
    """Rows with labels and weights, wherever they are."""

    X: Any  # the cells as they were given; None if a reader reads them
    table: Any  # the table, if the rows are one
    reader: Any  # what reads the columns for the model; None if it reads the cells as given
    names: Any = ()  # of the columns; none if the rows are an array
    schema: Any = None  # how the columns are read; None without a reader
    owners: Any = None  # the column of the table from which each column of the model is made
    target: Any = None  # the column of labels, or the labels; None if they are the groups
    weights: Any  # the column of weights, or the weights; None or empty if all are 1
    folds: Any  # the rule that gives the fold of each row, or None
    passes: Any = MANY  # how often the rows can be read: once or MANY times
    numbered: Any = True  # whether rows have numbers, so that an array can have a value for each
    ready: Any = ()  # the chunks, if they were already read and converted
    takes_rows: Any = False  # whether `take` and `subset` give rows without a pass
    in_memory: Any = True  # whether the rows are in memory, and not in a file or a query

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""

    @property
    @abstractmethod
    def cells(self) -> float | None:
        """The number of cells, if it is known before they are read."""

    @abstractmethod
    def chunks(self) -> Iterator[Any]:
        """All rows in order."""

    @abstractmethod
    def first(self, rows: int) -> Sequence[Any]:
        """The first rows, or all if they are in memory. They can be read again."""

    @abstractmethod
    def folded(self, folds: Any) -> Self:
        """The same rows in folds: the groups become class × fold."""

    @abstractmethod
    def weighted(self, weights: np.ndarray) -> Self:
        """The same rows with other weights."""

    def without(self, part: Any) -> Self:
        """The same rows, of which sums leave out a part."""
        return self

    def held(self) -> Self:
        """The same rows in memory."""
        return self

    def readable_again(self) -> Self:
        """The source itself, or its first rows if it can be read only once."""
        return self

    # Only where rows have numbers and `takes_rows` is true.

    def take(self, rows: np.ndarray) -> Any:
        """The rows with these numbers, copied."""
        raise NotImplementedError

    def subset(self, rows: np.ndarray) -> Any:
        """The rows with these numbers, which are not copied yet."""
        raise NotImplementedError

    # Only of tables, whose columns have names.

    def read_by(self, reader: Any) -> Self:
        """The same rows, which another reader reads."""
        raise NotImplementedError

    def only(self, column: str) -> Self:
        """The same rows with one column next to the labels and weights, for a pass over it."""
        raise NotImplementedError

    def bare(self) -> Self:
        """The same rows with their labels and weights only."""
        raise NotImplementedError

    def keeping(self, column: str) -> Self:
        """The same rows with one more column, which the model does not read."""
        raise NotImplementedError

    def holding(self, chunks: Iterable[Any]) -> Self:
        """The same source with its rows in memory, as these chunks."""
        raise NotImplementedError

    def with_rows(self, batches: list[Any], target: Any, weights: Any) -> Self:
        """A source like this one, of some of its rows, with their labels and weights."""
        raise NotImplementedError
