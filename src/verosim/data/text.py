"""Documents: a block of texts as UTF-8 bytes in one buffer. A slice does not copy.

The buffer is that of an Arrow column, or it is made from the user's strings in one pass. A missing
text is read as a text without tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verosim.axes.codes import is_missing
from verosim.data.cells import is_text
from verosim.data.libraries import pa, pc
from verosim.errors import VerosimError, listed

BYTES_PER_CELL = 8  # the size of a number; the engine divides rows into blocks by cells


@dataclass(frozen=True, eq=False)
class Documents:
    """n texts: text i is data[offsets[i] : offsets[i + 1]]."""

    data: np.ndarray  # uint8, read only; the whole buffer, also for a slice
    offsets: np.ndarray = field(repr=False)  # (n + 1,) int64
    first: int = 0  # the number of the first text in the user's table

    @classmethod
    def of(cls, texts: Any) -> Documents:
        """From a list, an array, a series or a column of strings, or a table of one column."""
        if isinstance(texts, Documents):
            return texts
        return cls.from_arrow(_as_arrow(_one_column(texts)))

    @classmethod
    def from_arrow(cls, array: Any) -> Documents:
        """From an Arrow array, chunked or not, of strings, bytes, or a dictionary of strings."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
            if isinstance(array, pa.ChunkedArray):  # older Arrow, no chunks, or too large for one
                array = pa.concat_arrays(array.cast(pa.large_string()).chunks)
        kind = array.type
        if pa.types.is_dictionary(kind):
            values = array.dictionary
            if is_text(kind.value_type):
                values = values.cast(pa.large_string(), safe=False)
            array = values.take(array.indices)
            kind = array.type
        if pa.types.is_null(kind):
            array, kind = array.cast(pa.large_string()), pa.large_string()
        if not (is_text(kind) or _is_bytes(kind)):
            raise VerosimError(
                f"A text column must contain strings; got {kind}.",
                "Convert the column to strings, or use a model of numbers or categories.",
            )
        if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
            wide = pa.large_string() if is_text(kind) else pa.large_binary()
            array = array.cast(wide, safe=False)  # the bytes are checked when they are read
        if array.null_count:
            array = pc.fill_null(array, "" if is_text(array.type) else b"")
        _, places, buffer = array.buffers()
        data = np.frombuffer(buffer if buffer is not None else b"", dtype=np.uint8)
        n = len(array)
        if not n:
            return cls(data, np.zeros(1, dtype=np.int64))
        offsets = np.frombuffer(places, dtype=np.int64)[array.offset : array.offset + n + 1].copy()
        if offsets[0] < 0 or (np.diff(offsets) < 0).any() or offsets[-1] > len(data):
            raise VerosimError(
                "The Arrow column is damaged: its offsets are outside its buffer.",
                "Read the column from its source again.",
            )
        return cls(data, offsets)

    @classmethod
    def joined(cls, blocks: Sequence[Documents]) -> Documents:
        """The texts of several blocks, one after the other."""
        data = [one.data[one.offsets[0] : one.offsets[-1]] for one in blocks]
        ends = np.cumsum([0, *map(len, data)])
        offsets = [
            one.offsets[1:] - one.offsets[0] + end for one, end in zip(blocks, ends, strict=False)
        ]
        return cls(np.concatenate(data), np.concatenate([[0], *offsets]), blocks[0].first)

    @classmethod
    def side_by_side(cls, columns: Sequence[Documents]) -> Documents:
        """The texts of several columns of the same rows, with a space between two columns."""
        rows = range(len(columns[0]))
        return packed_texts([b" ".join([column.bytes(i) for column in columns]) for i in rows])

    @property
    def nbytes(self) -> int:
        return self.size + self.offsets.nbytes

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), 1

    @property
    def size(self) -> int:
        """The number of bytes in all texts."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def cells_per_row(self) -> float:
        """The mean size of a text, in numbers of 8 bytes."""
        return max(self.size / BYTES_PER_CELL / max(len(self), 1), 1.0)

    @property
    def longest(self) -> int:
        return int(np.diff(self.offsets).max(initial=0))

    def __getitem__(self, rows: Any) -> Documents:
        """Some texts. A slice shares the buffer; positions and masks make a copy."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                stop = max(stop, start)
                return Documents(self.data, self.offsets[start : stop + 1], self.first + start)
            rows = np.arange(start, stop, step)
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        array = pa.Array.from_buffers(pa.large_binary(), len(self), buffers)
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Documents.from_arrow(array.take(pa.array(rows)))

    def bytes(self, i: int) -> bytes:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def text(self, i: int) -> str:
        try:
            return self.bytes(i).decode()
        except UnicodeDecodeError as error:
            raise not_utf8(self, i, f"row {self.first + i}") from error

    def lowered(self) -> Documents:
        """The texts in lower case, by str.lower(). Texts that are not UTF-8 do not change."""
        out = packed_texts([_lowered(self.bytes(i)) for i in range(len(self))])
        return Documents(out.data, out.offsets, self.first)


