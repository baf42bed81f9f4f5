"""Folds in the order of time, and splitters of scikit-learn on tables: what predicts which rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import (
    GroupShuffleSplit,
    LeavePGroupsOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

import verosim
from verosim import LDA, QDA, NaiveBayes, TextNB, VerosimError, auto, cross_validate, look, path
from verosim.data import blocks as blocks_module
from verosim.folds import holdout


@pytest.fixture
def sales(rng):
    """600 rows in random order, with several rows on most days, and a drift of the classes."""
    day = rng.integers(0, 200, 600)
    x = rng.normal(size=600) + day / 100
    y = np.where(rng.random(600) < 1 / (1 + np.exp(-2 * (x - 1))), "yes", "no")
    when = pd.Timestamp("2023-01-01") + pd.to_timedelta(day, unit="D")
    shop = rng.choice(["n", "s"], 600)
    return pd.DataFrame({"when": when, "x": x, "shop": shop, "z": rng.normal(size=600), "y": y})


def refitted(model, frame, pairs, schema=None):
    """(n, C) log p by models that were fitted again on the training rows of each pair."""
    out = np.full((len(frame), frame.y.nunique()), np.nan)
    for train, test in pairs:
        kept = {} if schema is None else {"schema": schema}
        fitted = model.fit(frame.iloc[train], "y", **kept)
        out[test] = fitted.predict_log_proba(frame.iloc[test])
    return out


def blocks_by_day(frame, count):
    """The pairs of training and test rows of cv="time:when:count", by definition."""
    values, times = np.unique(frame["when"], return_counts=True)
    before = np.cumsum(times) - times
    block_of = dict(zip(values, before * (count + 1) // times.sum(), strict=True))
    block = np.array([block_of[v] for v in frame["when"].to_numpy()])
    return [(np.flatnonzero(block < f), np.flatnonzero(block == f)) for f in range(1, count + 1)]


def test_each_block_is_predicted_by_the_rows_before_it(sales):
    schema = look(sales, "y")
    pairs = blocks_by_day(sales, 10)
    found = cross_validate(NaiveBayes(), sales, "y", cv="time:when", schema=schema)
    want = refitted(NaiveBayes(), sales, pairs, schema)
    np.testing.assert_allclose(found.log_proba, want, rtol=1e-9, atol=1e-9)
    first = np.flatnonzero(np.isnan(found.log_proba[:, 0]))
    assert sales["when"].iloc[first].max() < sales["when"].drop(first).min()
    assert len(found.scores["accuracy"]) == 10
    for (_, test), accuracy in zip(pairs, found.scores["accuracy"], strict=True):
        right = found.classes[want[test].argmax(axis=1)] == sales.y.to_numpy()[test]
        assert right.mean() == pytest.approx(accuracy)


def test_blocks_do_not_depend_on_the_order_of_rows_or_the_source(sales, tmp_path):
    kwargs = {"cv": "time:when:4", "schema": look(sales, "y")}
    found = cross_validate(NaiveBayes(), sales, "y", **kwargs)
    ordered = cross_validate(NaiveBayes(), sales.sort_values("when"), "y", **kwargs)
    np.testing.assert_allclose(found.scores["neg_log_loss"], ordered.scores["neg_log_loss"])
    sales.to_parquet(tmp_path / "s.parquet")
    sales.to_csv(tmp_path / "s.csv", index=False)
    for source in (pl.from_pandas(sales), tmp_path / "s.parquet", tmp_path / "s.csv"):
        other = cross_validate(NaiveBayes(), source, "y", **kwargs)
        np.testing.assert_allclose(found.scores["neg_log_loss"], other.scores["neg_log_loss"])
    given = cross_validate(NaiveBayes(), sales.drop(columns="y"), sales.y, cv="time:when:4")
    np.testing.assert_allclose(found.scores["accuracy"], given.scores["accuracy"], atol=0.05)


def test_few_values_are_one_block_each(sales):
    sales["year"] = 2020 + np.arange(600) % 4
    columns = ["x", "z", "year", "y"]
    schema = look(sales[columns], "y").edit({"year": "ignore"})  # a constant in the first fold
    found = cross_validate(LDA(), sales[columns], "y", cv="time:year", schema=schema)
    assert len(found.scores["accuracy"]) == 3
    pairs = [
        (np.flatnonzero(sales.year < v), np.flatnonzero(sales.year == v))
        for v in (2021, 2022, 2023)
    ]
    want = refitted(LDA(), sales[columns], pairs, schema)
    np.testing.assert_allclose(found.log_proba, want, rtol=1e-8, atol=1e-8)


SPLITTERS = {
    "time": TimeSeriesSplit(4),
    "gap": TimeSeriesSplit(4, gap=20),
    "window": TimeSeriesSplit(4, max_train_size=150, test_size=50),
    "shuffle": ShuffleSplit(3, test_size=0.3, random_state=0),
    "stratified": StratifiedShuffleSplit(3, test_size=0.3, random_state=0),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("model", [NaiveBayes(), LDA()], ids=["NaiveBayes", "LDA"])
def test_any_splitter_of_scikit_learn_works_on_a_frame(name, model, sales):
    splitter = SPLITTERS[name]
    frame = sales.drop(columns=["when", "shop"]) if isinstance(model, LDA) else sales
    schema = look(frame, "y")
    pairs = list(splitter.split(frame, frame.y))
    found = cross_validate(model, frame, "y", cv=splitter, schema=schema)
    scores = []
    for train, test in pairs:
        fitted = model.fit(frame.iloc[train], "y", schema=schema)
        scores.append(fitted.score(frame.iloc[test], "y"))
    np.testing.assert_allclose(found.scores["accuracy"], scores)
    if name != "repeated":
        want = refitted(model, frame, [pairs[-1]], schema)
        test = pairs[-1][1]
        if name not in ("shuffle", "stratified"):  # in these a row may be held out twice
            np.testing.assert_allclose(found.log_proba[test], want[test], rtol=1e-8, atol=1e-8)
    given = cross_validate(model, frame, "y", cv=pairs, schema=schema)
    np.testing.assert_allclose(given.scores["accuracy"], scores)


@pytest.mark.parametrize("splitter", [LeavePGroupsOut(2), GroupShuffleSplit(3, random_state=0)])
def test_splitters_by_groups_work_on_a_frame(splitter, sales):
    sales["owner"] = np.arange(600) % 5
    found = cross_validate(NaiveBayes(), sales, "y", cv=splitter, groups="owner")
    assert len(found.scores["accuracy"]) == splitter.get_n_splits(groups=sales.owner)


def test_arrays_in_the_order_of_time_are_summed_in_blocks(rng, monkeypatch):
    """The prefix sums give the models of the training rows; the rows are read once to learn."""
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    monkeypatch.setattr(blocks_module.BlockFolds, "are_few", False)
    slow = cross_validate(QDA(), X, y, cv=TimeSeriesSplit(5)).log_proba
    monkeypatch.undo()
    passes = []
    summarise = holdout.summarise
    monkeypatch.setattr(holdout, "summarise", lambda *a: passes.append(1) or summarise(*a))
    fast = cross_validate(QDA(), X, y, cv=TimeSeriesSplit(5)).log_proba
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)
    assert len(passes) == 1


def test_models_that_are_fitted_again_see_the_rows_before_the_block_only(sales):
    frame = sales.drop(columns=["when", "shop"]).assign(t=np.arange(600))
    model = LDA(shrinkage="cv")
    found = cross_validate(model, frame, "y", cv="time:t:3")
    pairs = list(TimeSeriesSplit(3).split(frame))
    want = refitted(model, frame, pairs)
    np.testing.assert_allclose(found.log_proba, want, rtol=1e-8, atol=1e-8)


def test_search_path_auto_and_select_take_time_folds(sales):
    schema = look(sales, "y")
    grid = {"alpha": [0.5, 5.0]}
    found = verosim.search(NaiveBayes(), sales, "y", grid, cv="time:when", schema=schema)
    own = cross_validate(NaiveBayes(alpha=5.0), sales, "y", cv="time:when", schema=schema)
    want = own.scores["neg_log_loss"]
    np.testing.assert_allclose(found.scores["neg_log_loss"][1], want)
    line = path(NaiveBayes(), sales, "y", "alpha", [0.5, 5.0], cv="time:when", schema=schema)
    np.testing.assert_allclose(line.scores["neg_log_loss"][1], want)
    choice = auto(sales, "y", cv="time:when:5", simple=True)
    assert choice.table[0].accuracy > 0.6
    chosen = verosim.select(NaiveBayes(), sales, "y", cv="time:when:5")
    assert "x" in chosen.columns


def test_texts_in_the_order_of_time(rng):
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(120)]
    y = rng.integers(0, 2, 120)
    frame = pd.DataFrame({"t": texts, "y": y})
    pairs = list(TimeSeriesSplit(3).split(texts))
    found = cross_validate(TextNB(), texts, y, cv=TimeSeriesSplit(3)).log_proba
    table = cross_validate(TextNB(), frame, "y", cv=TimeSeriesSplit(3)).log_proba
    for train, test in pairs:
        fitted = TextNB().fit([texts[i] for i in train], y[train])
        want = fitted.predict_log_proba([texts[i] for i in test])
        np.testing.assert_allclose(found[test], want, rtol=1e-9)
        np.testing.assert_allclose(table[test], want, rtol=1e-9)


def test_rows_of_weight_zero_do_not_count_in_time(sales):
    weights = (np.arange(600) % 3 > 0).astype(float)
    kept = sales[weights > 0].reset_index(drop=True)
    schema = look(kept, "y")
    some = cross_validate(NaiveBayes(), kept, "y", cv="time:when:5", schema=schema)
    every = cross_validate(
        NaiveBayes(), sales, "y", cv="time:when:5", schema=schema, sample_weight=weights
    )
    np.testing.assert_allclose(some.scores["neg_log_loss"], every.scores["neg_log_loss"])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("time:whn", r"column of time 'whn' is not in the table.*Did you mean 'when'"),
        ("time:when:0", "at least 1 fold; got 0"),
        ("time:shop", "Column 'shop', row 0: '[ns]' is not a date or a number"),
        ("time:one", "'one' must have at least 2 different values; got 1"),
        ("time:hole", "Column 'hole' is missing in row 7, so the row has no place in time"),
    ],
)
def test_a_column_without_times_is_named(cv, message, sales):
    sales["one"], sales["hole"] = 1.0, np.arange(600.0)
    sales.loc[7, "hole"] = np.nan
    with pytest.raises(VerosimError, match=message):
        cross_validate(NaiveBayes(), sales, "y", cv=cv)


def test_what_needs_every_row_held_out_once_refuses_by_name(sales):
    with pytest.raises(VerosimError, match="cv='time:when' does not hold out each row exactly"):
        verosim.calibrate(NaiveBayes(), sales, "y", cv="time:when")
    with pytest.raises(VerosimError, match=r"A pool needs folds .* and cv='time:when' does not"):
        auto(sales, "y", cv="time:when")
    with pytest.raises(VerosimError, match="groups cannot be used"):
        cross_validate(NaiveBayes(), sales, "y", cv="time:when", groups="shop")
    with pytest.raises(VerosimError, match="because X is an array"):
        cross_validate(LDA(), sales[["x", "z"]].to_numpy(), sales.y, cv="time:when")
    repeated = [(np.array([0, 0, 1, 2, 3]), np.array([4, 5]))]
    with pytest.raises(VerosimError, match="Fold 0 of cv has a row of the table more than once"):
        cross_validate(NaiveBayes(), sales, "y", cv=repeated)


def test_a_column_of_folds_may_be_called_like_a_time(sales):
    frame = sales.rename(columns={"shop": "time:when"})
    found = cross_validate(NaiveBayes(), frame, "y", cv="time:when")
    assert len(found.scores["accuracy"]) == 2
