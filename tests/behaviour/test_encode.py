"""Whole tables as design matrices: LDA, QDA and RDA with `encode`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.base import clone

import verosim
from verosim import LDA, QDA, RDA, Schema, VerosimError, cross_validate, look
from verosim.data.adapters import open_table
from verosim.kinds.design_look import with_design
from verosim.kinds.design_reader import DesignReader, normal_scores
from verosim.kinds.first_rows import FirstRows

MODELS = [
    LDA(encode="onehot"),
    LDA(encode="normal", shrinkage=0.02),
    QDA(encode="onehot", shrinkage=0.3),
    RDA(pooling="auto", encode="normal"),
]


@pytest.fixture
def table(rng):
    n = 300
    y = rng.choice(["a", "b", "c"], n)
    k = np.searchsorted(["a", "b", "c"], y)
    hours = pd.to_timedelta(rng.integers(0, 9000, n), "h")
    out = pd.DataFrame({
        "age": rng.normal(40 + 5 * k, 9),
        "pay": np.exp(rng.normal(k, 1)),
        "city": rng.choice(["Lima", "Quito", "Cusco"], n, p=[0.5, 0.3, 0.2]),
        "owner": rng.random(n) < 0.2 + 0.2 * k,
        "since": pd.Timestamp("2024-01-01") + hours.floor("D"),
        "kind": y,
    })  # fmt: skip
    for name in ("age", "city", "since"):
        out.loc[rng.random(n) < 0.1, name] = None
    return out


def blocks(table, target, **how):
    source = open_table(table)
    schema = with_design(look(table, target), FirstRows(source, None))
    reader = DesignReader(schema, **how)
    (rows,) = source.batches()
    return reader.columns.names, reader.block(rows)


# The design matrix ------------------------------------------------------------------------------


def test_the_columns_of_the_matrix(table):
    names, Z = blocks(table, "kind")
    assert names[:7] == (
        "age", "age is missing", "pay", "city = Quito", "city = Cusco", "city is missing", "owner",
    )  # fmt: skip
    gone = table.age.isna().to_numpy()
    age = table.age.to_numpy(float)
    np.testing.assert_allclose(Z[~gone, 0], (age - np.nanmean(age))[~gone] / np.nanstd(age))
    np.testing.assert_array_equal(Z[:, 0][gone], 0)
    np.testing.assert_array_equal(Z[:, 1], gone)
    np.testing.assert_array_equal(Z[:, 3], table.city == "Quito")
    np.testing.assert_array_equal(Z[:, 5], table.city.isna())
    np.testing.assert_array_equal(Z[:, 6], table.owner)
    # The parts of a date are missing together, so only one column marks them.
    assert [name for name in names if name.startswith("since") and "missing" in name] == [
        "since is missing"
    ]
    assert np.linalg.matrix_rank(Z - Z.mean(axis=0)) == Z.shape[1]


def test_every_value_of_a_category_has_a_column_on_request(table):
    names, Z = blocks(table, "kind", every=True)
    at = [j for j, name in enumerate(names) if name.startswith("city")]
    assert [names[j] for j in at] == [
        "city = Lima", "city = Quito", "city = Cusco", "city is missing",
    ]  # fmt: skip
    np.testing.assert_array_equal(Z[:, at].sum(axis=1), 1)


def test_many_categories_share_a_column():
    values = [f"v{i:02d}" for i in range(80) for _ in range(3)] + ["v00"] * 5
    table = {"x": values, "y": ["a", "b"] * (len(values) // 2) + ["a"] * (len(values) % 2)}
    schema = look(table, "y", columns={"x": "category"})
    model = LDA(encode="onehot", shrinkage=0.1).fit(table, "y", schema=schema)
    names = model.encoded_names_.tolist()
    assert len(names) == 60  # 60 values without the most frequent one, and the others
    assert names[-1] == "x = other values"
    assert "x = v00" not in names
    new = model.predict_proba({"x": ["v79", "never seen"]})
    np.testing.assert_array_equal(new[0], new[1])


def test_normal_scores_are_quantiles_of_the_gaussian(rng):
    x = np.exp(rng.normal(size=5000))
    q = tuple(np.quantile(x, np.linspace(0, 1, 101), method="inverted_cdf"))
    z = normal_scores(x, q)
    np.testing.assert_allclose(z[np.abs(z) < 2], np.log(x)[np.abs(z) < 2], atol=0.15)
    assert z.min() == ndtri(0.005)
    assert z.max() == ndtri(0.995)
    # A value that is many quantiles has the mean of their levels.
    q = (0.0,) * 71 + (1.0,) * 30
    np.testing.assert_allclose(normal_scores(np.array([0.0, 1.0]), q), ndtri([0.35, 0.855]))


def test_weights_count_as_repeated_rows(table, rng):
    weight = rng.integers(0, 3, len(table))
    repeated = table.loc[np.repeat(table.index, weight)]
    one = LDA(encode="normal", shrinkage=0.1).fit(table, "kind", sample_weight=weight)
    two = LDA(encode="normal", shrinkage=0.1).fit(repeated, "kind")
    assert one.encoded_names_.tolist() == two.encoded_names_.tolist()
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9)


# The models -------------------------------------------------------------------------------------


def test_without_shrinkage_the_units_do_not_matter(table):
    """LDA on the matrix is LDA on any other matrix with the same span."""
    names, Z = blocks(table, "kind")
    model = LDA(encode="onehot").fit(table, "kind")
    alone = LDA().fit(Z * np.arange(1, Z.shape[1] + 1), table.kind)
    np.testing.assert_allclose(
        model.predict_proba(table),
        alone.predict_proba(Z * np.arange(1, Z.shape[1] + 1)),
        rtol=1e-9,
    )
    assert tuple(model.encoded_names_) == names
    assert model.coef_.shape == model.means_.shape == (3, len(names))
    assert model.transform(table).shape == (len(table), 2)


@pytest.mark.filterwarnings("ignore::verosim.SingularWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_merging_and_forgetting_are_exact_given_the_schema(model, table):
    whole = clone(model).fit(table, "kind")
    first, second = table[:170], table[170:]
    a = clone(model).fit(first, "kind", schema=whole.schema_)
    b = clone(model).fit(second, "kind", schema=whole.schema_)
    wanted = whole.predict_proba(table)
    np.testing.assert_allclose((a + b).predict_proba(table), wanted, atol=1e-10)
    grown = clone(model).partial_fit(first, "kind", schema=whole.schema_)
    np.testing.assert_allclose(
        grown.partial_fit(second, "kind").predict_proba(table), wanted, atol=1e-10
    )
    whole.forget(second, "kind")
    np.testing.assert_allclose(whole.predict_proba(table), a.predict_proba(table), atol=1e-8)


@pytest.mark.filterwarnings("ignore::verosim.SingularWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_cross_validation_equals_refits_given_the_schema(model, table):
    folds = np.arange(len(table)) % 4
    schema = clone(model).fit(table, "kind").schema_
    found = cross_validate(model, table, "kind", cv=folds, schema=schema, keep_rows=True)
    for f in range(4):
        at = folds == f
        rest = clone(model).fit(table[~at], "kind", schema=schema)
        np.testing.assert_allclose(
            found.log_proba[at], rest.predict_log_proba(table[at]), rtol=1e-7, atol=1e-8
        )


def test_the_schema_is_saved_with_the_matrix(table, tmp_path):
    model = LDA(encode="normal").fit(table, "kind")
    model.schema_.save(tmp_path / "schema.json")
    schema = Schema.load(tmp_path / "schema.json")
    assert schema == model.schema_
    again = LDA(encode="normal").fit(table, "kind", schema=schema)
    assert again.stats_.fingerprint() == model.stats_.fingerprint()
    assert schema.edit({"age": "ignore"}).design == ()


def test_another_target_is_never_read_as_a_column(table):
    schema = LDA(encode="onehot").fit(table.drop(columns="kind"), table.kind).schema_
    model = LDA(encode="onehot").fit(table.drop(columns="kind"), "owner", schema=schema)
    assert "owner" not in model.encoded_names_


def test_arrays_are_read_as_tables(rng):
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80) > 0
    X[::7, 1] = np.nan
    model = LDA(encode="onehot").fit(X, y)
    assert len(model.encoded_names_) == 4
    assert model.predict_proba(X[:5]).shape == (5, 2)


def test_a_nominal_column_does_not_remove_full_covariances(rng):
    """Two species of one shape that differ along a correlation, and a column for the sex."""
    n = 400
    y = rng.choice(["blue", "orange"], n)
    size = rng.normal(size=(n, 1))
    X = size + 0.15 * rng.normal(size=(n, 4))
    X[:, 0] += np.where(y == "blue", 0.6, -0.6)
    table = pd.DataFrame(X, columns=list("abcd")).assign(sex=rng.choice(["F", "M"], n), species=y)
    encoded = cross_validate(LDA(encode="onehot"), table, "species", cv=5).mean("accuracy")
    naive = cross_validate(verosim.NaiveBayes(), table, "species", cv=5).mean("accuracy")
    assert encoded > 0.98
    assert naive < 0.8


# Errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["log_density", "log_joint"])
def test_an_encoded_model_is_not_a_density(method, table):
    model = LDA(encode="onehot").fit(table, "kind")
    assert not hasattr(model, method)
    with pytest.raises(VerosimError, match="not a density of the columns"):
        getattr(model, method)(table)
    with pytest.raises(VerosimError, match="sample is not available"):
        model.sample(2)
    assert model.predict_table(table).schema.names == ["prediction", "p_a", "p_b", "p_c"]
    with pytest.raises(VerosimError, match="bic is not available"):
        verosim.bic(model)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"encode": "dummies"}, "encode must be 'onehot', 'normal' or None; got 'dummies'"),
        ({"encode": "onehot", "missing": "marginalise"}, "missing='marginalise' cannot be used"),
        ({"encode": "onehot", "robust": True}, "robust=True cannot be used"),
    ],
)
def test_wrong_settings(settings, match, table):
    with pytest.raises(VerosimError, match=match):
        LDA(**settings).fit(table, "kind")


def test_models_that_read_rows_differently_do_not_merge(table):
    numbers = table[["age", "pay", "kind"]].dropna()
    plain, encoded = LDA().fit(numbers, "kind"), LDA(encode="onehot").fit(numbers, "kind")
    with pytest.raises(VerosimError, match="encode is 'onehot' in this model and None"):
        encoded + plain
    kinds = look(numbers, "kind")
    encoded = LDA(encode="onehot").fit(numbers, "kind", schema=kinds)
    other = LDA(encode="onehot").fit(numbers[:50], "kind", schema=kinds)
    with pytest.raises(VerosimError, match="Column 'age' is encoded in another way"):
        encoded + other
    with pytest.raises(VerosimError, match="encode changed"):
        plain.set_params(encode="onehot").predict(numbers)


def test_an_infinite_cell_is_named(table):
    table.loc[7, "pay"] = np.inf
    with pytest.raises(VerosimError, match="column 'pay', row 7"):
        LDA(encode="onehot").fit(table, "kind")


# Pooling by the number of rows -------------------------------------------------------------------


def test_auto_pooling_counts_the_pooled_covariance_as_d_rows(rng):
    X, y = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)), np.repeat([0, 1], [45, 15])
    model = RDA(pooling="auto", shrinkage=0).fit(X, y)
    scatter = [np.cov(X[y == k].T, bias=True) * (y == k).sum() for k in (0, 1)]
    pooled = sum(scatter) / 60
    for k, n_k in enumerate((45, 15)):
        share = 3 / (3 + n_k)
        assert model.pooling_[k] == share
        wanted = (1 - share) * scatter[k] / n_k + share * pooled
        np.testing.assert_allclose(model.covariances_[k], wanted, rtol=1e-10)
    with pytest.raises(VerosimError, match="pooling must be a number, 'auto' or 'cv'"):
        RDA(pooling="automatic").fit(X, y)
