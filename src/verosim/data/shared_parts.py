"""Plain data in which a large part that occurs several times is written once.

    {"shared": 3}      stands for the part number 3 of a list

Two experts of a pool often have the same vocabulary, bins or random features. A part of the list
refers only to parts before it.
"""

from __future__ import annotations

import json
from typing import Any

from verosim.data.nodes import malformed

SHARED = "shared"
NESTED = (dict, list, tuple)
LEAST_SHARED = 8  # numbers or texts in a part that is worth a reference


def without_repeats(values: Any) -> tuple[Any, list[Any]]:
    """The values with references, and the list of shared parts.

    The values are tuples, lists and dicts of texts, numbers and None.
    """
    finder = _Repeats()
    finder.count(values)
    return finder.replaced(values), finder.shared


class _Repeats:
    """Finds lists and dicts that occur several times, by a hash and then by their JSON text."""

    def __init__(self) -> None:
        self.keys: dict[int, tuple[int, int]] = {}  # of each object: its hash and its size
        self.times: dict[tuple[int, int], int] = {}
        self.places: dict[str, int] = {}  # of each shared part, by its text
        self.shared: list[Any] = []

    def _key(self, value: Any) -> tuple[int, int]:
        if not isinstance(value, dict | list | tuple):
            return hash((type(value), value)), 1
        known = self.keys.get(id(value))
        if known is None:
            inner = value.items() if isinstance(value, dict) else value
            found = [self._key(one) for one in inner]
            kind = dict if isinstance(value, dict) else list
            known = hash((kind, *(h for h, _ in found))), sum(size for _, size in found)
            if not isinstance(value, tuple):  # pairs of a dict do not stay
                self.keys[id(value)] = known
        return known

    def _is_large(self, value: Any) -> bool:
        return isinstance(value, dict | list) and self._key(value)[1] >= LEAST_SHARED

    def count(self, value: Any) -> None:
        """Count the parts. What is inside a repeated part is counted once."""
        if self._is_large(value):
            key = self._key(value)
            self.times[key] = self.times.get(key, 0) + 1
            if self.times[key] > 1:
                return
        if isinstance(value, NESTED):
            for one in value.values() if isinstance(value, dict) else value:
                if isinstance(one, NESTED):  # most values are numbers
                    self.count(one)

    def replaced(self, value: Any) -> Any:
        """The value with references."""
        repeated = self._is_large(value) and self.times.get(self._key(value), 0) > 1
        if not repeated:
            return self._inside(value)
        text = json.dumps(value)
        if text not in self.places:
            self.shared.append(self._inside(value))  # the parts inside come first
            self.places[text] = len(self.shared) - 1
        return {SHARED: self.places[text]}

    def _inside(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.replaced(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.replaced(one) if isinstance(one, NESTED) else one for one in value]
        return value


def restored(values: Any, shared: list[Any]) -> Any:
    """The values with the shared parts in place of the references."""
    parts: list[Any] = []
    for one in shared:
        parts.append(_restored(one, parts))
    return _restored(values, parts)


def _restored(value: Any, parts: list[Any]) -> Any:
    if isinstance(value, list | tuple):
        if not any(isinstance(one, dict | list) for one in value):
            return value
        return [_restored(one, parts) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {SHARED}:
        return {name: _restored(one, parts) for name, one in value.items()}
    number = value[SHARED]
    if type(number) is not int or not 0 <= number < len(parts):
        raise malformed(f"the shared part {number!r:.40} is not in its list")
    return parts[number]
