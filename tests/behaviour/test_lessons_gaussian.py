"""The lessons on Gaussian models show what they claim."""

from __future__ import annotations

import numpy as np
import pytest
from examples.lessons import boundaries, covariance_estimates, gaussian_densities, qda_lda
from examples.lessons.boundaries import BOX, PRIORS
from scipy.stats import multivariate_normal, norm

from tests.lessons import lesson
from verosim import LDA, QDA
from verosim.bayes import Ellipse

pytestmark = pytest.mark.slow  # each lesson computes its numbers
MOST = 4.5  # standard errors: exceeded with a probability of 7e-6


# Gaussian densities --------------------------------------------------------------------------


@pytest.mark.parametrize("name", gaussian_densities.GAUSSIANS)
def test_the_axes_and_the_root_of_a_covariance(name):
    found = lesson("gaussian_densities")
    true = found.true(name)
    V, lengths = true.axes, true.eigenvalues
    np.testing.assert_allclose(V @ np.diag(lengths) @ V.T, true.matrix, atol=1e-12)
    np.testing.assert_allclose(true.root @ true.root, true.matrix, atol=1e-12)
    np.testing.assert_allclose(true.inverse_root @ true.root, np.eye(2), atol=1e-12)
    # The longest axis has the most variance of all directions, one at a time. All directions
    # together have the variance tr Σ, whatever the axes are.
    t = np.linspace(0, np.pi, 181)
    directions = np.column_stack([np.cos(t), np.sin(t)])
    variances = ((directions @ true.matrix) * directions).sum(axis=1)
    assert variances.max() <= lengths[0] + 1e-12
    assert variances.min() >= lengths[1] - 1e-12
    np.testing.assert_allclose(variances[:91] + variances[90:], np.trace(true.matrix))


@pytest.mark.parametrize("name", gaussian_densities.GAUSSIANS)
def test_an_ellipse_holds_its_share_and_has_one_density(name):
    found = lesson("gaussian_densities")
    true = found.true(name)
    density = multivariate_normal(true.mean, true.matrix).pdf
    assert found.peak(name) == pytest.approx(density(true.mean), rel=1e-12)
    for level in gaussian_densities.LEVELS:
        outline = density(Ellipse(true.mean, true.matrix, level).points())
        np.testing.assert_allclose(outline, (1 - level) * found.peak(name), rtol=1e-9)
        error = np.sqrt(level * (1 - level) / gaussian_densities.ROWS)
        assert abs(found.inside(name, level) - level) < MOST * error


def test_the_parameters_are_found_again():
    """Means and covariances of the rows are within their sampling errors of the true ones."""
    found = lesson("gaussian_densities")
    n = gaussian_densities.ROWS
    for k, name in enumerate(found.model.classes_.tolist()):
        true = found.true(name)
        variances = true.matrix.diagonal()
        assert (np.abs(found.model.means_[k] - true.mean) < MOST * np.sqrt(variances / n)).all()
        spread = np.sqrt((true.matrix**2 + np.outer(variances, variances)) / n)
        away = np.abs(found.model.covariances_[k] * n / (n - 1) - true.matrix)
        assert (away < MOST * spread).all()


# Boundaries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", boundaries.SHAPES)
def test_quadratic_boundaries_are_exact_conics(kind):
    model = lesson("boundaries").quadratic[kind]
    q = model.boundary(0, 1)
    curve = q.curve(BOX)
    assert curve.kind == kind
    points = np.vstack(curve.points())
    joint = model.log_joint(points)
    np.testing.assert_allclose(joint[:, 0], joint[:, 1], atol=1e-11)
    # The coefficients are those of the formulas, with −½ log|Σ| and μᵀΣ⁻¹μ.
    (Pi, Pj), (mi, mj) = np.linalg.inv(model.covariances_), model.means_
    dets = np.linalg.slogdet(model.covariances_)[1]
    np.testing.assert_allclose(q.A, -0.5 * (Pi - Pj), atol=1e-10)
    np.testing.assert_allclose(q.b, Pi @ mi - Pj @ mj, atol=1e-10)
    constant = -0.5 * (mi @ Pi @ mi - mj @ Pj @ mj) - 0.5 * (dets[0] - dets[1])
    assert q.c == pytest.approx(constant, abs=1e-10)


