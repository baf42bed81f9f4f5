"""Values that are written as strict JSON and read back: the parts of a program.

A node is a frozen dataclass with a `kind`. Its JSON object has the kind and the fields:

    {"kind": "gaussian", "reads": [0], "pivot": [1.5, 1.5], …}

An array of floats is a field of the type Annotated[np.ndarray, "C", "d"]. Fields of a node with a
common letter have the same size there. In JSON it is a list of lists, with the text "-inf" for −∞
if the type does not end with FINITE. NaN and +∞ do not occur. A number has all its digits, so
reading gives the same bits back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from verosim.errors import VerosimError

MINUS_INFINITY = "-inf"
FINITE = "finite"  # at the end of the type of an array without −∞
MALFORMED_HINT = "Write the program again with program.to_json()."


PROGRAM_HINT = "Use LDA, QDA, RDA, NaiveLDA or a naive Bayes model."


def malformed(what: str) -> VerosimError:
    """The error for JSON that is not a program."""
    return VerosimError(f"The program cannot be read: {what}.", MALFORMED_HINT)


def no_program(why: str, hint: str) -> VerosimError:
    """The error for a model that cannot be written as a program."""
    return VerosimError(f"This model has no program, because {why}.", hint)


@dataclass(frozen=True, eq=False)
class Node:
    """A value with a kind. A direct subclass is a family, and its subclasses are the kinds."""

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Node in cls.__bases__:
            cls.kinds = {}
        elif "kind" in vars(cls):
            cls.kinds[cls.kind] = cls

    def plain(self) -> dict[str, Any]:
        """The node as plain data: dicts, lists, texts and finite numbers."""
        out = {"kind": self.kind}
        return out | {one.name: as_plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        """The node that `plain` has described, of any kind of this family."""
        shown = data.get("kind") if isinstance(data, Mapping) else data
        if not isinstance(shown, str) or shown not in cls.kinds or shown is data:
            raise malformed(f"{shown!r:.40} is not a kind of {cls.__name__.lower()}")
        made: Any = cls.kinds[shown]
        hints = _hints(made)
        if data.keys() != {"kind", *hints}:
            odd = sorted(data.keys() ^ {"kind", *hints})
            raise malformed(f"{made.kind!r} does not have the fields {odd} as expected")
        values = {n: as_value(data[n], hint, f"{made.kind}.{n}") for n, hint in hints.items()}
        node: Self = made(**values)
        node.check_shapes({})
        return node

    def check_shapes(self, sizes: dict[str, int]) -> None:
        """Raise an error if two arrays do not agree in a dimension, or not with `sizes`."""
        known, kind = dict(sizes), cast(Any, type(self))
        for name, hint in _hints(kind).items():
            value, dims = getattr(self, name), _dims(hint)
            if not dims or value is None:
                continue
            # The list [] is an array without rows. Its other sizes are not known.
            shape = value.shape if value.size else value.shape[:1]
            differ = any(known.setdefault(dim, n) != n for dim, n in zip(dims, shape, strict=False))
            if differ or (len(shape) != len(dims) and value.size) or (shape[0] and not value.size):
                raise malformed(f"{self.kind}.{name} has the shape {value.shape}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.plain() == other.plain()

    __hash__ = None  # type: ignore[assignment]


@cache
def _hints(made: Any) -> dict[str, Any]:
    """The types of the fields of a class of nodes."""
    every = get_type_hints(made, include_extras=True)
    return {one.name: every[one.name] for one in fields(made)}


def _dims(hint: Any) -> tuple[str, ...]:
    """The letters of the dimensions of an array; empty for other types."""
    if get_origin(hint) is Annotated:
        return tuple(letter for letter in hint.__metadata__ if letter != FINITE)
    return next(filter(None, map(_dims, get_args(hint))), ())


def as_plain(value: Any) -> Any:
    """A field of a node as plain data."""
    if isinstance(value, Node):
        return value.plain()
    if isinstance(value, np.ndarray):
        out = value.tolist()
        return _without_infinity(out) if np.isneginf(value).any() else out
    if isinstance(value, tuple):
        return [as_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _without_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_infinity(one) for one in value]
    return MINUS_INFINITY if value == -np.inf else value


def as_value(value: Any, hint: Any, where: str) -> Any:
    """A field of a node from plain data, by the type of the field."""
    if hint is Any:
        return tuple(value) if isinstance(value, list) else value
    if get_origin(hint) is Annotated:
        found = array_of_numbers(value, where)
        if found.ndim != len(_dims(hint)) and (found.size or not found.ndim):
            raise malformed(f"{where} has {found.ndim} dimensions")
        if FINITE in hint.__metadata__ and not np.isfinite(found).all():
            raise malformed(f"{where} has an infinite number")
        return found
    if get_origin(hint) is tuple and isinstance(value, list):
        inner = get_args(hint)
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(each) == len(value):
            return tuple(as_value(v, h, where) for v, h in zip(value, each, strict=True))
    if get_origin(hint) in (Union, UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        return as_value(value, get_args(hint)[0], where)
    if isinstance(hint, type) and issubclass(hint, Node):
        return hint.from_plain(value)
    if hint is float and type(value) is int and abs(value) < 2**53:
        return float(value)
    if type(value) is not hint or (hint is float and not np.isfinite(value)):
        raise malformed(f"{where} is {value!r:.40}")
    return value


def array_of_numbers(value: Any, where: str) -> np.ndarray:
    """An array of floats from lists of numbers and of "-inf"."""
    try:
        out = np.array(value)
        if out.dtype.kind not in "if":
            out = np.array(_with_infinity(value))
    except ValueError:
        raise malformed(f"{where} is not an array of numbers") from None
    if out.dtype.kind not in "if" or np.isnan(out).any() or np.isposinf(out).any():
        raise malformed(f"{where} is not an array of numbers")
    return out.astype(np.float64)


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(one) for one in value]
    if value == MINUS_INFINITY:
        return -np.inf
    if type(value) not in (int, float):
        raise ValueError
    return value
