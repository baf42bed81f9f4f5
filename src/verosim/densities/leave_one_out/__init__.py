"""Leave-one-out scores: each row is scored by the density estimated without this row.

    log p(x_i | c) from T − T(x_i)

There is one file per closed form.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
