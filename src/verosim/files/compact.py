"""Parameters without the parts that follow from their other parts, to the bit.

    whitener W of a covariance Σ:   W Σ Wᵀ = I

The whitener of a file is computed from the covariance by the code that computed it at the fit. If
the bits would differ, the whitener is stored. The codes of a model without sums are those of its
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import Codes
from verosim.densities.full_params import FullParams, make_params
from verosim.errors import VerosimError
from verosim.files.layout import has_parts
from verosim.stats.codec import DATA_ERRORS


@dataclass(frozen=True)
class Covariances:
    """The parameters of full Gaussians without the whiteners."""

    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    covariance: np.ndarray  # (C or 1, d, d)
    share: np.ndarray  # (C,)
    used: np.ndarray  # (d,) bool
    shared: bool
    marginalise: bool

    def complete(self) -> FullParams:
        """The parameters with their whiteners."""
        return make_params(
            self.pivot, self.offset, self.covariance, self.share, self.used, self.shared,
            marginalise=self.marginalise,
        )  # fmt: skip


def compact(one: Any) -> Any:
    """Parameters without what follows from the rest, or the same parameters."""
    if type(one) is not FullParams:
        return one
    out = Covariances(
        one.pivot, one.offset, one.covariance_, one.share, one.used, one.shared, one.marginalise
    )
    try:
        again = out.complete()
    except (VerosimError, *DATA_ERRORS):
        return one
    same = all(
        getattr(again, name).tobytes() == getattr(one, name).tobytes()
        and getattr(again, name).strides == getattr(one, name).strides
        for name in ("whitener", "log_det")
    )
    return out if same else one


def without_codes(statistic: Any, params: Any) -> Any:
    """A statistic without sums, without the codes that are those of its parameters."""
    return _each_leaf(statistic, params, lambda leaf, codes: None if leaf is codes else leaf)


def with_codes(statistic: Any, params: Any) -> Any:
    """The inverse of `without_codes`."""
    return _each_leaf(statistic, params, lambda leaf, codes: codes if leaf is None else leaf)


def _each_leaf(statistic: Any, params: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A statistic with changed codes in each part that has parameters with codes."""
    if has_parts(statistic):
        known = getattr(params, "parts", None)
        if not isinstance(known, dict):
            return statistic
        parts = {
            name: _each_leaf(part, known.get(name), change)
            for name, part in statistic.parts.items()
        }
        return statistic.with_parts(parts)
    codes = getattr(params, "codes", None)
    if statistic.has_sums or not isinstance(codes, Codes):
        return statistic
    return statistic.with_axes(replace(statistic.axes, codes=change(statistic.axes.codes, codes)))