@pytest.mark.parametrize("name", [*PRIORS, "wine"])
def test_lda_is_the_nearest_mean_after_whitening_less_log_prior(name):
    found = lesson("boundaries").linear[name]
    assert found.different == 0
    assert found.gap < 1e-9
    assert found.model.boundary(0, 1).is_linear


@pytest.mark.parametrize("name", PRIORS)
def test_whitened_boundaries_are_normal_to_the_line_of_the_means(name):
    found = lesson("boundaries").linear[name]
    Z, M = found.whiten.transform(found.X), found.whiten.transform(found.model.means_)
    model = LDA(found.model.class_prior_).fit(Z, found.y)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        line, away = model.boundary(i, j), M[i] - M[j]
        np.testing.assert_allclose(line.b, away, atol=1e-9)
        # It crosses the segment at the middle, shifted by log(π_i/π_j)/‖m_i − m_j‖.
        middle = (M[i] + M[j]) / 2
        prior = np.log(found.model.class_prior_[i] / found.model.class_prior_[j])
        assert line(middle - prior * away / (away @ away)) == pytest.approx(0, abs=1e-9)


# Projection ----------------------------------------------------------------------------------


def test_fishers_direction_separates_most():
    found = lesson("projection")
    J = {name: found.ratio(w) for name, w in found.directions.items()}
    shift = found.model.means_[1] - found.model.means_[0]
    best = shift @ np.linalg.solve(found.model.covariance_, shift)
    assert J["Fisher's direction"] == pytest.approx(best, rel=1e-10)
    t = np.linspace(0, np.pi, 721)
    every = [found.ratio(w) for w in np.column_stack([np.cos(t), np.sin(t)])]
    assert max(every) <= best + 1e-12
    assert J["Fisher's direction"] > 4 * J["from mean to mean"] > 4 * J["longest axis"]
    # The error of the projection is Φ(−½√J) within the error of counting rows, and the
    # projection on Fisher's direction makes the decisions of LDA.
    for name, w in found.directions.items():
        expected = norm.cdf(-0.5 * np.sqrt(J[name]))
        error = np.sqrt(expected * (1 - expected) / len(found.y))
        assert abs(found.error(w) - expected) < MOST * error
    assert found.error(found.directions["Fisher's direction"]) == pytest.approx(
        (found.model.predict(found.X) != found.y).mean(), abs=1e-12
    )


def test_wine_keeps_its_classes_in_two_directions():
    """Within classes the projection has the covariance I, and nothing is lost for LDA."""
    X, y, model = lesson("projection").wine
    Z = model.transform(X)
    assert Z.shape == (len(X), 2)
    away = Z - np.array([Z[y == k].mean(axis=0) for k in range(3)])[y]
    np.testing.assert_allclose(away.T @ away / len(X), np.eye(2), atol=1e-9)
    np.testing.assert_array_equal(LDA().fit(Z, y).predict(Z), model.predict(X))


# Signed distance -----------------------------------------------------------------------------


def test_signed_distance():
    found = lesson("signed_distance")
    X, model = found.X, found.model
    y, r, feet = model.decision_function(X), model.signed_distance(X), found.foot(X)
    np.testing.assert_allclose(r, y / np.linalg.norm(found.a), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(feet), 0, atol=1e-9)
    np.testing.assert_allclose(feet + np.outer(r, found.unit), X, atol=1e-12)
    np.testing.assert_array_equal(r > 0, model.predict(X) == model.classes_[1])
    # a is normal to the boundary, and every point of the boundary has the coordinate −b/‖a‖.
    np.testing.assert_allclose((feet - feet[0]) @ found.a, 0, atol=1e-9)
    np.testing.assert_allclose(feet @ found.unit, found.offset, atol=1e-9)


def test_no_point_of_the_boundary_is_nearer():
    found = lesson("signed_distance")
    along = np.array([-found.unit[1], found.unit[0]])
    line = found.offset * found.unit + np.outer(np.linspace(-9, 9, 20_001), along)
    step = 18 / 20_000
    for x, r in zip(found.X[::10], found.model.signed_distance(found.X[::10]), strict=True):
        nearest = np.linalg.norm(line - x, axis=1).min()
        assert abs(r) - 1e-9 <= nearest <= np.hypot(r, step)


