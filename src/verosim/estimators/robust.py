"""Outliers are left out of each class, with the reweighted minimum covariance determinant (MCD).

    keep x in class k  if  (x − m_k)ᵀ S_k⁻¹ (x − m_k) ≤ c

Here m_k and S_k are the mean and the covariance of one half of the class: the half with the
smallest determinant of the covariance. The cut-off c keeps 97.5 % of the rows of a Gaussian class
of that size. The kept rows are summed in the usual way, so the model is still a function of its
statistics.

References: Rousseeuw & Van Driessen (1999), A fast algorithm for the minimum covariance
determinant estimator, Technometrics 41, 212–223; Hardin & Rocke (2005), The distribution of robust
distances, Journal of Computational and Graphical Statistics 14, 928–946.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.stats import chi2, f, norm, t

from verosim import engines
from verosim.axes import Groups
from verosim.data import SparseRows
from verosim.data.clusters import check_is_here
from verosim.data.source import RowSource
from verosim.engines import one_blas_thread
from verosim.errors import VerosimError, VerosimWarning, warn

KEPT_SHARE = 0.975  # share of a Gaussian class that is kept
LEAST_ROWS_OF_BULK = 5  # a class with fewer rows keeps them all
PER_COLUMN = 5  # rows per column that the MCD needs
ROWS_FOR_BULK = 2000  # a sample of so many rows, or 20 per column, is used to find the centre
# The efficiency of the MAD: with n rows it is as exact as a standard deviation of 0.37 n rows.
MAD_EFFICIENCY = 0.37
MOST_DEVIATIONS = 1e6  # larger deviations are clipped, so that no square overflows
# Deviations are rounded to this step, or to the error of the values if that is larger. Two rows
# may have the same distance from a median, and rounding errors must not choose between them,
# because these depend on the units.
DEVIATION_STEP = 2.0**-24


class Refused(VerosimError, AttributeError):
    """The error for a method that a robust model does not have."""


# The rows of a source ---------------------------------------------------------------------------


def screened(source: RowSource, groups: Groups, allow_missing: bool) -> RowSource:
    """The source with weight zero for its outliers. `allow_missing` allows missing cells."""
    check_is_here(source, "robust=True")
    source = source.held()
    rows = engines.gather(source, groups, "robust=True")
    out = np.zeros(source.rows or 0)  # (n,)
    if len(rows.codes):
        out[rows.numbers] = _kept(rows.block, rows.codes, rows.weights, rows.groups, allow_missing)
    return source.weighted(out)


def _kept(
    X: Any, codes: np.ndarray, weights: np.ndarray, groups: Groups, allow_missing: bool
) -> np.ndarray:
    """(n,) the weights, with zero for the outliers of each class."""
    out = weights.copy() if len(weights) else np.ones(len(codes))
    matrix = X.as_csr() if isinstance(X, SparseRows) else None
    for c in range(len(groups.classes)):
        here = np.flatnonzero((codes == c) & (out > 0))
        if not len(here):
            continue
        rows = X[here] if matrix is None else _common(matrix[here], out[here])
        kept, reason = bulk(np.asarray(rows, dtype=np.float64), out[here], allow_missing)
        if reason:
            warn(
                f"Class {groups.name(c)} {reason}, so all its rows are kept, also outliers.",
                VerosimWarning,
            )
        out[here[~kept]] = 0.0
    return out


def _common(rows: Any, weights: np.ndarray) -> np.ndarray:
    """Sparse rows as dense rows, without the columns that are zero in more than half of the rows.

    Such columns would be left out later.
    """
    share = weights @ (rows != 0) / weights.sum()
    return np.asarray(rows.tocsc()[:, np.flatnonzero(share >= 0.5)].toarray())


# The rows of a class ----------------------------------------------------------------------------


def bulk(X: np.ndarray, weights: np.ndarray, allow_missing: bool = True) -> tuple[np.ndarray, str]:
    """(n,) which rows of one class (n, d) are not outliers, and the reason if this is unknown.

    Only the cells that a row has are used. With more than five complete rows per column, the
    distance is that of the minimum covariance determinant. With fewer rows, or if half of the rows
    are in a plane, each cell is tested alone: its distance to the median, in units of the MAD, is
    compared with a t distribution that has the effective degrees of freedom of the MAD. A column
    in which half of the rows share one value is left out. A row of weight w counts as w rows. The
    centre of a large class is found from an even sample of its rows, and all rows are tested.
    """
    kept = np.ones(len(X), dtype=bool)
    broken = np.isinf(X) if allow_missing else ~np.isfinite(X)  # the statistic reports these
    X = np.where(np.isfinite(X), X, np.nan)
    order = _order(X, weights)
    X = X[order]
    copies = _copies(weights[order], max(ROWS_FOR_BULK, 20 * X.shape[1]))
    if copies.sum() < LEAST_ROWS_OF_BULK:
        return kept, f"has {len(X)} rows, too few to find outliers"
    Z = _standardised(X, copies)  # (n, columns that vary)
    if not Z.shape[1]:
        return kept, "has no column in which more than half of the values differ"
    again = _order(Z, copies)  # values that differ by rounding errors are equal now
    order, Z, copies = order[again], Z[again], copies[again]
    near = _near_by_mcd(Z, copies)
    near = _near_by_cell(Z, copies) if near is None else near
    if 2 * copies[near].sum() < copies.sum():
        return kept, "has no clear centre (more than half of its rows are far from it)"
    kept[order] = near
    return kept | broken.any(axis=1), ""


def _order(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) an order of the rows by their values, so that the given order does not matter.

    The first column decides, then the next one, and the weights decide last. Units of the columns
    do not change this order.
    """
    return np.lexsort([weights, *X.T[::-1]])


