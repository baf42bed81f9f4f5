"""What a column's cells say together: a format against nearly all cells, units, infinite numbers.

Also the limit of a cell, and that columns of categories grow by steps that do not copy old values.
"""

from __future__ import annotations

import io
import warnings
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from verosim.axes.codes import Categories
from verosim.data import csv_files
from verosim.stats import counts

RANDOM = st.integers(0, 2**32 - 1).map(Random)
INFINITE = ["inf", "-inf", "+inf", "Inf", "INF", "Infinity", "-Infinity", "infinity"]


def labels(n):
    return ["ab"[i % 2] for i in range(n)]


def csv_of(cells):
    rows = "".join(f"{cell};{y}\n" for cell, y in zip(cells, labels(len(cells)), strict=True))
    return io.BytesIO(f"x;y\n{rows}".encode())


# Formats -----------------------------------------------------------------------------------------


@tried_often
@given(
    RANDOM,
    st.sampled_from([",", "."]),
    st.integers(1, 3),
    st.sampled_from(["", " kg", " €"]),
)
def test_a_format_that_few_cells_choose_is_noted_with_an_example_and_the_count(
    rnd, mark, few, unit
):
    n = 20 * few + rnd.randrange(80)
    groups = [f"{rnd.randrange(1, 999)}{mark}{rnd.randrange(1000):03d}{unit}" for _ in range(n)]
    odd = [f"{rnd.randrange(10)}{mark}{rnd.randrange(1, 10)}{unit}" for _ in range(few)]
    cells = groups + odd
    rnd.shuffle(cells)
    column = verosim.look(csv_of(cells), "y")["x"]
    assert column.role == "number"
    assert f"{n:,} of {n + few:,} cells" in column.note
    assert any(repr(cell) in column.note for cell in groups)
    assert any(repr(cell) in column.note for cell in odd)
    assert "use columns={'x': 'number \"" in column.note


@tried_often
@given(RANDOM, st.sampled_from([",", "."]), st.booleans())
def test_a_format_that_its_cells_decide_has_no_note(rnd, mark, decimals):
    cells = [f"{rnd.randrange(1, 999)}{mark}{rnd.randrange(1000):03d}" for _ in range(60)]
    cells.append(f"0{mark}125" if decimals else f"1{mark}234{mark}567")
    assert "of 61 cells" not in verosim.look(csv_of(cells), "y")["x"].note


@tried_often
@given(
    RANDOM,
    st.sampled_from(["%", "k", " kg", "€", " years"]),
    st.sampled_from([verosim.NaiveBayes, verosim.GaussianNB]),
)
def test_cells_without_the_unit_are_listed_at_predict_as_at_fit(rnd, unit, model):
    bare = [f"{rnd.randrange(100, 9999)}" for _ in range(3)]
    seen = [f"{rnd.randrange(1, 99)}.{rnd.randrange(1, 99)}{unit}" for _ in range(30)]
    note = verosim.look({"x": [*seen, bare[0]], "y": labels(31)}, "y")["x"].note
    assert f"{bare[0]!r} has no unit" in note
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model().fit({"x": seen, "y": labels(30)}, "y")
    k = rnd.randrange(4)
    cells = [*seen[:5], *bare[:k], None]
    rnd.shuffle(cells)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.predict({"x": cells})
    found = [str(one.message) for one in caught if "no unit" in str(one.message)]
    assert len(found) == (k > 0)
    if k:
        assert found[0].startswith(f"Column 'x': {k} cell")
        assert any(repr(cell) in found[0] for cell in bare)


@tried_often
@given(
    RANDOM,
    st.lists(st.sampled_from(INFINITE), min_size=1, max_size=60),
    st.booleans(),
)
def test_a_column_with_infinite_numbers_is_numbers_or_its_note_says_why_not(rnd, infinite, whole):
    n = rnd.randrange(2, 60)
    numbers = [f"{rnd.randrange(6)}" if whole else f"{rnd.gauss(0, 9):.3f}" for _ in range(n)]
    cells = numbers + infinite
    rnd.shuffle(cells)
    column = verosim.look(csv_of(cells), "y")["x"]
    if column.role == "number":
        assert set(column.missing) == set(infinite)
        assert f"{len(infinite)} cell" in column.note
    else:
        assert any(repr(text) in column.note for text in infinite) or column.density == "ignore"


