"""Calibration by the length of a text: the optimum, the lengths, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from verosim import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    TextNB,
    VerosimError,
    calibrate,
)
from verosim.data import Documents, Tokenizer
from verosim.stats.document_terms import text_lengths
from verosim.validate.length_map import LengthMap


def inputs_of(rng, n=300, C=3, exponent=0.7):
    """Posteriors that are too confident by the power `exponent` of the length, and the classes."""
    log_length = np.log1p(rng.integers(0, 200, n))
    true = rng.normal(0, 2, (n, C))
    codes = np.array([rng.choice(C, p=np.exp(t - logsumexp(t))) for t in true])
    scores = true * np.exp(exponent * log_length)[:, None] + rng.normal(size=(n, 1))
    return np.column_stack([scores - logsumexp(scores, axis=1, keepdims=True), log_length]), codes


def objective(inputs, codes, w, theta):
    """Σ w (−log p̂_y) + (τ − log τ) + c² + ‖b‖², written in full."""
    a, c, b = theta[0], theta[1], theta[2:]
    log_p, log_length = inputs[:, :-1], inputs[:, -1]
    middle = w @ log_length / w.sum()
    S = log_p - log_p.mean(axis=1, keepdims=True)
    eta = np.exp(a - c * (log_length - middle))[:, None] * S + b
    own = eta[np.arange(len(codes)), codes] - logsumexp(eta, axis=1)
    return -w @ own + np.exp(a) - a + c * c + b @ b


@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum(rng, weighted):
    inputs, codes = inputs_of(rng)
    w = rng.choice([0.5, 1.0, 2.0], len(codes)) if weighted else np.ones(len(codes))
    found = LengthMap.fit(inputs, codes, w)
    middle = w @ inputs[:, -1] / w.sum()
    theta = np.array(
        [np.log(found.scale) - found.exponent * middle, found.exponent, *found.offsets]
    )
    ours = objective(inputs, codes, w, theta)
    best = minimize(lambda x: objective(inputs, codes, w, x), np.zeros(5), method="BFGS")
    assert ours <= best.fun + 1e-6
    assert found.exponent == pytest.approx(0.7, abs=0.15)  # of 300 rows


def test_the_formula(rng):
    inputs, _ = inputs_of(rng, 5)
    found = LengthMap(0.3, 0.5, np.array([0.1, -0.2, 0.1]))(inputs)
    S = inputs[:, :-1] - inputs[:, :-1].mean(axis=1, keepdims=True)
    eta = 0.3 * np.exp(-0.5 * inputs[:, -1])[:, None] * S + [0.1, -0.2, 0.1]
    np.testing.assert_allclose(found, eta - logsumexp(eta, axis=1, keepdims=True), atol=1e-12)


def test_impossible_classes_stay_impossible(rng):
    inputs, codes = inputs_of(rng)
    inputs[:50, 2] = -np.inf
    inputs[:50, :3] -= logsumexp(inputs[:50, :3], axis=1, keepdims=True)
    found = LengthMap.fit(inputs, codes, np.ones(len(codes)))
    p = np.exp(found(inputs))
    assert (p[:50, 2] == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_rows_that_are_all_correct_give_finite_numbers():
    log_p = np.log([[0.999, 0.001], [0.001, 0.999]] * 20)
    found = LengthMap.fit(np.column_stack([log_p, np.ones(40)]), np.array([0, 1] * 20), np.ones(40))
    assert np.isfinite([found.scale, found.exponent, *found.offsets]).all()
    nothing = LengthMap.fit(np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0))
    assert (nothing.scale, nothing.exponent) == (1.0, 0.0)


def test_lengths_of_texts():
    texts = ["", "one", "Two words", "ΣΊΣΥΦΟΣ x İstanbul 日本語", "שלום עולם", "a b c"]
    words = [len(Tokenizer().tokens(text)) for text in texts]
    np.testing.assert_array_equal(text_lengths(Documents.of(texts), Tokenizer()), words)
    found = text_lengths(Documents.of(texts), Tokenizer((3, 5), True, "char_wb"))
    np.testing.assert_array_equal(found, [1, 5, 11, 25, 11, 7])  # with one space per boundary


def test_lengths_of_counts(rng):
    X = rng.poisson(1.0, (60, 5)).astype(float)
    X[3, 2] = np.nan
    y = rng.integers(0, 2, 60)
    for model, expected in (
        (MultinomialNB(), np.nansum(X, axis=1)), (ComplementNB(), np.nansum(X, axis=1)),
        (BernoulliNB(), (X > 0).sum(axis=1)),
    ):  # fmt: skip
        params = model.fit(X, y).state_.params
        np.testing.assert_array_equal(params.row_lengths(X), expected)
        rows = params.read(model.spec().matrix(sparse.csr_array(X), None))
        np.testing.assert_array_equal(params.row_lengths(rows), expected)
        dense = calibrate(model, X, y, method="length", cv=3)
        thin = calibrate(model, sparse.csr_array(X), y, method="length", cv=3)
        np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(X), atol=1e-8)


def texts_of(rng, n=400):
    """Texts of very different lengths; their words come in runs, so they repeat each other."""
    y = rng.integers(0, 3, n)
    words = np.array([f"w{i}" for i in range(60)])
    shares = rng.dirichlet(np.full(60, 0.7), 3)
    texts = []
    for k in y:
        length = int(rng.choice([2, 10, 60]))
        drawn = rng.choice(words, max(1, length // 6), p=shares[k])
        texts.append(" ".join(np.repeat(drawn, 6)[:length]))
    return texts, y


@pytest.mark.parametrize("options", [{}, {"weighting": "l2", "model": "contrast"}], ids=str)
def test_texts_that_repeat_themselves(rng, options):
    texts, y = texts_of(rng)
    found = calibrate(TextNB(**options), texts, y, method="length")
    cooled = calibrate(TextNB(**options), texts, y)
    assert found.after_.log_loss < found.before_.log_loss
    if not options:
        assert found.after_.log_loss < cooled.after_.log_loss
        assert found.map_.exponent > 0.3
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_proba(texts), found.predict_proba(texts))
    one_by_one = np.concatenate([found.predict_proba([text]) for text in texts[:20]])
    np.testing.assert_allclose(one_by_one, found.predict_proba(texts[:20]))
    table = {"text": texts, "y": y.tolist()}
    by_table = calibrate(TextNB(**options), table, "y", method="length")
    assert by_table.predict(table).shape == y.shape
    assert by_table.predict_table(table).read_all().num_rows == len(y)


def test_permuted_labels_are_not_predictable(rng):
    texts, y = texts_of(rng)
    y = rng.permutation(y)
    found = calibrate(TextNB(), texts, y, method="length")
    share = np.bincount(y) / len(y)
    assert found.after_.log_loss >= -share @ np.log(share) - 0.005


def test_what_is_refused(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    with pytest.raises(VerosimError, match="needs a model of texts or of counts; got GaussianNB"):
        calibrate(GaussianNB(), X, y, method="length")
    with pytest.raises(VerosimError, match='method="length" cannot be used with cv="loo"'):
        calibrate(TextNB(), ["a b"] * 30, y, method="length", cv="loo")


@pytest.mark.slow
def test_newsgroups(data):
    """The calibration error of 20 Newsgroups on held-out texts is at most 0.02."""
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(data / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    train = np.flatnonzero(np.array(table["split"]) == "train")
    texts = [table["text"][i] for i in train]
    labels = np.array(table["group"])[train]
    found = calibrate(TextNB(), texts, labels, method="length", cv=5)
    assert found.after_.error <= 0.02
    assert found.after_.log_loss < 0.4
    assert found.before_.log_loss > 1.5
