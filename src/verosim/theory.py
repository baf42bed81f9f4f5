"""Sample sizes: how many rows a model needs, and how many parameters it estimates.

    n ≥ log(2C/δ) / (2ε²)   rows for all C priors within ε of the truth, with probability 1 − δ

Reference: Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal
of the American Statistical Association 58, 13–30.
"""

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
