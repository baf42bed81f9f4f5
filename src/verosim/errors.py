"""What the library says when it cannot go on: what, where, and a way out."""

from __future__ import annotations

import sys
import warnings


class VerosimError(ValueError):
    """Every error verosim raises. The message names the place; the hint says what to do."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        self.what, self.hint = what, hint
        super().__init__(what if hint is None else f"{what} Hint: {hint}")

    def __reduce__(self) -> tuple[type, tuple[str, str | None]]:
        return type(self), (self.what, self.hint)


class VerosimWarning(UserWarning):
    """Something worth knowing that did not stop the work."""


class SingularWarning(VerosimWarning):
    """A covariance could not be inverted and was shrunk towards the pooled diagonal."""


class PrecisionWarning(VerosimWarning):
    """Forgetting left fewer correct digits than a fit on the remaining rows would have."""


class ConvergenceWarning(VerosimWarning):
    """EM was stopped before its estimates had settled."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the user's line rather than at ours."""
    frame, level = sys._getframe(1), 2
    ours = ("verosim", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def listed(names: list[str], most: int = 5) -> str:
    """`'a', 'b' and 3 more`: a list of names a person can read in an error."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
