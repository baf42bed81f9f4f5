"""Output files of a command. They appear whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from verosim.terminal import printable

STDOUT = "-"


@contextmanager
def output_file(name: str) -> Iterator[BinaryIO]:
    """A file to write, or stdout for the name `-`."""
    if name == STDOUT:
        yield _ForPerson() if sys.stdout.isatty() else sys.stdout.buffer  # type: ignore[misc]
        sys.stdout.flush()
        return
    from verosim.whole_files import whole_file

    with whole_file(name) as file:
        yield file


class _ForPerson:
    """A table on a terminal. Each piece that is written has whole characters."""

    def write(self, raw: bytes) -> int:
        sys.stdout.write(printable(raw.decode()))
        return len(raw)
