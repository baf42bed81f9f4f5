"""Every compiled loop, one file per purpose; numba loads when the first of them is called.

All are `nogil`, so the engine's threads run them side by side, and cached on disk where a
folder can be written, so a machine compiles each of them once. `fastmath` is limited to
reassociation, and only in loops whose result does not depend on it beyond rounding.
"""

from __future__ import annotations

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
