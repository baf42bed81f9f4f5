"""Discriminative classifiers: they fit the decision boundary directly, without densities.

The classifiers and functions are names of `verosim`. This package exports the result classes.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
