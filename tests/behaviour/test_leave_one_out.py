"""Leave-one-out in closed form is what estimating again gives, row by row, and what fitting anew on
all other rows gives: log p to 1e-10 × max(1, |log p|)."""

from __future__ import annotations

import csv
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import verosim
from tests.texts import statistic_of_texts
from verosim.axes import Bins, Categories, Hashed, JointBins, Vocabulary
from verosim.axes.bins import edges_of
from verosim.bayes.priors import log_priors, log_priors_left_out
from verosim.bayes.rule import Rule
from verosim.data import Documents, as_matrix
from verosim.densities import (
    Bernoulli,
    Categorical,
    Complement,
    Density,
    DiagonalGaussian,
    EMGaussian,
    FullGaussian,
    Histogram,
    JointHistogramDensity,
    Multinomial,
    Poisson,
)
from verosim.densities.leave_one_out import left_out_scorer
from verosim.densities.leave_one_out import log_density_left_out as left_out
from verosim.densities.leave_one_out import refit as again
from verosim.errors import VerosimError
from verosim.stats import Counts, Moments
from verosim.testing import statistic_of

NO_WEIGHTS = np.empty(0)


def apart(ours, theirs):
    """The largest difference of log densities, in parts of max(1, |log p|)."""
    np.testing.assert_array_equal(np.isneginf(ours), np.isneginf(theirs))
    there = ~np.isneginf(theirs)
    found = np.abs(ours[there] - theirs[there]) / np.maximum(1, np.abs(theirs[there]))
    assert not np.isnan(found).any()
    return found.max(initial=0.0)


def same(ours, theirs, tolerance=1e-10):
    assert apart(ours, theirs) <= tolerance


# Closed forms against estimating again ----------------------------------------------------------


def agrees(density, statistic, block, y, weights=None, tolerance=1e-10):
    w = NO_WEIGHTS if weights is None else weights
    same(left_out(density, statistic, block, y, w), again.scorer(density, statistic)(block, y, w),
         tolerance)  # fmt: skip


def full(axes):
    return Moments(axes, layout="full")


def odd_rows(seed):
    """Labels (one class of a single row), weights or none, and numbers of several scales: a column
    constant but for one row, ties, few rows."""
    rng = np.random.default_rng(seed)
    n, d, C = int(rng.integers(8, 20)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    y = np.append(rng.integers(0, C, n - 1), C)
    y = np.unique(y, return_inverse=True)[1]
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d) + rng.choice([0, 5, 1e4], d)
    if seed % 3 == 0:
        X = np.round(rng.normal(size=(n, d)))
    if seed % 2 == 0:
        X[:, 0] = 7.0
        X[rng.integers(n), 0] = 9.0
    weights = None if seed % 4 < 2 else np.round(rng.random(n) * 3, 1) + 0.1
    return rng, X, y, weights


def with_holes(rng, X, missing=np.nan):
    return np.where(rng.random(X.shape) < 0.2, missing, X)


