"""One fitted state: a method that reads a model uses one snapshot, and an update is one assignment.

    read      snapshot(model) → result
    update    copy → changed copy → model, in one assignment, or not at all

A prediction beside an update in another thread is the one before or the one after. The same is true
of a model after an interrupt. Updates of one model wait for each other.

Both check the arguments of the call against the annotations of the method.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from verosim.arguments import Parameters, check_settings
from verosim.errors import VerosimError
from verosim.stats.hollow import WithoutSums, names_itself

ModelMethod = TypeVar("ModelMethod", bound=Callable[..., Any])

# The locks are not attributes of the models, so that models can be pickled, copied and compared.
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _without_locks() -> None:
    """A forked child process does not have the threads that hold the locks."""
    global _locks
    _locks = WeakKeyDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_locks)


class _Unchanging(dict[str, Any]):
    """The attributes of a snapshot. No update changes them, so they are not copied again."""


def shallow(model: Any) -> Any:
    """A second object with the parameters and the fitted state of a model."""
    out = object.__new__(type(model))
    out.__dict__ = vars(model).copy()  # no other thread runs during the copy of a dict
    return out


def snapshot(model: Any) -> Any:
    """A model that later updates do not change. The fitted model inside a wrapper is copied too."""
    attributes = vars(model)
    if type(attributes) is _Unchanging:
        return model
    out = object.__new__(type(model))
    out.__dict__ = attributes = _Unchanging(attributes)
    inside = attributes.get("model_")
    if inside is not None:
        attributes["model_"] = snapshot(inside)
    return out


def reads(method: ModelMethod, checks: bool = True) -> ModelMethod:
    """A method that reads the fitted state, with one snapshot for the whole call.

    If it needs the sums of a model that has none, the error names the method. Rows are checked when
    they are opened, so a call with rows alone is not checked here. `checks` is False for a method
    that other methods call.
    """
    parameters = Parameters(method)
    alone = 1 if parameters.first_is_rows else 0
    alone = alone if checks else len(parameters.positional)

    @wraps(method)
    def on_snapshot(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) > alone:
            parameters.check((self, *args), kwargs)
        try:
            known = self if type(vars(self)) is _Unchanging else snapshot(self)
            return method(known, *args, **kwargs)
        except WithoutSums as error:
            raise WithoutSums(method.__name__) from error

    return on_snapshot  # type: ignore[return-value]


def updates(method: ModelMethod) -> ModelMethod:
    """A method that changes the model: it works on a copy, which then replaces the model.

    The method returns the model. If it fails or is interrupted, the model does not change. A method
    that reads rows also checks the settings of the model.
    """
    parameters = Parameters(method)
    learns = parameters.first_is_rows

    @names_itself
    @wraps(method)
    def all_or_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        parameters.check((self, *args), kwargs)
        if learns and not hasattr(self, "spec"):  # a spec checks the settings from which it is made
            check_settings(self)
        with _locks.setdefault(self, RLock()):
            before = vars(self)
            known = before.copy()
            work = shallow(self)
            method(work, *args, **kwargs)
            if vars(self) is not before:
                raise VerosimError(
                    f"The {type(self).__name__} was updated by the rows that it was reading.",
                    "Update the model before or after, not while its rows are read.",
                )
            self.__dict__ = _changed(before, known, vars(work))
        return self

    return all_or_nothing  # type: ignore[return-value]


def _changed(now: dict[str, Any], known: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a model with the changes of an update."""
    out = now.copy()
    for name, value in after.items():
        if name not in known or value is not known[name]:
            out[name] = value
    for name in known.keys() - after.keys():
        out.pop(name, None)
    return out
