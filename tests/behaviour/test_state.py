"""A statistic as plain data: labels and codes of every kind, and states that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import verosim
from verosim import testing
from verosim.axes import Axes, Columns, Groups, Hashed, Vocabulary
from verosim.data import Batch, Documents
from verosim.stats import Moments, Product, Statistic, Tokens, from_state

LABELS = {
    "text": np.array(["a", "niño", "日本"]),
    "whole": np.array([-3, 0, 2**62]),
    "unsigned": np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    "small": np.array([1, 2, 3], dtype=np.int8),
    "boolean": np.array([False, True]),
    "float": np.array([0.1, 1.0, 1e300]),
    "objects": np.array(["a", "b"], dtype=object),
    "mixed": np.array([1, "b", (2, 3)], dtype=object),
    "dates": np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_as_they_were(kind):
    labels = LABELS[kind]
    axes = Axes(Groups(labels, 2), Columns(2, ("x", "y")))
    again = Axes.from_state(axes.state())
    assert again.groups.classes.dtype == labels.dtype
    assert again.groups.classes.tolist() == labels.tolist()
    assert again.groups == axes.groups
    assert again.columns == axes.columns
    testing.restores(Moments(axes))


@pytest.mark.parametrize(
    "codes",
    [
        Vocabulary.of(["spam", "ham"], open=False),
        Vocabulary.of(["spam"]),
        Hashed(8),
        Hashed(8).keep(np.arange(8) < 3),
    ],
    ids=["closed", "open", "hashed", "some buckets"],
)
def test_tokens(codes):
    plan = Tokens(Axes(Groups(np.array(["a", "b"])), Columns(1), codes), ngrams=(1, 2))
    if codes.size != 3:  # buckets that were left out are for prediction only
        plan.absorb(Batch(Documents.of(["spam and ham", "eggs"]), np.array([0, 1], dtype=np.int32)))
    testing.restores(plan)
    again = from_state(plan.state())
    assert again.codes.fixed == plan.codes.fixed


def test_a_fitted_table_comes_back(rng):
    rows = {"x": rng.normal(size=50), "k": rng.choice(["u", "v"], 50), "y": rng.integers(0, 2, 50)}
    statistic = verosim.NaiveBayes().fit(rows, "y").stats_
    assert isinstance(statistic, Product)
    assert isinstance(statistic, Statistic)
    assert not hasattr(statistic, "arrays")
    testing.restores(statistic)


def test_states_that_are_wrong():
    statistic = testing.statistic_of(np.eye(3), ["a", "b", "c"])
    state = statistic.state()
    with pytest.raises(verosim.VerosimError, match="'Momentum' is not a kind of statistic"):
        from_state({**state, "kind": "Momentum"})
    short = {**state["arrays"], "sum": state["arrays"]["sum"][:2]}
    with pytest.raises(verosim.VerosimError, match=r"'sum' of Moments must have shape \(3, 1, 3\)"):
        from_state({**state, "arrays": short})
    with pytest.raises(verosim.VerosimError, match="the state has no such array"):
        from_state({**state, "lows": {}})
    with pytest.raises(verosim.VerosimError, match="'Slots' is not a kind of codes"):
        from_state({**state, "axes": {**state["axes"], "codes": ["Slots", []]}})
