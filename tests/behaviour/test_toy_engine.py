"""An engine of 80 lines passes the laws that Dask and Spark pass."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import verosim
from tests import toy_engine
from tests.engines.laws import *  # noqa: F403  the laws of all engines
from tests.engines.rows import bounds, mixed_frame
from tests.toy_engine import toy_table

pytestmark = pytest.mark.slow


@pytest.fixture
def in_parts():
    def cut(frame, way):
        ordered, edges = bounds(frame, way)
        whole = pa.Table.from_pandas(ordered, preserve_index=False)
        parts = [whole.slice(a, b - a) for a, b in pairwise(edges)]
        return ordered, toy_table(parts)

    return cut


def test_predictions_stay_on_the_engine(in_parts):
    frame, there = in_parts(mixed_frame(), "7")
    model = verosim.NaiveBayes().fit(frame, "kind")
    found = pa.concat_tables(model.predict_table(there)).to_pandas()
    wanted = model.predict_table(frame).read_all().to_pandas()
    pd.testing.assert_frame_equal(found, wanted)


def test_an_error_has_its_place(in_parts):
    frame = mixed_frame()
    model = verosim.NaiveBayes().fit(frame, "kind")
    frame["size"] = frame["size"].astype(str)
    frame.loc[frame.index[300], "size"] = "many"
    with pytest.raises(verosim.VerosimError, match=r"'size', row 129 of partition 1: 'many'"):
        model.score(in_parts(frame, "7")[1])


def test_the_engine_is_small():
    lines = Path(toy_engine.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    wanted = [line for line in lines if "verosim" in line and "import" in line]
    assert all(line.startswith(("from verosim.data.", "from verosim.engines")) for line in wanted)
