"""Converts the user's data to batches that statistics can absorb. Input is validated only here."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
