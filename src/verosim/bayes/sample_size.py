"""How many rows are enough, and how many parameters a model estimates from them.

    n ≥ log(2C/δ) / (2ε²)   or, for n rows,   ε = √(log(2C/δ) / (2n))

With n rows, all C estimated priors are within ε of the true priors with probability 1 − δ. This
follows from the inequality of Hoeffding and a union bound over the classes.
Reference: Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal
of the American Statistical Association 58, 13–30.
"""

from __future__ import annotations

import math
import sys

from verosim.arguments import checked
from verosim.errors import VerosimError


@checked
def rows_for_priors(epsilon: float, delta: float, n_classes: int) -> int:
    """How many rows make all class priors precise.

    The estimated prior of a class is its share of the rows. With this number of rows, all
    estimated priors are within `epsilon` of the true priors with probability 1 − `delta`:

        n ≥ log(2C/δ) / (2ε²)

    where C is the number of classes, ε is `epsilon` and δ is `delta`.

    Parameters
    ----------
    epsilon : float
        The largest error of a prior, above 0 and at most 1.
    delta : float
        The probability that some prior has a larger error, between 0 and 1.
    n_classes : int
        The number of classes, at least 1.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    VerosimError
        If an argument is outside its range.

    See Also
    --------
    prior_error : The error for a given number of rows.

    References
    ----------
    Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal of the
    American Statistical Association 58, 13–30.

    Examples
    --------
    >>> from verosim.theory import rows_for_priors
    >>> rows_for_priors(0.01, 0.05, n_classes=3)
    23938
    """
    _error(epsilon)
    _between(delta=delta)
    (n_classes,) = _whole(n_classes=n_classes)
    return math.ceil(math.log(2 * n_classes / delta) / (2 * epsilon**2))


@checked
def prior_error(n_rows: float, delta: float, n_classes: int) -> float:
    """The largest error of the class priors for a given number of rows.

    All estimated priors are within ε of the true priors with probability 1 − `delta`:

        ε = √(log(2C/δ) / (2n))

    where n is the number of rows, C the number of classes and δ is `delta`.

    Parameters
    ----------
    n_rows : float
        The number of rows, above 0.
    delta : float
        The probability that some prior has a larger error, between 0 and 1.
    n_classes : int
        The number of classes, at least 1.

    Returns
    -------
    float
        The error ε.

    Raises
    ------
    VerosimError
        If an argument is outside its range.

    See Also
    --------
    rows_for_priors : The number of rows for a given error.

    References
    ----------
    Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal of the
    American Statistical Association 58, 13–30.

    Examples
    --------
    >>> from verosim.theory import prior_error
    >>> round(prior_error(23938, 0.05, n_classes=3), 4)
    0.01
    """
    _between(delta=delta)
    (n_classes,) = _whole(n_classes=n_classes)
    if not n_rows > 0:
        raise VerosimError(f"n_rows must be above 0; got {n_rows}.", "Use the number of rows.")
    return math.sqrt(math.log(2 * n_classes / delta) / (2 * n_rows))


@checked
def rows_for_gaussian(n_columns: int, epsilon: float, n_classes: int = 1) -> int:
    """How many rows are needed to learn one full Gaussian per class.

    The result is an order of magnitude. It leaves out constants and logarithms:

        n ≈ C d² / ε²

    where C is the number of classes, d the number of columns and ε the total variation distance
    between the estimated and the true density.

    Parameters
    ----------
    n_columns : int
        The number of columns d, at least 1.
    epsilon : float
        The total variation distance ε, above 0 and at most 1.
    n_classes : int, default=1
        The number of classes C, at least 1.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    VerosimError
        If an argument is outside its range.

    See Also
    --------
    rows_for_histogram : The number of rows for histograms.

    References
    ----------
    Ashtiani, Ben-David, Harvey, Liaw, Mehrabian & Plan (2020), Near-optimal sample complexity
    bounds for robust learning of Gaussian mixtures via compression schemes, Journal of the ACM 67,
    article 32.

    Examples
    --------
    >>> from verosim.theory import rows_for_gaussian
    >>> rows_for_gaussian(10, 0.1)
    10000
    """
    _error(epsilon)
    n_columns, n_classes = _whole(n_columns=n_columns, n_classes=n_classes)
    return math.ceil(round(n_classes * n_columns**2 / epsilon**2, 6))


