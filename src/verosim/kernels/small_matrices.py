"""Cholesky factors of parts of small matrices, and solutions with them.

    A_ss = L Lᵀ,   s: some columns of A

The matrices are too small for a call of LAPACK to pay off.
Reference: Golub & Van Loan (2013), Matrix Computations, §4.2.
"""

import math

from verosim.kernels._compile import exact, loose


@loose
def dot_first(a, b, n):
    """The dot product of the first n entries of a and b."""
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@exact
def factor_part(A, at, m, L):
    """Factor L Lᵀ = A, restricted to the first m columns in `at`; return the log determinant.

    The result is NaN or infinite if this part of A is not positive definite.
    """
    log_det = 0.0
    for i in range(m):
        for j in range(i):
            L[i, j] = (A[at[i], at[j]] - dot_first(L[i], L[j], j)) / L[j, j]
        square = A[at[i], at[i]] - dot_first(L[i], L[i], i)
        L[i, i] = math.sqrt(square)
        log_det += math.log(square)
    return log_det


@exact
def solve_lower(L, v, m):
    """Solve L x = v for the first m entries; x replaces v."""
    for i in range(m):
        v[i] = (v[i] - dot_first(L[i], v, i)) / L[i, i]


@exact
def solve_upper(L, v, m):
    """Solve Lᵀ x = v for the first m entries; x replaces v."""
    for i in range(m - 1, -1, -1):
        v[i] /= L[i, i]
        for j in range(i):
            v[j] -= L[i, j] * v[i]


@exact
def solve_factored(L, v, m):
    """Solve L Lᵀ x = v for the first m entries; x replaces v."""
    solve_lower(L, v, m)
    solve_upper(L, v, m)


@exact
def is_singular(A, tolerance, L):
    """Whether a correlation matrix is singular, by a Cholesky factor with pivoting.

    It is singular if the share of the variance of some column that the columns before it do not
    explain is at most `tolerance`. L (d, d) is a scratch array.
    """
    d = len(A)
    for i in range(d):
        for j in range(i + 1):
            L[i, j] = A[i, j]
    for k in range(d):
        best = k
        for i in range(k + 1, d):
            if L[i, i] > L[best, best]:
                best = i
        if not L[best, best] > tolerance:
            return True
        if best != k:  # exchange rows and columns k and best of the lower triangle
            L[k, k], L[best, best] = L[best, best], L[k, k]
            for j in range(k):
                L[k, j], L[best, j] = L[best, j], L[k, j]
            for i in range(k + 1, best):
                L[i, k], L[best, i] = L[best, i], L[i, k]
            for i in range(best + 1, d):
                L[i, k], L[i, best] = L[i, best], L[i, k]
        root = math.sqrt(L[k, k])
        for i in range(k + 1, d):
            L[i, k] /= root
        for i in range(k + 1, d):
            for j in range(k + 1, i + 1):
                L[i, j] -= L[i, k] * L[j, k]
    return False
