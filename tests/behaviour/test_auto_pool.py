"""auto: a fitted pool by default, its table, its sources, and the checks of its arguments."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

import verosim
from verosim import (
    LDA,
    QDA,
    GaussianNB,
    LiftedLDA,
    NaiveBayes,
    NaiveLDA,
    Pool,
    VerosimError,
    VerosimWarning,
    auto,
    cross_validate,
)
from verosim.errors import warn
from verosim.folds.splits import shuffled_folds
from verosim.pool import Choice, splitting
from verosim.pool.fold_trial import FoldTrial
from verosim.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::verosim.errors.SingularWarning")


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def mixed():
    """A number and two categories; the classes differ in each, and some cells are missing."""
    rng = np.random.default_rng(3)
    kind = rng.choice(["a", "b"], 300)
    size = rng.normal(np.where(kind == "a", 0.0, 1.0), 1.0)
    hue = np.where(rng.random(300) < 0.7, np.where(kind == "a", "red", "blue"), "green")
    table = pd.DataFrame({"size": size, "hue": hue, "shop": rng.choice(list("uvw"), 300)})
    table.loc[::9, "size"] = np.nan
    table.loc[::7, "hue"] = None
    return table.assign(kind=kind)


def tried(table):
    return [row for row in table.rows if not row.why]


# The result --------------------------------------------------------------------------------------


def test_the_model_is_a_fitted_pool(wine):
    X, y = wine
    found = auto(X, y)
    assert isinstance(found, Choice)
    model, table = found
    assert isinstance(model, Pool)
    assert table is model.table_
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.97


def test_the_first_row_of_the_table_is_the_pool(wine):
    """Then the experts by weight, each with its time and size."""
    table = auto(*wine, effort="fast").table
    pool, *experts = tried(table)
    assert repr(pool.model) == "Pool(effort='fast')"
    assert np.isnan(pool.weight)
    assert 0 < pool.score < 0.1
    assert pool.accuracy > 0.95
    weights = [row.weight for row in experts]
    assert weights == sorted(weights, reverse=True)
    assert all(row.seconds >= 0 and row.size > 0 and row.score > 0 for row in experts)
    first = str(table).splitlines()[1]
    assert first.startswith("Pool(effort='fast')")
    assert f"{pool.score:.4f} ± {pool.error:.4f}" in first


def test_accuracy_sorts_the_experts(wine):
    X, y = wine
    by_weight, by_accuracy = (
        auto(X, y, effort="fast"),
        auto(X, y, effort="fast", scoring="accuracy"),
    )
    assert (by_weight.table.scoring, by_accuracy.table.scoring) == ("neg_log_loss", "accuracy")
    pool, *experts = tried(by_accuracy.table)
    assert isinstance(pool.model, Pool)
    shares = [row.accuracy for row in experts]
    assert shares == sorted(shares, reverse=True)
    np.testing.assert_array_equal(
        by_weight.model.predict_proba(X), by_accuracy.model.predict_proba(X)
    )


def test_fast_has_no_lifted_experts(wine):
    kinds = {type(row.model) for row in auto(*wine, effort="fast").table.rows}
    assert LiftedLDA not in kinds
    assert LDA in kinds
    assert LiftedLDA in {type(row.model) for row in auto(*wine).table.rows}


def test_random_state(wine):
    """It decides the folds: equal seeds give equal numbers, other seeds give others."""
    X, y = wine
    once, again, other = (auto(X, y, effort="fast", random_state=seed) for seed in (5, 5, 6))
    assert once.table[0].score == again.table[0].score
    np.testing.assert_array_equal(once.model.predict_proba(X), again.model.predict_proba(X))
    assert once.table[0].score != other.table[0].score


def test_warnings_of_experts_are_shown_once(wine, monkeypatch):
    """Every expert may issue the same warning; the first one is shown, with their number."""
    inner = FoldTrial.count

    def count(self, group):
        warn("A column is constant.", VerosimWarning)
        return inner(self, group)

    monkeypatch.setattr(FoldTrial, "count", count)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        auto(*wine, effort="fast")
    ours = [str(one.message) for one in caught if issubclass(one.category, VerosimWarning)]
    assert len(ours) == 1
    assert ours[0].startswith("A column is constant. (")


# like --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_like_makes_pools_that_merge(mixed):
    """The sums of two halves are those of all rows; the weights are averaged by rows."""
    first = auto(mixed[:120], "kind").model
    second = auto(mixed[120:], "kind", like=first).model
    whole = auto(mixed, "kind", like=first).model
    merged = first + second
    assert merged.schema_ == first.schema_ == second.schema_
    assert_same(merged.state_.statistic, whole.state_.statistic)
    for name, weight in merged.weights_.items():
        mean = 0.4 * first.weights_[name] + 0.6 * second.weights_[name]
        assert weight == pytest.approx(mean, rel=1e-9)


def test_pools_of_different_experts_do_not_merge(mixed):
    first = auto(mixed[:150], "kind", time_limit=1e-9).model
    second = auto(mixed[150:], "kind", effort="fast").model
    with pytest.raises(VerosimError, match="like=pool"):
        first.merge(second)


# Groups ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def owners():
    """Each owner has a city of its own and a random label, so the city gives the label away."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(40), 6)
    label = rng.permutation(np.arange(40) % 2)[owner]
    return pd.DataFrame({
        "city": [f"c{i}" for i in owner], "noise": rng.normal(size=240), "owner": owner + 1000,
        "kind": np.where(label == 1, "yes", "no"),
    })  # fmt: skip


