"""The possible values of a category can be declared: they exist whether or not a row has them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import verosim
from verosim import (
    AODE,
    KDB,
    TAN,
    CategoricalNB,
    NaiveBayes,
    Pool,
    Schema,
    VerosimError,
    cross_validate,
    look,
)

SIZES = ["S", "M", "L"]
DECLARED = {"size": SIZES}
CODED = [TAN, KDB, AODE]


def shirts(n: int = 60, seed: int = 0) -> dict[str, list]:
    """Rows that never have the size L."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    size = np.where(rng.random(n) < 0.3 + 0.4 * y, "S", "M")
    colour = np.where(rng.random(n) < 0.4 + 0.2 * y, "red", "blue")
    return {"size": size.tolist(), "colour": colour.tolist(), "y": y.tolist()}


ONE = {"size": ["S", "S", "M", "M", "M"], "y": ["a", "a", "a", "b", "b"]}


def test_smoothing_counts_declared_values_that_no_row_has():
    """φ = (n + α) / (n_k + α K) with K = 3, by hand."""
    model = NaiveBayes(columns=DECLARED, priors="uniform").fit(ONE, "y")
    mass = {"S": (3 / 6, 1 / 5), "M": (2 / 6, 3 / 5), "L": (1 / 6, 1 / 5)}
    for size, (a, b) in mass.items():
        found = model.predict_proba({"size": [size]})[0]
        np.testing.assert_allclose(found, [a / (a + b), b / (a + b)], rtol=1e-12)
    plain = NaiveBayes(columns={"size": "category"}, priors="uniform").fit(ONE, "y")
    np.testing.assert_allclose(
        plain.predict_proba({"size": ["S"]})[0], [(3 / 5) / (3 / 5 + 1 / 4), 5 / 17], rtol=1e-12
    )


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0])
def test_shares_of_declared_values_sum_to_one(alpha):
    model = NaiveBayes(columns=DECLARED, alpha=alpha).fit(ONE, "y")
    params = model.state_.params.parts["category"]
    assert params.codes.values == (tuple(SIZES),)
    mass = np.exp(params.log_mass())
    np.testing.assert_allclose(mass.sum(axis=0), 1.0)
    assert (mass[2] == 0).all() == (alpha == 0)


def test_a_declared_value_without_rows_has_probability_zero_without_smoothing():
    model = NaiveBayes(columns=DECLARED, alpha=0).fit(ONE, "y")
    found = model.predict_proba({"size": ["L"]})
    np.testing.assert_allclose(found[0], [0.6, 0.4])  # no class had it: the priors


@pytest.mark.parametrize("model", [NaiveBayes, *CODED, Pool])
def test_a_value_outside_the_list_is_refused_at_fit(model):
    table = shirts()
    table["size"][17] = "XL"
    with pytest.raises(VerosimError, match=r"'size'.*row 17.*'XL'.*'S', 'M', 'L'.*add 'XL'"):
        model(columns=DECLARED).fit(table, "y")


@pytest.mark.parametrize("model", [NaiveBayes, *CODED])
def test_a_value_outside_the_list_is_unseen_at_predict(model):
    fitted = model(columns=DECLARED).fit(shirts(), "y")
    found = fitted.predict_proba({"size": ["XL", None], "colour": ["red", "red"]})
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", CODED)
def test_models_of_dependent_columns_give_a_declared_value_a_share(kind):
    """A declared value that no row has scores; without the declaration it adds nothing."""
    table = shirts()
    model, plain = kind(columns=DECLARED).fit(table, "y"), kind().fit(table, "y")
    row = {"size": ["L"], "colour": ["red"]}
    absent = {"size": ["XL"], "colour": ["red"]}
    assert (model.log_density(row) < plain.log_density(row) - 0.5).all()
    np.testing.assert_allclose(plain.log_density(row), plain.log_density(absent))
    rows, _ = model.sample(4000, random_state=0)
    share = np.mean(np.array(rows["size"]) == "L")
    assert 0 < share < 0.05


