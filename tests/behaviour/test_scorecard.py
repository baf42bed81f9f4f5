"""Scorecards: points that add up to the log-odds of a model of two classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import verosim
from verosim import VerosimError, scorecard

FACTOR = 20 / np.log(2)

# Eight loans. With α = 1, the share of 'low' is (3 + 1)/(4 + 2) in bad and (1 + 1)/(4 + 2) in good.
LOANS = {
    "savings": ["low", "low", "low", "high", "low", "high", "high", "high"],
    "age": [20.0, 24.0, 28.0, 32.0, 30.0, 40.0, 50.0, 60.0],
    "risk": ["bad"] * 4 + ["good"] * 4,
}


@pytest.fixture
def credit(data):
    return pd.read_csv(data / "german_credit" / "german_credit.csv")


def check_scores(card, model, X):
    """The scores are offset + factor · log-odds of the model."""
    log_p = model.predict_log_proba(X)
    k = model.classes_.tolist().index(card.of)
    odds = log_p[:, k] - log_p[:, 1 - k]
    np.testing.assert_allclose(card.score(X), card.offset + card.factor * odds, rtol=0, atol=1e-9)


def on_paper(card, frame):
    """(n,) scores from the printed points alone: values, bins and formulas are looked up."""
    total = np.full(len(frame), card.base_points)
    for one in card:
        cells = frame[one.column]
        if one.kind == "formula":
            powers = np.vander(cells.astype(float), 3, increasing=True)
            total += powers @ np.array(one.coefficients)
        elif one.edges:
            total += one.points[np.searchsorted(one.edges[1:-1], cells, side="right")]
        else:
            points = dict(zip(one.values, one.points, strict=True))
            total += np.array([points[value] for value in cells])
    return total


# Points ------------------------------------------------------------------------------------------


def test_points_of_a_small_table_by_hand():
    model = verosim.NaiveBayes({"age": "gaussian"}).fit(LOANS, "risk")
    card = scorecard(model)
    assert (card.of, card.against) == ("good", "bad")
    assert card.factor == pytest.approx(FACTOR)
    assert card.base_points == pytest.approx(600.0)  # equal priors
    points = dict(zip(card["savings"].values, card["savings"].points, strict=True))
    assert points["low"] == pytest.approx(FACTOR * np.log((2 / 6) / (4 / 6)))
    assert points["high"] == pytest.approx(FACTOR * np.log((4 / 6) / (2 / 6)))
    assert points["high"] == pytest.approx(20)  # double the odds
    assert points[None] == 0.0
    # Means 26 and 45, variances 20 and 125.
    c = -0.5 / 125 + 0.5 / 20
    b = 45 / 125 - 26 / 20
    a = -0.5 * np.log(125 / 20) - 0.5 * 45**2 / 125 + 0.5 * 26**2 / 20
    assert card["age"].kind == "formula"
    np.testing.assert_allclose(
        card["age"].coefficients, [FACTOR * a, FACTOR * b, FACTOR * c], rtol=1e-6
    )
    check_scores(card, model, LOANS)


def test_base_odds_and_doubling():
    model = verosim.NaiveBayes({"age": "gaussian"}).fit(LOANS, "risk")
    card = scorecard(model, base=500, pdo=50, odds=30)
    odds = np.exp(np.diff(model.predict_log_proba(LOANS)))[:, 0]
    np.testing.assert_allclose(card.score(LOANS), 500 + 50 * np.log2(odds / 30), atol=1e-9)
    other = scorecard(model, base=500, pdo=50, of="bad")
    np.testing.assert_allclose(other.score(LOANS), 500 - 50 * np.log2(odds), atol=1e-9)


def test_points_of_german_credit_by_hand(credit):
    model = verosim.NaiveBayes().fit(credit, "class")
    card = scorecard(model)
    good = credit["class"] == "good"
    assert card.base_points == pytest.approx(600 + FACTOR * np.log(700 / 300), abs=1e-9)
    for column in ("checking_status", "purpose", "housing"):
        K = credit[column].nunique()
        points = dict(zip(card[column].values, card[column].points, strict=True))
        for value in credit[column].unique():
            n = [((credit[column] == value) & which).sum() for which in (good, ~good)]
            share = (n[0] + 1) / (700 + K), (n[1] + 1) / (300 + K)
            assert points[value] == pytest.approx(FACTOR * np.log(share[0] / share[1]), abs=1e-9)
    edges = model.schema_["duration"].edges
    assert card["duration"].edges == edges
    place = np.searchsorted(edges[1:-1], credit["duration"], side="right")
    K = len(edges) - 1
    for b in range(K):
        n = [((place == b) & which).sum() for which in (good, ~good)]
        share = (n[0] + 1) / (700 + K), (n[1] + 1) / (300 + K)
        expected = FACTOR * np.log(share[0] / share[1])
        assert card["duration"].points[b] == pytest.approx(expected, abs=1e-9)
    check_scores(card, model, credit)
    np.testing.assert_allclose(on_paper(card, credit), card.score(credit), rtol=0, atol=1e-8)


def test_rounded_points_are_added_as_on_paper(credit):
    model = verosim.NaiveBayes().fit(credit, "class")
    card = scorecard(model)
    rows = credit.head(50)
    whole = card.score(rows, rounded=True)
    assert np.array_equal(whole, np.rint(whole))
    assert np.abs(whole - card.score(rows)).max() <= 0.5 * (len(card) + 1)
    parts = card.points(rows)
    np.testing.assert_allclose(sum(parts.values()), card.score(rows), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [verosim.NaiveBayes(missing="category"), verosim.NaiveBayes(columns="histogram"),
     verosim.Calibrated(verosim.NaiveBayes()),
     verosim.Calibrated(verosim.NaiveBayes(), method="columns"),
     verosim.LDA(encode="onehot"), verosim.Twin(verosim.NaiveBayes())],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'method', '')}",
)  # fmt: skip
def test_scores_are_the_log_odds_of_every_additive_model(model):
    rng = np.random.default_rng(3)
    n = 300
    bad = rng.random(n) < 0.4
    table = pd.DataFrame({
        "age": rng.normal(np.where(bad, 33, 40), 8),
        "loans": rng.poisson(np.where(bad, 3.0, 1.5)),
        "savings": rng.choice(["low", "middle", "high"], n),
        "house": rng.random(n) < np.where(bad, 0.3, 0.6),
        "risk": np.where(bad, "bad", "good"),
    })  # fmt: skip
    model = model.fit(table, "risk")
    card = scorecard(model)
    check_scores(card, model, table)
    if all(one.kind != "curve" for one in card):
        np.testing.assert_allclose(on_paper(card, table), card.score(table), atol=1e-7)


@pytest.mark.parametrize("kind", ["date", "date+trend"])
def test_dates_have_points_for_their_parts(kind):
    rng = np.random.default_rng(2)
    n = 300
    y = rng.choice(["bad", "good"], n)
    hours = rng.integers(0, 9000, n) + np.where(y == "bad", 2000, 0)
    when = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h"))
    table = pd.DataFrame({"when": when, "y": y})
    model = verosim.NaiveBayes({"when": kind}).fit(table, "y")
    card = scorecard(model)
    check_scores(card, model, table)
    total = np.full(n, card.base_points)
    total += card["when.hour"].points[when.dt.hour]
    total += card["when.weekday"].points[when.dt.day_of_week]
    total += card["when.month"].points[when.dt.month - 1]
    if kind == "date+trend":
        days = (when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        total += np.vander(days, 3, increasing=True) @ np.array(card["when"].coefficients)
    np.testing.assert_allclose(total, card.score(table), atol=1e-5)
    assert card["when.weekday"].heads[:2] == ("Monday", "Tuesday")


def test_arrays_have_cards_too():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    models = [verosim.GaussianNB(), verosim.HistogramNB(), verosim.NaiveLDA(), verosim.LDA(),
              verosim.LogisticRegression()]  # fmt: skip
    for model in models:
        card = scorecard(model.fit(X, y), base=0, pdo=1)
        check_scores(card, model, X)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
        np.testing.assert_allclose(on_paper(card, frame), card.score(X), atol=1e-7)
        assert card.of == 2


def test_a_card_prints_as_a_table():
    model = verosim.NaiveBayes({"age": "gaussian"}).fit(LOANS, "risk")
    card = scorecard(model)
    lines = str(card).splitlines()
    assert lines[0] == "points for good: 600 at odds 1:1, 20 points double the odds"
    assert lines[2].split() == ["base", "points", "600.0"]
    assert lines[3].split() == ["savings", "'high'", "20.0"]
    assert any("·x²" in line and line.startswith("age") for line in lines)
    frame = card.to_pandas()
    assert list(frame.columns) == ["column", "value", "points", "formula"]
    assert frame["points"].isna().sum() == 1  # the formula


# Bad input ---------------------------------------------------------------------------------------


def test_bad_input_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(VerosimError, match="needs a model of two classes; got 3 classes"):
        scorecard(verosim.GaussianNB().fit(X, y))
    X, y = X[y > 0], y[y > 0]
    model = verosim.GaussianNB().fit(X, y)
    with pytest.raises(VerosimError, match="class 7 is not a class of the model"):
        scorecard(model, of=7)
    with pytest.raises(VerosimError, match="pdo must be a finite number above 0; got 0"):
        scorecard(model, pdo=0)
    with pytest.raises(VerosimError, match="no column 'x9'"):
        scorecard(model)["x9"]
    for other in (verosim.QDA(), verosim.TAN(), verosim.JointHistogram()):
        name = type(other).__name__
        with pytest.raises(VerosimError, match=rf"independent columns or .*linear.*; got {name}"):
            scorecard(other.fit(X, y))
    with pytest.raises(VerosimError, match="needs a model with probabilities; got LinearSVM"):
        scorecard(verosim.LinearSVM().fit(X, y))
    with pytest.raises(VerosimError, match=r"model must be a model such as LDA.*got 3"):
        scorecard(3)
