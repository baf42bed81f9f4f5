"""Densities: they estimate the parameters of p(x | k) from a statistic, and score rows with them.

statistic → density.estimate → parameters → log p(x | k)
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
