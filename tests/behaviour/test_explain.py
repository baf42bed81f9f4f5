"""Explanations: Shapley values of v(S) = log p(x_S | k), and sums that are the log-odds."""

from __future__ import annotations

import pickle
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import verosim
from verosim import VerosimError, explain
from verosim.data.adapters import open_table
from verosim.densities import gaussian_shapley
from verosim.densities.attribution import AttributionRequest

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
TEXTS = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch", "claim a prize"] * 4
KINDS = ["spam", "spam", "ham", "ham", "spam"] * 4


def check_sums(model, X, **asked):
    """The parts add up to the log-odds of the model, to 1e-10 relative."""
    found = explain(model, X, **asked)
    total = found.prior_difference + found.differences.sum(axis=1)
    for line in found.line_differences.values():
        total = total + line
    np.testing.assert_allclose(total, found.log_odds, rtol=1e-10, atol=1e-10)
    if model.gives_probabilities:
        log_p = model.predict_log_proba(X)
        rows = np.arange(len(log_p))
        odds = log_p[rows, found.pair[:, 0]] - log_p[rows, found.pair[:, 1]]
        np.testing.assert_allclose(total, odds, rtol=1e-10, atol=1e-10)
    return found


def brute_force(value, p):
    """(p,) the mean over all orders of v(before j and j) − v(before j)."""
    out = np.zeros(p)
    for order in permutations(range(p)):
        for i, j in enumerate(order):
            out[j] += value(order[: i + 1]) - value(order[:i])
    return out / factorial(p)


def gaussian_value(x, mean, covariance, groups):
    """v of players that are groups of columns."""

    def value(some):
        at = [c for j in some for c in groups[j]]
        if not at:
            return 0.0
        return multivariate_normal(mean[at], covariance[np.ix_(at, at)]).logpdf(x[at])

    return value


@pytest.fixture
def table(rng):
    n = 240
    out = pd.DataFrame({
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
        "size": rng.normal(size=n),
        "rooms": rng.poisson(3.0, n),
        "hue": rng.choice(["red", "green", "blue"], n),
        "flag": rng.random(n) < 0.4,
    })  # fmt: skip
    score = out["size"] + (out["hue"] == "red") + 0.2 * out["rooms"] + rng.normal(size=n)
    out.loc[::7, "size"] = np.nan
    out.loc[::11, "hue"] = None
    out["kind"] = np.where(score > 1, "high", "low")
    return out


# Shapley values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [verosim.LDA(), verosim.QDA(), verosim.RDA(0.5)], ids=str)
def test_gaussian_values_are_the_mean_over_all_orders(model):
    model = model.fit(X_IRIS, Y_IRIS)
    found = explain(model, X_IRIS[[0, 70, 120]])
    assert found.kind == "shapley"
    params = model.state_.params
    covariances = np.broadcast_to(params.covariances(), (3, 4, 4))
    groups = [[j] for j in range(4)]
    for i, row in enumerate((0, 70, 120)):
        for k in range(3):
            value = gaussian_value(X_IRIS[row], params.means[k], covariances[k], groups)
            expected = brute_force(value, 4)
            np.testing.assert_allclose(found.contributions[i, k], expected, rtol=1e-9, atol=1e-9)


def test_all_columns_of_a_category_are_one_player(table):
    rows = table.drop(columns="when")
    model = verosim.QDA(encode="onehot", shrinkage=0.1).fit(rows, "kind")
    found = explain(model, rows.drop(columns="kind").head(3))
    assert set(found.names) == {"size", "rooms", "flag", "hue"}
    params, reader = model.state_.params, model.spec().reader(model.schema_)
    groups = [
        [c for c, owner in enumerate(reader.owners) if owner == name and params.used[c]]
        for name in found.names
    ]
    assert max(map(len, groups)) > 1
    block = reader.block(next(iter(open_table(rows).batches())))
    for k in range(2):
        value = gaussian_value(block[0], params.means[k], params.covariance_[k], groups)
        np.testing.assert_allclose(
            found.contributions[0, k], brute_force(value, len(groups)), rtol=1e-8, atol=1e-8
        )