@pytest.mark.parametrize("way", ["column", "array", "labels apart"])
def test_groups_stay_together(owners, way, monkeypatch):
    """The rows of a group are in one fold, so what is learned about it cannot be used."""
    seen = []
    inner = splitting.fold_numbers

    def watched(rows, *given):
        found = inner(rows, *given)
        seen.append((found[0], rows.together))
        return found

    monkeypatch.setattr(splitting, "fold_numbers", watched)
    rows = owners.drop(columns="owner")
    if way == "column":
        found = auto(owners, "kind", groups="owner", effort="fast")
        assert found.model.schema_["owner"].density == "ignore"
    elif way == "array":
        found = auto(rows, "kind", groups=owners["owner"], effort="fast")
    else:
        labels = owners["kind"].to_numpy()
        found = auto(rows.drop(columns="kind"), labels, groups=owners["owner"], effort="fast")
    folds, together = seen[-1]
    numbers = pd.Series(folds).groupby(together)
    assert len(numbers) == 40
    assert (numbers.size() == 6).all()
    assert (numbers.nunique() == 1).all()
    assert len(np.unique(folds)) == 5
    apart = auto(rows, "kind", effort="fast")
    assert apart.table[0].accuracy > 0.9  # the city gives the label away
    assert found.table[0].accuracy < 0.65
    assert found.table[0].score > 0.65


def test_groups_are_checked(owners):
    with pytest.raises(VerosimError, match=r"'ownr' is not in the table.*'owner'"):
        auto(owners, "kind", groups="ownr")
    with pytest.raises(VerosimError, match="'kind' is the target"):
        auto(owners, "kind", groups="kind")
    with pytest.raises(VerosimError, match="each of the 240 rows"):
        auto(owners, "kind", groups=np.arange(100))
    with pytest.raises(VerosimError, match="Give at least two groups"):
        auto(owners, "kind", groups=np.zeros(240))
    with pytest.raises(VerosimError, match="Give at least two groups"):
        auto(owners.assign(owner=1), "kind", groups="owner")


# Folds -------------------------------------------------------------------------------------------


def test_given_folds_are_used(mixed, monkeypatch):
    """A number, the fold of each row, or a column of folds."""
    seen = []
    inner = splitting.fold_numbers

    def watched(*given):
        found = inner(*given)
        seen.append(found[0])
        return found

    monkeypatch.setattr(splitting, "fold_numbers", watched)
    folds = np.arange(300) % 4
    by_row = auto(mixed, "kind", folds, effort="fast")
    by_column = auto(mixed.assign(part=folds), "kind", "part", effort="fast")
    auto(mixed, "kind", 3, effort="fast")
    np.testing.assert_array_equal(np.bincount(seen[0]), np.bincount(folds))
    np.testing.assert_array_equal(seen[0], seen[1])  # in the order of the hashes of the rows
    assert len(np.unique(seen[2])) == 3
    assert by_row.table[0].score == pytest.approx(by_column.table[0].score, rel=1e-9)
    assert by_column.model.schema_["part"].density == "ignore"


