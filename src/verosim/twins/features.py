"""Feature maps φ(x): a linear boundary in the features is a curved boundary in the columns.

    polynomial   φ = (x_j, x_j x_k)                      all products of two columns
    fourier      φ = √(2/D) cos(ωᵀz + b),  ω ~ N(0, 2γI)  E φ(x)ᵀφ(x') = exp(−γ ‖z − z'‖²)

Here z are the columns divided by their standard deviations, D is the number of random frequencies
ω, and γ = 1/(d Var z).
Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data import SparseRows
from verosim.data.nodes import no_program
from verosim.densities.terms import FeaturesTerm, PolynomialTerm, SumTerm, Term
from verosim.errors import VerosimError

FREQUENCIES = 300  # D


def is_named_map(features: Any) -> bool:
    """Whether the map is built in. Built-in maps read numbers; other maps may read anything."""
    return features is None or isinstance(features, str)


def feature_map(features: Any, seed: int) -> Any:
    """The transformer for the setting `features`, not fitted; None uses the columns directly."""
    if features is None:
        return None
    if isinstance(features, str):
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        if features == "polynomial":  # the intercept replaces the constant feature
            return PolynomialFeatures(2, include_bias=False)
        if features == "fourier":  # only differences of rows count, so no centring is needed
            waves = RBFSampler(gamma="scale", n_components=FREQUENCIES, random_state=seed)
            return make_pipeline(StandardScaler(with_mean=False), waves)
    elif hasattr(features, "fit") and hasattr(features, "transform"):
        return clone(features)
    raise VerosimError(
        f"features={features!r} is not a known feature map.",
        "Use None, 'polynomial', 'fourier', or a transformer with fit and transform.",
    )


def mapped_terms(
    features: Any, fitted: Any, weights: tuple[np.ndarray, np.ndarray]
) -> tuple[Term, ...]:
    """The terms of scores with weights (C, D) of the features and intercepts (C,)."""
    coef, bias = weights
    d = fitted.n_features_in_
    reads, origin = tuple(range(d)), np.zeros(d)
    if isinstance(features, str) and features == "polynomial":
        inner = PolynomialTerm(reads, origin, origin, coef[:, :d], coef[:, d:])
        return (SumTerm(reads, (inner,), bias),)
    if isinstance(features, str):
        scaler, waves = (one for _, one in fitted.steps)
        height = np.sqrt(2 / len(waves.random_offset_))
        turn = waves.random_offset_  # cos(u + turn) = cos turn cos u − sin turn sin u
        cosines, sines = coef * (height * np.cos(turn)), coef * (-height * np.sin(turn))
        frequencies = waves.random_weights_ / scaler.scale_[:, None]
        return (FeaturesTerm(reads, frequencies, cosines, sines, bias),)
    raise no_program(
        f"its features are made by {type(fitted).__name__}",
        "Use features=None, 'polynomial' or 'fourier'.",
    )


def as_given(X: np.ndarray | SparseRows) -> Any:
    """The rows in the form that scikit-learn's transformers accept."""
    return X.as_csr() if isinstance(X, SparseRows) else X
