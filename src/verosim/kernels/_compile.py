"""The two ways a loop is compiled: to the letter, or free to reorder its sums.

The result is kept on disk by numba's cache, which is a help and never a condition: where no
cache can be written, read or trusted, the loop is compiled again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import config
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, register
from numba.core.registry import CPUDispatcher

from verosim.terminal import watched

COMPILING = "Compiling verosim for this machine: this happens once."
COMPILING_AGAIN = (
    "Compiling verosim: every new process does, because no folder was found to keep the result. "
    "Set NUMBA_CACHE_DIR to a folder that can be written."
)


class KernelCache(FunctionCache):
    """Numba's cache of one function, whose failures mean compiling and not an error."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file may raise anything when it is unpickled
            with suppress(OSError):
                self.flush()  # an empty index, so that saving works again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk, or a folder that was writable before
            super().save_overload(sig, data)


class Kernel(CPUDispatcher):
    """A compiled function, cached on disk where that is possible."""

    def enable_caching(self) -> None:
        try:
            self._cache = KernelCache(self.py_func)
        except (RuntimeError, OSError):  # numba finds no folder it can write
            return


class CompilingNotice(Listener):
    """Says on a terminal, once per process, that the first kernel is being compiled.

    Numba announces a compilation only if the cache has no result, so a call of a compiled
    kernel costs nothing more.
    """

    def __init__(self) -> None:
        self.done = False

    def on_start(self, event: Event) -> None:
        kernel = event.data["dispatcher"]
        if self.done or not isinstance(kernel, Kernel):
            return
        self.done = True
        if watched():
            text = COMPILING if kernel.stats.cache_path else COMPILING_AGAIN
            print(text, file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        """Nothing to say."""


register("numba:compile", CompilingNotice())


def exact(function: Callable[..., Any]) -> Any:
    """Compiled as written: no sum is reordered."""
    return _compiled(function)


def loose(function: Callable[..., Any]) -> Any:
    """Compiled with sums that may be reordered, so that several terms are added at once."""
    return _compiled(function, fastmath={"reassoc", "contract", "nsz", "arcp"})


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set by numba from the environment
        return function
    options |= {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}
    kernel = Kernel(function, targetoptions=options)
    kernel.enable_caching()
    return kernel
