"""Checks of a result, such as `--at-least accuracy=0.8`. A failed check has its own exit code."""

from __future__ import annotations

from collections.abc import Mapping

from verosim.cli.options import usage_error
from verosim.errors import VerosimError, listed


class CheckFailed(VerosimError):
    """A number is on the wrong side of its limit."""


def limits(given: Mapping[str, str], option: str) -> dict[str, float]:
    """The limit of each score."""
    out = {}
    for name, text in given.items():
        try:
            out[name] = float(text)
        except ValueError:
            raise usage_error(f"{option} {name} must be a number; got {text!r}.") from None
    return out


def check_scores(
    scores: Mapping[str, float], at_least: Mapping[str, float], at_most: Mapping[str, float]
) -> None:
    """Raise CheckFailed unless all scores are within their limits."""
    failed = []
    for name in (*at_least, *at_most):
        if name not in scores:
            raise usage_error(f"There is no score {name!r}; the scores are {listed([*scores])}.")
    for name, limit in at_least.items():
        if not scores[name] >= limit:
            failed.append(f"{name} is {scores[name]:.4f} and must be at least {limit:g}")
    for name, limit in at_most.items():
        if not scores[name] <= limit:
            failed.append(f"{name} is {scores[name]:.4f} and must be at most {limit:g}")
    if failed:
        raise CheckFailed("; ".join(failed).capitalize() + ".")
