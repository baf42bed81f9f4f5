"""Names that a package imports when they are first used, so that importing the package is cheap.

The names are the imports of the package's stub, `__init__.pyi`. Type checkers and editors read the
same file, so what they offer is what there is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(package: str, file: str) -> Lazy:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its file."""
    module_of = stub_imports(Path(file).with_suffix(".pyi"))
    names = sorted(module_of)

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        if module == package:  # a module of the package, not a name in one
            value = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: names, names


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
