"""The ellipse that holds a given share of a Gaussian class in two columns.

    (x − μ)ᵀ Σ⁻¹ (x − μ) = r²,   r² = −2 log(1 − level)

In two dimensions the squared Mahalanobis distance has a χ² distribution with two degrees of
freedom, so that the share of rows inside the ellipse is 1 − exp(−r²/2).
Reference: Johnson & Wichern (2007), Applied Multivariate Statistical Analysis, §4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verosim.arguments import checked, whole
from verosim.bayes.covariance import Covariance
from verosim.cached import cached_property


@dataclass(frozen=True, eq=False)
class Ellipse:
    """The ellipse around the mean of a Gaussian class that holds a given share of its rows.

        (x − μ)ᵀ Σ⁻¹ (x − μ) = r²,   r² = −2 log(1 − level)

    where μ and Σ are the mean and the covariance of the class in two columns.

    Attributes
    ----------
    centre : ndarray of shape (2,)
        The mean μ.
    covariance : ndarray of shape (2, 2)
        The covariance Σ.
    level : float
        The share of the rows of the class that are inside.
    names : tuple of str
        The names of the two columns.
    radius : float
        The Mahalanobis distance r of the points of the ellipse to the mean.
    half_axes : ndarray of shape (2, 2)
        The two half-axes as columns: vectors from the centre to the ellipse, the longer one first.

    See Also
    --------
    Covariance : The roots and the axes of a covariance of any size.

    References
    ----------
    Johnson & Wichern (2007), Applied Multivariate Statistical Analysis, 6th edition, §4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Ellipse
    >>> found = Ellipse(np.zeros(2), np.diag([4.0, 1.0]), 0.95)
    >>> round(found.radius, 3)
    2.448
    >>> found.half_axes.round(3)
    array([[4.895, 0.   ],
           [0.   , 2.448]])
    """

    centre: np.ndarray  # (2,)
    covariance: np.ndarray  # (2, 2)
    level: float
    names: tuple[str, ...] = ()

    @property
    def radius(self) -> float:
        return float(np.sqrt(-2 * np.log1p(-self.level)))

    @cached_property
    def half_axes(self) -> np.ndarray:
        found = Covariance(self.covariance, self.centre)
        return self.radius * found.axes * np.sqrt(found.eigenvalues)

    @checked
    def points(self, n: int = 200) -> np.ndarray:
        """Compute points of the ellipse, once around.

        Parameters
        ----------
        n : int, default=200
            The number of points, at least 2. The first and the last point are the same.

        Returns
        -------
        ndarray of shape (n, 2)
            The points.
        """
        whole("n", n, least=2)
        t = np.linspace(-np.pi, np.pi, n)
        return self.centre + np.column_stack([np.cos(t), np.sin(t)]) @ self.half_axes.T
