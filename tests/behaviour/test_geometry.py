"""Geometry: whiteners, roots and axes, boundaries as conics, ellipses, two columns of many."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from verosim import LDA, QDA, RDA, GaussianNB, NaiveBayes, NaiveLDA, VerosimError, Whiten
from verosim.bayes import Quadratic
from verosim.errors import SingularWarning

X, y = load_iris(return_X_y=True)
METHODS = ("zca", "pca", "cholesky")
BOX = ((-3.0, 3.0), (-2.0, 4.0))


@parametrize_with_checks([Whiten(of="total", method="pca"), Whiten(method="cholesky")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Whitening -----------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["within", "total"])
@pytest.mark.parametrize("method", METHODS)
def test_whitened_covariance_is_the_identity(method, of):
    A, b = load_wine(return_X_y=True)
    A = A * np.logspace(-3, 3, 13) + 100  # the units differ by a factor of a million
    model = Whiten(method=method, of=of).fit(A, b)
    Z = model.transform(A)
    if of == "within":
        Z = Z - np.array([Z[b == c].mean(axis=0) for c in range(3)])[b]
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(13), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(A)), A, rtol=1e-9)
    np.testing.assert_allclose(model.unwhitener_ @ model.unwhitener_.T, model.covariance_,
                               rtol=1e-9, atol=1e-9)  # fmt: skip


def test_each_whitener_has_its_property():
    zca, pca, cholesky = (Whiten(method=method).fit(X, y).whitener_ for method in METHODS)
    np.testing.assert_allclose(zca, zca.T, rtol=1e-9)
    assert (np.diff(np.linalg.norm(pca, axis=1)) > 0).all()  # the longest axis first
    np.testing.assert_allclose((pca @ pca.T)[~np.eye(4, dtype=bool)], 0, atol=1e-10)
    np.testing.assert_allclose(cholesky, np.tril(cholesky))
    np.testing.assert_allclose(cholesky[0, 0], 1 / LDA().fit(X, y).covariances_[0, 0] ** 0.5)


def test_total_needs_no_labels_and_ignores_them():
    alone = Whiten(of="total").fit(X)
    np.testing.assert_allclose(alone.covariance_, np.cov(X.T, bias=True), rtol=1e-10)
    np.testing.assert_array_equal(alone.whitener_, Whiten(of="total").fit(X, y).whitener_)
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    named = Whiten(of="total").fit(table, "kind")
    np.testing.assert_allclose(named.whitener_, alone.whitener_, rtol=1e-9)
    assert named.n_features_in_ == 4
    np.testing.assert_allclose(
        Whiten(of="total", covariance="unbiased").fit(X).covariance_, np.cov(X.T), rtol=1e-10
    )


@pytest.mark.parametrize("settings", [{}, {"covariance": "unbiased", "shrinkage": 0.2}])
@pytest.mark.parametrize("of", ["within", "total"])
@pytest.mark.parametrize("kind", [LDA, QDA])
def test_whitener_of_a_fitted_model_is_that_of_its_rows(kind, of, settings):
    found = Whiten.of(kind(**settings).fit(X, y), "pca", of)
    wanted = Whiten(method="pca", of=of, **settings).fit(X, y)
    np.testing.assert_allclose(found.whitener_, wanted.whitener_, rtol=1e-8)
    np.testing.assert_allclose(found.transform(X), wanted.transform(X), rtol=1e-8, atol=1e-9)
    assert found.get_params() == wanted.get_params()


def test_constant_columns_have_their_mean_after_the_inverse():
    wide = np.column_stack([X, np.full(150, 3.0)])
    with pytest.warns(SingularWarning):
        model = Whiten(method="cholesky").fit(wide, y)
    np.testing.assert_allclose(model.inverse_transform(model.transform(wide)), wide)


def test_whiten_refuses():
    with pytest.raises(VerosimError, match="method must be one of"):
        Whiten(method="qr").fit(X, y)
    with pytest.raises(VerosimError, match="of must be one of"):
        Whiten(of="between").fit(X, y)
    with pytest.raises(VerosimError, match="has no classes"):
        Whiten(of="total", shrinkage="cv").fit(X)
    with pytest.raises(VerosimError, match="GaussianNB has no sums of products"):
        Whiten.of(GaussianNB().fit(X, y))
    with pytest.raises(VerosimError, match="Z must have 4 columns"):
        Whiten().fit(X, y).inverse_transform(X[:, :2])
    gaps = np.where(np.arange(600).reshape(150, 4) % 7 == 0, np.nan, X)
    marginal = QDA(missing="marginalise").fit(gaps, y)
    with pytest.raises(VerosimError, match="over complete rows"):
        Whiten.of(marginal, of="total")
    W = Whiten.of(marginal)
    np.testing.assert_allclose(W.whitener_ @ W.covariance_ @ W.whitener_.T, np.eye(4), atol=1e-10)


# Roots and axes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LDA, QDA, GaussianNB, NaiveLDA])
@pytest.mark.parametrize("k", [None, 1])
def test_roots_and_axes_of_a_covariance(kind, k):
    model = kind().fit(X, y)
    found = model.covariance_of(k)
    np.testing.assert_allclose(found.root @ found.root, found.matrix, atol=1e-12)
    np.testing.assert_allclose(found.root, sqrtm(found.matrix).real, atol=1e-9)
    np.testing.assert_allclose(found.inverse_root @ found.root, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(
        (found.axes * found.eigenvalues) @ found.axes.T, found.matrix, atol=1e-12
    )
    assert (np.diff(found.eigenvalues) <= 0).all()
    np.testing.assert_allclose(found.mean, X.mean(axis=0) if k is None else X[y == 1].mean(axis=0))
    within = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    if k is None:
        wanted = np.cov(within.T, bias=True)
        full = kind in (LDA, QDA)
        np.testing.assert_allclose(found.matrix, wanted if full else np.diag(wanted.diagonal()),
                                   atol=1e-9)  # fmt: skip


def test_weights_are_those_of_the_notes():
    model = LDA().fit(X, y)
    w, b = model.weights_
    precision, means = np.linalg.inv(model.covariances_), model.means_
    np.testing.assert_allclose(w, means @ precision, rtol=1e-9)
    np.testing.assert_allclose(
        b, np.log(model.class_prior_) - 0.5 * np.einsum("ki,ij,kj->k", means, precision, means)
    )
    scores = X @ model.weights_.w.T + model.weights_.b
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))
    wanted = model.decision_function(X)
    np.testing.assert_allclose(scores - scores[:, :1], wanted - wanted[:, :1], atol=1e-9)


# Conics --------------------------------------------------------------------------------------


def quadratic(A, b, c):
    return Quadratic(np.array(A, dtype=float), np.array(b, dtype=float), float(c))


def product(first, second):
    """The product of two linear functions (a, b, c) of two columns."""
    p, q = np.array(first, dtype=float), np.array(second, dtype=float)
    A = (np.outer(p[:2], q[:2]) + np.outer(q[:2], p[:2])) / 2
    return quadratic(A, p[:2] * q[2] + q[:2] * p[2], p[2] * q[2])


CONICS = {
    "circle": (quadratic(np.eye(2), [0, 0], -1), "ellipse", 1),
    "tilted ellipse": (quadratic([[2, 0.7], [0.7, 1]], [1, -2], -2), "ellipse", 1),
    "ellipse cut by the box": (quadratic([[0.1, 0], [0, 0.09]], [0, 0], -1.05), "ellipse", None),
    "thin ellipse": (quadratic([[1e4, 0], [0, 0.2]], [0, 0], -1), "ellipse", 1),
    "hyperbola": (quadratic([[1, 0.3], [0.3, -2]], [0.3, 1], -0.5), "hyperbola", None),
    "steep hyperbola": (quadratic([[1, 0], [0, -1]], [0, 0], -1e-9), "hyperbola", 2),
    "parabola": (quadratic([[1, 0], [0, 0]], [0.5, -1], -0.7), "parabola", 1),
    "tilted parabola": (quadratic([[1, 1], [1, 1]], [1, -3], 0.5), "parabola", 1),
    "line": (quadratic(np.zeros((2, 2)), [2, -1], 0.4), "line", 1),
    "upright line": (quadratic(np.zeros((2, 2)), [2, 0], 0.4), "line", 1),
    "parallel lines": (product([1, 2, 0.5], [1, 2, -1]), "two lines", 2),
    "crossing lines": (product([1, 2, 0.5], [3, -1, -1]), "two lines", 2),
    "nothing": (quadratic(np.eye(2), [0, 0], 1), "empty", 0),
    "no line": (quadratic([[1, 0], [0, 0]], [0, 0], 1), "empty", 0),
    "constant": (quadratic(np.zeros((2, 2)), [0, 0], 1), "empty", 0),
    "point": (quadratic(np.eye(2), [0, 0], 0), "point", 0),
    "everywhere": (quadratic(np.zeros((2, 2)), [0, 0], 0), "plane", 0),
    "outside": (quadratic(np.eye(2), [-60, 0], 899), "ellipse", 0),
}  # fmt: skip


def check_against_grid(function, curve, box, cells=150):
    """Every cell of a grid in which the sign changes has a point of the curve, and the other way
    round every point of the curve is in or beside such a cell."""
    (a, b), (c, d) = box
    u, v = np.linspace(a, b, cells + 1), np.linspace(c, d, cells + 1)
    at = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1)
    sign = np.sign(function(at.reshape(-1, 2))).reshape(cells + 1, cells + 1)
    corners = np.stack([sign[:-1, :-1], sign[1:, :-1], sign[:-1, 1:], sign[1:, 1:]])
    changes = corners.min(axis=0) < corners.max(axis=0)
    points = np.concatenate([np.empty((0, 2)), *curve.points(4000)])
    i = np.clip(((points[:, 0] - a) / (b - a) * cells).astype(int), 0, cells - 1)
    j = np.clip(((points[:, 1] - c) / (d - c) * cells).astype(int), 0, cells - 1)
    hit = np.zeros((cells + 2, cells + 2), dtype=bool)
    for s in (0, 1, 2):
        for t in (0, 1, 2):
            hit[i + s, j + t] = True  # the cell of a point and its neighbours
    assert (hit[1:-1, 1:-1] | ~changes).all()
    wide = np.zeros((cells + 2, cells + 2), dtype=bool)
    for s in (0, 1, 2):
        for t in (0, 1, 2):
            wide[s : s + cells, t : t + cells] |= changes
    return wide[i + 1, j + 1].all()


@pytest.mark.parametrize("name", CONICS)
def test_points_of_every_kind_of_conic(name):
    function, kind, pieces = CONICS[name]
    curve = function.curve(BOX)
    assert curve.kind == kind
    assert pieces is None or len(curve.pieces) == pieces
    low, high = np.array(BOX).T
    for points in curve.points():
        assert np.abs(function(points)).max() <= 1e-9
        assert (points >= low - 1e-9).all()
        assert (points <= high + 1e-9).all()
    if kind not in ("point", "plane") and name != "thin ellipse":
        assert check_against_grid(function, curve, BOX)


def test_whole_ellipses_are_closed_and_cut_ones_end_at_the_box():
    function = CONICS["circle"][0]
    (piece,) = function.curve(BOX).pieces
    assert piece.closed
    np.testing.assert_allclose(piece.points()[0], piece.points()[-1], atol=1e-12)
    (quarter,) = function.curve([[0, 2], [0, 2]]).pieces
    ends = quarter.points(50)[[0, -1]]
    np.testing.assert_allclose(np.sort(ends, axis=0), [[0, 0], [1, 1]], atol=1e-12)
    assert len(CONICS["ellipse cut by the box"][0].curve(BOX).pieces) > 1
    (touching,) = function.curve([[-1, 1], [-1, 1]]).pieces
    assert touching.closed


@pytest.mark.parametrize("seed", range(12))
def test_boundaries_of_models_tie_and_agree_with_a_grid(seed):
    """δ_i − δ_j of the model itself is zero on the curve, and it changes its sign only there."""
    rng = np.random.default_rng(seed)
    unit, far = 10.0 ** rng.integers(-3, 4, size=2), rng.normal(size=2) * 20
    rows, labels = [], []
    for c in range(3):
        A = rng.normal(size=(2, 2))
        rows.append(rng.normal(size=(60, 2)) @ A + rng.normal(size=2) * 2)
        labels += [c] * 60
    data = (np.concatenate(rows) + far) * unit
    for model in (QDA(), LDA(), GaussianNB(), RDA(pooling=0.5)):
        model.fit(data, labels)
        box = np.column_stack([data.min(axis=0), data.max(axis=0)])
        for i, j in ((0, 1), (2, 1)):
            function = model.boundary(i, j)
            curve = function.curve(box)
            for points in curve.points():
                joint = model.log_joint(points)
                assert np.abs(joint[:, i] - joint[:, j]).max() <= 1e-9 * max(1, abs(joint).max())
                assert np.abs(function(points)).max() <= 1e-9
            assert check_against_grid(function, curve, box)


def test_conics_of_gaussians_by_construction():
    """Exact moments give exact kinds: swapped variances cross, one equal variance is a parabola."""

    def with_moments(mean, deviations):
        corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
        return corners * deviations + mean

    def kind(one, other):
        data = np.concatenate([with_moments(*one), with_moments(*other)])
        return QDA().fit(data, [0] * 4 + [1] * 4).boundary(0, 1).curve(BOX).kind

    assert kind(([0, 0], [1, 2]), ([0, 0], [2, 1])) == "two lines"
    assert kind(([0, 0], [1, 1]), ([1, 1], [1, 2])) == "parabola"
    assert kind(([0, 0], [1, 1]), ([0, 1], [2, 2])) == "ellipse"
    assert kind(([0, 0], [1, 2]), ([0.5, 0], [2, 1])) == "hyperbola"
    assert kind(([0, 0], [1, 1]), ([0, 0], [1, 2])) == "two lines"
    assert kind(([0, 0], [1, 1]), ([1, 0], [1, 1])) == "line"
    data = np.concatenate([with_moments([0, 0], [1, 1]), with_moments([0, 0], [1, 1])])
    prior = QDA(priors=[0.3, 0.7]).fit(data, [0] * 4 + [1] * 4)
    assert prior.boundary(0, 1).curve(BOX).kind == "empty"


def test_curve_refuses():
    model = QDA().fit(X, y)
    with pytest.raises(VerosimError, match="two columns; this one has 4"):
        model.boundary(0, 1).curve(BOX)
    function = CONICS["circle"][0]
    for box in (((0, 1), (1, 1)), ((0, np.nan), (0, 1)), (0, 1), "box", None):
        with pytest.raises(VerosimError, match="box must be"):
            function.curve(box)
    with pytest.raises(VerosimError, match="at least 2"):
        function.curve(BOX).pieces[0].points(1)


# Two columns of many -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LDA, QDA, GaussianNB])
def test_marginal_boundary_is_that_of_the_two_columns(kind):
    model, two = kind().fit(X, y), kind().fit(X[:, [3, 1]], y)
    found, wanted = model.boundary(1, 2, columns=[3, 1]), two.boundary(1, 2)
    at = X[:, [3, 1]]
    np.testing.assert_allclose(found(at), wanted(at), rtol=1e-8, atol=1e-9)
    assert found.names == ("x3", "x1")


@pytest.mark.parametrize("kind", [LDA, QDA, GaussianNB])
def test_slice_is_the_boundary_at_given_values(kind):
    model = kind().fit(X, y)
    found = model.boundary(1, 2, columns=["x3", "x1"], others={"x0": 6.0, 2: 4.5})
    at = np.column_stack([np.full(150, 6.0), X[:, 1], np.full(150, 4.5), X[:, 3]])
    joint = model.log_joint(at)
    np.testing.assert_allclose(found(X[:, [3, 1]]), joint[:, 1] - joint[:, 2], rtol=1e-8, atol=1e-9)
    rest = model.boundary(1, 2, others={"x0": 6.0, 2: 4.5})  # all other columns
    np.testing.assert_allclose(rest(X[:, [1, 3]]), found(X[:, [3, 1]]), rtol=1e-9, atol=1e-9)
    some = model.boundary(1, 2, columns=[3, 1], others={"x0": 6.0})  # x2 is averaged out
    three = kind().fit(X[:, [0, 1, 3]], y).log_joint(np.delete(at, 2, axis=1))
    np.testing.assert_allclose(some(X[:, [3, 1]]), three[:, 1] - three[:, 2], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", [LDA, QDA, GaussianNB])
def test_ellipse_has_the_distance_of_its_level(kind):
    model = kind().fit(X, y)
    found = model.ellipse(1, columns=(2, "x0"), level=0.8)
    pair = kind().fit(X[:, [2, 0]], y)
    radius = (-2 * np.log(0.2)) ** 0.5
    np.testing.assert_allclose(pair.mahalanobis(found.points())[:, 1], radius, rtol=1e-8)
    np.testing.assert_allclose(found.centre, X[y == 1][:, [2, 0]].mean(axis=0))
    slice_ = model.ellipse(1, columns=(2, 0), level=0.5, others={1: 3.0, 3: 1.5})
    full = np.column_stack([slice_.points()[:, 1], np.full(200, 3.0), slice_.points()[:, 0],
                            np.full(200, 1.5)])  # fmt: skip
    distances = model.mahalanobis(full)[:, 1]
    np.testing.assert_allclose(distances, distances[0], rtol=1e-8)  # a contour of the density


def test_ellipse_holds_its_share_of_drawn_rows():
    """100 000 rows: the share inside differs from 0.9 by less than five standard errors."""
    model = QDA().fit(X, y)
    rows, _ = model.sample(100_000, y=2, random_state=0)
    found = model.ellipse(2, (0, 3), level=0.9)
    z = (rows[:, [0, 3]] - found.centre) @ np.linalg.inv(found.half_axes).T
    inside = float(((z**2).sum(axis=1) <= 1).mean())
    assert abs(inside - 0.9) < 5 * (0.9 * 0.1 / 100_000) ** 0.5


def test_two_columns_refuses():
    model = QDA().fit(X, y)
    with pytest.raises(VerosimError, match="two columns; got a model of 4 columns"):
        model.ellipse(1)
    with pytest.raises(VerosimError, match="two columns"):
        model.ellipse(1, (0, 1, 2))
    with pytest.raises(VerosimError, match="no column 'petal'"):
        model.ellipse(1, ("petal", 1))
    with pytest.raises(VerosimError, match="different columns"):
        model.ellipse(1, (1, 1))
    with pytest.raises(VerosimError, match="level must be"):
        model.ellipse(1, (1, 2), level=1)
    with pytest.raises(VerosimError, match="columns and in others"):
        model.boundary(0, 1, columns=(1, 2), others={1: 3.0})
    with pytest.raises(VerosimError, match="others must be"):
        model.boundary(0, 1, columns=(1, 2), others="slice")
    with pytest.raises(VerosimError, match="others\\['x3'\\] must be a number; got nan"):
        model.boundary(0, 1, columns=(1, 2), others={"x3": np.nan})
    with pytest.raises(VerosimError):
        model.ellipse("versicolor", (1, 2))
    constant = np.column_stack([X, np.ones(150)])
    with pytest.warns(SingularWarning):
        flat = QDA().fit(constant, y)
    with pytest.raises(VerosimError, match="'x4' is constant"):
        flat.ellipse(1, (0, 4))
    assert not hasattr(NaiveBayes(), "ellipse")
