"""The columns of the first rows that are plain numbers, as one matrix.

Wide tables have many such columns. A look at each of them one by one would take most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verosim.data.libraries import pa
from verosim.data.number_blocks import MANY_TEXTS
from verosim.data.number_formats import NEARLY_ALL
from verosim.data.tables import Rows


@dataclass(frozen=True, eq=False)
class FirstNumbers:
    """The columns of plain numbers in the first rows."""

    place: dict[str, int]  # the column of X by the name
    types: list[str]  # the names of their types in the source
    X: np.ndarray  # (n, d) NaN where missing

    def take(self, rows: np.ndarray) -> FirstNumbers:
        """Some of the rows."""
        return replace(self, X=self.X[rows])


def numbers_at_once(
    sample: Sequence[Rows], names: Sequence[str], typed: bool, na: frozenset[str], rows: int
) -> FirstNumbers:
    """The columns that have plain numbers in all of the first rows; at most so many rows.

    The cells of a CSV file are texts. Columns of a CSV file are included only if there are many,
    and if no cell needs a closer look.
    """
    types = sample[0].types
    for part in sample[1:]:  # slices of a frame of objects may have several types
        types = {name: type_ for name, type_ in part.types.items() if types.get(name) == type_}
    shown = {type_.id: str(type_) for type_ in types.values()}  # one name per plain type
    names = [name for name in names if name in types]
    if not typed and len(names) < MANY_TEXTS:
        names = []
    kept = np.arange(len(names))
    found = []
    for part in sample:
        at, block = part.number_block(names, na)
        kept = kept if len(at) == len(names) else kept[np.isin(kept, at)]
        found.append((at, block))
        del block
    X = _stacked(found, kept)[:rows]
    if not typed and len(kept):
        closer = _needs_a_closer_look(
            [part.batch for part in sample], [names[i] for i in kept.tolist()], X
        )
        kept, X = kept[~closer], X[:, ~closer]
    chosen = [names[i] for i in kept.tolist()]
    place = {name: j for j, name in enumerate(chosen)}
    return FirstNumbers(place, [shown[types[n].id] if typed else "text" for n in chosen], X)


def _stacked(found: list[tuple[np.ndarray, np.ndarray]], kept: np.ndarray) -> np.ndarray:
    """The rows of all matrices, with the columns `kept`. The list is emptied to save memory."""
    out = np.empty((sum(len(X) for _, X in found), len(kept)))
    stop = len(out)
    while found:
        at, X = found.pop()
        start = stop - len(X)
        out[start:stop] = X if len(at) == len(kept) else X[:, np.searchsorted(at, kept)]
        stop = start
    return out


def _needs_a_closer_look(
    batches: Sequence[pa.RecordBatch], names: Sequence[str], X: np.ndarray
) -> np.ndarray:
    """(d,) whether some text is like 007, or nearly all are like 1.234, where a dot may
    group digits."""
    with np.errstate(invalid="ignore", over="ignore"):
        small = (np.abs(X) < 1000) & (np.rint(X * 1000) / 1000 == X)
        whole = X % 1 == 0
    missing = np.isnan(X)
    others = (~small & ~missing).sum(axis=0)  # (d,)
    closer: np.ndarray = (others * NEARLY_ALL <= len(X)) & ~(whole | missing).all(axis=0)
    for batch in batches:
        texts = pa.concat_arrays([batch.column(name) for name in names])
        closer |= padded_texts(texts).reshape(len(names), -1).any(axis=1)
    return closer


def padded_texts(texts: pa.Array) -> np.ndarray:
    """(n,) whether each text is like 007 or -01, which is a code and not a number."""
    size = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    ends: np.ndarray = np.frombuffer(offsets, dtype=size).astype(np.int64)[
        texts.offset : texts.offset + len(texts) + 1
    ]
    letters = np.zeros(int(ends[-1]) + 2, dtype=np.uint8)  # two more, so that all texts have two
    letters[: ends[-1]] = np.frombuffer(data, dtype=np.uint8)[: ends[-1]]
    start = ends[:-1] + np.isin(letters[ends[:-1]], (ord("-"), ord("+")))
    digits = (letters[start + 1] >= ord("0")) & (letters[start + 1] <= ord("9"))
    return (letters[start] == ord("0")) & digits & (start + 2 <= ends[1:])
