"""Pages evaluate programs in JavaScript: the scores are those of Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, ndtri

import verosim
from tests.javascript import NODE, run, scores_in_javascript
from tests.laws.test_composed_programs import NEW_TEXTS
from tests.laws.test_programs import KINDS, N, labels, numbers, table, texts
from tests.laws.test_programs_of_dependence import MODELS, mixed, unusual
from verosim.axes.value_hashes import value_hash
from verosim.densities.terms.token_hash import token_hash
from verosim.models.program import typed_rows
from verosim.pool.text_svm import TextSVM

pytestmark = [
    pytest.mark.filterwarnings("ignore::verosim.VerosimWarning"),
    pytest.mark.skipif(NODE is None, reason="Node is not installed"),
]
ROUNDING = 1e-11  # of the sum of the absolute values of all products in a score


def plain_rows(program, cells):
    """Typed cells as the page has them: missing is null, a date is milliseconds."""
    if not isinstance(cells, dict):
        matrix = np.asarray(cells.toarray() if hasattr(cells, "toarray") else cells, dtype=object)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        cells = dict(zip(program.inputs, matrix.T, strict=True))
    return [
        {name: plain_cell(cells[name][i], type_) for name, type_ in program.inputs.items()}
        for i in range(len(next(iter(cells.values()))))
    ]


def plain_cell(value, type_):
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return None
    if type_ == "date":
        return None if np.isnat(value) else int(value.astype("datetime64[ms]").astype(np.int64))
    if type_ in ("number", "boolean"):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def same_scores(model, X):
    program = model.program()
    read = getattr(getattr(model, "model_", model), "checked_state", None)
    rows = X if read is None else typed_rows(read(), program, X)
    wanted, size = program.evaluate_with_size(rows)
    found = scores_in_javascript(program.to_json(), plain_rows(program, rows))
    impossible = np.isneginf(wanted)
    np.testing.assert_array_equal(np.isneginf(found), impossible)
    apart = np.abs(np.where(impossible, 0.0, found) - np.where(impossible, 0.0, wanted))
    assert (apart <= ROUNDING * (1 + size)).all(), f"{np.max(apart / (1 + size)):.1e}"


ARRAYS = {
    "LDA": verosim.LDA(missing="marginalise"), "QDA": verosim.QDA(missing="marginalise"),
    "NaiveLDA": verosim.NaiveLDA(), "GaussianNB": verosim.GaussianNB(),
    "HistogramNB": verosim.HistogramNB(alpha=0), "MDA": verosim.MDA(),
    "JointHistogram": verosim.JointHistogram(),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name, rng):
    y = rng.integers(0, 3, N)
    X = numbers(rng, y, gaps=0.0 if name in ("MDA", "JointHistogram") else 0.2)
    same_scores(ARRAYS[name].fit(X, y), X)


@pytest.mark.parametrize("model", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_counts(model, rng):
    y = labels(rng)
    X = rng.poisson(0.3, (N, 30)).astype(float)
    X[y == 1, 1] = 0
    same_scores(getattr(verosim, model)(alpha=0).fit(X, y), X)


LINEAR = {
    "LeastSquares": verosim.LeastSquares(), "LinearSVM": verosim.LinearSVM(),
    "polynomial": verosim.Perceptron(features="polynomial", max_iter=5),
    "fourier": verosim.Perceptron(features="fourier", max_iter=3),
    "LogisticRegression": verosim.LogisticRegression(),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
def test_linear_classifiers(name, rng):
    y = rng.integers(0, 3, N)
    X = numbers(rng, y) - 1e3
    same_scores(LINEAR[name].fit(X, y), X + 1)


@pytest.mark.parametrize("name", ["GaussianNB", "QDA", "CategoricalNB"])
def test_twins_and_calibrated_models(name, rng):
    y = rng.integers(0, 3, N)
    X = rng.poisson(0.4, (N, 4)) if name == "CategoricalNB" else numbers(rng, y)
    model = getattr(verosim, name)().fit(X, y)
    same_scores(verosim.twin(model).fit(X, y), X + 1)
    same_scores(verosim.calibrate(model, X, y, cv=3), X + 1)


DEPENDENT = ("TAN", "KDB of 2", "impossible", "AODE", "dates", "LiftedLDA")


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_columns(name, rng):
    y = labels(rng)
    model = MODELS[name].fit(mixed(rng).assign(y=y), "y")
    same_scores(model, unusual(rng))


TABLES = {
    "NaiveBayes": verosim.NaiveBayes(columns=KINDS, missing="category"),
    "capped": verosim.NaiveBayes(max_categories=20),
    "LDA": verosim.LDA(encode="normal"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, rng):
    rows = table(rng).assign(y=labels(rng))
    same_scores(TABLES[name].fit(rows, "y"), table(rng, cities=90))


def test_pools(rng):
    rows = table(rng).drop(columns="words").assign(y=rng.integers(0, 3, N))
    same_scores(verosim.Pool(keep="all").fit(rows, "y"), table(rng, cities=90))


@pytest.mark.parametrize("method", ["columns", "pairs"])
def test_weights_of_columns(method, rng):
    rows = table(rng, cities=4).assign(y=rng.integers(0, 3, N))
    rows["flag"] = rows["city"].isin(["c0", "c1"]) ^ (rows["y"] == 0)
    model = verosim.calibrate(verosim.NaiveBayes(), rows, "y", method=method, cv=3)
    same_scores(model, table(rng, cities=9))


TEXTS = [
    {}, {"model": "bernoulli"}, {"weighting": "l2"}, {"analyzer": "char_wb", "ngrams": (2, 3)},
    {"stop_words": ["cat"], "ngrams": (1, 2)}, {"strip_accents": "unicode", "lowercase": False},
    {"hashed": 64},
]  # fmt: skip


@pytest.mark.parametrize("settings", TEXTS, ids=str)
def test_texts(settings, rng):
    y = rng.integers(0, 3, N)
    model = verosim.TextNB(**settings).fit(texts(rng), y)
    same_scores(model, [*texts(rng)[:50], *NEW_TEXTS])
    lengths = verosim.calibrate(model, texts(rng), y, method="length", cv=3)
    same_scores(lengths, [*texts(rng)[:50], *NEW_TEXTS, " a  b ", "\t"])


def test_pools_of_texts(rng):
    experts = [verosim.TextNB(model="bernoulli"), verosim.TextRidge(d=20), TextSVM()]
    model = verosim.TextPool(experts, keep="all").fit(texts(rng), rng.integers(0, 3, N))
    same_scores(model, [*texts(rng)[:50], *NEW_TEXTS])


def test_values_that_were_forgotten_are_found_by_their_hash(rng):
    rows = pd.DataFrame(
        {"city": rng.choice(["Lima", "Quito", "Cusco"], N), "x": rng.normal(size=N)}
    )
    rows["y"] = rng.integers(0, 2, N)
    for model in (verosim.KDB(k=1), verosim.LDA(encode="onehot")):
        fitted = model.fit(rows, "y")
        fitted.forget(rows[rows["city"] == "Lima"], "y")
        same_scores(fitted, rows[:20])


def test_special_functions():
    x = np.concatenate([np.linspace(0.1, 20, 400), 10.0 ** np.arange(1, 12)])
    p = np.linspace(0.005, 0.995, 991)
    found = run(
        """const { x, p } = JSON.parse(require("fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify([x.map(logGamma), p.map(normalQuantile)]));""",
        {"x": x.tolist(), "p": p.tolist()},
    )
    np.testing.assert_allclose(found[0], gammaln(x), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found[1], ndtri(p), rtol=1e-14, atol=1e-15)


def test_hashes(rng):
    words = ["", "a", "Lima", "señal", "x" * 127, "y" * 128, "z" * 129, "…" * 200, "ab" * 9]
    words += ["".join(map(chr, rng.integers(32, 50000, n))) for n in range(1, 40)]
    found = run(
        """const words = JSON.parse(require("fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify(words.map((w) => [valueHash(w), String(tokenHash(w))])));""",
        words,
    )
    for word, (by_value, by_token) in zip(words, found, strict=True):
        assert by_value == f"{value_hash(word):016x}"
        if word:
            assert int(by_token) == token_hash(word)
