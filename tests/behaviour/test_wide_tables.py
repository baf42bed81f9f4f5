"""Wide tables: many columns are looked at and read at once, with the result of one by one."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from verosim import LDA, NaiveBayes, cross_validate, look
from verosim.axes.bins import Bins, distinct_values, quantile_edges
from verosim.data import cells
from verosim.data.folds import INCREMENT, MISSING_CELL, _hashes, _mixed
from verosim.data.number_blocks import number_block
from verosim.kinds.density_choice import see_numbers


def aic_choice(x, y, w):
    """(kind, edges) by the Akaike criterion, column by column with numpy."""
    values = distinct_values(x, w)
    usual = quantile_edges(*values, 20)
    kept = np.isfinite(x)
    w = w[kept] if len(w) else np.ones(kept.sum())
    x, y = x[kept], np.unique(y[kept], return_inverse=True)[1]
    C = y.max(initial=0) + 1
    if w.sum() < 20 * C or C < 2 or C > 100 or len(usual) < 3:
        return "gaussian", usual
    weight = np.bincount(y, w, C)
    z = x - np.average(x, weights=w)
    mean = np.bincount(y, w * z, C) / weight
    variance = np.bincount(y, w * (z - mean[y]) ** 2, C) / weight
    variance = np.maximum(variance, max(1e-9 * np.average(z * z, weights=w), 1e-300))
    level = np.log(weight / w.sum()) - 0.5 * np.log(variance)
    joint = level[:, None] - 0.5 * (z - mean[:, None]) ** 2 / variance[:, None]
    base = (w * (joint[y, np.arange(len(y))] - np.logaddexp.reduce(joint))).sum() - 2 * C
    best, kind, edges = 0.0, "gaussian", usual
    for bins in (5, 10, 20, 50):
        tried = quantile_edges(*values, bins)
        B = len(tried) - 1
        code = Bins([tried]).encode(x[:, None])[0][:, 0]
        count = np.bincount(y * B + code, w, C * B).reshape(C, B)
        joint = np.log(weight / w.sum())[:, None] + np.log((count + 1) / (weight[:, None] + B))
        gain = (count * (joint - np.logaddexp.reduce(joint))).sum() - C * (B - 1) - base
        if gain > best + 1e-9 * w.sum():
            best, kind, edges = gain, "histogram", tried
    return kind, edges


@pytest.mark.parametrize("seed", range(12))
def test_the_density_of_many_columns_is_that_of_each(seed):
    rng = np.random.default_rng(seed)
    n, C = int(rng.choice([3, 60, 200, 600])), int(rng.choice([1, 2, 3, 120]))
    y = rng.integers(0, C, n)
    X = np.column_stack([
        rng.normal(size=n), rng.normal(size=n) + y, rng.integers(0, 3, n),
        np.exp(rng.normal(size=n) * (1 + y % 2)), rng.integers(0, 60, n),
        np.where(y % 2 == 0, rng.choice([-3, 3], n), 0) + 0.3 * rng.normal(size=n),
        np.full(n, np.nan), np.full(n, 7.0),
    ])  # fmt: skip
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0, 0] = np.inf
    w = np.empty(0) if seed % 2 else rng.integers(1, 4, n).astype(float)
    for j, found in enumerate(see_numbers(X, y, w)):
        kind, edges = aic_choice(X[:, j], y, w)
        assert (found.density, found.edges) == (kind, tuple(edges.tolist()))
        finite = X[np.isfinite(X[:, j]), j]
        np.testing.assert_array_equal(found.distinct, np.unique(finite))
        assert found.whole == bool((finite % 1 == 0).all())
        np.testing.assert_array_equal(found.values, finite)


@pytest.fixture
def mixed(rng):
    """80 columns of many kinds, a few of each."""
    n = 150
    columns = {}
    for j in range(10):
        columns |= {
            f"real{j}": rng.normal(size=n), f"count{j}": rng.integers(0, 50, n),
            f"hole{j}": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            f"word{j}": rng.choice(["u", "v"], n), f"flag{j}": rng.random(n) < 0.5,
            f"code{j}": rng.choice(["007", "010", "123"], n), f"id{j}": np.arange(n) + j,
            f"small{j}": rng.integers(-5, 5, n).astype(np.int8),
        }  # fmt: skip
    columns["when"] = pd.date_range("2024-01-01", periods=n)
    columns["price"] = rng.choice([1.234, 950.5, 12.125], n)
    columns["y"] = rng.choice(["a", "b"], n)
    return pd.DataFrame(columns)


@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "csv", "parquet"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_wide_table_is_seen_as_its_columns_are(source, weighted, mixed, tmp_path):
    weights = np.arange(150) % 3 * 1.0 if weighted else None

    def opened(frame, name):
        if source in ("csv", "parquet"):
            path = tmp_path / f"{name}.{source}"
            frame.to_csv(path, index=False) if source == "csv" else frame.to_parquet(path)
            return path
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        return {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": arrow}[source]

    wide = look(opened(mixed, "wide"), "y", sample_weight=weights, na=["3"])
    for name in [*mixed.columns[:8], "hole5", "when", "price"]:
        one = look(opened(mixed[[name, "y"]], name), "y", sample_weight=weights, na=["3"])
        assert wide[name] == one[name]
    assert wide.names == tuple(mixed.columns.drop("y"))
    kinds = look(opened(mixed, "wide"), "y", columns={"count3": "category", "id4": "gaussian"})
    assert kinds["count3"].role == "category"
    assert kinds["id4"].density == "gaussian"


def test_a_wide_csv_gives_the_model_of_its_frame(mixed, tmp_path):
    numbers = mixed.filter(regex="real|count|hole|^y").round(3)
    numbers.to_csv(tmp_path / "t.csv", index=False)
    a, b = (NaiveBayes().fit(source, "y") for source in (numbers, tmp_path / "t.csv"))
    assert a.stats_.fingerprint() == b.stats_.fingerprint()
    np.testing.assert_array_equal(a.predict_proba(numbers), b.predict_proba(tmp_path / "t.csv"))
    scores = [
        cross_validate(LDA(missing="marginalise"), s, "y", cv=5).scores["neg_log_loss"]
        for s in (numbers, tmp_path / "t.csv")
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    "types", [["double"], ["double", "int64", "float", "uint8"], ["string"], ["double", "string"]]
)
def test_a_block_of_numbers_is_that_of_its_columns(types, rng):
    n, d = 2500, 40
    arrays = []
    for j in range(d):
        x = rng.integers(0, 200, n)
        array = pa.array(x, mask=rng.random(n) < 0.1)
        arrays.append(array.cast(pa.type_for_alias(types[j % len(types)])))
    names = [f"x{j}" for j in range(d)]
    batch = pa.record_batch(arrays, names=names)
    at, X = number_block(batch, ["absent", *reversed(names)], frozenset({"17", "?"}))
    assert len(at) >= d // 2
    assert X.flags.c_contiguous
    for k, i in enumerate(at.tolist()):
        want = cells.numbers(batch.column(["absent", *reversed(names)][i]), frozenset({"17", "?"}))
        np.testing.assert_array_equal(X[:, k], want)


@pytest.mark.parametrize("bad", ["nan", "inf", "1e999", " 5", "+5", "x", "5 kg"])
def test_a_text_that_is_not_a_plain_number_gets_a_closer_look(bad, tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 50)).round(2).astype(str))
    frame.columns = [f"x{j}" for j in range(50)]
    frame.loc[7, "x3"] = bad
    frame["y"] = ["a", "b"] * 30
    frame.to_csv(tmp_path / "wide.csv", index=False)
    frame[["x3", "y"]].to_csv(tmp_path / "one.csv", index=False)
    assert look(tmp_path / "wide.csv", "y")["x3"] == look(tmp_path / "one.csv", "y")["x3"]
    assert look(tmp_path / "wide.csv", "y")["x4"].density == "gaussian"


def test_folds_of_rows_are_those_of_the_cells_one_by_one(rng):
    """The hash of a row is part of results that users keep, so it does not change."""
    X = rng.normal(size=(50, 9))
    X[3, 4], X[5, 6], X[6, 6] = np.nan, -0.0, np.inf
    want = np.zeros(50, dtype=np.uint64)
    for column in X.T:
        bits = (column + 0.0).view(np.uint64)
        want = _mixed(want ^ np.where(np.isnan(column), MISSING_CELL, bits))
    np.testing.assert_array_equal(_hashes(X), want)
    np.testing.assert_array_equal(_hashes(np.asfortranarray(X)), want)
    assert _hashes(np.array([[0.5]]))[0] == _mixed(np.array([0.5]).view(np.uint64))[0]
    assert INCREMENT == MISSING_CELL


@pytest.mark.parametrize("source", ["frame", "csv", "array"])
def test_time_grows_with_the_columns_and_not_with_their_square(source, tmp_path, rng):
    seconds = []
    for d in (50, 1000, 20_000):
        X = rng.normal(size=(4, d))
        rows = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]).assign(y=[0, 1, 0, 1])
        y = "y"
        if source == "csv":
            rows.to_csv(tmp_path / "t.csv", index=False)
            rows = tmp_path / "t.csv"
        elif source == "array":
            rows, y = X, np.array([0, 1, 0, 1])
        taken = []
        for _ in range(3):  # the smallest, because other processes share the caches
            start = time.process_time()
            NaiveBayes().fit(rows, y).predict(rows)
            taken.append(time.process_time() - start)
        seconds.append(min(taken))
    assert seconds[2] < 100 * seconds[1]  # squares would take 400 times as long
