"""The lessons on counts, linear classifiers and decisions show what they claim."""

from __future__ import annotations

import numpy as np
import pytest
from examples.lessons import (
    bernoulli_multinomial,
    credit,
    curse_of_dimension,
    discretisation,
    law_of_large_numbers,
    link_function,
    text,
    zero_frequency,
)
from sklearn.datasets import load_breast_cancer

import verosim
from tests.lessons import lesson
from verosim import CategoricalNB, HistogramNB, JointHistogram
from verosim.theory import rows_for_histogram, rows_for_priors

pytestmark = pytest.mark.slow  # some lessons take a second


@pytest.mark.parametrize(("bins", "m", "d"), [(4, 25, 3), (5, 8, 4), (2, 40, 6)])
def test_naive_cells_fill_with_bm_rows_and_joint_cells_do_not(bins, m, d, rng):
    """B·m rows put m into each bin; a joint cell has m / B^(d−1) on average."""
    n = rows_for_histogram(d, bins, m, naive=True)
    assert n == bins * m
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    naive, joint = HistogramNB(bins=bins).fit(X, y), JointHistogram(bins=bins).fit(X, y)
    for j in range(d):
        np.testing.assert_array_equal(naive.learned(f"x{j}").counts.sum(axis=0), np.full(bins, m))
    assert joint.n_cells_ == bins**d
    assert n / joint.n_cells_ == pytest.approx(m / bins ** (d - 1))


def test_curse_of_dimension():
    """On real columns each bin keeps its rows, joint cells become empty and the error grows."""
    found = lesson("curse_of_dimension")
    B = curse_of_dimension.BINS
    X, _ = load_breast_cancer(return_X_y=True)
    for step in found.steps:
        column = X[:, curse_of_dimension.COLUMNS[step.d - 1]]
        ties = max(np.unique(column, return_counts=True)[1])
        assert abs(step.fewest - found.n / B) <= 4 * ties + 1  # equal values are in one bin
        assert step.cells == B**step.d
        assert step.occupied <= min(step.cells, found.n)
        assert step.rows(naive=True) == B * curse_of_dimension.PER_CELL
        assert step.rows(naive=False) == step.cells * curse_of_dimension.PER_CELL
    unseen = [step.unseen for step in found.steps]
    assert (np.diff(unseen) > 0).all()
    joint, naive = np.array([step.errors for step in found.steps]).T
    assert joint[-1] > joint.min() + 0.04
    assert naive[-1] < joint[-1] - 0.04
    assert rows_for_histogram(10, 10, 50) == 500_000_000_000  # the example of the notes
    assert rows_for_histogram(10, 10, 50, naive=True) == 500


def test_discretisation():
    """A Gaussian needs fewer rows where it is true, and cannot learn two peaks with any number."""
    found = lesson("discretisation")
    gaussian, peaks = (found.error[world] for world in discretisation.WORLDS)
    noise = 3 * np.sqrt(0.25 / discretisation.TEST)  # 3 standard errors of a share of test rows
    assert (gaussian["Gaussian"] < gaussian["6 bins"]).all()
    assert gaussian["24 bins"][0] > gaussian["6 bins"][0] + 0.03
    assert gaussian["24 bins"][-1] < gaussian["Gaussian"][-1] + 0.01
    assert (np.abs(peaks["Gaussian"] - 0.5) < noise).all()
    assert peaks["24 bins"][-1] < peaks["6 bins"][-1] - noise < 0.5 - 4 * noise
    assert found.real["24 bins"] < found.real["Gaussian"]
    model = HistogramNB(bins=4).fit(found.X, found.y)
    table = model.learned("x0")
    share = table.values * np.diff(table.edges)
    expected = (table.counts + 1) / (table.counts.sum(axis=1, keepdims=True) + 4)
    np.testing.assert_allclose(share, expected, rtol=1e-12)
    np.testing.assert_allclose(share.sum(axis=1), 1, rtol=1e-12)


def test_zero_frequency():
    """α = 0 gives exactly 0, and 0/0 where no class had the value; Laplace repairs both."""
    found = lesson("zero_frequency")
    overcast = found.outlooks.index("overcast")
    assert found.counts[0, overcast] == 0
    assert found.share[0][0, overcast] == 0
    assert found.day[0] == 0  # whatever the other columns are
    assert found.others > 0.8
    for alpha, share in found.share.items():
        expected = (found.counts + alpha) / (found.counts.sum(axis=1, keepdims=True) + 3 * alpha)
        np.testing.assert_allclose(share, expected, rtol=1e-14)
        np.testing.assert_allclose(share.sum(axis=1), 1, rtol=1e-14)
    assert all(0 < found.day[alpha] < 1 for alpha in found.day if alpha)
    assert (found.products == 0).all()  # 0/0
    assert all(0 < p < 1 for p in found.fog.values())
    cells = [line.split() for line in zero_frequency.TABLE.split("\n") if line]
    model = CategoricalNB(alpha=0).fit([row[:-1] for row in cells], [row[-1] for row in cells])
    with pytest.warns(verosim.VerosimWarning, match="0/0"):
        left_out = model.predict_proba([zero_frequency.FOG])[0, 0]
    assert left_out == pytest.approx(found.others, rel=1e-12)