# Limits and interrupts ---------------------------------------------------------------------------


def test_time_limit_leaves_experts_out(wine):
    """The first is always tried; the others have the reason in the table."""
    model, table = auto(*wine, time_limit=1e-9)
    late = [row for row in table.rows if row.why]
    assert {LDA, LiftedLDA} <= {type(row.model) for row in late}
    assert len({type(row.model) for row in late}) > len(tried(table)) - 1 > 0
    assert all(row.why == "The time limit was reached." for row in table.rows if row.why)
    assert all(np.isnan(row.score) for row in table.rows if row.why)
    assert "not tried" in str(table)
    assert table.complete
    assert model.score(*wine) > 0.8


def interrupt_after(monkeypatch, groups):
    """Ctrl-C once so many groups of experts have been counted."""
    inner, seen = FoldTrial.count, []

    def count(self, group):
        seen.append(group)
        if len(seen) > groups:
            raise KeyboardInterrupt
        return inner(self, group)

    monkeypatch.setattr(FoldTrial, "count", count)
    return seen


def test_interrupt_keeps_the_experts_so_far(wine, monkeypatch):
    seen = interrupt_after(monkeypatch, 2)
    with pytest.warns(VerosimWarning, match="interrupted"):
        model, table = auto(*wine)
    assert not table.complete
    assert "interrupted" in str(table)
    kept = {name for group in seen[:2] for name in group.names}
    assert {row.name for row in tried(table)[1:]} == kept
    assert set(model.weights_) <= kept
    assert all("interrupted" in row.why for row in table.rows if row.why)
    assert model.score(*wine) > 0.8


