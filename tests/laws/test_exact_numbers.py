"""Whole numbers that a double does not hold are refused or kept as categories, never rounded."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from verosim.cli.pieces import input_of
from verosim.data import as_matrix
from verosim.data.adapters import open_table
from verosim.data.exact_numbers import rounded

RANDOM = st.integers(0, 2**32 - 1).map(Random)
TWO53 = 2**53
NEAR = st.integers(-2, 2).flatmap(lambda s: st.sampled_from([TWO53 + s, -TWO53 + s]))
WHOLE = st.one_of(
    NEAR,
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(-9, 9),
    st.builds(lambda a, t: a << t, st.integers(-1000, 1000), st.integers(0, 53)),
    st.sampled_from([2**60, 2**63 - 1, -(2**63), 2**64 - 1, 10**16 + 1, 10**17]),
)
TABLE = st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=5)
NUMBERS = {
    "int64": lambda rows: np.array(rows, dtype=np.int64),
    "uint64": lambda rows: np.array(rows, dtype=np.uint64),
    "list": lambda rows: [list(row) for row in rows],
    "list beside fractions": lambda rows: [[*row, 0.5] for row in rows],
    "objects": lambda rows: np.array(rows, dtype=object),
    "texts": lambda rows: np.array([[str(cell) for cell in row] for row in rows]),
    "decimals": lambda rows: np.array([[Decimal(cell) for cell in row] for row in rows]),
    "fractions": lambda rows: np.array([[Fraction(cell) for cell in row] for row in rows]),
    "frame": lambda rows: pd.DataFrame([list(row) for row in rows], columns=["x0", "x1"]),
    "frame beside fractions": lambda rows: pd.DataFrame(
        [[*row, 0.5] for row in rows], columns=["x0", "x1", "x2"]
    ),
    "masked": lambda rows: np.ma.masked_array(np.array(rows, dtype=np.int64), mask=False),
    "big-endian": lambda rows: np.array(rows, dtype=">i8"),
    "columns": lambda rows: np.asfortranarray(np.array(rows, dtype=np.int64)),
    "csr": lambda rows: sp.csr_array(np.array(rows, dtype=np.int64)),
    "csc of uint64": lambda rows: sp.csc_array(np.array(rows, dtype=np.uint64)),
}
READERS = [
    verosim.GaussianNB, verosim.NaiveLDA, verosim.LDA, verosim.QDA, verosim.RDA,
    verosim.BernoulliNB, verosim.MultinomialNB, verosim.ComplementNB, verosim.HistogramNB,
    verosim.LeastSquares, verosim.LogisticRegression, verosim.LinearSVM, verosim.Perceptron,
    verosim.MDA, verosim.JointHistogram,
]  # fmt: skip


def held(cell: int) -> bool:
    return int(float(cell)) == cell


def is_refused(cell: int, i: int, j: int, message: str) -> bool:
    place, _, what = message.partition(": ")
    return place == f"Column 'x{j}', row {i}" and str(cell) in what and "double holds" in what


@tried_often
@given(WHOLE)
def test_the_digits_decide_whether_a_double_holds_a_whole_number(cell):
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= cell <= np.iinfo(dtype).max:
            assert bool(rounded(np.array([cell], dtype=dtype))[0]) is not held(cell)


@pytest.mark.parametrize("form", NUMBERS)
@tried_often
@given(TABLE)
def test_an_array_has_its_numbers_or_is_refused_with_the_cell(form, rows):
    if "uint64" in form:
        rows = [tuple(map(abs, row)) for row in rows]
    try:
        X = NUMBERS[form](rows)
    except OverflowError:  # numpy does not make this array
        return
    if isinstance(X, pd.DataFrame) and object in X.dtypes.tolist():
        X = X.astype(object)
    lost = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if not held(cell)]
    if not lost:
        found = as_matrix(X, sparse_allowed=True)
        found = found if isinstance(found, np.ndarray) else found.as_csr().toarray()
        assert found[:, :2].astype(float).tolist() == [list(map(float, row)) for row in rows]
        return
    with pytest.raises(verosim.VerosimError) as error:
        as_matrix(X, sparse_allowed=True)
    assert any(is_refused(rows[i][j], i, j, str(error.value)) for i, j in lost)


@tried_often
@given(
    st.sampled_from(READERS),
    st.integers(TWO53, 2**62 - 1).map(lambda half: 2 * half + 1),  # an odd number is not held
    st.tuples(st.integers(0, 7), st.integers(0, 1)),
    st.sampled_from([np.int64, np.uint64]),
    st.booleans(),
    RANDOM,
)
def test_models_of_numbers_refuse_them_whenever_they_read_rows(model, cell, at, dtype, listed, rnd):
    X, y = np.arange(16).reshape(8, 2) % 5, np.arange(8) % 2
    bad = X.astype(dtype)
    i, j = at
    bad[i, j] = cell
    bad = bad.tolist() if listed else bad
    fitted = FITTED.get(model)
    if fitted is None:
        fitted = FITTED[model] = model().fit(X, y)
    calls = [lambda: model().fit(bad, y), lambda: fitted.predict(bad)]
    for name in ("partial_fit", "forget"):
        if hasattr(fitted, name):
            calls.append(lambda name=name: getattr(fitted, name)(bad, y))
    with pytest.raises(verosim.VerosimError) as error:
        rnd.choice(calls)()
    assert is_refused(cell, i, j, str(error.value))


FITTED: dict[type, object] = {}


@tried_often
@given(st.lists(WHOLE, min_size=2, max_size=8, unique=True), st.sampled_from(["list", "array"]))
def test_categories_of_an_array_are_the_numbers_that_were_given(cells, form):
    rows = [[cell] for cell in cells]
    X = np.array(rows, dtype=object) if form == "array" else [[cell, 0.5] for cell in cells]
    y = list(range(len(cells)))
    model = verosim.CategoricalNB(alpha=1e-6).fit(X, y)
    assert model.predict(X).tolist() == y


# Tables ------------------------------------------------------------------------------------------


def labels(n):
    return ["ab"[i % 2] for i in range(n)]


def csv_of(cells):
    rows = "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    return io.BytesIO(f"x,y\n{rows}".encode())


def json_of(cells):
    rows = [json.dumps({"x": cell, "y": "ab"[i % 2]}) for i, cell in enumerate(cells)]
    return verosim.read(io.BytesIO("\n".join(rows).encode()), format="jsonl")


def arrow_of(type_):
    def table(cells):
        return pa.table({"x": pa.array(cells).cast(type_), "y": labels(len(cells))})

    return table


TABLES = {
    "csv": csv_of,
    "json": json_of,
    "dict": lambda cells: {"x": cells, "y": labels(len(cells))},
    "frame": lambda cells: pd.DataFrame({"x": cells, "y": labels(len(cells))}),
    "int64": arrow_of(pa.int64()),
    "uint64": arrow_of(pa.uint64()),
    "decimal": lambda cells: pa.table({
        "x": pa.array(list(map(Decimal, cells)), pa.decimal128(38, 2)),
        "y": labels(len(cells)),
    }),
}  # fmt: skip


def table_of(form, cells):
    try:
        return TABLES[form](cells)
    except (OverflowError, pa.ArrowInvalid):
        return None


@pytest.mark.parametrize("form", TABLES)
@tried_often
@given(st.lists(WHOLE, min_size=2, max_size=30))
def test_a_column_that_a_double_would_round_is_a_category_and_the_schema_says_so(form, cells):
    cells = list(map(abs, cells)) if form == "uint64" else cells
    table = table_of(form, cells)
    if table is None:
        return
    column = verosim.look(table, "y")["x"]
    if all(map(held, cells)):
        assert "double" not in column.note
        return
    assert column.role in ("category", "ignored")
    assert "A double does not hold" in column.note
    if column.role == "category":
        model = verosim.NaiveBayes().fit(table_of(form, cells), "y")
        codes = next(leaf.axes.codes for leaf in model.checked_state().statistic.leaves())
        assert set(codes.values[0]) == set(map(str, cells))


WAYS = ["{:,}", "{} kg", "{}%", "€ {:,}"]


@tried_often
@given(
    st.sampled_from(WAYS),
    st.lists(st.integers(TWO53, 2**62 - 1), min_size=6, max_size=20, unique=True),
    st.integers(1, 3),
)
def test_the_schema_says_so_too_if_the_numbers_are_written_in_a_format(way, numbers, times):
    cells = [way.format(2 * number + 1) for number in numbers] * times  # odd numbers are not held
    column = verosim.look({"x": cells, "y": labels(len(cells))}, "y")["x"]
    assert column.role in ("category", "ignored")
    assert "A double does not hold" in column.note


@pytest.mark.parametrize("form", TABLES)
@tried_often
@given(WHOLE)
def test_a_later_cell_of_a_number_column_is_exact_or_refused_by_name(form, cell):
    table = table_of(form, [cell])
    if table is None:
        return
    if held(cell):
        there = verosim.GaussianNB.predict_log_proba
        assert there(MODEL, table).tolist() == there(MODEL, {"x": [float(cell)]}).tolist()
        return
    with pytest.raises(
        verosim.VerosimError, match=r"Column 'x', row 0.*that a double holds exactly"
    ):
        MODEL.predict(table)


@pytest.mark.parametrize("form", TABLES)
@tried_often
@given(WHOLE)
def test_models_of_numbers_at_the_command_line_do_not_round_either(form, cell):
    table = table_of(form, [cell])
    if table is None:
        return
    if held(cell):
        assert input_of(LINEAR, next(open_table(table).batches())).tolist() == [[float(cell)]]
        return
    with pytest.raises(
        verosim.VerosimError, match=r"Column 'x', row 0.*that a double holds exactly"
    ):
        input_of(LINEAR, next(open_table(table).batches()))


LINEAR = verosim.LogisticRegression().fit(pd.DataFrame({"x": [1.5, 2.0, 4.0]}), ["a", "b", "a"])
MODEL = verosim.GaussianNB().fit({"x": [1.5, 2.0, 4.0, 9.0, 3.5, 7.0], "y": list("ababab")}, "y")


@tried_often
@given(
    st.lists(st.integers(0, 40).map(str) | st.floats(0.1, 9.0).map(repr), min_size=2, max_size=20),
    st.lists(
        st.builds(
            lambda sign, digits, power: f"{sign}{digits}e-{power}",
            st.sampled_from(["", "-", "+"]), st.integers(1, 99), st.integers(330, 999),
        ), min_size=1, max_size=8,
    ),
    RANDOM,
)  # fmt: skip
def test_texts_that_become_zero_are_missing_and_listed(numbers, small, rnd):
    cells = numbers + small
    rnd.shuffle(cells)
    schema = verosim.look(csv_of(cells), "y")
    column = schema["x"]
    assert column.role in ("number", "ignored"), column
    assert set(column.missing) == set(small)
    assert "that a double hold" in column.note
    if column.role == "ignored":  # consecutive whole numbers, or no number
        return
    holes = csv_of(["" if cell in small else cell for cell in cells])
    with_holes = verosim.GaussianNB().fit(holes, "y")
    model = verosim.GaussianNB().fit(csv_of(cells), "y")
    assert (
        model.predict_proba({"x": [1.0]}).tolist()
        == with_holes.predict_proba({"x": [1.0]}).tolist()
    )