def _copies(weights: np.ndarray, most: int) -> np.ndarray:
    """(n,) how often each row is repeated, in proportion to its weight.

    The total is at least the number of rows, and at most `most`.
    """
    total = weights.sum()
    wanted = min(max(total, len(weights)), most)
    ends = np.floor(np.cumsum(weights) * (wanted / total) + 0.5)
    return np.diff(ends, prepend=0.0).astype(np.intp)


def _standardised(X: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """(x − median) / MAD, rounded, without the columns in which the MAD is zero."""
    some = ~np.isnan(X[copies > 0]).all(axis=0)
    X = X[:, some]
    rows = np.repeat(X, copies, axis=0)
    median = np.nanmedian(rows, axis=0)
    with np.errstate(over="ignore"):
        MAD = np.nanmedian(np.abs(rows - median), axis=0)
        varies = np.isfinite(MAD) & (np.abs(median) * 8 * np.finfo(float).eps < MAD)
        Z = (X[:, varies] - median[varies]) / MAD[varies]
    error = 16 * np.finfo(float).eps * np.abs(median[varies]) / MAD[varies]
    step = np.exp2(np.ceil(np.log2(np.maximum(error, DEVIATION_STEP))))
    Z = np.round(np.clip(Z, -MOST_DEVIATIONS, MOST_DEVIATIONS) / step) * step
    return Z * norm.ppf(0.75)


def _near_by_cell(Z: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """(n,) rows in which no cell is far from its median. The level is split over the columns."""
    d = Z.shape[1]
    cells = copies @ ~np.isnan(Z)  # (d,) of the repeated rows
    level = (1 + KEPT_SHARE ** (1 / d)) / 2
    cut = t.ppf(level, np.maximum(MAD_EFFICIENCY * (cells - 1), 0.1))
    return ~(np.abs(Z) > cut).any(axis=1)  # a missing cell is not far


def _near_by_mcd(Z: np.ndarray, copies: np.ndarray) -> np.ndarray | None:
    """(n,) rows within the cut-off of the MCD distance; None if it cannot be computed."""
    from sklearn.covariance import MinCovDet  # slow to import, and only for robust=True

    complete = ~np.isnan(Z).any(axis=1)
    rows = np.repeat(Z[complete], copies[complete], axis=0)
    n, d = rows.shape
    if n <= PER_COLUMN * d:
        return None
    # Its warnings are replaced by the checks below. Its matrices are many and small.
    with warnings.catch_warnings(action="ignore"), one_blas_thread:
        try:
            found = MinCovDet(random_state=0).fit(rows)
            h = int(found.raw_support_.sum())
            halves = [_concentrated(rows, h), (found.raw_location_, found.raw_covariance_)]
        except (ValueError, LinAlgError):
            return None
    centre, covariance = min(halves, key=lambda half: float(np.linalg.slogdet(half[1])[1]))
    values = np.linalg.eigvalsh(covariance)
    if not values[0] > 1e-10 * values[-1]:  # half of the rows are in a plane
        return None
    distances, cells = _distances(Z, centre, covariance)
    cut = cutoff(n, d, h)
    share = chi2.ppf(KEPT_SHARE, np.maximum(cells, 1)) / chi2.ppf(KEPT_SHARE, d)
    return distances <= cut * share


def _concentrated(rows: np.ndarray, h: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of one half of the rows, starting with the rows nearest to the medians.

    scikit-learn starts with random halves. Each of them has its share of a cluster of outliers, so
    with 30 % outliers or more the cluster may stay. This start does not contain the cluster.
    """
    nearest = np.argsort((rows**2).sum(axis=1), kind="stable")[:h]
    while True:
        half = rows[nearest]
        centre, covariance = half.mean(axis=0), np.cov(half.T, bias=True).reshape(-1, half.shape[1])
        distances, _ = _distances(rows, centre, covariance)
        before, nearest = nearest, np.argsort(distances, kind="stable")[:h]
        if distances[nearest].sum() >= distances[before].sum() * (1 - 1e-9):
            return centre, covariance


def _distances(
    Z: np.ndarray, centre: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) squared Mahalanobis distances over the cells of each row, and (n,) their number."""
    patterns, which = np.unique(~np.isnan(Z), axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(patterns)))
    out = np.zeros(len(Z))
    for cells, at in zip(patterns, np.split(order, ends[:-1]), strict=True):
        L = np.linalg.cholesky(covariance[np.ix_(cells, cells)])
        white = solve_triangular(L, (Z[at][:, cells] - centre[cells]).T, lower=True)
        out[at] = (white**2).sum(axis=0)
    return out, patterns.sum(axis=1)[which]


def cutoff(n: int, d: int, h: int) -> float:
    """The cut-off for squared distances with the raw MCD of h of n rows (Hardin & Rocke 2005).

        c (m − d + 1) / (d m) · D² ~ F(d, m − d + 1)
        c = P(χ²_{d+2} ≤ q) / (h/n),  P(χ²_d ≤ q) = h/n

    Here m is the number of degrees of freedom of the MCD covariance. It follows from the asymptotic
    variance of Croux & Haesbroeck (1999) and the correction of Hardin & Rocke for small samples.
    For large n the cut-off tends to a quantile of χ²_d.
    """
    share = h / n
    q = chi2.ppf(share, d)
    c = share / chi2.cdf(q, d + 2)
    c2, c3 = -chi2.cdf(q, d + 2) / 2, -chi2.cdf(q, d + 4) / 2
    b1 = -2 * c * c3 / share
    b2 = 0.5 + c / share * (c3 - q / d * (c2 + share / 2))
    above = share * b1**2 * ((1 - share) * (c * q / d - 1) ** 2 - 1) - 2 * c3 * c**2 * (
        3 * (b1 - d * b2) ** 2 + (d + 2) * b2 * (2 * b1 - d * b2)
    )
    variance = above / (n * (b1 * (b1 - d * b2) * share) ** 2 * c**2)
    m = 2 / (c**2 * variance) * np.exp(0.725 - 0.00663 * d - 0.0780 * np.log(n))
    m = max(m, d)
    return float(c * d * m / (m - d + 1) * f.ppf(KEPT_SHARE, d, m - d + 1))
