"""The ways to compile a loop: exactly as written, or with sums that may be reordered.

Numba keeps the compiled code in a cache on disk. The cache saves time but is never required: if it
cannot be written, read or trusted, the loop is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

from numba import config
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Event, Listener, register
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typing import make_concrete_template

from verosim.kernels._load import CodeFile, link_runtime
from verosim.kernels._parts import compile_part, is_part, makes_arrays
from verosim.kernels.ready import ready_code
from verosim.lazy import no_collection
from verosim.terminal import watched

COMPILING = "verosim is compiling its numerical loops for this machine. This happens only once."
COMPILING_AGAIN = (
    "verosim is compiling its numerical loops, and every new process will do this again, because "
    "no writable folder was found for the result. "
    "Set the environment variable NUMBA_CACHE_DIR to a writable folder."
)


@cache
def sources(path: Path) -> frozenset[Path]:
    """A file of kernels and all files of kernels that it imports, directly or not."""
    names = re.findall(
        r"^from verosim\.kernels\.(\w+) import", path.read_text("utf-8"), re.MULTILINE
    )
    return frozenset({path}).union(*(sources(path.with_name(f"{name}.py")) for name in names))


@cache
def source_stamp(path: Path) -> bytes:
    """A hash of these files. Compiled code contains the code of the functions that it calls."""
    found = hashlib.sha256()
    for source in sorted(sources(path)):
        found.update(source.read_bytes())
    return found.digest()


class KernelCache(FunctionCache):
    """Numba's cache of one function. If it fails, the function is compiled again.

    Numba checks only the file of the function itself, so it would not notice a change of a function
    in another file. Here, the code is out of date if any of the `sources` has changed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = CodeFile(self._cache_path, self._impl.filename_base, stamp)
        with suppress(OSError):  # in a zip file or a frozen program there is no file to read
            self._cache_file._source_stamp = source_stamp(Path(function.__code__.co_filename))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code from the cache, or None if there is none that can be read.

        Numba would first load the declarations of all functions that it can compile, which takes
        longer than everything else here. Code that is ready needs only the runtime. The compiler
        loads the declarations itself if there is no such code.
        """
        link_runtime()
        try:
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file can raise any exception
            with suppress(OSError):
                self.flush()  # an empty index makes saving possible again
            found = None
        return found if found is not None else self._load_ready(sig, target_context)

    def _load_ready(self, sig: Any, target_context: Any) -> Any:
        """The code that ships with the package for this kind of processor, or None."""
        key = self._index_key(sig, target_context.codegen())
        try:
            data = ready_code(self._impl.filename_base, self._cache_file._source_stamp, key)
            return None if data is None else self._impl.rebuild(target_context, data)
        except Exception:  # made by another version of a library: the loop is compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code to the cache if this is possible."""
        with suppress(OSError):  # the disk is full, or the folder is no longer writable
            super().save_overload(sig, data)


class Kernel(CPUDispatcher):
    """A compiled function, cached on disk where that is possible.

    The folder of the cache is found when the function is first compiled or loaded.
    """

    looks_for_cache = True

    def compile(self, sig: Any) -> Any:
        """The code for these types, from the cache or new."""
        with global_compiler_lock:
            if self.looks_for_cache:
                self.enable_caching()
            self.targetoptions["_nrt"] = makes_arrays(self)
            types, _ = normalize_signature(sig)
            if is_part(self.overloads.get(types)):
                del self.overloads[types]  # now the loop is called from Python, too
            with no_collection():
                return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The declaration of this loop for the compiler, at a call in another loop."""
        signature, types = self.fold_argument_types(args, kws)
        if types not in self.overloads:
            self.targetoptions["_nrt"] = makes_arrays(self)
            try:
                self.overloads[types] = compile_part(self, types)
            except (AttributeError, TypeError):  # an unknown version of numba: its own, slower way
                return super().get_call_template(args, kws)
        name, found = self.py_func.__name__, cast(Any, self.overloads[types])
        return make_concrete_template(name, name, [found.signature]), signature, types, {}

    def _compilation_chain_init_hook(self) -> None:
        """Do not search all installed packages for extensions of numba: no loop uses one."""

    def enable_caching(self) -> None:
        """Use the cache on disk if numba finds a folder for it."""
        self.looks_for_cache = False
        with suppress(RuntimeError, OSError):  # numba found no writable folder
            self._cache = KernelCache(self.py_func)


class CompilingNotice(Listener):
    """Prints a notice on a terminal, once per process, when the first kernel is compiled.

    Numba sends this event only if the cache has no compiled code. A call of a kernel that is
    already compiled therefore takes no extra time.
    """

    def __init__(self) -> None:
        self.done = False

    def on_start(self, event: Event) -> None:
        """Print the notice if this is the first kernel of verosim that is compiled."""
        kernel = event.data["dispatcher"]
        if self.done or not isinstance(kernel, Kernel):
            return
        self.done = True
        if watched():
            text = COMPILING if kernel.stats.cache_path else COMPILING_AGAIN
            print(text, file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        """Do nothing: the notice is printed at the start."""


register("numba:compile", CompilingNotice())

if hasattr(os, "register_at_fork"):  # no fork while another thread compiles: a child could not
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def exact(function: Callable[..., Any]) -> Any:
    """Compile a function exactly as written: no sum is reordered."""
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function like `exact`, and copy it into its callers: a call would cost too much."""
    return _compiled(function, forceinline=True)


def loose(function: Callable[..., Any]) -> Any:
    """Compile a function with sums that may be reordered, to add several terms at once."""
    return _compiled(function, fastmath={"reassoc", "contract", "nsz", "arcp"})


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function with the options that all kernels share."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets it from the environment
        return function
    options |= {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}
    options["no_cfunc_wrapper"] = True  # the function for C that numba would add
    return Kernel(function, targetoptions=options)
