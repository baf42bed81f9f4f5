"""Fixtures of the tests of the command line."""

from __future__ import annotations

import pytest

import verosim
from verosim.cli.demo import demo_tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tables of the demo, a schema, and a model of each table."""
    place = tmp_path_factory.mktemp("shop")
    for name, text in demo_tables().items():
        (place / name).write_text(text)
    schema = verosim.look(place / "visits.csv", "result", columns={"customer": "ignore"})
    schema.save(place / "schema.json")
    for name in ("visits", "later"):
        model = verosim.NaiveBayes().fit(place / f"{name}.csv", "result", schema=schema)
        verosim.save(model, place / f"{name}.verosim", notes={"source": name})
    return place


@pytest.fixture
def model(folder, tmp_path):
    """A copy of a model file that a test may change."""
    path = tmp_path / "visits.verosim"
    path.write_bytes((folder / "visits.verosim").read_bytes())
    return path