def test_interrupt_before_the_first_expert(wine, monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        auto(*wine)


def test_time_limit_of_textbook_models(wine):
    """One family is scored, and its best model is returned."""
    model, table = auto(*wine, simple=True, time_limit=1e-9)
    late = [row for row in table.rows if row.why]
    assert {type(row.model) for row in late} == {GaussianNB, NaiveLDA, NaiveBayes}
    assert all(row.why == "The time limit was reached." for row in late)
    assert model.score(*wine) > 0.95
    assert len(tried(auto(*wine, by="bic", time_limit=1e-9).table)) == 1


# Sources -----------------------------------------------------------------------------------------


def test_files_folders_and_generators(mixed, tmp_path):
    """The same rows give the same pool, in one file, in two, or in pieces that are read once."""
    mixed.to_csv(tmp_path / "all.csv", index=False)
    (tmp_path / "parts").mkdir()
    mixed[:170].to_csv(tmp_path / "parts" / "1.csv", index=False)
    mixed[170:].to_csv(tmp_path / "parts" / "2.csv", index=False)
    file = auto(tmp_path / "all.csv", "kind", effort="fast")
    folder = auto(str(tmp_path / "parts"), "kind", effort="fast")
    pieces = auto((mixed[i : i + 60] for i in range(0, 300, 60)), "kind", effort="fast")
    expected = file.model.predict_proba(mixed)
    assert (file.model.predict(mixed) == mixed["kind"]).mean() > 0.75
    counts = mixed["kind"].value_counts()[["a", "b"]]
    for found in (folder, pieces):
        assert found.table[0].score == pytest.approx(file.table[0].score, rel=1e-9)
        np.testing.assert_allclose(found.model.predict_proba(mixed), expected, rtol=1e-7)
        np.testing.assert_allclose(found.model.class_count_, counts)


def test_rows_with_labels_apart(mixed):
    """The target as a column or as an array: the same folds, the same pool."""
    rows, labels = mixed.drop(columns="kind"), mixed["kind"].to_numpy()
    named, apart = auto(mixed, "kind", effort="fast"), auto(rows, labels, effort="fast")
    assert named.table[0].score == pytest.approx(apart.table[0].score, rel=1e-9)
    np.testing.assert_allclose(named.model.predict_proba(rows), apart.model.predict_proba(rows))


def test_sparse_rows_have_textbook_models():
    X, y = sparse.random(90, 6, 0.4, format="csr", random_state=0), np.arange(90) % 2
    model, table = auto(X, y, effort="max")
    assert {type(row.model) for row in tried(table)} == {GaussianNB, NaiveLDA}
    assert isinstance(model, GaussianNB | NaiveLDA)
    with pytest.raises(VerosimError, match="like must be None"):
        auto(X, y, like=Pool())


# One textbook model ------------------------------------------------------------------------------


def test_accuracy_chooses_a_textbook_model():
    """The table is sorted by accuracy on the same folds, and the first model is fitted."""
    X, y = load_iris(return_X_y=True)
    model, table = auto(X, y, simple=True, scoring="accuracy")
    shares = [row.accuracy for row in tried(table)]
    assert shares == sorted(shares, reverse=True)
    assert repr(model) == table[0].name
    folds = shuffled_folds(10, y)
    found = cross_validate(table[0].model, X, y, cv=folds)
    assert table[0].accuracy == pytest.approx((found.predictions == y).mean(), rel=1e-12)
    by_loss = auto(X, y, simple=True).table
    assert max(row.accuracy for row in by_loss.rows) == table[0].accuracy
    assert table.scoring == "accuracy"


def test_random_state_of_textbook_folds():
    X, y = load_iris(return_X_y=True)
    scores = [auto(X, y, models=[LDA()], random_state=seed).table[0].score for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]
    own = cross_validate(LDA(), X, y, cv=shuffled_folds(10, y, seed=2))
    assert scores[2] == pytest.approx(-own.mean("neg_log_loss"), rel=1e-9)


def test_the_order_of_the_rows_does_not_choose(rng):
    """Rows sorted by speaker, as in the vowel data: folds in file order hold out whole speakers.

    The folds are random, so a sorted file and a shuffled one differ by chance only.
    """
    speakers, classes, each = 12, 4, 12
    speaker = np.repeat(np.arange(speakers), classes * each)
    y = np.tile(np.repeat(np.arange(classes), each), speakers)
    places = rng.normal(0, 4, (speakers, classes, 5))  # every speaker says every vowel differently
    X = places[speaker, y] + rng.normal(size=(len(y), 5))
    in_order = -cross_validate(QDA(), X, y).mean("neg_log_loss")
    models = [LDA(), QDA(), GaussianNB()]
    row = auto(X, y, models=models).table[0]
    assert row.name == "QDA()"
    assert in_order - row.score > 6 * row.error
    for _ in range(3):
        order = rng.permutation(len(y))
        other = auto(X[order], y[order], models=models).table[0]
        assert other.name == row.name
        assert abs(other.score - row.score) < 3 * row.error


# Arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"effort": "huge"}, "effort must be one of 'fast', 'default', 'max'; got 'huge'"),
        ({"by": "aic"}, "by must be one of 'held_out', 'bic'; got 'aic'"),
        ({"scoring": "f1"}, "scoring must be one of 'neg_log_loss', 'accuracy'; got 'f1'"),
        ({"scoring": "bic"}, 'Use auto.*by="bic"'),
        ({"scoring": "accuracy", "by": "bic"}, 'together with by="bic"'),
        ({"time_limit": 0}, "time_limit must be a finite number above 0; got 0"),
        ({"time_limit": -1.0, "simple": True}, "time_limit must be a finite number above 0"),
        ({"time_limit": "10 s"}, "time_limit must be"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": np.zeros(178, int)}, "folds"),
        ({"cv": "loo"}, "cv must give folds"),
        ({"like": LDA()}, "like must be a fitted Pool; got LDA"),
        ({"like": Pool()}, "like must be a fitted Pool; got a pool that is not fitted"),
        ({"like": Pool(), "simple": True}, "like must be None if one textbook model is chosen"),
        ({"like": Pool(), "models": [LDA()]}, "like must be None"),
        ({"like": Pool(), "by": "bic"}, "like must be None"),
    ],
    ids=str,
)
def test_wrong_arguments(wine, given, match):
    with pytest.raises(VerosimError, match=match):
        auto(*wine, **given)


def test_like_has_a_schema_already(mixed):
    first = auto(mixed, "kind", time_limit=1e-9).model
    with pytest.raises(VerosimError, match="schema must not be given together with like"):
        auto(mixed, "kind", like=first, schema=verosim.look(mixed, "kind"))
    with pytest.raises(VerosimError, match="na must not be given together with like"):
        auto(mixed, "kind", like=first, na=["?"])
