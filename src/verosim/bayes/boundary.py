"""Where two classes tie: the quadratic xᵀA x + bᵀx + c = 0.

    A = −½(Σ_i⁻¹ − Σ_j⁻¹),   b = Σ_i⁻¹μ_i − Σ_j⁻¹μ_j,
    c = −½(μ_iᵀΣ_i⁻¹μ_i − μ_jᵀΣ_j⁻¹μ_j) − ½(log|Σ_i| − log|Σ_j|) + log(π_i/π_j)

A hyperplane when the covariances are equal. The equation is kept about a centre near the data,
so that it evaluates exactly far from the origin; `A, b, c` are its coefficients in x itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Quadratic:
    """q(x) = xᵀA x + bᵀx + c, positive on the first class's side.

    >>> circle = Quadratic(np.eye(2), np.zeros(2), -1.0)
    >>> print(circle)
    1 x0² + 1 x1² − 1 = 0
    >>> float(circle([3.0, 4.0])), circle.is_linear
    (24.0, False)
    """

    A: np.ndarray  # (d, d)
    b: np.ndarray  # (d,)
    c: float
    names: tuple[str, ...] = ()
    centred: tuple[np.ndarray, np.ndarray, float] | None = None  # centre, and b and c about it

    @classmethod
    def about(
        cls,
        centre: np.ndarray,
        A: np.ndarray,
        b: np.ndarray,
        c: float,
        names: tuple[str, ...] = (),
    ) -> Quadratic:
        """zᵀA z + bᵀz + c with z = x − centre, kept so for evaluation."""
        return cls(
            A, b - 2 * A @ centre, float(c - b @ centre + centre @ A @ centre), names,
            (centre, b, float(c)),
        )  # fmt: skip

    @property
    def is_linear(self) -> bool:
        return not self.A.any()

    def __call__(self, X: Any) -> np.ndarray:
        Z = np.asarray(X, dtype=np.float64)
        b, c = self.b, self.c
        if self.centred is not None:
            centre, b, c = self.centred
            Z = Z - centre
        return ((Z @ self.A) * Z).sum(axis=-1) + Z @ b + c

    def __str__(self) -> str:
        terms: list[tuple[float, str]] = []
        d = len(self.b)
        names = self.names or tuple(f"x{j}" for j in range(d))
        for i in range(d):
            terms.append((float(self.A[i, i]), f"{names[i]}²"))
            terms += [(float(2 * self.A[i, j]), f"{names[i]}·{names[j]}") for j in range(i + 1, d)]
        terms += [(float(w), name) for w, name in zip(self.b, names, strict=True)]
        terms.append((self.c, ""))
        text = ""
        for weight, what in terms:
            if weight == 0:
                continue
            sign = "−" if weight < 0 else "+"
            number = f"{abs(weight):.4g}" + (f" {what}" if what else "")
            text += f" {sign} {number}" if text else (f"−{number}" if weight < 0 else number)
        return f"{text or '0'} = 0"


def boundary(
    params: Any, log_prior: np.ndarray, i: int, j: int, names: tuple[str, ...]
) -> Quadratic:
    """δ_i(x) − δ_j(x) of Gaussian `params` (`Located`), about the midpoint of the two means."""
    pivot = params.pivot[i]
    shift_i = params.offset[i]
    shift_j = (params.pivot[j] - pivot) + params.offset[j]
    centre = pivot + (shift_i + shift_j) / 2
    to_i, to_j = shift_i - (centre - pivot), shift_j - (centre - pivot)  # μ − centre
    precision_i, log_det_i = params.precision_of(i)
    precision_j, log_det_j = params.precision_of(j)
    weight_i, weight_j = precision_i @ to_i, precision_j @ to_j
    A = np.zeros_like(precision_i) if params.shared else -0.5 * (precision_i - precision_j)
    constant = (
        -0.5 * (to_i @ weight_i - to_j @ weight_j)
        - 0.5 * (log_det_i - log_det_j)
        + (log_prior[i] - log_prior[j])
    )
    return Quadratic.about(centre, A, weight_i - weight_j, float(constant), names)