def test_a_missing_cell_of_a_gaussian_adds_nothing(rng):
    X = X_IRIS.copy()
    X[rng.random(X.shape) < 0.15] = np.nan
    model = verosim.QDA(missing="marginalise").fit(X, Y_IRIS)
    found = check_sums(model, X)
    assert (found.contributions.transpose(0, 2, 1)[np.isnan(X)] == 0).all()
    params = model.state_.params
    row = int(np.flatnonzero(np.isnan(X).sum(axis=1) == 1)[0])
    seen = np.flatnonzero(~np.isnan(X[row]))
    value = gaussian_value(X[row], params.means[1], params.covariance_[1], [[j] for j in seen])
    np.testing.assert_allclose(found.contributions[row, 1, seen], brute_force(value, 3), rtol=1e-8)


def test_independent_columns_give_their_log_density():
    model = verosim.GaussianNB().fit(X_IRIS, Y_IRIS)
    found = check_sums(model, X_IRIS)
    whole = model.log_joint(X_IRIS) - model.state_.rule.log_prior
    np.testing.assert_allclose(found.contributions.sum(axis=2), whole, rtol=1e-12)
    alone = verosim.GaussianNB().fit(X_IRIS[:, [2]], Y_IRIS)
    alone = alone.log_joint(X_IRIS[:, [2]]) - alone.state_.rule.log_prior
    np.testing.assert_allclose(found.contributions[:, :, 2], alone, rtol=1e-9)


def test_mixtures_are_the_mean_over_all_orders():
    model = verosim.MDA(random_state=0).fit(X_IRIS[:, :3], Y_IRIS)
    found = check_sums(model, X_IRIS[[0, 70], :3])
    params = model.state_.params
    parts, x = params.components, X_IRIS[70, :3]
    covariances = np.broadcast_to(parts.covariance_, (len(params.owner), 3, 3))
    for k in range(3):
        own = np.flatnonzero(params.owner == k)
        each = [gaussian_value(x, parts.means[g], covariances[g], [[0], [1], [2]]) for g in own]

        def value(some, each=each, own=own):
            return logsumexp([v(some) for v in each], b=np.exp(params.log_share[own]))

        np.testing.assert_allclose(found.contributions[1, k], brute_force(value, 3), rtol=1e-8)


def test_joint_histograms_sum_out_the_other_columns():
    X = X_IRIS[:, :2]
    model = verosim.JointHistogram(bins=3).fit(X, Y_IRIS)
    found, params = check_sums(model, X), model.state_.params
    bins = params.codes.bins
    low, high = bins.bounds()

    def alone(j):
        """(C,) log p(x_j | k) of the first row: the sum over the bins of the other column."""
        other = 1 - j
        at = slice(bins.first[other], bins.first[other + 1])
        rows = np.tile(X[0], (bins.first[other + 1] - bins.first[other], 1))
        rows[:, other] = (low[at] + high[at]) / 2
        return logsumexp(params.log_density(rows) + np.log(high - low)[at, None], axis=0)

    first, second, both = alone(0), alone(1), params.log_density(X[:1])[0]
    np.testing.assert_allclose(found.contributions[0, :, 0], 0.5 * (first + both - second))
    np.testing.assert_allclose(found.contributions[0, :, 1], 0.5 * (second + both - first))


@pytest.mark.parametrize("model", [verosim.LDA(), verosim.QDA()], ids=str)
def test_sampled_values_are_near_the_exact_ones(model, rng, monkeypatch):
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    model = model.set_params(shrinkage=0.2).fit(X, y)
    exact = explain(model, X)
    monkeypatch.setattr(gaussian_shapley, "MOST_EXACT_PLAYERS", 3)
    sampled = check_sums(model, X, permutations=200)
    assert (exact.kind, sampled.kind) == ("shapley", "sampled")
    assert exact.standard_errors is None
    off = np.abs(sampled.differences - exact.differences)
    assert (off <= 3 * sampled.standard_errors + 1e-9).mean() > 0.98
    assert 0 < sampled.standard_errors.max() < np.abs(exact.differences).max()


