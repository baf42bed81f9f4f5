"""AODE, KDB and TAN: tables of every kind, merging, forgetting, folds, samples and limits."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.base import clone

import verosim
from verosim import AODE, KDB, TAN, VerosimError, cross_validate
from verosim.testing import assert_same

MODELS = [AODE(bins=5), KDB(k=2, bins=5), KDB(k=5, m=2.0), TAN(), TAN(smoothing="laplace")]
each = pytest.mark.parametrize("model", MODELS, ids=repr)
FEW = pytest.mark.parametrize("model", [AODE(), KDB(k=2), TAN()], ids=repr)


def mixed(rng, n=600):
    """Numbers, categories, booleans, dates and missing cells; the label depends on two at once."""
    a, b = rng.integers(0, 3, n), rng.integers(0, 4, n)
    x = rng.normal(size=n) + a
    y = np.where((a + b + (x > 1)) % 2 == 0, "even", "odd")
    start, hour = datetime.datetime(2024, 1, 1), datetime.timedelta(hours=1)
    return pa.table({
        "x": pa.array(x, mask=rng.random(n) < 0.1),
        "a": pa.array([f"a{v}" for v in a]),
        "b": pa.array(b),
        "flag": pa.array(rng.random(n) < 0.4),
        "when": pa.array([start + h * hour for h in rng.integers(0, 9999, n).tolist()]),
        "hole": pa.array([None if v else "h" for v in rng.random(n) < 0.5]),
        "y": pa.array(y),
    })  # fmt: skip


def fitted(model, table, **given):
    return clone(model).fit(table, "y", **given)


# Sums: merge, forget, folds ----------------------------------------------------------------------


@each
def test_merging_is_fitting_on_all_rows_given_the_schema(model, rng):
    table = mixed(rng)
    whole = fitted(model, table)
    parts = [
        fitted(model, p, schema=whole.schema_) for p in (table.slice(0, 150), table.slice(150))
    ]
    merged = parts[0] + parts[1]
    assert_same(merged.stats_, whole.stats_)
    np.testing.assert_allclose(
        merged.predict_proba(table), whole.predict_proba(table), rtol=1e-9, atol=1e-12
    )
    assert merged.n_parameters_ == whole.n_parameters_


@each
def test_forgetting_is_fitting_on_the_rest_given_the_schema(model, rng):
    table = mixed(rng)
    w = rng.choice([0.1, 0.3, 1.0, 2.5], len(table))
    whole = fitted(model, table, sample_weight=w)
    rest = fitted(model, table.slice(100), schema=whole.schema_, sample_weight=w[100:])
    whole.forget(table.slice(0, 100), "y", sample_weight=w[:100])
    np.testing.assert_allclose(
        whole.predict_proba(table), rest.predict_proba(table), rtol=1e-7, atol=1e-10
    )
    assert whole.n_parameters_ == rest.n_parameters_


@FEW
def test_a_value_that_is_forgotten_was_never_there(model, rng):
    """Also after fractional weights, which leave rounding behind."""
    rows = {"a": ["u", "v"] * 30 + ["w"], "b": ["p", "q", "p"] * 20 + ["r"], "y": [0, 1] * 30 + [1]}
    weights = np.full(61, 0.1)
    table = pa.table(rows)
    full = fitted(model, table, sample_weight=weights)
    plain = fitted(model, table.slice(0, 60), schema=full.schema_, sample_weight=weights[:60])
    full.forget(table.slice(60), "y", sample_weight=weights[60:])
    new = {"a": ["w", "w", "u"], "b": ["p", "r", "r"]}
    np.testing.assert_allclose(full.predict_proba(new), plain.predict_proba(new), rtol=1e-9)
    assert full.n_parameters_ == plain.n_parameters_


@each
def test_cross_validation_is_refitting_given_the_schema(model, rng):
    table = mixed(rng, 300)
    folds = np.arange(300) % 4
    schema = fitted(model, table).schema_
    found = cross_validate(model, table, "y", cv=folds, schema=schema)
    for f in range(4):
        inside = pa.array(folds == f)
        refit = fitted(model, table.filter(pa.array(folds != f)), schema=schema)
        held = table.filter(inside)
        assert found.scores["accuracy"][f] == pytest.approx(refit.score(held, "y"))
        proba, y = refit.predict_proba(held), np.array(held["y"].to_pylist())
        at = np.searchsorted(refit.classes_, y)
        loss = np.log(proba[np.arange(len(y)), at]).mean()
        assert found.scores["neg_log_loss"][f] == pytest.approx(loss, rel=1e-8)


@FEW
def test_rows_in_any_order_and_in_chunks(model, rng):
    table = mixed(rng, 400)
    whole = fitted(model, table)
    moved = fitted(model, table.take(rng.permutation(400)), schema=whole.schema_)
    streamed = clone(model)
    for start in range(0, 400, 90):
        given = {} if start else {"schema": whole.schema_}
        streamed.partial_fit(table.slice(start, 90), "y", **given)
    for other in (moved, streamed):
        assert_same(other.stats_, whole.stats_)
        np.testing.assert_allclose(other.predict_proba(table), whole.predict_proba(table))


@FEW
def test_a_weight_of_two_is_the_row_twice(model, rng):
    table = mixed(rng, 300)
    w = rng.integers(0, 3, 300)
    weighted = fitted(model, table, sample_weight=w.astype(float))
    repeated = fitted(model, table.take(np.repeat(np.arange(300), w)))
    np.testing.assert_allclose(weighted.predict_proba(table), repeated.predict_proba(table))


@FEW
def test_pickling(model, rng):
    table = mixed(rng, 200)
    first = fitted(model, table)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.predict_proba(table), first.predict_proba(table))
    assert_same((again + first).stats_, (first + first).stats_)
    more = pickle.loads(pickle.dumps(first)).partial_fit(table, "y")
    assert_same(more.stats_, (first + first).stats_)


def test_decay_and_new_priors(rng):
    table = mixed(rng, 200)
    model = fitted(KDB(k=2), table)
    model.decay(0.5)
    assert model.class_count_.sum() == pytest.approx(100)
    assert model.with_priors("uniform").class_prior_.tolist() == [0.5, 0.5]


# Sources -----------------------------------------------------------------------------------------


@FEW
def test_files_and_streams_give_the_model_of_the_table(model, rng, tmp_path):
    table = mixed(rng, 500).drop(["when"])  # a CSV file has other dates than a timestamp
    whole = fitted(model, table)
    pa.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=120)
    pa.csv.write_csv(table, tmp_path / "rows.csv")
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
    sources = [tmp_path / "rows.parquet", tmp_path / "rows.csv", stream, table.to_pandas()]
    for source in sources:
        other = fitted(model, source)
        np.testing.assert_allclose(
            other.predict_proba(table), whole.predict_proba(table), rtol=1e-9, err_msg=str(source)
        )


def test_a_long_stream_chooses_bins_and_parents_by_its_first_rows(rng, monkeypatch):
    monkeypatch.setattr("verosim.data.stream.FIRST_LOOK_ROWS", 300)
    table = mixed(rng, 900)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
    model = fitted(KDB(k=2), stream)
    assert model.class_count_.sum() == 900
    first = fitted(KDB(k=2), table.slice(0, 300))
    assert model.parents_ == first.parents_


def test_a_table_that_does_not_fit_is_read_again(rng, monkeypatch):
    table = mixed(rng, 500)
    whole = fitted(TAN(), table)
    monkeypatch.setattr("verosim.models.structure.MOST_KEPT", 10)
    again = fitted(TAN(), table)
    assert again.schema_ == whole.schema_
    assert_same(again.stats_, whole.stats_)


@FEW
def test_arrays(model, rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = clone(model).fit(X, y)
    assert found.n_features_in_ == 3
    assert found.predict_proba(X).shape == (300, 2)
    sampled, labels = found.sample(20, random_state=0)
    assert sampled.shape == (20, 3)
    assert set(labels) <= {0, 1}


# Cells: missing, unseen, groups of columns -------------------------------------------------------


@FEW
def test_missing_is_a_value_of_its_own(model):
    """Only whether the cell is missing tells the classes apart."""
    gone = np.arange(200) % 2 == 0
    rows = {"a": pa.array(np.arange(200) % 7 / 1.0, mask=gone), "y": pa.array(gone.astype(int))}
    found = fitted(model, pa.table(rows))
    assert found.predict({"a": [None, 3.0]}).tolist() == [1, 0]


@FEW
def test_unseen_values_and_absent_columns_say_nothing(model, rng):
    rows = {"a": ["u", "v"] * 50, "b": ["p", "p", "q", "q"] * 25, "y": [0, 1] * 50}
    found = fitted(model, rows)
    prior = found.class_prior_
    everything_new = found.predict_proba({"a": ["new"], "b": ["newer"]})
    np.testing.assert_allclose(everything_new, [prior], atol=1e-12)
    absent = found.predict_proba({"a": ["u", "v"]})
    np.testing.assert_allclose(absent, found.predict_proba({"a": ["u", "v"], "b": ["new"] * 2}))
    assert found.predict({"a": ["u", "v"]}).tolist() == [0, 1]
    with pytest.raises(VerosimError, match="none of the columns"):
        found.predict({"q": [1]})


def one_hot(rng, n=400):
    soil, wild = rng.integers(0, 5, n), rng.integers(0, 3, n)
    soil[: n // 2] %= 4  # the last soil is rare
    columns = {"height": rng.normal(size=n)}
    columns |= {f"wild{j}": (wild == j).astype(int) for j in range(3)}
    columns |= {f"soil{j}": (soil == j).astype(int) for j in range(5)}
    columns |= {"flag": rng.integers(0, 2, n)}
    return pa.table({**columns, "y": (soil + wild) % 2}), soil, wild


def test_one_hot_columns_are_one_category(rng):
    table, soil, wild = one_hot(rng)
    model = fitted(KDB(k=2, bins=5), table)
    assert [len(cell.columns) for cell in model.schema_.cells] == [1, 3, 5, 1]
    lines = str(model.schema_).splitlines()
    assert [line for line in lines if "…" in line] == [
        "read as one category: wild0 … wild2 (3 columns with exactly one 1 per row)",
        "read as one category: soil0 … soil4 (5 columns with exactly one 1 per row)",
    ]
    assert not [line for line in lines if line.startswith("  soil0:")]  # nothing to check there
    named = {"height": table["height"], "wild": [f"w{v}" for v in wild],
             "soil": [f"s{v}" for v in soil], "flag": table["flag"], "y": table["y"]}  # fmt: skip
    other = fitted(KDB(k=2, bins=5), pa.table(named))
    np.testing.assert_allclose(model.predict_proba(table), other.predict_proba(pa.table(named)))


def test_rows_with_no_one_or_two_ones(rng):
    """They have a value of their own, which no row had; a missing cell makes the group missing."""
    table, _, _ = one_hot(rng)
    model = fitted(TAN(), table)
    rows = {name: [0, 0, 0, 1] for name in table.column_names if name not in ("height", "y")}
    rows |= {"height": [0.0] * 4, "soil0": [1, 1, 1, 1], "wild0": [1, 0, 1, None]}
    rows["wild1"] = [0, 0, 1, 0]
    proba = model.predict_proba(rows)
    assert np.isfinite(proba).all()
    np.testing.assert_array_equal(proba[1], proba[2])


def test_a_rare_one_hot_column_that_the_first_rows_lack(rng, monkeypatch):
    monkeypatch.setattr("verosim.kinds.first_rows.FIRST_LOOK_ROWS", 200)
    table, soil, _ = one_hot(rng)
    assert soil[:200].max() == 3
    model = fitted(AODE(), pa.Table.from_batches(table.to_batches(100)))
    groups = [cell.columns for cell in model.schema_.cells if len(cell.columns) > 1]
    assert groups[0] == ("wild0", "wild1", "wild2")
    assert set(groups[1]) >= {"soil0", "soil1", "soil2", "soil3"}


def test_flags_that_exclude_each_other_by_chance_do_not_hide_a_group(rng):
    """`other` is never 1 together with `kind0`, but it is with the rest of the group."""
    kind = np.arange(300) % 3
    other = (kind > 0) & (rng.random(300) < 0.5)
    columns = {"other": other.astype(int), **{f"kind{j}": (kind == j) * 1 for j in range(3)}}
    model = fitted(TAN(), pa.table({**columns, "y": (kind + other) % 2}))
    assert [cell.columns for cell in model.schema_.cells] == [
        ("other",), ("kind0", "kind1", "kind2"),
    ]  # fmt: skip


def test_texts_are_not_read(rng):
    words = [f"the red fox runs over hill number {i} and sleeps" for i in range(200)]
    table = {"note": words, "x": rng.normal(size=200), "y": np.arange(200) % 2}
    model = fitted(TAN(), table)
    assert model.schema_["note"].role == "text"
    assert [cell.name for cell in model.schema_.cells] == ["x"]
    with pytest.raises(VerosimError, match="text is not read by models of dependent columns"):
        fitted(TAN(), {"note": words, "y": np.arange(200) % 2})


def test_dates_and_booleans(rng):
    table = mixed(rng)
    model = fitted(KDB(k=1), table)
    names = [cell.name for cell in model.schema_.cells]
    assert names == [
        "x",
        "a",
        "b",
        "flag",
        "when.hour",
        "when.weekday",
        "when.month",
        "hole",
    ]


# Odd tables and limits ---------------------------------------------------------------------------


@FEW
def test_small_tables(model):
    found = fitted(model, {"a": [1.0, 2.0, 3.0], "b": ["u", "v", "w"], "y": ["p", "q", "r"]})
    assert found.predict({"a": [1.1, 2.9], "b": ["u", "w"]}).tolist() == ["p", "r"]
    one = fitted(model, {"a": ["u", "v"] * 20, "y": [0, 1] * 20})
    assert one.predict({"a": ["v"]}).tolist() == [1]
    constant = fitted(model, {"a": [5.0] * 20, "b": ["u", "v"] * 10, "y": [0, 1] * 10})
    assert constant.score({"a": [5.0, 6.0], "b": ["u", "v"], "y": [0, 1]}, "y") == 1.0


@FEW
def test_columns_that_are_all_missing(model):
    b = ["u", "v"] * 20
    table = pa.table({"a": pa.nulls(40, pa.float64()), "b": b, "y": [0, 1] * 20})
    assert fitted(model, table).predict(table).tolist() == [0, 1] * 20
    with pytest.raises(VerosimError, match="no column to learn from"):
        fitted(model, table.drop(["b"]))
    kinds = {"a": "gaussian"}
    forced = clone(model).set_params(columns=kinds).fit(table, "y")
    assert forced.predict(table).tolist() == [0, 1] * 20


@FEW
def test_a_thousand_classes(model, rng):
    y = np.arange(3000) % 1000
    table = {"a": y + rng.normal(size=3000) / 9, "b": y // 40, "c": rng.normal(size=3000), "y": y}
    found = fitted(model, table)
    assert len(found.classes_) == 1000
    assert np.isfinite(found.predict_proba({"a": [5.0], "b": [0], "c": [0.0]})).all()


@pytest.mark.slow
@FEW
def test_many_categories(model, rng):
    """The most frequent values have a code; the others share one."""
    n = 100_000
    values = np.concatenate([np.arange(n), np.full(n // 2, 7)])
    c = [f"c{v}" for v in values]
    y = rng.integers(0, 2, len(c))
    y[values == 7] = 1
    found = (
        clone(model).set_params(columns={"c": "category"}).fit({"c": c, "x": y * 0.0, "y": y}, "y")
    )
    assert found.predict({"c": ["c7"], "x": [0.0]}).tolist() == [1]
    assert found.stats_.size < 1_000_000


@pytest.mark.slow
@FEW
def test_too_many_pairs_are_refused(model, rng):
    X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
    with pytest.raises(VerosimError, match=r"counts of pairs of 1?.,000 codes .* fewer columns"):
        clone(model).set_params(bins=5).fit(X, y)


@pytest.mark.slow
def test_no_parents_need_no_pairs(rng):
    X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
    assert KDB(k=0, bins=5).fit(X, y).score(X, y) > 0.9


def test_folds_count_towards_the_budget(rng, monkeypatch):
    table = mixed(rng, 300)
    schema = fitted(AODE(), table).schema_
    size = fitted(AODE(), table).stats_.arrays["pair"].size
    monkeypatch.setattr("verosim.stats.pairs.PAIR_BUDGET", 4 * size)
    with pytest.raises(VerosimError, match="and 10 folds need"):
        cross_validate(AODE(), table, "y", schema=schema)


def test_auto_bins_fall_back_to_few_if_pairs_do_not_fit(rng, monkeypatch):
    X = rng.normal(size=(2000, 2))
    y = (np.sin(6 * X).sum(axis=1) > 0).astype(int)
    free = TAN().fit(X, y).stats_.codes.cells.sizes
    monkeypatch.setattr("verosim.models.structure.PAIR_BUDGET", 200)
    assert TAN().fit(X, y).stats_.codes.cells.sizes.tolist() == [6, 6]
    assert free.max() > 6


def test_fewer_parents_if_their_combinations_do_not_fit(rng, monkeypatch):
    table = mixed(rng)
    full = fitted(KDB(k=3, bins=5), table).parents_
    assert max(map(len, full.values())) == 3
    monkeypatch.setattr("verosim.models.structure.CONTEXT_BUDGET", 3000)
    some = fitted(KDB(k=3, bins=5), table).parents_
    most = max(map(len, some.values()))
    assert 0 < most < 3
    assert some == {name: parents[:most] for name, parents in full.items()}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KDB(k=6), "k must be a whole number from 0 to 5; got 6"),
        (KDB(k=1.5), "k must be a whole number; got 1.5"),
        (KDB(m=-1), "m must be a finite number, at least 0; got -1"),
        (TAN(smoothing="none"), "smoothing must be one of 'backoff', 'laplace'; got 'none'"),
        (TAN(alpha=-1.0), "alpha must be a finite number, at least 0"),
        (AODE(bins=1), "bins must be a whole number from 2 to 240; got 1"),
        (AODE(bins="many"), "bins must be a whole number, 'mdl' or 'auto'; got 'many'"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_wrong_settings(model, message):
    with pytest.raises(VerosimError, match=message):
        model.fit({"a": [1.0, 2.0, 2.0, 3.0], "y": [0, 1, 0, 1]}, "y")


def test_infinite_cells():
    with pytest.raises(VerosimError, match="infinity in column 'a', row 1"):
        AODE().fit({"a": [1.0, np.inf, 2.0], "y": [0, 1, 0]}, "y")


# Samples and densities ---------------------------------------------------------------------------


@FEW
def test_samples_are_tables_of_the_same_types(model, rng):
    table = mixed(rng)
    found = fitted(model, table)
    sampled, labels = found.sample(400, random_state=1)
    assert sampled.schema.equals(table.drop(["y"]).schema)
    assert set(labels) == {"even", "odd"}
    for name in ("a", "b", "flag", "hole"):
        assert set(sampled[name].to_pylist()) <= set(table[name].to_pylist())
    x = np.array(sampled["x"].drop_null())
    assert x.min() >= np.nanmin(table["x"].to_numpy())
    assert 0 < sampled["x"].null_count < 100
    again, _ = found.sample(400, random_state=1)
    assert again.equals(sampled)
    assert set(found.sample(5, y="odd")[1]) == {"odd"}
    frame, _ = fitted(model, table.to_pandas()).sample(5)
    assert type(frame).__module__.startswith("pandas")


@FEW
def test_samples_have_one_one_per_group(model, rng):
    table, _, _ = one_hot(rng)
    sampled, _ = fitted(model, table).sample(200, random_state=0)
    ones = sum(np.array(sampled[f"soil{j}"]) for j in range(5))
    assert (ones == 1).all()


def test_samples_have_the_dependence_of_the_rows(rng):
    """y is the exclusive or of two columns, which are independent of y one by one."""
    a, b = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    table = {"a": np.array(["n", "y"])[a], "b": np.array(["n", "y"])[b], "y": a ^ b}
    for model in (TAN(m=1.0), KDB(m=1.0), AODE()):
        sampled, labels = fitted(model, table).sample(1000, random_state=0)
        a, b = (np.array(sampled[name].to_pylist()) == "y" for name in "ab")
        assert ((a ^ b) == labels).mean() > 0.98


@FEW
def test_the_density_integrates_to_one(model, rng):
    X = rng.normal(size=(200, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    found = clone(model).fit(X, y)
    grid = [np.linspace(X[:, j].min(), X[:, j].max(), 801) for j in range(2)]
    middle = [(g[1:] + g[:-1]) / 2 for g in grid]
    rows = np.stack(np.meshgrid(*middle, indexing="ij"), axis=-1).reshape(-1, 2)
    area = np.prod([g[1] - g[0] for g in grid])
    assert np.exp(found.log_density(rows)).sum() * area == pytest.approx(1.0, abs=0.01)


@FEW
def test_predictions_as_a_table(model, rng):
    table = mixed(rng, 200)
    found = fitted(model, table)
    out = found.predict_table(table, keep="a").read_all()
    assert out.column_names == ["a", "prediction", "p_even", "p_odd", "log_density"]
    assert out["prediction"].to_pylist() == found.predict(table).tolist()
    np.testing.assert_allclose(out["log_density"], found.log_density(table))


def test_a_pseudo_count_can_be_chosen(rng):
    table = mixed(rng)
    model = fitted(TAN(smoothing="laplace", alpha="cv"), table)
    assert model.alpha_ > 0


# The schema --------------------------------------------------------------------------------------


def test_one_schema_serves_several_models(rng, tmp_path):
    table, _, _ = one_hot(rng)
    schema = fitted(AODE(), table).schema_
    schema = fitted(KDB(k=2), table, schema=schema).schema_
    schema = fitted(TAN(), table, schema=schema).schema_
    assert [key for key, _ in schema.structures] == [
        "bins=12", "bins=auto, k=2", "bins=auto, tree",
    ]  # fmt: skip
    schema.save(tmp_path / "schema.json")
    again = verosim.Schema.load(tmp_path / "schema.json")
    assert again == schema
    for model in (AODE(), KDB(k=2), TAN()):
        first, second = (fitted(model, table, schema=s) for s in (schema, again))
        assert_same((first + second).stats_, (first + first).stats_)
    assert len(schema.structures[1][1].parents) == len(schema.cells)


@FEW
def test_models_with_different_cells_do_not_merge(model, rng):
    """Even if the bins have the same numbers, their edges differ."""
    first, second = (fitted(model, {"a": rng.normal(size=90), "y": [0, 1] * 45}) for _ in range(2))
    with pytest.raises(VerosimError, match=r"Column 'a' has other cells .* schema=model.schema_"):
        first + second
    other = clone(model).set_params(bins=3).fit({"a": rng.normal(size=90), "y": [0, 1] * 45}, "y",
                                               schema=first.schema_)  # fmt: skip
    with pytest.raises(VerosimError, match=r"different bins .* schema=model.schema_"):
        first + other


@pytest.mark.parametrize("kind", [TAN(), verosim.LDA(encode="onehot")], ids=["cells", "design"])
def test_only_one_of_two_merged_models_has_cells_or_a_design_matrix(kind, rng):
    table = mixed(rng)
    schema = fitted(kind, table).schema_
    plain = fitted(verosim.NaiveBayes(), table)
    other = verosim.NaiveBayes().fit(table, "y", schema=schema)
    for first, second in ((plain, other), (other, plain)):
        assert (first + second).stats_.rows.sum() == 2 * plain.stats_.rows.sum()


def test_models_with_different_parents_do_not_merge(rng):
    table = mixed(rng)
    first = fitted(KDB(k=2, bins=5), table)
    other = fitted(KDB(k=1, bins=5), table, schema=first.schema_)
    with pytest.raises(VerosimError, match=r"different parents .* schema=model.schema_"):
        first.merge(other)


def test_a_schema_for_another_target_looks_again(rng):
    """A column that was learned from cannot stay among the cells when it is the target."""
    table = mixed(rng)
    schema = fitted(TAN(), table).schema_
    model = TAN().fit(table, "a", schema=schema)
    assert "a" not in [cell.name for cell in model.schema_.cells]


def test_columns_that_contradict_the_schema(rng):
    table = mixed(rng)
    schema = fitted(TAN(), table).schema_
    with pytest.raises(VerosimError, match=r"Column 'b' is .* in the schema and category"):
        TAN(columns={"b": "category"}).fit(table, "y", schema=schema)


# Validation --------------------------------------------------------------------------------------


@FEW
def test_tools_of_validation(model, rng):
    table = mixed(rng, 300)
    calibrated = verosim.calibrate(model, table, "y")
    assert calibrated.predict_proba(table).shape == (300, 2)
    found = verosim.search(model, table, "y", {"bins": [3, 5]}, cv=3)
    assert found.best_settings["bins"] in (3, 5)
    assert "does not assume independent columns" in str(verosim.diagnose(fitted(model, table)))
    with pytest.raises(VerosimError, match="cannot be selected"):
        verosim.select(model, table, "y")


def test_bic_needs_a_likelihood(rng):
    table = mixed(rng, 300)
    assert np.isfinite(verosim.bic(fitted(TAN(), table)))
    with pytest.raises(VerosimError, match="needs the rows"):
        verosim.bic(fitted(AODE(), table))
