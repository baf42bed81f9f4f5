"""Bayes' rule: from priors and densities to scores, posteriors, densities of rows, and samples.

    p(k | x) = π_k p(x | k) / Σ_j π_j p(x | j)

Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.1–2.4.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
