"""What a model must be able to do for a verb."""

from __future__ import annotations

from typing import Any

from verosim.errors import VerosimError


def check_can(model: Any, method: str) -> None:
    """Raise an error unless the model has a method."""
    if not hasattr(model, method):
        raise VerosimError(
            f"{type(model).__name__} cannot {method.replace('_', ' ')}.",
            "Use a model of `verosim fit`, such as --model naivebayes.",
        )
