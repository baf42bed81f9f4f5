"""Where the rows of a table are: here, or in partitions on a cluster such as Dask or Spark.

    partition → its rows as Arrow batches → bytes,   bytes of all partitions → bytes

The rows of a cluster stay there. Only the first rows, and the bytes that a job makes of each
partition, are sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verosim.cached import cached_property
from verosim.data.same_rows import PassCounts
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    from verosim.data.libraries import pa
    from verosim.data.tables import Rows, Table

# The module of each library, and its function that opens a frame. It is imported when the first
# such frame arrives.
ENGINES = {"dask": "verosim.engines.dask", "pyspark": "verosim.engines.spark"}
OPENERS = {"dask": "open_frame", "pyspark": "open_spark_frame"}


class Cluster(ABC):
    """The partitions of one table on a cluster. Each engine has a subclass.

    A job is bytes: `verosim.engines.cluster` makes them, and a worker gives them back to the
    functions there, together with the rows of one partition.
    """

    name: str  # of the engine, for messages
    bring_here: str  # a hint: how the rows become a table in this process

    @cached_property
    def passes(self) -> PassCounts:
        """The number of rows in the first pass, with which every later pass is compared."""
        return PassCounts(
            f"The {self.name} frame", "Use frame.cache(), or write the rows to files first"
        )

    @property
    def has_order(self) -> bool:
        """Whether the partitions have an order. If not, the first rows are those with the smallest
        hashes of all partitions, so that they do not depend on where the rows are."""
        return True

    @abstractmethod
    def rows(self, columns: Iterable[str] | None) -> Iterator[Rows]:
        """The rows in the order of the partitions, brought to this process one by one."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The names and the types of the columns, without reading rows."""

    def check_looked(self, names: Iterable[str]) -> None:
        """Raise an error if a column with one of these names has a type that is not supported.

        The names are those of all columns that the user does not ignore. No row is read. Most
        clusters have no such types.
        """
        return

    @abstractmethod
    def spread_rows(self, count: int) -> Iterator[Rows]:
        """About `count` rows from all partitions, brought to this process."""

    @abstractmethod
    def reduced(self, job: bytes, columns: Sequence[str]) -> bytes:
        """The merged reply of all partitions, each of which is counted exactly once."""

    @abstractmethod
    def mapped(
        self, job: bytes, columns: Sequence[str], schema: pa.Schema, keep: Sequence[str]
    ) -> Any:
        """A lazy frame of the engine with the batches that the job makes of each partition.

        The columns `keep` are those of the table. They can be taken from the frame itself.
        """


def is_on_cluster(X: Any) -> bool:
    """Whether X is an object of a library that keeps its rows on a cluster.

    Ask this before `hasattr`: a frame of Spark Connect has an attribute of every name.
    """
    return type(X).__module__.partition(".")[0] in ENGINES


def open_on_cluster(X: Any) -> Table:
    """Open a frame of a cluster as a table."""
    library = type(X).__module__.partition(".")[0]
    table: Table = getattr(import_module(ENGINES[library]), OPENERS[library])(X)
    return table


def is_array_on_cluster(X: Any) -> bool:
    """Whether X is an array of chunks, and not a frame."""
    return is_on_cluster(X) and type(X).__name__ == "Array"


def arrays_on_cluster(X: Any, y: Any, sample_weight: Any) -> Table:
    """Open arrays of a cluster as a table with numbered columns."""
    module = import_module(ENGINES[type(X).__module__.partition(".")[0]])
    found: Table = module.open_arrays(X, y, sample_weight)
    return found


def partition_origin(number: int) -> str:
    """The place of the rows of a partition, for messages."""
    return f" of partition {number}"


def check_same_columns(there: Sequence[str], wanted: Iterable[str], origin: str) -> None:
    """Raise an error if the rows of a partition do not have all columns of the table."""
    lost = [name for name in wanted if name not in there]
    if lost:
        raise VerosimError(
            f"The rows{origin} do not have the columns {listed(lost)}.",
            "Give all partitions the same columns.",
        )


def output_exists(path: str) -> VerosimError:
    """The error for a folder that would be written again. Old files would stay among the new."""
    return VerosimError(f"The output {path!r} exists.", "Choose another folder, or remove it.")


class NeedsAllRows(VerosimError):
    """Something needs all rows in one process, but they are on a cluster."""


def needs_all_rows(cluster: Cluster, what: str = "This", instead: str = "") -> NeedsAllRows:
    """The error for something that a cluster cannot do. `instead` is what it can do."""
    return NeedsAllRows(
        f"{what} needs all rows in one process, but this table is on {cluster.name}.",
        f"{instead} {cluster.bring_here}".lstrip(),
    )


def where_rows_are(X: Any) -> Cluster | None:
    """The cluster of a table or a frame; None if its rows are in this process."""
    cluster = open_on_cluster(X).cluster if is_on_cluster(X) else getattr(X, "cluster", None)
    return cluster if isinstance(cluster, Cluster) else None


def check_is_here(X: Any, what: str, instead: str = "") -> None:
    """Raise an error if the rows are on a cluster. `instead` is what the cluster can do."""
    cluster = where_rows_are(X)
    if cluster is not None:
        raise needs_all_rows(cluster, what, instead)
