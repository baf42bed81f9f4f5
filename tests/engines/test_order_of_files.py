"""A folder of files gives the same model here, on Dask and on Spark.

Spark reads the largest file first, and Dask reads part-2 before part-10. The first look must see
the rows in the order of the names of the files on every engine.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import verosim
from verosim.testing import assert_same

pytest.importorskip("dask.dataframe", reason="Dask is only in the environment of make test-engines")

from tests.engines.spark_rows import pyspark  # skips without Spark
from verosim.engines.dask import read_folder

NAMES = ["part-1", "part-10", "part-11", "part-2", "part-20", "part-3 a", "part-3'b", "part-4"]
SIZES = [4_000, 20_000, 300, 9_000, 30_000, 100, 7_000, 25_000]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Eight files. `id` is consecutive only in the order of their names."""
    out = tmp_path_factory.mktemp("rows") / "of eight files"
    out.mkdir()
    rng = np.random.default_rng(5)
    n = sum(SIZES)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame({
        "id": np.arange(n), "size": np.round(rng.normal(y, 2.0), 4),
        "hue": np.array(list("abcdef"))[(rng.integers(0, 4, n) + y) % 6],
        "late": np.where(np.arange(n) < 50_000, 1, rng.integers(0, 9, n)),
        "kind": np.array(["u", "v", "w"])[y],
    })  # fmt: skip
    start = 0
    for name, rows in zip(sorted(NAMES), SIZES, strict=True):
        frame.iloc[start : start + rows].to_parquet(out / f"{name}.parquet", index=False)
        start += rows
    return out


@pytest.fixture(scope="module")
def frames(folder, sessions):
    assert pyspark.__version__ >= "4"
    read = {name: session.read.parquet(str(folder)) for name, session in sessions.items()}
    return {"dask": read_folder(str(folder), "parquet"), **read}


@pytest.fixture(scope="module")
def near(folder):
    return verosim.NaiveBayes().fit(folder, "kind"), verosim.Pool(EXPERTS).fit(folder, "kind")


EXPERTS = [verosim.NaiveBayes(), verosim.LDA(encode="normal")]


@pytest.mark.parametrize("engine", ["dask", "classic", "connect"])
def test_eight_files_give_the_same_model(folder, frames, near, engine):
    wanted, pool = near
    frame = frames[engine]
    model = verosim.NaiveBayes().fit(frame, "kind")
    assert model.schema_["id"].density == "ignore"
    assert [(c.name, c.density, c.reason, c.edges) for c in model.schema_] == [
        (c.name, c.density, c.reason, c.edges) for c in wanted.schema_
    ]
    assert_same(model.stats_, wanted.stats_, rounding=1e-12)
    table = pd.read_parquet(folder / "part-2.parquet").head(500)
    np.testing.assert_allclose(model.predict_proba(table), wanted.predict_proba(table), atol=1e-12)

    there = verosim.Pool(EXPERTS).fit(frame, "kind")
    assert there.weights_ == pytest.approx(pool.weights_, abs=1e-9)
    np.testing.assert_allclose(there.predict_proba(table), pool.predict_proba(table), atol=1e-9)


def test_few_rows_of_eight_files_give_the_same_pool(frames, folder, tmp_path, sessions):
    for number, path in enumerate(sorted(folder.iterdir())):
        pd.read_parquet(path).head(10 + 30 * (number % 3)).to_parquet(tmp_path / path.name)
    found = [
        verosim.Pool(EXPERTS).fit(source, "kind")
        for source in (tmp_path, read_folder(str(tmp_path), "parquet"),
                       sessions["classic"].read.parquet(str(tmp_path)))
    ]  # fmt: skip
    for pool in found[1:]:
        assert pool.weights_ == pytest.approx(found[0].weights_, abs=1e-12)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_of_any_names_are_read_on_dask_as_here(tmp_path, kind):
    """Names in another natural order, and files that are hidden, such as _SUCCESS."""
    rng = np.random.default_rng(3)
    names = ["10", "2", "1", "B", "a", "a b", "á", "_hidden", ".hidden", "_SUCCESS"]
    for number, name in enumerate(rng.permutation(names)):
        rows = pd.DataFrame({"id": 10 * number + np.arange(10), "kind": ["u", "v"] * 5})
        path = tmp_path / f"{name}.{kind}"
        if name == "_SUCCESS":
            path.with_suffix("").touch()
        elif kind == "csv":
            rows.to_csv(path, index=False)
        else:
            rows.to_parquet(path, index=False)
    here = [i for rows in verosim.read(tmp_path).batches() for i in rows.batch["id"].to_pylist()]
    assert len(here) == 70
    there = read_folder(str(tmp_path), kind).compute()["id"].astype(int).tolist()
    assert there == [int(i) for i in here]


def test_the_first_look_at_a_frame_without_an_order_takes_rows_by_hash(frames):
    """After a shuffle, or with some rows of several files: the same rows from any partitions."""
    for engine in ("classic", "connect"):
        frame = frames[engine]
        assert not verosim.look(frame, "kind").spread
        looks = [
            verosim.look(some, "kind", rows=2_000)
            for some in (frame.repartition(3), frame.repartition(7, "hue"), frame.where("id >= 0"))
        ]
        for found in looks:
            assert found == looks[0]
            assert found.spread
            assert "2,000 rows of all parts of the table" in str(found)
            assert found["late"].density != "ignore"  # it is constant in the first files
        few = verosim.look(frame.where("id < 100").repartition(5), "kind")
        assert few.looked == 100
