"""Methods that only densities of the columns have: log densities and samples."""

from __future__ import annotations

from verosim.errors import VerosimError
from verosim.estimators.checked_method import CheckedMethod
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


class DensityMethod(CheckedMethod):
    """A method that needs a density."""

    @staticmethod
    def check(spec: Spec, name: str) -> None:
        check_density(spec, name)