@pytest.mark.parametrize("seed", range(6))
class TestEveryDensity:
    @pytest.mark.slow
    def test_full(self, seed):
        _, X, y, w = odd_rows(seed)
        statistic = statistic_of(X, y, weights=w, plan=full)
        for pooling, covariance, shrinkage, floor in product(
            (0.0, 0.4, 1.0), ("mle", "unbiased"), (None, 0.3, "oas", "ledoit_wolf"), (0.0, 1e-3)
        ):
            agrees(FullGaussian(pooling, covariance, shrinkage, floor), statistic, X, y, w)

    def test_pooled_layout(self, seed):
        _, X, y, w = odd_rows(seed)
        statistic = statistic_of(X, y, weights=w, plan=full).pool()
        for covariance, shrinkage in product(("mle", "unbiased"), (None, 0.3, "oas")):
            agrees(FullGaussian(1.0, covariance, shrinkage), statistic, X, y, w)

    @pytest.mark.slow
    def test_diagonal(self, seed):
        rng, X, y, w = odd_rows(seed)
        X = with_holes(rng, X)
        statistic = statistic_of(X, y, weights=w)
        for shared, covariance, shrinkage, floor in product(
            (False, True), ("mle", "unbiased"), (None, 0.3, "oas"), (0.0, 1e-9, 0.1)
        ):
            agrees(DiagonalGaussian(shared, covariance, shrinkage, floor), statistic, X, y, w)
        thin = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, 0.0, np.nan_to_num(X)))
        rows = as_matrix(thin, sparse_allowed=True)
        agrees(DiagonalGaussian(), statistic_of(thin, y, weights=w), rows, y, w)

    def test_poisson(self, seed):
        rng, X, y, w = odd_rows(seed)
        counts = rng.poisson(1.0, X.shape).astype(float)
        counts[:, 0] = 0.0
        counts[rng.integers(len(X)), 0] = 3.0
        counts = with_holes(rng, counts)
        statistic = statistic_of(counts, y, weights=w)
        for alpha in (0.0, 0.01, 1.0):
            agrees(Poisson(alpha), statistic, counts, y, w)

    def test_categories(self, seed):
        rng, X, y, w = odd_rows(seed)
        values = rng.integers(0, 4 if seed % 2 else len(X), X.shape).astype(object)
        values[:, 0], values[rng.integers(len(X)), 0] = "a", "b"
        values = with_holes(rng, values, None)
        plan = lambda axes: Counts(axes.with_codes(Categories.empty(X.shape[1])))  # noqa: E731
        statistic = statistic_of(values, y, weights=w, raw=True, plan=plan)
        for alpha, constants in product((0.0, 0.5, 1.0), (True, False)):
            agrees(Categorical(alpha, constants), statistic, values, y, w)

    def test_histograms(self, seed):
        rng, X, y, w = odd_rows(seed)
        bins = Bins([edges_of(column, NO_WEIGHTS, 3) for column in X.T])
        joint = JointBins(bins, Categories.empty(1))
        holed = with_holes(rng, X)
        for alpha in (0.0, 1.0):
            statistic = statistic_of(
                holed, y, weights=w, plan=lambda axes: Counts(axes.with_codes(bins))
            )
            agrees(Histogram(alpha), statistic, holed, y, w)
            statistic = statistic_of(
                X, y, weights=w, plan=lambda axes: Counts(axes.with_codes(joint))
            )
            agrees(JointHistogramDensity(alpha), statistic, X, y, w)

    def test_columns(self, seed):
        rng, X, y, w = odd_rows(seed)
        dense = with_holes(rng, rng.poisson(0.7, X.shape).astype(float))
        dense[:, 0] = 0.0
        dense[rng.integers(len(X)), 0] = 2.0
        for rows in (dense, sparse.csr_array(dense)):
            block = as_matrix(rows, sparse_allowed=True)
            amounts = statistic_of(
                rows, y, weights=w, plan=lambda axes: Counts(axes, what="amount")
            )
            for alpha in (0.0, 0.01, 1.0):
                agrees(Multinomial(alpha), amounts, block, y, w)
                agrees(Complement(alpha), amounts, block, y, w)
                agrees(Complement(alpha, norm=True), amounts, block, y, w)
            for threshold in (0.0, 1.0) if rows is not dense else (-1.0, 0.0, 1.0):
                plan = lambda axes: Counts(  # noqa: E731
                    axes, what="presence", threshold=threshold  # noqa: B023
                )  # fmt: skip
                presence = statistic_of(rows, y, weights=w, plan=plan)
                for alpha, constants in product((0.0, 1.0), (True, False)):
                    agrees(Bernoulli(alpha, constants), presence, block, y, w)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["growing", "given", "hashed"])
    def test_texts(self, seed, kind):
        rng, X, y, w = odd_rows(seed)
        words = ["aa", "bb", "cc", "dd", *(f"only{i}" for i in range(9))]
        texts = [" ".join(rng.choice(words, rng.integers(0, 9))) for _ in X]
        documents, ngrams = Documents.of(texts), (1, 1 + seed % 2)
        codes = {
            "growing": None, "hashed": Hashed(8),
            "given": Vocabulary.of(["aa", "bb", "zz", "only1"], open=False),
        }[kind]  # fmt: skip
        counted = statistic_of_texts(texts, y, weights=w, codes=codes, ngrams=ngrams)
        settings = {"weights": w, "codes": codes, "ngrams": ngrams}
        present = statistic_of_texts(texts, y, weighting="presence", **settings)
        for alpha, least in product((0.01, 1.0), (1, 2, 3.5)):
            agrees(Multinomial(alpha, min_count=least), counted, documents, y, w)
            agrees(Complement(alpha, min_count=least), counted, documents, y, w)
            agrees(Complement(alpha, True, min_count=least), counted, documents, y, w)
            agrees(Bernoulli(alpha, min_count=least), present, documents, y, w)


