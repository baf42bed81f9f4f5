"""auto(simple=True): the best textbook model that the columns allow, by the same held-out rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import KFold, StratifiedKFold, StratifiedShuffleSplit

import verosim
from verosim import (
    LDA,
    QDA,
    RDA,
    GaussianNB,
    NaiveBayes,
    NaiveLDA,
    VerosimError,
    VerosimWarning,
    auto,
    bic,
    cross_validate,
)
from verosim.folds import engine, rules
from verosim.folds.splits import shuffled_folds
from verosim.pool import candidate_scores

pytestmark = pytest.mark.filterwarnings("ignore::verosim.errors.SingularWarning")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def mixed():
    """Numbers, words and holes; the classes differ in each."""
    rng = np.random.default_rng(7)
    kind = rng.choice(["a", "b"], 240)
    size = rng.normal(np.where(kind == "a", 0, 1), 1)
    waits = rng.exponential(np.where(kind == "a", 1, 3))
    hue = np.where(rng.random(240) < 0.7, np.where(kind == "a", "red", "blue"), "green")
    table = pd.DataFrame({"size": size, "waits": waits, "hue": hue, "kind": kind})
    table.loc[::11, "size"] = np.nan
    table.loc[::13, "hue"] = None
    return table


def tried(table):
    return [row for row in table.rows if not row.why]


def by_name(table):
    return {row.name: row for row in table.rows}


# The winner ------------------------------------------------------------------------------------


def same_model(found, plain, rows):
    """The winner has the settings and the posteriors of a plain fit."""
    assert repr(found) == repr(plain)
    np.testing.assert_array_equal(found.classes_, plain.classes_)
    np.testing.assert_allclose(
        found.predict_log_proba(rows), plain.predict_log_proba(rows), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("chosen", [{"simple": True}, {"by": "bic"}], ids=["held_out", "bic"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_winner_is_a_plain_fit(load, chosen):
    X, y = load(return_X_y=True)
    model, table = auto(X, y, **chosen)
    same_model(model, clone(table[0].model).fit(X, y), X)


@pytest.mark.parametrize("density", ["gaussian", "histogram", "auto"])
def test_winner_of_a_table_is_a_plain_fit(mixed, density):
    model, _ = auto(mixed, "kind", models=[NaiveBayes(density)])
    same_model(model, NaiveBayes(density).fit(mixed, "kind"), mixed)
    assert model.schema_ == NaiveBayes(density).fit(mixed, "kind").schema_


def test_candidates_of_a_table_have_the_schema_of_a_plain_fit(mixed):
    """One look serves all candidates: each winner must be what its own look would give."""
    table = auto(mixed, "kind", simple=True).table
    assert {row.name for row in tried(table)} == {
        "NaiveBayes()", "NaiveBayes(columns='gaussian')", "NaiveBayes(columns='histogram')",
    }  # fmt: skip
    labels = mixed["kind"].to_numpy()
    for X, y in ((mixed, "kind"), (mixed.drop(columns="kind"), labels)):
        model, table = auto(X, y, simple=True)
        plain = clone(table[0].model).fit(X, y)
        assert model.schema_ == plain.schema_
        same_model(model, plain, X)


# The table -------------------------------------------------------------------------------------


def test_sorted_with_the_scores_of_cross_validation(iris):
    """Best first; scores, errors and accuracies of sums are those of `cross_validate`."""
    X, y = iris
    table = auto(X, y, simple=True).table
    assert table.complete
    assert len(table) == 15
    scores = [row.score for row in table.rows]
    assert scores == sorted(scores)
    kinds = {type(row.model) for row in table.rows}
    assert kinds == {GaussianNB, NaiveLDA, LDA, QDA, RDA, NaiveBayes}
    for row in table.rows:
        if isinstance(row.model, NaiveBayes):
            continue
        found = cross_validate(row.model, X, y, cv=shuffled_folds(10, y))
        assert row.score == pytest.approx(-found.mean("neg_log_loss"), rel=1e-9)
        assert row.error == pytest.approx(found.error("neg_log_loss"), rel=1e-9)
        assert row.accuracy == pytest.approx(found.mean("accuracy"), rel=1e-9)
    assert f"{table[0].score:.4f} ± {table[0].error:.4f}" in str(table).splitlines()[1]


def test_every_row_counts_the_same(iris):
    """Folds of 10, 40 and 100 rows: Σ −log p / n, and an error that weighs folds alike."""
    X, y = iris
    folds = np.repeat([0, 1, 2], [10, 40, 100])
    np.random.default_rng(0).shuffle(folds)
    row = auto(X, y, cv=folds, models=[LDA()]).table[0]
    found = cross_validate(LDA(), X, y, cv=folds)
    own = -found.log_proba[np.arange(len(y)), y]
    assert row.score == pytest.approx(own.mean(), rel=1e-9)
    shares = np.array([10, 40, 100]) / 150
    apart = np.array([own[folds == f].mean() for f in range(3)]) - own.mean()
    assert row.error == pytest.approx(np.sqrt(1.5 * ((shares * apart) ** 2).sum()), rel=1e-9)
    assert row.accuracy == pytest.approx((found.predictions == y).mean())


def test_weights_are_repetitions(iris, rng):
    """A weight of two in the scores and the sums is the row twice, in the same fold."""
    X, y = iris
    folds, weights = rng.integers(0, 5, len(y)), rng.integers(1, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weights)
    models = [LDA(), GaussianNB()]
    once = auto(X, y, cv=folds, models=models, sample_weight=weights).table
    more = auto(X[twice], y[twice], cv=folds[twice], models=models).table
    for a, b in zip(once.rows, more.rows, strict=True):
        assert (a.name, a.score, a.error) == (
            b.name, pytest.approx(b.score, rel=1e-9), pytest.approx(b.error, rel=1e-9),
        )  # fmt: skip


def test_reasons_for_those_not_tried(mixed):
    """Models of numbers say which column stops them; they come last and have no score."""
    table = auto(mixed, "kind", simple=True).table
    refused = [row for row in table.rows if row.why]
    assert table.rows[-len(refused) :] == refused
    assert {type(row.model) for row in refused} == {LDA, QDA, RDA, GaussianNB, NaiveLDA}
    assert all("'hue'" in row.why and np.isnan(row.score) for row in refused)
    lines = [line for line in str(table).splitlines() if line.startswith("not tried")]
    assert len(lines) == 1
    assert "LDA, QDA, RDA, GaussianNB, NaiveLDA" in lines[0]


def test_one_model_refused_does_not_stop_its_family(iris):
    """Two models that share their sums; one cannot bear a singular covariance."""
    X, y = iris
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    table = auto(X, y, models=[QDA(on_singular="raise"), QDA(shrinkage=0.1)]).table
    assert [row.name for row in tried(table)] == ["QDA(shrinkage=0.1)"]
    assert "singular" in table[1].why


def test_nothing_can_be_tried(mixed):
    with pytest.raises(VerosimError, match="hue"):
        auto(mixed, "kind", models=[LDA(), GaussianNB()])
    with pytest.raises(VerosimError, match="empty"):
        auto(mixed, "kind", models=[])
    with pytest.raises(VerosimError, match="loo"):
        auto(mixed, "kind", cv="loo", simple=True)
    with pytest.raises(VerosimError, match="'a' in all"):
        auto(mixed[mixed.kind == "a"], "kind", simple=True)
    with pytest.raises(VerosimError, match="needs a generative classifier of verosim"):
        auto(mixed, "kind", models=[object()])


# The same folds for all --------------------------------------------------------------------------


class Recorder(KFold):
    """A splitter that is different each time it is asked, and counts how often that is."""

    asked = 0

    def split(self, X, y=None, groups=None):
        self.asked += 1
        self.random_state = self.asked
        return super().split(X, y, groups)


def test_same_folds_for_all_candidates(iris, monkeypatch):
    """Even a splitter that shuffles anew is asked once; all models meet the same fold numbers."""
    X, y = iris
    seen = []
    inner = engine.HoldOut

    def watched(spec, inputs, cv, *rest, **given):
        seen.append(np.asarray(cv))
        return inner(spec, inputs, cv, *rest, **given)

    monkeypatch.setattr(engine, "HoldOut", watched)
    splitter = Recorder(5, shuffle=True)
    auto(X, y, cv=splitter, simple=True)
    assert splitter.asked == 1
    assert len(seen) >= 2  # naive and full Gaussians keep different sums
    assert all(np.array_equal(seen[0], folds) for folds in seen)


def test_same_hashed_folds_for_all_candidates(mixed):
    """By hash a table's folds depend on what is read; one model's serve all."""
    numbers = mixed[["size", "waits", "kind"]].dropna()
    table = auto(numbers, "kind", models=[LDA(), NaiveBayes("gaussian"), GaussianNB()]).table
    rows = by_name(table)
    naive, twin = rows["NaiveBayes(columns='gaussian')"], rows["GaussianNB()"]
    assert naive.score == pytest.approx(twin.score, rel=1e-9)  # one model, read in two ways
    own = cross_validate(LDA(), numbers, "kind")
    again = auto(numbers, "kind", cv=own.folds, models=[LDA()]).table[0]
    assert rows["LDA()"].score == pytest.approx(again.score, rel=1e-9)


def test_pairs_that_overlap(iris):
    """Repeated splits go to all candidates, also to NaiveBayes, which reads tables."""
    X, y = iris
    pairs = [*StratifiedKFold(3).split(X, y), *StratifiedKFold(4).split(X, y)]
    table = auto(X, y, cv=pairs, simple=True).table
    assert not [row.why for row in table.rows if row.why]
    assert NaiveBayes in {type(row.model) for row in table.rows}
    found = cross_validate(LDA(), X, y, cv=pairs).scores["neg_log_loss"]
    sizes = np.array([len(test) for _, test in pairs])
    assert by_name(table)["LDA()"].score == pytest.approx(-(sizes @ found) / sizes.sum(), rel=1e-9)


# What the labels chose is chosen outside each fold -----------------------------------------------


@pytest.mark.parametrize("columns", ["auto", "histogram"])
def test_bins_are_chosen_outside_each_fold(mixed, columns):
    """Equal to refitting on the other folds, first look included (Varma & Simon 2006)."""
    labels = mixed["kind"].to_numpy()
    folds = np.arange(len(mixed)) % 6
    row = auto(mixed, "kind", cv=folds, models=[NaiveBayes(columns)]).table[0]
    own = np.empty(len(mixed))
    for f in range(6):
        fitted = NaiveBayes(columns).fit(mixed[folds != f], "kind")
        held = fitted.predict_log_proba(mixed[folds == f])
        at = np.searchsorted(fitted.classes_, labels[folds == f])
        own[folds == f] = -held[np.arange(len(held)), at]
    assert row.score == pytest.approx(own.mean(), rel=1e-9)


def test_above_some_rows_one_look_serves_all_folds(mixed, monkeypatch):
    """Then the score is that of `cross_validate`; so it is where the schema is given."""
    folds = np.arange(len(mixed)) % 6
    one_look = -cross_validate(NaiveBayes(), mixed, "kind", cv=folds).mean("neg_log_loss")
    schema = verosim.look(mixed, "kind")
    table = auto(mixed, "kind", cv=folds, schema=schema, simple=True).table
    given = by_name(table)["NaiveBayes()"].score
    assert given == pytest.approx(one_look, rel=1e-9)
    monkeypatch.setattr(candidate_scores, "MOST_ROWS_TO_LOOK_AGAIN", 100)
    found = by_name(auto(mixed, "kind", cv=folds, simple=True).table)["NaiveBayes()"].score
    assert found == pytest.approx(one_look, rel=1e-9)


# What it reads -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_arrays_with_holes(iris, rng):
    """Missing cells: the full Gaussians by EM, the naive ones skip them."""
    X, y = iris
    X = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    model, table = auto(X, y, simple=True)
    rows = by_name(table)
    assert "LDA(missing='marginalise')" in rows
    assert "GaussianNB()" in rows
    assert all(not row.why for row in table.rows)
    same_model(model, clone(table[0].model).fit(X, y), X)


def test_object_arrays(iris, mixed):
    """Of numbers they are numbers, with None where missing; of words they are a table."""
    X, y = iris
    boxed = X.astype(object)
    boxed[3, 1] = None
    table = auto(boxed, y, simple=True).table
    assert len(tried(table)) == 15
    assert "LDA(missing='marginalise')" in by_name(table)
    words = mixed.drop(columns="kind").to_numpy(object)
    model, table = auto(words, mixed["kind"].to_numpy(), simple=True)
    assert {type(row.model) for row in tried(table)} == {NaiveBayes}
    assert len(tried(table)) == 3
    same_model(model, clone(table[0].model).fit(words, mixed["kind"].to_numpy()), words)


@pytest.mark.slow
def test_csv(tmp_path, iris):
    """Text that is numbers, an empty cell and a mark for missing: as the same table in memory."""
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["x", "y", "z"])[y])
    gone = frame.copy()
    gone.loc[5, "b"] = gone.loc[70, "c"] = np.nan
    cells = gone.astype(object)
    cells.loc[70, "c"] = "?"
    cells.to_csv(tmp_path / "iris.csv", index=False)
    model, table = auto(str(tmp_path / "iris.csv"), "kind", na="?", simple=True)
    other_model, other = auto(gone, "kind", simple=True)
    assert [row.name for row in table.rows] == [row.name for row in other.rows]
    assert len(tried(table)) == 15
    assert "QDA(missing='marginalise')" in by_name(table)
    for a, b in zip(table.rows, other.rows, strict=True):
        assert a.score == pytest.approx(b.score, rel=1e-6)
    assert model.predict(gone).tolist() == other_model.predict(gone).tolist()


def test_frames_with_categories(mixed):
    """Categories of pandas, numbers among them; a frame with y and one with a target agree."""
    frame = mixed.assign(
        hue=mixed["hue"].astype("category"), code=pd.Categorical(np.arange(240) % 3)
    )
    table = auto(frame, "kind", simple=True).table
    assert {type(row.model) for row in tried(table)} == {NaiveBayes}
    assert len(tried(table)) == 3
    folds = np.arange(240) % 5
    named = auto(frame, "kind", cv=folds, simple=True).table
    rows, labels = frame.drop(columns="kind"), frame["kind"].to_numpy()
    apart = auto(rows, labels, cv=folds, simple=True).table
    for row in tried(named):
        assert row.score == pytest.approx(by_name(apart)[row.name].score, rel=1e-9)


def test_true_and_false_are_numbers_too(iris):
    """Flags are read by the Gaussians and, as shares, by NaiveBayes: BIC cannot compare them."""
    X, y = iris
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(flag=X[:, 3] > 1, kind=y)
    by_score = tried(auto(frame, "kind", simple=True).table)
    assert {LDA, NaiveBayes} <= {type(row.model) for row in by_score}
    compared = tried(auto(frame, "kind", by="bic").table)
    assert {type(row.model) for row in compared} == {NaiveBayes}


def test_words_alone(mixed):
    table = auto(mixed[["hue", "kind"]], "kind", simple=True).table
    assert [row.name for row in tried(table)] == ["NaiveBayes()"]


def test_sparse_rows(rng):
    """What reads them is tried; the others say that they need dense rows."""
    X, y = sparse.random(90, 6, 0.4, format="csr", random_state=0), np.arange(90) % 2
    table = auto(X, y).table
    assert {type(row.model) for row in tried(table)} == {GaussianNB, NaiveLDA}
    assert all("dense" in row.why for row in table.rows if row.why)


def test_groups_stay_together(mixed):
    """Folds by group, whether an array or the name of a column."""
    frame = mixed.assign(owner=[f"o{i % 17}" for i in range(240)])
    schema = verosim.look(frame, "kind").edit({"owner": "ignore"})
    table = auto(frame, "kind", cv=4, groups="owner", schema=schema, simple=True).table
    found = cross_validate(NaiveBayes(), frame, "kind", cv=4, groups="owner", schema=schema)
    own = found.log_proba[np.arange(240), np.searchsorted(found.classes, frame["kind"])]
    assert by_name(table)["NaiveBayes()"].score == pytest.approx(-own.mean(), rel=1e-9)


# BIC ---------------------------------------------------------------------------------------------


def test_bic_of_iris_by_hand(iris):
    """−2 log p(x, y) + p log n (Schwarz 1978), the likelihood row by row from scipy."""
    X, y = iris
    n, d, K = 150, 4, 3
    means = [X[y == k].mean(axis=0) for k in range(K)]
    own = [np.cov(X[y == k].T, bias=True) for k in range(K)]
    pooled = sum(own) / K  # classes of one size
    log_prior = n * np.log(1 / K)

    def full(covariances):
        return log_prior + sum(
            multivariate_normal(means[k], covariances[k]).logpdf(X[y == k]).sum() for k in range(K)
        )

    naive = log_prior + sum(
        norm(means[k], X[y == k].std(axis=0)).logpdf(X[y == k]).sum() for k in range(K)
    )
    expected = {
        LDA: -2 * full([pooled] * K) + (K - 1 + K * d + d * (d + 1) // 2) * np.log(n),
        QDA: -2 * full(own) + (K - 1 + K * d + K * d * (d + 1) // 2) * np.log(n),
        GaussianNB: -2 * naive + (K - 1 + 2 * K * d) * np.log(n),
    }
    for kind, value in expected.items():
        assert bic(kind().fit(X, y)) == pytest.approx(value, rel=1e-10)
    table = auto(X, y, by="bic").table
    rows = by_name(table)
    for kind, value in expected.items():
        assert rows[f"{kind.__name__}()"].score == pytest.approx(value, rel=1e-10)
    scores = [row.score for row in tried(table)]
    assert scores == sorted(scores)
    assert all(np.isnan(row.error) for row in table.rows)
    assert "BIC" in str(table)


def test_bic_finds_the_model_that_made_the_rows(rng):
    """Schwarz's criterion is consistent: with many rows the true, smaller family wins."""
    y = rng.integers(0, 2, 4000)
    mix = np.array([[1.0, 0.8], [0.0, 0.6]])
    shared = rng.normal(size=(4000, 2)) @ mix.T + y[:, None]
    apart = shared * np.where(y == 0, 1.0, 2.0)[:, None]
    models = [LDA(), QDA(), GaussianNB(), NaiveLDA()]
    assert isinstance(auto(shared, y, by="bic", models=models).model, LDA)
    assert isinstance(auto(apart, y, by="bic", models=models).model, QDA)