def are_texts(X: Any) -> bool:
    """Whether X is a sequence of texts: a list, an array, a series or an Arrow column."""
    if isinstance(X, str | bytes) or hasattr(X, "columns"):
        return False
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return is_text(X.type.value_type if pa.types.is_dictionary(X.type) else X.type)
    if not isinstance(X, list | tuple) and len(getattr(X, "shape", ())) != 1:
        return False
    first = next((one for one in X if isinstance(one, str) or not is_missing(one)), None)
    return isinstance(first, str)


def _lowered(text: bytes) -> bytes:
    try:
        return text.decode().lower().encode()
    except UnicodeDecodeError:
        return text


def packed_texts(texts: list[bytes]) -> Documents:
    """Texts in one buffer."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Documents(np.frombuffer(b"".join(texts), dtype=np.uint8), offsets)


def not_utf8(documents: Documents, i: int, place: str) -> VerosimError:
    """The error for a text that is not valid UTF-8."""
    raw = documents.bytes(i)
    at = 0
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        at = error.start
    return VerosimError(
        f"{place[0].upper()}{place[1:]}: the text is not UTF-8, byte {at} is 0x{raw[at]:02X} in "
        f"{raw[max(at - 20, 0) : at + 20]!r}.",
        "Decode the bytes with their encoding first, such as bytes.decode('latin-1').",
    )


# From the user's texts to Arrow ----------------------------------------------------------------


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _one_column(X: Any) -> Any:
    """The texts of a table with one column, or X if it has no columns."""
    if isinstance(X, str | bytes):
        raise VerosimError(
            f"X must be a sequence of texts; got the single text {X[:40]!r}.",
            "Put the text in a list: [text].",
        )
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) < 2:
        return X
    if len(shape) > 2 or shape[1] != 1:
        names = [str(name) for name in getattr(X, "column_names", getattr(X, "columns", ()))]
        raise VerosimError(
            f"X must be one column of texts; got the shape {tuple(shape)}"
            + (f" with the columns {listed(names)}." if names else "."),
            "Select one column, such as X['text'].",
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, 0]
    if hasattr(X, "to_series"):  # polars
        return X.to_series(0)
    return X.column(0) if hasattr(X, "column") else np.asarray(X)[:, 0]


def _as_arrow(texts: Any) -> Any:
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        return texts
    if hasattr(texts, "__arrow_c_stream__"):
        try:
            column = pa.chunked_array(texts)
        except (pa.ArrowException, TypeError):  # the code below reports the wrong value
            column = pa.chunked_array([], pa.null())
        if is_text(column.type) or pa.types.is_dictionary(column.type):
            return column
    if isinstance(texts, np.ma.MaskedArray):
        texts = np.ma.filled(texts.astype(object), None)
    if not isinstance(texts, list | tuple | np.ndarray):
        texts = texts.to_numpy() if hasattr(texts, "to_numpy") else list(texts)
    if isinstance(texts, np.ndarray) and not texts.size:
        texts = []  # Arrow would make an array of numbers
    if isinstance(texts, np.ndarray) and texts.dtype.kind == "f":
        texts = texts.astype(object)  # Arrow makes two types of text of floats
    try:
        return pa.array(texts, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _wrong(texts, error) from None


def _wrong(texts: Any, error: Exception) -> VerosimError:
    """The error for the first value that is not a text."""
    for i, text in enumerate(texts):
        if isinstance(text, str):
            try:
                text.encode()
            except UnicodeEncodeError as bad:
                return VerosimError(
                    f"Row {i}: character {bad.start} of {text[:40]!r} is one half of a surrogate "
                    "pair, which is not a valid character.",
                    "Use text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace').",
                )
        elif isinstance(text, bytes):
            try:
                text.decode()
            except UnicodeDecodeError:
                return not_utf8(packed_texts([text]), 0, f"row {i}")
        elif isinstance(text, list | tuple | dict | set | np.ndarray) or not is_missing(text):
            return VerosimError(
                f"Row {i}: {repr(text)[:60]} is of type {type(text).__name__}, but texts must be "
                "strings.",
                "Convert the value with str().",
            )
    return VerosimError(
        f"X must be a sequence of texts; it cannot be read: {error}.", "Give a list of strings."
    )
