"""Names that a package imports when they are first used, so that importing the package is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> Lazy:
    """`__getattr__`, `__dir__` and `__all__` of a package that offers these names.

    `modules` are the names by the module that defines them, `submodules` the modules of the package
    that are names of it themselves.
    """
    defined_in = {name: module for module, names in modules.items() for name in names}
    offered = sorted([*defined_in, *submodules])

    def load(name: str) -> Any:
        if name not in offered:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in defined_in:
            value = getattr(import_module(defined_in[name]), name)
        else:
            value = import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: offered, offered
