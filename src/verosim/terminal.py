"""Whether a person is watching: progress and notices are shown on a terminal only."""

from __future__ import annotations

import os
import sys


def watched() -> bool:
    """Whether stderr is a terminal; a notebook, a pipe, a file and a CI log are not."""
    return sys.stderr is not None and sys.stderr.isatty() and "CI" not in os.environ