def test_more_than_twelve_columns_are_sampled(rng):
    X = rng.normal(size=(80, 14))
    y = np.arange(80) % 2
    found = check_sums(verosim.LDA().fit(X, y), X)
    assert found.kind == "sampled"
    assert found.standard_errors.shape == (80, 14)
    again = explain(verosim.LDA().fit(X, y), X)
    np.testing.assert_array_equal(found.contributions, again.contributions)


def test_the_matrices_of_a_model_are_computed_once(monkeypatch):
    model = verosim.LDA().fit(X_IRIS, Y_IRIS)
    explain(model, X_IRIS)
    monkeypatch.setattr(gaussian_shapley.QuadraticForms, "of", None)
    explain(model, X_IRIS[:5])


@pytest.mark.parametrize("model", [verosim.QDA(), verosim.RDA(0.5)], ids=str)
def test_nearly_dependent_columns(model, rng):
    X = rng.normal(size=(200, 4))
    X = np.column_stack([X, X[:, 0] + X[:, 1] + 1e-5 * rng.normal(size=200)])
    found = check_sums(model.fit(X, (X[:, 0] > rng.normal(size=200)).astype(int)), X)
    assert np.abs(found.contributions).max() < 1e3


def test_rows_do_not_depend_on_each_other(rng):
    X = np.repeat(X_IRIS, 40, axis=0)  # more than one block of rows
    X[rng.random(X.shape) < 0.1] = np.nan
    model = verosim.QDA(missing="marginalise").fit(X, np.repeat(Y_IRIS, 40))
    found = explain(model, X)
    some = [0, 17, 4500, 5999]
    np.testing.assert_allclose(
        found.contributions[some], explain(model, X[some]).contributions, rtol=1e-9, atol=1e-9
    )
    again = pickle.loads(pickle.dumps(found))
    assert str(again[0]) == str(found[0])


def test_a_column_that_is_constant_adds_nothing():
    X = np.column_stack([X_IRIS, np.ones(150)])
    with pytest.warns(verosim.SingularWarning):
        model = verosim.LDA().fit(X, Y_IRIS)
    found = check_sums(model, X)
    assert (found.contributions[:, :, 4] == 0).all()
    np.testing.assert_allclose(
        found.contributions[:, :, :4],
        explain(verosim.LDA().fit(X_IRIS, Y_IRIS), X_IRIS).contributions, rtol=1e-9, atol=1e-9,
    )  # fmt: skip


# Sums of every estimator -------------------------------------------------------------------------

ARRAYS = [
    verosim.LDA(), verosim.QDA(), verosim.RDA(), verosim.MDA(random_state=0), verosim.GaussianNB(),
    verosim.NaiveLDA(), verosim.CategoricalNB(), verosim.BernoulliNB(binarize=3.0),
    verosim.MultinomialNB(), verosim.ComplementNB(), verosim.HistogramNB(),
    verosim.JointHistogram(bins=3), verosim.TAN(), verosim.KDB(), verosim.AODE(),
    verosim.NaiveBayes(), verosim.LogisticRegression(), verosim.LinearSVM(),
    verosim.LeastSquares(), verosim.Perceptron(random_state=0), verosim.Twin(verosim.LDA()),
    verosim.Twin(verosim.QDA()), verosim.Twin(verosim.HistogramNB()),
    verosim.Twin(verosim.NaiveBayes()), verosim.Calibrated(verosim.QDA()),
    verosim.Calibrated(verosim.GaussianNB(), method="columns"),
    verosim.Reject(verosim.GaussianNB()), verosim.Conformal(verosim.LDA()),
]  # fmt: skip
REFUSED = {
    "LiftedLDA": "LiftedLDA cannot be explained by columns",
    "OneVsRest": "got OneVsRest", "OneVsOne": "got OneVsOne",
    "Whiten": "got Whiten",
}  # fmt: skip
ELSEWHERE = {"TextNB", "TextRidge", "TextPool", "Pool", "SemiSupervised"}  # in the tests below