def test_the_coordinate_of_the_boundary_changes_sign_with_the_origin():
    """It is a coordinate, not a norm: on the other side of the origin it is negative."""
    found = lesson("signed_distance")
    assert found.offset > 0
    moved = LDA().fit(found.X - 10, found.y)
    assert -moved.intercept_[0] / np.linalg.norm(moved.coef_[0]) < 0
    np.testing.assert_allclose(
        moved.signed_distance(found.X - 10), found.model.signed_distance(found.X), atol=1e-9
    )


# Whitening -----------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["total", "within"])
@pytest.mark.parametrize("method", ["zca", "pca", "cholesky"])
def test_the_covariance_after_whitening_is_the_identity(of, method):
    found = lesson("whitening")
    Z, whiten = found.rows(of, method), found.whiteners[of, method]
    np.testing.assert_allclose(found.covariance(Z, of), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(whiten.inverse_transform(Z), found.X, atol=1e-12)
    # All whiteners are rotations of Σ^(−½), and lengths are Mahalanobis distances.
    turn = whiten.whitener_ @ np.linalg.inv(found.whiteners[of, "zca"].whitener_)
    np.testing.assert_allclose(turn @ turn.T, np.eye(2), atol=1e-12)
    away = found.X - whiten.mean_
    square = (away * np.linalg.solve(whiten.covariance_, away.T).T).sum(axis=1)
    np.testing.assert_allclose((Z**2).sum(axis=1), square, atol=1e-9)


def test_what_the_whiteners_have_of_their_own():
    found = lesson("whitening")
    for of in ("total", "within"):
        root, axes, lower = (
            found.whiteners[of, how].whitener_ for how in ("zca", "pca", "cholesky")
        )
        np.testing.assert_allclose(root, root.T, atol=1e-12)
        assert lower[0, 1] == 0  # the first coordinate depends on the first column only
        first = axes[0] / np.linalg.norm(axes[0])
        largest = np.linalg.eigvalsh(found.whiteners[of, "pca"].covariance_)[-1]
        Z = (found.X - found.X.mean(axis=0)) @ first
        assert found.covariance(np.column_stack([Z, Z]), of)[0, 0] == pytest.approx(largest)
        assert found.moved(of, "zca") < found.moved(of, "cholesky")
        assert found.moved(of, "zca") < found.moved(of, "pca")


def test_after_whitening_within_classes_the_rows_of_all_classes_are_not_white():
    found = lesson("whitening")
    assert found.covariance(found.rows("within", "zca"), "total").max() > 2
    assert found.covariance(found.rows("total", "zca"), "within").max() < 0.95


# Patches -------------------------------------------------------------------------------------


def test_the_covariance_of_whitened_patches_is_the_identity():
    found = lesson("patches")
    assert found.X.shape == (1797 * 25, 16)
    before, after = (np.cov(X.T, bias=True) for X in (found.X, found.Z))
    np.testing.assert_allclose(after, np.eye(16), rtol=0, atol=1e-10)
    assert np.abs(before - np.diag(before.diagonal())).max() > 10
    assert found.correlation(found.X) > 0.3
    assert abs(found.correlation(found.Z)) < 1e-10


def test_a_row_of_the_whitener_is_a_pixel_minus_its_neighbours():
    W = lesson("patches").whiten.whitener_.reshape(16, 4, 4)
    for i, image in enumerate(W):
        r, c = divmod(i, 4)
        assert image.argmax() == i
        beside = [(r + a, c + b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        assert all(image[at] < 0 for at in beside if min(at) >= 0 and max(at) < 4)


# Estimates of the covariance -----------------------------------------------------------------


@pytest.mark.parametrize("n", covariance_estimates.ROWS)
def test_the_mle_is_too_small_by_its_factor_and_the_unbiased_is_not(n):
    """The means are within 4.5 standard errors, which the Wishart distribution gives."""
    found, K, sigma = (
        lesson("covariance_estimates"), covariance_estimates.K, covariance_estimates.SIGMA,
    )  # fmt: skip
    for kind, mean in (("mle", (n - K) / n * sigma), ("unbiased", sigma)):
        away = np.abs(found.mean(n, kind) - mean)
        assert (away < MOST * found.deviation(n, kind)).all()
    if n <= 30:  # the bias is far larger than the error of the simulation
        gap = np.abs(found.mean(n, "mle") - sigma)
        assert (gap > 2 * MOST * found.deviation(n, "mle")).all()


def test_the_deviations_of_the_simulation_are_those_of_the_wishart_distribution():
    found = lesson("covariance_estimates")
    tables = covariance_estimates.TABLES
    for n in covariance_estimates.ROWS:
        seen = (found.scatter[n] / n).std(axis=0) / np.sqrt(tables)
        np.testing.assert_allclose(seen, found.deviation(n, "mle"), rtol=0.15)


@pytest.mark.parametrize("n", covariance_estimates.ROWS)
def test_lda_offers_both_estimates_and_the_mle_has_the_larger_likelihood(n):
    found = lesson("covariance_estimates")
    X, y = found.first[n]
    models = found.models(n)
    for kind, divisor in covariance_estimates.DIVISORS.items():
        expected = found.scatter[n][0] / divisor(n)
        np.testing.assert_allclose(models[kind].covariances_, expected, atol=1e-10)
    likelihood = {kind: model.log_joint(X)[np.arange(n), y].sum() for kind, model in models.items()}
    assert likelihood["mle"] > likelihood["unbiased"]


def test_one_class_alone_loses_one_row():
    found = lesson("covariance_estimates")
    X, y = found.first[30]
    mle, unbiased = (QDA(covariance=kind).fit(X, y) for kind in ("mle", "unbiased"))
    np.testing.assert_allclose(unbiased.covariances_, mle.covariances_ * 10 / 9, atol=1e-12)


# QDA and LDA ---------------------------------------------------------------------------------


def test_lda_is_better_if_the_covariances_are_equal():
    found = lesson("qda_lda")
    gain, error = found.gain("equal")
    assert (gain < 0).all()
    assert (gain[:3] < -3 * error[:3]).all()  # with few rows
    assert found.mean("equal", "LDA")[-1] < found.best["equal"] + 0.01
    assert found.first("equal") is None


def test_qda_is_better_if_the_covariances_differ_and_there_are_enough_rows():
    found = lesson("qda_lda")
    for spread in ("a little different", "very different"):
        gain, error = found.gain(spread)
        assert gain[-1] > 3 * error[-1]
        # QDA approaches the smallest error, and LDA does not.
        assert found.mean(spread, "QDA")[-1] < found.best[spread] + 0.015
        assert found.mean(spread, "LDA")[-1] > found.best[spread] + 0.02
    gain, error = found.gain("a little different")
    assert gain[0] < -2 * error[0]  # few rows: LDA is better, although its assumption is false
    assert found.first("very different") < found.first("a little different")


def test_the_errors_fall_as_rows_grow_and_box_finds_the_difference():
    found = lesson("qda_lda")
    for key in found.errors:
        mean = found.mean(*key)
        assert (np.diff(mean) < 0.005).all()
    assert found.p_values["equal"] > 0.05
    assert max(found.p_values["a little different"], found.p_values["very different"]) < 0.001
    counts = qda_lda.parameter_counts(6, 2, n_rows=640)
    assert counts["LDA"] == LDA().fit(*qda_lda.rows(np.random.default_rng(0), 9, 1)).n_parameters_
    assert counts["QDA"] - counts["LDA"] == 6 * 7 / 2


# Outliers ------------------------------------------------------------------------------------


def test_typing_errors_spoil_lda_and_the_robust_fit_repairs_it():
    found = lesson("outliers")
    errors = found.errors
    assert errors["LDA"][0] <= 0.04
    assert errors["LDA"][-1] > errors["LDA"][0] + 0.2
    assert max(errors["LDA, robust"]) <= errors["LDA, robust"][0] + 0.04
    assert errors["logistic regression"][-1] > errors["logistic regression"][0] + 0.2


def test_robust_distances_show_every_typing_error():
    found = lesson("outliers")
    plain, robust = found.distances(found.plain), found.distances(found.robust)
    others = np.delete(np.arange(len(found.y)), found.wrong)
    assert (robust[found.wrong] > 10 * found.cut).all()
    assert robust[others].max() < 2 * found.cut
    assert plain[found.wrong].min() < found.cut  # one error is masked
    assert plain[found.wrong].max() < robust[found.wrong].min()


def test_diagnose_finds_the_typing_errors():
    findings = lesson("outliers").findings
    before, after, robust = (found["kurtosis"] for found in findings.values())
    assert len(before) == len(after) == len(robust) == 3
    assert min(one.p_value for one in (*before, *robust)) > 0.05
    for one in after:
        assert one.p_value < 0.001
        assert "look for outliers, or use robust=True" in one.reading
