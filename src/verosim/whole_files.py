"""Files that appear whole or not at all, and locks between processes.

A file is written beside its place under a random name, `.verosim-RANDOM.part`, and is renamed at
the end. The writer locks it, and removes it after an error or Ctrl-C. A file with such a name that
is not locked was left by a process that was killed. The next writer in the folder removes it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PART_NAME = re.compile(r"\.verosim-[0-9a-f]{32}\.part")
# A link is not followed, and a pipe is not waited for.
SAFELY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write beside the old one. At the end it is synced and renamed.

    Nothing is left of a failure. A link keeps its place, and its target is replaced. A device or a
    pipe is written directly.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    _remove_left_files(path.parent)
    beside = path.with_name(f".verosim-{os.urandom(16).hex()}.part")
    try:
        with os.fdopen(_new_file(beside, 0o666 if mode is None else mode), "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)  # the mask of the process may have removed some
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows does not rename an open file
            os.replace(beside, path)
    except BaseException as error:
        with suppress(OSError):  # the error of the caller is the one to show
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(beside):
            error.filename = str(path)
        raise
    if os.name == "posix":
        _sync_folder(path.parent)


def try_lock(path: Path) -> int | None:
    """The open lock file, or None if another process has it.

    The operating system frees the lock of a process that ends, also if it is killed.
    """
    if fcntl is not None:
        return _locked(os.open(path, os.O_RDWR | os.O_CREAT | SAFELY, 0o666), path)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, 0o666)
    except FileExistsError:
        return None


def _new_file(path: Path, mode: int) -> int:
    """A new file that this process has locked. Nothing that was there before is opened."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, mode)
        if fcntl is None or _locked(handle, path) is not None:
            return handle
        # Another writer took it for a file that was left, before it was locked.


def _locked(handle: int, path: Path) -> int | None:
    """The open file with a lock, or None if another process has it or has just removed it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path, follow_symlinks=False).st_ino == os.fstat(handle).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:  # Ctrl-C
        os.close(handle)
        raise
    os.close(handle)
    return None


def _remove_left_files(folder: Path) -> None:
    """Remove the files that killed processes have left."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PART_NAME.fullmatch(entry.name):
                _remove_left_file(folder / entry.name)


def _remove_left_file(path: Path) -> None:
    """Remove a file, unless a process writes it."""
    with suppress(OSError):  # a link, or a file of another user
        handle = os.open(path, os.O_RDWR | SAFELY)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
        elif fcntl is None:
            os.close(handle)
            path.unlink()  # refused while a process has it open
        elif _locked(handle, path) is not None:
            path.unlink()
            os.close(handle)


def _sync_folder(path: Path) -> None:
    at = os.open(path, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)
