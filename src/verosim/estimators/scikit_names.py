"""Fitted attributes under the names of scikit-learn, where they mean the same.

    theta_, var_        the means and variances of GaussianNB
    feature_count_      the sums of the columns in each class
    rotations_          V_k with Σ_k = V_k diag(scalings_k) V_kᵀ

All of them are functions of the fitted state, and they are computed when they are read. Each is a
function of a fitted model, which a classifier declares as a property.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Categories
from verosim.axes.groups import sorted_labels
from verosim.estimators.base import GenerativeClassifier


def class_log_prior(model: GenerativeClassifier) -> np.ndarray:
    """(C,) log π_k, the logarithms of the priors in use."""
    return np.array(model.fitted("class_log_prior_").rule.log_prior)


def priors(model: GenerativeClassifier) -> np.ndarray:
    """(C,) the class priors π_k in use: `class_prior_` under the name of scikit-learn."""
    return np.exp(model.fitted("priors_").rule.log_prior)


# Gaussian models ---------------------------------------------------------------------------------


def theta(model: GenerativeClassifier) -> np.ndarray:
    """(C, d) the mean of each column in each class: `means_` under the name of scikit-learn."""
    return model.fitted("theta_").params.means


def variances(model: GenerativeClassifier) -> np.ndarray:
    """(C, d) the variance of each column in each class: `covariances_` under another name."""
    return np.array(model.fitted("var_").params.variances)


def epsilon(model: GenerativeClassifier) -> float:
    """The amount that is added to every variance: 0, because `floor` is a lower limit instead."""
    model.fitted("epsilon_")
    return 0.0


def pooled_covariance(model: GenerativeClassifier) -> np.ndarray:
    """(d, d) the covariance within the classes: `covariances_` under the name of scikit-learn."""
    return model.fitted("covariance_").params.covariances()


def class_covariances(model: GenerativeClassifier) -> list[np.ndarray]:
    """For each class, (d, d) its covariance: `covariances_` as a list."""
    return list(model.fitted("covariance_").params.covariances())


def overall_mean(model: GenerativeClassifier) -> np.ndarray:
    """(d,) the mean of all rows, which `transform` subtracts."""
    pivot, centre, _ = model.fitted("xbar_").params.reference
    mean: np.ndarray = pivot + centre
    return mean


def principal_variances(model: GenerativeClassifier) -> list[np.ndarray]:
    """For each class, (d,) the variances along its principal axes, the largest first."""
    covariances = model.fitted("scalings_").params.covariances()
    return [_principal(covariance)[0] for covariance in covariances]


def principal_axes(model: GenerativeClassifier) -> list[np.ndarray]:
    """For each class, (d, d) its principal axes, one per column, in the order of `scalings_`."""
    covariances = model.fitted("rotations_").params.covariances()
    return [_principal(covariance)[1] for covariance in covariances]


def _principal(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) eigenvalues, the largest first, and (d, d) the eigenvectors.

    The largest entry of each eigenvector is positive.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    sign = np.sign(vectors[largest, np.arange(len(values))])
    return values, vectors * np.where(sign == 0, 1.0, sign)


# Presence, counts and categories -----------------------------------------------------------------


def feature_count(model: GenerativeClassifier) -> np.ndarray:
    """(C, d) the sum of each column in each class, or the weight of the rows that have it."""
    statistic: Any = model.fitted("feature_count_").statistic
    return np.array(statistic.arrays["count"][:, 0])


def feature_all(model: GenerativeClassifier) -> np.ndarray:
    """(d,) the sum of each column over all classes."""
    statistic: Any = model.fitted("feature_all_").statistic
    return np.asarray(statistic.arrays["count"][:, 0]).sum(axis=0)


def sorted_codes(codes: Any) -> list[tuple[list[Any], np.ndarray]]:
    """For each column, its values, sorted, and the codes of these values."""
    assert isinstance(codes, Categories)
    out = []
    for j, values in enumerate(codes.values):
        ordered = sorted_labels(values)
        at = np.array([codes.index[j][value] for value in ordered], dtype=np.intp)
        out.append((ordered, codes.first[j] + at))
    return out


def categories(model: GenerativeClassifier) -> list[list[Any]]:
    """The values of each column, sorted."""
    return [values for values, _ in sorted_codes(model.fitted("categories_").statistic.axes.codes)]


def n_categories(model: GenerativeClassifier) -> np.ndarray:
    """(d,) the number of values of each column."""
    codes = model.fitted("n_categories_").statistic.axes.codes
    assert codes is not None
    return codes.counts()


def category_count(model: GenerativeClassifier) -> list[np.ndarray]:
    """For each column, (C, K_j) the weight of each value in each class."""
    statistic: Any = model.fitted("category_count_").statistic
    count = statistic.arrays["count"][:, 0]  # (C, K)
    return [count[:, at] for _, at in sorted_codes(statistic.axes.codes)]


def category_log_prob(model: GenerativeClassifier) -> list[np.ndarray]:
    """For each column, (C, K_j) log φ, the log probability of each value in each class."""
    params = model.fitted("feature_log_prob_").params
    log_mass = params.log_mass().T  # (C, K)
    return [log_mass[:, at] for _, at in sorted_codes(params.codes)]
