"""One-versus-rest and one-versus-one: ambiguous regions where the hand computation puts them.

Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from verosim import LDA, VerosimError
from verosim.twins.least_squares import LeastSquares
from verosim.twins.logistic import LogisticRegression
from verosim.twins.multiclass import OneVsOne, OneVsRest
from verosim.twins.perceptron import Perceptron
from verosim.twins.svm import LinearSVM

GRID = np.stack(np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-4, 4, 163)), -1).reshape(-1, 2)
OFF = np.add(GRID, [1e-4, 2e-4])  # no row on a boundary
BOTH = pytest.mark.parametrize("scheme", [OneVsRest, OneVsOne])
CLASSIFIERS = [
    OneVsRest(LeastSquares()),
    OneVsOne(LeastSquares()),
    OneVsRest(LogisticRegression()),
    OneVsOne(LogisticRegression()),
    OneVsRest(LDA()),
    OneVsRest(Perceptron(averaged=True, random_state=0)),  # it takes no weights
    OneVsOne(LinearSVM()),
    OneVsRest(GaussianNB()),
    OneVsOne(GaussianNB()),  # it has probabilities only
]


@pytest.mark.slow
@parametrize_with_checks(CLASSIFIERS)
def test_check_estimator(estimator, check):
    check(estimator)


def crosses(means, reach):
    """Four rows a class, at m ± (a, 0) and m ± (0, b): their scatter is diag(2a², 2b²)."""
    rows = [
        np.asarray(m) + offset
        for m, (a, b) in zip(means, reach, strict=True)
        for offset in ((a, 0), (-a, 0), (0, b), (0, -b))
    ]
    return np.array(rows, dtype=float), np.repeat(np.arange(len(means)), 4)


def triangle():
    """Means 2 away from the origin, 120° apart. The scatter of all rows is 30 I, their mean 0."""
    means = np.array([[0, 2], [-np.sqrt(3), -1], [np.sqrt(3), -1]])
    return means, *crosses(means, [(1, 1)] * 3)


def circle():
    """Unequal scatters: the three boundaries between pairs do not meet in a point."""
    return crosses([(-2, 0), (2, 0), (0, 2)], [(1, np.sqrt(3)), (np.sqrt(3), 1), (1, 1)])


class TestOneVsRest:
    @pytest.mark.parametrize(
        "binary", [LeastSquares(), LinearRegression(), RidgeClassifier(alpha=0)]
    )
    def test_claims_by_hand(self, binary):
        """ŷ_k = 1/3 + 4 m_kᵀx/30 > ½ is the half-plane m_kᵀx > 5/4."""
        means, X, y = triangle()
        model = OneVsRest(binary).fit(X, y)
        claimed = GRID @ means.T > 1.25
        np.testing.assert_array_equal(model.claims(GRID), claimed)
        ambiguous = model.ambiguous(GRID)
        np.testing.assert_array_equal(ambiguous, claimed.sum(axis=1) != 1)

    def test_the_gap_and_the_overlaps(self):
        """A triangle about the origin, its corners at −5/8 m_k, and a wedge beyond each."""
        means, X, y = triangle()
        model = OneVsRest(LeastSquares()).fit(X, y)
        corners = -1.25 * means / 2
        assert not model.claims(corners * 0.999).any()
        np.testing.assert_array_equal(model.claims(corners * 1.001), ~np.eye(3, dtype=bool))
        assert not model.ambiguous(X).any()

    def test_two_classes_leave_the_boundary_only(self, rng):
        X, y = triangle()[1][:8], np.repeat(["a", "b"], 4)
        model = OneVsRest(LeastSquares()).fit(X, y)
        rows = rng.normal(size=(1000, 2))
        assert not model.ambiguous(rows).any()
        np.testing.assert_array_equal(model.claims(rows)[:, 1], model.predict(rows) == "b")

    def test_claims_of_probabilities(self):
        X, y = load_iris(return_X_y=True)
        model = OneVsRest(GaussianNB()).fit(X, y)
        p = np.column_stack([GaussianNB().fit(X, y == k).predict_proba(X)[:, 1] for k in range(3)])
        np.testing.assert_array_equal(model.claims(X), p > 0.5)

    def test_settled_as_scikit_learn_does(self):
        X, y = load_digits(return_X_y=True)
        ours = OneVsRest(LeastSquares()).fit(X, y)
        peer = OneVsRestClassifier(LeastSquares()).fit(X, y)
        np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
        assert 0 < ours.ambiguous(X).mean() < 0.5


class TestOneVsOne:
    def test_the_circle_by_hand(self):
        """A | B: x = 0, A | C: x + y/2 + ½ = 0, B | C: −x/2 + y − ½ = 0.

        Between two classes of equal size the normal is (S_A + S_B)⁻¹(m_B − m_A), through the
        midpoint of the means. In the triangle (0, −1), (0, ½), (−3/5, 1/5) A beats B, B beats C
        and C beats A.
        """
        X, y = circle()
        model = OneVsOne(LeastSquares()).fit(X, y)
        x1, x2 = OFF.T
        b_beats_a, c_beats_a, c_beats_b = x1 > 0, x1 + x2 / 2 + 0.5 > 0, -x1 / 2 + x2 - 0.5 > 0
        by_hand = np.column_stack(
            [
                ~b_beats_a * 1 + ~c_beats_a * 1,
                b_beats_a * 1 + ~c_beats_b * 1,
                c_beats_a * 1 + c_beats_b * 1,
            ]
        )
        np.testing.assert_array_equal(model.votes(OFF), by_hand)
        inside = ~b_beats_a & c_beats_a & ~c_beats_b
        np.testing.assert_array_equal(model.ambiguous(OFF), inside)
        assert inside.any()
        corners = np.array([[0, -1], [0, 0.5], [-0.6, 0.2]])
        towards = corners.mean(axis=0) - corners
        assert model.ambiguous(corners + 1e-3 * towards).all()
        assert not model.ambiguous(corners - 1e-3 * towards).any()

    def test_boundaries_through_one_point_leave_none(self):
        """Equal scatters: perpendicular bisectors, which meet in a point."""
        _, X, y = triangle()
        assert not OneVsOne(LeastSquares()).fit(X, y).ambiguous(OFF).any()

    def test_every_pair_votes(self):
        X, y = load_digits(return_X_y=True)
        votes = OneVsOne(LeastSquares(ridge=1.0)).fit(X, y).votes(X)
        assert votes.shape == (len(X), 10)
        assert (votes.sum(axis=1) == 45).all()

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
    def test_settled_as_scikit_learn_does(self, load):
        X, y = load(return_X_y=True)
        ours = OneVsOne(LeastSquares()).fit(X, y)
        peer = OneVsOneClassifier(LeastSquares()).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), peer.predict(X))

    def test_probabilities_are_read_from_one_half(self):
        """scikit-learn adds p > 0 to the later class of every pair, and errs with two classes."""
        X, y = load_iris(return_X_y=True)
        two = y > 0
        np.testing.assert_array_equal(
            OneVsOne(GaussianNB()).fit(X[two], y[two]).predict(X),
            GaussianNB().fit(X[two], y[two]).predict(X),
        )
        scores = OneVsOne(GaussianNB()).fit(X, y).decision_function(X)
        np.testing.assert_allclose(scores.sum(axis=1), 3, atol=0.35)

    def test_kernel_values(self):
        X, y = load_iris(return_X_y=True)
        K = X @ X.T
        given = OneVsOne(SVC(kernel="precomputed")).fit(K, y)
        plain = OneVsOne(SVC(kernel="linear")).fit(X, y)
        np.testing.assert_array_equal(given.votes(K), plain.votes(X))


class TestKFunctions:
    """argmax of K linear functions: no ambiguous region, and convex ones for the classes."""

    @pytest.mark.parametrize("model", [LeastSquares(), LDA(), LogisticRegression()])
    @pytest.mark.parametrize("layout", [lambda: triangle()[1:], circle])
    def test_leave_none(self, model, layout, rng):
        X, y = layout()
        fitted = clone(model).fit(X, y)
        scores = fitted.decision_function(OFF)
        best = scores == scores.max(axis=1, keepdims=True)
        assert (best.sum(axis=1) == 1).all()
        assert OneVsRest(model).fit(X, y).ambiguous(OFF).any()
        answer = fitted.predict(OFF)
        for k in range(3):
            own = OFF[answer == k]
            a, b = own[rng.integers(len(own), size=(2, 2000))]
            share = rng.random((2000, 1))
            assert (fitted.predict(share * a + (1 - share) * b) == k).all()


@BOTH
class TestInput:
    @pytest.mark.parametrize("binary", [LeastSquares(), LogisticRegression(tol=1e-13)])
    def test_weights_as_scikit_learn_checks_them(self, scheme, binary):
        check_sample_weight_equivalence_on_dense_data(scheme.__name__, scheme(binary))

    @pytest.mark.parametrize("binary", [LeastSquares(), LogisticRegression(), LDA()])
    def test_weights_are_repeats(self, scheme, binary, rng):
        X, y = load_wine(return_X_y=True)
        times = rng.integers(0, 3, len(y))
        weighted = scheme(binary).fit(X, y, sample_weight=times)
        repeated = scheme(binary).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        for a, b in zip(weighted.estimators_, repeated.estimators_, strict=True):
            np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-3, atol=1e-6)
        assert weighted.estimator is binary
        np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))

    def test_a_class_of_no_weight_is_not_there(self, scheme):
        X, y = load_iris(return_X_y=True)
        model = scheme(LeastSquares()).fit(X, y, sample_weight=y > 0)
        assert model.classes_.tolist() == [1, 2]

    def test_a_classifier_without_weights(self, scheme):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(
            VerosimError, match="KNeighborsClassifier does not accept sample_weight"
        ):
            scheme(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(150))
        with pytest.raises(VerosimError, match="every weight is zero"):
            scheme(LeastSquares()).fit(X, y, sample_weight=np.zeros(150))

    def test_routing_that_is_the_users_own(self, scheme):
        X, y = load_iris(return_X_y=True)
        weights = np.linspace(0.5, 2, 150)
        ours = scheme(LeastSquares()).fit(X, y, sample_weight=weights)
        with config_context(enable_metadata_routing=True):
            steps = make_pipeline(
                StandardScaler().set_fit_request(sample_weight=False),
                LeastSquares().set_fit_request(sample_weight=True),
            )
            routed = scheme(steps).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(ours.ambiguous(X), routed.ambiguous(X))

    def test_one_class_only(self, scheme):
        with pytest.raises(VerosimError, match="all 4 rows are of one class, 'a'"):
            scheme(LeastSquares()).fit(np.ones((4, 2)), ["a"] * 4)

    def test_several_labels_a_row(self, scheme):
        with pytest.raises(VerosimError, match="1d array"):
            scheme(LeastSquares()).fit(np.ones((4, 2)), np.eye(4, 3))

    def test_before_fitting(self, scheme):
        with pytest.raises(NotFittedError):
            scheme(LeastSquares()).ambiguous([[0.0]])

    def test_sparse_rows(self, scheme):
        X, y = load_digits(return_X_y=True)
        model = scheme(LinearSVC(random_state=0)).fit(csr_array(X[:500]), y[:500])
        np.testing.assert_array_equal(model.ambiguous(csr_array(X[500:])), model.ambiguous(X[500:]))

    def test_data_frames(self, scheme):
        frame = load_iris(as_frame=True)
        X, y = frame.data, frame.target
        by_name = scheme(LeastSquares()).fit(X, y, sample_weight=np.arange(150))
        by_place = scheme(LeastSquares()).fit(X.to_numpy(), y, sample_weight=np.arange(150))
        np.testing.assert_array_equal(by_name.ambiguous(X), by_place.ambiguous(X.to_numpy()))
        assert by_name.feature_names_in_.tolist() == X.columns.tolist()


@BOTH
@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 5, 9]])
def test_partial_fit_in_parts_is_partial_fit_of_all_rows(scheme, labels):
    X, y = load_iris(return_X_y=True)
    y = np.array(labels)[y]
    parts, order = scheme(GaussianNB()), np.random.default_rng(0).permutation(len(y))
    for part in np.array_split(order, 3):
        parts.partial_fit(X[part], y[part], classes=labels)
    np.testing.assert_array_equal(parts.classes_, labels)
    whole = scheme(GaussianNB()).partial_fit(X, y, classes=labels)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    before = parts.predict(X)
    with pytest.raises(VerosimError, match="not one of the model's classes"):
        parts.partial_fit(X[:2], np.array(["other", "a"]) if labels[0] == "a" else [1, 3])
    np.testing.assert_array_equal(parts.predict(X), before)
    with pytest.raises(VerosimError, match="needs all classes"):
        scheme(GaussianNB()).partial_fit(X, y)
    assert not hasattr(scheme(LinearSVC()), "partial_fit")
