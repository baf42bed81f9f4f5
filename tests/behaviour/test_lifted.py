"""LDA on random Fourier features."""

from __future__ import annotations

from contextlib import nullcontext, suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import verosim
from verosim import LiftedLDA, VerosimError, cross_validate
from verosim.data.adapters import open_table
from verosim.data.lift import Lift, directions


@pytest.fixture
def table(rng):
    n = 240
    a, b = rng.uniform(-1, 1, (2, n))
    out = pd.DataFrame({
        "a": a, "b": b, "c": rng.choice(["x", "y"], n), "odd": np.where(a * b > 0, "yes", "no"),
    })  # fmt: skip
    out.loc[rng.random(n) < 0.05, "a"] = None
    return out


def test_products_of_features_are_the_kernel(rng):
    """φ(z)ᵀφ(z')/h tends to exp(−γ ‖z − z'‖²)."""
    Z = rng.normal(size=(30, 4))
    phi = Lift(4, 20_000, 0.3, 0)(Z)
    squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.testing.assert_allclose(phi @ phi.T / 20_000, np.exp(-0.3 * squares), atol=0.02)


def test_directions_are_orthogonal_in_groups_and_depend_on_the_seed_only():
    W = directions(5, 12, 3)
    assert W.shape == (5, 12)
    gram = W[:, :5].T @ W[:, :5]
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-12)
    np.testing.assert_array_equal(W, directions.__wrapped__(5, 12, 3))
    assert not np.allclose(W, directions(5, 12, 4))


def test_huge_cells_have_features():
    assert np.isfinite(Lift(2, 3, 1.0, 0)(np.array([[1e308, -1e308]]))).all()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e6, 1e7, 1e200])
def test_features_are_cosines_and_sines(rng, size):
    lift = Lift(1, 64, 0.5, 0)
    Z = np.concatenate([rng.uniform(-size, size, (200, 1)), np.zeros((1, 1)), [[-size], [size]]])
    U = Z * directions(1, 64, 0)
    wanted = np.concatenate([np.cos(U), np.sin(U)], axis=1)
    np.testing.assert_allclose(lift(Z), wanted, rtol=0, atol=5e-16)


def test_features_of_a_row_do_not_depend_on_the_other_rows(rng):
    lift = Lift(40, 33, 0.2, 0)
    Z = rng.normal(size=(50, 40)) * (rng.random((50, 40)) < np.linspace(0, 1, 50)[:, None])
    Z[7, 3], Z[8, 5], Z[9] = 1e9, 1e150, 1e308
    together = lift(Z)
    apart = np.concatenate([lift(Z[a:b]) for a, b in ((0, 8), (8, 9), (9, 10), (10, 50))])
    assert np.isfinite(together).all()
    few = (Z != 0).sum(axis=1) <= 13  # more cells are multiplied by BLAS
    np.testing.assert_array_equal(together[few], apart[few])
    np.testing.assert_allclose(together[10:], apart[10:], rtol=0, atol=1e-13)
    rows = np.setdiff1d(np.arange(50), [7, 8, 9])
    U = Z[rows] @ directions(40, 33, 0) * np.sqrt(0.4)
    wanted = np.concatenate([np.cos(U), np.sin(U)], axis=1)
    np.testing.assert_allclose(together[rows], wanted, rtol=0, atol=1e-13)


def test_it_is_lda_with_a_ridge_on_the_features(table):
    model = LiftedLDA(n_features=40, ridge=0.05).fit(table, "odd")
    reader = model.spec().reader(model.schema_)
    (rows,) = open_table(table).batches()
    phi = model.state_.params.lift(reader.block(rows))
    y = (table.odd == "yes").to_numpy().astype(int)
    means = np.array([phi[y == k].mean(axis=0) for k in (0, 1)])
    R = phi - means[y]
    sigma = R.T @ R / len(phi) + 0.05 * np.eye(40)
    z = phi[:, None] - means
    delta = -0.5 * np.einsum("nci,ij,ncj->nc", z, np.linalg.inv(sigma), z)
    delta += np.log(np.bincount(y) / len(y))
    wanted = np.exp(delta - np.logaddexp(*delta.T)[:, None])
    np.testing.assert_allclose(model.predict_proba(table), wanted, atol=1e-10)
    assert model.n_parameters_ == 2 * 40 + 40 * 41 // 2 + 1


def test_it_separates_what_no_line_separates(table):
    lifted = cross_validate(LiftedLDA(), table, "odd", cv=5).mean("accuracy")
    linear = cross_validate(verosim.LDA(encode="onehot"), table, "odd", cv=5).mean("accuracy")
    assert lifted > 0.85
    assert linear < 0.6


def test_merging_and_forgetting_are_exact_given_the_schema(table):
    whole = LiftedLDA(n_features=60).fit(table, "odd")
    first, second = table[:130], table[130:]
    a, b = (
        LiftedLDA(n_features=60).fit(part, "odd", schema=whole.schema_) for part in (first, second)
    )
    wanted = whole.predict_proba(table)
    np.testing.assert_allclose((a + b).predict_proba(table), wanted, atol=1e-11)
    whole.forget(second, "odd")
    np.testing.assert_allclose(whole.predict_proba(table), a.predict_proba(table), atol=1e-9)


