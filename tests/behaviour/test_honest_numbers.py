"""Numbers are exact or refused by name: labels, weights, sparse places, far rows, tiny squares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import verosim

GAUSSIANS = [verosim.GaussianNB, verosim.NaiveLDA, verosim.LDA, verosim.QDA, verosim.RDA]
COUNTS = [verosim.MultinomialNB, verosim.BernoulliNB, verosim.ComplementNB, verosim.GaussianNB]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) + y[:, None], y


@pytest.mark.parametrize("first", [np.int64, np.uint64])
@pytest.mark.parametrize("second", [np.int64, np.uint64, np.int32])
def test_merged_integer_labels_stay_exact(rows, first, second):
    X, y = rows
    big = 2**53 if second is not np.int32 else 2**20
    one = verosim.GaussianNB().fit(X, (y + big).astype(first))
    two = verosim.GaussianNB().fit(X, (y + big + 1).astype(second))
    merged = one.merge(two)
    assert merged.classes_.dtype.kind in "iu"
    assert merged.classes_.tolist() == [big, big + 1, big + 2]


def test_streamed_integer_labels_stay_exact(rows):
    X, y = rows
    labels = y.astype(np.int64) + 2**60
    model = verosim.GaussianNB().partial_fit(X, labels)
    model.partial_fit(X, labels.astype(np.uint64) + np.uint64(1))
    assert model.classes_.tolist() == [2**60, 2**60 + 1, 2**60 + 2]


def test_labels_beyond_both_integer_types_stay_exact(rows):
    X, y = rows
    one = verosim.GaussianNB().fit(X, -y)
    two = verosim.GaussianNB().fit(X, y.astype(np.uint64) + np.uint64(2**63))
    assert one.merge(two).classes_.tolist() == [-1, 0, 2**63, 2**63 + 1]


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("model", COUNTS)
@pytest.mark.parametrize("place", [10, -1])
def test_a_sparse_index_out_of_range_is_an_error_that_names_it(form, model, place):
    X = sp.eye_array(4, format=form) if hasattr(sp, "eye_array") else sp.eye(4, format=form)
    (X.col if form == "coo" else X.indices)[2] = place
    with pytest.raises(verosim.VerosimError, match=rf"index {place}"):
        model().fit(X, [0, 1, 0, 1])
    fitted = model().fit(sp.csr_array(np.eye(4)), [0, 1, 0, 1])
    with pytest.raises(verosim.VerosimError, match=rf"index {place}"):
        fitted.predict(X)


def test_a_sparse_matrix_with_wrong_row_starts_is_an_error():
    X = sp.csr_array(np.eye(4))
    X.indptr[2] = 9
    with pytest.raises(verosim.VerosimError, match="indptr"):
        verosim.MultinomialNB().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("model", GAUSSIANS)
def test_log_probabilities_of_far_rows_are_normalised(rows, model):
    X = rows[0]
    both = np.vstack([X, X])  # the same rows in both classes: every posterior is one half
    fitted = model().fit(both, np.repeat([0, 1], 40))
    far = fitted.predict_log_proba([[1e9, -1e9], [1e12, 0.0]])
    np.testing.assert_allclose(np.exp(far).sum(axis=1), 1.0)
    np.testing.assert_allclose(far, np.log(0.5))


@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.QDA, verosim.RDA])
def test_a_row_too_far_for_any_class_is_refused_by_name(rows, model):
    with pytest.raises(verosim.VerosimError, match=r"1e\+160.*column 'x1', row 1"):
        model().fit(*rows).predict_proba([[0.0, 0.0], [0.0, 1e160]])


@pytest.mark.parametrize("model", GAUSSIANS)
def test_squares_too_small_for_a_double_are_refused_by_name(rows, model):
    X, y = rows
    with pytest.raises(verosim.VerosimError, match="column 'x0'"):
        model().fit(X * 1e-156, y)
    small = model().fit(X * 1e-120, y).predict_proba(X * 1e-120)
    np.testing.assert_allclose(small, model().fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("weight", [1e308, 1e-200])
@pytest.mark.parametrize("model", [*GAUSSIANS, verosim.LogisticRegression, verosim.NaiveBayes])
def test_weights_that_would_overflow_are_refused_by_name(rows, model, weight):
    X, y = rows
    with pytest.raises(verosim.VerosimError, match="weight of row 0"):
        model().fit(X, y, sample_weight=np.full(40, weight))


@pytest.mark.parametrize("model", [verosim.CategoricalNB, verosim.BernoulliNB])
def test_a_small_count_is_kept_if_nothing_was_forgotten(model):
    X, y = np.array([[0], [1], [0], [1]]), [0, 0, 1, 1]
    weight = np.array([1.0, 1e-14, 1.0, 1e-30])  # the second value is rare in both classes
    fitted = model(alpha=1e-40).fit(X, y, sample_weight=weight)
    odds = np.log(1e-14) - np.log(1e-30)
    log = fitted.predict_log_proba([[1]])[0]
    np.testing.assert_allclose(
        log[0] - log[1], odds, rtol=1e-9 if model is verosim.CategoricalNB else 1
    )


def test_a_count_that_is_forgotten_leaves_no_residue():
    rng = np.random.default_rng(1)
    X, y, w = rng.integers(0, 3, (60, 2)), rng.integers(0, 2, 60), rng.random(60)
    gone = (X[:, 0] == 2) & (y == 1)
    model = verosim.CategoricalNB().fit(X, y, sample_weight=w)
    for i in np.flatnonzero(gone):
        model.forget(X[i : i + 1], y[i : i + 1], sample_weight=w[i : i + 1])
    again = verosim.CategoricalNB().fit(X[~gone], y[~gone], sample_weight=w[~gone])
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "columns", "classes"),
    [
        (verosim.LDA(), 20_000, 2),
        (verosim.QDA(), 5_000, 10),
        (verosim.HistogramNB(bins=10**9), 2, 2),
    ],
)
def test_sums_that_need_too_much_memory_are_refused_by_size(model, columns, classes):
    X = np.zeros((20, columns))
    X[:, 0] = np.arange(20)
    with pytest.raises(verosim.VerosimError, match="GB of memory, and the limit is 3 GB"):
        model.fit(X, np.arange(20) % classes)


def test_the_limit_of_memory_can_be_set(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 800)), np.arange(40) % 2
    monkeypatch.setenv("VEROSIM_MEMORY_GB", "0.001")
    with pytest.raises(verosim.VerosimError, match=r"the limit is 0.001 GB"):
        verosim.LDA().fit(X, y)
    monkeypatch.setenv("VEROSIM_MEMORY_GB", "1")
    verosim.LDA(shrinkage=0.1).fit(X, y)
    monkeypatch.setenv("VEROSIM_MEMORY_GB", "much")
    with pytest.raises(verosim.VerosimError, match="VEROSIM_MEMORY_GB"):
        verosim.LDA().fit(X, y)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.QDA])
def test_weighted_variances_keep_their_digits(learn, model):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(200, 1)), np.arange(200) % 2, np.ones(200)
    X[100:] += 1e6  # the heavy rows are far from the first ones
    w[100:] = 1e12
    fitted = getattr(model(), learn)(X, y, sample_weight=w)
    for k in (0, 1):
        x, v = X[y == k, 0].astype(np.longdouble), w[y == k].astype(np.longdouble)
        mean = (v * x).sum() / v.sum()
        expected = float((v * (x - mean) ** 2).sum() / v.sum())
        np.testing.assert_allclose(np.ravel(fitted.covariances_[k])[0], expected, rtol=1e-13)


@pytest.mark.parametrize("model", [verosim.LDA, verosim.QDA])
def test_a_nearly_singular_covariance_is_reported_with_its_columns(model, recwarn):
    rng = np.random.default_rng(0)
    a, b, y = rng.normal(size=300), rng.normal(size=300), np.arange(300) % 2
    X = np.column_stack([a, b, a + 3e-7 * rng.normal(size=300)])
    with pytest.warns(verosim.PrecisionWarning, match="'x0', 'x2'.* [12345] correct digits"):
        model().fit(X, y)
    recwarn.clear()
    model().fit(np.column_stack([a, b, a + 1e-3 * rng.normal(size=300)]), y)
    assert not recwarn.list


@pytest.mark.parametrize("model", GAUSSIANS)
def test_squares_too_large_for_a_double_are_refused_by_name(rows, model, recwarn):
    X, y = rows
    with pytest.raises(verosim.VerosimError, match=r"'x0'.* too large|too large .*'x0'"):
        model().fit(X * 1e146, y)
    with pytest.raises(verosim.VerosimError, match=r"'x0'.* too large|too large .*'x0'"):
        model().fit((X * 1e-12 + y[:, None]) * 1e156, y)  # the classes are far apart
    assert not [str(one.message) for one in recwarn]
    large = model().fit(X * 1e120, y).predict_proba(X * 1e120)
    np.testing.assert_allclose(large, model().fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("model", GAUSSIANS)
def test_squares_too_small_because_of_their_weights_are_refused(rows, model):
    X, y = rows
    with pytest.raises(verosim.VerosimError, match=r"'x0'.* squares are too small"):
        model().fit(X * 1e-120, y, sample_weight=np.full(40, 1e-90))


@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
def test_zeros_that_a_sparse_matrix_does_not_store_keep_the_digits_of_light_rows(model):
    X = np.array([[4.0], [0.0], [np.nan], [0.0], [4.0], [1.0]])
    y, w = [0, 0, 0, 1, 1, 1], [1.0, 1e-9, 1e3, 1.0, 1e-8, 1e-9]
    dense, sparse = (model(floor=0).fit(x, y, sample_weight=w) for x in (X, sp.csr_array(X)))
    for name in ("covariances_", "means_"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-14)


@pytest.mark.parametrize("model", GAUSSIANS)
def test_squares_that_overflow_when_models_are_added_are_refused_by_name(model, recwarn):
    near, far = [[0.0], [1.0]], [[1e120], [2e120]]
    fitted = model().partial_fit(near, [0, 1], sample_weight=[1e90, 1e90])
    with pytest.raises(verosim.VerosimError, match=r"'x0'.* too large|too large .*'x0'"):
        fitted.partial_fit(far, [0, 1], sample_weight=[1e80, 1e80])
    assert not [str(one.message) for one in recwarn if one.category is RuntimeWarning]


@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_a_class_with_missing_cells_only_does_not_cost_the_others_digits(model, form):
    rows = 1e9 + np.array([[0.0], [np.nan], [1e-3], [2e-3], [2e-3], [5e-3]])
    x, y, known = rows[2:], [0, 1] * 3, [0, 2, 3, 4, 5]
    whole = model(floor=0).fit(form(rows[:2]), y[:2])  # class 1 has no value
    for start in (2, 4):
        whole = whole.merge(model(floor=0).fit(form(rows[start : start + 2]), y[:2]))
    expected = model(floor=0).fit(rows[known], [0, 0, 1, 0, 1])
    np.testing.assert_allclose(whole.covariances_, expected.covariances_, rtol=1e-9)
    empty = model(floor=0).fit(form(rows), [0, 2, 0, 1, 0, 1])
    dense = model(floor=0).fit(rows, [0, 2, 0, 1, 0, 1])
    np.testing.assert_allclose(empty.predict_log_proba(x), dense.predict_log_proba(x), rtol=1e-12)


def test_shrinkage_of_large_variances_does_not_overflow(recwarn):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    expected = verosim.GaussianNB(shrinkage="oas").fit(X, y).predict_proba(X)
    found = verosim.GaussianNB(shrinkage="oas").fit(X * 1e100, y).predict_proba(X * 1e100)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not recwarn.list


def test_the_ridge_of_texts_with_large_weights_has_a_solution():
    texts, y = ["dog ant", "", "dog", "", "ant", "cat"], [0, 1, 0, 1, 0, 1]
    weights = np.array([1e33, 4e30, 3e33, 8e29, 2e29, 1e32])
    model = verosim.TextRidge(d=8, min_count=1).fit(texts, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(["dog", "ant cat"])).all()


def test_heavy_weights_of_a_logistic_regression_cause_no_warnings_of_numpy(recwarn):
    X = np.array([[-1.0], [-0.9999999996], [-0.9999999993], [-1.0000000008]]) * 1e14
    weights = [2.8e29, 1.8e27, 8.4e27, 1.3e33]
    model = verosim.LogisticRegression().fit(X, [0, 1, 0, 1], sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()
    assert not [one for one in recwarn if not issubclass(one.category, verosim.VerosimWarning)]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(("unit", "weight"), [(1e142, 1e90), (1e142, 1e30), (1e130, 1e34)])
def test_squares_that_overflow_in_a_linear_svm_are_refused(rows, unit, weight, loss, form, recwarn):
    X, y = rows
    X = X * [1.0, unit]
    model = verosim.LinearSVM(loss=loss)
    with pytest.raises(verosim.VerosimError, match=r"'x1' has the value .*e\+1.*too large"):
        model.fit(form(X), y, sample_weight=np.full(40, weight))
    assert not recwarn.list


def test_steps_of_a_linear_svm_with_squares_that_underflow_have_a_length(recwarn):
    values = [
        9.999986019482041e135, 1.0000006721092702e136, 1.0000009160146628e136,
        1.0000008693792697e136, 9.99999693771278e135, 9.99999166296053e135,
        9.999991791146995e135, 1.000000197549773e136,
    ]  # fmt: skip
    X, y = np.column_stack([np.zeros(8), values]), [0, 1, 2, 3, 0, 1, 2, 3]
    weights = [
        0.5533410723580015, 0.11778334797762177, 0.6750178600897053, 0.16667463762699847,
        0.7062849109553395, 0.9230076234103906, 0.6993538768946694, 0.8356021035000274,
    ]  # fmt: skip
    model = verosim.LinearSVM(max_iter=50).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.decision_function(X)).all()
    assert not [one for one in recwarn if not issubclass(one.category, verosim.VerosimWarning)]


@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
def test_a_column_without_values_after_forget_is_not_refused_as_too_small(model):
    X = np.array([[1.0, np.nan], [3.0, 0.01], [2.0, np.nan], [5.0, 0.02]])
    y = [0, 0, 1, 1]
    left = model().fit(X, y).forget(X[[1, 3]], [0, 1])
    fresh = model().fit(X[[0, 2]], [0, 1])
    probes = [[1.2, np.nan], [1.9, 0.01]]
    assert np.allclose(left.predict_proba(probes), fresh.predict_proba(probes))


@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
def test_a_class_that_never_had_a_value_does_not_make_a_column_too_small(model):
    X = np.array([[1.0, np.nan], [2.0, np.nan], [5.0, 0.01], [5.5, np.nan]])
    y = [0, 0, 1, 1]
    left = model().fit(X, y).forget(X[2:3], [1])
    fresh = model().fit(X[[0, 1, 3]], [0, 0, 1])
    probes = [[3.2, np.nan], [4.9, 0.01]]
    assert np.allclose(left.predict_proba(probes), fresh.predict_proba(probes))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
def test_a_heavy_row_with_a_missing_cell_does_not_cost_the_light_rows_digits(model, form):
    near = np.array([[np.nan], [0.5], [2.0], [1.0], [np.nan], [4.0], [3.0], [6.0]])
    y, weights = [0, 0, 0, 0, 1, 1, 1, 1], [1.0, 1e-12, 1e-4, 3e-4, 1.0, 1e-12, 2e-4, 1e-4]
    probes = np.array([[1.5], [2.5], [4.0]])
    expected = model().fit(near, y, sample_weight=weights).predict_log_proba(probes)
    found = model().fit(form(near + 1e9), y, sample_weight=weights)
    assert np.allclose(found.predict_log_proba(form(probes + 1e9)), expected, rtol=1e-9)
    outlier = near.copy()
    outlier[[1, 5]] = -1e6  # light rows far away are not a good origin of sums
    expected = model().fit(outlier[::-1], y[::-1], sample_weight=weights[::-1])
    found = model().fit(form(outlier), y, sample_weight=weights)
    assert np.allclose(
        found.predict_log_proba(form(probes)), expected.predict_log_proba(probes), rtol=1e-9
    )


@pytest.mark.parametrize("shrinkage", [0.1, "oas", None])
@pytest.mark.parametrize("model", [verosim.LDA, verosim.QDA, verosim.RDA])
def test_shrinkage_of_columns_with_missing_cells_and_very_different_units(
    rows, model, shrinkage, recwarn
):
    X, y = rows
    holed = X * [1e120, 1e-120]
    holed[::7, 0] = np.nan
    marginal = model(missing="marginalise", shrinkage=shrinkage)
    if shrinkage is None:  # each column has its own unit
        near = X.copy()
        near[::7, 0] = np.nan
        expected = model(missing="marginalise", shrinkage=None).fit(near, y).predict_proba(X)
        found = marginal.fit(holed, y).predict_proba(X * [1e120, 1e-120])
        assert np.allclose(found, expected)
    else:
        with pytest.raises(verosim.VerosimError, match=r"'x1' has the standard deviation .*e-1"):
            marginal.fit(holed, y)
    assert not [one for one in recwarn if not issubclass(one.category, verosim.VerosimWarning)]


@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
@pytest.mark.parametrize("heavy", [1e17, 1e20])
def test_features_that_are_only_rounding_errors_after_forget_are_refused(rows, heavy):
    X, y = rows
    weights = np.where(y == 1, heavy * (1 + 0.3 * np.sin(np.arange(40))), 1.0)
    model = verosim.LiftedLDA(n_features=8).fit(X, y, sample_weight=weights)
    before = model.predict_proba(X)
    with pytest.raises(verosim.VerosimError, match=r"too heavy.*Fit the model again"):
        model.forget(X[y == 1], y[y == 1], sample_weight=weights[y == 1])
    assert np.array_equal(model.predict_proba(X), before)
