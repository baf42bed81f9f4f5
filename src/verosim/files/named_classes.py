"""A fixed list of classes by name. A class is imported when it is first asked for.

A model file names the classes of its values. Reading the file imports only these, and not all
classes that some file may contain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module


class NamedClasses(Mapping[str, type]):
    """Classes by name, from the names of each module."""

    def __init__(self, names_of: Mapping[str, str]) -> None:
        """`names_of` has the names of the classes of each module, with spaces between them."""
        self.names_of = names_of
        self._module = {
            name: f"verosim.{module}"
            for module, names in names_of.items()
            for name in names.split()
        }

    def __getitem__(self, name: str) -> type:
        found: type = getattr(import_module(self._module[name]), name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._module

    def __iter__(self) -> Iterator[str]:
        return iter(self._module)

    def __len__(self) -> int:
        return len(self._module)

    def has(self, kind: type) -> bool:
        """Whether a class is in the list."""
        return kind.__name__ in self and self[kind.__name__] is kind
