"""The error and the warnings of verosim, and two helpers that write messages.

A message states what happened and where (column, class, row, value). The hint of an error states
what to do.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from verosim.terminal import in_one_line

# Models with different bins or categories cannot be merged.
ONE_SCHEMA_HINT = "Fit both models with the same schema: fit(…, schema=verosim.look(source))."
FITTED_SCHEMA_HINT = (
    "Fit the other model with the schema of the first: fit(…, schema=model.schema_)."
)


class VerosimError(ValueError):
    """The error that verosim raises for wrong input or wrong settings.

    It is a `ValueError`, so code that catches `ValueError` also catches it. The message states what
    happened and where: the column, the class, the row or the value. If there is a hint, the message
    ends with it: "{what} Hint: {hint}".

    Parameters
    ----------
    what : str
        One sentence that states what happened and where.
    hint : str or None, default=None
        One sentence that states what to do.

    Attributes
    ----------
    what : str
        The message without the hint.
    hint : str or None
        The hint, or None if there is none.

    Examples
    --------
    >>> import verosim
    >>> try:
    ...     verosim.look({"age": [31, 45], "city": ["Lima", "Oslo"]}, target="town")
    ... except verosim.VerosimError as error:
    ...     print(error.what)
    ...     print(error.hint)
    The target 'town' is not in the table.
    Use one of the columns 'age', 'city'.
    """

    def __init__(self, what: str, hint: str | None = None) -> None:
        self.what, self.hint = in_one_line(what), None if hint is None else in_one_line(hint)
        super().__init__(self.what if hint is None else f"{self.what} Hint: {self.hint}")

    def __reduce__(self) -> tuple[type, tuple[str, str | None]]:
        return type(self), (self.what, self.hint)


class VerosimWarning(UserWarning):
    """The base class of all warnings of verosim.

    A warning means that the result can be used, but that the user should know something about it.
    Use this class in `warnings.simplefilter` to hide all warnings of verosim, or to turn them into
    errors.

    Examples
    --------
    The second column is twice the first, so the covariances are singular.

    >>> import warnings, verosim
    >>> X, y = [[1, 2], [2, 4], [3, 6], [5, 10], [6, 12], [8, 16]], [0, 0, 0, 1, 1, 1]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", verosim.VerosimWarning)
    ...     verosim.QDA().fit(X, y)
    Traceback (most recent call last):
        ...
    verosim.errors.SingularWarning: ...
    """


class SingularWarning(VerosimWarning):
    """A covariance matrix is singular, or a column is constant.

    Columns that depend on each other, or fewer rows than columns, make a covariance matrix
    singular, so it has no inverse. The fit then shrinks it towards the pooled diagonal. Constant
    columns are left out. The message names the classes and the columns.

    Examples
    --------
    The second column is twice the first.

    >>> import warnings, verosim
    >>> X, y = [[1, 2], [2, 4], [3, 6], [5, 10], [6, 12], [8, 16]], [0, 0, 0, 1, 1, 1]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = verosim.QDA().fit(X, y)
    >>> caught[0].category.__name__
    'SingularWarning'
    """


class PrecisionWarning(VerosimWarning):
    """A variance or a covariance has few correct digits.

    `forget` subtracts rows from sums. If the subtracted values are much larger than the remaining
    ones, the difference has few correct digits. Fit the model again on the remaining rows to
    compute the variance with full precision. A covariance of columns that are nearly linear
    combinations of each other also loses digits, and the message names these columns.

    Examples
    --------
    The value 1e9 is removed again. The remaining values are 3 and 4.

    >>> import warnings, verosim
    >>> model = verosim.GaussianNB().fit([[1.0], [2.0], [3.0], [4.0], [1e9]], [0, 0, 1, 1, 1])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = model.forget([[1e9]], [1])
    >>> caught[0].category.__name__
    'PrecisionWarning'
    """


class ConvergenceWarning(VerosimWarning):
    """An iterative fit stopped before it converged.

    EM, logistic regression, the linear SVM and the perceptron iterate. This warning means that the
    limit, such as `max_iter`, was reached before the tolerance. Raise the limit, or raise the
    tolerance.

    Examples
    --------
    >>> import warnings, verosim
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 0, 1, 0, 1, 1]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = verosim.LogisticRegression(max_iter=1).fit(X, y)
    >>> caught[0].category.__name__
    'ConvergenceWarning'
    """


_kept: ContextVar[dict[str, str] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_warnings() -> Iterator[dict[str, str]]:
    """Keep the warnings of a worker for the process of the user: the class name by message."""
    found: dict[str, str] = {}
    before = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(before)


def warn_again(found: Mapping[str, str]) -> None:
    """Give the warnings of workers."""
    for message, name in found.items():
        category = globals().get(name)
        if isinstance(category, type) and issubclass(category, VerosimWarning):
            warn(message, category)
        else:
            warn(message, VerosimWarning)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code, not at a line of verosim."""
    message = in_one_line(message)
    kept = _kept.get()
    if kept is not None:
        kept[message] = category.__name__
        return
    frame, level = sys._getframe(1), 2
    ours = ("verosim", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """Name the file if it cannot be written."""
    try:
        yield
    except OSError as error:
        raise VerosimError(
            f"The file {os.fspath(path)!r} cannot be written: {error.strerror or error}.",
            "Use a folder that exists and can be written to.",
        ) from error


def listed(names: list[str], most: int = 5) -> str:
    """A list of names for a message: `'a', 'b' and 3 more`."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
