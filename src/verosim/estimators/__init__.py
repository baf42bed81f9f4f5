"""The generative classifiers, with the interface of scikit-learn."""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
