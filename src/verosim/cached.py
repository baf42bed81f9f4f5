"""Attributes that are computed at their first use and then kept, without a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """An attribute that is computed at its first use.

        In Python 3.11 all objects of a class share one lock for it. A process that is forked
        while a thread holds the lock would wait for it without end. Here two threads may compute
        the same value, and the last one is kept.
        """

        def __init__(self, compute: Any) -> None:
            self.compute, self.name, self.__doc__ = compute, None, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.name not in kept:  # a class above may have kept its own value meanwhile
                kept[self.name] = self.compute(instance)
            return kept[self.name]


__all__ = ["cached_property"]
