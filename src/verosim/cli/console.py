"""What the user sees: results on stdout, everything else on stderr.

An encoding that lacks a character gets it in ASCII. Results that cannot be printed are an error,
except if there is no reader. Notes that cannot be printed are left out.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from verosim.terminal import CONTROL, DEGRADED, in_one_line, printable


@dataclass
class Console:
    """The options that all verbs have."""

    json: bool = False  # results as JSON
    quiet: bool = False  # no notes, no warnings and no progress bar
    debug: bool = False  # errors with a traceback


CONSOLE = Console()


def show(data: Mapping[str, Any], text: str) -> None:
    """Print a result: the data with --json, otherwise the text, which --quiet leaves out."""
    if CONSOLE.json:
        print(json_text(data, ascii_only=not _is_unicode(sys.stdout)))
    elif not CONSOLE.quiet:
        print(printable(text))


def note(text: str) -> None:
    """Print something about the work on stderr, in one line."""
    if not CONSOLE.quiet:
        complain(in_one_line(text))


def complain(text: str) -> None:
    """Print a text on stderr. A text that cannot be printed is left out."""
    try:
        print(printable(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        let_go_of(sys.stderr)


def json_text(data: Any, *, ascii_only: bool = False) -> str:
    """The data as JSON in one line. Control characters are escaped in the way of JSON."""
    text = json.dumps(plain(data), ensure_ascii=ascii_only, allow_nan=False)
    return CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def plain(value: Any) -> Any:
    """The value as JSON: numbers of numpy as numbers, and null for nan and infinity."""
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


# Streams -----------------------------------------------------------------------------------------


@contextmanager
def usable_streams() -> Iterator[None]:
    """Streams that can be written to, whatever the user has closed and whatever the encoding is."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    streams = [one for one in (sys.stdout, sys.stderr) if hasattr(one, "reconfigure")]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors=DEGRADED)
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            with suppress(OSError, ValueError):  # what is in the buffer cannot be written
                stream.reconfigure(errors=errors)


def let_go_of(stream: TextIO) -> None:
    """Point a stream to nowhere, so that the rest of the buffer is not written at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _is_unicode(stream: TextIO) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return encoding.lower().startswith("utf")