@pytest.mark.parametrize("kind", [TAN, KDB])
def test_joint_shares_of_dependent_columns_sum_to_one(kind):
    model = kind(columns={"size": SIZES, "colour": ["red", "blue", "green"]}).fit(shirts(), "y")
    rows = {"size": SIZES * 3, "colour": [c for c in ("red", "blue", "green") for _ in SIZES]}
    total = np.exp(model.log_density(rows)).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_integers_and_booleans_can_be_declared():
    table = {"grade": [1, 2, 1, 2], "paid": [True, True, False, True], "y": [0, 0, 1, 1]}
    columns = {"grade": (1, 2, 3), "paid": [False, True]}
    model = NaiveBayes(columns=columns).fit(table, "y")
    assert model.schema_["grade"].values == ("1", "2", "3")
    assert model.schema_["paid"].values == ("False", "True")
    assert model.schema_["grade"].role == model.schema_["paid"].role == "category"
    same = model.predict_proba({"grade": [3.0], "paid": [True]})
    np.testing.assert_allclose(same, model.predict_proba({"grade": ["3"], "paid": ["True"]}))
    declared = NaiveBayes(columns={"grade": [np.int64(1), 2, 3]}).fit(table, "y")
    assert declared.schema_["grade"].values == ("1", "2", "3")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "empty"),
        (["S", "S"], "listed twice"),
        ([1, "1.0"], "listed twice"),
        (["S", None], "None cannot be"),
        (["S", float("nan")], "cannot be"),
        (["S", ""], "cannot be"),
        ([["S"]], "cannot be"),
        ({"S", "M"}, "must be the name of a type, or a list of values"),
    ],
)
def test_a_list_that_cannot_be_the_values_of_a_category_is_refused(values, message):
    with pytest.raises(VerosimError, match=f"'size'.*{message}"):
        NaiveBayes(columns={"size": values}).fit(ONE, "y")


def test_declared_values_are_stored_in_the_schema(tmp_path):
    """The file, equality and the printed schema have them, and `edit` sets and removes them."""
    schema = look(ONE, "y", columns=DECLARED)
    assert schema["size"].values == tuple(SIZES)
    assert schema["size"].density == "category"
    assert schema["size"].frequent == ()
    assert "possible values of size: 'S', 'M', 'L'" in str(schema)
    schema.save(tmp_path / "schema.json")
    loaded = Schema.load(tmp_path / "schema.json")
    assert loaded == schema == pickle.loads(pickle.dumps(schema))
    assert hash(loaded["size"]) == hash(schema["size"])
    plain = look(ONE, "y")
    assert plain != schema
    assert plain.edit(DECLARED)["size"].values == tuple(SIZES)
    assert schema.edit({"size": "category"})["size"].values == ()
    by_schema = NaiveBayes().fit(ONE, "y", schema=loaded)
    by_columns = NaiveBayes(columns=DECLARED).fit(ONE, "y")
    assert by_schema.stats_.fingerprint() == by_columns.stats_.fingerprint()
    with pytest.raises(VerosimError, match=r"'size'.*same possible values"):
        NaiveBayes(columns={"size": ["S", "M"]}).fit(ONE, "y", schema=loaded)


def test_categorical_naive_bayes_uses_the_declared_values_of_a_schema():
    schema = look(ONE, "y", columns=DECLARED)
    model = CategoricalNB(priors="uniform").fit(ONE, "y", schema=schema)
    np.testing.assert_allclose(model.predict_proba({"size": ["L"]})[0], [5 / 11, 6 / 11])
    assert model.categories_ == [sorted(SIZES)]


@pytest.mark.parametrize("model", [NaiveBayes, *CODED])
def test_parts_merge_if_their_declared_values_are_equal(model):
    table = shirts(80)
    halves = [{name: cells[a : a + 40] for name, cells in table.items()} for a in (0, 40)]
    schema = model(columns=DECLARED).fit(table, "y").schema_
    left, right = (model().fit(half, "y", schema=schema) for half in halves)
    whole = model().fit(table, "y", schema=schema)
    row = {"size": ["L", "S"], "colour": ["red", "blue"]}
    np.testing.assert_allclose((left + right).predict_proba(row), whole.predict_proba(row))


