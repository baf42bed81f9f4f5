"""Sample sizes: how many rows a model needs, and how many numbers it learns from them."""

from verosim.bayes.sample_size import (
    parameter_counts,
    prior_error,
    rows_for_gaussian,
    rows_for_histogram,
    rows_for_priors,
)

__all__ = [
    "parameter_counts",
    "prior_error",
    "rows_for_gaussian",
    "rows_for_histogram",
    "rows_for_priors",
]
