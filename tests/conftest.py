"""Fixtures: randomness with a seed, and the real data sets where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

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
