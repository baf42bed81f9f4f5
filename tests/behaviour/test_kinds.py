"""Kinds of columns: a new one is its file and a line in one list, and a schema carries them all."""

from __future__ import annotations

import datetime
import os
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import verosim
from verosim import NaiveBayes, Schema, VerosimError, look
from verosim.data import cells
from verosim.data.readers import as_numbers
from verosim.data.tables import Rows
from verosim.densities import DiagonalGaussian
from verosim.kinds import (
    Kind,
    MixedReader,
    PartKind,
    Settings,
    View,
    column_kinds,
    numbers,
    registered,
    statistics,
)
from verosim.testing import assert_same

# A kind by the recipe of CONTRIBUTING.md: sizes whose logarithms have a Gaussian in every class.


def logarithms(array, na):
    return np.log(cells.numbers(array, na))


def density(settings: Settings) -> DiagonalGaussian:
    return DiagonalGaussian(False, settings.covariance, None, settings.floor)


def sample(column, drawn, gone):
    return numbers.sample(column, np.exp(drawn), gone)


TOYS = PartKind(
    name="toy",
    block=as_numbers,
    missing=numbers.missing,
    zero=statistics.moments,
    seen=statistics.seen_in_moments,
    density=density,
)
TOY = Kind(name="toy", role="number", views=(View(TOYS, logarithms),), sample=sample)


@pytest.fixture
def toy():
    with registered(TOY):
        yield TOY


def tables(rng, n=300):
    """Rows with a lognormal column, and the same rows with its logarithm."""
    y = rng.choice(["a", "b", "c"], n)
    k = np.unique(y, return_inverse=True)[1]
    logs = rng.normal(k, 1.0)
    logs[rng.random(n) < 0.1] = np.nan
    size = pa.array(np.exp(logs), from_pandas=True)
    hue = pa.array(np.where(rng.random(n) < 0.2 + 0.2 * k, "red", "blue"))
    by_logs = pa.table({"x": np.log(np.asarray(size)), "hue": hue, "y": y})
    return pa.table({"x": size, "hue": hue, "y": y}), by_logs


def toy_model(**settings):
    return NaiveBayes(columns={"x": "toy"}, **settings)


class TestToyKind:
    @pytest.mark.parametrize("missing", ["skip", "category"])
    def test_predicts_as_the_gaussian_of_the_logarithm(self, toy, rng, missing):
        table, logs = tables(rng)
        model = toy_model(missing=missing).fit(table, "y")
        same = NaiveBayes(columns={"x": "gaussian"}, missing=missing).fit(logs, "y")
        assert (model.schema_["x"].role, model.schema_["x"].density) == ("number", "toy")
        assert model.stats_.kinds["toy"] == "toy"
        np.testing.assert_allclose(
            model.predict_proba(table), same.predict_proba(logs), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            model.predict_proba(table.select(["hue"])), same.predict_proba(logs.select(["hue"]))
        )

    def test_samples_in_its_own_units(self, toy, rng):
        table, logs = (found.select(["x", "y"]) for found in tables(rng))  # nothing else is drawn
        drawn, labels = toy_model().fit(table, "y").sample(200, random_state=0)
        same, _ = NaiveBayes(columns={"x": "gaussian"}).fit(logs, "y").sample(200, random_state=0)
        assert drawn.schema.field("x").type == pa.float64()
        assert set(labels) == {"a", "b", "c"}
        np.testing.assert_allclose(np.log(np.asarray(drawn["x"])), np.asarray(same["x"]))
        holes, _ = toy_model().fit(table, "y").sample(400, random_state=0, missing=True)
        assert 0.05 < holes["x"].null_count / 400 < 0.2

    def test_merges_and_forgets(self, toy, rng):
        table, _ = tables(rng)
        schema = look(table, "y", columns={"x": "toy"})
        whole = NaiveBayes().fit(table, "y", schema=schema)
        halves = [NaiveBayes().fit(half, "y", schema=schema) for half in (table[:100], table[100:])]
        assert_same(halves[0].merge(halves[1]).stats_, whole.stats_, rounding=1e-10)
        whole.forget(table[100:], "y")
        assert_same(whole.stats_, halves[0].stats_, rounding=1e-10)

    @pytest.mark.parametrize("cv", [np.arange(300) % 4, "loo"], ids=["folds", "loo"])
    def test_is_validated_as_the_gaussian_of_the_logarithm(self, toy, rng, cv):
        table, logs = tables(rng)
        mine = verosim.cross_validate(toy_model(), table, "y", cv=cv)
        same = verosim.cross_validate(NaiveBayes(columns={"x": "gaussian"}), logs, "y", cv=cv)
        np.testing.assert_allclose(mine.log_proba, same.log_proba, rtol=0, atol=1e-10)

    def test_is_selected_and_diagnosed(self, toy, rng):
        table, _ = tables(rng)
        assert "x" in verosim.select(toy_model(), table, "y", cv=3).columns
        assert "'x'" in str(verosim.diagnose(toy_model().fit(table, "y"), table, "y"))

    def test_its_schema_is_saved(self, toy, rng, tmp_path):
        table, _ = tables(rng)
        schema = look(table, "y", columns={"x": "toy"})
        schema.save(tmp_path / "schema.json")
        assert Schema.load(tmp_path / "schema.json") == schema

    def test_what_is_not_a_number_is_named(self, toy):
        with pytest.raises(VerosimError, match="Column 'x', row 1: 'two' is not a number"):
            toy_model().fit({"x": ["1", "two"], "y": ["a", "b"]}, "y")

    def test_the_list_has_it_only_while_it_is_registered(self, rng):
        table, _ = tables(rng)
        with registered(TOY):
            assert TOY in column_kinds()
            with (
                pytest.raises(VerosimError, match="kind of column 'toy' is already registered"),
                registered(TOY),
            ):
                pass
        with pytest.raises(VerosimError, match="'toy' is not a kind of column"):
            toy_model().fit(table, "y")


