"""Output files of a command. They appear whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

STDOUT = "-"


@contextmanager
def output_file(name: str) -> Iterator[BinaryIO]:
    """A file to write, or stdout for the name `-`."""
    if name == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from verosim.whole_files import whole_file

    with whole_file(name) as file:
        yield file
