"""Sufficient statistics: sums over rows, stored as arrays with labelled axes.

Statistics can be added, subtracted, scaled and moved to wider axes.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
