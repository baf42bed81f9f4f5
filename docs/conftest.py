"""The examples of each page run in a new folder that has the files that pages offer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for file in Path(__file__).parent.rglob("*.csv"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
