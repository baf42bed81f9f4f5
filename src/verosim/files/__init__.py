"""Model files: data without code.

The functions are in `verosim`. This package has the classes of their results.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
