"""Methods that only some models have: adding rows to a model and removing rows from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any


class RowUpdate:
    """A method that adds or removes rows. A model that cannot do this does not have the method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        model.spec().check_updates(self.method.__name__)
        return MethodType(self.method, model)
