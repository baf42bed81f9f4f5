"""alpha=0 is the estimate of maximum likelihood: exact shares, and probability 0 for the rest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import verosim
from verosim.densities.smoothing import log_of

MODELS = [verosim.CategoricalNB, verosim.BernoulliNB, verosim.MultinomialNB]
PRIOR = np.array([0.6, 0.4])


@pytest.fixture
def flags():
    """Ten rows of three flags: column 0 differs, column 1 is certain in class 0, column 2 never."""
    X = np.zeros((10, 3))
    y = np.array([0] * 6 + [1] * 4)
    X[:2, 0], X[6:9, 0] = 1, 1
    X[:6, 1], X[6:8, 1] = 1, 1
    return X, y


def test_a_category_that_a_class_never_had_has_probability_zero():
    X, y = [["a"], ["a"], ["b"], ["b"], ["b"], ["c"]], [0, 0, 0, 1, 1, 1]
    model = verosim.CategoricalNB(alpha=0).fit(X, y)
    found = model.predict_proba([["a"], ["b"], ["c"]])
    np.testing.assert_allclose(found, [[1, 0], [1 / 3, 2 / 3], [0, 1]], rtol=1e-15)


def test_a_value_that_no_class_had_is_skipped_with_one_warning():
    X, y = [["a", "p"], ["a", "q"], ["b", "q"], ["b", "q"]], [0, 0, 1, 1]
    model = verosim.CategoricalNB(alpha=0).fit(X, y)
    with pytest.warns(verosim.VerosimWarning, match="odds 0/0.*unseen .* column 'x0'") as seen:
        found = model.predict_proba([["new", "q"]])
    assert len(seen) == 1
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3]], rtol=1e-15)


def test_a_row_impossible_in_every_class_gets_the_priors_and_one_warning():
    X, y = [["a", "p"], ["a", "p"], ["a", "p"], ["b", "q"], ["b", "q"]], [0, 0, 0, 1, 1]
    model = verosim.CategoricalNB(alpha=0).fit(X, y)
    rows = [["a", "p"], ["a", "q"], ["b", "p"]]
    with pytest.warns(
        verosim.VerosimWarning, match="2 rows with .* first is row 1.*'x0', value"
    ) as seen:
        found = model.predict_proba(rows)
    assert len(seen) == 1
    np.testing.assert_allclose(found, [[1, 0], PRIOR, PRIOR], rtol=1e-15)


def test_the_share_of_r_is_an_option():
    X, y = [["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1]
    model = verosim.CategoricalNB(alpha=0, never=1e-3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([["a"]]), [[1 / 1.001, 0.001 / 1.001]])
    table = verosim.NaiveBayes(alpha=0, never=1e-3).fit({"x": ["a", "a", "b", "b"]}, y)
    np.testing.assert_allclose(table.predict_proba({"x": ["a"]}), [[1 / 1.001, 0.001 / 1.001]])


def by_hand_bernoulli(X, y, rows):
    out = np.zeros((len(rows), 2))
    shares = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    for k in (0, 1):
        for j in range(X.shape[1]):
            for value in (0, 1):
                p = shares[:, j] if value else 1 - shares[:, j]
                here = rows[:, j] == value
                if p.any():
                    out[here, k] += log_of(p)[k]
    return out


@pytest.mark.parametrize("sparse", [False, True])
def test_bernoulli_shares_are_exact(flags, sparse):
    X, y = flags
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    joint = by_hand_bernoulli(X, y, rows) + np.log(PRIOR)
    given, asked = (sp.csr_array(X), sp.csr_array(rows)) if sparse else (X, rows)
    model = verosim.BernoulliNB(alpha=0).fit(given, y)
    np.testing.assert_allclose(model.log_joint(asked), joint, rtol=1e-13)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
def test_multinomial_shares_are_exact(sparse):
    X = np.array([[3.0, 1, 0, 0], [1, 1, 0, 0], [0, 2, 2, 0], [0, 1, 3, 0]])
    y = np.array([0, 0, 1, 1])
    rows = np.array([[1.0, 1, 0, 0], [0, 2, 0, 5], [0, 0.5, 1, 0], [0, 0, 0, 0]])
    model = verosim.MultinomialNB(alpha=0).fit(sp.csr_array(X) if sparse else X, y)
    share = np.array([X[y == k].sum(axis=0) / X[y == k].sum() for k in (0, 1)])
    skipped = ~share.any(axis=0)  # no class had the last column
    with np.errstate(invalid="ignore"):
        terms = np.where(rows[:, None, :] > 0, rows[:, None, :] * log_of(share), 0.0)
    joint = np.where(skipped, 0.0, terms).sum(axis=2) + np.log(0.5)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    found = model.predict_proba(sp.csr_array(rows) if sparse else rows)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found[0, 1] == 0
    assert found[2, 0] == 0


def test_texts_have_probability_zero_where_a_class_never_had_a_token():
    texts, y = ["cat cat dog", "cat", "dog fish", "fish"], [0, 0, 1, 1]
    for model in ("multinomial", "bernoulli"):
        fitted = verosim.TextNB(alpha=0, model=model).fit(texts, y)
        np.testing.assert_allclose(fitted.predict_proba(["cat", "fish"]), [[1, 0], [0, 1]])
        with pytest.warns(verosim.VerosimWarning, match="probability 0 in every class"):
            np.testing.assert_allclose(fitted.predict_proba(["cat fish"]), [[0.5, 0.5]])


def test_histograms_have_exact_heights():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    model = verosim.HistogramNB(bins=4, alpha=0).fit(X, y)
    found = model.predict_proba([[0.0], [11.0]])
    np.testing.assert_array_equal(found, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    "model",
    [verosim.CategoricalNB(alpha=0), verosim.BernoulliNB(alpha=0), verosim.MultinomialNB(alpha=0)],
)
def test_leave_one_out_equals_refits(model, flags):
    X, y = flags
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        found = verosim.cross_validate(model, X, y, cv="loo").log_proba
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            again = type(model)(alpha=0).fit(X[rest], y[rest])
            np.testing.assert_allclose(
                np.exp(found[i]), again.predict_proba(X[i : i + 1])[0], rtol=1e-12, atol=1e-300
            )


@pytest.mark.parametrize(
    "model", [verosim.CategoricalNB, verosim.BernoulliNB, verosim.MultinomialNB]
)
def test_zero_times_log_zero_is_zero_in_the_likelihood(model, flags):
    X, y = flags
    fitted = model(alpha=0).fit(X, y)
    state = fitted.state_
    assert np.isfinite(state.rule.params.log_likelihood(state.statistic)).all()


def test_samples_have_only_values_of_their_class(flags):
    X, y = flags
    for model in (verosim.CategoricalNB, verosim.BernoulliNB):
        drawn, labels = model(alpha=0).fit(X, y).sample(500, random_state=0)
        drawn = np.asarray(drawn, dtype=float)
        assert (drawn[labels == 0, 1] == 1).all()
        assert (drawn[:, 2] == 0).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 3.0])
def test_priors_smoothed_by_any_alpha(alpha, flags):
    X, y = flags
    model = verosim.GaussianNB(priors=("laplace", alpha)).fit(X[:, :1], y)
    expected = (np.array([6, 4]) + alpha) / (10 + 2 * alpha)
    np.testing.assert_allclose(model.class_prior_, expected)
    with pytest.raises(verosim.VerosimError, match="laplace"):
        verosim.GaussianNB(priors=("laplace", -1.0)).fit(X, y)


@pytest.mark.parametrize(
    "model", [verosim.CategoricalNB, verosim.BernoulliNB, verosim.MultinomialNB]
)
def test_the_twin_of_probabilities_of_zero_is_refused(model, flags):
    with pytest.raises(verosim.VerosimError, match="alpha above 0"):
        verosim.twin(model(alpha=0).fit(*flags))


def test_texts_without_tokens_are_no_problem():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = verosim.TextNB(alpha=0).fit(["", "", ""], [0, 0, 1])
    np.testing.assert_allclose(model.predict_proba(["new"]), [[2 / 3, 1 / 3]])


def test_an_unseen_value_that_makes_a_row_impossible_is_named():
    X = [[None, "p"], [None, "q"], ["u", "r"], ["v", "r"]]  # class 0 has no values in x0
    model = verosim.CategoricalNB(alpha=0).fit(np.array(X, dtype=object), [0, 0, 1, 1])
    with pytest.warns(verosim.VerosimWarning, match="an unseen value in column 'x0'"):
        found = model.predict_proba(np.array([["w", "r"]], dtype=object))
    np.testing.assert_allclose(found, [[0.5, 0.5]])
