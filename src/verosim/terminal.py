"""Text for a person: what may be printed, and whether somebody sees it.

Names of columns, categories and classes come from tables. A control character in them could move
the cursor, change colours or reverse the order of a line. So a text for a person has each of them
as Python writes it, such as `\\x1b`. Data in files and in JSON are not changed.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence

# Control characters, marks and overrides of the direction of writing, separators of lines,
# invisible characters without width, and halves of characters.
CONTROLS = (
    r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
CONTROL = re.compile(f"[{CONTROLS}]")
CONTROL_IN_LINES = re.compile(rf"(?!\n)[{CONTROLS}]")
# What our own characters become where the encoding of the terminal lacks them.
IN_ASCII = {
    "…": "...", "−": "-", "–": "-", "─": "-", "±": "+-", "→": "->", "←": "<-", "×": "x", "·": "*",
    "²": "^2", "∞": "inf", "≤": "<=", "≥": ">=", "λ": "lambda", "Σ": "sum", "‖": "||", "°": " deg",
    "‹": "<", "›": ">", "“": '"', "”": '"', "’": "'", "α": "alpha", "γ": "gamma", "μ": "mu",
}  # fmt: skip
DEGRADED = "verosim.degraded"  # the name of the error handler of encodings

_silent = False


def silence(silent: bool) -> None:
    """Show no progress bars and notices from now on, or show them again."""
    global _silent
    _silent = silent


def watched() -> bool:
    """Whether stderr is a terminal. A notebook, a pipe, a file or a CI log is not a terminal."""
    if _silent:
        return False
    return sys.stderr is not None and sys.stderr.isatty() and "CI" not in os.environ


# Characters --------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """A text of one or more lines without control characters."""
    return CONTROL_IN_LINES.sub(_escaped, text)


def in_one_line(text: str) -> str:
    """A text without control characters, in one line."""
    return CONTROL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _degraded(error: UnicodeError) -> tuple[str, int]:
    """In ASCII what an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    escaped = (IN_ASCII.get(one) or one.encode("unicode_escape").decode() for one in found)
    return "".join(escaped), error.end


codecs.register_error(DEGRADED, _degraded)

# Lines and tables --------------------------------------------------------------------------------


def in_lines(lines: Iterable[str]) -> str:
    """The text of some lines. A line break in a line is written as `\\n`."""
    return "\n".join(map(in_one_line, lines))


def table_lines(rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> list[str]:
    """The lines of a table. The columns `numbers` are right-aligned, the others left-aligned."""
    cells = [[in_one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def named_lines(values: Mapping[str, str]) -> list[str]:
    """Names and values in two columns. The further lines of a value are below its first one."""
    lines = [
        (name if at == 0 else "", line)
        for name, value in values.items()
        for at, line in enumerate(printable(value).split("\n"))
    ]
    return table_lines(lines)
