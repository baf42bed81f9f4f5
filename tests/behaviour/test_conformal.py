"""Prediction sets hold the true class as often as they promise."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from verosim import LDA, QDA, GaussianNB, MultinomialNB, NaiveBayes, TextNB, VerosimError
from verosim.validate.calibration import Calibrated
from verosim.validate.calibration_maps import log_odds
from verosim.validate.conformal import Conformal, conformal

LEVELS = [0.8, 0.9, 0.95]
SPLITS = 10


@pytest.fixture(scope="module")
def tables(data):
    """Real tables: a model, all rows and the target."""
    adult = pd.read_parquet(data / "adult" / "adult.parquet").drop(columns="split")
    cover = pd.read_parquet(data / "covtype" / "covtype.parquet")
    digits = pd.read_csv(data / "optdigits" / "optdigits.csv")
    return {
        "adult": (NaiveBayes(), adult.sample(8_000, random_state=1), "income"),
        "covtype": (LDA(shrinkage=0.01), cover.sample(8_000, random_state=1), "Cover_Type"),
        "optdigits": (GaussianNB(floor=0.01), digits, "class"),
    }


def halves(table, seed):
    order = np.random.default_rng(seed).permutation(len(table))
    return table.iloc[order[: len(table) // 2]], table.iloc[order[len(table) // 2 :]]


def covered(model, table, target, coverage):
    """(n,) whether the set of each row holds its class."""
    sets = model.predict_set(table, coverage=coverage)
    return sets[np.arange(len(table)), np.searchsorted(model.classes_, table[target].to_numpy())]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.errors.SingularWarning")
@pytest.mark.parametrize("name", ["adult", "covtype", "optdigits"])
def test_split_coverage(tables, name):
    """Coverage of new rows within sampling error of 80, 90 and 95 %, over random splits.

    With m rows held out, of N new rows betabinomial(N, r, m + 1 − r) are covered, where
    r = ⌈(m + 1) coverage⌉ (Vovk 2012, Angelopoulos & Bates 2023): it knows both how the threshold
    and how the new rows vary. Splits of one table are not independent, so each must stand alone.
    """
    model, table, target = tables[name]
    hits = {level: [] for level in LEVELS}
    for seed in range(SPLITS):
        known, new = halves(table, seed)
        found = conformal(model, known, target, random_state=seed)
        for level in LEVELS:
            hits[level].append(int(covered(found, new, target, level).sum()))
    m, N = len(known) - len(known) // 2, len(new)
    for level, counts in hits.items():
        r = int(np.ceil((m + 1) * level))
        law = betabinom(N, r, m + 1 - r)
        low, high = law.ppf([1e-4, 1 - 1e-4])
        assert (np.array(counts) >= low).all(), (level, counts)
        assert (np.array(counts) <= high).all(), (level, counts)
        # And on average within two standard deviations of one split.
        assert abs(np.mean(counts) - law.mean()) < 2 * law.std(), (level, counts)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.errors.SingularWarning")
@pytest.mark.parametrize("name", ["adult", "optdigits"])
def test_cross_coverage(tables, name):
    """At least 1 − 2α in theory (Vovk 2015; Barber et al. 2021), about 1 − α in practice."""
    model, table, target = tables[name]
    shares = {level: [] for level in LEVELS}
    for seed in range(3):
        known, new = halves(table, seed)
        found = conformal(model, known, target, method="cross", cv=5)
        for level in LEVELS:
            shares[level].append(covered(found, new, target, level).mean())
    for level, found_shares in shares.items():
        assert min(found_shares) > 1 - 2 * (1 - level)
        assert np.mean(found_shares) == pytest.approx(level, abs=0.025)


def test_every_class_is_covered(tables):
    """by_class keeps the promise within each class; without it the rare class pays."""
    model, table, target = tables["adult"]
    whole, each = [], []
    for seed in range(5):
        known, new = halves(table, seed)
        rare = (new[target] == ">50K").to_numpy()
        found = conformal(model, known, target, by_class=True, random_state=seed)
        inside = covered(found, new, target, 0.9)
        whole.append(inside[~rare].mean())
        each.append(inside[rare].mean())
    # About 480 rows of the rare class are held out and 960 are new.
    assert np.mean(each) == pytest.approx(0.9, abs=0.025)
    assert np.mean(whole) == pytest.approx(0.9, abs=0.02)


def test_coverage_of_small_samples(rng):
    """P(y ∈ set) ≥ coverage for ten rows held out as well: no approximation is in it."""
    hits = total = 0
    for _ in range(300):
        X = rng.normal(size=(420, 2))
        y = (X[:, 0] + rng.normal(size=420) > 0).astype(int)
        found = conformal(GaussianNB(), X[:20], y[:20], coverage=0.8, random_state=rng)
        sets = found.predict_set(X[20:])
        hits += sets[np.arange(400), y[20:]].sum()
        total += 400
    # ⌈11 · 0.8⌉ / 11 = 9/11; Beta(9, 2) has a standard deviation of 0.11.
    assert hits / total == pytest.approx(9 / 11, abs=4 * 0.11 / np.sqrt(300))


# What the sets are -----------------------------------------------------------------------------


def test_split_by_hand():
    """The threshold is the ⌈(m + 1)(1 − α)⌉-th smallest score of the rows held out."""
    X, y = load_iris(return_X_y=True)
    found = conformal(QDA(), X, y, coverage=0.9, size=49, random_state=3)
    assert found.model_.class_count_.sum() == 101
    held = found.scores_[0][0].sorted
    assert len(held) == 49
    r = int(np.ceil(50 * 0.9))
    expected = -log_odds(found.model_.predict_log_proba(X)) <= held[r - 1] + 1e-9
    np.testing.assert_array_equal(found.predict_set(X), expected)
    assert found.predict_set(X, coverage=0.999).all()  # 49 rows cannot promise that
    labels = found.predict_set(X, labels=True)
    assert [len(row) for row in labels] == expected.sum(axis=1).tolist()
    assert set(labels[0]) == set(found.classes_[expected[0]])


def test_cross_by_hand():
    """p-values from explicit refits, fold by fold (Vovk 2015, eq. 3)."""
    X, y = load_iris(return_X_y=True)
    found = conformal(QDA(), X, y, method="cross", cv=5)
    count = np.zeros((len(y), 3))
    for train, test in StratifiedKFold(5).split(X, y):
        model = QDA().fit(X[train], y[train])
        held = -log_odds(model.predict_log_proba(X[test]))[np.arange(len(test)), y[test]]
        s = -log_odds(model.predict_log_proba(X))
        count += (held[:, None, None] >= s - 1e-9).sum(axis=0)
    np.testing.assert_allclose(found.p_values(X), (count + 1) / (len(y) + 1))
    np.testing.assert_array_equal(found.predict(X), QDA().fit(X, y).predict(X))


def test_split_by_given_rows():
    """The first split of cv says which rows are held out, and which the model learns from."""
    X, y = load_iris(return_X_y=True)
    held = np.arange(150) % 3 == 0
    learnt = np.arange(150) % 3 == 1
    pairs = [(np.flatnonzero(learnt), np.flatnonzero(held)), (np.arange(9), np.arange(9, 20))]
    folds = np.arange(150) % 3
    splitter = PredefinedSplit(folds)
    frame = pd.DataFrame(X).add_prefix("x").assign(part=folds, kind=y)
    for cv, rows in ((pairs, learnt), (folds, ~held), (splitter, ~held), ("part", ~held)):
        source, labels = (frame, "kind") if isinstance(cv, str) else (X, y)
        found = conformal(QDA(), source, labels, cv=cv)
        model = QDA().fit(X[rows], y[rows])
        table = frame if isinstance(cv, str) else X
        np.testing.assert_allclose(
            found.predict_proba(table), model.predict_proba(X), rtol=1e-7, atol=1e-12
        )
        scores = -log_odds(model.predict_log_proba(X[held]))[np.arange(50), y[held]]
        np.testing.assert_allclose(found.scores_[0][0].sorted, np.sort(scores), rtol=1e-6)
    assert "part" not in found.feature_names_in_


def test_larger_coverage_larger_sets():
    X, y = load_iris(return_X_y=True)
    for method in ("split", "cross"):
        found = conformal(GaussianNB(), X, y, method=method)
        before = np.zeros((len(y), 3), dtype=bool)
        for level in (0.05, 0.5, 0.8, 0.9, 0.99):
            now = found.predict_set(X, coverage=level)
            assert (now >= before).all()
            before = now


def test_sets_may_be_empty():
    """At 50 % of a model that is nearly always right, odd rows fit no class."""
    X, y = load_iris(return_X_y=True)
    found = conformal(QDA(), X, y, coverage=0.5)
    assert (found.predict_set(X).sum(axis=1) == 0).any()


def test_saturated_posteriors_are_told_apart(rng):
    """Posteriors of texts are 1.0 in floating point: by 1 − p, or −log p, all of them would tie."""
    y = rng.integers(0, 2, 600)
    X = rng.poisson(3 + 3 * y[:, None] * (np.arange(400) < 200))
    found = conformal(MultinomialNB(), X, y, coverage=0.5)
    p = found.predict_proba(X).max(axis=1)
    assert (p == 1.0).mean() > 0.9
    share = found.predict_set(X)[np.arange(len(y)), y].mean()
    assert share == pytest.approx(0.5, abs=0.1)


def test_scores_that_tie_count_for_the_set():
    """Rows that say the same score the same: a set that holds one holds them all."""
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]] * 20), np.array([0, 0, 1, 1] * 20)
    found = conformal(GaussianNB(), X, y, coverage=0.5)
    assert found.predict_set(X)[np.arange(80), y].all()


def test_classes_only_in_the_rows_held_out(rng):
    """A class the model never saw scores worst, and widens the sets of the others."""
    X, y = rng.normal(size=(40, 2)), np.array([0, 1] * 19 + [2, 2])
    for seed in range(20):
        found = conformal(LDA(), X, y, coverage=0.9, random_state=seed)
        assert len(found.scores_[0][0].sorted) == 20
        assert found.predict_set(X).shape == (40, len(found.classes_))
    cross = conformal(LDA(), X, y, method="cross", cv=[0, 1] * 19 + [0, 0])
    assert cross.predict_set(X).shape == (40, 3)


# Sources, weights, settings ----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["split", "cross"])
def test_tables_and_files(tables, tmp_path, method):
    """A file, a frame and a stream of frames; the column of weights is no feature."""
    table = tables["adult"][1][:1_500].reset_index(drop=True).assign(w=np.arange(1_500) % 3)
    table.to_parquet(tmp_path / "adult.parquet")
    path = tmp_path / "adult.parquet"
    a = conformal(NaiveBayes(), path, "income", method=method, sample_weight="w")
    b = conformal(NaiveBayes(), table, "income", method=method, sample_weight="w")
    assert "w" not in a.feature_names_in_
    np.testing.assert_array_equal(a.predict_set(path), b.predict_set(table))
    np.testing.assert_allclose(a.p_values(iter([table[:9], table[9:50]])), b.p_values(table[:50]))
    assert a.score(path, "income") == pytest.approx(b.score(table, table["income"]))


def test_rows_held_out_are_never_looked_at(tables):
    """The model kept is the one a fit on the other rows gives, first look and all."""
    table = tables["adult"][1][:1_000].reset_index(drop=True)
    found = conformal(NaiveBayes(), table, "income")
    table_x, y = table.drop(columns="income"), table["income"].to_numpy()
    by_arrays = conformal(NaiveBayes(), table_x, y)
    kept = np.random.default_rng(0).permutation(1_000)[500:]
    alone = NaiveBayes().fit(table.iloc[np.sort(kept)], "income")
    np.testing.assert_allclose(found.predict_proba(table), alone.predict_proba(table), rtol=1e-9)
    np.testing.assert_array_equal(found.predict_set(table), by_arrays.predict_set(table_x))


@pytest.mark.parametrize("method", ["split", "cross"])
def test_weights_count_as_rows(method, rng):
    """Scores of weight two count twice."""
    X, y = load_iris(return_X_y=True)
    w = rng.integers(1, 3, len(y)).astype(float)
    found = conformal(LDA(), X, y, method=method, sample_weight=w)
    cells = [cell for fold in found.scores_ for cell in fold]
    held = sum(cell.above[0] for cell in cells)
    if method == "cross":
        assert held == w.sum()
    one, two = cells[0], cells[0].above[0]
    assert one.at_least(np.array([-1e9]))[0] == two
    none = np.where(np.arange(len(y)) % 2, 0.0, 1.0)
    some = conformal(LDA(), X, y, method=method, sample_weight=none)
    assert sum(cell.above[0] for fold in some.scores_ for cell in fold) <= none.sum()


def test_texts():
    texts = ["win cash now", "cash prize", "win a prize", "free cash", "lunch at noon", "see you",
             "are you at lunch", "noon then"] * 5  # fmt: skip
    labels = (["spam"] * 4 + ["ham"] * 4) * 5
    for method in ("split", "cross"):
        found = conformal(TextNB(), texts, labels, method=method, cv=3)
        assert found.predict_set(texts[:1], labels=True)[0].tolist() == ["spam"]


def test_calibrated_models_and_estimators():
    X, y = load_iris(return_X_y=True)
    found = conformal(Calibrated(GaussianNB(), cv=3), X, y)
    assert found.predict_set(X)[np.arange(len(y)), y].mean() > 0.8
    with pytest.raises(VerosimError, match="method='cross' needs a generative classifier"):
        conformal(Calibrated(GaussianNB()), X, y, method="cross")
    again = clone(found).fit(X, y)
    np.testing.assert_array_equal(again.p_values(X), found.p_values(X))
    for method in ("split", "cross"):
        one = conformal(QDA(), X, y, method=method)
        back = pickle.loads(pickle.dumps(one))
        np.testing.assert_array_equal(back.p_values(X), one.p_values(X))
    with pytest.raises(VerosimError, match="not fitted"):
        Conformal(LDA()).predict_set(X)
    for wrong in ({"coverage": 1.0}, {"coverage": 90}, {"size": 150}, {"size": 1.5}, {"size": 0},
                  {"method": "full"}, {"method": "cross", "cv": [(np.arange(9), np.arange(9, 20))]},
                  ):  # fmt: skip
        with pytest.raises(VerosimError):
            conformal(LDA(), X, y, **wrong)
    with pytest.raises(TypeError, match="covrage"):
        conformal(LDA(), X, y, covrage=0.9)
    for method in ("split", "cross"):
        with pytest.raises(VerosimError, match="n_samples=1"):
            conformal(LDA(), X[:1], y[:1], method=method)
