"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

STDOUT = "-"


@contextmanager
def whole_file(name: str) -> Iterator[BinaryIO]:
    """A file to write. It is renamed to its name at the end, if nothing went wrong.

    `-` is stdout. A pipe or a device is written directly.
    """
    if name == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(os.path.realpath(name))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    from verosim.files.store import locked_file

    beside = path.with_name(f".{path.name}.part")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666
    handle = locked_file(beside, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.truncate(0)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
