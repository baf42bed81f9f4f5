"""The bytes of a file, of a member of a zip archive or of an open file, as streams.

    file → bytes → decompressed → UTF-8 → a reader of a format

A stream is opened again for every pass, so a pass needs little memory and can be repeated. It is an
error if the file has changed since it was opened first. The compression is found in the first bytes
of the file, not in its name.
"""

from __future__ import annotations

import io
import lzma
import threading
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verosim.data.libraries import pa
from verosim.data.same_rows import FileIdentity, check_same_file
from verosim.errors import VerosimError

COMPRESSIONS = {  # the first bytes of a file → how it is compressed
    b"\x1f\x8b": "gzip",
    **{b"BZh%d1AY&" % level: "bz2" for level in range(1, 10)},
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}
ON_DISK = (io.FileIO, io.BufferedReader, io.BufferedRandom)  # types of open files on disk
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


class ByteSource(ABC):
    """Bytes that can be opened, and a name for messages."""

    once = False  # whether the bytes can be read only once
    encoding: str | None = None  # the encoding of an open text file

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the file, without its folder."""

    @property
    @abstractmethod
    def place(self) -> str:
        """The name of the file with its folder."""

    @abstractmethod
    def open(self) -> Any:
        """The raw bytes: an Arrow file or a Python file, from the beginning."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of raw bytes, if it is known."""

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was opened first."""
        return

    def open_to_seek(self) -> Any:
        """The bytes as a path or a file in which a reader can move."""
        with self.open() as file:
            return pa.BufferReader(file.read())

    def held(self) -> ByteSource:
        """The same bytes in memory."""
        return HeldBytes(self.open_to_seek().read(), self.name, self.place)

    def first_bytes(self, count: int) -> bytes:
        """The first raw bytes."""
        with self.open() as file:
            return bytes(file.read(count))


@dataclass(frozen=True)
class FileBytes(ByteSource):
    """The bytes of a file."""

    path: Path
    identity: FileIdentity | None = field(init=False)  # when it was opened first

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", FileIdentity.of(str(self.path)))

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def place(self) -> str:
        return str(self.path)

    def open(self) -> Any:
        self.check_unchanged()
        return pa.OSFile(str(self.path))

    def open_to_seek(self) -> Any:
        self.check_unchanged()
        return self.path

    @property
    def size(self) -> int | None:
        return self.path.stat().st_size

    def check_unchanged(self) -> None:
        check_same_file(self.identity, FileIdentity.of(str(self.path)), self.place)


@dataclass(frozen=True)
class MemberBytes(ByteSource):
    """The bytes of one file in a zip archive."""

    archive: ByteSource
    member: str
    bytes_inside: int

    @property
    def name(self) -> str:
        return Path(self.member).name

    @property
    def place(self) -> str:
        return f"{self.archive.place}/{self.member}"

    @property
    def once(self) -> bool:  # type: ignore[override]
        return self.archive.once

    def open(self) -> Any:
        return open_archive(self.archive).open(self.member)

    @property
    def size(self) -> int | None:
        return self.bytes_inside

    def check_unchanged(self) -> None:
        self.archive.check_unchanged()


def open_archive(archive: ByteSource) -> zipfile.ZipFile:
    """The zip archive in some bytes."""
    return zipfile.ZipFile(archive.open_to_seek())


@dataclass(frozen=True)
class HeldBytes(ByteSource):
    """Bytes in memory."""

    content: bytes
    name: str = ""
    place: str = ""

    def open(self) -> Any:
        return pa.BufferReader(self.content)

    @property
    def size(self) -> int | None:
        return len(self.content)


class OpenFileBytes(ByteSource):
    """The bytes of an open file, from its current position. The position does not change.

    A file in which no position can be set is read only once.
    """

    def __init__(self, file: Any) -> None:
        self.encoding = None
        self._lock = threading.Lock()
        self._label = str(getattr(file, "name", None) or f"an open {type(file).__name__}")
        if hasattr(file, "encoding") and hasattr(file, "buffer"):  # opened as text
            self.encoding, start = file.encoding, file.tell() if file.seekable() else None
            file = file.buffer
            self._start = start if start is None or start < 1 << 63 else 0
        else:
            seekable = getattr(file, "seekable", None)
            self._start = file.tell() if seekable is not None and seekable() else None
            if self._start is not None and isinstance(file.read(0), str):  # such as io.StringIO
                text = file.read()
                file.seek(self._start)
                file, self._start, self.encoding = io.BytesIO(text.encode("utf-8")), 0, "utf-8"
        self._file = file
        self.once = self._start is None
        self._begin = b""  # the first bytes of a file that can be read only once
        self._identity = self._identity_now()

    @property
    def name(self) -> str:
        return Path(self._label).name

    @property
    def place(self) -> str:
        return self._label

    def open(self) -> Any:
        self.check_unchanged()
        return FileView(self._pull if self.once else self._read_at, self._start or 0)

    def open_to_seek(self) -> Any:
        if self.once:
            return super().open_to_seek()
        self.check_unchanged()
        return FileView(self._read_at, self._start or 0, self._end())

    @property
    def size(self) -> int | None:
        return None if self.once else self._end() - (self._start or 0)

    def check_unchanged(self) -> None:
        check_same_file(self._identity, self._identity_now(), self.place)

    def _identity_now(self) -> FileIdentity | None:
        """The identity of a file on disk, or the size of a file in memory."""
        if self.once:
            return None
        size = self._end()  # bytes that were written but not stored yet are stored now
        file = getattr(self._file, "file", self._file)  # of a temporary file
        if isinstance(file, ON_DISK):
            return FileIdentity.of(file.fileno())
        return FileIdentity(size, 0, (0, 0))

    def first_bytes(self, count: int) -> bytes:
        if not self.once:
            return super().first_bytes(count)
        while len(self._begin) < count and (more := self._next(count - len(self._begin))):
            self._begin += more
        return self._begin[:count]

    def _read_at(self, position: int, count: int) -> bytes:
        with self._lock:
            before = self._file.tell()
            self._file.seek(position)
            out: bytes = self._file.read(count)
            self._file.seek(before)
        return out

    def _pull(self, position: int, count: int) -> bytes:
        if self._begin:
            out, self._begin = self._begin[:count], self._begin[count:]
            return out
        return self._next(count)

    def _next(self, count: int) -> bytes:
        out = self._file.read(count)
        return out.encode("utf-8") if isinstance(out, str) else out or b""

    def _end(self) -> int:
        with self._lock:
            before = self._file.tell()
            end = self._file.seek(0, io.SEEK_END)
            self._file.seek(before)
        return int(end)

    def __getstate__(self) -> Any:
        raise VerosimError(
            "A table that reads an open file cannot be pickled.", "Give the path of the file."
        )


class FileView(io.RawIOBase):
    """A part of another file with a position of its own. Closing it leaves the file open."""

    def __init__(self, read: Callable[[int, int], bytes], start: int, end: int = -1) -> None:
        self._read, self._start, self._at, self._end = read, start, start, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._end >= 0

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        out = self._read(self._at, size)
        self._at += len(out)
        return out

    def readinto(self, buffer: Any) -> int:
        out = self.read(len(buffer))
        buffer[: len(out)] = out
        return len(out)

    def seek(self, offset: int, origin: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: self._start, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[origin]
        self._at = base + offset
        return self.tell()

    def tell(self) -> int:
        return self._at - self._start


def as_arrow(file: Any) -> Any:
    """A file as an Arrow file."""
    return file if isinstance(file, pa.NativeFile) else pa.PythonFile(file, mode="r")


@dataclass
class ByteStream:
    """Decompressed bytes as UTF-8, and where they were in the raw bytes."""

    file: Any  # an Arrow file
    size: int | None  # the number of raw bytes
    marks: list[tuple[int, int]] | None = None  # (bytes given, raw bytes read) after each read

    def share(self, given: int) -> float:
        """The share of the raw bytes that holds the first `given` bytes; 0 if it is unknown.

        Arrow reads many blocks ahead, so the position of the file itself is not the answer.
        """
        if not self.size:
            return 0.0
        if self.marks is not None:
            marks = self.marks
            while len(marks) > 1 and marks[0][0] < given:
                marks.pop(0)
            given = marks[0][1] if marks else 0
        return min(given / self.size, 1.0)


class MarkedFile(io.RawIOBase):
    """A decompressed file that notes how many raw bytes each read has needed."""

    def __init__(self, file: Any, raw: Any) -> None:
        self._file, self._raw, self._given = file, raw, 0
        self.marks: list[tuple[int, int]] = []

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        out: bytes = self._file.read(size)
        self._given += len(out)
        self.marks.append((self._given, self._raw.tell()))
        return out


def compression_of(start: bytes) -> str | None:
    """How a file with these first bytes is compressed."""
    return next((name for mark, name in COMPRESSIONS.items() if start.startswith(mark)), None)


def open_stream(
    data: ByteSource, compression: str | None = None, encoding: str | None = None
) -> ByteStream:
    """The decompressed bytes. With an encoding, they are converted to UTF-8 while they are read."""
    raw = data.open()
    file = raw
    if compression == "xz":
        file = lzma.LZMAFile(raw)  # noqa: SIM115  # closed by its reader
    elif compression is not None:
        file = pa.CompressedInputStream(as_arrow(raw), compression)
    file = as_arrow(file)
    if encoding is not None:
        file = pa.transcoding_input_stream(file, encoding, "utf-8")
    if compression is None and encoding is None:
        return ByteStream(file, data.size)
    marked = MarkedFile(file, raw)
    return ByteStream(as_arrow(marked), data.size, marked.marks)


def first_text(data: ByteSource, compression: str | None, size: int) -> tuple[bytes, bool]:
    """The first decompressed bytes, and whether they are all."""
    if data.once:  # the pass still needs these bytes
        data, size = HeldBytes(data.first_bytes(size)), size // 2
    with open_stream(data, compression).file as file:
        start = bytes(file.read(size))
    return start, len(start) < size
