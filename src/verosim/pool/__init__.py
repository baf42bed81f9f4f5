"""Automatic choice of a model by its score on held-out rows: the result classes of `auto`."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
