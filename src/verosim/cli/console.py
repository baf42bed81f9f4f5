"""What the user sees: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
        print(json.dumps(plain(data), ensure_ascii=False, allow_nan=False))
    elif not CONSOLE.quiet:
        print(text)


def note(text: str) -> None:
    """Print something about the work on stderr."""
    if not CONSOLE.quiet:
        print(text, file=sys.stderr)


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


def aligned(pairs: Mapping[str, Any]) -> str:
    """Names and values in two columns."""
    width = max(map(len, pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs.items())


def in_columns(lines: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """Lines of cells. Numbers are right-aligned, except in the first column."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at and numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
