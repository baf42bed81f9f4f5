"""What users bring: every container and dtype the same answer, every mistake a named place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import verosim
from verosim import estimators
from verosim.data.arrays import as_matrix

X, y = load_iris(return_X_y=True)
WHOLE = np.round(X * 10)
ROWS = [n for n in estimators.__all__ if not n.startswith("Text")]  # they read texts
NUMERIC = [n for n in ROWS if n != "CategoricalNB"]
E = verosim.VerosimError


def fitted(name, Z=WHOLE, labels=y):
    return getattr(verosim, name)().fit(Z, labels)


@pytest.mark.parametrize("name", ROWS)
def test_every_container(name, tmp_path):
    expected = fitted(name).predict_proba(WHOLE)
    np.save(tmp_path / "x.npy", WHOLE)
    frozen = WHOLE.copy()
    frozen.setflags(write=False)
    wide = np.zeros((150, 8))
    wide[:, ::2] = WHOLE
    forms = {
        "fortran": np.asfortranarray(WHOLE),
        "strided": wide[:, ::2],
        "reversed": WHOLE[::-1][::-1],
        "read-only": frozen,
        "memory-mapped": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "float32": WHOLE.astype(np.float32),
        "int64": WHOLE.astype(np.int64),
        "uint8": WHOLE.astype(np.uint8),
        "big-endian": WHOLE.astype(">f8"),
        "float16": WHOLE.astype(np.float16),
        "object": WHOLE.astype(object),
        "list": WHOLE.tolist(),
    }
    for form, Z in forms.items():
        found = fitted(name, Z).predict_proba(Z)
        np.testing.assert_allclose(found, expected, atol=1e-10, err_msg=form)
    for form, Z in {
        "pandas": pd.DataFrame(WHOLE, columns=list("abcd")),
        "pandas int": pd.DataFrame(WHOLE.astype(int), columns=list("abcd")),
        "nullable": pd.DataFrame(WHOLE, columns=list("abcd")).astype("Float64"),
        "polars": pl.DataFrame(WHOLE, schema=list("abcd")),
    }.items():
        model = fitted(name, Z)
        np.testing.assert_allclose(model.predict_proba(Z), expected, atol=1e-10, err_msg=form)
        assert model.feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize(
    "labels",
    [y, y.astype(str), y == 0, y.astype(np.int8), y.astype(float), y.astype(object),
     y.astype(">i4"), np.array(["rojo", "añil", "紫"])[y], (y + 10**12),
     pd.Series(y.astype(str)), y.tolist()],
    ids=lambda v: str(getattr(v, "dtype", "list")),
)  # fmt: skip
def test_every_kind_of_label(labels):
    model = verosim.LDA().fit(X, labels)
    expected = verosim.LDA().fit(X, np.unique(np.asarray(labels), return_inverse=True)[1])
    np.testing.assert_array_equal(model.classes_, np.unique(np.asarray(labels)))
    assert model.classes_.dtype == np.asarray(labels).dtype.newbyteorder("=")
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    assert (model.predict(X) == np.asarray(labels)).mean() > 0.95


@pytest.mark.parametrize(
    "name", ["GaussianNB", "NaiveLDA", "MultinomialNB", "BernoulliNB", "ComplementNB"]
)
def test_sparse_is_dense(name):
    rng = np.random.default_rng(3)
    Z = rng.poisson(0.5, (150, 6)).astype(float)
    dense = fitted(name, Z)
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array):
        model = fitted(name, form(Z))
        for method in ("predict_proba", "log_joint", "decision_function"):
            expected = getattr(dense, method)(Z)
            np.testing.assert_allclose(getattr(model, method)(form(Z)), expected, atol=1e-9)
    twice = sparse.csr_matrix(
        (np.ones(4), np.array([1, 1, 0, 2]), np.array([0, 2, 4])), shape=(2, 6)
    )
    np.testing.assert_allclose(dense.predict_proba(twice), dense.predict_proba(twice.toarray()))


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "GaussianNB"])
def test_sparse_cells_in_any_order_are_not_copied(name, rng):
    X = sparse.random(60, 200, 0.2, format="csr", random_state=0)
    X.data = np.ceil(3 * X.data)
    order = np.concatenate([rng.permutation(range(a, b)) for a, b in pairwise(X.indptr)])
    mixed = sparse.csr_matrix((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    assert not mixed.has_canonical_format
    y = np.arange(60) % 3
    a, b = (getattr(verosim, name)().fit(rows, y) for rows in (X, mixed))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(mixed), atol=1e-12)
    assert as_matrix(mixed, sparse_allowed=True).indices is mixed.indices


def test_sparse_far_from_zero(rng):
    Z = rng.normal(1e6, 1, (300, 3))
    labels = rng.integers(0, 2, 300)
    w = rng.random(300) + 0.1
    a = verosim.GaussianNB().fit(Z, labels, sample_weight=w)
    b = verosim.GaussianNB().fit(sparse.csr_matrix(Z), labels, sample_weight=w)
    np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-9)
    np.testing.assert_allclose(a.predict_proba(Z), b.predict_proba(sparse.csr_matrix(Z)), atol=1e-9)
    np.testing.assert_allclose(a.mahalanobis(Z), b.mahalanobis(sparse.csr_matrix(Z)))


@pytest.mark.parametrize(
    "name", ["QDA", "LDA", "RDA", "HistogramNB", "JointHistogram", "CategoricalNB"]
)
def test_sparse_is_refused_with_a_way_out(name):
    with pytest.raises(E, match=r"sparse.*toarray"):
        fitted(name, sparse.csr_matrix(WHOLE))


@pytest.mark.parametrize("name", NUMERIC)
def test_infinity_is_named(name):
    Z = WHOLE.copy()
    Z[17, 2] = np.inf
    table = pd.DataFrame(Z, columns=["sepal", "width", "petal", "tip"])
    with pytest.raises(E, match=r"infinity.*column 'petal', row 17"):
        fitted(name, table)
    model = fitted(name, pd.DataFrame(WHOLE, columns=table.columns))
    with pytest.raises(E, match="infinity in column 'petal', row 17"):
        model.predict(table)


@pytest.mark.parametrize("value", [1e200, -1e308])
def test_absurd_values_are_named(value):
    for name in ("GaussianNB", "LDA", "QDA"):
        Z = X.copy()
        Z[0, 1], Z[1, 1] = value, -value
        with pytest.raises(E, match=r"too large.*column 'x1'"):
            fitted(name, Z)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_negative_counts_are_named(name):
    Z = WHOLE.copy()
    Z[20, 3] = -2
    for form in (Z, sparse.csr_matrix(Z)):
        with pytest.raises(E, match=r"Negative.*got -2 in column 'x3', row 20, class 0"):
            fitted(name, form)


def test_labels_that_are_none():
    for bad, match in (
        ([0, 1, np.nan], "row 2"),
        (["a", None, "b"], "row 1"),
        (pd.array(["a", None, "b"], dtype="string"), "row 1"),
        ([0.5, 1.5, 2.5], "Unknown label type: continuous"),
        (["a", 1, "b"], "mix text"),
        ([[0], [1], [2, 3]], "y"),
    ):
        bad = bad if not isinstance(bad, list) else np.array(bad, dtype=object if (
            None in bad or "a" in bad or isinstance(bad[0], list)) else float)  # fmt: skip
        with pytest.raises(E, match=match):
            verosim.GaussianNB().fit(X[:3], bad)


def test_weights_that_are_none():
    for weights, match in (
        (np.zeros(150), "every weight is zero"),
        (-np.ones(150), "row 0 is negative"),
        (np.full(150, np.nan), "which is not finite"),
        (np.ones(3), "one weight per row"),
        (["a"] * 150, "numbers"),
    ):
        with pytest.raises(E, match=match):
            verosim.LDA().fit(X, y, sample_weight=weights)


def test_columns_that_do_not_match():
    table = pd.DataFrame(X, columns=list("abcd"))
    model = verosim.LDA().fit(table, y)
    with pytest.raises(E, match="Feature names unseen at fit time"):
        model.predict(table.rename(columns={"c": "z"}))
    with pytest.raises(E, match="should match those that were passed during fit"):
        model.predict(table[list("abdc")])
    with pytest.raises(E, match="X has 3 features, but LDA is expecting 4"):
        verosim.LDA().fit(X, y).predict(X[:, :3])
    with pytest.raises(E, match="The columns 'a', 'b', 'c', 'd' of one model"):
        model.merge(verosim.LDA().fit(table.rename(columns=str.upper), y))
    with pytest.raises(E, match="X has 150 rows and y has 149 labels"):
        verosim.LDA().fit(X, y[:-1])


def test_text_where_numbers_belong():
    table = pd.DataFrame({"age": [1.0, 2.0], "city": ["Lima", "Quito"]})
    with pytest.raises(E, match=r"Column 'city', row 0: 'Lima' is not a number\. .*CategoricalNB"):
        verosim.GaussianNB().fit(table, [0, 1])
    with pytest.raises(E, match=r"Column 'x0', row 0: 'red' is not a number\. "):
        verosim.LDA().fit(np.array([["red"], ["blue"]]), [0, 1])
    with pytest.raises(
        TypeError, match=r"'x1', row 0: \{\} is not .* argument must be a string of dig"
    ):
        verosim.LDA().fit(np.array([[1.0, {}], [2.0, 3.0]], dtype=object), [0, 1])


def test_not_fitted():
    with pytest.raises(E, match=r"not fitted yet.*Call fit\(X, y\) first"):
        verosim.GaussianNB().predict(X)


@pytest.mark.parametrize(
    ("setting", "match"),
    [({"priors": [0.5, 0.5]}, "3 classes"), ({"priors": [0.5, 0.4, 0.4]}, "sum to 1"),
     ({"priors": {0: 1.0}}, "no prior for class '1', '2'"),
     ({"priors": {9: 1.0}}, "unknown classes '9'"),
     ({"priors": "equal"}, "priors='equal'"),
     ({"covariance": "ml"}, "covariance must be .*; got 'ml'"),
     ({"shrinkage": 1.5}, "shrinkage must be .*; got 1.5"),
     ({"shrinkage": "lw"}, "shrinkage must be .*; got 'lw'"),
     ({"floor": -1}, "floor must be .*; got -1")],
)  # fmt: skip
def test_settings_that_are_wrong(setting, match):
    for model in (verosim.GaussianNB, verosim.LDA):
        with pytest.raises(E, match=match):
            model(**setting).fit(X, y)


def test_masked_cells_are_missing():
    masked = np.ma.masked_array(X, mask=X > 6)
    holes = np.where(X > 6, np.nan, X)
    a, b = verosim.GaussianNB().fit(masked, y), verosim.GaussianNB().fit(holes, y)
    np.testing.assert_array_equal(a.means_, b.means_)


def test_huge_unsigned_labels():
    labels = (np.arange(20, dtype=np.uint64) % 2) + np.uint64(2**63)
    model = verosim.LDA().fit(X[:20, :2], labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))


def test_equal_settings_are_no_change():
    edges = [np.array([-1.0, 0, 9]), np.array([-1.0, 0.0, 0.5, 9])]
    model = verosim.HistogramNB(bins=edges).fit(X[:, :2], y)
    model.set_params(bins=[e.copy() for e in edges]).predict(X[:, :2])
