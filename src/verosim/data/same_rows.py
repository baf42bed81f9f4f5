"""Several passes over one source must see the same rows.

    local file                the same size, time and inode
    stream, query, cluster    the same number of rows, in all and by class

A file may be replaced while a model is validated, and a frame with a random step has other rows in
each pass. The first pass is the identity of the source, and every later pass is compared with it.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from verosim.data.libraries import pa, pc
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.tables import Rows

MOST_COUNTED = 1000  # a column with more values is counted without its values
ALL_ROWS = ""  # the key of all rows
UNCHANGED = "the model was not changed"


class SourceChanged(VerosimError):
    """A source has other rows than in the pass before."""


def reason_to_leave_out(error: VerosimError) -> str:
    """Why one of several models cannot be used. If the source has changed, none of them can."""
    if isinstance(error, SourceChanged):
        raise error
    return error.what


# Files -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileIdentity:
    """What changes if a local file is written again or replaced."""

    size: int  # bytes
    time: int  # of the last change, in nanoseconds
    inode: tuple[int, int]  # the device, and the number of the file there

    @classmethod
    def of(cls, file: str | int) -> Self | None:
        """The identity of a path or of an open file; None if it cannot be found, or of a pipe."""
        try:
            found = os.stat(file)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(found.st_size, found.st_mtime_ns, (found.st_dev, found.st_ino))


def check_same_file(before: FileIdentity | None, now: FileIdentity | None, place: str) -> None:
    """Raise an error if a file has changed since it was opened."""
    if before is None or before == now:
        return
    if now is None:
        how = "it was removed"
    elif now.size != before.size:
        how = f"it had {before.size:,} bytes and has {now.size:,} now"
    else:
        how = "it was written again" if now.inode == before.inode else "another file replaced it"
    raise SourceChanged(
        f"The file {place!r} has changed while it was used: {how}.",
        f"Open the file again after it is complete, or read a copy of it; {UNCHANGED}.",
    )


# Streams, queries and clusters -------------------------------------------------------------------


def read_again(what: str) -> PassCounts:
    """The counts of a source that runs a query, or other steps, again in every pass."""
    return PassCounts(what, "Write the rows to a file, or read them into a table, first")


@dataclass(eq=False)
class PassCounts:
    """The number of rows, in all and by class, in the first pass over a source."""

    what: str  # the source, for messages
    hint: str  # how the rows stay the same
    rows: int | None = None
    classes: dict[str, dict[str, int]] = field(default_factory=dict)  # by the column of the classes

    def checked(self, rows: Iterable[Rows], target: str | None) -> Iterator[Rows]:
        """The rows of a pass. At its end, their numbers are compared."""
        counts: Counter[str] = Counter()
        for part in rows:
            count(part.batch, target, counts)
            if self.rows is not None and counts[ALL_ROWS] > self.rows:
                # At once, because other arrays have a cell for each row.
                self.check(counts, None, "at least ")
            yield part
        self.check(counts, target)

    def check(self, counts: dict[str, int], target: str | None, how_many: str = "") -> None:
        """Raise an error if the counts of a pass are not those of the first pass."""
        total = counts.get(ALL_ROWS, 0)
        before = {ALL_ROWS: total if self.rows is None else self.rows}
        self.rows = before[ALL_ROWS]
        now = {ALL_ROWS: total}
        if target is not None and len(counts) <= MOST_COUNTED:
            known = self.classes.setdefault(target, counts)
            before, now = (known, counts) if total == self.rows else (before, now)
        odd = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        if odd:
            key = odd[-1]
            of = f" of the class {key}" if key != ALL_ROWS else ""
            raise SourceChanged(
                f"{self.what} has {how_many}{now.get(key, 0):,} rows{of} in this pass, but it had "
                f"{before.get(key, 0):,} in the pass before.",
                f"{self.hint}; {UNCHANGED}.",
            )


def count(batch: pa.RecordBatch, target: str | None, counts: Counter[str]) -> None:
    """Add the rows of a batch to `counts`, in all and by the text of their class."""
    counts[ALL_ROWS] += batch.num_rows
    if target in batch.schema.names and len(counts) <= MOST_COUNTED:
        for pair in pc.value_counts(batch.column(target)).to_pylist():
            counts[repr(pair["values"])] += pair["counts"]


def counting(
    batches: Iterable[pa.RecordBatch], target: str | None, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """The batches. Their rows are added to `counts`."""
    for batch in batches:
        count(batch, target, counts)
        yield batch


def summed_counts(found: Iterable[dict[str, int]]) -> Counter[str]:
    """The counts of several partitions."""
    out: Counter[str] = Counter()
    for counts in found:
        out.update(counts)
    return out
