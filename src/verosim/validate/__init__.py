"""Validation without refitting: held-out scores, choices and guarantees from sums.

The functions are names of `verosim`; here are the classes of what they return.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