REAL = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("weighted", [False, True])
def test_regular_data_need_no_second_estimate(name, weighted, rng, monkeypatch):
    """Wine, iris and breast cancer (30 columns that nearly depend on each other) are taken apart
    in closed form, every row; and agree with estimating again."""
    X, y = REAL[name](return_X_y=True)
    w = rng.random(len(y)) * 2 + 0.2 if weighted else None
    statistic = statistic_of(X, y, weights=w, plan=full)
    some = np.arange(0, len(y), 11)
    densities = [
        FullGaussian(pooling, covariance, shrinkage)
        for pooling, covariance, shrinkage in product(
            (0.0, 0.3, 1.0), ("mle", "unbiased"), (None, 0.3, "oas", "ledoit_wolf")
        )
    ]
    weights = NO_WEIGHTS if w is None else w[some]
    theirs = [again.scorer(d, statistic)(X[some], y[some], weights) for d in densities]

    def never(density, statistic):
        def score(block, classes, weights):
            raise AssertionError("a row was estimated again")

        return score

    monkeypatch.setattr(again, "scorer", never)
    for density, expected in zip(densities, theirs, strict=True):
        ours = left_out(density, statistic, X, y, NO_WEIGHTS if w is None else w)
        same(ours[some], expected)


def test_a_chunk_is_as_good_as_the_whole(rng):
    """The statistic holds more rows than the block; what it needs is found once for all blocks."""
    X, y = load_iris(return_X_y=True)
    statistic = statistic_of(X, y, plan=full)
    whole = left_out(FullGaussian(), statistic, X, y, NO_WEIGHTS)
    leave = left_out_scorer(FullGaussian(), statistic)
    for rows in (slice(0, 40), slice(40, 41), rng.permutation(150)[:60]):
        np.testing.assert_allclose(leave(X[rows], y[rows], NO_WEIGHTS), whole[rows], rtol=1e-12)


def test_rows_of_weight_zero_are_judged_by_all_others(rng):
    X, y = load_iris(return_X_y=True)
    w = rng.integers(0, 3, 150).astype(float)
    for density, plan in ((FullGaussian(), full), (DiagonalGaussian(), Moments)):
        statistic = statistic_of(X, y, weights=w, plan=plan)
        ours = left_out(density, statistic, X, y, w)
        light = w == 0
        np.testing.assert_array_equal(
            ours[light], density.estimate(statistic).log_density(X[light])
        )
        same(ours[~light], left_out(density, statistic, X[~light], y[~light], w[~light]))


def test_an_unknown_density_is_estimated_again():
    class Other(DiagonalGaussian):
        pass

    X, y = load_iris(return_X_y=True)
    statistic = statistic_of(X[::5], y[::5])

    class Foreign(Density):
        def estimate(self, statistic):
            return DiagonalGaussian().estimate(statistic)

    ours = left_out(Foreign(), statistic, X[::5], y[::5], NO_WEIGHTS)
    same(ours, left_out(Other(), statistic, X[::5], y[::5], NO_WEIGHTS))


def test_the_last_row_of_all_leaves_nothing():
    statistic = statistic_of(np.array([[1.0, 2.0]]), [0])
    alone = left_out(
        DiagonalGaussian(), statistic, np.array([[1.0, 2.0]]), np.array([0]), NO_WEIGHTS
    )
    assert np.isneginf(alone).all()
    prior = log_priors_left_out(
        None, np.array([0]), np.ones(1), np.ones(1, int), np.array([0]), NO_WEIGHTS
    )
    assert np.isneginf(prior).all()


# Against fitting anew on all other rows ---------------------------------------------------------