@tried_often
@given(RANDOM, st.integers(1, 20))
def test_infinite_floats_are_noted_and_na_reads_them_as_missing(rnd, k):
    x = [rnd.gauss(0, 1) for _ in range(30)]
    spoilt = [rnd.choice([np.inf, -np.inf]) if i < k else v for i, v in enumerate(x)]
    column = verosim.look(pd.DataFrame({"x": spoilt, "y": labels(30)}), "y")["x"]
    assert f"{k} cell" in column.note
    assert "infinite" in column.note
    table = pd.DataFrame({"x": spoilt, "y": labels(30)})
    holes = pd.DataFrame({"x": [None if i < k else v for i, v in enumerate(x)], "y": labels(30)})
    model = verosim.GaussianNB().fit(table, "y", na=["inf", "-inf"])
    other = verosim.GaussianNB().fit(holes, "y")
    assert model.predict_proba({"x": [0.5]}).tolist() == other.predict_proba({"x": [0.5]}).tolist()


# Sizes -------------------------------------------------------------------------------------------


@tried_often
@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    st.integers(0, 3),
    st.sampled_from([1024, 2048]),
)
def test_a_cell_of_a_csv_file_may_be_as_large_as_the_limit_and_not_larger(sizes, before, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "CSV_BLOCK", 64)
        patch.setattr(csv_files, "LARGEST_BLOCK", limit)
        rows = [["1", "a"]] * before + [["w" * size, "b"] for size in sizes] + [["1", "a"]] * 3
        text = "x,y\n" + "".join(",".join(row) + "\n" for row in rows)
        table = verosim.read(io.BytesIO(text.encode()), format="csv")
        if max(sizes) <= limit:
            cells = [cell for part in table.batches() for cell in part.batch["x"].to_pylist()]
            assert cells == [row[0] for row in rows]
            return
        first = before + next(i for i, size in enumerate(sizes) if size > limit)
        with pytest.raises(verosim.VerosimError, match="has a cell of more than") as error:
            list(table.batches())
        after = int(str(error.value).partition("after row ")[2].split(".")[0]) if first else -1
        assert after <= first - 1


@tried_often
@given(
    st.integers(1, 40),
    st.sampled_from(["numbers", "texts", "mixed"]),
    st.integers(1, 3),
    RANDOM,
)
def test_categories_of_an_array_grow_by_copies_that_are_linear_in_its_rows(blocks, kind, d, rnd):
    step = 32
    n = step * blocks
    values = [i * 10**7 + 3 for i in range(n)]
    rnd.shuffle(values)
    if kind == "texts":
        values = [f"v{value}" for value in values]
    if kind == "mixed":
        values = [f"v{v}" if v % 2 else v for v in values]
    X = np.array([[value] * d for value in values], dtype=object if kind != "numbers" else None)
    y = np.arange(n) % 2
    copied = 0
    whole = verosim.CategoricalNB().fit(X, y)
    made = Categories.__init__

    def counting(self, values):
        nonlocal copied
        made(self, values)
        copied += self.size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "BLOCK_CELLS", step * d)
        patch.setattr(Categories, "__init__", counting)
        patch.setattr(Categories, "code_of", None)  # old values are not looked up one by one
        model = verosim.CategoricalNB().fit(X, y)
    assert copied <= 4 * n * d
    assert model.predict_proba(X).tolist() == whole.predict_proba(X).tolist()


@tried_often
@given(st.integers(2, 30), RANDOM)
def test_a_category_column_of_a_table_does_not_look_up_its_old_values_again(batches, rnd):
    def table():
        rnd.seed(batches)
        for _ in range(batches):
            yield {"x": [f"v{rnd.random()}" for _ in range(20)] + ["same"], "y": labels(21)}

    first = next(table())
    schema = verosim.look(first, "y", columns={"x": "category"}, max_categories=10**6)
    model = verosim.NaiveBayes().partial_fit(first, "y", schema=schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Categories, "code_of", None)
        for part in table():
            model.partial_fit(part, "y")
    assert model.class_count_.sum() == 21 * (batches + 1)


@tried_often
@given(st.integers(1, 40), st.integers(1, 40))
def test_a_csv_file_of_too_many_columns_is_refused_with_their_number(most, d):
    names = [f"c{j}" for j in range(d)]
    text = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "MOST_CSV_COLUMNS", most)
        if d <= most:
            assert verosim.read(io.BytesIO(text.encode()), format="csv").names == tuple(names)
            return
        with pytest.raises(verosim.VerosimError, match=f"has {d} columns.*at most {most}"):
            verosim.read(io.BytesIO(text.encode()), format="csv")
