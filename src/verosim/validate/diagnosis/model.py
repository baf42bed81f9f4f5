"""The parameters and sums of a fitted model, as the checks need them."""

from __future__ import annotations

from typing import Any

from verosim.densities import Params
from verosim.errors import VerosimError
from verosim.kinds.missing import MISSING
from verosim.stats import Moments, Statistic

# How the columns of a part are analysed, by the kind of its statistic.
LOOKED_AT_AS = {
    "numbers": "numbers", "categories": "codes", "presence": "codes", "bins": "bins",
    "joint": "joint", "pairs": "joint", "contexts": "joint", "amounts": "amounts",
    "tokens": "amounts",
}  # fmt: skip


def params_of(model: Any) -> Params:
    """The parameters of the model's densities."""
    found: Params = model.checked_state().params
    return found


def has_full_covariance(model: Any) -> bool:
    """Whether one Gaussian with a full covariance describes all columns."""
    return params_of(model).covariance_form == "full"


def one_covariance(model: Any) -> bool:
    """Whether all classes of a Gaussian model have the same covariance."""
    return params_of(model).one_covariance


def full_moments(statistic: Statistic) -> Moments | None:
    """The full moments of complete rows; None if values are missing or scatter is not kept."""
    return statistic.complete if statistic.has_scatter else None


def kind_of_part(name: str, part: Statistic) -> str:
    """How the columns of a part are analysed: numbers, codes, bins, amounts, joint or gaps."""
    if name == MISSING.name:
        return "gaps"
    if part.sums_of not in LOOKED_AT_AS:  # the experts of a pool
        raise VerosimError(
            "The function diagnose needs one model of the columns; got a combination of models.",
            "Use diagnose with one model, such as NaiveBayes or LDA.",
        )
    return LOOKED_AT_AS[part.sums_of]
