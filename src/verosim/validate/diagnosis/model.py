"""What a fitted model keeps of its numbers, as the questions ask for it."""

from __future__ import annotations

from typing import Any

from verosim.densities import Params
from verosim.kinds.missing import MISSING
from verosim.stats import Moments, Statistic

# How the columns of a part are looked at, by what its statistic sums.
LOOKED_AT_AS = {
    "numbers": "numbers", "categories": "codes", "presence": "codes", "bins": "bins",
    "joint": "joint", "amounts": "amounts", "tokens": "amounts",
}  # fmt: skip


def params_of(model: Any) -> Params:
    """The parameters of the model's densities."""
    found: Params = model.checked_state().params
    return found


def has_full_covariance(model: Any) -> bool:
    """Whether all columns have one Gaussian with a full covariance."""
    return params_of(model).covariance_form == "full"


def one_covariance(model: Any) -> bool:
    """Whether the classes of a Gaussian model share their covariance."""
    return params_of(model).one_covariance


def full_moments(statistic: Statistic) -> Moments | None:
    """The full moments of complete rows; None where there are holes, or no such moments."""
    return statistic.complete if statistic.has_scatter else None


def kind_of_part(name: str, part: Statistic) -> str:
    """numbers, codes, bins, amounts, joint (cells) or gaps: how a part's columns are looked at."""
    return "gaps" if name == MISSING.name else LOOKED_AT_AS[part.sums_of]