TABLE = pa.table(
    {
        "gaussian": [1.5, 2.5, None, 4.0],
        "histogram": [1.0, 2.0, 3.0, 9.5],
        "poisson": [0, 1, 2, None],
        "category": ["u", "v", None, "u"],
        "boolean": [True, None, False, True],
        "date": [datetime.datetime(2024, 1, day, 13) for day in (1, 2, 3, 4)],
        "date+trend": [datetime.datetime(2024, 5, day, 7) for day in (1, 2, 3, 4)],
        "text": ["a b c", "b c", None, "c d"],
    }
)
NAMES = TABLE.column_names


def test_the_table_has_a_column_of_every_kind():
    assert [kind.name for kind in column_kinds()] == NAMES


def block_of(reader):
    return reader.block(Rows(TABLE.to_batches()[0], 0))


def plainly(block):
    """What a block holds, to be compared."""
    if isinstance(block, np.ndarray):
        return block.tolist()
    if hasattr(block, "texts"):
        columns = zip(block.indexes, block.texts, strict=True)
        return [[texts[i] for i in index] for index, texts in columns]
    return [block.text(i) for i in range(len(block))]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("gaps", [False, True])
def test_a_schema_carries_its_kind(kind, gaps, tmp_path):
    """Schema → reader, by JSON, by pickle, and the reader itself by pickle."""
    schema = look(TABLE.select([kind]), columns={kind: kind})
    assert schema[kind].density == kind
    schema.save(tmp_path / "schema.json")
    reader = MixedReader(schema, gaps)
    copies = [
        MixedReader(Schema.load(tmp_path / "schema.json"), gaps),
        MixedReader(pickle.loads(pickle.dumps(schema)), gaps),
        pickle.loads(pickle.dumps(reader)),
    ]
    wanted = {name: repr(plainly(block)) for name, block in block_of(reader).items()}
    for copy in copies:
        assert copy.schema == schema
        assert copy.parts == reader.parts
        found = {name: repr(plainly(block)) for name, block in block_of(copy).items()}
        assert found == wanted


WORKER = """
import pickle, sys
schema, batch = pickle.load(open(sys.argv[1], "rb"))
print(schema)
from verosim.data.tables import Rows
from verosim.kinds import MixedReader
block = MixedReader(schema, gaps=True).block(Rows(batch, 0))
above = [name for name in sys.modules if name.split(".")[:2] in (
    ["verosim", "engines"], ["verosim", "bayes"], ["verosim", "estimators"])]
print(sorted(block), above)
"""


def test_a_worker_needs_the_kinds_alone(tmp_path):
    """A process that has seen nothing but a pickled schema reads rows, without what is above."""
    schema = look(TABLE, columns={name: name for name in NAMES})
    (tmp_path / "task").write_bytes(pickle.dumps((schema, TABLE.to_batches()[0])))
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(tmp_path / "task")],
        capture_output=True, encoding="utf-8", check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    parts = ["boolean", "category", "gaussian", "histogram", "missing", "poisson", "text text"]
    assert done.stdout == f"{schema}\n{parts} []\n"


LOOK_FIRST = """
import sys, verosim
schema = verosim.look({"x": [1.5, 2.5] * 20, "y": ["p", "q"] * 20}, "y")
print(schema.to_json() == verosim.Schema.from_json(schema.to_json()).to_json(), schema["x"].role)
"""


def test_a_schema_is_read_and_printed_before_any_model():
    done = subprocess.run([sys.executable, "-c", LOOK_FIRST], capture_output=True, text=True)
    assert done.stdout == "True number\n", done.stderr


class TestParts:
    def test_names_of_columns_do_not_say_what_they_are(self, rng):
        """Texts in columns called after kinds, or with spaces, are texts like any others."""
        words = np.array(["red", "green", "blue", "black", "white"])
        texts = [[" ".join(rng.choice(words, 5)) for _ in range(60)] for _ in range(3)]
        found = []
        for names in (("missing", "gaussian poisson", "date"), ("a", "b", "c")):
            table = {**dict(zip(names, texts, strict=True)), "y": ["p", "q"] * 30}
            model = NaiveBayes(columns=dict.fromkeys(names, "text")).fit(table, "y")
            assert set(model.stats_.kinds.values()) == {"text"}
            assert list(model.stats_.parts) == [f"text {name}" for name in names]
            found.append(verosim.cross_validate(model, table, "y", cv="loo").log_proba)
        np.testing.assert_array_equal(found[0], found[1])

    def test_every_piece_knows_its_column(self):
        """A date beside a column that has the name of one of its pieces."""
        table = TABLE.select(["date", "gaussian"]).rename_columns(["when", "when.hour"])
        reader = MixedReader(look(table), gaps=True)
        owners = dict(
            zip((c for p in reader.parts for c in p.columns), reader.owners, strict=False)
        )
        assert [part.name for part in reader.parts] == ["gaussian", "category", "missing"]
        assert reader.parts[0].columns == ("when.hour",)
        assert owners["when.hour of when"] == owners["when.weekday"] == "when"
        assert owners["when.hour"] == "when.hour"
