"""Whitening by what varies within classes: Euclidean distance becomes Mahalanobis distance.

    z = W (x − μ),   W Σ Wᵀ = I,   ‖z − z'‖² = (x − x')ᵀ Σ⁻¹ (x − x')

with Σ the pooled within-class covariance of LDA and W = Σ^(−½), the one whitener that is symmetric.
Reference: Mahalanobis (1936), On the generalised distance in statistics.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from verosim.errors import VerosimError
from verosim.estimators import LDA


class Whiten(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Whiten rows by the pooled within-class covariance: the transformer before distances.

    z = Σ^(−½) (x − μ)

    `make_pipeline(Whiten(), KNeighborsClassifier())` is k nearest neighbours by Mahalanobis
    distance. A singular covariance is shrunk as :class:`~verosim.LDA` does it, with a warning, and
    constant columns are left out.

    Parameters
    ----------
    covariance : "mle" divides by n, "unbiased" by n − K
    shrinkage : None, a share a of (tr Σ/d) I, "ledoit_wolf", "oas", or "cv", as in LDA

    Attributes
    ----------
    whitener_ : (m, d) Σ^(−½), rows for the m columns that vary
    covariance_ : (d, d) Σ
    mean_ : (d,) μ, the overall mean

    References
    ----------
    Mahalanobis (1936), On the generalised distance in statistics.

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

    def __init__(self, covariance: str = "mle", shrinkage: float | str | None = None) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One pass over the rows: their moments by class."""
        if y is None:
            raise VerosimError(
                "This Whiten estimator requires y to be passed, but the target y is None.",
                "the covariance is that within classes: fit(X, y).",
            )
        model = LDA(covariance=self.covariance, shrinkage=self.shrinkage).fit(X, y, sample_weight)
        params, self._model = model.state_.params, model
        pivot, centre, _ = params.reference
        at = np.flatnonzero(params.used)
        self.whitener_ = np.zeros((len(at), len(params.used)))  # (m, d)
        # Any whitener is Σ^(−½) after a rotation, which the singular vectors take away.
        _, spread, V = np.linalg.svd(params.whitener[0][np.ix_(at, at)])
        self.whitener_[:, at] = (V.T * spread) @ V
        self.covariance_ = model.covariances_  # (d, d)
        self.mean_ = pivot + centre  # (d,)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n, m) the rows in whitened space, about the overall mean."""
        check_is_fitted(self, "whitener_")
        return self._model.along(X, self.whitener_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.whitener_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
