"""Calls with arguments of the wrong kind end in a `VerosimError`, whatever is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from tests.wrong_calls import Call, calls_of, random_call, targets

EVERY = 5  # of the calls of each target; the number of wrong values is no multiple of it


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in targets() if " " not in name])
def test_one_wrong_argument(name):
    for call in list(calls_of(name))[::EVERY]:
        assert call.run() is None, str(call)


@tried_often
@given(seed=st.integers(0, 1 << 32))
def test_several_wrong_arguments(seed):
    call = random_call(seed)
    assert call.run() is None, str(call)


def test_the_caller_finds_faults(monkeypatch):
    """A function that checks nothing is a fault of every kind."""
    target = targets()["load"]
    for change, fault in (
        ("'abc'", "ZeroDivisionError"),
        ("None", "accepted"),
        ("a file descriptor", "a file descriptor was closed"),
    ):
        monkeypatch.setitem(targets(), "load", target._replace(function=careless))
        assert Call("load", (("path", change),)).run().startswith(fault)


def careless(path: str, *, max_bytes: int | None = None):
    if path == "abc":
        raise ZeroDivisionError
    if isinstance(path, int):
        with open(path, "rb"):
            pass


def test_every_public_callable_is_called():
    names = {name for name in verosim.__all__ if callable(getattr(verosim, name))}
    not_called = {name for name in names if not issubclass_of_errors(name)} - targets().keys()
    assert not_called == {"Schema"}  # `look` makes it; its methods are called
    assert len(targets()) > 600


def issubclass_of_errors(name: str) -> bool:
    value = getattr(verosim, name)
    return isinstance(value, type) and issubclass(value, Exception)
