"""What a new process imports, and what a fit leaves for later: both only what is not needed yet."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import verosim
from verosim.data.adapters import open_table
from verosim.files.models import SAVED_MODELS, parameters_of
from verosim.files.records import BASES, RECORDS, hints_of
from verosim.files.table_predictor import (
    SETTINGS_OF,
    TablePredictor,
    settings_of,
    table_predictor,
)

NEW_PROCESS = """
import sys, verosim
X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [5.0, 1.0], [6.0, 4.0], [7.0, 2.0]], [0, 0, 0, 1, 1, 1]
raw = verosim.dumps(verosim.LDA().fit(X, y))
print(*verosim.loads(raw).predict(X))
print(*(name for name in sys.modules if name.startswith("verosim.")))
"""


def test_a_model_of_arrays_imports_neither_tables_nor_other_models():
    run = subprocess.run(
        [sys.executable, "-c", NEW_PROCESS], capture_output=True, text=True, check=True
    )
    predicted, imported = run.stdout.splitlines()
    assert predicted == "0 0 0 1 1 1"
    for name in ("kinds.registry", "folds.tuning", "twins.twin", "pool.spec", "densities.terms"):
        assert f"verosim.{name}" not in imported.split()


FIT_OF_ARRAYS = """
import gc, sys, verosim
X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [5.0, 1.0], [6.0, 4.0], [7.0, 2.0]], [0, 0, 0, 1, 1, 1]
print(*verosim.{model}().fit(X, y).predict(X), gc.isenabled())
print(*sys.modules)
"""


@pytest.mark.parametrize("model", ["LDA", "GaussianNB"])
def test_a_fit_of_arrays_imports_no_reader_of_tables_and_no_part_of_the_compiler(model):
    code = FIT_OF_ARRAYS.format(model=model)
    for _ in range(2):  # the second process has the loops of the first
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    predicted, imported = run.stdout.splitlines()
    assert predicted == "0 0 0 1 1 1 True"
    found = set(imported.split())
    assert "verosim.kernels._compile" in found
    for name in (
        "data.files", "data.readers", "data.readings", "data.folds", "folds.splits",
        "stats.tokens", "stats.contexts", "stats.term_products", "densities.attribution",
    ):  # fmt: skip
        assert f"verosim.{name}" not in found
    assert found.isdisjoint({"numba.cpython.unicode", "numba.core.typing.cmathdecl"})


@pytest.mark.parametrize("name", SETTINGS_OF)
def test_a_file_has_the_settings_of_its_estimator(name):
    model = getattr(verosim, name)()
    expected = model.spec()
    found = settings_of(name, parameters_of(model))
    assert type(found) is type(expected)
    assert vars(found) == vars(expected)
    assert settings_of(name, {**parameters_of(model), "unknown": 1}) is None


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("name", SETTINGS_OF)
def test_a_file_predicts_tables_without_scikit_learn(tmp_path, rows, name, statistics):
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    model = getattr(verosim, name)().fit(table, "y")
    verosim.save(model, path := tmp_path / "model.verosim", statistics=statistics)
    found = table_predictor(path)
    assert isinstance(found, TablePredictor)
    here = found.predict_table(open_table(table), ("a",)).read_all()
    assert here.equals(model.predict_table(table, "a").read_all())


def test_a_file_of_another_model_gives_its_estimator(tmp_path, rows):
    for model in (verosim.TAN().fit(*rows), verosim.LDA(), verosim.LDA(encode="onehot")):
        verosim.save(model, path := tmp_path / "model.verosim")
        assert type(table_predictor(path)) is type(model)
    path.write_bytes(verosim.dumps(verosim.LDA().fit(*rows))[:-9])
    with pytest.raises(verosim.VerosimError) as expected:
        verosim.load(path)
    with pytest.raises(verosim.VerosimError) as found:
        table_predictor(path)
    assert str(found.value) == str(expected.value)


def test_the_predict_command_imports_no_scikit_learn(tmp_path, rows):
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.to_csv(tmp_path / "rows.csv", index=False)
    verosim.save(verosim.NaiveBayes().fit(table, y), tmp_path / "model.verosim")
    words = ["predict", *(str(tmp_path / name) for name in ("model.verosim", "rows.csv"))]
    code = f"import sys; from verosim.cli.main import main; main({words!r}); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *predicted, imported = run.stdout.splitlines()
    assert len(predicted) == len(X) + 1
    assert set(imported.split()).isdisjoint({"sklearn", "scipy.stats", "duckdb", "narwhals"})


def test_every_class_that_a_file_may_name_exists():
    for classes in (RECORDS, BASES, SAVED_MODELS):
        assert all(kind.__name__ == name for name, kind in classes.items())
        assert all(classes.has(kind) for kind in classes.values())
    assert all(hints_of(kind) is not None for kind in RECORDS.values())
    assert not SAVED_MODELS.has(type("LDA", (), {}))  # a class of the same name


@pytest.fixture
def rows(rng):
    y = np.arange(60) % 2
    return rng.normal(size=(60, 3)) + y[:, None], y


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveLDA", "NaiveBayes"])
def test_a_rule_that_is_computed_later_is_the_same(rows, name):
    X, y = rows
    model = getattr(verosim, name)().fit(X, y)
    later = pickle.loads(pickle.dumps(model))  # before the first prediction
    p = model.predict_proba(X)
    np.testing.assert_array_equal(later.predict_proba(X), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    again = getattr(verosim, name)().partial_fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), p, rtol=1e-12)


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveLDA", "NaiveBayes"])
def test_fit_refuses_what_it_does_not_compute_yet(rows, name):
    X, y = rows
    kind = getattr(verosim, name)
    for wrong in ({"priors": [0.2, 0.2]}, {"priors": "even"}, {"floor": -1.0}):
        with pytest.raises(verosim.VerosimError, match=next(iter(wrong))):
            kind(**wrong).fit(X, y)
    with pytest.raises(verosim.VerosimError, match="squares"):
        kind(**({"columns": "gaussian"} if name == "NaiveBayes" else {})).fit(X * 1e-160, y)


def test_a_changed_setting_is_noticed_after_predictions(rows):
    X, y = rows
    model = verosim.LDA().fit(X, y)
    model.predict(X)
    model.robust = True  # the sums depend on it
    with pytest.raises(verosim.VerosimError, match="robust"):
        model.predict(X)
    model.robust = False
    assert len(model.predict(X)) == len(X)
