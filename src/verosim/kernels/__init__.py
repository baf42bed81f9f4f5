"""The compiled loops, one file per purpose.

Numba is imported when the first loop is called. All loops are compiled with `nogil`, so several
threads can run them at the same time. The compiled code is cached on disk if a folder is writable,
so a machine compiles each loop once. The `fastmath` options only allow arithmetic to be regrouped.
They are used only in loops where this changes the result by rounding and by nothing else.
"""

from __future__ import annotations

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
