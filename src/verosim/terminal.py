"""Progress bars and notices are shown only if a person sees them, that is, on a terminal."""

from __future__ import annotations

import os
import sys

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
