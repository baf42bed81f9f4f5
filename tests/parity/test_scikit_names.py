"""Fitted attributes have the names, the shapes and the values of scikit-learn's twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import discriminant_analysis, naive_bayes
from sklearn.datasets import load_iris, load_wine

from verosim import (
    LDA,
    QDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)

X, y = load_wine(return_X_y=True)
COUNTS = np.random.default_rng(0).poisson(3.0, (60, 7))
CODES = np.random.default_rng(1).integers(0, 4, (60, 5))
LABELS = np.random.default_rng(2).choice(["a", "b", "c"], 60, p=[0.5, 0.3, 0.2])
WEIGHTS = np.random.default_rng(3).uniform(0.5, 2.0, 60)
SIGNED = {"scalings_", "rotations_"}  # columns of these may have the other sign
TWINS = [
    (GaussianNB(floor=0.0), naive_bayes.GaussianNB(var_smoothing=0.0), X, y, None),
    (BernoulliNB(binarize=2.0), naive_bayes.BernoulliNB(binarize=2.0), COUNTS, LABELS, WEIGHTS),
    (MultinomialNB(alpha=0.5), naive_bayes.MultinomialNB(alpha=0.5), COUNTS, LABELS, WEIGHTS),
    (MultinomialNB(), naive_bayes.MultinomialNB(), sparse.csr_matrix(COUNTS), LABELS, None),
    (ComplementNB(priors=None), naive_bayes.ComplementNB(), COUNTS, LABELS, WEIGHTS),
    (CategoricalNB(), naive_bayes.CategoricalNB(), CODES, LABELS, WEIGHTS),
    (LDA(), discriminant_analysis.LinearDiscriminantAnalysis(store_covariance=True), X, y, None),
    (QDA(), discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True),
     *load_iris(return_X_y=True), None),
]  # fmt: skip
# The weights of complement naive Bayes are −log φ̃ there, and here the log φ of the multinomial.
DIFFERENT = {("ComplementNB", "feature_log_prob_")}


def names_of(model) -> list[str]:
    return sorted(n for n in vars(model) if n.endswith("_") and not n.startswith("_"))


def same(mine, theirs, signed: bool) -> None:
    """Both values are equal, as arrays or as lists of arrays."""
    if isinstance(theirs, list):
        assert isinstance(mine, list)
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            same(one, other, signed)
        return
    if np.asarray(theirs).dtype.kind in "USO":
        np.testing.assert_array_equal(mine, theirs)
        return
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    if signed and theirs.ndim == 2:
        mine = mine * np.sign((mine * theirs).sum(axis=0))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: type(twins[0]).__name__)
def test_all_attributes_of_the_twin_exist_with_its_values(twins):
    model, peer, rows, labels, weights = twins
    given = {} if weights is None else {"sample_weight": weights}
    model.fit(rows, labels, **given)
    peer.fit(rows, labels, **given)
    names = names_of(peer)
    assert {"classes_", "n_features_in_"} < set(names)
    for name in names:
        assert hasattr(model, name), name
        if (type(model).__name__, name) not in DIFFERENT:
            same(getattr(model, name), getattr(peer, name), name in SIGNED)


def test_nothing_is_computed_at_fit():
    model = QDA().fit(X[:, :4], y)
    assert not {"rotations_", "scalings_", "covariance_", "priors_"} & set(vars(model))
    for name in ("rotations_", "priors_", "scalings_"):
        with pytest.raises(AttributeError, match=f"QDA has no {name} before it is fitted"):
            getattr(QDA(), name)


def test_rotations_and_scalings_give_the_covariances_back():
    model = QDA(shrinkage=0.2).fit(X, y)
    for covariance, axes, variance in zip(
        model.covariance_, model.rotations_, model.scalings_, strict=True
    ):
        np.testing.assert_allclose((axes * variance) @ axes.T, covariance, rtol=1e-9, atol=1e-9)


def test_transform_is_scalings_about_xbar():
    model = LDA().fit(X, y)
    by_hand = (X - model.xbar_) @ model.scalings_
    np.testing.assert_allclose(model.transform(X), by_hand, rtol=1e-7, atol=1e-9)


def test_category_attributes_follow_the_sorted_values():
    model = CategoricalNB().fit([["red", 2], ["blue", 1], ["red", 1]], ["a", "a", "b"])
    assert model.categories_ == [["blue", "red"], [1, 2]]
    assert [count.tolist() for count in model.category_count_] == [
        [[1.0, 1.0], [0.0, 1.0]],
        [[1.0, 1.0], [1.0, 0.0]],
    ]
    for log_prob in model.feature_log_prob_:
        np.testing.assert_allclose(np.exp(log_prob).sum(axis=1), 1.0)
    model.forget([["blue", 1]], ["a"])
    assert model.n_categories_.tolist() == [1, 2]
