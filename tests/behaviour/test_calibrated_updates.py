"""A calibrated model adds, forgets and merges rows: the model is exact, and the map stays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import verosim
from verosim import Calibrated


@pytest.fixture
def table(rng):
    n = 400
    y = rng.choice(["no", "yes"], n)
    x = rng.normal(size=n) + (y == "yes")
    return {"x": x, "x2": x + 0.3 * rng.normal(size=n), "k": rng.choice(["a", "b"], n), "y": y}


def _some(table, at):
    return {name: np.asarray(column)[at] for name, column in table.items()}


METHODS = ["temperature", "isotonic", "columns", "pairs"]


@pytest.mark.parametrize("method", METHODS)
def test_added_and_forgotten_rows_leave_the_map_and_change_the_model_exactly(table, method):
    first, more = _some(table, slice(0, 300)), _some(table, slice(300, 400))
    model = Calibrated(verosim.NaiveBayes(), method=method, cv=3).fit(first, "y")
    before, map_ = model.predict_proba(first), model.map_
    inside = model.model_.stats_
    assert model.partial_fit(more, "y") is model
    expected = model.map_.rule(
        clone(model.model_).fit(table, "y", schema=model.model_.schema_).state_.rule
    )
    source = model.opened_to_score(more)[1]
    blocks = np.concatenate([expected.posterior(chunk.block()) for chunk in source.chunks()])
    np.testing.assert_allclose(model.predict_proba(more), blocks, rtol=1e-9)
    assert (model.rows_since_map_, model.refit_after_) == (100, 300)
    model.forget(more, "y")
    np.testing.assert_allclose(model.predict_proba(first), before, rtol=1e-9)
    assert (model.rows_since_map_, model.refit_after_) == (200, 300)
    assert str(model.map_) == str(map_)
    assert inside.rows.sum() == 300


@pytest.mark.parametrize("method", METHODS)
def test_merged_models_have_the_rows_of_both_and_the_map_of_the_first(table, method):
    schema = verosim.look(table, "y")
    parts = [_some(table, slice(0, 250)), _some(table, slice(250, 400))]
    a, b = (
        Calibrated(verosim.NaiveBayes(), method=method, cv=3).fit(part, schema=schema)
        for part in parts
    )
    if method == "pairs":  # their bins were chosen from different rows
        b = Calibrated(verosim.NaiveBayes(), method=method, cv=3).fit(
            parts[1], schema=a.model_.schema_
        )
    both = a + b
    assert both.model_.class_count_.sum() == 400
    assert (both.rows_since_map_, both.refit_after_) == (150, 250)
    assert (a.rows_since_map_, b.rows_since_map_, a.model_.class_count_.sum()) == (0, 0, 250)
    assert str(both.map_) == str(a.map_)
    np.testing.assert_array_equal(sum([a, b]).predict_proba(table), both.predict_proba(table))
    with pytest.raises(verosim.VerosimError, match="only with another calibrated model"):
        a.merge(b.model_)


@pytest.mark.parametrize("method", ["temperature", "columns"])
def test_a_new_class_keeps_the_offsets_of_the_others(table, method):
    model = Calibrated(verosim.NaiveBayes(), method=method, cv=3).fit(table, "y")
    map_ = model.map_
    new = {"x": [50.0, 51.0], "x2": [50.0, 52.0], "k": ["a", "b"], "y": ["maybe", "maybe"]}
    model.partial_fit(new, "y")
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.predict(new).tolist() == ["maybe", "maybe"]
    if method == "columns":
        assert model.map_.offsets.tolist() == [0.0, *map_.offsets.tolist()]


def test_isotonic_maps_refuse_a_new_class_and_nothing_changes(table):
    model = Calibrated(verosim.NaiveBayes(), method="isotonic", cv=3).fit(table, "y")
    before = model.predict_proba(table)
    new = {"x": [50.0, 51.0], "x2": [50.0, 52.0], "k": ["a", "b"], "y": ["maybe", "maybe"]}
    with pytest.raises(verosim.VerosimError, match="Class 'maybe' is new, and the isotonic maps"):
        model.partial_fit(new, "y")
    np.testing.assert_array_equal(model.predict_proba(table), before)
    assert model.rows_since_map_ == 0


def test_the_first_call_is_fit_and_may_declare_classes(table):
    model = Calibrated(verosim.NaiveBayes(), cv=3).partial_fit(table, "y", ["no", "other", "yes"])
    assert model.classes_.tolist() == ["no", "other", "yes"]
    assert model.map_ == Calibrated(verosim.NaiveBayes(), cv=3).fit(table, "y").map_
    assert model.predict_proba(table).shape == (400, 3)


def test_texts_keep_the_map_of_their_length():
    texts = [f"word{i % 7} other{i % 3} {'spam' if i % 2 else 'ham'}" for i in range(60)]
    model = Calibrated(verosim.TextNB(), method="length", cv=3).fit(texts, [0, 1] * 30)
    scale = model.map_.scale
    model.partial_fit(["a quite new text", "another one"], [2, 2]).forget(texts[:2], [0, 1])
    assert model.map_.scale == scale
    assert model.map_.offsets[2] == 0
    assert model.predict(["quite new text"]).tolist() == [2]


def test_one_warning_says_when_to_fit_the_map_again(table):
    model = Calibrated(verosim.NaiveBayes(), cv=3).fit(_some(table, slice(0, 150)), "y")
    more = _some(table, slice(150, 260))
    model.partial_fit(more, "y")
    with pytest.warns(verosim.VerosimWarning, match="weight of 220 were added or removed since"):
        model.partial_fit(more, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(more, "y")
    assert model.rows_since_map_ == 330


def test_a_model_that_cannot_be_updated_says_so(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    model = Calibrated(verosim.GaussianNB(robust=True), cv=2).fit(X, y)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "forget")
