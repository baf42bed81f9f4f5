"""Dask with real schedulers: threads, processes and a cluster of processes with nannies."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import verosim
from tests.engines.laws import *  # noqa: F403  the laws of all engines
from tests.engines.rows import bounds, mixed_frame, numbers_frame
from verosim import VerosimError
from verosim.data.adapters import open_table
from verosim.testing import assert_same

dask = pytest.importorskip("dask", reason="Dask is only in the environment of make test-engines")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from verosim.engines import dask as engine  # noqa: E402

SCORES = ["accuracy", "neg_log_loss", "neg_brier_score"]
PROCESSES = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None,
                 "memory_limit": 0}  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(**PROCESSES) as one:
        yield one


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with distributed.Client(cluster) as one:
        one.wait_for_workers(2, timeout=60)
        yield one


def piece(number, frame, edges, pause=0.0):
    time.sleep(pause)
    return frame.iloc[edges[number] : edges[number + 1]]


def lazily(frame, edges, pause=0.0):
    """A Dask frame of these partitions, which are made on the workers."""
    make = partial(piece, frame=frame, edges=edges, pause=pause)
    return dd.from_map(make, range(len(edges) - 1), meta=frame.iloc[:0], enforce_metadata=False)


def in_parts(frame, way, pause=0.0):
    """The frame in the order of the partitions, and the same rows on Dask."""
    ordered, edges = bounds(frame, way)
    return ordered, lazily(ordered, edges, pause)


@pytest.fixture(name="in_parts")
def _in_parts(client):
    return in_parts


# The same model ----------------------------------------------------------------------------------


def test_processes_and_a_cluster_give_the_same_bits(client):
    frame = mixed_frame()
    there = dd.from_pandas(frame, npartitions=7)
    found = [verosim.NaiveBayes().fit(there, "kind").stats_.fingerprint()]
    for scheduler in ("threads", "processes", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            found.append(verosim.NaiveBayes().fit(there, "kind").stats_.fingerprint())
    assert len(set(found)) == 1


def test_rows_are_added_and_forgotten(client):
    frame = mixed_frame()
    first, rest = frame.iloc[:800], frame.iloc[800:]
    near = verosim.NaiveBayes().fit(first, "kind").partial_fit(rest, "kind")
    model = verosim.NaiveBayes().fit(first, "kind")
    model.partial_fit(dd.from_pandas(rest, npartitions=3), "kind")
    assert_same(model.stats_, near.stats_, rounding=1e-11)
    model.forget(dd.from_pandas(rest, npartitions=5), "kind")
    assert int(model.stats_.rows.sum()) == 800


@pytest.mark.parametrize("given", [{"cv": 4}, {"groups": "hue"}])
def test_folds_of_a_pool_of_many_rows_are_refused_by_name(given):
    there = in_parts(mixed_frame(51_000)[["size", "hue", "kind"]], "7")[1]
    what = "groups" if "groups" in given else "cv=4"
    message = rf"A pool with {what} needs all rows.* on Dask.*Leave it out.*frame\.compute\(\)"
    with pytest.raises(VerosimError, match=message):
        verosim.auto(there, "kind", **given)


def test_the_progress_bar_of_dask_shows_the_tasks(client):
    """The bar of Dask shows the tasks of a fit here, and the scheduler knows those of a client."""
    from dask.diagnostics import ProgressBar

    _, there = in_parts(mixed_frame(), "7")
    shown = io.StringIO()
    with dask.config.set(scheduler="threads"), ProgressBar(out=shown):
        verosim.NaiveBayes().fit(there, "kind")
    assert "100% Completed" in shown.getvalue()
    before = len(client.get_task_stream())
    verosim.NaiveBayes().fit(there, "kind")
    assert len(client.get_task_stream()) >= before + 7


# Predictions -------------------------------------------------------------------------------------


def counted_piece(number, frame, edges, log):
    with open(log, "a") as file:
        file.write(f"{number}\n")
    return piece(number, frame, edges)


def test_predictions_are_lazy_and_keep_index_and_types(client, tmp_path):
    ordered, edges = bounds(mixed_frame(), "empty")
    model = verosim.NaiveBayes().fit(ordered, "kind")
    make = partial(counted_piece, frame=ordered, edges=edges, log=tmp_path / "log")
    there = dd.from_map(make, range(len(edges) - 1), meta=ordered.iloc[:0], enforce_metadata=False)
    found = model.predict_table(there, keep=["hue", "shade", "whole"])
    assert not (tmp_path / "log").exists()  # nothing was computed
    assert isinstance(found, dd.DataFrame)
    meta = found.dtypes
    parts = dask.compute(*found.to_delayed())
    assert [len(part) for part in parts] == np.diff(edges).tolist()
    for part in parts:
        assert list(part.columns) == list(meta.index)
        assert (part.dtypes == meta).all()
    whole = pd.concat(parts)
    wanted = model.predict_table(ordered, keep=["hue"]).read_all().to_pandas()
    assert (whole.index == ordered.index).all()
    assert (whole["prediction"].to_numpy() == wanted["prediction"].to_numpy()).all()
    for name in ("p_u", "p_v", "p_w", "log_density"):
        np.testing.assert_allclose(whole[name], wanted[name], rtol=1e-12)
    assert (whole["shade"] == ordered["shade"]).all()


# Failures ----------------------------------------------------------------------------------------


def test_killed_workers_change_nothing(cluster, client):
    """A worker is killed in the middle of a fit, 20 times. Nothing is lost or counted twice."""
    frame, there = in_parts(mixed_frame(), "7")
    with dask.config.set(scheduler="synchronous"):
        wanted = verosim.NaiveBayes().fit(there, "kind").stats_.fingerprint()
    schema = verosim.look(frame, "kind")
    rng = np.random.default_rng(1)
    killed = 0
    for round_ in range(20):
        _, there = in_parts(mixed_frame(), "7", pause=0.25 + round_ / 1e4)  # a new job each time
        try:
            client.wait_for_workers(2, timeout=20)
        except TimeoutError:  # a nanny was lost together with its worker
            cluster.scale(len(cluster.workers) + 1)
            client.wait_for_workers(2, timeout=20)
        pids = list(client.run(os.getpid).values())
        victim = pids[int(rng.integers(len(pids)))]
        start = time.monotonic()
        timer = threading.Timer(0.15 + 0.4 * rng.random(), os.kill, (victim, signal.SIGKILL))
        timer.start()
        model = verosim.NaiveBayes().fit(there, "kind", schema=schema)
        timer.join()
        killed += victim not in client.run(os.getpid, on_error="return").values()
        assert model.stats_.fingerprint() == wanted
        assert time.monotonic() - start > 0.55  # it was still running when the worker was killed
    assert killed == 20


def test_the_last_worker_is_gone(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 2.0)
    frame, there = in_parts(mixed_frame(), "64", pause=0.2)
    alone = PROCESSES | {"n_workers": 1}
    with distributed.LocalCluster(**alone) as cluster, distributed.Client(cluster):
        model = verosim.NaiveBayes().fit(frame.iloc[:500], "kind")
        before = model.stats_.fingerprint()
        threading.Timer(2.0, cluster.scale, (0,)).start()
        with pytest.raises(VerosimError, match="Dask has no workers any more"):
            model.fit(there, "kind")
        assert model.stats_.fingerprint() == before


def test_an_interrupt_cancels_the_job(client):
    frame, there = in_parts(mixed_frame(), "64", pause=0.3)
    model, schema = verosim.NaiveBayes(), verosim.look(frame, "kind")
    threading.Timer(2.5, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(there, "kind", schema=schema)
    assert not hasattr(model, "classes_")
    for _ in range(50):  # the tasks that were running end, and no others begin
        if not any(client.processing().values()):
            break
        time.sleep(0.1)
    assert not any(client.processing().values())


def test_a_closed_client(cluster):
    _, there = in_parts(mixed_frame(), "64", pause=0.2)
    client = distributed.Client(cluster)
    client.wait_for_workers(1, timeout=60)
    model = verosim.NaiveBayes()
    threading.Timer(2.0, client.close).start()
    with pytest.raises(VerosimError, match="Dask"):
        model.fit(there, "kind")
    assert not hasattr(model, "classes_")


WITHOUT_VEROSIM = """
import sys
sys.path = [path for path in sys.path if not path.rstrip("/").endswith("src")]
from distributed.cli.dask_worker import main
main({arguments!r})
"""


def worker_without_verosim(address):
    arguments = [address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", "bare"]
    code = WITHOUT_VEROSIM.format(arguments=arguments)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd="/", env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_worker_without_verosim_is_named(client):
    frame, there = in_parts(mixed_frame(), "7")
    process = worker_without_verosim(client.scheduler.address)
    try:
        client.wait_for_workers(3, timeout=60)
        with pytest.raises(
            VerosimError, match=r"The worker tcp://.* of Dask does not have verosim"
        ):
            verosim.NaiveBayes().fit(there, "kind", schema=verosim.look(frame, "kind"))
    finally:
        process.terminate()
        process.wait()


# Bad input ---------------------------------------------------------------------------------------


def changed_piece(number, frame, change):
    part = frame.iloc[number * 100 : number * 100 + 100]
    return change(part) if number == 3 else part


def changed(frame, change):
    make = partial(changed_piece, frame=frame, change=change)
    return dd.from_map(make, range(6), meta=frame.iloc[:0], enforce_metadata=False)


def with_text(part):
    return part.assign(size=["many"] + ["1.5"] * (len(part) - 1))


def without_hue(part):
    return part.drop(columns="hue")


def test_a_value_that_cannot_be_read_has_its_place(client):
    frame = mixed_frame()[["size", "hue", "kind"]]
    there = changed(frame, with_text)
    with pytest.raises(VerosimError, match=r"'size'.*row 0 of partition 3.*'many'"):
        verosim.NaiveBayes().fit(there, "kind", schema=verosim.look(frame, "kind"))


def test_a_partition_without_a_column_is_named(client):
    frame = mixed_frame()[["size", "hue", "kind"]]
    there = changed(frame, without_hue)
    with pytest.raises(VerosimError, match="of partition 3 do not have the columns 'hue'"):
        verosim.NaiveBayes().fit(there, "kind", schema=verosim.look(frame, "kind"))


def test_something_else_of_dask_is_refused():
    with pytest.raises(VerosimError, match="cannot be read as a table"):
        verosim.NaiveBayes().fit(dask.delayed(1), "kind")


# Arrays ------------------------------------------------------------------------------------------


def arrays_of(frame, rows=(300, 0, 500, 400), columns=2):
    X, y = frame[list("abcd")].to_numpy(), frame["kind"].to_numpy(dtype=str)
    there = da.from_array(X, chunks=(tuple(r for r in rows if r), columns))
    return X, y, there, da.from_array(y, chunks=(tuple(r for r in rows if r),))


@pytest.mark.parametrize(
    "model",
    [verosim.LDA(), verosim.GaussianNB(), verosim.RDA(pooling=0.5), verosim.LeastSquares(),
     verosim.NaiveBayes(), verosim.TAN(), verosim.AODE(), verosim.HistogramNB(),
     verosim.CategoricalNB(), verosim.BernoulliNB()],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_arrays_give_the_model_of_arrays(model):
    frame = numbers_frame()
    if isinstance(model, verosim.CategoricalNB | verosim.TAN):
        frame["b"], frame["c"] = frame["b"].round(-4), frame["c"] // 1e4
    if isinstance(model, verosim.CategoricalNB):
        frame = frame.assign(a=frame["b"], d=frame["c"])
    X, y, there, labels = arrays_of(frame)
    w = np.arange(len(y)) % 3 * 1.0
    weights = da.from_array(w, chunks=labels.chunks)
    near = clone(model).fit(X, y, sample_weight=w)
    far = clone(model).fit(there, labels, sample_weight=weights)
    assert_same(far.stats_, near.stats_, rounding=1e-9)
    assert (far.predict(X) == near.predict(X)).all()
    assert far.n_features_in_ == 4
    assert not hasattr(far, "feature_names_in_")


def test_arrays_are_added_and_forgotten(client):
    X, y, there, labels = arrays_of(numbers_frame())
    model = verosim.QDA().fit(X, y)
    model.partial_fit(there, labels)
    assert int(model.stats_.rows.sum()) == 2 * len(y)
    model.forget(there, labels)
    assert_same(model.stats_, verosim.QDA().fit(X, y).stats_, rounding=1e-6)
    model = verosim.NaiveBayes().fit(X, y)
    model.partial_fit(there, labels).forget(there, labels)
    assert int(model.stats_.rows.sum()) == len(y)
    with pytest.raises(VerosimError, match="X has 4 features, but NaiveBayes is expecting 2"):
        verosim.NaiveBayes().fit(X[:, :2], y).partial_fit(there, labels)


def test_labels_of_arrays_keep_their_type():
    _, y, there, _ = arrays_of(numbers_frame())
    for labels in ((y == "u").astype(np.int64), y == "u"):
        far = verosim.LDA().fit(there, da.from_array(labels, chunks=(there.chunks[0],)))
        assert far.classes_.dtype == labels.dtype


def test_arrays_that_do_not_fit_are_refused():
    X, y, there, labels = arrays_of(numbers_frame())
    with pytest.raises(VerosimError, match="must be in the same chunks"):
        verosim.LDA().fit(there, labels.rechunk(100))
    with pytest.raises(VerosimError, match="y is a ndarray"):
        verosim.LDA().fit(there, y)
    with pytest.raises(VerosimError, match="TextNB cannot read arrays of Dask"):
        verosim.TextNB().fit(there, labels)
    with pytest.raises(VerosimError, match="X has 4 features, but LDA is expecting 2"):
        verosim.LDA().fit(X[:, :2], y).partial_fit(there, labels)
    with pytest.raises(VerosimError, match="cannot be read as a table"):
        verosim.LDA().fit(X, y).predict(there)


@pytest.mark.parametrize(
    "model", [verosim.QDA(), verosim.RDA(shrinkage="cv")], ids=["sums", "fits"]
)
def test_arrays_are_validated_like_a_frame(client, model):
    """The folds are the hashes of the rows, as those of a frame with the same cells."""
    frame = numbers_frame()
    _, _, there, labels = arrays_of(frame)
    near = verosim.cross_validate(model, frame, "kind", cv=3, keep_rows=False)
    far = verosim.cross_validate(model, there, labels, cv=3)
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


# Partitions as Arrow -----------------------------------------------------------------------------


def test_arrow_strings_are_not_copied():
    texts = pa.chunked_array([pa.array(["red", None, "blue"] * 1000, pa.large_string())])
    frame = pd.DataFrame({"hue": pd.array(texts, dtype="string[pyarrow]"), "x": np.arange(3000.0)})
    (rows,) = engine.partition_rows(frame, ("hue", "x"), "")
    mine, theirs = rows.batch.column("hue").buffers(), texts.chunk(0).buffers()
    assert mine[2].address == theirs[2].address
    assert rows.batch.column("x").buffers()[1].address == frame["x"].to_numpy().ctypes.data


def test_columns_keep_their_meaning():
    frame = pd.DataFrame({
        "mixed": ["a", 1, True, None], "whole": pd.array([1, None, 3, 4], dtype="Int64"),
        "shade": pd.Categorical(["x", None, "y", "x"], categories=["y", "x", "z"]),
        "flag": pd.array([True, None, False, True], dtype="boolean"),
        "when": pd.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-04"], utc=True),
    })  # fmt: skip
    found = [rows.batch.to_pydict() for rows in engine.partition_rows(frame, frame.columns, "")]
    wanted = [rows.batch.to_pydict() for rows in open_table(frame).batches()]
    assert found == wanted
    assert found[0]["mixed"] == ["a", "1", "True", None]
