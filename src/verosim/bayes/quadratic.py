"""The boundary between two Gaussian classes: the points where both have the same score.

    q(x) = xᵀA x + bᵀx + c = 0
    A = −½(Σ_i⁻¹ − Σ_j⁻¹),   b = Σ_i⁻¹μ_i − Σ_j⁻¹μ_j
    c = −½(μ_iᵀΣ_i⁻¹μ_i − μ_jᵀΣ_j⁻¹μ_j) − ½(log|Σ_i| − log|Σ_j|) + log(π_i/π_j)

If the covariances are equal, A = 0 and the boundary is a hyperplane. The equation is stored
relative to a centre near the data, so that it is exact far from the origin.
Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verosim.arguments import checked, number_array
from verosim.bayes.conics import Conic, conic
from verosim.errors import VerosimError
from verosim.terminal import in_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from verosim.densities.located import Located


@dataclass(frozen=True)
class Quadratic:
    """A quadratic function of a row, which describes the boundary between two classes.

        q(x) = xᵀA x + bᵀx + c

    q(x) is positive where the first class has the larger score, negative where the second class
    has the larger score, and zero on the boundary. Call the object with rows to evaluate q. Print
    it to see the equation q(x) = 0.

    Attributes
    ----------
    A : ndarray of shape (d, d)
        The symmetric matrix of the quadratic term. It is zero if the boundary is a hyperplane.
    b : ndarray of shape (d,)
        The coefficients of the linear term.
    c : float
        The constant term.
    names : tuple of str
        The names of the columns, for printing. If empty, they are x0, x1, and so on.
    centred : tuple of (ndarray, ndarray, float) or None
        A centre, and the values of b and c relative to this centre. If given, q is evaluated with
        x − centre, which is more precise far from the origin.
    is_linear : bool
        Whether A is zero.

    See Also
    --------
    boundary : The quadratic function of two Gaussian classes.

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.6.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Quadratic
    >>> circle = Quadratic(np.eye(2), np.zeros(2), -1.0)
    >>> print(circle)
    1 x0² + 1 x1² − 1 = 0
    >>> float(circle([3.0, 4.0])), circle.is_linear
    (24.0, False)
    >>> circle.curve([[0, 2], [0, 2]]).points(3)[0].round(3)
    array([[1.   , 0.   ],
           [0.707, 0.707],
           [0.   , 1.   ]])
    """

    A: np.ndarray  # (d, d)
    b: np.ndarray  # (d,)
    c: float
    names: tuple[str, ...] = ()
    centred: tuple[np.ndarray, np.ndarray, float] | None = None  # centre (d,), b (d,) and c

    @classmethod
    def about(
        cls,
        centre: np.ndarray,
        A: np.ndarray,
        b: np.ndarray,
        c: float,
        names: tuple[str, ...] = (),
    ) -> Quadratic:
        """A quadratic function that is given relative to a centre.

            q(x) = zᵀA z + bᵀz + c,   z = x − centre

        Parameters
        ----------
        centre : ndarray of shape (d,)
            The centre. Choose a point near the data.
        A : ndarray of shape (d, d)
            The symmetric matrix of the quadratic term.
        b : ndarray of shape (d,)
            The coefficients of the linear term in z.
        c : float
            The constant term in z.
        names : tuple of str, default=()
            The names of the columns, for printing.

        Returns
        -------
        Quadratic
            The function. Its attributes A, b and c are the coefficients in x.
        """
        return cls(
            A, b - 2 * A @ centre, float(c - b @ centre + centre @ A @ centre), names,
            (centre, b, float(c)),
        )  # fmt: skip

    @property
    def is_linear(self) -> bool:
        return not self.A.any()

    def __call__(self, X: ArrayLike) -> np.ndarray:
        """(n,) the values q(x) of rows (n, d); a number for one row (d,)."""
        Z = np.asarray(X, dtype=np.float64)
        b, c = self.b, self.c
        if self.centred is not None:
            centre, b, c = self.centred
            Z = Z - centre
        return ((Z @ self.A) * Z).sum(axis=-1) + Z @ b + c

    @checked
    def gradient(self, X: ArrayLike) -> np.ndarray:
        """Compute the gradient 2A x + b at rows. It is normal to the curve q(x) = constant.

        Parameters
        ----------
        X : array-like of shape (n, d) or (d,)
            The rows, or one row.

        Returns
        -------
        ndarray of shape (n, d) or (d,)
            The gradients.
        """
        Z = number_array("X", X, 1, 2)
        b = self.b
        if Z.shape[-1] != len(b):
            raise VerosimError(f"X must have {len(b)} columns; got the shape {Z.shape}.")
        if self.centred is not None:
            centre, b, _ = self.centred
            Z = Z - centre
        return 2 * Z @ self.A + b

    @checked
    def slice(self, values: Mapping[int, float]) -> Quadratic:
        """Fix the values of some columns, and keep the function of the others.

        Parameters
        ----------
        values : dict of int to float
            The values of the fixed columns, by column number.

        Returns
        -------
        Quadratic
            The function of the columns that are not fixed, in their order.
        """
        d = len(self.b)
        fixed = np.array(sorted(values), dtype=np.intp)
        free = np.setdiff1d(np.arange(d), fixed)
        centre, b, c = (np.zeros(d), self.b, self.c) if self.centred is None else self.centred
        z = np.array([values[int(j)] for j in fixed]) - centre[fixed]
        A = self.A[np.ix_(free, free)]
        slope = b[free] + 2 * self.A[np.ix_(free, fixed)] @ z
        level = c + float(b[fixed] @ z + z @ self.A[np.ix_(fixed, fixed)] @ z)
        names = tuple(self.names[j] for j in free) if self.names else ()
        return Quadratic.about(centre[free], A, slope, level, names)

    @checked
    def curve(self, box: ArrayLike) -> Conic:
        """Compute the boundary q(x) = 0 in two columns, as exact pieces of a conic.

        The pieces are in closed form; no grid is searched. The boundary is an ellipse, a hyperbola,
        a parabola, one or two lines, or nothing. A curvature too small to be seen in the box counts
        as zero.

        Parameters
        ----------
        box : array-like of shape (2, 2)
            The interval (low, high) of each of the two columns.

        Returns
        -------
        Conic
            The kind of curve, and its pieces inside the box.

        Raises
        ------
        VerosimError
            If the function does not have two columns.
        """
        if len(self.b) != 2:
            raise VerosimError(
                f"A curve needs a boundary in two columns; this one has {len(self.b)}.",
                "Use model.boundary(i, j, columns=(first, second)).curve(box).",
            )
        return conic(self, box, self.names)

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
        return in_one_line(f"{text or '0'} = 0")


def boundary(
    params: Located, log_prior: np.ndarray, i: int, j: int, names: tuple[str, ...]
) -> Quadratic:
    """The boundary between two classes with Gaussian densities.

    The function is the difference of the discriminants of two classes:

        q(x) = δ_i(x) − δ_j(x),   δ_k(x) = log π_k + log p(x | k)

    It is positive where class i has the larger posterior. It is quadratic in x, and linear if the
    two classes share one covariance. The centre of the function is the midpoint of the two means.

    Parameters
    ----------
    params : Located
        The parameters of Gaussian densities with C classes and d columns, such as the result of
        `FullGaussian.estimate` or `DiagonalGaussian.estimate`.
    log_prior : ndarray of shape (C,)
        The logarithms of the class priors π_k.
    i : int
        The number of the first class.
    j : int
        The number of the second class.
    names : tuple of str
        The names of the columns, for printing. If empty, they are x0, x1, and so on.

    Returns
    -------
    Quadratic
        The function q.

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.6.
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import boundary
    >>> from verosim.densities import DiagonalGaussian
    >>> from verosim.testing import statistic_of
    >>> X = np.array([[1.0], [3.0], [7.0], [9.0]])
    >>> params = DiagonalGaussian(shared=True).estimate(statistic_of(X, [0, 0, 1, 1]))
    >>> print(boundary(params, np.log([0.5, 0.5]), 0, 1, ("x",)))
    −6 x + 30 = 0
    """
    pivot = params.pivot[i]
    shift_i = params.offset[i]
    shift_j = (params.pivot[j] - pivot) + params.offset[j]
    centre = pivot + (shift_i + shift_j) / 2
    to_i, to_j = shift_i - (centre - pivot), shift_j - (centre - pivot)  # (d,) μ − centre
    precision_i, log_det_i = params.precision_of(i)  # (d, d)
    precision_j, log_det_j = params.precision_of(j)
    weight_i, weight_j = precision_i @ to_i, precision_j @ to_j  # (d,)
    A = np.zeros_like(precision_i) if params.shared else -0.5 * (precision_i - precision_j)
    constant = (
        -0.5 * (to_i @ weight_i - to_j @ weight_j)
        - 0.5 * (log_det_i - log_det_j)
        + (log_prior[i] - log_prior[j])
    )
    return Quadratic.about(centre, A, weight_i - weight_j, float(constant), names)
