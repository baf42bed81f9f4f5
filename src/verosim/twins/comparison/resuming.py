"""Resuming a comparison: known values of an earlier run are used in a new run.

    result(asked, known) = result(asked),   with fewer fits

This holds because the seed of each repeat depends only on the number of the repeat.
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
    """The seed of the repeats, from `random_state` or from the comparison to resume."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if random_state is None:
        if resume is not None:  # continue with the same repeats
            return (resume if isinstance(resume, Comparison) else Comparison.load(resume)).seed
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError):
        raise VerosimError(
            "random_state must be None, an integer, a Generator or a RandomState; "
            f"got {random_state!r}."
        ) from None


def earlier(resume: Any, path: Any) -> tuple[Comparison | None, Path | None]:
    """The comparison to resume and the file to save to. Other files are not overwritten."""
    known, path = None, None if path is None else Path(path)
    if isinstance(resume, Comparison):
        known = resume
    elif resume is not None:
        try:
            file = Path(os.fspath(resume))
        except TypeError:
            raise VerosimError(
                f"resume={resume!r} is not a comparison.",
                "Give a Comparison, or the path of a saved one.",
            ) from None
        known, path = Comparison.load(file), file if path is None else path
        if path == file:
            return known, path
    if path is not None and not path.parent.is_dir():
        raise VerosimError(
            f"The folder {str(path.parent)!r} does not exist.", "Create the folder first."
        )
    if path is not None and path.exists():
        raise VerosimError(
            f"The file {str(path)!r} already exists.",
            f"Use another path, or use resume={str(path)!r} to continue that comparison.",
        )
    return known, path


def carried_over(known: Comparison, asked: Comparison, path: Path | None) -> Comparison:
    """The requested comparison with the values of an earlier run of the same rows and settings."""
    for name, what in (
        ("fingerprint", "different rows or labels"), ("seed", "a different random_state"),
        ("scoring", "a different scoring"), ("test_rows", "a different test_size"),
    ):  # fmt: skip
        if getattr(known, name) != getattr(asked, name):
            raise VerosimError(
                f"The comparison to resume has {what}.",
                "Use the same rows and settings, or start a new comparison.",
            )
    shared = [name for name in asked.names if name in known.models]
    for name in shared:
        if known.models[name] != asked.models[name]:
            raise VerosimError(
                f"Model {name!r} is {asked.models[name]}, but the comparison to resume has "
                f"{known.models[name]}.",
                "Use another name for the model.",
            )
    sizes = np.intersect1d(asked.sizes, known.sizes)
    R = min(asked.asked, known.asked)
    fewer = len(shared) < len(known.models) or len(sizes) < len(known.sizes) or known.asked > R
    if fewer and path is not None and path.exists():
        raise VerosimError(
            f"The file {str(path)!r} has models, sizes or repeats that are not requested, and "
            "saving would delete them.",
            "Request them too, or use another path.",
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