@pytest.mark.filterwarnings("ignore::verosim.errors.VerosimWarning")
@pytest.mark.parametrize("model", ARRAYS, ids=lambda model: " ".join(str(model).split()))
def test_parts_are_a_sum(model):
    found = check_sums(model.fit(X_IRIS, Y_IRIS), X_IRIS)
    assert found.contributions.shape == (150, 3, 4)
    pair = check_sums(model, X_IRIS, of=2, against=0)
    assert set(pair.chosen) == {2}
    assert set(pair.against) == {0}


def test_every_classifier_is_in_a_test():
    every = {
        name for name in verosim.__all__
        if isinstance(getattr(verosim, name), type) and hasattr(getattr(verosim, name), "fit")
    }  # fmt: skip
    assert every == {type(model).__name__ for model in ARRAYS} | set(REFUSED) | ELSEWHERE


@pytest.mark.parametrize(
    "model",
    [
        verosim.NaiveBayes(), verosim.NaiveBayes(missing="category"),
        verosim.NaiveBayes({"when": "date+trend"}), verosim.LDA(encode="onehot"),
        verosim.QDA(encode="normal", shrinkage=0.2), verosim.RDA(0.3, 0.1, encode="normal"),
        verosim.TAN(), verosim.KDB(2), verosim.AODE(), verosim.Pool(),
        verosim.Calibrated(verosim.NaiveBayes(), method="columns"),
        verosim.Twin(verosim.NaiveBayes()),
        verosim.SemiSupervised(verosim.NaiveBayes()),
    ],
    ids=lambda model: " ".join(str(model).split()),
)  # fmt: skip
def test_parts_of_tables_are_a_sum(model, table):
    model = model.fit(table, "kind")
    rows = table.drop(columns="kind").head(40)
    found = check_sums(model, rows)
    assert set(found.columns) == set(rows.columns)
    folded = found.folded()
    assert sorted(folded.names) == sorted(rows.columns)
    np.testing.assert_allclose(
        folded.differences.sum(axis=1), found.differences.sum(axis=1), atol=1e-10
    )
    for name in rows.columns:
        np.testing.assert_allclose(found.of(name), folded.of(name), atol=1e-10)


@pytest.mark.parametrize("method", ["temperature", "length"])
def test_texts_have_parts_of_tokens(method):
    model = verosim.TextNB().fit(TEXTS, KINDS)
    found = check_sums(model, TEXTS[:3])
    tokens = found.tokens(0)
    assert next(iter(tokens)) in ("win", "cash", "now")
    assert sum(tokens.values()) == pytest.approx(found.differences[0, 0])
    assert "'cash' +" in str(found[0])
    calibrated = verosim.calibrate(verosim.TextNB(), TEXTS, KINDS, method=method, cv=2)
    found = check_sums(calibrated, TEXTS[:3])
    assert sum(found.tokens(0).values()) == pytest.approx(found.differences[0, 0])


