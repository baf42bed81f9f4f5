"""The program of every model has the scores of the model, and its JSON gives the same bits."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import verosim
from verosim.bayes import Program
from verosim.data.readings import NumberReading
from verosim.densities.terms import GaussianTerm, LogSumExpTerm, SumTerm
from verosim.errors import VerosimError
from verosim.testing import program_equals_scores

N = 240
WORDS = [
    "the",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "good",
    "bad",
    "nice",
    "a",
    "Σας",
    "İx",
    "naïve",
    "word",
]


def labels(rng):
    y = rng.integers(0, 3, N)
    y[0] = 3  # a class with one row
    return y


def numbers(rng, y, gaps=0.0):
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)) + y[:, None] * [1, 2, 0, 0.5] + 1e3
    X[rng.random(X.shape) < gaps] = np.nan
    X[:, 3] = np.where(y == 0, 5.0, X[:, 3])  # constant within a class
    return X


def texts(rng):
    return [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(N)]


def table(rng, cities=60):
    """Columns of every type, with missing cells."""
    moments = np.datetime64("2023-05-01", "m") + rng.integers(-(10**7), 10**6, N)
    out = pd.DataFrame(
        {
            "number": rng.normal(size=N) * 10 + 500,
            "count": rng.poisson(3, N).astype(float),
            "skewed": rng.exponential(size=N),
            "city": pd.Series([f"c{i}" for i in rng.integers(0, cities, N)], dtype=object),
            "flag": pd.Series(rng.integers(0, 2, N).astype(bool), dtype=object),
            "when": moments.astype("datetime64[us]"),
            "words": texts(rng),
        }
    )
    for j, name in enumerate(out.columns[:-1]):
        out.loc[rng.random(N) < 0.05 + 0.02 * j, name] = None
    return out


ARRAYS = {
    "LDA": verosim.LDA(), "QDA": verosim.QDA(shrinkage=0.1), "RDA": verosim.RDA(),
    "shrunken": verosim.LDA(shrinkage=0.3), "NaiveLDA": verosim.NaiveLDA(),
    "GaussianNB": verosim.GaussianNB(priors="uniform"), "HistogramNB": verosim.HistogramNB(),
    "impossible": verosim.HistogramNB(alpha=0),
}  # fmt: skip
GAPS = {
    "LDA": verosim.LDA(missing="marginalise"),
    "QDA": verosim.QDA(missing="marginalise"),
    "NaiveLDA": verosim.NaiveLDA(), "GaussianNB": verosim.GaussianNB(),
    "HistogramNB": verosim.HistogramNB(),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_arrays(name, rng):
    y = labels(rng)
    X = numbers(rng, y)
    model = ARRAYS[name].fit(X, y, rng.choice([0.5, 1.0, 2.0], N))
    program_equals_scores(model, X + rng.normal(size=X.shape))
    program_equals_scores(model, X.astype(np.float32))


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_blocks_with_missing_cells_use_their_marginal(name, rng):
    y = labels(rng)
    X = numbers(rng, y, gaps=0.2)
    X[1] = np.nan
    program_equals_scores(GAPS[name].fit(X, y), X)


@pytest.mark.parametrize("apart", [1.0, 1e6])
@pytest.mark.parametrize("name", GAPS)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_far_from_zero_with_nearly_equal_columns(name, apart, rng):
    y = rng.integers(0, 3, N)
    X = rng.normal(size=(N, 4)) + 1e8 + apart * y[:, None]
    X[:, 1] = X[:, 0] + 1e-3 * rng.normal(size=N)
    X[rng.random(X.shape) < 0.3] = np.nan
    program_equals_scores(GAPS[name].fit(X, y), X)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("model", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_counts(model, alpha, rng):
    y = labels(rng)
    X = rng.poisson(0.3, (N, 30)).astype(float)
    X[:, 0] = 0
    X[y == 1, 1] = 0  # impossible in class 1 with α = 0
    for rows in (X, sparse.csr_matrix(X)):
        program_equals_scores(getattr(verosim, model)(alpha=alpha).fit(rows, y), rows)


@pytest.mark.parametrize("model", ["GaussianNB", "NaiveLDA"])
def test_sparse_rows(model, rng):
    X = sparse.random(N, 30, 0.2, random_state=0, format="csr")
    program_equals_scores(getattr(verosim, model)().fit(X, labels(rng)), X)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_arrays_of_categories(alpha, rng):
    X = rng.integers(-3, 3, (N, 3))
    y = labels(rng)
    new = X.copy()
    new[:5] = 99  # unseen
    program_equals_scores(verosim.CategoricalNB(alpha=alpha).fit(X, y), new)
    values = X.astype(object)
    values[:, 1] = [f"v{i}" for i in X[:, 1]]
    values[:9, 2] = None
    program_equals_scores(verosim.CategoricalNB(alpha=alpha).fit(values, y), values)


TEXTS = [
    {}, {"model": "bernoulli"}, {"model": "complement"}, {"model": "contrast"},
    {"weighting": "l2"}, {"model": "contrast", "weighting": "l2", "ngrams": (1, 2)},
    {"analyzer": "char_wb", "ngrams": (2, 3)}, {"alpha": 0}, {"alpha": 0, "model": "bernoulli"},
    {"hashed": 16}, {"hashed": 16, "weighting": "l2"}, {"hashed": 16, "model": "bernoulli"},
    {"hashed": 1024, "min_count": 3}, {"stop_words": ["cat"], "strip_accents": "unicode"},
    {"min_df": 5}, {"vocabulary": ["cat", "dog", "the cat"], "ngrams": (1, 2)},
]  # fmt: skip


@pytest.mark.parametrize("settings", TEXTS, ids=str)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_texts(settings, rng):
    model = verosim.TextNB(**settings).fit(texts(rng), labels(rng))
    new = [*texts(rng)[:60], "unknown words", "", "the the the cat", "ΣΑΣ İX Naïve"]
    program_equals_scores(model, new)


def test_text_ridge(rng):
    model = verosim.TextRidge(d=20).fit(texts(rng), labels(rng))
    program_equals_scores(model, [*texts(rng), "", "unknown"])


KINDS = {"when": "date+trend", "count": "poisson", "skewed": "histogram", "words": "text"}
TABLES = [
    {}, {"missing": "category"}, {"max_categories": 10}, {"alpha": 0}, {"never": 0.001, "alpha": 0},
    {"columns": KINDS, "missing": "category"},
    {"columns": {"flag": "category", "number": "histogram", "count": "category"}},
]  # fmt: skip


@pytest.mark.parametrize("settings", TABLES, ids=str)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_tables(settings, rng):
    rows = table(rng).assign(y=labels(rng))
    model = verosim.NaiveBayes(**settings).fit(rows, "y", rng.random(N) + 0.1)
    new = table(rng, cities=90)  # unseen values
    program_equals_scores(model, new)
    program_equals_scores(model, new.drop(columns=["city", "when", "words"]))


@pytest.mark.parametrize("encode", ["onehot", "normal"])
@pytest.mark.parametrize("model", ["LDA", "QDA", "RDA"])
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_design_matrices(model, encode, rng):
    fitted = getattr(verosim, model)(encode=encode)
    fitted.fit(table(rng).drop(columns="words"), labels(rng))
    program_equals_scores(fitted, table(rng, cities=90).drop(columns="words"))


@pytest.mark.parametrize("model", ["LDA", "GaussianNB", "HistogramNB", "CategoricalNB"])
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_tables_of_one_kind(model, rng):
    rows = table(rng)[["count", "skewed", "flag"]]
    rows = rows if model == "CategoricalNB" else rows.fillna({"count": 1, "skewed": 1}).ffill()
    rows = rows.bfill()
    program_equals_scores(getattr(verosim, model)().fit(rows, labels(rng)), rows)


def test_numbers_and_dates_in_other_formats(rng):
    rows = {
        "price": [f"{v:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")
                  for v in rng.random(N) * 9000],
        "day": [f"{d:02d}/{m:02d}/2023" for d, m in rng.integers(1, 13, (N, 2))],
    }  # fmt: skip
    program_equals_scores(verosim.NaiveBayes().fit(rows, labels(rng)), rows)


def test_classes_without_rows(rng):
    X, y = rng.normal(size=(N, 2)), rng.integers(0, 2, N)
    model = verosim.GaussianNB().partial_fit(X, y, classes=[0, 1, 2])
    program = model.program()
    assert program.log_prior[2] == -np.inf
    program_equals_scores(model, X)


def test_a_mixture_is_a_log_sum_of_its_terms(rng):
    """Two components per class; class 1 has only the first."""
    pivot, weight = rng.normal(size=(2, 2)), np.array([[0.3, 1.0], [0.7, 0.0]])
    one, zero = np.ones(2), np.zeros(2)
    parts = [GaussianTerm((0,), pivot[t], zero, one, zero) for t in range(2)]
    with np.errstate(divide="ignore"):
        mixture = LogSumExpTerm((0,), tuple(parts), np.log(weight))
    inner = SumTerm((0,), (mixture, parts[0]), one)
    program = Program(("a", "b"), np.log([0.5, 0.5]), (NumberReading("x"),), (inner,))
    x = rng.normal(size=50)
    density = (weight * np.exp(-0.5 * (x[:, None, None] - pivot) ** 2)).sum(axis=1)
    wanted = np.log(0.5) + 1 + np.log(density) - 0.5 * (x[:, None] - pivot[0]) ** 2
    again = Program.from_json(program.to_json())
    assert again == program
    np.testing.assert_allclose(again.evaluate({"x": x}), wanted, rtol=1e-12)


TEXT_MODELS = {"TextNB", "TextRidge"}


@pytest.mark.parametrize("name", verosim.estimators.__all__)
@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
def test_every_estimator_with_its_defaults(name, rng):
    y = labels(rng)
    X = np.abs(rng.normal(size=(N, 3))).round(1)
    X = texts(rng) if name in TEXT_MODELS else X
    if name in {"NaiveBayes", "TAN", "KDB", "AODE", "LiftedLDA"}:
        X = table(rng).drop(columns="words")
    model = getattr(verosim, name)().fit(X, y)
    program_equals_scores(model, X)


@pytest.mark.parametrize("wrap", [verosim.reject, verosim.conformal])
def test_wrappers_have_the_program_of_their_model(wrap, rng):
    y = labels(rng) % 3
    X = numbers(rng, y)
    program_equals_scores(wrap(verosim.LDA(), X, y), X)


# The format ---------------------------------------------------------------------------------------


@pytest.fixture
def program(rng):
    model = verosim.NaiveBayes(columns=KINDS, max_categories=10, alpha=0.0)
    return model.fit(table(rng), labels(rng)).program()


def test_json_is_strict(program):
    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(program.to_json(), parse_constant=refuse)
    assert data["version"] == 1
    assert "-inf" in json.dumps(data)
    assert program.to_json() == Program.from_json(program.to_json()).to_json()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"format": "verosim program", "version": 2}', '{"x": NaN}', "NaN"],
)
def test_other_json_is_refused(text):
    with pytest.raises(VerosimError):
        Program.from_json(text)


def damaged(value, rng):
    """One place of the data replaced by something else."""
    data = json.loads(value)
    at = data
    while True:
        key = rng.choice(list(at)) if isinstance(at, dict) else int(rng.integers(len(at)))
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.2:
            odd = [None, "odd", [], {}, -7, [["x"]], {"kind": "odd"}, True]
            at[key] = odd[int(rng.integers(len(odd)))]
            return json.dumps(data)
        at = inner


def test_damaged_json_is_refused_or_gives_scores(program, rng):
    text, rows = program.to_json(), table(rng)[:6]
    refused = 0
    for _ in range(100):
        try:
            scores = Program.from_json(damaged(text, rng)).evaluate(rows)
            assert (scores < np.inf).all()
        except VerosimError:
            refused += 1
    assert refused > 60


def test_bad_cells_are_refused_by_name():
    rows = {"size": [1.0, 1.2, 3.1, 3.0], "flag": [True, False, True, True], "y": [0, 0, 1, 1]}
    program = verosim.NaiveBayes().fit(rows, "y").program()
    with pytest.raises(VerosimError, match="'size'"):
        program.evaluate({"size": ["much"]})
    with pytest.raises(VerosimError, match="infinity"):
        program.evaluate({"size": [np.inf]})
    with pytest.raises(VerosimError, match="'weight'"):
        program.evaluate({"weight": [1.0]})
    with pytest.raises(VerosimError, match="'flag'"):
        program.evaluate({"flag": [2]})
    with pytest.raises(VerosimError, match="one per row"):
        program.evaluate({"size": [1.0, 2.0], "flag": [True]})
    with pytest.raises(VerosimError, match="2 columns"):
        program.evaluate(np.zeros((3, 5)))


def test_a_function_as_tokenizer_has_no_program():
    model = verosim.TextNB(tokenizer=str.split).fit(["a b", "b c"], [0, 1])
    with pytest.raises(VerosimError, match="split"):
        model.program()
