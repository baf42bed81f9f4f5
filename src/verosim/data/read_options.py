"""The options of `read=`: what the user knows about a file."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from verosim.errors import VerosimError, listed


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read. None means that the file is examined."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    quote: str | None = None
    sheet: str | int | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("sep", self.sep), ("quote", self.quote)):
            empty_is_fine = name == "quote" and value == ""
            one = isinstance(value, str) and len(value) == 1 and value.isascii()
            if value is not None and not one and not empty_is_fine:
                raise VerosimError(
                    f"{name} must be one ASCII character; got {value!r}.", f"Use {name}=';'."
                    if name == "sep" else "Use quote='\"', or quote='' for no quotes.",
                )  # fmt: skip
        if self.decimal not in (None, ".", ","):
            raise VerosimError(
                f"decimal must be '.' or ','; got {self.decimal!r}.", "Use decimal=','."
            )
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, TypeError):
                raise VerosimError(
                    f"The encoding {self.encoding!r} is unknown.",
                    "Use an encoding of Python, such as 'utf-8', 'latin-1' or 'utf-16'.",
                ) from None

    @classmethod
    def of(cls, read: Mapping[str, Any] | None) -> ReadOptions:
        """The options from the argument `read` of a method."""
        if read is None:
            return AS_FOUND
        names = [one.name for one in fields(cls)]
        if not isinstance(read, Mapping):
            raise VerosimError(
                f"read must be a dict of options; got {read!r}.", "Use read=dict(sep=';')."
            )
        unknown = [str(name) for name in read if name not in names]
        if unknown:
            raise VerosimError(
                f"The argument read has no option {listed(unknown)}.",
                f"Use the options {', '.join(names)}.",
            )
        return cls(**read)

    @property
    def given(self) -> dict[str, Any]:
        """The options that are not None."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def check(self, allowed: tuple[str, ...], place: str, kind: str) -> None:
        """Raise an error if an option does not apply to the format of a file."""
        wrong = [name for name in self.given if name not in (*allowed, "format")]
        if wrong:
            raise VerosimError(
                f"{place!r} is read as {kind}, which has no option {listed(wrong)}.",
                f"Remove {wrong[0]!r} from read.",
            )


AS_FOUND = ReadOptions()