def test_bernoulli_multinomial():
    """Repetition changes the multinomial only; absence and length change Bernoulli only."""
    found = lesson("bernoulli_multinomial")
    bernoulli, multinomial = found.repeated
    np.testing.assert_allclose(bernoulli[1:], bernoulli[1], rtol=1e-12)
    steps = np.diff(multinomial)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    assert steps[0] > 1
    np.testing.assert_allclose(found.copied[0], found.copied[0, 0], rtol=1e-12)
    evidence = found.copied[1] - found.prior
    np.testing.assert_allclose(evidence, bernoulli_multinomial.COPIES * evidence[0], rtol=1e-9)
    assert found.empty[1] == pytest.approx(found.prior, rel=1e-12)  # absence has no factor
    assert found.empty[0] == pytest.approx(found.absence, rel=1e-9)
    assert abs(found.empty[0] - found.prior) > 0.3
    error = 3 * np.sqrt(0.25 / bernoulli_multinomial.DOCUMENTS)  # 3 standard errors of a coin
    assert found.by_length[0] < 0.15
    assert abs(found.by_length[1] - 0.5) < error


def test_law_of_large_numbers():
    """The errors are inside Hoeffding's band at the stated rate, and fall like 1/√n."""
    found = lesson("law_of_large_numbers")
    delta, runs = law_of_large_numbers.DELTA, law_of_large_numbers.RUNS
    slack = 3 * np.sqrt(delta * (1 - delta) / runs)
    assert (found.outside <= delta + slack).all()
    assert (found.usual < found.bound).all()
    assert all(share <= delta + slack for _, share in found.enough.values())
    sizes = law_of_large_numbers.SIZES
    for curve in (found.off.mean(axis=0), found.bound):
        slope = np.polyfit(np.log(sizes), np.log(curve), 1)[0]
        assert slope == pytest.approx(-0.5, abs=0.02)
    assert found.enough[1] == (rows_for_priors(1, delta, 3), 0.0)  # ε = 1 is allowed
    model = verosim.GaussianNB().fit(np.arange(len(found.labels))[:, None], found.labels)
    shares = np.bincount(found.labels) / len(found.labels)
    np.testing.assert_allclose(model.class_prior_, shares, rtol=1e-14)
    assert np.abs(shares - law_of_large_numbers.TRUTH).max() < found.bound[-1]


def test_five_classifiers():
    """A line is enough for Gaussian classes and not for half moons; kNN keeps d·n numbers."""
    found = lesson("five_classifiers")
    gaussian, moons = found.worlds.values()
    best = min(gaussian.error.values())
    for name in ("least squares", "logistic regression", "SVM"):
        assert gaussian.error[name] < best + 0.01
        assert moons.error[name] > 2 * moons.error["kNN"]
    assert gaussian.error["kNN"] > best
    for world in (gaussian, moons):
        assert world.error["perceptron"] >= world.error["logistic regression"]
    assert found.numbers["kNN"] == gaussian.X.size
    assert {n for name, n in found.numbers.items() if name != "kNN"} == {gaussian.X.shape[1] + 1}


def test_link_function():
    """Gaussian classes imply the logit; the library and the lesson have the same estimates."""
    found = lesson("link_function")
    np.testing.assert_allclose(
        found.lines["logit"], found.lines["LogisticRegression"], rtol=1e-5, atol=1e-6
    )
    assert found.loss["logit"] < found.loss["probit"]
    error = 3 / np.sqrt(link_function.ROWS) * np.array([6, 3])  # of the estimates of a and b
    for name in ("logit", "LDA"):
        assert (np.abs(found.lines[name] - found.truth) < error).all()
    noise = np.sqrt(1 / (found.rows * found.share * (1 - found.share)))  # of a logit of a share
    logit = np.log(found.share / (1 - found.share))
    # Within a bin the mean of a curve is not its value at the mean; that is below 0.35 here.
    assert (np.abs(logit - found.truth[0] * found.centre) < 4 * noise + 0.35).all()
    p = found.probability("least squares", np.array([-3.0, 3.0]))
    assert p[0] < 0
    assert p[1] > 1


def test_few_rows():
    """The generative model is better with few rows, the discriminative one with many."""
    found = lesson("few_rows")
    for curve in found.curves.values():
        naive, logistic = curve.mean
        assert naive[:2].sum() < logistic[:2].sum()
        assert naive[-1] > logistic[-1]
        crossing = curve.crossings[0]
        assert crossing.ahead == "logistic regression"
        assert curve.sizes[0] < crossing.size < curve.sizes[-1]


def test_credit():
    """Calibration and costs lower the cost, and the explanation adds up."""
    found = lesson("credit")
    costs = list(found.costs.values())
    assert (np.diff(costs) < 0).all()
    before, after = found.gaps
    assert after < before / 4
    limit, lowest = found.curve[found.curve[:, 1].argmin()]
    assert abs(limit - 1 / 6) < 0.07
    assert found.costs["by cost, calibrated"] < lowest * 1.02
    total = found.why.prior_difference + found.why.differences.sum(axis=1)
    np.testing.assert_allclose(total, found.why.log_odds, rtol=1e-12)
    for months, answer in ((found.months, "good"), (found.months + 1, "bad")):
        row = credit.APPLICANT | {"months": [months]}
        assert verosim.decide(found.calibrated, row, credit.COSTS)[0] == answer
        p = found.calibrated.predict_proba(row)[0, 0]
        assert (p < 1 / 6) == (answer == "good")


def test_text():
    """Held-out texts are classified far above chance, and the words add up to the log-odds."""
    found = lesson("text")
    n = sum(len(news.strip().split("\n")) for news in text.NEWS.values())
    chance = 1 / 3 + 3 * np.sqrt(2 / 9 / n)
    assert all(accuracy > chance for accuracy in found.accuracy.values())
    assert found.confusion.sum() == n
    words = found.why.tokens(0)
    assert sum(words.values()) + found.why.prior_difference[0] == pytest.approx(
        found.why.log_odds[0], rel=1e-12
    )
    assert {w for w, v in words.items() if v < 0} == {"minister", "election"}
    best, second = sorted(found.proba)[:-3:-1]
    assert found.why.log_odds[0] == pytest.approx(np.log(best / second), rel=1e-12)
