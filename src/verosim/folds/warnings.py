"""The models of many folds may issue the same warning. Only the first one is shown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from verosim.errors import VerosimWarning, warn


@contextmanager
def first_warning_only() -> Iterator[None]:
    """Re-issue only the first verosim warning of all folds, and all warnings of other libraries."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [w for w in caught if issubclass(w.category, VerosimWarning)]
    for other in caught:
        if not issubclass(other.category, VerosimWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if ours:
        more = f" ({len(ours) - 1} more such warnings in other folds.)" if len(ours) > 1 else ""
        warn(f"{ours[0].message}{more}", ours[0].category)
