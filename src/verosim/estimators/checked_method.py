"""Methods that only some models have: a check of the settings decides when they are looked up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

from verosim.errors import VerosimError
from verosim.models import Spec


class CheckedMethod(ABC):
    """A method of a class. A model that fails the check does not have the method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        try:
            spec = model.spec()
        except VerosimError:  # a wrong setting is an error of the call, not of the look-up
            return MethodType(self.method, model)
        self.check(spec, self.method.__name__)
        return MethodType(self.method, model)

    @staticmethod
    @abstractmethod
    def check(spec: Spec, name: str) -> None:
        """Raise an error that is an AttributeError if the model cannot have the method."""


class RowUpdate(CheckedMethod):
    """A method that adds or removes rows."""

    @staticmethod
    def check(spec: Spec, name: str) -> None:
        spec.check_updates(name)