def test_pieces_of_a_stream_give_the_same_model(table):
    schema = LiftedLDA().fit(table, "odd").schema_
    whole = LiftedLDA(n_features=50).fit(table, "odd", schema=schema)
    pieces = LiftedLDA(n_features=50).fit(
        [table[i : i + 37] for i in range(0, len(table), 37)], "odd", schema=schema
    )
    np.testing.assert_allclose(pieces.predict_proba(table), whole.predict_proba(table), atol=1e-11)


def test_another_ridge_needs_no_data(table):
    model = LiftedLDA(n_features=60).fit(table, "odd")
    again = LiftedLDA(n_features=60, ridge=0.001).fit(table, "odd")
    model.set_params(ridge=0.001)
    np.testing.assert_array_equal(model.predict_proba(table), again.predict_proba(table))
    found = verosim.search(LiftedLDA(n_features=60), table, "odd", {"ridge": [0.01, 0.1, 1.0]})
    assert found.best_settings["ridge"] in (0.01, 0.1, 1.0)


def test_cross_validation_equals_refits_given_the_schema(table):
    model = LiftedLDA(n_features=60)
    folds = np.arange(len(table)) % 4
    schema = clone(model).fit(table, "odd").schema_
    found = cross_validate(model, table, "odd", cv=folds, schema=schema, keep_rows=True)
    for f in range(4):
        at = folds == f
        rest = clone(model).fit(table[~at], "odd", schema=schema)
        np.testing.assert_allclose(
            found.log_proba[at], rest.predict_log_proba(table[at]), atol=1e-9
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(table, weighted, rng):
    some = table[:25].assign(odd=["one", *(["no", "yes"] * 12)])  # one class has a single row
    weight = rng.integers(1, 4, 25).astype(float) if weighted else np.ones(25)
    schema = LiftedLDA().fit(table, "odd").schema_
    model = LiftedLDA(n_features=30, ridge=0.01)
    found = cross_validate(
        model, some, "odd", cv="loo", schema=schema, sample_weight=weight, keep_rows=True
    )
    for i in range(1, 25):
        rest = np.arange(25) != i
        refit = clone(model).fit(some[rest], "odd", schema=schema, sample_weight=weight[rest])
        np.testing.assert_allclose(
            found.log_proba[i], refit.predict_log_proba(some[i : i + 1])[0], atol=1e-8
        )
    assert found.log_proba[0, found.classes.tolist().index("one")] == -np.inf


@given(seed=st.integers(0, 2**32 - 1), base=st.sampled_from([-90, 0, 30, 80]))
def test_heavy_rows_can_be_left_out_or_are_refused(seed, base):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), np.arange(8) % 2
    w = 10.0 ** (base + rng.uniform(0, 3, 8))
    w[0] *= rng.choice([1.0, 1e8, 1e16])
    with nullcontext() if w.max() < 1e12 * w.min() else suppress(VerosimError):
        found = cross_validate(LiftedLDA(n_features=10), X, y, sample_weight=w, cv="loo")
        np.testing.assert_allclose(found.proba.sum(axis=1), 1.0)


def test_weights_count_as_repeated_rows(table, rng):
    weight = rng.integers(0, 3, len(table))
    repeated = table.loc[np.repeat(table.index, weight)]
    one = LiftedLDA(n_features=60).fit(table, "odd", sample_weight=weight)
    two = LiftedLDA(n_features=60).fit(repeated, "odd")
    np.testing.assert_allclose(one.gamma_, two.gamma_)
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), atol=1e-9)


def test_it_is_not_a_density(table):
    model = LiftedLDA(n_features=20).fit(table, "odd")
    for method in ("log_density", "log_joint", "sample"):
        assert not hasattr(model, method)
        with pytest.raises(VerosimError, match=f"so {method} is not available"):
            getattr(model, method)
    calibrated = verosim.calibrate(model, table, "odd")
    assert calibrated.predict_proba(table).shape == (len(table), 2)
    with pytest.raises(VerosimError, match="log_density is not available"):
        calibrated.log_density(table)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_features": 1}, "n_features must be a whole number"),
        ({"scale": 0}, "scale must be a finite number above 0"),
        ({"ridge": 0.0}, "ridge must be a finite number above 0"),
        ({"random_state": None}, "random_state must be a whole number"),
    ],
)
def test_wrong_settings(settings, match, table):
    with pytest.raises(VerosimError, match=match):
        LiftedLDA(**settings).fit(table, "odd")


def test_models_with_other_seeds_do_not_merge(table):
    one = LiftedLDA(n_features=20).fit(table, "odd")
    two = LiftedLDA(n_features=20, random_state=1).fit(table, "odd", schema=one.schema_)
    with pytest.raises(VerosimError, match="random_state is 0 in this model and 1"):
        one + two
