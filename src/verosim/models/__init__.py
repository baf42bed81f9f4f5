"""A model as values and functions: a spec, the rows it reads, and the state it learns from them.

    open_rows(spec, inputs) → Opened(source, plan, schema)
    summarise(source, plan) → statistic
    derive(spec, statistic, schema) → State

The estimators are thin scikit-learn classes that call these functions.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
