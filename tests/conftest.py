"""Fixtures: randomness with a seed, and the real data sets where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# How many examples a law is tried on: VEROSIM_HYPOTHESIS_PROFILE or --hypothesis-profile says.
# No deadline, because a first example may compile; no limit on slow or rejected draws, because
# tables of rows are large and some laws refuse some of them. Only `soak` looks for new examples.
COMMON = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("quick", COMMON, max_examples=25)
settings.register_profile("test", COMMON, max_examples=200)
settings.register_profile("soak", COMMON, max_examples=20_000, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("VEROSIM_HYPOTHESIS_PROFILE", "test"))

collect_ignore_glob = ["typed/*"]  # scripts for type checkers
DATA = Path(os.environ.get("VEROSIM_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def rng():
    return np.random.default_rng(20261116)


@pytest.fixture(scope="session")
def data():
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip("the folder of real data sets is not here (set VEROSIM_DATA)")
    return DATA


@pytest.fixture(scope="session", autouse=True)
def data_folder_is_only_read():
    """Tests, and the benchmarks that they run, write to temporary folders only."""

    def found():
        return {str(path): path.lstat().st_mtime_ns for path in sorted(DATA.rglob("*"))}

    before = found()
    yield
    assert found() == before
