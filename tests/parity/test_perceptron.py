"""The perceptron's updates, one by one, against a reference of ten lines and scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Perceptron as Peer
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from verosim import kernels
from verosim.twins.perceptron import Perceptron

pytestmark = pytest.mark.filterwarnings("ignore::verosim.errors.ConvergenceWarning")


@parametrize_with_checks(
    [Perceptron(), Perceptron(averaged=True), Perceptron("polynomial"), Perceptron("fourier")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def reference(X, y, classes, orders, eta=1.0, weights=None):
    """Two classes or several, row by row; θ after every row of every epoch, mistakes, criterion."""
    phi, path, counts, criteria = np.column_stack([X, np.ones(len(X))]), [], [], []
    theta = np.zeros((1 if classes == 2 else classes, phi.shape[1]))
    for order in orders:
        counts.append(0)
        criteria.append(0.0)
        for i in order:
            scores, s = theta @ phi[i], 1.0 if weights is None else weights[i]
            if classes == 2:
                plus, minus = (0, None) if y[i] == 1 else (None, 0)
                short = -scores[0] if y[i] == 1 else scores[0]
            else:
                rest = [k for k in range(classes) if k != y[i]]
                plus, minus = y[i], max(rest, key=lambda k: scores[k])
                short = scores[minus] - scores[plus]
            if short >= 0:
                counts[-1] += 1
                criteria[-1] += s * short
                if plus is not None:
                    theta[plus] += eta * s * phi[i]
                if minus is not None:
                    theta[minus] -= eta * s * phi[i]
            path.append(theta.copy())
        if counts[-1] == 0:
            break
    return np.array(path), counts, criteria


def overlapping(rng, classes, n=150, d=4):
    y = rng.integers(0, classes, n)
    return rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)), y


def orders_of(seed, n, epochs):
    """The orders a Perceptron of this seed goes through, by the kernel that makes them."""
    state = np.uint64(2 * int(np.random.default_rng(seed).integers(1 << 62)) + 1)
    order, orders = np.arange(n, dtype=np.int32), []
    for _ in range(epochs):
        state = np.uint64(kernels.shuffle(order, n, state))
        orders.append(order.copy())
    return orders


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_update_sequence(classes, shuffle, averaged, as_rows, rng):
    """θ after every epoch, its mean over all rows, the mistakes and the criterion."""
    X, y = overlapping(rng, classes)
    X[np.abs(X) < 0.3] = 0.0
    orders = orders_of(4, len(y), 6) if shuffle else [np.arange(len(y))] * 6
    path, counts, criteria = reference(X, y, classes, orders, eta=0.5)
    for epochs in (1, 6):
        model = Perceptron(
            averaged=averaged, shuffle=shuffle, max_iter=epochs, eta=0.5, random_state=4
        ).fit(as_rows(X), y)
        seen = path[: epochs * len(y)]
        expected = seen.mean(axis=0) if averaged else seen[-1]
        np.testing.assert_allclose(model.coef_, expected[:, :-1], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, expected[:, -1], rtol=1e-9, atol=1e-9)
        assert model.mistakes_.tolist() == counts[:epochs]
        np.testing.assert_allclose(model.criterion_, criteria[:epochs], rtol=1e-9)


def test_orders_are_permutations_of_their_own():
    orders = orders_of(0, 50, 20)
    assert all(np.array_equal(np.sort(order), np.arange(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == 20


def test_shuffling_is_even(rng):
    """Every row has the same chance of every place: 24 orders of four, χ² on 23 degrees."""
    state, order = np.uint64(12345), np.arange(4, dtype=np.int32)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(24_000):
        state = np.uint64(kernels.shuffle(order, 4, state))
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 24
    assert sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 49.7  # its 99.9 % point


@pytest.mark.parametrize("epochs", [1, 3, 10])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_scikit_learn_binary(epochs, fit_intercept, rng):
    """The same mistakes in the same order: coefficients are equal bit by bit."""
    X, y = overlapping(rng, 2, n=400, d=6)
    options = {"shuffle": False, "fit_intercept": fit_intercept, "max_iter": epochs}
    ours, theirs = Perceptron(**options).fit(X, y), Peer(tol=None, **options).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)


def test_scikit_learn_averaged(rng):
    """The mean of θ is that of SGD with the perceptron's loss."""
    X, y = overlapping(rng, 2, n=300, d=5)
    peer = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True,
        shuffle=False, tol=None, max_iter=4,
    ).fit(X, y)  # fmt: skip
    model = Perceptron(averaged=True, shuffle=False, max_iter=4).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("averaged", [False, True])
def test_partial_fit_is_an_epoch(classes, averaged, rng):
    """As many calls over the same rows as fit has epochs; then on to rows of another sort."""
    X, y = overlapping(rng, classes)
    whole = Perceptron(averaged=averaged, max_iter=5, random_state=1, shuffle=False).fit(X, y)
    parts = Perceptron(averaged=averaged, random_state=1, shuffle=False)
    for _ in range(5):
        parts.partial_fit(X, y, classes=np.arange(classes))
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    np.testing.assert_array_equal(whole.mistakes_, parts.mistakes_)
    parts.partial_fit(sparse.csr_matrix(X[:7]), y[:7])
    assert parts.n_iter_ == 6


def test_weights_scale_updates(rng):
    X, y = overlapping(rng, 3)
    weights = rng.uniform(0.5, 2.0, len(y))
    model = Perceptron(shuffle=False).partial_fit(X, y, sample_weight=weights)
    path, _, criteria = reference(X, y, 3, [np.arange(len(y))], weights=weights)
    np.testing.assert_allclose(model.coef_, path[-1][:, :-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.criterion_, criteria, rtol=1e-9)


def test_text(data):
    """Sparse and dense rows of real text go through the same updates."""
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import CountVectorizer

    rows = pq.read_table(data / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    some = np.arange(0, len(rows["text"]), 60)
    X = CountVectorizer(max_features=2000).fit_transform([rows["text"][i] for i in some])
    y = np.array(rows["group"])[some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            Perceptron(max_iter=3, random_state=0).fit(given, y)
            for given in (X, X.toarray(), X.astype(np.float32))
        ]
    for model in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, model.coef_)
