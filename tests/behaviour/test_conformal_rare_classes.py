"""The guarantee of prediction sets holds with classes that have fewer rows than are held out."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from verosim import GaussianNB, NaiveBayes, VerosimWarning, conformal

CLASSES, ROWS, NEW, TABLES = 12, 40, 100, 200
ONE_SIDED = 3.72  # standard errors of a one-sided test at the significance 1e-4
ZIPF = 1 / np.arange(1, CLASSES + 1) / (1 / np.arange(1, CLASSES + 1)).sum()
CENTRES = 3 * np.random.default_rng(7).normal(size=(CLASSES, 3))


def drawn(rng, n):
    y = rng.choice(CLASSES, n, p=ZIPF)
    return CENTRES[y] + rng.normal(size=(n, 3)), y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.errors.VerosimWarning")
@pytest.mark.parametrize("coverage", [0.8, 0.95])
@pytest.mark.parametrize("settings", [{}, {"by_class": True}, {"size": 0.25}])
def test_coverage_of_12_zipf_classes_in_40_rows(coverage, settings):
    """P(y ∈ set or y is not in the table) ≥ coverage, over 200 tables, at a significance of 1e-4.

    The shares of the tables are independent, so their standard error is known.
    """
    shares, plain, unseen = [], [], []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, ROWS)
        found = conformal(GaussianNB(), X, y, coverage=coverage, random_state=seed, **settings)
        assert found.classes_.tolist() == np.unique(y).tolist()
        X, z = drawn(rng, NEW)
        known = np.isin(z, found.classes_)
        inside = np.zeros(NEW, dtype=bool)
        at = np.searchsorted(found.classes_, z[known])
        inside[known] = found.predict_set(X)[np.flatnonzero(known), at]
        shares.append((inside | ~known).mean())
        plain.append(inside.mean())
        unseen.append(1 - known.mean())
    error = ONE_SIDED / np.sqrt(TABLES)
    assert np.mean(shares) + error * np.std(shares) >= coverage
    # The true class is in the set with probability coverage − u, where u is what no set can hold.
    assert np.mean(plain) + error * np.std(plain) >= coverage - np.mean(unseen)
    assert np.mean(unseen) > 0.04  # the case is as hard as it is meant to be


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.errors.VerosimWarning")
def test_every_rare_class_is_covered_by_class():
    """P(k ∈ set | y = k) ≥ coverage for each class of the table, also for those with one row."""
    hits = [[] for _ in range(CLASSES)]  # one share per table and class
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, 3 * ROWS)
        found = conformal(GaussianNB(), X, y, coverage=0.8, by_class=True, random_state=seed)
        X, z = drawn(rng, 3 * NEW)
        sets = found.predict_set(X)
        for c, k in enumerate(found.classes_.tolist()):
            if (z == k).any():
                hits[k].append(sets[z == k, c].mean())
    level = 4.3 / np.sqrt([len(shares) for shares in hits])  # 1e-4 for 12 classes together
    lowest = [np.mean(h) + e * np.std(h) for h, e in zip(hits, level, strict=True)]
    assert min(lowest) >= 0.8


def test_too_few_held_out_rows_keep_a_class_in_every_set():
    """With fewer than 1/(1 − coverage) − 1 held-out rows, no p-value is at most 1 − coverage."""
    X, y = load_iris(return_X_y=True)
    kept = np.r_[0:50, 50:100, 100:136]  # 18 of the 36 rows of the last class are held out
    found = conformal(GaussianNB(), X[kept], y[kept], coverage=0.95, by_class=True)
    assert [len(cell.sorted) for cell in found.scores_[0]] == [25, 25, 18]
    sets = found.predict_set(X)
    assert sets[:, 2].all()
    assert not sets[:, 0].all()


def test_a_class_without_training_rows_can_be_in_a_set():
    """It has the highest score: it is in all sets if enough held-out rows have such a score."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    folds = (np.arange(150) < 100).astype(int)  # fold 0 is held out, with all rows of class c
    folds[25:50] = 0
    with pytest.warns(VerosimWarning, match=r"No training rows are left for the classes 'c'"):
        found = conformal(GaussianNB(), X, names, cv=folds)
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.model_.classes_.tolist() == ["a", "b"]
    assert found.predict_set(X)[:, 2].all()
    np.testing.assert_allclose(found.p_values(X)[:, 2], 51 / 76)  # 50 of 75 held-out rows are c
    assert not found.predict_set(X, coverage=0.3)[:, 2].any()
    p = found.predict_proba(X)
    assert p.shape == (150, 3)
    assert (p[:, 2] == 0).all()
    assert set(found.predict(X)) == {"a", "b"}
    assert found.score(X, names) == pytest.approx((found.predict(X) == names).mean())
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_set(X), found.predict_set(X))
    table = pd.DataFrame(X, columns=list("wxyz")).assign(kind=names, fold=folds)
    with pytest.warns(VerosimWarning, match="No training rows"):
        by_table = conformal(NaiveBayes("gaussian"), table, "kind", cv="fold")
    assert by_table.predict_set(table).shape == (150, 3)
    assert by_table.predict_table(table).read_all().num_columns >= 4


@pytest.mark.parametrize("method", ["split", "cross"])
def test_a_promise_that_cannot_be_kept_is_said_once(method):
    """Classes with one row estimate the share of new rows with a class that no row has."""
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y].astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conformal(GaussianNB(), X, y, coverage=0.9, method=method)
    y[[0, 60, 149]] = ["p", "q", "r"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conformal(GaussianNB(), X, y, coverage=0.9, method=method)
    about = [str(one.message) for one in caught if "one row each" in str(one.message)]
    assert len(about) == 1
    assert "'p', 'q', 'r' have one row each in 150 rows, so about 2.0%" in about[0]
    assert "may be only about 0.88" in about[0]


def test_one_rare_class_in_a_large_table_is_not_reported(rng):
    """The share of a single row in many rows is too small to matter."""
    X, y = rng.normal(size=(2_000, 2)), rng.integers(0, 2, 2_000)
    y[0] = 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conformal(GaussianNB(), X, y, by_class=True)
    assert not [one for one in caught if "one row each" in str(one.message)]
