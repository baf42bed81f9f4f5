"""Arrays of numbers are read as one matrix: the model is that of the same numbers in a table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import verosim
from verosim.data.adapters import array_table, open_table
from verosim.data.tables import NumberRows


def rows_and_labels(rng, n=120):
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6)) + y[:, None]
    X[:, 1] = np.where(y == 0, rng.choice([-3, 3], n), 0) + 0.3 * rng.normal(size=n)  # histogram
    X[:, 2] = rng.integers(0, 4, n)
    return X, y


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "u4", "F", "gaps"])
@pytest.mark.parametrize("model", [verosim.NaiveBayes, verosim.AODE])
def test_an_array_gives_the_model_of_its_table(kind, model, rng):
    X, y = rows_and_labels(rng)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    elif kind == "F":
        X = np.asfortranarray(X)
    else:
        X = np.abs(X * 10).astype(kind)
    table = pa.table({f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(X.shape[1])})
    before = X.copy()
    ours, other = model().fit(X, y), model().fit(table, y)
    assert list(ours.schema_) == list(other.schema_)
    for some in (slice(None), slice(0, 1)):
        np.testing.assert_array_equal(
            ours.predict_proba(X[some]), other.predict_proba(table[some.start or 0 : some.stop])
        )
    np.testing.assert_array_equal(X, before)


def test_rows_of_numbers_are_their_arrow_batch(rng):
    X, _ = rows_and_labels(rng)
    X[3, 1] = np.nan
    (rows,) = array_table(X).batches()
    assert isinstance(rows, NumberRows)
    for some in (rows, rows.select(["x3", "x1"]), rows.take(np.array([5, 3])), rows.first(7)):
        assert len(some) == some.batch.num_rows
        assert some.names == some.batch.schema.names
        assert some.types == dict(zip(some.names, some.batch.schema.types, strict=True))
        at, numbers = some.number_block(["absent", "x1"], frozenset({"2"}))
        assert at.tolist() == [1]
        assert numbers.flags.c_contiguous
        column = some.batch.column("x1").to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(numbers[:, 0], np.where(column == 2, np.nan, column))
    assert rows.take(np.array([5, 3])).place(1) == "row 3"


def test_the_columns_of_a_pandas_frame_are_those_of_arrow(rng):
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=5), "b": np.arange(5), "c": list("xyzxy"),
            "d": pd.Categorical(list("uvuvu")), "e": pd.date_range("2024-01-01", periods=5),
            "f": np.array([True, False, True, True, False]), "g": np.arange(5, dtype="f4"),
            "h": pd.array([1, None, 3, 4, 5], dtype="Int64"), "i": [1, "two", None, 4.0, "5"],
        }
    )  # fmt: skip
    (rows,) = open_table(frame).batches(["b", "a", "c", "d", "e", "f", "g", "h", "i"])
    found = rows.batch.to_pydict()
    for name in "abcdfgh":
        wanted = [None if v is pd.NA else v for v in frame[name].tolist()]
        assert found[name] == wanted
    assert found["i"] == ["1", "two", None, "4", "5"]
    assert [str(v)[:10] for v in found["e"]] == [f"2024-01-0{d}" for d in range(1, 6)]


@pytest.mark.parametrize("model", [verosim.LDA, verosim.QDA, verosim.GaussianNB, verosim.NaiveLDA])
def test_large_cells_give_no_numpy_warning(model, rng):
    X, y = rows_and_labels(rng)
    fitted = model().fit(X, y)
    X[4, 2] = 1e150
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(fitted.predict_proba(X)).all()
        X[4, 2] = np.inf
        with pytest.raises(verosim.VerosimError, match="infinity in column 'x2', row 4"):
            fitted.predict_proba(X)


def test_one_row_is_added_with_a_known_and_with_a_new_label(rng):
    X, y = rows_and_labels(rng)
    model = verosim.GaussianNB().fit(X, y)
    model.partial_fit(X[:1] + 9, [1]).partial_fit(X[1:2], [7])
    whole = verosim.GaussianNB().fit(np.vstack([X, X[:1] + 9, X[1:2]]), np.append(y, [1, 7]))
    assert model.classes_.tolist() == [0, 1, 7]
    np.testing.assert_allclose(model.theta_, whole.theta_)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-12)
