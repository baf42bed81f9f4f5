"""Equal content has an equal fingerprint.

Counts do not depend on the order of rows, on pieces or on merges. Sums of numbers do not depend on
the memory order of an array.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often

COUNTING = {
    "CategoricalNB": (verosim.CategoricalNB, ("c", "d")),
    "NaiveBayes": (verosim.NaiveBayes, ("c", "d", "t")),
    "TAN": (verosim.TAN, ("c", "d", "e")),
    "KDB": (verosim.KDB, ("c", "d", "e")),
    "TextNB": (verosim.TextNB, ("t",)),
}
SUMMING = {
    "GaussianNB": verosim.GaussianNB, "LDA": verosim.LDA, "QDA": verosim.QDA,
    "LiftedLDA": lambda: verosim.LiftedLDA(20, random_state=0),
}  # fmt: skip


@st.composite
def tables(draw) -> pa.Table:
    """Categories and texts with 2 classes that all occur early."""
    n, rng = draw(st.integers(4, 60)), np.random.default_rng(draw(st.integers(0, 1 << 16)))
    some = draw(st.integers(2, 12))
    words = [f"{letter}{i}" for i in range(some) for letter in "zab"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(n)]
    columns = {name: rng.choice(words, n).tolist() for name in "cde"}
    labels = [f"k{i}" for i in [0, 1, *rng.integers(0, 3, n - 2)]]
    return pa.table({**columns, "t": texts, "y": labels})


def in_pieces(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    edges = [0, *sorted({cut % len(table) for cut in cuts} - {0}), len(table)]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


@tried_often
@given(
    table=tables(), name=st.sampled_from(sorted(COUNTING)), cuts=st.lists(st.integers(0, 99)),
    seed=st.integers(0, 99), how=st.sampled_from(["chunks", "updates", "merges", "order"]),
)  # fmt: skip
def test_counts_in_any_pieces_and_order(table, name, cuts, seed, how):
    kind, columns = COUNTING[name]
    table = table.select([*columns, "y"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = {"t": "text", "c": "category", "d": "category", "e": "category"}
        schema = verosim.look(table, "y", columns={name: start[name] for name in columns})
        whole = kind().fit(table, "y", schema=schema)
        if name in ("TAN", "KDB"):  # cells and parents are chosen by the rows of the first fit
            if how in ("updates", "merges"):
                how = "chunks"
            if how == "order":
                return
        pieces = in_pieces(table, cuts)
        if how == "chunks":
            other = kind().fit(pa.concat_tables(pieces), "y", schema=schema)
        elif how == "order":
            order = np.random.default_rng(seed).permutation(len(table))
            other = kind().fit(table.take(pa.array(order)), "y", schema=schema)
        elif how == "updates":
            other = kind()
            for piece in pieces:
                first = {} if hasattr(other, "stats_") else {"schema": schema}
                other = other.partial_fit(piece, "y", **first)
        else:
            parts = [kind().partial_fit(piece, "y", schema=schema) for piece in pieces[::-1]]
            other = parts[0]
            for part in parts[1:]:
                other = other.merge(part)
    assert other.stats_.fingerprint() == whole.stats_.fingerprint()


@tried_often
@given(
    name=st.sampled_from(sorted(COUNTING)), table=tables(), seed=st.integers(0, 99),
    which=st.sampled_from(["cell", "label", "twice"]),
)  # fmt: skip
def test_other_content_has_another_fingerprint(name, table, seed, which):
    kind, columns = COUNTING[name]
    table = table.select([*columns, "y"])
    changed = table.to_pydict()
    if which == "cell" and name in ("TAN", "KDB"):
        return  # their sums have the numbers of values, and the schema has the names
    if which == "cell":
        changed[columns[0]][-1] = "new"
    elif which == "label":
        changed["y"][-1] = "k9"
    else:
        changed = {key: [*values, values[seed % len(values)]] for key, values in changed.items()}
    start = {"t": "text", "c": "category", "d": "category", "e": "category"}
    kinds = {name: start[name] for name in columns}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            kind().fit(some, "y", schema=verosim.look(some, "y", columns=kinds))
            .stats_.fingerprint()
            for some in (table, pa.table(changed))
        }  # fmt: skip
    assert len(found) == 2


@st.composite
def matrices(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows of more than one block, with classes that are rare or come late."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    d = draw(st.sampled_from([1, 7, 60]))
    n = draw(st.sampled_from([5, 600, 9000 if d == 60 else 2000]))
    y = rng.integers(0, draw(st.sampled_from([2, 3, 40])), n)
    y = np.sort(y) if draw(st.booleans()) else y
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if draw(st.booleans()):
        X = np.round(X).astype(draw(st.sampled_from([np.int64, np.float32, np.float64])))
    elif draw(st.booleans()):
        X[rng.random(X.shape) < 0.1] = np.nan
    w = draw(st.sampled_from([None, rng.integers(0, 3, n).astype(float), rng.random(n) + 1e-5]))
    return X, y, w


@tried_often
@given(made=matrices(), name=st.sampled_from(sorted(SUMMING)), threads=st.sampled_from([1, 2]))
def test_sums_in_any_memory_order(made, name, threads):
    X, y, w = made
    if name == "LiftedLDA" and X.shape[1] > 7:
        return
    layouts = (np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, axis=0)[::2])
    found = set()
    with warnings.catch_warnings(), verosim.use_threads(threads):
        warnings.simplefilter("ignore")
        for layout in layouts:
            try:
                model = SUMMING[name]().fit(layout(X), y, sample_weight=w)
            except verosim.VerosimError:  # such as missing cells, for LDA
                return
            found.add(model.stats_.fingerprint())
    assert len(found) == 1


@pytest.mark.slow
def test_a_large_matrix_in_both_memory_orders():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 30)), rng.integers(0, 3, 100_000)
    a, b = (verosim.GaussianNB().fit(one(X), y) for one in (np.array, np.asfortranarray))
    assert a.stats_.fingerprint() == b.stats_.fingerprint()