def test_models_with_different_declared_values_do_not_merge():
    left = NaiveBayes(columns=DECLARED).fit(ONE, "y")
    other_order = NaiveBayes(columns={"size": ["L", "S", "M"]}).fit(ONE, "y")
    both = left + other_order
    np.testing.assert_allclose(both.class_count_, [6, 4])
    for columns in ({"size": ["S", "M"]}, {"size": "category"}):
        with pytest.raises(VerosimError, match="'size' has other declared values"):
            left + NaiveBayes(columns=columns).fit(ONE, "y")


def test_partial_fit_checks_declared_values_and_changes_nothing_if_one_is_wrong():
    table = shirts(40)
    halves = [{name: cells[a : a + 20] for name, cells in table.items()} for a in (0, 20)]
    model = NaiveBayes(columns=DECLARED)
    for half in halves:
        model.partial_fit(half, "y")
    whole = NaiveBayes(columns=DECLARED).fit(table, "y")
    row = {"size": ["L", "S"], "colour": ["red", "blue"]}
    np.testing.assert_allclose(model.predict_proba(row), whole.predict_proba(row))
    before = model.stats_.fingerprint()
    with pytest.raises(VerosimError, match="'size', row 1: 'XL'"):
        model.partial_fit({"size": ["S", "XL"], "colour": ["red", "red"], "y": [0, 1]}, "y")
    assert model.stats_.fingerprint() == before


@pytest.mark.parametrize("model", [NaiveBayes, TAN])
def test_declared_values_survive_forgetting(model):
    """They come from the user, not from the rows."""
    table = shirts(40)
    fitted = model(columns=DECLARED).fit(table, "y")
    kept = [i for i, size in enumerate(table["size"]) if size == "M"]
    gone = [i for i, size in enumerate(table["size"]) if size != "M"]
    fitted.forget({name: [cells[i] for i in gone] for name, cells in table.items()}, "y")
    rest = {name: [cells[i] for i in kept] for name, cells in table.items()}
    again = model().fit(rest, "y", schema=fitted.schema_)
    row = {"size": ["S", "L", "M"], "colour": ["red", "blue", "red"]}
    np.testing.assert_allclose(fitted.predict_proba(row), again.predict_proba(row))
    assert fitted.schema_["size"].values == tuple(SIZES)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(restored.predict_proba(row), again.predict_proba(row))


@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_leaving_one_row_out_keeps_the_number_of_declared_values(alpha):
    """The only row with S is left out: K stays 3, as in a fit without the row."""
    table = {"size": ["S", "M", "M", "M", "M"], "y": [0, 0, 0, 1, 1]}
    model = NaiveBayes(columns=DECLARED, alpha=alpha)
    found = cross_validate(model, table, "y", cv="loo").proba
    for i in range(5):
        rest = {name: cells[:i] + cells[i + 1 :] for name, cells in table.items()}
        row = {"size": [table["size"][i]]}
        expected = NaiveBayes(columns=DECLARED, alpha=alpha).fit(rest, "y").predict_proba(row)[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)


def test_declared_values_are_not_limited_by_max_categories():
    model = NaiveBayes(columns=DECLARED, max_categories=2).fit(ONE, "y")
    assert model.state_.params.parts["category"].codes.values == (tuple(SIZES),)


def test_a_missing_cell_is_not_a_value():
    table = {"size": ["S", None, "?", "M"], "y": [0, 0, 1, 1]}
    model = NaiveBayes(columns=DECLARED).fit(table, "y", na=["?"])
    assert model.stats_.parts["category"].arrays["cells"].sum() == 2


def test_pool_and_auto_use_declared_values():
    table = shirts(120)
    pool = Pool(columns=DECLARED).fit(table, "y")
    assert pool.schema_["size"].values == tuple(SIZES)
    row = {"size": ["L"], "colour": ["red"]}
    assert np.isfinite(pool.predict_proba(row)).all()
    found = verosim.auto(table, "y", schema=look(table, "y", columns=DECLARED))
    assert np.isfinite(found.model.predict_proba(row)).all()
    table["size"][3] = "XL"
    with pytest.raises(VerosimError, match="'size', row 3: 'XL'"):
        verosim.auto(table, "y", schema=look(table, "y", columns=DECLARED))
