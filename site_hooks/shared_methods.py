"""A method that several classes share, `name = name` in the class, is documented as a method."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Class, Extension


class SharedMethods(Extension):
    """Replace the attribute by the function that the module imported under the same name."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        for name, member in list(cls.members.items()):
            imported = cls.module.members.get(name)
            if member.is_attribute and str(member.value) == name and isinstance(imported, Alias):
                cls.members[name] = Alias(name, imported.target_path, parent=cls)
