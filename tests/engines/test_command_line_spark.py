"""The command line with --engine spark: a local master, Spark Connect, and folders."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.behaviour.command_line import run, start
from tests.engines.rows import mixed_frame
from tests.engines.spark_rows import pyspark
from verosim.testing import assert_same

MASTER = "local[2]"
COLUMNS = ["size", "holes", "hue", "flag", "weight", "kind"]


@pytest.fixture(autouse=True)
def same_python(monkeypatch):
    """The workers have the Python of the tests, where verosim is installed."""
    assert pyspark.__version__ >= "4"
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.delenv("PYTHONPATH", raising=False)


SERVER = """
from tests.engines.spark_rows import start_with_connect
classic, remote = start_with_connect()
print(classic.conf.get("spark.connect.grpc.binding.port"), flush=True)
input()
"""


@pytest.fixture
def connect():
    """The address of a server of Spark Connect, which is a process of its own."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        yield f"sc://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.communicate("", timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in one file and in a folder of files, as Parquet and as CSV."""
    out = tmp_path_factory.mktemp("rows")
    frame = mixed_frame()[COLUMNS].reset_index(drop=True).assign(id=lambda f: np.arange(len(f)))
    frame.to_parquet(out / "rows.parquet")
    frame.to_csv(out / "rows.csv", index=False)
    for name in ("many", "many.csv"):
        (out / name).mkdir()
    for i in range(3):
        part = frame.iloc[400 * i : 400 * (i + 1)]
        part.to_parquet(out / "many" / f"{i}.parquet")
        part.to_csv(out / "many.csv" / f"{i}.csv", index=False)
    return out


def fitted(folder, tmp_path, rows, *more):
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.verosim"
    words = ["--target", "kind", "--model", "naivebayes", "--json", "-o", path]
    printed = json.loads(run("fit", folder / rows, *words, *more).stdout)
    return verosim.load(path), printed["scores"], path


@pytest.mark.parametrize(("near", "far"), [("rows.parquet", "many"), ("rows.csv", "many.csv")])
def test_fit_and_predict_give_what_files_give(folder, tmp_path, near, far):
    on_spark = ("--engine", "spark", "--address", MASTER)
    here, scores, model = fitted(folder, tmp_path, near, "--weight", "weight", "--folds", 3)
    there, same, _ = fitted(folder, tmp_path, far, "--weight", "weight", "--folds", 3, *on_spark)
    assert_same(there.stats_, here.stats_, rounding=1e-11)
    assert same == pytest.approx(scores, abs=1e-9)

    one_file = tmp_path / "near.parquet"
    run("predict", model, folder / near, "--keep", "id", "-o", one_file)
    wanted = pd.read_parquet(one_file).astype({"id": int}).set_index("id")
    output = tmp_path / ("out.csv" if far == "many" else "out")  # the other format
    words = ("predict", model, folder / far, "--keep", "id", "-o", output, *on_spark)
    run(*words)
    files = sorted(one for one in output.iterdir() if one.suffix in (".parquet", ".csv"))
    read = pd.read_csv if far == "many" else pd.read_parquet
    found = pd.concat(map(read, files)).astype({"id": int}).set_index("id").loc[wanted.index]
    assert list(found.columns) == list(wanted.columns)
    assert (found["prediction"] == wanted["prediction"]).all()
    for name in ("p_u", "p_v", "p_w", "log_density"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9)
    before = sorted(output.iterdir())
    assert "exists" in run(*words, code=1).stderr
    assert sorted(output.iterdir()) == before


def test_a_failed_prediction_leaves_no_folder(folder, tmp_path):
    _, _, model = fitted(folder, tmp_path, "rows.parquet", "--folds", 0)
    bad = pd.read_parquet(folder / "rows.parquet").astype({"size": str})
    bad.loc[1000, "size"] = "many"
    bad.to_parquet(tmp_path / "bad.parquet")
    found = run("predict", model, tmp_path / "bad.parquet", "-o", tmp_path / "out",
                "--engine", "spark", "--address", MASTER, code=1)  # fmt: skip
    assert "row 1000 of partition 0" in found.stderr
    assert "'many'" in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there(tmp_path):
    found = run("fit", tmp_path / "none", "-t", "kind", "-o", tmp_path / "m.verosim",
                "--engine", "spark", "--address", MASTER, code=1)  # fmt: skip
    assert "Spark cannot read" in found.stderr


def ended(*words):
    """What a process of its own has printed."""
    process = start(*words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    return out


def test_spark_connect_and_a_session_of_its_own(folder, tmp_path, connect):
    model, output = tmp_path / "m.verosim", tmp_path / "out"
    assert "NaiveBayes" in ended("fit", folder / "many", "-t", "kind", "--model", "naivebayes",
                                 "--folds", 0, "--engine", "spark", "-o", model)  # fmt: skip
    assert int(verosim.load(model).stats_.rows.sum()) == 1200
    ended("predict", model, folder / "many", "--keep", "id", "--engine", "spark",
          "--address", connect, "-o", output)  # fmt: skip
    found = pd.read_parquet(output)
    wanted = verosim.load(model).predict_table(folder / "rows.parquet", keep="id").read_all()
    assert sorted(found["id"]) == list(range(1200))
    wanted = wanted.to_pandas().set_index("id")
    assert (found.set_index("id")["prediction"].loc[wanted.index] == wanted["prediction"]).all()