# Interrupts --------------------------------------------------------------------------------------


def interrupt_after(monkeypatch, folds):
    """Ctrl-C once so many folds have been scored, over all families."""
    inner, seen = rules.fold_rules, []

    def fold_rules(*given):
        seen.append(given)
        if len(seen) > folds:
            raise KeyboardInterrupt
        return inner(*given)

    monkeypatch.setattr(rules, "fold_rules", fold_rules)


def test_interrupt_returns_the_families_judged(iris, monkeypatch):
    """Ten folds of the full Gaussians are done, and some of the naive ones: these do not count."""
    X, y = iris
    whole = auto(X, y, simple=True).table
    interrupt_after(monkeypatch, 13)
    with pytest.warns(VerosimWarning, match="search was interrupted"):
        model, table = auto(X, y, simple=True)
    assert not table.complete
    assert "interrupted" in str(table)
    assert {type(row.model) for row in tried(table)} == {LDA, QDA, RDA}
    for row in tried(table):
        assert row.score == by_name(whole)[row.name].score
    assert all("interrupted" in row.why for row in table.rows if row.score != row.score)
    assert len(table) == len(whole)
    same_model(model, clone(table[0].model).fit(X, y), X)


def test_interrupt_within_the_first_family(iris, monkeypatch):
    """Three folds of it are known: they choose."""
    X, y = iris
    kept = cross_validate(LDA(), X, y, cv=shuffled_folds(10, y)).scores["neg_log_loss"][:3]
    interrupt_after(monkeypatch, 3)
    with pytest.warns(VerosimWarning, match="search was interrupted"):
        _, table = auto(X, y, simple=True)
    assert not table.complete
    assert by_name(table)["LDA()"].score == pytest.approx(-kept.mean(), rel=1e-9)


def test_interrupt_before_anything_is_known(iris, monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        auto(*iris, simple=True)


# Real data ---------------------------------------------------------------------------------------


def test_bins_chosen_with_the_fold_in_sight_promise_too_much(data):
    """BUPA in five random halves: what is promised on one half, against what the other says.

    The optimism of one look at all rows (Varma & Simon 2006) is several hundredths of a nat, more
    than what lies between the candidates; chosen outside each fold, most of it is gone.
    """
    frame = pd.read_csv(data / "liver_bupa" / "liver_bupa.csv")
    halves = StratifiedShuffleSplit(5, train_size=0.5, random_state=0)
    told, sighted, true = [], [], []
    for known, new in halves.split(frame, frame["selector"]):
        half, other = frame.iloc[known], frame.iloc[new]
        model, table = auto(half, "selector", models=[NaiveBayes()])
        told.append(table[0].score)
        sighted.append(-cross_validate(NaiveBayes(), half, "selector").mean("neg_log_loss"))
        held = model.predict_log_proba(other)
        true.append(-held[np.arange(len(other)), other["selector"] - 1].mean())
    assert np.mean(true) - np.mean(sighted) > 0.05
    assert abs(np.mean(true) - np.mean(told)) < 0.03