def judged(model, X, y, weights=None):
    """(n, C) log π_k + log p(x | k) of every row by all others, by the fitted model's statistic."""
    _, rows = model.opened_to_score(X)
    statistic, density = model.state_.current, model.spec().density
    params, w = density.estimate(statistic), NO_WEIGHTS if weights is None else weights
    blocks = [params.read(chunk.block()) for chunk in rows.chunks()]
    assert len(blocks) == 1
    place = {label: c for c, label in enumerate(model.classes_.tolist())}
    classes = np.array([place[label] for label in np.asarray(y).tolist()])
    weight, count = statistic.weight[:, 0], statistic.rows[:, 0]
    joint = left_out(density, statistic, blocks[0], classes, w)
    return joint + log_priors_left_out(
        model.spec().prior_setting, model.classes_, weight, count, classes, w
    )


def refitted(model, X, y, weights=None, some=None, take=None, **given):
    """The same by a model fitted on the others, for some rows."""
    y = np.asarray(y)
    some = range(len(y)) if some is None else some
    take = take or (lambda X, rows: X[rows])
    out = []
    for i in some:
        rest = np.flatnonzero(np.arange(len(y)) != i)
        w = None if weights is None else weights[rest]
        other = clone(model).fit(take(X, rest), y[rest], w, **given)
        joint = np.full(len(model.classes_), -np.inf)
        found = other.evaluate(take(X, np.array([i])), Rule.joint)[0]
        joint[np.isin(model.classes_, other.classes_)] = found
        out.append(joint)
    return np.array(out)


def posterior(joint):
    return joint - np.logaddexp.reduce(joint, axis=1)[:, None]


def equals_refits(model, X, y, weights=None, some=None, tolerance=1e-10, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.errors.VerosimWarning)
        model.fit(X, y, weights, **more.get("given", {}))
        ours = judged(model, X, y, weights)
        ours = ours if some is None else ours[list(some)]
        settings = more.get("settings", {})
        theirs = refitted(
            clone(model).set_params(**settings).fit(X, y, weights, **more.get("given", {})),
            X, y, weights, some, more.get("take"), **more.get("given", {}),
        )  # fmt: skip
    same(ours, theirs, tolerance)
    same(posterior(ours), posterior(theirs), tolerance)


@pytest.fixture
def table(rng):
    """33 rows in 3 classes and one alone in its own: numbers, counts, categories."""
    y = np.array([*rng.choice(["a", "b", "c"], 32), "alone"])
    X = rng.normal(size=(33, 4)) + (y == "a")[:, None] * np.array([2.0, 0, 0, 1])
    X[:, 1] = X[:, 1] * 1e3 + 5e4
    return y, X


PRIORS = [None, "laplace", "uniform", {"a": 0.2, "b": 0.3, "c": 0.4, "alone": 0.1}]
SHRINKAGES = [None, 0.3, "oas", "ledoit_wolf"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
class TestGaussians:
    @pytest.mark.slow
    @pytest.mark.parametrize("shrinkage", SHRINKAGES)
    @pytest.mark.parametrize("model", [verosim.LDA, verosim.QDA, verosim.RDA])
    def test_full(self, table, rng, model, covariance, shrinkage, weighted):
        y, X = table
        kept = y != "alone" if model is verosim.QDA else np.full(len(y), True)
        X, y = X[kept], y[kept]
        w = rng.integers(1, 4, len(y)) / 2 if weighted else None
        setting = {"shrinkage": 0.0 if shrinkage is None and model is verosim.RDA else shrinkage}
        equals_refits(model(covariance=covariance, **setting), X, y, w)

    @pytest.mark.parametrize("shrinkage", [None, 0.3, "oas"])
    @pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.NaiveLDA])
    def test_diagonal_with_missing_cells(self, table, rng, model, covariance, shrinkage, weighted):
        y, X = table
        w = rng.integers(1, 4, len(y)) / 2 if weighted else None
        equals_refits(model(covariance=covariance, shrinkage=shrinkage), with_holes(rng, X), y, w)


@pytest.mark.parametrize("model", [verosim.QDA(), verosim.LDA(), verosim.GaussianNB()])
def test_priors(table, model):
    y, X = table
    for priors in PRIORS:
        some = [0, 1, 2] if isinstance(priors, dict) else [0, 1, 2, 32]
        equals_refits(clone(model).set_params(priors=priors), X, y, some=some)


