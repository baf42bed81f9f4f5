"""Files that appear whole or not at all, and locks between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write beside the old one. At the end it is synced and renamed.

    Nothing is left of a failure. The name of the new file is fixed, so a file that a killed process
    left is written over. A link keeps its place, and its target is replaced. A device or a pipe is
    written directly.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    beside = path.with_name(f".{path.name}.part")
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    try:
        with os.fdopen(locked_file(beside, 0o666 if mode is None else mode), "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)  # the mask of the process may have removed some
            file.truncate(0)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)  # still locked: of two writers, the second one waits
    except BaseException:
        _remove_unless_locked(beside)
        raise
    if os.name == "posix":
        _sync_folder(path.parent)


def locked_file(path: Path, mode: int) -> int:
    """An open file that no other process writes to, as soon as there is one.

    The operating system frees the lock of a process that ends, also if it is killed.
    """
    if fcntl is None:
        return _opened(path, mode)
    while (handle := _locked(path, mode, fcntl.LOCK_EX)) is None:
        pass
    return handle


def try_lock(path: Path) -> int | None:
    """The open lock file, or None if another process has it."""
    if fcntl is not None:
        return _locked(path, 0o666, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        return _opened(path, 0o666, os.O_EXCL)
    except FileExistsError:
        return None


def _opened(path: Path, mode: int, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | flags, mode)


def _locked(path: Path, mode: int, operation: int) -> int | None:
    handle = _opened(path, mode)
    try:
        fcntl.flock(handle, operation)
        if os.stat(path).st_ino == os.fstat(handle).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass  # it is locked, or its owner has just removed it
    except BaseException:  # Ctrl-C
        os.close(handle)
        raise
    os.close(handle)  # another process may have renamed it, so it can be a finished file now
    return None


def _remove_unless_locked(path: Path) -> None:
    """Remove a file, unless another process has begun to write it."""
    with suppress(OSError):  # the error of the caller is the one to show
        if fcntl is None:
            path.unlink(missing_ok=True)
        elif (handle := try_lock(path)) is not None:
            path.unlink(missing_ok=True)
            os.close(handle)


def _sync_folder(path: Path) -> None:
    at = os.open(path, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)
