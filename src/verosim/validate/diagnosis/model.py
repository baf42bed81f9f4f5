"""What a fitted model keeps of its numbers, as the questions ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verosim.axes import Bins, Cells
from verosim.estimators.discriminant import FullGaussianClassifier
from verosim.estimators.gaussian import DiagonalClassifier, GaussianClassifier
from verosim.estimators.table import NaiveBayes
from verosim.stats import Counts, Moments, Patterns, Product, Statistic, Tokens


def parts_of(statistic: Statistic) -> Iterator[tuple[str, Any]]:
    """The pieces of a statistic by name; one without a name where it is of one piece."""
    if isinstance(statistic, Product):
        yield from statistic.parts.items()
    else:
        yield "", statistic


def one_covariance(model: Any) -> bool:
    """Whether the classes of a Gaussian model share their covariance."""
    if isinstance(model, FullGaussianClassifier):
        return model._mixing() == 1
    return isinstance(model, DiagonalClassifier) and model._shared


def full_moments(statistic: Statistic) -> Moments | None:
    """The full moments of complete rows; None where there are holes, or no such moments."""
    if isinstance(statistic, Patterns):
        return statistic.complete
    if isinstance(statistic, Moments) and statistic.layout != "diagonal":
        return statistic
    return None


def kind_of_part(name: str, part: Statistic) -> str:
    """numbers, codes, amounts, joint (cells) or gaps: how the columns of a part are looked at."""
    if name == "missing":
        return "gaps"
    if isinstance(part, Moments | Patterns):
        return "numbers"
    if isinstance(part, Tokens):
        return "amounts"
    assert isinstance(part, Counts)
    if part.what != "codes":
        return "codes" if part.what == "presence" else "amounts"
    if isinstance(part.axes.codes, Cells):
        return "joint"
    return "bins" if isinstance(part.axes.codes, Bins) else "codes"


def is_gaussian(model: Any) -> bool:
    """Whether some of the model's densities are Gaussian."""
    if isinstance(model, NaiveBayes):
        return "gaussian" in dict(parts_of(model.stats_))
    return isinstance(model, GaussianClassifier)
