"""Many fold models may give the same warning: only the first is shown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from verosim.errors import VerosimWarning, warn


@contextmanager
def first_warning_only() -> Iterator[None]:
    """Re-issue only the first of our warnings from all folds, and every other warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [w for w in caught if issubclass(w.category, VerosimWarning)]
    for other in caught:
        if not issubclass(other.category, VerosimWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if ours:
        more = f" (and {len(ours) - 1} more such warnings in other folds)" if len(ours) > 1 else ""
        warn(f"{ours[0].message}{more}", ours[0].category)