@pytest.mark.parametrize("setting", [*PRIORS, [0.2, 0.3, 0.1, 0.4]])
def test_priors_without_a_row_are_those_of_the_others(rng, setting):
    labels, classes = np.array(["a", "alone", "b", "c"]), np.array([0, 0, 1, 2, 2, 2, 3, 3])
    for weights in (NO_WEIGHTS, rng.random(8) + 0.1, np.array([1.0, 0, 2, 1, 0, 1, 0.5, 3])):
        w = weights if len(weights) else np.ones(8)
        weight, rows = (
            np.bincount(classes, values, minlength=4) for values in (w, (w > 0).astype(float))
        )
        ours = log_priors_left_out(setting, labels, weight, rows.astype(int), classes, weights)
        for i in range(8):
            others = np.arange(8) != i
            left = np.bincount(classes[others], w[others], minlength=4)
            theirs = log_priors(setting, labels, left, left > 0, streaming=True)
            np.testing.assert_allclose(ours[i], theirs, rtol=0, atol=1e-14)
    with pytest.raises(VerosimError, match="not a known setting"):
        log_priors_left_out("even", labels, weight, rows.astype(int), classes, NO_WEIGHTS)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
class TestCounts:
    def test_categories(self, table, rng, alpha, weighted):
        """Also a value no other row has, and a column that is constant but for one."""
        y, _ = table
        values = np.array([*"xyzw"], dtype=object)[rng.integers(0, 4, (33, 3))]
        values[5, 0] = "unique"
        values[:, 2], values[7, 2] = "one", "other"
        w = rng.integers(1, 4, len(y)) / 2 if weighted else None
        equals_refits(verosim.CategoricalNB(alpha), with_holes(rng, values, None), y, w)

    def test_histograms(self, table, rng, alpha, weighted):
        y, X = table
        w = rng.integers(1, 4, len(y)) / 2 if weighted else None
        for kind, rows in (
            (verosim.HistogramNB, with_holes(rng, X)), (verosim.JointHistogram, X[:, :2]),
        ):  # fmt: skip
            edges = kind(bins=4).fit(rows, y).bin_edges_
            equals_refits(kind(bins=edges, alpha=alpha), rows, y, w)

    def test_columns(self, table, rng, alpha, weighted):
        y, _ = table
        rows = rng.poisson(0.8, (33, 6)).astype(float)
        rows[:, 5] = 0.0
        rows[3, 5] = 2.0
        w = rng.integers(1, 4, len(y)) / 2 if weighted else None
        for model in (
            verosim.BernoulliNB(alpha), verosim.MultinomialNB(alpha), verosim.ComplementNB(alpha),
            verosim.ComplementNB(alpha, norm=True),
        ):  # fmt: skip
            for X in (rows, sparse.csr_array(rows)):
                equals_refits(model, X, y, w, some=[3, 10, 32])
            equals_refits(model, with_holes(rng, rows), y, w)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "complement", "contrast"])
@pytest.mark.parametrize(
    "options",
    [
        {}, {"min_count": 3}, {"ngrams": (1, 2)}, {"hashed": 64},
        {"vocabulary": ["win", "at", "no"]}, {"weighting": "l2"},
        {"weighting": "l2", "min_count": 3}, {"weighting": "l2", "hashed": 64},
        {"weighting": "l2", "analyzer": "char_wb", "ngrams": (2, 3), "min_count": 2},
    ],
    ids=str,
)  # fmt: skip
def test_texts(model, options, rng):
    if model == "bernoulli" and "weighting" in options:
        pytest.skip("presence has no weights")
    words = ["win", "cash", "now", "lunch", "at", "noon", "prize", "Ünïcode", "ΣΊΣΥΦΟΣ"]
    texts = [" ".join(rng.choice(words, rng.integers(0, 7))) for _ in range(30)]
    texts[4] += " unheard-of unheard"  # tokens only one document has
    y = np.array([*rng.choice(["spam", "ham"], 29), "alone"])
    take = lambda X, rows: [X[i] for i in rows]  # noqa: E731
    w = rng.integers(1, 4, 30) / 2
    for weights in (None, w):
        equals_refits(verosim.TextNB(model, **options), texts, y, weights, take=take)


