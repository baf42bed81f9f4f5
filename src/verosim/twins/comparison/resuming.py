"""Going on with a comparison: what an earlier run knows of the one that is asked for.

    result(asked, known) = result(asked),   with fewer fits

as every draw has a seed of its own, by its number alone.
Reference: Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from verosim.errors import VerosimError
from verosim.twins.comparison.curves import Comparison, in_order


def seed_of(random_state: Any, resume: Any) -> int:
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if random_state is None:
        if resume is not None:  # the draws to go on with
            return (resume if isinstance(resume, Comparison) else Comparison.load(resume)).seed
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError) as error:
        raise VerosimError(f"random_state: {error}.") from None


def earlier(resume: Any, path: Any) -> tuple[Comparison | None, Path | None]:
    """What is known already, and the file to keep: one that is there is never written over."""
    known, path = None, None if path is None else Path(path)
    if isinstance(resume, Comparison):
        known = resume
    elif resume is not None:
        try:
            file = Path(os.fspath(resume))
        except TypeError:
            raise VerosimError(
                f"resume={resume!r} is not known.", "a Comparison, or the file of one."
            ) from None
        known, path = Comparison.load(file), file if path is None else path
        if path == file:
            return known, path
    if path is not None and not path.parent.is_dir():
        raise VerosimError(f"There is no folder {str(path.parent)!r} to save to.", "make it first.")
    if path is not None and path.exists():
        raise VerosimError(
            f"{str(path)!r} is there already.",
            f"another name, or resume={str(path)!r} if it is a comparison to go on with.",
        )
    return known, path


def carried_over(known: Comparison, asked: Comparison, path: Path | None) -> Comparison:
    """What an earlier run knows of what is asked now; a stranger's run is refused."""
    for name, what in (
        ("fingerprint", "rows or labels"), ("seed", "random_state"), ("scoring", "scoring"),
        ("test_rows", "test_size"),
    ):  # fmt: skip
        if getattr(known, name) != getattr(asked, name):
            raise VerosimError(
                f"The run to resume has other {what}.", "the same ones; or begin a new run."
            )
    shared = [name for name in asked.names if name in known.models]
    for name in shared:
        if known.models[name] != asked.models[name]:
            raise VerosimError(
                f"Model {name!r} is {asked.models[name]}, and was {known.models[name]}.",
                "give it another name.",
            )
    sizes = np.intersect1d(asked.sizes, known.sizes)
    R = min(asked.asked, known.asked)
    fewer = len(shared) < len(known.models) or len(sizes) < len(known.sizes) or known.asked > R
    if fewer and path is not None and path.exists():
        raise VerosimError(
            f"{str(path)!r} knows models, sizes or repeats that are not asked for, and would "
            "lose them.",
            "ask for them too, or name another path.",
        )
    values = asked.values.copy()
    s_old, s_new = np.searchsorted(known.sizes, sizes), np.searchsorted(asked.sizes, sizes)
    for name in shared:
        of_old = known.values[known.names.index(name)]
        values[asked.names.index(name)][s_new, :R] = of_old[s_old, :R]
    failures = [
        failure
        for failure in known.failures
        if failure.model in shared and failure.size in sizes and failure.repeat < R
    ]
    return replace(asked, values=values, failures=in_order(failures, asked.names))
