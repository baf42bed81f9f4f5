"""A pool does not depend on the order of rows, files, chunks or partitions, at any size.

A law: random tables, in a random order and cut at random places, give the pool of the first order.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from tests.fake_cluster import fake_table
from verosim.folds import inputs
from verosim.pool import splitting

NUMBERS = [verosim.GaussianNB(), verosim.LDA(shrinkage=0.1), verosim.NaiveLDA()]
CELLS = [verosim.NaiveBayes(), verosim.KDB(1, 5), verosim.LDA(shrinkage=0.1, encode="normal")]


def random_table(seed):
    """Numbers and categories with equal rows, holes and weights; two or three classes."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(24, 120)), int(rng.integers(2, 4))
    y = np.sort(np.arange(n) % classes)  # sorted by class, as many files are
    digits = int(rng.integers(0, 3))
    table = pd.DataFrame({
        "size": np.round(rng.normal(y, 1.0), digits),
        "holes": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(y), digits)),
        "hue": np.array(list("abcd"))[(rng.integers(0, 3, n) + y) % 4],
        "owner": rng.integers(0, 9, n), "weight": rng.integers(0, 3, n) + (np.arange(n) % 5 == 0),
        "kind": np.array(["u", "v", "w"])[y],
    })  # fmt: skip
    again = rng.integers(0, n, n // 3) if rng.random() < 0.5 else []
    return pd.concat([table, table.iloc[again]], ignore_index=True)


def mixed_up(table, seed, pieces):
    """The rows in another order, cut at random places."""
    rng = np.random.default_rng(seed)
    table = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    cuts = np.sort(rng.integers(1, len(table), pieces - 1))
    parts = np.split(np.arange(len(table)), cuts)
    return [table.iloc[at].reset_index(drop=True) for at in parts if len(at)]


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def as_source(parts, way, folder):
    """The parts in one of the ways in which rows can be given."""
    if way == "frame":
        return pd.concat(parts, ignore_index=True)
    if way == "chunks":
        return [arrow(part) for part in parts]
    if way == "partitions":
        return fake_table([arrow(part) for part in parts], batch_rows=7)
    for number, part in enumerate(parts):
        part.to_parquet(Path(folder) / f"{number}.parquet")
    return folder


def figures(pool, table):
    return pool.weights_, pool.predict_proba(table), pool.table_


@pytest.mark.slow
@tried_often
@given(
    seed=st.integers(0, 10**6), other=st.integers(0, 10**6), pieces=st.integers(1, 5),
    way=st.sampled_from(["frame", "chunks", "partitions", "files"]),
    few=st.booleans(), weighted=st.booleans(), grouped=st.booleans(), mixed=st.booleans(),
)  # fmt: skip
def test_a_pool_does_not_depend_on_the_order_of_rows(
    seed, other, pieces, way, few, weighted, grouped, mixed
):
    table = random_table(seed)
    given = {"sample_weight": "weight" if weighted else None}
    drop = [] if weighted else ["weight"]
    if not mixed:
        drop += ["hue", "holes"]
    cv = "owner" if grouped and way != "partitions" else None
    if cv is None:
        drop += ["owner"]
    table = table.drop(columns=drop)
    found = []
    with ExitStack() as stack:
        if not few:  # one part is held out, as of many rows
            for name in ("ROWS_TO_HOLD_OUT", "LEAST_HELD_OUT"):
                stack.enter_context(mock.patch.object(splitting, name, 20))
            stack.enter_context(mock.patch.object(inputs, "MOST_ROWS_TO_BRING", 0))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for source in (table, as_source(mixed_up(table, other, pieces), way, folder)):
            pool = verosim.Pool(CELLS if mixed else NUMBERS, keep="all", cv=cv)
            found.append(figures(pool.fit(source, "kind", **given), table))
    (weights, p, scores), (same_weights, same_p, same_scores) = found
    assert same_weights.keys() == weights.keys()
    for name, wanted in weights.items():
        np.testing.assert_allclose(same_weights[name], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(same_p, p, rtol=1e-9, atol=1e-9)
    for one, wanted in zip(same_scores, scores, strict=True):
        np.testing.assert_allclose(one.score, wanted.score, rtol=1e-9)
