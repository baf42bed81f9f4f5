"""The command line with --engine dask: real clusters, and folders that Dask reads and writes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.behaviour.command_line import run, start
from tests.engines.rows import mixed_frame
from verosim.testing import assert_same

dask = pytest.importorskip("dask", reason="Dask is only in the environment of make test-engines")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

COLUMNS = ["size", "holes", "hue", "flag", "whole", "weight", "kind"]


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in one Parquet file, in a folder of Parquet files and in a folder of CSV."""
    out = tmp_path_factory.mktemp("rows")
    frame = mixed_frame()[COLUMNS].reset_index(drop=True).assign(id=lambda f: np.arange(len(f)))
    frame.to_parquet(out / "rows.parquet")
    frame.to_csv(out / "rows.csv", index=False)
    there = dd.from_pandas(frame, npartitions=5)
    there.to_parquet(out / "many", write_index=False)
    there.to_csv(str(out / "many.csv" / "*.csv"), index=False)
    return out


def fitted(folder, tmp_path, rows, *more):
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.verosim"
    words = ["--target", "kind", "--model", "naivebayes", "--json", "-o", path]
    printed = json.loads(run("fit", folder / rows, *words, *more).stdout)
    return verosim.load(path), printed["scores"], path


@pytest.mark.parametrize(("near", "far"), [("rows.parquet", "many"), ("rows.csv", "many.csv")])
def test_fit_gives_the_model_and_the_scores_of_files(folder, tmp_path, address, near, far):
    on_dask = ("--engine", "dask", "--address", address)
    here, scores, _ = fitted(folder, tmp_path, near, "--weight", "weight")
    there, same, _ = fitted(folder, tmp_path, far, "--weight", "weight", *on_dask)
    assert [(c.name, c.density) for c in there.schema_] == [
        (c.name, c.density) for c in here.schema_
    ]
    assert_same(there.stats_, here.stats_, rounding=1e-11)
    assert same == pytest.approx(scores, abs=1e-9)


def test_fit_chooses_a_model(folder, tmp_path, address):
    words = ["-t", "kind", "--simple", "--json"]
    near = run("fit", folder / "rows.parquet", *words, "-o", tmp_path / "a.verosim")
    far = run("fit", folder / "many", *words, "-o", tmp_path / "b.verosim",
              "--engine", "dask", "--address", address)  # fmt: skip
    near, far = json.loads(near.stdout), json.loads(far.stdout)
    assert far["model"] == near["model"]
    assert far["scores"] == pytest.approx(near["scores"], abs=1e-9)


@pytest.mark.parametrize("rows", ["many", "many.csv"])
@pytest.mark.parametrize("output", ["out", "out.csv"])
def test_predict_writes_the_predictions_of_files(folder, tmp_path, address, rows, output):
    one_file = "rows.csv" if rows.endswith("csv") else "rows.parquet"
    _, _, model = fitted(folder, tmp_path, one_file, "--folds", 0)
    near = tmp_path / "near.parquet"
    run("predict", model, folder / one_file, "--keep", "id", "-o", near)
    on_dask = ("--engine", "dask", "--address", address)
    words = ("predict", model, folder / rows, "--keep", "id", "-o", tmp_path / output)
    run(*words, *on_dask)
    wanted = pd.read_parquet(near).astype({"id": int}).set_index("id")
    files = sorted((tmp_path / output).iterdir())
    assert len([one for one in files if one.suffix in (".parquet", ".csv")]) == 5
    if output == "out":
        found = pd.read_parquet(tmp_path / output)
    else:
        found = pd.concat(map(pd.read_csv, files))
    found = found.astype({"id": int}).set_index("id").loc[wanted.index]
    assert list(found.columns) == list(wanted.columns)
    assert (found["prediction"] == wanted["prediction"]).all()
    for name in ("p_u", "p_v", "p_w", "log_density"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9)
    again = run(*words, *on_dask, code=1).stderr
    assert "exists" in again


def test_a_process_without_an_address_has_a_cluster_of_its_own(folder, tmp_path):
    model = tmp_path / "m.verosim"
    process = start("fit", folder / "many", "-t", "kind", "--model", "naivebayes", "--folds", 0,
                    "--engine", "dask", "-o", model)  # fmt: skip
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "NaiveBayes" in out
    assert "Traceback" not in err
    assert int(verosim.load(model).stats_.rows.sum()) == 1200


def test_a_failed_prediction_leaves_no_folder(folder, tmp_path, address):
    _, _, model = fitted(folder, tmp_path, "rows.parquet", "--folds", 0)
    bad = pd.read_parquet(folder / "rows.parquet").astype({"size": str})
    bad.loc[1000, "size"] = "many"
    dd.from_pandas(bad, npartitions=4).to_parquet(tmp_path / "bad")
    found = run("predict", model, tmp_path / "bad", "-o", tmp_path / "out",
                "--engine", "dask", "--address", address, code=1)  # fmt: skip
    assert "row 100 of partition 3" in found.stderr
    assert "'many'" in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("rows", "words", "text"),
    [
        ("none", [], "Dask cannot read"),
        ("many", ["--read", "sep=;"], "sep and encoding are for CSV files"),
        ("many", ["--read", "format=arrow"], "must be parquet or csv; got 'arrow'"),
        ("many", ["--model", "twin"], "hint: Leave out --engine: verosim reads files in pieces."),
    ],
)
def test_errors_are_in_words(folder, tmp_path, address, rows, words, text):
    given = ["fit", folder / rows, "-t", "kind", "-o", tmp_path / "m.verosim", "--engine", "dask"]
    code = 2 if "--read" in words else 1
    assert text in run(*given, "--address", address, *words, code=code).stderr


def test_a_scheduler_that_does_not_answer(folder, tmp_path):
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        found = run("fit", folder / "many", "-t", "kind", "-o", tmp_path / "m.verosim",
                    "--engine", "dask", "--address", "tcp://127.0.0.1:1", code=1)  # fmt: skip
    assert "Dask cannot be reached at 'tcp://127.0.0.1:1'" in found.stderr
