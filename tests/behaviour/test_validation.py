"""Validation is refitting, without the refits: held-out log-posteriors of every classifier equal
those of a model fitted on the other rows, to 1e-10 × max(1, |log p|), predictions exactly."""

from __future__ import annotations

import csv
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import accuracy_score, confusion_matrix, get_scorer, log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

import verosim
from verosim import VerosimError, cross_validate, path, search, select
from verosim.folds import holdout, rules

pytestmark = pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")

SETS = {"wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
GAUSSIANS = [
    verosim.LDA(), verosim.LDA(shrinkage=0.1, covariance="unbiased"),
    verosim.LDA(shrinkage="ledoit_wolf"), verosim.QDA(), verosim.QDA(shrinkage="oas"),
    verosim.QDA(priors="uniform"), verosim.RDA(), verosim.RDA(pooling=0.3, shrinkage=0.0),
    verosim.GaussianNB(), verosim.GaussianNB(shrinkage=0.2, priors="laplace"), verosim.NaiveLDA(),
]  # fmt: skip
COUNTS = [
    verosim.MultinomialNB(), verosim.ComplementNB(), verosim.ComplementNB(norm=True),
    verosim.BernoulliNB(), verosim.CategoricalNB(), verosim.CategoricalNB(alpha=0.1),
]  # fmt: skip


def edges(X):
    """Bins that do not depend on which rows are there."""
    return [
        np.linspace(lo, hi, 6) if hi > lo else np.array([lo])
        for lo, hi in zip(X.min(axis=0), X.max(axis=0), strict=True)
    ]


def refitted(model, X, y, folds, classes, weights=None):
    """(n, C) log-posteriors of every row by a model fitted on the other folds."""
    out = np.full((len(y), len(classes)), -np.inf)
    for f in np.unique(folds):
        held = folds == f
        w = None if weights is None else weights[~held]
        fitted = clone(model).fit(X[~held], y[~held], sample_weight=w)
        at = np.searchsorted(classes, fitted.classes_)
        out[np.ix_(held, at)] = fitted.predict_log_proba(X[held])
    return out


def assert_equal(found, X, y, model, weights=None):
    expected = refitted(model, X, y, found.folds, found.classes, weights)
    np.testing.assert_array_equal(np.isneginf(found.log_proba), np.isneginf(expected))
    finite = np.isfinite(expected)
    apart = np.abs(found.log_proba[finite] - expected[finite])
    assert (apart <= 1e-10 * np.maximum(1, np.abs(expected[finite]))).all(), apart.max()
    np.testing.assert_array_equal(found.predictions, found.classes[expected.argmax(axis=1)])


class TestRefits:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", SETS)
    @pytest.mark.parametrize("model", GAUSSIANS, ids=str)
    def test_gaussians(self, name, model):
        X, y = SETS[name](return_X_y=True)
        assert_equal(cross_validate(model, X, y), X, y, model)

    @pytest.mark.parametrize("model", COUNTS, ids=str)
    def test_counts(self, model):
        X, y = load_digits(return_X_y=True)
        assert_equal(cross_validate(model, X, y, cv=5), X, y, model)

    @pytest.mark.parametrize("name", SETS)
    def test_histograms(self, name):
        X, y = SETS[name](return_X_y=True)
        assert_equal(cross_validate(verosim.HistogramNB(bins=edges(X)), X, y), X, y,
                     verosim.HistogramNB(bins=edges(X)))  # fmt: skip
        few = X[:, :2]
        model = verosim.JointHistogram(bins=edges(few))
        assert_equal(cross_validate(model, few, y), few, y, model)

    @pytest.mark.parametrize("model", [GAUSSIANS[0], GAUSSIANS[3], GAUSSIANS[8], *COUNTS], ids=str)
    def test_weights_groups_and_an_absent_class(self, model, rng):
        X = rng.integers(0, 5, (200, 6)).astype(float)
        y = rng.integers(0, 3, 200)
        groups = rng.integers(0, 20, 200)
        y[groups == 7] = 9  # a class that lives in one group only
        X[y == 1] += 1
        weights = rng.uniform(0.1, 3, 200)
        found = cross_validate(model, X, y, cv=GroupKFold(5), groups=groups, sample_weight=weights)
        assert all(len(np.unique(found.folds[groups == g])) == 1 for g in np.unique(groups))
        assert np.isneginf(found.log_proba[:, 3]).any()
        assert_equal(found, X, y, model, weights)
        by_number = cross_validate(model, X, y, cv=5, groups=groups)
        assert all(len(np.unique(by_number.folds[groups == g])) == 1 for g in np.unique(groups))

    @pytest.mark.parametrize("model", [
        verosim.GaussianNB(), verosim.NaiveLDA(), verosim.QDA(missing="marginalise"),
        verosim.LDA(missing="marginalise"),
    ], ids=str)  # fmt: skip
    def test_missing_cells(self, model, rng):
        X, y = load_iris(return_X_y=True)
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        assert_equal(cross_validate(model, X, y, cv=5), X, y, model)

    @pytest.mark.parametrize("model", [verosim.MultinomialNB(), verosim.GaussianNB()], ids=str)
    def test_sparse_rows(self, model, rng):
        X = sparse.random(300, 40, 0.2, format="csr", random_state=1)
        y = rng.integers(0, 3, 300)
        assert_equal(cross_validate(model, X, y, cv=4), X, y, model)

    @pytest.mark.parametrize("settings", [
        {}, {"model": "bernoulli"}, {"model": "complement"}, {"ngrams": (1, 2), "min_count": 3},
        {"hashed": 2**12},
    ], ids=str)  # fmt: skip
    def test_texts(self, data, settings):
        frame = pd.read_parquet(data / "sms_spam" / "sms_spam.parquet")[:1500]
        column = next(c for c in frame if c != "label")
        X, y = frame[column].to_numpy(object), frame["label"].to_numpy(object).astype(str)
        model = verosim.TextNB(**settings)
        assert_equal(cross_validate(model, X, y, cv=5), X, y, model)

    @pytest.mark.parametrize("name", ["penguins", "german_credit"])
    @pytest.mark.parametrize("missing", ["skip", "category"])
    def test_tables(self, data, name, missing):
        """By refits from the same schema, as folds are of one schema."""
        target = {"penguins": "species", "german_credit": "class"}[name]
        frame = pd.read_csv(data / name / f"{name}.csv", keep_default_na=False, na_values=[""])
        schema = verosim.look(frame, target)
        model = verosim.NaiveBayes(missing=missing)
        found = cross_validate(model, frame, target, cv=6, schema=schema)
        for f in np.unique(found.folds):
            held = found.folds == f
            fitted = clone(model).fit(frame[~held], target, schema=schema)
            expected = fitted.predict_log_proba(frame[held])
            np.testing.assert_allclose(found.log_proba[held], expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(found.predictions[held], fitted.predict(frame[held]))

    def test_large_statistics_go_fold_by_fold(self, monkeypatch):
        X, y = load_digits(return_X_y=True)
        model = verosim.QDA(shrinkage=0.1)
        small = cross_validate(model, X, y)
        monkeypatch.setattr(holdout, "BUDGET", 1000)
        large = cross_validate(model, X, y)
        np.testing.assert_allclose(small.log_proba, large.log_proba, rtol=1e-9, atol=1e-9)

    def test_robust_and_chosen_settings_are_refitted(self):
        X, y = load_wine(return_X_y=True)
        for model in (verosim.LDA(shrinkage="cv"), verosim.GaussianNB(robust=True)):
            assert_equal(cross_validate(model, X, y, cv=4), X, y, model)


class TestScores:
    def test_every_scoring_is_scikit_learns(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = verosim.LDA(shrinkage=0.01)  # no posterior so near 1 that 1 − p has lost its digits
        names = ["accuracy", "neg_log_loss", "roc_auc", "balanced_accuracy", "f1", "f1_macro",
                 "neg_brier_score", "average_precision", "matthews_corrcoef"]  # fmt: skip
        found = cross_validate(model, X, y, cv=5, scoring=names)
        for f in range(5):
            held = found.folds == f
            fitted = clone(model).fit(X[~held], y[~held])
            for name in names:
                expected = get_scorer(name)(fitted, X[held], y[held])
                assert found.scores[name][f] == pytest.approx(expected, abs=1e-9), name

    def test_weights_count_in_the_scores(self, rng):
        X, y = load_iris(return_X_y=True)
        w = rng.uniform(0, 2, len(y))
        w[::7] = 0
        found = cross_validate(verosim.LDA(), X, y, cv=3, sample_weight=w)
        held = found.folds == 1
        right = accuracy_score(y[held], found.predictions[held], sample_weight=w[held])
        assert found.scores["accuracy"][1] == pytest.approx(right)
        assert np.isfinite(found.log_proba).all()  # rows of no weight are judged too

    def test_log_loss_knows_all_classes(self):
        X, y = load_iris(return_X_y=True)
        folds = (y == 2).astype(int)
        found = cross_validate(verosim.LDA(), X, y, cv=folds)
        expected = -log_loss(y[y == 2], np.exp(found.log_proba[y == 2]), labels=[0, 1, 2])
        assert found.scores["neg_log_loss"][1] == pytest.approx(expected)

    def test_own_scorers_and_bad_names(self):
        X, y = load_iris(return_X_y=True)

        def errors(estimator, X, y, sample_weight=None):
            return float((estimator.predict(X) != y).sum())

        found = cross_validate(verosim.LDA(), X, y, cv=5, scoring={"errors": errors})
        assert found.scores["errors"].sum() == (found.predictions != y).sum()
        with pytest.raises(VerosimError, match="'acuracy' is not the name of a score"):
            cross_validate(verosim.LDA(), X, y, scoring="acuracy")

    def test_it_prints(self):
        X, y = load_iris(return_X_y=True)
        shown = str(cross_validate(verosim.LDA(), X, y, cv=5))
        assert shown.startswith("150 rows, 3 classes, 5 folds\naccuracy      0.98")
        assert "leave-one-out" in str(cross_validate(verosim.LDA(), X, y, cv="loo"))


class TestFolds:
    @pytest.fixture
    def iris(self):
        return load_iris(return_X_y=True)

    def test_numbers_are_stratified_as_scikit_learns(self, iris):
        X, y = iris
        found = cross_validate(verosim.LDA(), X, y, cv=4)
        for f, (_, test) in enumerate(StratifiedKFold(4).split(X, y)):
            np.testing.assert_array_equal(np.flatnonzero(found.folds == f), test)

    def test_any_partition(self, iris, rng):
        X, y = iris
        splitter = KFold(5, shuffle=True, random_state=3)
        by_splitter = cross_validate(verosim.QDA(), X, y, cv=splitter)
        names = np.array(list("abcde"))[by_splitter.folds]
        for cv in (by_splitter.folds, names, list(splitter.split(X))):
            again = cross_validate(verosim.QDA(), X, y, cv=cv)
            np.testing.assert_array_equal(again.log_proba, by_splitter.log_proba)

    @pytest.mark.parametrize("cv", [
        ShuffleSplit(4, test_size=0.3, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    ], ids=str)  # fmt: skip
    def test_splits_that_overlap(self, iris, cv):
        X, y = iris
        found = cross_validate(verosim.QDA(), X, y, cv=cv)
        expected = [verosim.QDA().fit(X[a], y[a]).score(X[b], y[b]) for a, b in cv.split(X, y)]
        np.testing.assert_allclose(found.scores["accuracy"], expected)

    def test_labels_of_any_kind(self, iris):
        X, y = iris
        plain = cross_validate(verosim.LDA(), X, y, cv=5)
        for labels in (y.astype(object), np.array(["a", "b", "c"])[y], y == 1):
            found = cross_validate(verosim.LDA(), X, labels, cv=5)
            if len(found.classes) == 3:
                np.testing.assert_array_equal(found.log_proba, plain.log_proba)

    def test_a_class_rarer_than_the_folds(self, iris):
        X, y = iris
        y = np.where(np.arange(150) == 3, 7, y)
        found = cross_validate(verosim.GaussianNB(), X, y, cv=10)
        assert np.isneginf(found.log_proba[3, 3])

    @pytest.mark.parametrize(("cv", "message"), [
        (1, "at least 2; got 1"), (0, "at least 2; got 0"), ("fold", "'fold' is not a column"),
        (151, "150; got 151"), (None, "does not define folds"), ([0] * 150, "one fold"),
        ([0, 1, 2], "does not define folds"),
    ])  # fmt: skip
    def test_bad_folds(self, iris, cv, message):
        with pytest.raises(VerosimError, match=message):
            cross_validate(verosim.LDA(), *iris, cv=cv)

    def test_only_sums_can_be_taken_apart(self, iris):
        from sklearn.linear_model import LogisticRegression

        with pytest.raises(VerosimError, match="needs a generative classifier of verosim"):
            cross_validate(LogisticRegression(), *iris)


class TestTables:
    @pytest.fixture
    def frame(self, rng):
        n = 400
        kind = rng.choice(["a", "b", "c"], n)
        at = np.searchsorted(["a", "b", "c"], kind)
        return pd.DataFrame({
            "x": rng.normal(size=n) + at, "hue": np.where(rng.random(n) < 0.1, None,
            np.array(["red", "blue", "green"])[(at + (rng.random(n) < 0.3)) % 3]),
            "who": rng.integers(0, 40, n).astype(str), "w": rng.uniform(0.5, 2, n),
            "part": rng.choice(["p", "q", "r"], n), "kind": kind,
        })  # fmt: skip

    def test_the_same_folds_from_every_source(self, frame, tmp_path):
        """Folds by hash depend neither on the reader, the order, nor the pieces."""
        import polars as pl
        import pyarrow as pa

        model = verosim.NaiveBayes(columns={"who": "category"})
        found = cross_validate(model, frame, "kind", cv=5)
        assert set(found.folds) == set(range(5))
        frame.to_csv(tmp_path / "all.csv", index=False)
        frame[:150].to_parquet(tmp_path / "one.parquet")
        frame[150:].to_parquet(tmp_path / "two.parquet")
        for source in (tmp_path / "all.csv", str(tmp_path / "*.parquet"), pl.DataFrame(frame),
                       pa.Table.from_pandas(frame, preserve_index=False)):  # fmt: skip
            other = cross_validate(model, source, "kind", cv=5, keep_rows=True)
            np.testing.assert_array_equal(other.folds, found.folds)
            np.testing.assert_allclose(other.log_proba, found.log_proba, rtol=1e-9, atol=1e-9)
        back = cross_validate(model, frame[::-1].reset_index(drop=True), "kind", cv=5)
        np.testing.assert_array_equal(back.folds[::-1], found.folds)

    def test_folds_by_group_column_and_splitter(self, frame):
        model = verosim.NaiveBayes(columns={"who": "ignore", "w": "ignore", "part": "ignore"})
        found = cross_validate(model, frame, "kind", cv=5, groups="who")
        assert (frame.groupby("who").apply(lambda g: len(set(found.folds[g.index]))) == 1).all()
        by_column = cross_validate(model, frame, "kind", cv="part", sample_weight="w")
        np.testing.assert_array_equal(by_column.folds, frame["part"].map({"p": 0, "q": 1, "r": 2}))
        np.testing.assert_array_equal(by_column.weights, frame["w"])
        split = cross_validate(model, frame, "kind", cv=StratifiedKFold(4))
        expected = cross_validate(model, frame.drop(columns="kind"), frame["kind"], cv=4)
        np.testing.assert_array_equal(split.folds, expected.folds)
        with pytest.raises(VerosimError, match="'grp' is not in the table"):
            cross_validate(model, frame, "kind", groups="grp")
        with pytest.raises(VerosimError, match="read only once"):
            cross_validate(model, iter([frame]), "kind")

    def test_numbers_by_name(self, frame):
        """Every classifier takes the same sources."""
        numbers = frame[["x", "w", "kind"]]
        found = cross_validate(verosim.QDA(), numbers, "kind", cv=4)
        X = numbers[["x", "w"]].to_numpy()
        again = cross_validate(verosim.QDA(), X, numbers["kind"].to_numpy(), cv=found.folds)
        np.testing.assert_allclose(found.log_proba, again.log_proba, rtol=1e-9, atol=1e-9)


class TestLeaveOneOut:
    @pytest.mark.parametrize("kind", ["lda", "qda"])
    @pytest.mark.parametrize("name", ["iris_fisher", "wine", "pima_mass", "smarket"])
    def test_mass_cv_true(self, data, name, kind):
        """MASS keeps the priors of all rows: lda(…, CV=TRUE) and qda(…, CV=TRUE)."""
        from tests.references.test_r import table

        file = data / "reference_R" / f"{name}_{kind}_loo_posterior.csv"
        if not file.exists():
            pytest.skip(f"R wrote no {file.name}")
        X, y, _ = table(data, name)
        model = (verosim.LDA if kind == "lda" else verosim.QDA)(covariance="unbiased")
        found = cross_validate(model, X, y, cv="loo", fold_priors="keep")
        with open(file) as lines:
            rows = list(csv.DictReader(lines))
        expected = np.array([[float(row[str(c)]) for c in found.classes] for row in rows])
        np.testing.assert_allclose(found.proba, expected, rtol=1e-7, atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("model", [*GAUSSIANS, *COUNTS[:4]], ids=str)
    def test_is_one_row_a_fold(self, model):
        X, y = load_iris(return_X_y=True)
        found = cross_validate(model, X, y, cv="loo")
        folds = cross_validate(model, X, y, cv=np.arange(150))
        apart = np.abs(found.log_proba - folds.log_proba)
        assert (apart <= 1e-10 * np.maximum(1, np.abs(folds.log_proba))).all(), apart.max()
        np.testing.assert_array_equal(found.predictions, folds.predictions)

    def test_of_a_table(self, data):
        file = data / "penguins" / "penguins.csv"
        schema = verosim.look(file, "species")
        found = cross_validate(verosim.NaiveBayes(), file, "species", cv="loo", schema=schema)
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
        for i in (0, 3, 200, 343):
            rest = frame.drop(index=i)
            fitted = verosim.NaiveBayes().fit(rest, "species", schema=schema)
            expected = fitted.predict_log_proba(frame.iloc[[i]])[0]
            np.testing.assert_allclose(found.log_proba[i], expected, rtol=1e-9, atol=1e-10)

    def test_keeps_or_refits_priors(self):
        X, y = load_iris(return_X_y=True)
        kept = cross_validate(verosim.LDA(), X, y, cv="loo", fold_priors="keep")
        uniform = cross_validate(verosim.LDA(priors="uniform"), X, y, cv="loo")
        np.testing.assert_allclose(kept.log_proba, uniform.log_proba, atol=1e-12)
        refit = cross_validate(verosim.LDA(), X, y, cv="loo")
        assert np.abs(refit.log_proba - kept.log_proba).max() > 1e-3
        folds = cross_validate(verosim.LDA(), X[20:], y[20:], cv=5, fold_priors="keep")
        held = folds.folds == 0
        X, y = X[20:], y[20:]
        by_hand = verosim.LDA(priors=np.bincount(y) / len(y)).fit(X[~held], y[~held])
        np.testing.assert_allclose(folds.log_proba[held], by_hand.predict_log_proba(X[held]))
        with pytest.raises(VerosimError, match=r"fold_priors must be .*; got 'whole'"):
            cross_validate(verosim.LDA(), X, y, fold_priors="whole")


class TestSearch:
    @pytest.mark.parametrize(("model", "grid"), [
        (verosim.LDA(), {"shrinkage": [None, 0.0, 0.01, 0.5, 1.0, "oas", "ledoit_wolf"]}),
        (verosim.RDA(), {"pooling": [0, 0.5, 1], "shrinkage": [0, 0.01, 0.3]}),
        (verosim.QDA(), {"covariance": ["mle", "unbiased"], "priors": [None, "uniform"]}),
        (verosim.GaussianNB(), {"floor": [1e-9, 0.1], "shrinkage": [None, 0.3]}),
        (verosim.HistogramNB(), {"alpha": [0.1, 1, 5], "bins": [4, 8]}),
    ], ids=str)  # fmt: skip
    def test_is_cross_validation_of_each(self, model, grid):
        X, y = load_wine(return_X_y=True)
        found = search(model, X, y, grid, cv=5, scoring=["neg_log_loss", "accuracy"])
        for p, setting in enumerate(found.settings):
            alone = cross_validate(clone(model).set_params(**setting), X, y, cv=5)
            for name in ("neg_log_loss", "accuracy"):
                np.testing.assert_allclose(found.scores[name][p], alone.scores[name], rtol=1e-9)
        fitted = clone(model).set_params(**found.best_settings).fit(X, y)
        np.testing.assert_allclose(
            found.model.predict_proba(X), fitted.predict_proba(X), atol=1e-9
        )  # fmt: skip
        assert found.best_score == found.mean().max()
        assert "← best" in str(found)

    def test_of_a_table(self, data):
        file = data / "penguins" / "penguins.csv"
        found = path(verosim.NaiveBayes(), file, "species", "alpha", [0.1, 1, 10], cv=4)
        alone = cross_validate(verosim.NaiveBayes(alpha=10), file, "species", cv=4)
        np.testing.assert_allclose(found.scores["neg_log_loss"][2], alone.scores["neg_log_loss"])
        assert found.model.schema_ is not None

    def test_leave_one_out(self):
        X, y = load_iris(return_X_y=True)
        found = path(verosim.LDA(), X, y, "shrinkage", [None, 0.1, "oas"], cv="loo")
        for p, setting in enumerate(found.settings):
            alone = cross_validate(verosim.LDA(**setting), X, y, cv="loo")
            assert found.scores["neg_log_loss"][p] == alone.scores["neg_log_loss"]
        assert found.model.score(X, y) > 0.97

    def test_an_interrupt_returns_what_is_known(self, monkeypatch):
        X, y = load_wine(return_X_y=True)
        whole = path(verosim.LDA(), X, y, "shrinkage", [0, 0.5], cv=5)
        real, calls = rules.fold_rules, []

        def impatient(*given):
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return real(*given)

        monkeypatch.setattr(rules, "fold_rules", impatient)
        with pytest.warns(verosim.VerosimWarning, match="Interrupted"):
            part = path(verosim.LDA(), X, y, "shrinkage", [0, 0.5], cv=5)
        assert not part.complete
        np.testing.assert_array_equal(part.scores["neg_log_loss"][:, :3],
                                      whole.scores["neg_log_loss"][:, :3])  # fmt: skip
        assert np.isnan(part.scores["neg_log_loss"][:, 3:]).all()
        assert "the scores use 3 of 5 folds" in str(part)
        assert part.model.score(X, y) > 0.5
        calls[:] = [1, 1, 1]
        with pytest.raises(KeyboardInterrupt):  # nothing known yet
            path(verosim.LDA(), X, y, "shrinkage", [0, 0.5], cv=5)

    @pytest.mark.parametrize("grid", [{}, {"shrinkage": []}, {"shrinkag": [1]}, []], ids=str)
    def test_bad_grids(self, grid):
        with pytest.raises(VerosimError):
            search(verosim.LDA(), *load_wine(return_X_y=True), grid)

    @pytest.mark.parametrize(("model", "parameter"), [
        (verosim.LDA(shrinkage="cv"), "shrinkage"), (verosim.NaiveLDA(shrinkage="cv"), "shrinkage"),
        (verosim.HistogramNB(alpha="cv"), "alpha"), (verosim.MultinomialNB(alpha="cv"), "alpha"),
    ], ids=str)  # fmt: skip
    def test_settings_left_to_the_data(self, model, parameter):
        """shrinkage="cv" and alpha="cv" are the search over their grid by held-out log-loss."""
        from verosim.folds.tuning import GRIDS

        X, y = load_wine(return_X_y=True)
        fitted = clone(model).fit(X, y)
        found = path(clone(model).set_params(**{parameter: 0.5}), X, y, parameter, GRIDS[parameter])
        folds = found.scores["neg_log_loss"]
        sizes = np.bincount(cross_validate(found.model, X, y).folds)
        best = GRIDS[parameter][int((folds @ sizes).argmax())]
        assert getattr(fitted, f"{parameter}_") == best
        plain = clone(model).set_params(**{parameter: best}).fit(X, y)
        np.testing.assert_allclose(fitted.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        assert getattr(fitted + fitted, f"{parameter}_") == best
        assert getattr(fitted.with_priors("uniform"), f"{parameter}_") == best
        with pytest.raises(VerosimError, match="only fit has all rows"):
            clone(model).partial_fit(X, y)

    def test_the_square_left_to_the_data(self):
        X, y = load_wine(return_X_y=True)
        model = verosim.RDA(pooling="cv", shrinkage="cv").fit(X, y)
        assert 0 <= model.pooling_ <= 1
        assert model.score(X, y) > 0.99


class TestSelect:
    @pytest.mark.parametrize("direction", ["forward", "backward"])
    @pytest.mark.parametrize("model", [
        verosim.LDA(), verosim.QDA(), verosim.GaussianNB(), verosim.NaiveLDA(shrinkage=0.1),
        verosim.CategoricalNB(), verosim.BernoulliNB(binarize=2.0),
    ], ids=str)  # fmt: skip
    def test_scores_are_cross_validation_of_the_columns(self, model, direction):
        X, y = load_wine(return_X_y=True)
        X = np.round(X[:, :7])
        found = select(model, X, y, direction=direction, cv=5)
        kept = X[:, found.numbers]
        again = cross_validate(model, kept, y, cv=5)
        loss = -np.maximum(again.log_proba[np.arange(len(y)), y], np.log(np.finfo(float).eps))
        assert found.score == pytest.approx(loss.mean(), abs=1e-10)
        fitted = clone(model).fit(kept, y)
        np.testing.assert_allclose(
            found.model.predict_proba(kept), fitted.predict_proba(kept), atol=1e-10
        )
        steps = [found.start, *(step.score for step in found.steps)]
        assert (np.diff(steps) <= 0).all()

    def test_wilks_by_determinants(self):
        """λ = |W|/|T|, and its F of the first step against scipy's."""
        from scipy.stats import f_oneway

        X, y = load_wine(return_X_y=True)
        found = select(verosim.LDA(), X, y, scoring="wilks")
        Z = X[:, found.numbers]
        centred = Z - np.array([Z[y == k].mean(axis=0) for k in range(3)])[y]
        T = Z - Z.mean(axis=0)
        expected = np.linalg.det(centred.T @ centred) / np.linalg.det(T.T @ T)
        assert found.score == pytest.approx(expected, rel=1e-8)
        first = load_wine().feature_names.index("flavanoids")
        p = f_oneway(*(X[y == k, first] for k in range(3))).pvalue
        assert found.steps[0].column == f"x{first}"
        assert found.steps[0].p_value == pytest.approx(p, rel=1e-6)
        back = select(verosim.LDA(), X, y, scoring="wilks", direction="backward")
        assert set(back.numbers) <= set(range(13))
        with pytest.raises(VerosimError, match="needs a full scatter matrix"):
            select(verosim.GaussianNB(), X, y, scoring="wilks")

    def test_of_a_table(self, data):
        file = data / "penguins" / "penguins.csv"
        found = select(verosim.NaiveBayes(), file, "species", cv=5, most=3)
        left = [c.reason for c in found.model.schema_ if c.density == "ignore"]
        assert set(left) == {"not selected"}
        assert len(found.columns) == 3
        assert [c.name for c in found.model.schema_.used] == found.columns

    def test_columns_that_depend_on_others_are_passed_over(self, rng):
        X, y = load_iris(return_X_y=True)
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
        found = select(verosim.LDA(), X, y, scoring="wilks", level=1.0)
        assert len(found.columns) == 4


class TestOddRequests:
    """What users ask that no formula mentions."""

    @pytest.fixture
    def iris(self):
        return load_iris(return_X_y=True)

    @pytest.fixture
    def frame(self, iris):
        X, y = iris
        return pd.DataFrame(X, columns=list("abcd")).assign(k=np.array(["s", "v", "w"])[y])

    def test_columns_of_folds_and_groups_are_not_learnt_from(self, frame):
        fold = np.arange(150) % 5
        plain = cross_validate(verosim.LDA(), frame, "k", cv=fold)
        named = cross_validate(verosim.LDA(), frame.assign(fold=fold), "k", cv="fold")
        np.testing.assert_allclose(named.log_proba, plain.log_proba, atol=1e-12)
        site = np.repeat(np.arange(30), 5)  # says all about the class
        grouped = search(verosim.LDA(), frame.assign(site=site), "k", {"shrinkage": [0, 0.1]},
                         cv=5, groups="site")  # fmt: skip
        assert list(grouped.model.feature_names_in_) == list("abcd")

    def test_rows_without_weight_keep_their_label(self, iris, rng):
        X, y = iris
        w = np.ones(150)
        w[140:] = 0
        for model in (verosim.NaiveBayes(), verosim.GaussianNB()):
            for cv in (3, "loo", StratifiedKFold(4, shuffle=True, random_state=3)):
                found = cross_validate(model, X, y, cv=cv, sample_weight=w)
                np.testing.assert_array_equal(found.labels, y)
        a, b = (cross_validate(m, X, y, cv=4, sample_weight=w).folds
                for m in (verosim.NaiveBayes(), verosim.GaussianNB()))  # fmt: skip
        np.testing.assert_array_equal(a[w > 0], b[w > 0])

    def test_weighted_table_alone(self, iris):
        X, y = iris
        w = np.arange(150) % 3.0
        model = verosim.NaiveBayes(columns="gaussian")
        found = cross_validate(model, X, y, cv="loo", sample_weight=w)
        again = cross_validate(verosim.GaussianNB(), X, y, cv="loo", sample_weight=w)
        np.testing.assert_allclose(found.log_proba, again.log_proba, atol=1e-9)

    def test_rows_without_weight_do_not_choose(self, iris):
        X, y = iris
        w = np.random.default_rng(1).integers(0, 4, 150) * 1.0
        there = w > 0
        for model, name in ((verosim.LDA(shrinkage="cv"), "shrinkage_"),
                            (verosim.RDA(pooling="cv"), "pooling_")):  # fmt: skip
            whole = clone(model).fit(X, y, w)
            part = clone(model).fit(X[there], y[there], w[there])
            assert getattr(whole, name) == getattr(part, name)

    def test_rows_never_held_out(self, iris):
        from sklearn.model_selection import PredefinedSplit

        X, y = iris
        at = np.where(np.arange(150) < 120, -1, np.arange(150) % 3)
        found = cross_validate(verosim.LDA(), X, y, cv=PredefinedSplit(at))
        assert str(found).startswith("150 rows, 3 classes, 3 folds")
        assert np.isnan(found.log_proba[:120]).all()
        with pytest.raises(VerosimError, match="never held out"):
            found.predictions  # noqa: B018

    def test_rows_held_out_twice_have_the_mean_posterior(self, iris):
        X, y = iris
        cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
        found = cross_validate(verosim.LDA(), X, y, cv=cv)
        total = np.zeros((150, 3))
        for train, test in cv.split(X, y):
            total[test] += verosim.LDA().fit(X[train], y[train]).predict_proba(X[test]) / 2
        np.testing.assert_allclose(found.proba, total, atol=1e-12)

    @pytest.mark.parametrize("cv", ["loo", np.arange(150) % 5], ids=["loo", "array"])
    def test_groups_are_never_ignored(self, iris, cv):
        for ask in (cross_validate, lambda m, X, y, **k: path(m, X, y, "shrinkage", [0, 1], **k)):
            with pytest.raises(VerosimError, match=r"group"):
                ask(verosim.LDA(), *iris, cv=cv, groups=np.arange(150) % 7)

    def test_constant_columns_have_no_parameters(self, iris):
        X, y = iris
        wider = np.column_stack([X, np.ones(150)])
        for model in (verosim.LDA(), verosim.QDA(), verosim.GaussianNB(), verosim.NaiveLDA()):
            plain, constant = clone(model).fit(X, y), clone(model).fit(wider, y)
            assert constant.n_parameters_ == plain.n_parameters_
            assert verosim.bic(constant) == pytest.approx(verosim.bic(plain))

    def test_requests_that_cannot_be_met(self, iris, frame):
        X, y = iris
        from sklearn.metrics import accuracy_score

        for scoring in ("roc_auc", "f1", accuracy_score):
            with pytest.raises(VerosimError, match="scoring="):
                cross_validate(verosim.LDA(), X, y, scoring=scoring)
        with pytest.raises(VerosimError, match="row numbers"):
            cross_validate(verosim.LDA(), X, y, cv=[(np.arange(100.0), np.arange(100.0, 150.0))])
        for grid in ({"shrinkage": 0.1}, {"shrinkage": "oas"}, None):
            with pytest.raises(VerosimError, match="grid"):
                search(verosim.LDA(), X, y, grid)
        with pytest.raises(VerosimError, match="LDA is a class"):
            cross_validate(verosim.LDA, X, y)
        with pytest.raises(VerosimError, match="is the target"):
            cross_validate(verosim.LDA(), frame, "k", cv="k")
        with pytest.raises(VerosimError, match="folds are needed"):
            select(verosim.LDA(), X, y, cv="loo")
        with pytest.raises(VerosimError, match="Row 3 has no fold"):
            cross_validate(verosim.LDA(), X, y, cv=np.where(np.arange(150) == 3, np.nan, 1.0))


@pytest.mark.parametrize(
    "model", [verosim.LDA(robust=True), verosim.LDA(shrinkage="cv")], ids=["robust", "cv"]
)
def test_models_that_are_no_sums_are_refitted_on_tables_too(model):
    """The same posteriors as from arrays with the same folds."""
    data = load_wine(as_frame=True)
    found = cross_validate(model, data.frame, "target", cv=5)
    X, y = data.data.to_numpy(), data.target.to_numpy()
    arrays = cross_validate(model, X, y, cv=found.folds)
    if model.robust:
        np.testing.assert_allclose(found.log_proba, arrays.log_proba, atol=1e-10)
    for f in range(5):
        held = found.folds == f
        refit = clone(model).fit(data.frame[~held], "target").predict_log_proba(data.frame[held])
        np.testing.assert_allclose(found.log_proba[held], refit, atol=1e-8)


def test_confusion_is_summed_over_folds(rng):
    """As scikit-learn counts it from the out-of-fold predictions, by weight."""
    X, y = load_wine(return_X_y=True)
    w = rng.integers(0, 3, len(y)).astype(float)
    for given in ({}, {"sample_weight": w}):
        for cv in (5, "loo"):
            found = cross_validate(verosim.GaussianNB(), X, y, cv=cv, **given)
            expected = confusion_matrix(y, found.predictions, **given)
            np.testing.assert_allclose(found.confusion, expected)


def test_reliability_is_summed_over_folds(rng):
    """As `reliability` finds it from the out-of-fold posteriors, in pieces or at once."""
    X, y = load_wine(return_X_y=True)
    w = rng.integers(0, 3, len(y)).astype(float)
    for cv in (5, "loo"):
        found = cross_validate(verosim.GaussianNB(), X, y, cv=cv, sample_weight=w)
        expected = verosim.reliability(y, log_proba=found.log_proba, sample_weight=w)
        for name, value in vars(expected).items():
            np.testing.assert_allclose(getattr(found.reliability, name), value, rtol=1e-12)
    assert cross_validate(verosim.LeastSquares(), X, y).reliability is None


@pytest.mark.slow
@pytest.mark.parametrize("ask", [
    lambda file: cross_validate(verosim.NaiveBayes(), file, "kind", cv=5),
    lambda file: search(verosim.GaussianNB(), file, "kind", {"floor": [1e-9, 0.1]}, cv=5),
    lambda file: verosim.auto(file, "kind", cv=3, simple=True),
], ids=["cross_validate", "search", "auto"])  # fmt: skip
def test_memory_of_validating_a_file_does_not_grow_with_rows(ask, tmp_path, rng):
    """Out-of-fold posteriors alone would be 17 MB more for the larger file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, peaks = 400_000, []
    y = rng.integers(0, 3, n)
    columns = {f"x{j}": rng.normal(y * 0.5, 1.0) for j in range(3)}
    table = pa.table({**columns, "kind": pa.array(["low", "middle", "high"]).take(pa.array(y))})
    for rows in (20_000, 100_000, n):  # the first compiles
        file = tmp_path / f"{rows}.parquet"
        pq.write_table(table[:rows], file, row_group_size=20_000)
        with verosim.use_threads(1):
            tracemalloc.start()
            ask(file)
            peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
    assert peaks[2] - peaks[1] < 4
