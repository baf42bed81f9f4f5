"""Other values of a row: `what_if`, and the smallest change that leads to another class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import verosim
from verosim import VerosimError, counterfactual, explain, what_if

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
PETALS = X_IRIS[:, 2:]


@pytest.fixture
def loans():
    rng = np.random.default_rng(7)
    n = 400
    bad = rng.random(n) < 0.4
    return pd.DataFrame({
        "age": np.clip(rng.normal(np.where(bad, 32, 40), 9), 19, 75).round().astype(int),
        "debt": rng.normal(np.where(bad, 3.0, 1.5), 1.0),
        "months": np.exp(rng.normal(np.where(bad, 3.3, 2.8), 0.4)).round(1),
        "loans": rng.poisson(np.where(bad, 3.0, 1.2)),
        "savings": np.where(rng.random(n) < np.where(bad, 0.7, 0.3), "low", "high"),
        "house": rng.random(n) < np.where(bad, 0.3, 0.6),
        "risk": np.where(bad, "bad", "good"),
    })  # fmt: skip


KINDS = {"debt": "gaussian", "months": "histogram", "loans": "poisson", "age": "gaussian"}


def loan_model(loans, **kinds):
    return verosim.NaiveBayes({**KINDS, **kinds}).fit(loans, "risk")


# One column --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [verosim.GaussianNB(), verosim.LDA(), verosim.QDA(), verosim.RDA(), verosim.NaiveLDA(),
     verosim.HistogramNB(), verosim.LogisticRegression(), verosim.MDA(3), verosim.AODE(),
     verosim.Calibrated(verosim.GaussianNB(), method="columns")],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_no_smaller_change_of_one_number_exists_on_a_fine_grid(model):
    model = model.fit(PETALS, Y_IRIS)
    grid = np.linspace(0.1, 2.5, 24_001)  # the values of the column in the table
    for i in (3, 60, 75, 120):
        now = model.predict(PETALS[[i]])[0]
        rows = np.repeat(PETALS[[i]], len(grid), axis=0)
        rows[:, 1] = grid
        classes = model.predict(rows)
        for to in (None, 1, 2):
            if to == now:
                continue
            found = counterfactual(model, PETALS[i], to, "x1", scale={"x1": 0.76},
                                   allowed={"x1": (0.1, 2.5)})  # fmt: skip
            reached = classes != now if to is None else classes == to
            assert found.found == reached.any()
            if not found:
                continue
            new = [[PETALS[i, 0], found.row["x1"]]]
            assert model.predict(new)[0] == found.after != now
            nearest = np.abs(grid[reached] - PETALS[i, 1]).min()
            away = abs(found.row["x1"] - PETALS[i, 1])
            assert away <= nearest + 2e-6
            assert away >= nearest - 1.01e-4  # one step of the grid
            assert found.cost == pytest.approx(away / 0.76)


def test_the_result_lies_a_millionth_of_a_deviation_beyond_the_boundary():
    # One deviation and equal priors: the boundary is half way between the means, at 4.
    model = verosim.GaussianNB().fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    found = counterfactual(model, [3.5], "b")
    deviation = np.sqrt(5.0)  # of 1, 3, 5, 7
    assert found.row["x0"] == pytest.approx(4.0 + 1e-6 * deviation, abs=1e-9)
    assert found.cost == pytest.approx(0.5 / deviation + 1e-6)
    assert found.exact


def test_quadratic_scores_have_two_roots_and_the_nearer_one_is_used():
    rows = np.array([[-1.0], [1.0], [-6.0], [6.0]])  # a narrow class inside of a wide one
    model = verosim.GaussianNB().fit(rows, ["in", "in", "out", "out"])
    root = np.sqrt(2 * np.log(6) / (1 - 1 / 36))  # log 1/1 − x²/2 = log 1/6 − x²/72
    for x in (-8.0, -5.0, 5.0, 8.0):
        found = counterfactual(model, [x], "in")
        assert found.row["x0"] == pytest.approx(np.sign(x) * root, abs=1e-4)
        assert found.exact
    assert abs(counterfactual(model, [0.3]).row["x0"] - root) < 1e-4


def test_only_models_with_known_boundaries_are_exact():
    exact = [verosim.GaussianNB(), verosim.LDA(), verosim.QDA(), verosim.HistogramNB(),
             verosim.LogisticRegression()]  # fmt: skip
    other = [verosim.MDA(3), verosim.JointHistogram(),
             verosim.Pool([verosim.AODE(5), verosim.LDA(encode="onehot")])]  # fmt: skip
    for model in exact + other:
        two = Y_IRIS > 0
        found = counterfactual(model.fit(PETALS[two], Y_IRIS[two]), PETALS[75], 2, "x1",
                               scale={"x1": 1.0})  # fmt: skip
        assert found.exact == (model in exact), model
        if found:
            assert ("not proven smallest" in str(found)) == (model not in exact)


def test_values_exist(loans):
    model = loan_model(loans)
    row = loans[model.predict(loans) == "bad"].iloc[0]
    for column in ("age", "loans"):
        found = counterfactual(model, row, "good", column)
        if found:
            assert isinstance(found.row[column], int)
        whole = np.arange(loans[column].min(), loans[column].max() + 1)
        rows = pd.DataFrame([row] * len(whole)).assign(**{column: whole})
        good = whole[model.predict(rows) == "good"]
        assert found.found == (len(good) > 0)
        if found:
            assert abs(found.row[column] - row[column]) == np.abs(good - row[column]).min()
    edges = model.schema_["months"].edges
    found = counterfactual(model, row, "good", ["months", "savings"])
    assert edges[0] <= found.row["months"] <= edges[-1]
    assert found.row["savings"] in ("low", "high")


def test_a_category_and_a_boolean_cost_one(loans):
    model = loan_model(loans)
    rows = loans[model.predict(loans) == "bad"]
    probability = model.predict_proba(rows)[:, 0]
    row = rows.iloc[int(np.abs(probability - 0.55).argmin())]
    old = row["savings"]
    found = counterfactual(model, row, "good", "savings")
    other = "high" if old == "low" else "low"
    assert found.found == (model.predict(pd.DataFrame([row]).assign(savings=other))[0] == "good")
    if found:
        assert (found.cost, found.changes) == (1.0, {"savings": (old, other)})
    house = counterfactual(model, row, "good", "house")
    if house:
        assert (house.cost, house.exact) == (1.0, True)


def test_no_change_is_stated():
    table = {"size": [1.0, 1.2, 2.0, 3.1, 2.9, 2.2], "hue": ["red", "red", "blue"] * 2,
             "kind": ["a", "a", "a", "b", "b", "b"]}  # fmt: skip
    model = verosim.NaiveBayes({"size": "gaussian"}).fit(table, "kind")
    found = counterfactual(model, {"size": 1.1, "hue": "red"}, "b", "hue")
    assert not found
    assert (found.changes, found.cost, found.exact) == ({}, np.inf, True)
    assert str(found) == "No change of 'hue' leads from a to b."
    assert "was found" not in str(found)


def test_a_missing_number_is_filled_near_the_mean(loans):
    model = loan_model(loans)
    row = {**loans.iloc[0].drop("risk").to_dict(), "debt": None}
    now = model.predict(pd.DataFrame([row]))[0]
    found = counterfactual(model, row, change="debt")
    if found:
        assert found.cost == 1.0
        assert model.predict(pd.DataFrame([found.row]))[0] != now


def test_numbers_that_are_written_as_texts():
    euros = ["1.234,50 €", "900,00 €", "30,00 €", "4,00 €", "2.000,00 €", "55,00 €"] * 5
    table = pd.DataFrame({"price": euros, "kind": ["u", "u", "v", "v", "u", "v"] * 5})
    model = verosim.NaiveBayes({"price": "gaussian"}).fit(table, "kind")
    found = counterfactual(model, {"price": "1.234,50 €"}, "v")
    assert 0 < found.row["price"] < 900
    assert found.changes["price"][0] == "1.234,50 €"
    assert model.predict({"price": [found.row["price"]]})[0] == "v"


# Several columns ---------------------------------------------------------------------------------


def test_several_columns_are_a_search_that_is_never_worse_than_one_column(loans):
    model = loan_model(loans)
    for i in np.flatnonzero(model.predict(loans) == "bad")[:3]:
        row = loans.iloc[i]
        names = ["age", "debt", "months", "savings"]
        found = counterfactual(model, row, "good", names)
        alone = [counterfactual(model, row, "good", name) for name in names]
        assert found.cost <= min(one.cost for one in alone) + 1e-4
        assert not found.exact
        assert "found, not proven smallest" in str(found)
        assert model.predict(pd.DataFrame([found.row]))[0] == "good"
        assert set(found.changes) <= set(names)


def test_a_search_over_two_columns_is_near_the_best_of_a_grid(loans):
    model = loan_model(loans)
    i = np.flatnonzero(model.predict(loans) == "bad")[3]
    row = loans.iloc[i]
    found = counterfactual(model, row, "good", ["debt", "age"])
    deviation = {"debt": loans["debt"].std(ddof=0), "age": loans["age"].std(ddof=0)}
    debt = np.linspace(loans["debt"].min(), loans["debt"].max(), 400)
    age = np.arange(loans["age"].min(), loans["age"].max() + 1)
    rows = pd.DataFrame([row] * (len(debt) * len(age)))
    rows["debt"], rows["age"] = np.repeat(debt, len(age)), np.tile(age, len(debt))
    cost = sum(np.abs(rows[name] - row[name]) / deviation[name] for name in deviation)
    best = cost[model.predict(rows) == "good"].min()
    assert found.cost <= best * 1.02 + 0.02


def test_every_column_may_change_by_default(loans):
    model = loan_model(loans)
    row = loans[model.predict(loans) == "bad"].iloc[0]
    found = counterfactual(model, row)
    assert set(found.columns) == set(loans.columns) - {"risk"}
    assert found.after == "good"


def test_allowed_values_and_scales_are_used(loans):
    model = loan_model(loans)
    row = loans[model.predict(loans) == "bad"].iloc[0]
    free = counterfactual(model, row, "good", "debt")
    half = counterfactual(model, row, "good", "debt", scale={"debt": 0.5})
    assert half.cost == pytest.approx(abs(half.row["debt"] - row["debt"]) / 0.5)
    limit = (free.row["debt"] + row["debt"]) / 2
    allowed = {"debt": tuple(sorted((limit, row["debt"])))}
    assert not counterfactual(model, row, "good", "debt", allowed=allowed)


# What if -----------------------------------------------------------------------------------------


def test_what_if_changes_only_the_lines_of_the_changed_columns(loans):
    model = loan_model(loans)
    row = loans.iloc[0]
    found = what_if(model, row, {"age": 60}, savings=None)
    assert set(found.changed) == {"age", "savings"}
    rows = pd.DataFrame([row, row])
    rows["age"] = [row["age"], 60]
    rows["savings"] = [row["savings"], None]
    np.testing.assert_allclose(found.posterior, model.predict_proba(rows), rtol=1e-12)
    assert found.prediction == tuple(model.predict(rows))
    change = found.after.log_odds[0] - found.before.log_odds[0]
    parts = sum(after - before for before, after in found.changed.values())
    assert parts == pytest.approx(change, rel=1e-10)
    assert found.before.chosen == found.after.chosen
    assert found.to_pandas().shape[1] == 5


def test_what_if_of_dependent_columns_reports_other_lines_too():
    model = verosim.QDA().fit(X_IRIS, Y_IRIS)
    found = what_if(model, X_IRIS[75], x3=2.4)
    assert len(found.changed) == 4
    assert found.prediction == (1, 2)
    assert found.label == 2
    np.testing.assert_allclose(
        found.before.differences, explain(model, X_IRIS[[75]], of=2, against=1).differences
    )


def test_rows_in_every_form_are_the_same_row(loans):
    model = loan_model(loans)
    rows = loans.drop(columns="risk").iloc[[5]]
    forms = [rows, rows.iloc[0], rows.iloc[0].to_dict(), rows.to_dict("list"), loans.iloc[5]]
    answers = [str(what_if(model, form, age=30)) for form in forms]
    assert len(set(answers)) == 1
    numbers = verosim.LDA().fit(PETALS, Y_IRIS)
    arrays = [PETALS[0], PETALS[:1], PETALS[0].tolist()]
    assert len({str(what_if(numbers, one, x0=5.0)) for one in arrays}) == 1


def test_a_text_can_change():
    model = verosim.TextNB().fit(["win cash", "lunch at noon"] * 5, ["spam", "ham"] * 5)
    assert what_if(model, "win cash", text="lunch").prediction == ("spam", "ham")
    with pytest.raises(VerosimError, match="has texts, and counterfactual changes only numbers"):
        counterfactual(model, "win cash")


# Bad input ---------------------------------------------------------------------------------------


def test_bad_input_is_named(loans):
    model = loan_model(loans)
    row = loans[model.predict(loans) == "bad"].iloc[0]
    with pytest.raises(VerosimError, match=r"no column 'agee'.*Did you mean 'age'"):
        what_if(model, row, agee=3)
    with pytest.raises(VerosimError, match=r"no column 'month'.*Did you mean 'months'"):
        counterfactual(model, row, "good", ["month"])
    with pytest.raises(VerosimError, match="class 'great' is not a class of the model"):
        counterfactual(model, row, "great", "age")
    with pytest.raises(VerosimError, match="already predicted as 'bad'"):
        counterfactual(model, row, "bad", "age")
    with pytest.raises(VerosimError, match="needs at least one new value"):
        what_if(model, row)
    with pytest.raises(VerosimError, match="needs one row; got several rows"):
        what_if(model, loans, age=3)
    with pytest.raises(VerosimError, match="needs a fitted classifier of verosim; got Random"):
        counterfactual(RandomForestClassifier(), row)
    with pytest.raises(VerosimError, match="none of the columns that the model was fitted on"):
        what_if(model, {"agee": 3}, age=3)
    with pytest.raises(VerosimError, match="allowed values of column 'age' must be"):
        counterfactual(model, row, "good", "age", allowed={"age": (3, "x")})
    with pytest.raises(VerosimError, match="scale has the column 'debt', which may not change"):
        counterfactual(model, row, "good", "age", scale={"debt": 1})
    linear = verosim.LogisticRegression().fit(PETALS, Y_IRIS)
    with pytest.raises(VerosimError, match=r"deviation of column 'x0' is not known.*scale="):
        counterfactual(linear, PETALS[0], 1, "x0")
    with pytest.raises(verosim.VerosimError, match="not fitted"):
        what_if(verosim.LDA(), PETALS[0], x0=1)


def test_dates_are_not_changed(loans):
    dated = loans.assign(when=pd.Timestamp("2024-03-01") + pd.to_timedelta(loans["age"], unit="h"))
    model = verosim.NaiveBayes().fit(dated, "risk")
    with pytest.raises(VerosimError, match="Column 'when' has dates"):
        counterfactual(model, dated.iloc[0], change="when")
    assert "when" not in counterfactual(model, dated.iloc[0]).columns
    assert "when" in what_if(model, dated.iloc[0], when=pd.Timestamp("2024-07-01")).changed
