"""How the reference reads docstrings: types as written, roles as links, shared methods."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from griffe import Alias, Class, Docstring, DocstringSection, Extension, Object

import verosim

# `name : type, default=value` in a section of a docstring; the type is wanted.
ENTRY = re.compile(r"^(\*{0,2}\w+) : (.+?)(?:, default=.*)?$", re.MULTILINE)
NOT_AN_EXPRESSION = re.compile(r"[,{-]")
ROLE = re.compile(r":\w+:`~?((?:\w+\.)*(\w+))(?:\(\))?`")  # :func:`~verosim.look`


def linked(match: re.Match[str]) -> str:
    """A role as Markdown: a link if it names something public, else code."""
    path, name = match.groups()
    if name in verosim.__all__:
        path = f"verosim.{name}"
    return f"[`{name}`][{path}]" if path.startswith("verosim.") else f"`{name}`"


class PlainTypes(Docstring):
    """A docstring with types such as `array-like, str or None` kept as text.

    The parser reads them as Python: a difference, and a tuple. Types that are names stay links.
    """

    @cached_property
    def parsed(self) -> list[DocstringSection]:
        written = {name.lstrip("*"): kind for name, kind in ENTRY.findall(self.value)}
        sections = self.parse()
        for section in sections:
            if section.kind.value in ("parameters", "attributes"):
                for entry in section.value:
                    kind = written.get(entry.name.lstrip("*"), "")
                    if NOT_AN_EXPRESSION.search(kind):
                        entry.annotation = kind
        return sections


class PlainDocstrings(Extension):
    """What is changed in the source that was read, before pages are made of it."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            old = obj.docstring
            obj.docstring = PlainTypes(
                ROLE.sub(linked, old.value), lineno=old.lineno, endlineno=old.endlineno,
                parent=old.parent, parser=old.parser, parser_options=old.parser_options,
            )  # fmt: skip

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """A method that several classes share, `name = name` in the class, is a method."""
        for name, member in list(cls.members.items()):
            imported = cls.module.members.get(name)
            if member.is_attribute and str(member.value) == name and isinstance(imported, Alias):
                cls.members[name] = Alias(name, imported.target_path, parent=cls)