def test_pruned_texts(rng):
    """Tokens pruned for good are unknown with or without the row, as `forget` has it."""
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)).replace(" ", "x ") for _ in range(20)]
    texts = [f"{text} own{i} own{i}" for i, text in enumerate(texts)]
    y = rng.choice(["p", "q"], 20)
    model = verosim.TextNB().fit(texts, y).prune(3).partial_fit(texts[:3], y[:3])
    statistic, density = model.stats_, model.spec().density
    classes = (y == "q").astype(int)
    agrees(density, statistic, Documents.of(texts), classes)


def columns_of(rng):
    """A table of every kind of column, with holes, a date, a value and a word only one row has."""
    import pandas as pd

    n = 40
    frame = pd.DataFrame({
        "size": rng.normal(size=n), "visits": rng.poisson(2.0, n), "flag": rng.random(n) < 0.5,
        "hue": rng.choice(["red", "green", "blue"], n),
        "note": [" ".join(rng.choice(["good", "bad", "old", "new"], 5)) for _ in range(n)],
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), "min"),
        "kind": [*rng.choice(["a", "b"], n - 1), "alone"],
    })  # fmt: skip
    frame.loc[3, "hue"] = "unique"
    frame.loc[4, "note"] = "unheard word"
    frame["level"] = np.where(np.arange(n) == 6, 2.0, 1.0)  # constant but for one row
    for name in ("size", "hue", "note", "when"):
        frame.loc[rng.random(n) < 0.15, name] = None
    return frame


COLUMNS = {"visits": "poisson", "size": "histogram", "level": "gaussian", "note": "text"}


@pytest.mark.parametrize("missing", ["skip", "category"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables(rng, missing, weighted):
    frame = columns_of(rng)
    y = frame.pop("kind")
    frame["again"] = rng.normal(size=len(frame))
    w = rng.integers(1, 4, len(y)) / 2 if weighted else None
    model = verosim.NaiveBayes(COLUMNS, missing=missing)
    schema = clone(model).fit(frame, y, w).schema_
    rows = [*range(0, 40, 4), 3, 6, 39]
    take = lambda X, rows: X.iloc[rows]  # noqa: E731
    equals_refits(model, frame, y, w, some=rows, take=take, given={"schema": schema})


# Where a closed form does not hold --------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [verosim.QDA(), verosim.QDA(shrinkage=0.3), verosim.LDA(), verosim.RDA(), verosim.GaussianNB(),
     verosim.NaiveLDA(), verosim.GaussianNB(floor=0.0), verosim.QDA(floor=0.1),
     verosim.LDA(shrinkage="ledoit_wolf")],
)  # fmt: skip
def test_columns_that_become_constant(rng, model):
    """A column all but one row agree in, in all classes or within one, is left out without it."""
    X = rng.normal(size=(40, 3))
    y = np.repeat([0, 1], 20)
    X[:, 1] = 5.0
    X[3, 1] = 7.5
    equals_refits(model, X, y, some=[3, 4, 25])
    X[:20, 2] = 0.1
    X[7, 2] = 0.4
    equals_refits(model, X[:, ::2], y, some=[3, 7, 25])


@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
def test_singular_covariances_fall_back_as_ever(rng, pooling):
    """Fewer rows than columns in a class, and columns that depend on each other."""
    X = rng.normal(size=(30, 5))
    X[:, 4] = X[:, 0] + X[:, 1]
    y = np.array([0] * 4 + [1] * 14 + [2] * 12)
    model = verosim.RDA(pooling=pooling, shrinkage=0.0)
    equals_refits(model, X, y, some=range(0, 30, 3), tolerance=1e-9)  # singular: fewer digits
    X[2, 4] += 1.0  # the one row that tells them apart
    equals_refits(model, X, y, some=[2, 5])


def test_singular_without_a_row_raises_if_asked_to(rng):
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1], 15)
    X[:15, 1] = X[:15, 0]
    X[3, 1] += 1.0
    statistic = statistic_of(X, y, plan=full)
    density = FullGaussian(on_singular="raise")
    with pytest.raises(VerosimError, match="singular"):
        left_out(density, statistic, X, y, NO_WEIGHTS)
    rest = np.flatnonzero(np.arange(30) != 3)
    ours = left_out(density, statistic, X[rest], y[rest], NO_WEIGHTS)
    assert np.isfinite(ours).all()


