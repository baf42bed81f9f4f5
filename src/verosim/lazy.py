"""Names that a package imports when they are first used, so that importing the package is cheap.

The names are the imports of the package's stub, `__init__.pyi`. Type checkers and editors read the
same file, so what they offer is what there is.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]

LONGEST_WAIT = 5.0  # seconds


def lazy_names(package: str, file: str) -> Lazy:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its file."""
    module_of = stub_imports(Path(file).with_suffix(".pyi"))
    names = sorted(module_of)

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        with no_collection():
            if module == package:  # a module of the package, not a name in one
                value = import_module(f"{package}.{name}")
            else:
                value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: names, names


@contextmanager
def no_collection() -> Iterator[None]:
    """Do not search for garbage meanwhile.

    Imports and compilers make many objects that stay. A search would visit all objects of the
    process and find almost nothing.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def stub_imports(stub: Path) -> dict[str, str]:
    """The module of every name that a stub imports."""
    imports = (
        node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)
    )
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def plotted(function: str, *arguments: Any, **how: Any) -> Any:
    """Call a function of `verosim.insight.plots` by its name.

    A result calls its plot in this way, because the pictures are in a higher layer than the results
    and are imported only when one is drawn.
    """
    return getattr(import_module("verosim.insight.plots"), function)(*arguments, **how)


def wait_for_imports() -> None:
    """Wait until no other thread imports a module, a few seconds at most.

    verosim imports modules when they are first used. A child that is forked in the middle of that
    has the lock of the module but not the thread that would release it, so its own import of the
    module would never end. Python renews only its own locks in a child.
    """
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end:
        here = get_ident()
        others = [frame for thread, frame in sys._current_frames().items() if thread != here]
        if not any(map(importing, others)):
            return
        time.sleep(0.001)


def importing(frame: FrameType | None) -> bool:
    """Whether an import is under way in this call or in one that led to it."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports)
