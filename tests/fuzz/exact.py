"""Arithmetic with 50 digits: sums about the mean, inverses, logarithms and posteriors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, setcontext
from fractions import Fraction
from functools import lru_cache

ROUNDING = 2.0**-53
CONTEXT = Context(prec=50)
LOGARITHMS = Context(prec=30)
LOG_2PI = LOGARITHMS.ln(Decimal("6.28318530717958647692528676655900576839433879875"))
ZERO = Decimal(0)

Matrix = list[list[Decimal]]


def use_many_digits() -> None:
    """Set the number of digits of this thread."""
    setcontext(CONTEXT)


def decimal(x: float | int | Fraction) -> Decimal:
    if isinstance(x, Fraction):
        return CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))
    return CONTEXT.create_decimal(x) if isinstance(x, int) else CONTEXT.create_decimal_from_float(x)


@lru_cache(maxsize=1 << 14)
def log(x: Decimal | Fraction) -> Decimal:
    return LOGARITHMS.ln(x if isinstance(x, Decimal) else decimal(x))


def log_posterior(joint: Sequence[Decimal | None]) -> list[float]:
    """log p(k | x) from log joint probabilities, where None is −∞."""
    top = max(value for value in joint if value is not None)
    apart = [-math.inf if value is None else float(value - top) for value in joint]
    level = math.log(math.fsum(math.exp(value) for value in apart))
    return [value - level for value in apart]


def inverse(A: Matrix) -> tuple[Matrix, Decimal] | None:
    """A⁻¹ and det A of a symmetric positive matrix; None if it is singular to 30 digits."""
    d = len(A)
    work = [[*A[i], *(Decimal(i == j) for j in range(d))] for i in range(d)]
    determinant = Decimal(1)
    for i in range(d):
        top = work[i][i]
        if top <= abs(A[i][i]) * Decimal("1e-30") or top <= 0:
            return None
        determinant *= top
        work[i] = [v / top for v in work[i]]
        for k in range(d):
            if k != i and work[k][i] != 0:
                factor = work[k][i]
                work[k] = [a - factor * b for a, b in zip(work[k], work[i], strict=True)]
    return [row[d:] for row in work], determinant
