"""Progress bars and notices are shown only if a person sees them, that is, on a terminal."""

from __future__ import annotations

import os
import sys


def watched() -> bool:
    """Whether stderr is a terminal. A notebook, a pipe, a file or a CI log is not a terminal."""
    return sys.stderr is not None and sys.stderr.isatty() and "CI" not in os.environ
