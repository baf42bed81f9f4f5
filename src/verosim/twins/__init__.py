"""Discriminative classifiers: the same decision surfaces, fitted to the boundary alone.

Classifiers and functions are names of `verosim`; here are the classes of what functions return.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
