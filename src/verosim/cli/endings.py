"""The two ways to end early that are not errors of a verb: Ctrl-C and a closed pipe.

typer handles both itself, with other exit codes. So they pass through it under other names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class Interrupted(Exception):
    """The user pressed Ctrl-C."""


class PipeClosed(Exception):
    """The reader of the output has ended."""


def ending_quietly(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with Ctrl-C and a closed pipe under other names."""

    @wraps(verb)
    def run(**arguments: Any) -> None:
        try:
            verb(**arguments)
        except KeyboardInterrupt:
            raise Interrupted from None
        except BrokenPipeError:
            raise PipeClosed from None

    return run
