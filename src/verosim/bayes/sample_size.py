"""How many rows are enough, and how many numbers a model must learn from them.

priors within ε of the truth, all K with probability 1 − δ:  n ≥ log(2K/δ) / (2ε²)
(Hoeffding's inequality and a union bound), or, of n rows,   ε ≤ √(log(2K/δ) / (2n))
"""

from __future__ import annotations

import math

from verosim.errors import VerosimError


def rows_for_priors(epsilon: float, delta: float, n_classes: int) -> int:
    """Rows that put all K priors within `epsilon` with probability 1 − `delta`.

    n ≥ log(2K/δ) / (2ε²). Hoeffding (1963), Probability inequalities for sums of bounded
    random variables.

    >>> rows_for_priors(0.01, 0.05, n_classes=3)
    23938
    """
    _between(epsilon=epsilon, delta=delta)
    _whole(n_classes=n_classes)
    return math.ceil(math.log(2 * n_classes / delta) / (2 * epsilon**2))


def prior_error(n_rows: float, delta: float, n_classes: int) -> float:
    """How far from the truth the priors of n rows are, all K with probability 1 − `delta`.

    ε = √(log(2K/δ) / (2n)). Hoeffding (1963), Probability inequalities for sums of bounded
    random variables.

    >>> round(prior_error(23938, 0.05, n_classes=3), 4)
    0.01
    """
    _between(delta=delta)
    _whole(n_classes=n_classes)
    if not n_rows > 0:
        raise VerosimError(f"n_rows={n_rows}: more than none are needed.")
    return math.sqrt(math.log(2 * n_classes / delta) / (2 * n_rows))


def rows_for_gaussian(n_columns: int, epsilon: float, n_classes: int = 1) -> int:
    """Rows, in order of magnitude, to learn one Gaussian per class: K d²/ε².

    >>> rows_for_gaussian(10, 0.1)
    10000
    """
    _between(epsilon=epsilon)
    _whole(n_columns=n_columns, n_classes=n_classes)
    return math.ceil(round(n_classes * n_columns**2 / epsilon**2, 6))


def rows_for_histogram(
    n_columns: int, bins: int, per_cell: int = 10, *, naive: bool = False
) -> int:
    """Rows for `per_cell` in every cell: B^d·m for the joint histogram, d·B·m for naive Bayes.

    >>> rows_for_histogram(6, bins=10), rows_for_histogram(6, bins=10, naive=True)
    (10000000, 600)
    """
    _whole(n_columns=n_columns, bins=bins, per_cell=per_cell)
    cells = n_columns * bins if naive else bins**n_columns
    return cells * per_cell


def parameter_counts(n_columns: int, n_classes: int, n_rows: int, bins: int = 10) -> dict[str, int]:
    """Free parameters of every model for d columns and K classes; kNN keeps all d·n numbers.

    K − 1 priors, Kd means, d(d + 1)/2 per full covariance, d per diagonal, B − 1 per column of
    `bins` values. ComplementNB has fixed priors.

    >>> parameter_counts(2, 2, n_rows=100)["QDA"]
    11
    """
    d, K = n_columns, n_classes
    priors, means, full = K - 1, K * d, d * (d + 1) // 2
    return {
        "NearestMean": priors + means + 1,
        "NaiveLDA": priors + means + d,
        "GaussianNB": priors + means + K * d,
        "LDA": priors + means + full,
        "QDA": priors + means + K * full,
        "RDA": priors + means + K * full,
        "BernoulliNB": priors + K * d,
        "MultinomialNB": priors + K * (d - 1),
        "ComplementNB": K * (d - 1),
        "CategoricalNB": priors + K * d * (bins - 1),
        "HistogramNB": priors + K * d * (bins - 1),
        "JointHistogram": priors + K * (bins**d - 1),
        "kNN": d * n_rows,
    }


def _whole(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise VerosimError(f"{name}={value}: at least one is needed.")


def _between(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise VerosimError(f"{name}={value}: a number between 0 and 1 is needed.")
