"""The programs of twins, wrappers and pools have the scores of their models."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.preprocessing import FunctionTransformer

import verosim
from tests.laws.test_programs import KINDS, N, damaged, table, texts
from verosim.bayes import Program
from verosim.data.shared_parts import restored, without_repeats
from verosim.errors import VerosimError
from verosim.pool.text_svm import TextSVM
from verosim.pool.weighted_pairs import WeightedPairs
from verosim.testing import program_equals_scores

pytestmark = pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
NEW_TEXTS = ["unknown words", "", "the the the cat", "ΣΑΣ İX Naïve"]


def numbers(rng, y, gaps=0.0):
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)) + y[:, None] * [1, 2, 0, 0.5] + 1e3
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.fixture(params=[2, 3])
def y(request, rng):
    return rng.integers(0, request.param, N)


# Twins --------------------------------------------------------------------------------------------

LINEAR = {
    "LeastSquares": verosim.LeastSquares(), "Perceptron": verosim.Perceptron(max_iter=5),
    "polynomial": verosim.Perceptron(features="polynomial", max_iter=5),
    "fourier": verosim.Perceptron(features="fourier", max_iter=3),
    "LogisticRegression": verosim.LogisticRegression(), "LinearSVM": verosim.LinearSVM(),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.filterwarnings("ignore::verosim.ConvergenceWarning")
def test_linear_classifiers(name, y, rng):
    X = numbers(rng, y) - 1e3
    model = LINEAR[name].fit(X, y)
    program_equals_scores(model, X + 1)
    scores = model.program().evaluate(X)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))


def test_a_model_without_probabilities_gives_its_scores(rng):
    y = rng.integers(0, 2, N)
    X = numbers(rng, y)
    assert verosim.LinearSVM().fit(X, y).program().output == "scores"
    assert verosim.LeastSquares().fit(X, y).program().output == "scores"
    assert verosim.LogisticRegression().fit(X, y).program().output == "log_posterior"


TWINS = ["LDA", "QDA", "GaussianNB", "NaiveLDA", "HistogramNB"]


@pytest.mark.parametrize("name", TWINS)
def test_twins_of_numbers(name, y, rng):
    holes = 0.2 if name not in ("LDA", "QDA") else 0.0
    X, model = numbers(rng, y, holes), getattr(verosim, name)()
    twin = verosim.twin(model.fit(X, y))
    program_equals_scores(twin, X)
    program_equals_scores(twin.fit(X, y), X + rng.normal(size=X.shape))


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "CategoricalNB"])
def test_twins_of_counts(name, y, rng):
    X = rng.poisson(0.4, (N, 6)).astype(float)
    twin = verosim.twin(getattr(verosim, name)().fit(X, y))
    program_equals_scores(twin, X)
    program_equals_scores(twin.fit(X, y), X + 1)  # with unseen values


@pytest.mark.parametrize("settings", [{}, {"model": "bernoulli"}, {"weighting": "l2"}], ids=str)
def test_twins_of_texts(settings, y, rng):
    twin = verosim.twin(verosim.TextNB(**settings).fit(texts(rng), y))
    program_equals_scores(twin, NEW_TEXTS)
    program_equals_scores(twin.fit(texts(rng), y), [*texts(rng)[:50], *NEW_TEXTS])


def test_twins_of_tables(y, rng):
    rows = table(rng).assign(y=y)
    twin = verosim.twin(verosim.NaiveBayes(columns=KINDS, missing="category").fit(rows, "y"))
    program_equals_scores(twin, table(rng, cities=90))
    program_equals_scores(twin.fit(rows, "y"), table(rng, cities=90))


# Calibration --------------------------------------------------------------------------------------

COUNTS = {"MultinomialNB": {}, "BernoulliNB": {}}
LENGTHS = [
    {}, {"analyzer": "char_wb", "ngrams": (2, 3)}, {"stop_words": ["cat"], "ngrams": (1, 2)},
    {"strip_accents": "unicode", "lowercase": False},
]  # fmt: skip


@pytest.mark.parametrize("name", ["LDA", "GaussianNB", "HistogramNB"])
def test_temperatures(name, y, rng):
    X = numbers(rng, y)
    program_equals_scores(verosim.calibrate(getattr(verosim, name)(), X, y, cv=3), X)


def test_a_temperature_keeps_impossible_classes_impossible(rng):
    y = rng.integers(0, 3, N)
    X = np.column_stack([y + rng.integers(0, 2, N), rng.integers(0, 9, N)])
    model = verosim.calibrate(verosim.CategoricalNB(alpha=0), X, y, cv=3)
    program_equals_scores(model, np.vstack([X, [[0, 99]], [[99, 99]]]))


@pytest.mark.parametrize("settings", LENGTHS, ids=str)
def test_temperatures_by_the_length_of_texts(settings, y, rng):
    model = verosim.calibrate(verosim.TextNB(**settings), texts(rng), y, method="length", cv=3)
    program_equals_scores(model, [*texts(rng)[:50], *NEW_TEXTS, " a  b ", "\t"])


@pytest.mark.parametrize("name", COUNTS)
def test_temperatures_by_the_sum_of_counts(name, y, rng):
    X = rng.poisson(0.4, (N, 6)).astype(float)
    model = verosim.calibrate(getattr(verosim, name)(), X, y, method="length", cv=3)
    program_equals_scores(model, X)


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveLDA", "HistogramNB"])
def test_weights_of_columns(name, y, rng):
    X = numbers(rng, y, gaps=0.2)
    model = verosim.calibrate(getattr(verosim, name)(), X, y, method="columns", cv=3)
    program_equals_scores(model, X)
    program_equals_scores(model, X * 1e3)  # far in the tails, where the evidence is clipped


def test_weights_of_columns_with_values_that_are_impossible_in_every_class(rng):
    y = rng.integers(0, 3, N)
    X = rng.poisson(0.4, (N, 4))
    model = verosim.calibrate(verosim.CategoricalNB(alpha=0), X, y, method="columns", cv=3)
    model.partial_fit(X[:60], rng.integers(0, 5, 60), classes=[0, 1, 2, 3, 4, 9])
    program_equals_scores(model, X + 2)
    np.testing.assert_allclose(model.predict_proba(X + 2).sum(axis=1), 1)


def test_pools_after_updates(rng):
    rows, other = (table(rng).assign(y=rng.integers(0, 3, N)) for _ in range(2))
    experts = [verosim.NaiveBayes(), verosim.LDA(encode="normal"), verosim.KDB(1, 5)]
    model = verosim.Pool(experts, keep="all").fit(rows, "y")
    other["y"] += 2
    model.partial_fit(other, "y", classes=[0, 1, 2, 3, 4, 9]).forget(rows, "y")
    program_equals_scores(model, table(rng, cities=90))
    assert model.program().log_prior[-1] == -np.inf


def test_weights_of_the_columns_of_tables(y, rng):
    rows = table(rng).assign(y=y)
    model = verosim.NaiveBayes(columns=KINDS, missing="category", alpha=0, never=0.001)
    program_equals_scores(
        verosim.calibrate(model, rows, "y", method="columns", cv=3), table(rng, cities=90)
    )


@pytest.mark.parametrize("settings", [{}, {"columns": KINDS, "missing": "category"}], ids=str)
def test_weights_of_pairs_of_columns(settings, y, rng):
    rows = table(rng, cities=4).assign(y=y)
    rows["flag"] = rows["city"].isin(["c0", "c1"]) ^ (y == 0)  # informative only with the city
    model = verosim.calibrate(verosim.NaiveBayes(**settings), rows, "y", method="pairs", cv=3)
    kinds = [term.kind for term in model.program().terms]
    assert "pair" in kinds
    assert "evidence" in kinds
    program_equals_scores(model, table(rng, cities=9))


def test_isotonic_calibration_is_refused(rng):
    y = rng.integers(0, 2, N)
    model = verosim.calibrate(verosim.LDA(), numbers(rng, y), y, method="isotonic", cv=3)
    with pytest.raises(VerosimError, match="has no program, because its calibration is isotonic"):
        model.program()


# Pools --------------------------------------------------------------------------------------------

TEXT_EXPERTS = [
    None, [verosim.TextNB(alpha=alpha) for alpha in (0.1, 0.5, 1.0)],
    [verosim.TextNB(model="bernoulli"), verosim.TextRidge(d=20), TextSVM()],
]  # fmt: skip


@pytest.mark.parametrize("experts", TEXT_EXPERTS, ids=str)
def test_pools_of_texts(experts, y, rng):
    model = verosim.TextPool(experts, keep="all").fit(texts(rng), y)
    assert any(term.exponent for term in model.program().terms)
    program_equals_scores(model, [*texts(rng)[:50], *NEW_TEXTS])


def test_pools_of_tables(y, rng):
    rows = table(rng).assign(y=y)
    experts = [verosim.NaiveBayes(), verosim.LDA(encode="normal"), verosim.TextNB()]
    model = verosim.Pool(experts, keep="all", priors="uniform").fit(rows, "y")
    new = table(rng, cities=90)
    program_equals_scores(model, new)
    program_equals_scores(model, new.drop(columns=["city", "words"]))
    assert [term.name for term in model.program().terms] == [*model.weights_]


def test_pools_of_models_of_dependent_columns(y, rng):
    rows = table(rng).assign(y=y)
    experts = [
        verosim.AODE(5), WeightedPairs(5), verosim.KDB(2, 5), verosim.LiftedLDA(32),
        verosim.LiftedLDA(32, ridge=0.01), verosim.RDA(0.3, 0.1, encode="normal"),
    ]  # fmt: skip
    model = verosim.Pool(experts, keep="all").fit(rows, "y")
    program_equals_scores(model, table(rng, cities=90))
    program = model.program()
    first, second = (program.terms[e].terms[0].frequencies.tolist() for e in (3, 4))
    assert first == second
    assert program.to_json().count(json.dumps(first)) == 1


@pytest.mark.parametrize("effort", ["fast", "default", "max"])
def test_pools_of_the_default_experts(effort, rng):
    y = rng.integers(0, 3, N)
    rows = table(rng)[["number", "count", "city", "words"]].assign(y=y)
    program_equals_scores(verosim.Pool(effort=effort, keep="all").fit(rows, "y"), table(rng))


def test_an_expert_without_a_program_is_named(rng):
    rows = table(rng).assign(y=rng.integers(0, 2, N))
    experts = [verosim.NaiveBayes(), verosim.TextNB(tokenizer=str.split)]
    model = verosim.Pool(experts, keep="all").fit(rows, "y")
    with pytest.raises(VerosimError, match=r"its expert TextNB.* has none"):
        model.program()


def test_pools_of_arrays_with_a_rare_class(rng):
    y = rng.integers(0, 3, N)
    X = numbers(rng, y)
    y[:2] = 3
    model = verosim.Pool([verosim.NaiveBayes(), verosim.LDA(encode="onehot")], keep="all")
    program_equals_scores(model.fit(X, y), X * 10)  # far away, where posteriors are clipped


def test_a_calibrated_pool(y, rng):
    pool = verosim.TextPool([verosim.TextNB(), verosim.TextRidge(d=20)], keep="all")
    program_equals_scores(verosim.calibrate(pool, texts(rng), y, cv=3), NEW_TEXTS)


def test_experts_with_the_same_vocabulary_write_it_once(rng):
    y = rng.integers(0, 2, N)
    experts = [verosim.TextNB(alpha=alpha) for alpha in (0.1, 0.5, 1.0)]
    program = verosim.TextPool(experts, keep="all").fit(texts(rng), y).program()
    text = program.to_json()
    assert len(program.readings) == 1
    assert len(program.terms) == 3
    assert text.count('"naïve"') == 1
    again = Program.from_json(text)
    assert again == program
    assert again.to_json() == text


def test_experts_with_the_same_columns_share_their_readings(rng):
    rows = table(rng).assign(y=rng.integers(0, 2, N))
    experts = [verosim.LDA(encode="normal"), verosim.RDA(0.3, 0.1, encode="normal")]
    both = verosim.Pool(experts, keep="all").fit(rows, "y").program()
    one = verosim.Pool(experts[:1], keep="all").fit(rows, "y").program()
    assert both.readings == one.readings


# Every classifier ---------------------------------------------------------------------------------

REFUSED = {"OneVsRest": "separate binary classifiers", "OneVsOne": "separate binary classifiers"}
OTHERS = sorted(
    name
    for name in verosim.__all__
    if isinstance(getattr(verosim, name), type)
    and hasattr(getattr(verosim, name), "fit")
    and name not in (*verosim.estimators.__all__, "Whiten")  # Whiten does not classify
)


def test_the_classifiers_are_all_tested():
    """The other classifiers are those of `test_every_estimator_with_its_defaults`."""
    assert OTHERS == [
        "Calibrated", "Conformal", "LeastSquares", "LinearSVM", "LogisticRegression", "OneVsOne",
        "OneVsRest", "Perceptron", "Pool", "Reject", "SemiSupervised", "TextPool", "Twin",
    ]  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore::verosim.ConvergenceWarning")
def test_every_other_classifier_with_its_defaults(name, rng):
    y = rng.integers(0, 3, N)
    X = texts(rng) if name == "TextPool" else numbers(rng, y)
    inner = {
        "OneVsOne": [verosim.LinearSVM()], "OneVsRest": [verosim.LinearSVM()],
    }.get(name, [])  # fmt: skip
    if name in ("Calibrated", "Conformal", "Reject", "SemiSupervised", "Twin"):
        inner = [verosim.GaussianNB()]
    model = getattr(verosim, name)(*inner).fit(X, y)
    assert is_classifier(model)
    if name in REFUSED:
        with pytest.raises(VerosimError, match=f"has no program, because .*{REFUSED[name]}"):
            model.program()
    else:
        program_equals_scores(model, X)


def test_a_function_as_feature_map_is_refused_by_name(rng):
    y = rng.integers(0, 2, N)
    X = rng.normal(size=(N, 2))
    model = verosim.Perceptron(features=FunctionTransformer(np.tanh), max_iter=2)
    with pytest.warns(verosim.ConvergenceWarning):
        model.fit(X, y)
    with pytest.raises(VerosimError, match="FunctionTransformer"):
        model.program()


# Parts that are written once ----------------------------------------------------------------------


def test_shared_parts_are_given_back():
    long, other = list(range(20)), [*range(19), 19.0]
    values = [{"a": long, "b": [long, other]}, {"a": list(long), "c": [1, 2]}, [1, 2], other]
    found, shared = without_repeats(values)
    assert len(shared) == 2
    assert restored(found, shared) == values
    text = json.dumps([found, shared])
    assert text.count("[0, 1, 2") == 2  # 19 and 19.0 are different texts


def programs(rng):
    y = rng.integers(0, 3, N)
    rows, X = table(rng).assign(y=y), rng.normal(size=(N, 2))
    experts = [verosim.TextNB(), verosim.TextRidge(d=9), verosim.LDA(encode="normal")]
    yield verosim.Pool(experts, keep="all").fit(rows[["number", "words", "y"]], "y").program()
    some = rows[["number", "count", "y"]]
    yield verosim.calibrate(verosim.NaiveBayes(), some, "y", method="columns", cv=3).program()
    yield verosim.calibrate(verosim.TextNB(), texts(rng), y, method="length", cv=3).program()
    yield verosim.twin(verosim.GaussianNB().fit(X, y)).fit(X, y).program()


def test_damaged_json_is_refused_or_gives_scores(rng):
    for program in programs(rng):
        text, refused = program.to_json(), 0
        for _ in range(50):
            try:
                again = Program.from_json(damaged(text, rng))
            except VerosimError:
                refused += 1
                continue
            cells = {"number": 1.5, "text": "the cat"}
            new = {name: [None, cells.get(type_)] for name, type_ in again.inputs.items()}
            assert again.evaluate(new).shape == (2, len(again.classes))
        assert refused > 20


@pytest.mark.parametrize("number", [-1, 5, True, None, "0", 0.0])
def test_references_to_nothing_are_refused(number, rng):
    y = rng.integers(0, 2, N)
    experts = [verosim.TextNB(alpha=alpha) for alpha in (0.1, 1.0)]
    text = verosim.TextPool(experts, keep="all").fit(texts(rng), y).program().to_json()
    data = json.loads(text)
    data["terms"][0]["terms"] = {"shared": number}
    with pytest.raises(VerosimError):
        Program.from_json(json.dumps(data))
