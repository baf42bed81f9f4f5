"""The examples of each page run in a new folder that has the files that pages offer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

DATA = Path(os.environ.get("VEROSIM_DATA", Path(__file__).parents[2] / "shared" / "data"))
# Pages on real tables. They are skipped where the folder of real data sets is absent.
REAL_TABLES = {"explain_a_decision.md": "german_credit/german_credit.csv"}


@pytest.fixture(autouse=True)
def folder(request, tmp_path, monkeypatch):
    for file in Path(__file__).parent.rglob("*.csv"):
        shutil.copy(file, tmp_path)
    real = REAL_TABLES.get(request.path.name)
    if real is not None:
        if not (DATA / real).is_file():
            pytest.skip("the folder of real data sets is not here (set VEROSIM_DATA)")
        shutil.copy(DATA / real, tmp_path)
    monkeypatch.chdir(tmp_path)
