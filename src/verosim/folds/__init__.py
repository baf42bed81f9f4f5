"""Held-out scoring: each row is scored by a model of other rows, computed from sums."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