@pytest.mark.parametrize("model", [verosim.LDA, verosim.QDA])
def test_missing_cells_by_em(rng, model):
    """Complete rows in closed form; with holes EM runs again, to the same limit."""
    X, y = load_iris(return_X_y=True)
    equals_refits(model(missing="marginalise"), X, y, some=range(0, 150, 15))
    holed = X.copy()
    holed[rng.random(X.shape) < 0.05] = np.nan
    part = np.r_[0:20, 50:70, 100:120]
    fitted = model(missing="marginalise").fit(holed[part], y[part])
    assert isinstance(fitted.spec().density, EMGaussian)
    some = [0, 25, 50]
    theirs = refitted(fitted, holed[part], y[part], some=some)
    statistic, density = fitted.stats_, fitted.spec().density
    ours = left_out(density, statistic, holed[part][some], y[part][some], NO_WEIGHTS)
    ours += log_priors_left_out(
        None, fitted.classes_, statistic.weight[:, 0], statistic.rows[:, 0],
        y[part][some], NO_WEIGHTS,
    )  # fmt: skip
    same(ours, theirs, 1e-10)


# Real data --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize(
    "model",
    [verosim.LDA(), verosim.QDA(), verosim.RDA(0.3, 0.0), verosim.RDA(), verosim.GaussianNB(),
     verosim.NaiveLDA(), verosim.QDA(shrinkage="oas"), verosim.LDA(shrinkage="ledoit_wolf")],
)  # fmt: skip
def test_real_data_equal_refits(name, model):
    X, y = REAL[name](return_X_y=True)
    equals_refits(model, X, y, some=range(0, len(y), len(y) // 20))


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "complement"])
def test_sms_spam(data, model):
    import pandas as pd

    frame = pd.read_parquet(data / "sms_spam" / "sms_spam.parquet")[:400]
    texts, y = frame["text"].to_numpy(dtype=object), frame["label"].to_numpy(dtype=str)
    equals_refits(verosim.TextNB(model), texts, y, some=range(0, 400, 25))


@pytest.mark.parametrize(("name", "target"), [("penguins", "species"), ("german_credit", "class")])
def test_real_tables(data, name, target):
    import pandas as pd

    frame = pd.read_csv(data / name / f"{name}.csv")
    frame = frame.iloc[:: max(1, len(frame) // 150)].reset_index(drop=True)
    y = frame.pop(target).astype(str)
    model = verosim.NaiveBayes()
    schema = clone(model).fit(frame, y).schema_
    take = lambda X, rows: X.iloc[rows]  # noqa: E731
    equals_refits(model, frame, y, some=range(0, len(y), 12), take=take, given={"schema": schema})


TARGET = {"iris_fisher": "Species", "wine": "class", "pima_mass": "type", "smarket": "Direction"}


@pytest.mark.parametrize("name", TARGET)
@pytest.mark.parametrize("kind", ["lda", "qda"])
def test_mass(data, name, kind):
    """MASS's lda and qda with CV=TRUE, which keep the priors of all rows, to 1e-10."""
    with open(data / name / f"{name}.csv") as file:
        rows = list(csv.DictReader(file))
    if name == "smarket":
        rows = [row for row in rows if int(float(row["Year"])) < 2005]
    if "split" in rows[0]:
        rows = [row for row in rows if row["split"] == "train"]
    y = np.array([row[TARGET[name]] for row in rows])
    names = ["Lag1", "Lag2"] if name == "smarket" else [
        column for column in rows[0] if column not in (TARGET[name], "split")]  # fmt: skip
    X = np.array([[float(row[column]) for column in names] for row in rows])
    with open(data / "reference_R" / f"{name}_{kind}_loo_posterior.csv") as file:
        theirs = list(csv.DictReader(file))
    statistic = statistic_of(X, y, plan=full)
    labels, classes = np.unique(y, return_inverse=True)
    density = FullGaussian(float(kind == "lda"), "unbiased")
    prior = np.log(np.bincount(classes) / len(y))
    ours = np.exp(posterior(left_out(density, statistic, X, classes, NO_WEIGHTS) + prior))
    expected = np.array([[float(row[str(label)]) for label in labels] for row in theirs])
    assert np.abs(ours - expected).max() <= 1e-10
