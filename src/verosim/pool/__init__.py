"""The models a table allows, compared on held-out rows: `auto` and the classes of its result."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
