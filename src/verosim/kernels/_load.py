"""Compiled code from a file, without the work and the imports that only the compiler needs.

A file of numba has machine code, and an environment for each function in it. An environment is the
names of the module of the function, and only uncompiled code reads it. Numba imports all of these
modules, and it compiles the functions that count references, which our code already contains.
"""

from __future__ import annotations

import pickle
import sys
from functools import cache
from typing import Any

from llvmlite.binding import add_symbol
from numba.core.caching import IndexDataCacheFile
from numba.core.environment import _rebuild_env
from numba.core.runtime import _nrt_python as runtime  # type: ignore[attr-defined]


@cache
def link_runtime() -> None:
    """Make the functions of numba's runtime known to the code that is loaded."""
    for name, address in runtime.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def environment(module: str, constants: list[Any], name: str) -> Any:
    """The environment of a function. Its module is not imported for this purpose."""
    return _rebuild_env(module if module in sys.modules else "numba", constants, name)


class CodeReader(pickle.Unpickler):
    """Reads what numba has written, with the environments above."""

    def find_class(self, module: str, name: str) -> Any:
        """The function or class that the file names."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return environment
        return super().find_class(module, name)


class CodeFile(IndexDataCacheFile):
    """The files with the compiled code of one function."""

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return CodeReader(file).load()
