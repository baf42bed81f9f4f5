"""Programs of models of dependent columns, of mixtures and of random features."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.laws.test_programs import N, damaged, labels, numbers, table
from verosim.axes.value_hashes import value_hash
from verosim.bayes import Program
from verosim.data.code_readings import BinReading, PlaceReading, WhichReading
from verosim.data.readings import CellReading, KeyReading, NumberReading
from verosim.densities.terms import (
    AverageTerm,
    CodeTerm,
    ContextTerm,
    GaussianTerm,
    SumTerm,
)
from verosim.errors import VerosimError
from verosim.testing import program_equals_scores

pytestmark = pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")


def mixed(rng, cities=60):
    """Columns of several types, and a category that is written as four 0/1 columns."""
    rows = table(rng, cities).drop(columns="words")
    which = rng.integers(0, 4, N)
    return rows.assign(**{f"part{i}": (which == i).astype(float) for i in range(4)})


def unusual(rng):
    """Rows with unseen values, and with none, two, or missing columns of the group."""
    rows = mixed(rng, cities=90)
    rows.loc[:4, "part0"] = np.nan
    rows.loc[5:9, ["part1", "part2"]] = 1.0
    rows.loc[10:14, [f"part{i}" for i in range(4)]] = 0.0
    rows.loc[15:19] = None
    return rows


MODELS = {
    "TAN": verosim.TAN(),
    **{f"KDB of {k}": verosim.KDB(k=k) for k in (0, 2, 5)},
    "plain shares": verosim.KDB(k=2, m=0.0, bins=3),
    "laplace": verosim.KDB(k=2, smoothing="laplace"),
    "impossible": verosim.TAN(smoothing="laplace", alpha=0.0, bins="mdl"),
    "AODE": verosim.AODE(),
    "equal weights": verosim.AODE(weighted=False, bins=3),
    "dates": verosim.KDB(columns={"when": "date+trend", "count": "category"}),
    "LiftedLDA": verosim.LiftedLDA(n_features=60),
}


@pytest.mark.parametrize("name", MODELS)
def test_tables(name, rng):
    y = labels(rng)
    model = MODELS[name].fit(mixed(rng).assign(y=y), "y", rng.random(N) + 0.1)
    new = unusual(rng)
    program_equals_scores(model, new)
    program_equals_scores(model, new.drop(columns=["city", "when", "part3"]))


def test_readings_give_codes():
    """The last code is a missing cell, and the one before it another value, if there are any."""
    cells = {
        "x": np.array([-1.0, 0.5, 0.7, 1.5, np.nan]),
        "t": np.array(["b", "a", "Lima", "?", None], dtype=object),
        "p": np.array([1.0, 0.0, 1.0, 0.0, np.nan]),
        "q": np.array([0.0, 1.0, 1.0, 0.0, 1.0]),
    }
    number, text = NumberReading("x"), KeyReading("t")
    group = WhichReading((NumberReading("p"), NumberReading("q")))
    bins = BinReading(number, (0.5, 1.0, 1.5))
    places = PlaceReading.of_values(text, ("a", value_hash("Lima"), "b"))
    for reading, wanted in (
        (bins, [0, 1, 1, 3, 4]),
        (bins.merged([0, 0, 1, 1, 2]), [0, 0, 0, 1, 2]),
        (places, [2, 0, 1, 3, 4]),
        (group, [0, 1, 2, 2, 3]),
    ):
        assert reading.read(cells).tolist() == wanted
        assert reading.codes == max(wanted) + 1
        assert CellReading.from_plain(reading.plain()) == reading


def test_one_hot_columns_are_one_reading(rng):
    readings = verosim.TAN().fit(mixed(rng), labels(rng)).program().readings
    kinds = [type(reading) for reading in readings]
    assert kinds.count(WhichReading) == 1
    assert {BinReading, PlaceReading, WhichReading} == {*kinds}


@pytest.mark.parametrize(
    "model", [verosim.KDB(k=2), verosim.AODE(), verosim.LiftedLDA(40)], ids=str
)
def test_forgotten_values_and_classes_without_rows(model, rng):
    rows, y = mixed(rng, cities=30), labels(rng)
    model.partial_fit(rows, y, classes=[0, 1, 2, 3, 9])
    gone = (rows["city"] == "c1").to_numpy()
    model.forget(rows[gone], y[gone])
    program = model.program()
    assert "c1" not in program.to_json().split('"')
    program_equals_scores(model, unusual(rng))


def test_rows_without_any_known_value_have_the_priors():
    rows = {"a": ["x", "y"] * 20, "b": ["u", "v", "u", "u"] * 10}
    model = verosim.AODE().fit(rows, [0, 1, 1, 1] * 10)
    new = {"a": ["q", "x", None], "b": ["w", "w", "?"]}
    program_equals_scores(model, new)
    assert model.program().evaluate(new)[0] == pytest.approx(np.log([0.25, 0.75]))


def test_a_context_backs_off_to_fewer_parents():
    """Two parents. The code 1 was seen with the parents (0, 1), with (0, ·), and alone."""
    left = 255 * sum(256**i for i in range(3, 6))
    seen = {
        1 + 256 * 0 + 256**2 * 1 + left: -1.0,
        1 + 256 * 0 + 256**2 * 255 + left: -2.0,
        1 + 256 * 255 + 256**2 * 255 + left: -3.0,
        255 + 256 * 0 + 256**2 * 2 + left: -10.0,  # the parents (0, 2) alone
        255 + 256 * 1 + 256**2 * 255 + left: -20.0,  # the parent (1, ·) alone
    }
    codes = tuple(BinReading(NumberReading(name), (0.5, 1.5)) for name in "xpq")
    rows = {"x": [1, 1, 1, 1, 1, 0], "p": [0, 0, 0, 1, 2, 0], "q": [1, 0, 2, 0, 0, 1]}
    for backs_off, wanted in (
        (True, [-1, -2, -10 - 2, -20 - 3, -3, 0]),
        (False, [-1, 0, -10, 0, 0, 0]),
    ):
        table = np.array([*seen.values()])[:, None]
        term = ContextTerm((0, 1, 2), tuple(seen), table, backs_off)
        program = Program(("a",), np.zeros(1), codes, (term,))
        np.testing.assert_array_equal(program.evaluate(rows)[:, 0], wanted)


@pytest.mark.parametrize(
    "settings",
    [{"components": {0: 1, 1: 3, 2: 2}}, {"components": 2, "covariance": "own"},
     {"components": 2, "covariance": "shared", "regularisation": 0.1}],
    ids=str,
)  # fmt: skip
def test_mixtures(settings, rng):
    y = labels(rng) % 3
    X = numbers(rng, y)
    model = verosim.MDA(**settings).fit(X, y)
    program_equals_scores(model, X + rng.normal(size=X.shape))
    program_equals_scores(model, X + 1e4)


def test_mixtures_of_constant_columns():
    X = np.ones((40, 2))
    program_equals_scores(verosim.MDA(components=2).fit(X, np.arange(40) % 2), X)


@pytest.mark.parametrize(
    "settings", [{}, {"alpha": 0}, {"bins": 3, "strategy": "uniform"}], ids=str
)
def test_joint_histograms(settings, rng):
    y = labels(rng)
    X = numbers(rng, y)[:, :3]
    model = verosim.JointHistogram(**settings).fit(X, y)
    program_equals_scores(model, X + rng.normal(size=X.shape))
    program_equals_scores(model, X.astype(np.float32))
    rows = {"a": X[:, 0], "b": X[:, 1]}
    program_equals_scores(verosim.JointHistogram(**settings).fit(rows, y), rows)
    missing = model.program().evaluate(np.full((1, 3), np.nan))
    np.testing.assert_array_equal(missing[0], model.program().log_prior)


def test_random_features_far_away(rng):
    y = labels(rng)
    X = numbers(rng, y)
    model = verosim.LiftedLDA(n_features=40).fit(X, y)
    X[:3] = 1e300
    X[3:6] = -1e9
    program_equals_scores(model, X)
    narrow = verosim.LiftedLDA(n_features=40, scale=1e-4).fit(X[6:], y[6:])
    X[:3] = 1e308  # the products overflow
    program_equals_scores(narrow, X)


def test_many_one_hot_columns(rng):
    which = np.concatenate([np.arange(260), rng.integers(0, 260, 340)])
    rows = pd.DataFrame((which[:, None] == np.arange(260)) * 1.0).rename(columns="c{}".format)
    program_equals_scores(verosim.KDB(k=0).fit(rows, which % 2), rows)


# The format ---------------------------------------------------------------------------------------


def programs(rng):
    rows, y = mixed(rng, cities=9), labels(rng)
    few = rows[["number", "flag", "when"]]
    yield verosim.KDB(k=2).fit(rows, y).program(), rows
    yield verosim.AODE(bins=3).fit(few, y).program(), few
    yield verosim.LiftedLDA(n_features=6).fit(rows, y).program(), rows
    X = numbers(rng, y)
    yield verosim.MDA(components=2).fit(X, y % 3).program(), X
    yield verosim.JointHistogram().fit(X, y).program(), X


def test_damaged_json_is_refused_or_gives_scores(rng):
    for program, rows in programs(rng):
        text, refused = program.to_json(), 0
        for _ in range(25):
            try:
                scores = Program.from_json(damaged(text, rng)).evaluate(rows[:6])
                assert (scores < np.inf).all()
            except VerosimError:
                refused += 1
        assert refused > 10


ONE = np.ones(2)
GAUSSIAN = GaussianTerm((0,), ONE, ONE, ONE, ONE)
BINS = BinReading(NumberReading("x"), (0.0,))


@pytest.mark.parametrize(
    ("reading", "term"),
    [
        (KeyReading("x"), GAUSSIAN),
        (KeyReading("x"), SumTerm((0,), (GAUSSIAN,), ONE)),
        (BINS, GAUSSIAN),
        (NumberReading("x"), CodeTerm((0,), np.ones((3, 2)))),
        (BINS, CodeTerm((0,), np.ones((2, 2)))),
        (
            NumberReading("x"),
            AverageTerm((0,), (CodeTerm((0,), np.ones((3, 2))),), np.ones((1, 2))),
        ),
    ],
)
def test_a_term_of_another_type_of_value_is_refused(reading, term):
    good = Program(("a", "b"), np.zeros(2), (NumberReading("x"),), (GAUSSIAN,)).to_json()
    data = json.loads(good) | {"readings": [reading.plain()], "terms": [term.plain()]}
    data["inputs"] = [{"column": "x", "type": reading.inputs["x"]}]
    with pytest.raises(VerosimError, match="cannot be read"):
        Program.from_json(json.dumps(data))


@pytest.mark.parametrize("of", [KeyReading("x"), BINS])
def test_a_reading_of_another_type_of_value_is_refused(of):
    with pytest.raises(VerosimError, match="number is needed"):
        BinReading(of, (0.0,))


def test_numbers_that_are_too_large_are_refused():
    good = Program(("a", "b"), np.zeros(2), (BINS,), (CodeTerm((0,), np.ones((3, 2))),)).to_json()
    for odd in ("1e999", str(10**400), '"-inf"'):
        with pytest.raises(VerosimError):
            Program.from_json(good.replace('"cuts": [0.0]', f'"cuts": [{odd}]'))


def test_a_new_process_knows_all_kinds_of_readings(rng):
    rows, y = mixed(rng, cities=9), labels(rng)
    models = (verosim.LDA(encode="onehot"), verosim.TAN())
    texts = [model.fit(rows, y).program().to_json() for model in models]
    code = (
        "import json, sys; from verosim.bayes import Program; "
        "print([Program.from_json(one).to_json() == one for one in json.load(sys.stdin)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(texts), capture_output=True, text=True
    )
    assert done.stdout.strip() == "[True, True]", done.stderr