@checked
def rows_for_histogram(
    n_columns: int,
    bins: int,
    per_cell: int = 10,
    *,
    naive: bool = False,
    delta: float | None = None,
) -> int:
    """How many rows put a given number of rows into each cell of a histogram.

    A joint histogram has one cell for each combination of bins. Naive Bayes has one histogram per
    column, and each row fills one bin of every column. So the number of columns does not change the
    number of rows of naive Bayes:

        n = B^d · m   (joint)       n = B · m   (naive Bayes)

    where B is the number of bins per column, d the number of columns and m the number of rows per
    cell. These are averages: if all cells of a histogram have the same probability, each cell
    contains m rows on average. With `delta`, every cell contains at least m rows with probability
    1 − δ. This follows from the inequality of Chernoff for one cell and a union bound over all
    cells:

        n = B^d · ⌈μ⌉,  L = log(B^d / δ)   (joint)
        n = B · ⌈μ⌉,    L = log(d B / δ)   (naive Bayes)
        μ = m + L + √(L² + 2 m L)

    where μ is the average number of rows per cell. Here d enters naive Bayes, but only through the
    logarithm.

    Parameters
    ----------
    n_columns : int
        The number of columns d, at least 1.
    bins : int
        The number of bins B per column, at least 1.
    per_cell : int, default=10
        The number of rows m per cell, at least 1.
    naive : bool, default=False
        If True, count the rows for one histogram per column. If False, count the rows for one
        joint histogram.
    delta : float or None, default=None
        The probability δ that some cell contains fewer than m rows, between 0 and 1. None counts
        the rows for m rows per cell on average.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    VerosimError
        If an argument is outside its range.

    See Also
    --------
    rows_for_gaussian : The number of rows for full Gaussians.
    rows_for_priors : The number of rows for shares within ε. With `n_classes` = d B it is the bound
        for the shares of all bins of naive Bayes, log(2dB/δ) / (2ε²).

    References
    ----------
    Bellman (1961), Adaptive Control Processes: A Guided Tour, Princeton University Press.
    Bishop (2006), Pattern Recognition and Machine Learning, §1.4.
    Mitzenmacher & Upfal (2005), Probability and Computing, Cambridge University Press, theorem 4.5.

    Examples
    --------
    >>> from verosim.theory import rows_for_histogram
    >>> rows_for_histogram(6, bins=10), rows_for_histogram(6, bins=10, naive=True)
    (10000000, 100)
    >>> rows_for_histogram(6, bins=10, naive=True, delta=0.05)
    310
    """
    n_columns, bins, per_cell = _whole(n_columns=n_columns, bins=bins, per_cell=per_cell)
    share = bins if naive else _cells(bins, n_columns)  # each cell has the probability 1/share
    if delta is None:
        return share * per_cell
    _between(delta=delta)
    cells = n_columns * bins if naive else share
    L = math.log(cells) - math.log(delta)
    return share * math.ceil(per_cell + L + math.sqrt(L * L + 2 * per_cell * L))


@checked
def parameter_counts(n_columns: int, n_classes: int, n_rows: int, bins: int = 10) -> dict[str, int]:
    """How many free parameters each model has.

    A model with C classes and d columns has C − 1 priors, plus:

        C d                 means
        d (d + 1) / 2       for each full covariance
        d                   for each diagonal covariance
        B − 1               for each class and column with B values

    ComplementNB has no free priors. For comparison, a nearest-neighbour classifier stores all
    d · n numbers of the training rows.

    Parameters
    ----------
    n_columns : int
        The number of columns d.
    n_classes : int
        The number of classes C.
    n_rows : int
        The number of training rows n. Only the entry "kNN" depends on it.
    bins : int, default=10
        The number of values or bins B per column.

    Returns
    -------
    dict of str to int
        The number of free parameters by the name of the model.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §4.2.
    Friedman (1989), Regularized discriminant analysis, Journal of the American Statistical
    Association 84, 165–175.

    Examples
    --------
    >>> from verosim.theory import parameter_counts
    >>> parameter_counts(2, 2, n_rows=100)["QDA"]
    11
    """
    d, K, n_rows, bins = _whole(n_columns=n_columns, n_classes=n_classes, n_rows=n_rows, bins=bins)
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
        "JointHistogram": priors + K * (_cells(bins, d) - 1),
        "kNN": d * n_rows,
    }


def _cells(bins: int, n_columns: int) -> int:
    """The cells of all columns together: B^d."""
    if n_columns * math.log10(bins) > sys.int_info.default_max_str_digits:
        raise VerosimError(
            f"{bins} bins in each of {n_columns} columns make more cells than Python can print.",
            "Use fewer columns.",
        )
    return bins**n_columns


def _whole(**numbers: int) -> tuple[int, ...]:
    """The numbers as integers of Python, which do not overflow. A number below 1 is an error."""
    for name, value in numbers.items():
        if value < 1:
            raise VerosimError(f"{name} must be at least 1; got {value}.", f"Use {name}=1 or more.")
    return tuple(map(int, numbers.values()))


def _between(**shares: float) -> None:
    """Raise an error if a number is not between 0 and 1."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise VerosimError(
                f"{name} must be between 0 and 1; got {value}.", f"Use, for example, {name}=0.05."
            )


def _error(epsilon: float) -> None:
    """Raise an error if an error of probabilities is not above 0 and at most 1."""
    if not 0 < epsilon <= 1:
        raise VerosimError(
            f"epsilon must be above 0 and at most 1; got {epsilon}.",
            "Use, for example, epsilon=0.05.",
        )
