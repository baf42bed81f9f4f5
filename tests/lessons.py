"""The results of the lessons, each computed once in a process."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def lesson(name: str) -> Any:
    return import_module(f"examples.lessons.{name}").learn()
