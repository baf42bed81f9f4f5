"""Methods that only densities of the columns have: log densities and samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

from verosim.errors import VerosimError
from verosim.models import Spec


class NotADensity(VerosimError, AttributeError):
    """The error for a method that needs a density of the columns."""


def check_density(spec: Spec, what: str, hint: str = "Use predict_proba, or NaiveBayes.") -> None:
    """Raise an error if a model is not a density of the columns, and `what` needs one."""
    if not spec.is_density:
        raise NotADensity(
            f"{spec.name} reads columns as features, and it is not a density of the columns, so "
            f"{what} is not available.",
            hint,
        )


class DensityMethod:
    """A method that needs a density. A model that is not a density does not have the method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        check_density(model.spec(), self.method.__name__)
        return MethodType(self.method, model)
