"""Pictures of models and results, drawn with matplotlib on the axes of the caller.

The functions are also in `verosim`. No function changes the style of matplotlib or shows a window.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
