"""Feature maps: a linear function of φ(x) is a curved one of x.

    polynomial   φ = (x_j, x_j x_k)                      all products of two columns
    fourier      φ = √(2/D) cos(ωᵀz + b),  ω ~ N(0, 2γI)  E φ(x)ᵀφ(x') = exp(−γ ‖z − z'‖²)

with z the columns in units of their standard deviations and γ = 1/(d Var z).
Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data import SparseRows
from verosim.errors import VerosimError

FREQUENCIES = 300  # D


def is_named_map(features: Any) -> bool:
    """Whether the map is one of ours, which reads numbers; others read what they are given."""
    return features is None or isinstance(features, str)


def feature_map(features: Any, seed: int) -> Any:
    """The transformer that `features` stands for, not fitted; None for the columns themselves."""
    if features is None:
        return None
    if isinstance(features, str):
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        if features == "polynomial":  # the constant is the intercept
            return PolynomialFeatures(2, include_bias=False)
        if features == "fourier":  # differences are all that counts, so nothing is centred
            waves = RBFSampler(gamma="scale", n_components=FREQUENCIES, random_state=seed)
            return make_pipeline(StandardScaler(with_mean=False), waves)
    elif hasattr(features, "fit") and hasattr(features, "transform"):
        return clone(features)
    raise VerosimError(
        f"features={features!r} is not known.",
        "None, 'polynomial', 'fourier', or a transformer with fit and transform.",
    )


def as_given(X: np.ndarray | SparseRows) -> Any:
    """Rows as scikit-learn's transformers take them."""
    return X.as_csr() if isinstance(X, SparseRows) else X
