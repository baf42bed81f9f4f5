"""The kinds of columns. Each kind has one file and one entry in the list of `registry.py`."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
