"""The terms of a program: the scores of a model, written down as data.

    s_k(x) = Σ_t s_tk(x),   one term t for each column or block of columns

A density states its terms in its method `terms`, beside `log_density`. A term is a small value with
arrays, and it can evaluate itself in plain numpy. Nothing else has to look inside a density.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
