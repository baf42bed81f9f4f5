"""Random Fourier features: rows times random directions, then cosines and sines.

    k = round(2 u/π),   r = u − k π/2,   (cos u, sin u) = ±(cos r, sin r) or ±(sin r, cos r)

cos r and sin r are their Taylor series. π/2 is the sum of two numbers. The first has few digits, so
its product with k is exact. No sum is reordered and no branch depends on a single number, so that
the processor computes several angles at once. The absolute error is below 3e-16.
Reference: Cody & Waite (1980), Software Manual for the Elementary Functions, chapter 8.
"""

import numpy as np

from verosim.kernels._compile import exact, loose

LARGEST_ANGLE = 1e6  # k is below 2²⁰, so k · QUARTER is exact
QUARTER = 6746518852 / 2**32  # the first 31 bits of π/2
QUARTER_REST = 6.077100506506192e-11  # π/2 − QUARTER
QUARTERS = 2 / np.pi

# The coefficients of the Taylor series, (−1)ᵏ/n!.
S3, S5, S7, S9 = -1 / 6, 1 / 120, -1 / 5040, 1 / 362880
S11, S13, S15 = -1 / 39916800, 1 / 6227020800, -1 / 1307674368000
C4, C6, C8, C10 = 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800
C12, C14, C16 = 1 / 479001600, -1 / 87178291200, 1 / 20922789888000


@exact
def _turn(angles, cosines, sines):
    """cosines (h,) and sines (h,) of angles (h,) up to LARGEST_ANGLE."""
    for j in range(angles.size):
        u = angles[j]
        k = np.floor(u * QUARTERS + 0.5)
        r = (u - k * QUARTER) - k * QUARTER_REST
        z = r * r
        s = z * (S3 + z * (S5 + z * (S7 + z * (S9 + z * (S11 + z * (S13 + z * S15))))))
        c = z * (C4 + z * (C6 + z * (C8 + z * (C10 + z * (C12 + z * (C14 + z * C16))))))
        s = r + r * s
        c = 1.0 - z * (0.5 - c)
        quarter = np.int32(k)
        odd = (quarter & 1) != 0
        a, b = (s, c) if odd else (c, s)
        cosines[j] = -a if (quarter + 1) & 2 else a
        sines[j] = -b if quarter & 2 else b


@exact
def _turn_row(angles, out):
    """out (2h,) = the cosines and the sines of angles (h,). Returns whether they are finite."""
    h = angles.size
    far = 0
    for j in range(h):
        far += not abs(angles[j]) <= LARGEST_ANGLE
    if not far:
        _turn(angles, out[:h], out[h:])
        return True
    finite = True
    for j in range(h):
        finite &= abs(angles[j]) < np.inf
        out[j] = np.cos(angles[j])
        out[h + j] = np.sin(angles[j])
    return finite


@exact
def turn_rows(angles, rows, out):
    """out (n, 2h), at the numbers in rows, = the cosines and the sines of angles (m, h).

    Returns whether all angles are finite.
    """
    finite = True
    for i in range(rows.size):
        finite &= _turn_row(angles[i], out[rows[i]])
    return finite


@loose
def _project(values, at, count, W, angles):
    """angles (h,) = Σ_t values_t W[at_t] over `count` terms, which is a multiple of 4."""
    angles[:] = 0.0
    for t in range(0, count, 4):
        a, b, c, d = values[t], values[t + 1], values[t + 2], values[t + 3]
        A, B, C, D = W[at[t]], W[at[t + 1]], W[at[t + 2]], W[at[t + 3]]
        for j in range(angles.size):
            angles[j] += (a * A[j] + b * B[j]) + (c * C[j] + d * D[j])


@exact
def lift_sparse_rows(Z, W, most, out, rest):
    """out (n, 2h) = the cosines and the sines of Z W, for rows with at most `most` cells not 0.

    Z is (n, p) and W is (p, h). rest (n,) receives the numbers of the other rows. Returns how many
    they are, and whether all angles are finite.
    """
    n, p = Z.shape
    angles = np.empty(W.shape[1])
    values = np.empty(p + 4)
    at = np.empty(p + 4, dtype=np.int64)
    left = 0
    finite = True
    for i in range(n):
        row = Z[i]
        count = 0
        for j in range(p):
            values[count] = row[j]
            at[count] = j
            count += row[j] != 0.0
        if count > most:
            rest[left] = i
            left += 1
            continue
        while count % 4:  # the terms that are added are 0
            values[count] = 0.0
            at[count] = 0
            count += 1
        _project(values, at, count, W, angles)
        finite &= _turn_row(angles, out[i])
    return left, finite


@loose
def sum_features(features, groups, weights, folds, sums):
    """sums (C, D) += w φ at the class of each row of features (n, D), which become √w φ."""
    for i in range(features.shape[0]):
        row, total = features[i], sums[groups[i] // folds]
        if weights.size > 0:
            w, root = weights[i], np.sqrt(weights[i])
            for j in range(row.size):
                total[j] += w * row[j]
                row[j] *= root
        else:
            for j in range(row.size):
                total[j] += row[j]
