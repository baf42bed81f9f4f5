"""A Gaussian model of many columns, seen in two of them.

    others="marginal"         p(x_a | k) = N(μ_a, Σ_aa): the other columns are averaged out
    others={column: value}    a slice: δ_k(x_a, value), and p(x_a | value, k) for an ellipse

Columns that are neither shown nor given are averaged out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.arguments import finite
from verosim.axes import Columns
from verosim.bayes.ellipse import Ellipse
from verosim.bayes.quadratic import Quadratic, boundary
from verosim.errors import VerosimError
from verosim.estimators.column_position import column_position

MARGINAL = "marginal"


@dataclass(frozen=True, eq=False)
class ShownColumns:
    """The columns to show, the columns with a given value, and the density of both."""

    shown: tuple[str, ...]
    values: np.ndarray  # (f,) the given values
    params: Any  # the marginal density of the shown columns, then the given ones

    @classmethod
    def of(cls, params: Any, columns: Columns, shown: Any, others: Any) -> ShownColumns:
        """Check the arguments `columns` and `others` of a method."""
        at = _positions(columns, shown)
        given = _values(columns, others)
        for j in given:
            if j in at:
                raise VerosimError(
                    f"Column {columns.name(j)!r} is in columns and in others.",
                    "Name it in one of them only.",
                )
        marginal = params.marginal(np.array([*at, *given], dtype=np.intp))
        return cls(tuple(columns.name(j) for j in at), np.array(list(given.values())), marginal)

    def boundary(self, log_prior: np.ndarray, i: int, j: int) -> Quadratic:
        """The boundary between two classes in the shown columns."""
        d = len(self.shown)
        names = (*self.shown, *(f"given {f}" for f in range(len(self.values))))
        found = boundary(self.params, log_prior, i, j, names)
        return found.slice({d + f: float(value) for f, value in enumerate(self.values)})

    def ellipse(self, k: int, level: float) -> Ellipse:
        """The ellipse of a class in two shown columns."""
        sigma, mean = self.params.covariance_of(k), self.params.means[k]
        a, o = np.arange(2), 2 + np.arange(len(self.values))
        o = o[sigma[o, o] > 0]  # a constant column has no influence
        B = np.linalg.solve(sigma[np.ix_(o, o)], sigma[np.ix_(o, a)]).T  # (2, f)
        centre = mean[a] + B @ (self.values[o - 2] - mean[o])
        covariance = sigma[np.ix_(a, a)] - B @ sigma[np.ix_(o, a)]
        for name, variance in zip(self.shown, covariance.diagonal(), strict=True):
            if not variance > 0:
                raise VerosimError(
                    f"Column {name!r} is constant, so that its ellipse has no width.",
                    "Choose two columns that vary.",
                )
        return Ellipse(centre, (covariance + covariance.T) / 2, level, self.shown)


def two_columns(columns: Columns, wanted: Any) -> Any:
    """The two columns of a picture; by default those of a model with two columns."""
    if wanted is None and len(columns) == 2:
        return (0, 1)
    if wanted is None or isinstance(wanted, str) or np.ndim(wanted) != 1 or len(wanted) != 2:
        got = f"a model of {len(columns)} columns" if wanted is None else repr(wanted)
        raise VerosimError(
            f"columns must name two columns; got {got}.",
            f"Use columns=({columns.name(0)!r}, {columns.name(min(1, len(columns) - 1))!r}).",
        )
    return tuple(wanted)


def _positions(columns: Columns, wanted: Any) -> list[int]:
    at = [column_position(columns, one) for one in wanted]
    if len(set(at)) < len(at):
        raise VerosimError(
            f"columns must be different columns; got {wanted!r}.", "Name each column once."
        )
    return at


def _values(columns: Columns, others: Any) -> dict[int, float]:
    if isinstance(others, str) and others == MARGINAL:
        return {}
    if not isinstance(others, Mapping):
        raise VerosimError(
            f"others must be {MARGINAL!r} or a dict of columns and values; got {others!r}.",
            f"Use others={{{columns.name(0)!r}: 1.0}}.",
        )
    for name, value in others.items():
        finite(f"others[{name!r}]", value)
    return {column_position(columns, name): float(value) for name, value in others.items()}
