"""Whitening by the within-class covariance: Euclidean distance becomes Mahalanobis distance.

    z = W (x − μ),   W Σ Wᵀ = I,   ‖z − z'‖² = (x − x')ᵀ Σ⁻¹ (x − x')

Here Σ is the pooled within-class covariance of LDA, and W = Σ^(−½) is the only symmetric whitener.
Reference: Mahalanobis (1936), On the generalised distance in statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from verosim.errors import VerosimError
from verosim.estimators import LDA
from verosim.estimators.one_state import reads, updates

if TYPE_CHECKING:
    from verosim.typing import Labels, Source, Weights


class Whiten(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer that whitens rows by the pooled within-class covariance.

    Use it before a method that depends on distances. `make_pipeline(Whiten(),
    KNeighborsClassifier())` is k nearest neighbours with the Mahalanobis distance:

        z = Σ^(−½) (x − μ),   ‖z − z'‖² = (x − x')ᵀ Σ⁻¹ (x − x')

    where x is a row, μ is the mean of all rows and Σ is the covariance within classes, pooled over
    the classes. Constant columns are dropped. A singular covariance is shrunk towards its diagonal,
    with a warning.

    Parameters
    ----------
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the covariance. "mle" divides by n, and "unbiased" divides by n − C, where C
        is the number of classes.
    shrinkage : float or {"ledoit_wolf", "oas", "cv"} or None, default=None
        The shrinkage of the covariance, (1 − a) Σ + a (tr Σ/d) I. A float from 0 to 1 is the
        intensity a. "ledoit_wolf" and "oas" estimate a by closed formulas. "cv" chooses a by the
        held-out log-loss of LDA. None uses no shrinkage.

    Attributes
    ----------
    whitener_ : ndarray of shape (m, d)
        The matrix Σ^(−½), with one row for each of the m columns that vary.
    covariance_ : ndarray of shape (d, d)
        The pooled within-class covariance Σ.
    mean_ : ndarray of shape (d,)
        The mean μ of all rows.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Mahalanobis (1936), On the generalised distance in statistics, Proceedings of the National
    Institute of Sciences of India 2, 49–55.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = KNeighborsClassifier().fit(X[::2], y[::2])
    >>> whitened = make_pipeline(Whiten(), KNeighborsClassifier()).fit(X[::2], y[::2])
    >>> float(round(plain.score(X[1::2], y[1::2]), 3))
    0.73
    >>> float(round(whitened.score(X[1::2], y[1::2]), 3))
    0.966
    """

    def __init__(
        self,
        covariance: Literal["mle", "unbiased"] = "mle",
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage

    @updates
    def fit(self, X: Source, y: Labels | None = None, sample_weight: Weights | None = None) -> Self:
        """Estimate the mean and the covariance in one pass over the rows.

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            The training rows, as an array, a data frame or any other table.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. Labels are required.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weights of the rows, or the name of the column of weights. None gives each row the
            weight 1.

        Returns
        -------
        Whiten
            The fitted transformer itself.
        """
        if y is None:
            raise VerosimError(
                "This Whiten estimator requires y to be passed, but the target y is None.",
                "Call fit(X, y).",
            )
        model = LDA(covariance=self.covariance, shrinkage=self.shrinkage).fit(X, y, sample_weight)
        params, self._model = model.state_.params, model
        pivot, centre, _ = params.reference
        at = np.flatnonzero(params.used)
        self.whitener_ = np.zeros((len(at), len(params.used)))  # (m, d)
        # Every whitener is a rotation of Σ^(−½). The singular vectors remove the rotation.
        _, spread, V = np.linalg.svd(params.whitener[0][np.ix_(at, at)])
        self.whitener_[:, at] = (V.T * spread) @ V
        self.covariance_ = model.covariances_  # (d, d)
        self.mean_ = pivot + centre  # (d,)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    @reads
    def transform(self, X: Source) -> np.ndarray:
        """Whiten rows: z = Σ^(−½) (x − μ).

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n, m)
            The whitened rows, centred at the overall mean of the training rows.
        """
        check_is_fitted(self, "whitener_")
        return self._model.along(X, self.whitener_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.whitener_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