@pytest.mark.parametrize(
    "model",
    [verosim.TextRidge(), verosim.TextNB(model="bernoulli"), verosim.TextNB(hashed=64),
     verosim.TextPool()],
    ids=lambda model: " ".join(str(model).split()),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::verosim.errors.VerosimWarning")
def test_every_model_of_texts(model):
    texts = pd.DataFrame({"text": TEXTS * 3, "kind": KINDS * 3})
    found = check_sums(model.fit(texts, "kind"), texts[["text"]].head(8))
    assert found.names == ("text",)


def test_sparse_rows():
    X = sparse.random(30, 12, 0.3, format="csr", random_state=0)
    y = np.arange(30) % 3
    model = verosim.MultinomialNB().fit(X, y)
    found = check_sums(model, X)
    dense = explain(model, X.toarray())
    np.testing.assert_allclose(found.contributions, dense.contributions)


# Kinds -------------------------------------------------------------------------------------------


def test_terms_given_parents_are_labelled(table):
    rows = table.drop(columns="kind").head(4)
    for model in (verosim.TAN(), verosim.KDB(2), verosim.AODE()):
        model = model.fit(table, "kind")
        assert explain(model, rows, kind="chain").kind == "chain"
        with pytest.raises(VerosimError, match="are of the kind 'chain'; got kind='shapley'"):
            explain(model, rows, kind="shapley")
    assert set(explain(model, rows).lines) == {"averaging of parents"}


def test_a_missing_value_that_is_a_code_has_its_own_term(table):
    model = verosim.TAN().fit(table, "kind")
    found = explain(model, table.drop(columns="kind"))
    assert (found.of("hue")[table["hue"].isna()] != 0).all()
    model = verosim.NaiveBayes().fit(table, "kind")
    found = explain(model, table.drop(columns="kind"))
    assert (found.of("hue")[table["hue"].isna()] == 0).all()


def test_coefficients_of_a_linear_model():
    model = verosim.LDA().fit(X_IRIS, Y_IRIS)
    found = check_sums(model, X_IRIS, kind="linear", of=1, against=0)
    weights = model.coef_[1] - model.coef_[0]
    expected = (X_IRIS - X_IRIS.mean(axis=0)) * weights
    np.testing.assert_allclose(found.differences, expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(VerosimError, match="linear in the columns"):
        explain(verosim.QDA().fit(X_IRIS, Y_IRIS), X_IRIS, kind="linear")


@pytest.mark.parametrize("given", [X_IRIS, sparse.csr_matrix(X_IRIS)], ids=["dense", "sparse"])
def test_linear_classifiers_are_about_the_mean_of_the_training_rows(given, rng):
    weights = rng.random(150) + 0.5
    model = verosim.LogisticRegression().fit(given, Y_IRIS, weights)
    found = check_sums(model, given, of=2, against=1)
    mean = weights @ X_IRIS / weights.sum()
    expected = (X_IRIS - mean) * (model.coef_[2] - model.coef_[1])
    np.testing.assert_allclose(found.differences, expected, rtol=1e-9, atol=1e-9)


def test_a_temperature_multiplies_the_parts_and_the_prior():
    model = verosim.calibrate(verosim.GaussianNB(), X_IRIS, Y_IRIS)
    inside = explain(model.model_, X_IRIS, of=1, against=2)
    found = explain(model, X_IRIS, of=1, against=2)
    tau = model.map_.tau
    assert tau != 1
    np.testing.assert_allclose(found.differences, tau * inside.differences)
    np.testing.assert_allclose(found.prior_difference, tau * inside.prior_difference)


def test_a_pool_adds_up_by_expert(table):
    model = verosim.Pool().fit(table, "kind")
    rows = table.drop(columns="kind").head(20)
    found = explain(model, rows)
    scores = model.expert_scores(rows)
    assert tuple(found.experts) == scores.names
    np.testing.assert_allclose(np.stack(list(found.experts.values())), scores.parts, atol=1e-10)
    lifted = [name for name in scores.names if name.startswith("LiftedLDA")]
    assert lifted
    assert set(lifted) <= set(found.lines)


# Printing ----------------------------------------------------------------------------------------


def test_a_row_is_a_sentence(data):
    credit = pd.read_csv(data / "german_credit" / "german_credit.csv")
    model = verosim.NaiveBayes().fit(credit, "class")
    rows = credit.drop(columns="class").iloc[[1]]
    text = str(explain(model, rows))
    assert text.startswith("0.61 bad: prior −0.85, duration 48 +0.76, credit_amount 5951 +0.54, ")
    assert "purpose 'radio/tv' −0.42" in text
    assert str(explain(model, rows, of="good")).startswith("0.39 good: prior +0.85, duration 48")


def test_tables(table):
    model = verosim.NaiveBayes().fit(table, "kind")
    found = explain(model, table.drop(columns="kind").head(3))
    frame = found.to_pandas()
    assert list(frame.columns) == ["row", "class", "against", "part", "value", "contribution"]
    sums = frame.groupby("row")["contribution"].sum()
    np.testing.assert_allclose(sums, found.log_odds)
    hour = frame[(frame.row == 0) & (frame.part == "when.hour")]["value"].item()
    assert hour == table["when"][0].hour
    lines = found[1].table(markdown=False).splitlines()
    assert lines[1].startswith("prior")
    assert lines[-1].startswith("log-odds")
    assert len(lines) == len(found.names) + 3
    assert found[0].table().splitlines()[1] == "|---|---|--:|"
    assert len([*found]) == len(found) == 3
    with pytest.raises(IndexError, match="the explanation has 3 rows"):
        found[3]


def test_more_rows_than_fit_on_a_screen():
    text = str(explain(verosim.LDA().fit(X_IRIS, Y_IRIS), X_IRIS))
    assert text.splitlines()[-1] == "… 140 more rows"
    assert " 0 against 1: prior +0.00, " in text


def test_a_row_is_compared_with_the_runner_up():
    model = verosim.LDA().fit(X_IRIS, Y_IRIS)
    found = explain(model, X_IRIS)
    order = np.argsort(-model.predict_proba(X_IRIS), axis=1)
    np.testing.assert_array_equal(found.chosen, model.classes_[order[:, 0]])
    np.testing.assert_array_equal(found.against, model.classes_[order[:, 1]])
    np.testing.assert_array_equal(found.chosen, model.predict(X_IRIS))
    other = explain(model, X_IRIS, against=0)
    assert set(other.chosen) == {1, 2}


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::verosim.errors.VerosimWarning")
def test_refused_models():
    X, y = X_IRIS, Y_IRIS
    lifted = verosim.LiftedLDA().fit(X, y)
    with pytest.raises(VerosimError, match=REFUSED["LiftedLDA"]):
        explain(lifted, X)
    base = verosim.LogisticRegression()
    for model in (verosim.OneVsRest(base), verosim.OneVsOne(base), verosim.Whiten()):
        with pytest.raises(VerosimError, match=REFUSED[type(model).__name__]):
            explain(model.fit(X, y), X)
    with pytest.raises(VerosimError, match="got RandomForestClassifier"):
        explain(RandomForestClassifier(2).fit(X, y), X)
    with pytest.raises(VerosimError, match="got the class LDA"):
        explain(verosim.LDA, X)
    with pytest.raises(VerosimError, match="not fitted yet"):
        explain(verosim.LDA(), X)
    mapped = verosim.Perceptron(features="polynomial", random_state=0).fit(X, y)
    with pytest.raises(VerosimError, match="Perceptron with features=… cannot be explained"):
        explain(mapped, X)
    isotonic = verosim.calibrate(verosim.GaussianNB(), X, y, method="isotonic")
    with pytest.raises(VerosimError, match="isotonic calibration cannot be explained"):
        explain(isotonic, X)


def test_wrong_arguments(table):
    model = verosim.NaiveBayes().fit(table, "kind")
    rows = table.drop(columns="kind").head(3)
    with pytest.raises(VerosimError, match="The class 'middle' is not a class of the model"):
        explain(model, rows, of="middle")
    with pytest.raises(VerosimError, match="compared with itself"):
        explain(model, rows, of="low", against="low")
    with pytest.raises(VerosimError, match="The column 'colour' is not a column of the model"):
        explain(model, rows).of("colour")
    with pytest.raises(VerosimError, match="kind must be"):
        explain(model, rows, kind="lime")
    with pytest.raises(VerosimError, match="permutations must be"):
        explain(model, rows, permutations=1)
    with pytest.raises(VerosimError, match="only the class 0"):
        explain(verosim.GaussianNB().fit(X_IRIS[:50], Y_IRIS[:50]), X_IRIS)


def test_attribution_without_a_pair_has_no_errors(rng):
    X = rng.normal(size=(50, 13))
    model = verosim.LDA().fit(X, np.arange(50) % 2)
    found = model.state_.params.attribution(X, AttributionRequest(permutations=4))
    assert (found.kind, found.errors) == ("sampled", None)
