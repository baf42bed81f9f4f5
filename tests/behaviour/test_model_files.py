"""A model file is data: it gives the same model back, to the bit, and it contains no code."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as ForeignModel
from sklearn.preprocessing import StandardScaler

import verosim
from tests.behaviour.test_privacy import (
    FORGETTING,
    MODELS,
    NUMBERS,
    PUBLIC,
    _fitted,
    _table,
    _without,
)
from tests.examples import tried_often
from tests.fuzz.cases import Case
from tests.fuzz.lives import live
from verosim import LDA, NaiveBayes, OneVsRest, Perceptron, TextNB, VerosimError
from verosim.estimators.statistic_classifier import StatisticClassifier
from verosim.files.models import SAVED_MODELS
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes

pytestmark = pytest.mark.filterwarnings("ignore")

IRIS = load_iris(return_X_y=True)
METHODS = ("predict", "predict_proba", "decision_function", "log_density", "transform",
           "predict_set")  # fmt: skip
_known: dict[str, tuple[Any, Any]] = {}


def fitted(case: str) -> tuple[Any, Any]:
    """A fitted model and its table. Each is fitted once; the model is a copy."""
    if case not in _known:
        model, part = _fitted(case, _table())
        _known[case] = pickle.dumps(model), part
    raw, part = _known[case]
    return pickle.loads(raw), part


def rows_for(model: Any, part: Any) -> Any:
    """The rows in the form in which the model was fitted."""
    inside = getattr(model, "model_", model)
    if hasattr(inside, "state_") and inside.state_.schema is not None:
        return {name: cells for name, cells in part.items() if name != "y"}
    if set(part) == {"text", "y"}:
        return list(part["text"])
    return np.column_stack([part[name] for name in NUMBERS])


def answers(model: Any, rows: Any) -> list[Any]:
    """The result of every method that predicts, or the text of its refusal."""
    out: list[Any] = []
    for name in METHODS:
        if hasattr(model, name):
            try:
                out.append(np.asarray(getattr(model, name)(rows)))
            except VerosimError as error:
                out.append(np.array(str(error)))
    assert out
    assert any(one.ndim for one in out)
    return out


def assert_equal(first: list[Any], second: list[Any]) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


# Every estimator -------------------------------------------------------------------------------

CASES = list(MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_predicts_the_same_bits(case):
    model, part = fitted(case)
    rows = rows_for(model, part)
    for statistics in (True, False):
        raw = verosim.dumps(model, statistics=statistics)
        again = verosim.loads(raw)
        assert repr(again) == repr(model)
        assert_equal(answers(again, rows), answers(model, rows))
        assert verosim.dumps(again, statistics=statistics) == raw
        if statistics and isinstance(model, StatisticClassifier):
            assert again.stats_.fingerprint() == model.stats_.fingerprint()


def test_every_public_estimator_can_be_saved():
    assert {getattr(verosim, name) for name in PUBLIC} <= set(SAVED_MODELS.values())


@pytest.mark.slow
@pytest.mark.parametrize("case", FORGETTING)
def test_a_loaded_model_forgets_and_learns_like_the_saved_one(case):
    model, part = fitted(case)
    rows = rows_for(model, part)
    again = verosim.loads(verosim.dumps(model))
    for one in (model, again):
        _without(one, part)
    assert_equal(answers(again, rows), answers(model, rows))
    assert verosim.dumps(again) == verosim.dumps(model)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if isinstance(MODELS[c], StatisticClassifier)])
def test_a_loaded_model_merges_like_the_saved_one(case):
    model, part = fitted(case)
    again = verosim.loads(verosim.dumps(model))
    rows = rows_for(model, part)
    try:
        both = model + model
    except VerosimError as error:
        with pytest.raises(VerosimError, match=str(error)[:30].replace("(", ".")):
            again + again
        return
    assert_equal(answers(again + again, rows), answers(both, rows))


def test_settings_of_a_loaded_model_can_change():
    X, y = load_iris(return_X_y=True)
    model = LDA(shrinkage="cv").fit(X, y)
    again = verosim.loads(verosim.dumps(model))
    assert again.shrinkage_ == model.shrinkage_
    for one in (model, again):
        one.set_params(shrinkage=0.5)
    assert_equal(answers(again, X), answers(model, X))
    scores = [verosim.cross_validate(one, X, y, cv=3) for one in (model, again)]
    assert str(scores[0]) == str(scores[1])


@pytest.mark.parametrize("case", ["NaiveBayes", "LDA", "TextNB", "AODE", "KDB", "TextRidge"])
def test_a_statistic_alone_comes_back_to_the_bit(case):
    model, _ = fitted(case)
    raw = statistic_to_bytes(model.stats_)
    again = statistic_from_bytes(raw)
    assert again.fingerprint() == model.stats_.fingerprint()
    assert statistic_to_bytes(again) == raw
    with pytest.raises(VerosimError):
        verosim.loads(raw)


def test_a_model_that_is_not_fitted_can_be_saved():
    model = verosim.Pool([LDA(encode="onehot"), NaiveBayes(priors={"a": 0.2, "b": 0.8})])
    assert repr(verosim.loads(verosim.dumps(model))) == repr(model)


@pytest.mark.parametrize("features", ["polynomial", "fourier"])
def test_built_in_features_come_back(features):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(features=features, random_state=0).fit(X, y)
    raw = verosim.dumps(model)
    again = verosim.loads(raw)
    assert verosim.dumps(again) == raw
    assert repr(again.features_) == repr(model.features_)
    assert_equal(answers(again, X), answers(model, X))
    for one in (model, again):
        one.partial_fit(X, y)
    assert_equal(answers(again, X), answers(model, X))
    np.testing.assert_array_equal(again.features_.transform(X), model.features_.transform(X))


def test_labels_and_names_of_any_kind_come_back():
    X = np.arange(12.0).reshape(6, 2) % 5
    for labels in ([1, 2, 3] * 2, [True, False] * 3, ["é", "\ud800", "長い"] * 2,
                   np.array(["2024-01-01", "2024-01-02"] * 3, dtype="M8[D]"), [b"a", b"bc"] * 3,
                   np.array([1, 2] * 3, dtype="m8[s]")):  # fmt: skip
        model = verosim.GaussianNB().fit(X, labels)
        again = verosim.loads(verosim.dumps(model))
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


# Without sums ------------------------------------------------------------------------------------


def test_a_model_without_sums_only_predicts():
    table = _table()
    model = verosim.loads(verosim.dumps(NaiveBayes().fit(table, "y"), statistics=False))
    model.predict(table)
    gaussian = verosim.loads(verosim.dumps(LDA().fit(*IRIS), statistics=False))
    for name, refused in {
        "partial_fit": lambda: model.partial_fit(table, "y"),
        "forget": lambda: model.forget(table, "y"),
        "merge": lambda: model + model,
        "decay": lambda: model.decay(0.5),
        "prune": lambda: model.prune(2),
        "set_params": lambda: model.set_params(alpha=2.0),
        "with_priors": lambda: model.with_priors("uniform"),
        "diagnose": lambda: verosim.diagnose(gaussian),
        "bic": lambda: verosim.bic(gaussian),
        "plot_densities": lambda: verosim.plot_densities(model),
    }.items():
        with pytest.raises(VerosimError, match=f"^{name} is not possible, because .* without the"):
            refused()
    assert verosim.dumps(model) == verosim.dumps(model, statistics=False)


def test_a_file_without_sums_is_smaller_unless_the_sums_are_counts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 12)), np.arange(200) % 2
    texts = [" ".join(f"word{i}" for i in rng.integers(50, size=6)) for _ in range(200)]
    for model, rows in (
        (LDA(), X), (verosim.QDA(), X), (verosim.RDA(pooling=0.3), X), (verosim.GaussianNB(), X),
        (verosim.NaiveLDA(), X), (verosim.MDA(components=2, random_state=0), X),
        (verosim.LeastSquares(), X), (verosim.LiftedLDA(n_features=40), X),
        (verosim.TextRidge(), texts),
    ):  # fmt: skip
        model.fit(rows, y)
        assert len(verosim.dumps(model, statistics=False)) < len(verosim.dumps(model)), model


# The same bytes ----------------------------------------------------------------------------------

FIT_ELSEWHERE = """
import hashlib, warnings
warnings.simplefilter("ignore")
import verosim
from tests.behaviour.test_privacy import _table
table = _table()
texts = {"text": table["text"], "y": table["y"]}
for model in (verosim.NaiveBayes(), verosim.TAN(), verosim.LDA(encode="onehot"), verosim.TextNB(),
              verosim.Calibrated(verosim.NaiveBayes(), cv=3), verosim.Pool(effort="fast")):
    part = texts if isinstance(model, verosim.TextNB) else table
    raw = verosim.dumps(model.fit(part, "y"), notes={"b": 1, "a": [2.5, None]})
    print(hashlib.sha256(raw).hexdigest())
"""


@pytest.mark.slow
def test_other_processes_write_the_same_bytes():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", FIT_ELSEWHERE], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == 6


def test_any_safetensors_reader_lists_the_file(tmp_path):
    from safetensors import safe_open

    path = tmp_path / "model.verosim"
    verosim.save(NaiveBayes().fit(_table(), "y"), path)
    with safe_open(path, "numpy") as file:
        assert any(name.endswith("arrays.weight") for name in file.keys())  # noqa: SIM118
        assert list(file.metadata()) == ["verosim"]


# Foreign code ------------------------------------------------------------------------------------


def test_code_from_outside_is_refused_with_the_reason():
    X, y = load_iris(return_X_y=True)
    texts, labels = ["a b", "b c"] * 3, [0, 1] * 3
    for model, part in (
        (TextNB(tokenizer=str.split).fit(texts, labels), "tokenizer"),
        (OneVsRest(ForeignModel()).fit(X, y), "LogisticRegression"),
        (Perceptron(features=StandardScaler()).fit(X, y), "features"),
        (Perceptron(random_state=np.random.default_rng(0)).fit(X, y), "Generator"),
        (ForeignModel(), "LogisticRegression"),
    ):
        with pytest.raises(VerosimError, match=part):
            verosim.dumps(model)


def test_nothing_of_a_file_is_imported_or_run(monkeypatch):
    raw = verosim.dumps(NaiveBayes().fit(_table(), "y"))
    verosim.loads(raw)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("loading used pickle or an import by name")

    for module, name in ((pickle, "loads"), (pickle, "load"), (np, "load")):
        monkeypatch.setattr(module, name, refused)
    monkeypatch.setattr("importlib.import_module", refused)
    verosim.loads(raw)


def test_a_newer_format_is_refused_politely(monkeypatch):
    monkeypatch.setattr("verosim.files.store.FILE_FORMAT", 2)
    raw = verosim.dumps(LDA())
    monkeypatch.undo()
    with pytest.raises(VerosimError, match="newer version"):
        verosim.loads(raw)


# Files -------------------------------------------------------------------------------------------


def test_files_replace_each_other_whole(tmp_path):
    path = tmp_path / "model.verosim"
    for model in (LDA(), verosim.QDA()):
        verosim.save(model, path)
        assert repr(verosim.load(path)) == repr(model)
    assert os.listdir(tmp_path) == ["model.verosim"]
    with pytest.raises(VerosimError, match="cannot be written"):
        verosim.save(LDA(), tmp_path / "no folder" / "model.verosim")
    with pytest.raises(VerosimError, match="cannot be read"):
        verosim.load(tmp_path / "no file")
    with pytest.raises(VerosimError, match="max_bytes"):
        verosim.load(path, max_bytes=10)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.verosim"
    verosim.save(LDA(), path)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VerosimError, match="No space left"):
        verosim.save(verosim.QDA(), path)
    assert repr(verosim.load(path)) == "LDA()"
    assert os.listdir(tmp_path) == ["model.verosim"]


FULL = """
import resource, sys
import verosim
from verosim import VerosimError
size = len(verosim.dumps(verosim.LDA()))
verosim.save(verosim.LDA(), sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))
large = verosim.LDA().fit([[float(i), i % 3] for i in range(20)], [0, 1] * 10)
try:
    verosim.save(large, sys.argv[1])
except VerosimError as error:
    print(error.what)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of the size of files")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.verosim"
    out = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in out.stdout
    assert repr(verosim.load(path)) == "LDA()"
    assert os.listdir(tmp_path) == ["model.verosim"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
def test_links_modes_and_devices_stay_as_they_are(tmp_path):
    path, link = tmp_path / "model.verosim", tmp_path / "newest"
    verosim.save(LDA(), path)
    path.chmod(0o660)
    link.symlink_to(path)
    verosim.save(verosim.QDA(), link)
    assert link.is_symlink()
    assert repr(verosim.load(path)) == "QDA()"
    assert path.stat().st_mode & 0o777 == 0o660
    verosim.save(LDA(), os.devnull)
    assert not os.path.isfile(os.devnull)
    with pytest.raises(VerosimError, match="cannot be written"):
        verosim.save(LDA(), tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["model.verosim", "newest"]


def killed_savers(folder: Any, times: int) -> None:
    """Kill processes while they save in turn two models; there is always one of the two."""
    path = folder / "model.verosim"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    models = [LDA().fit(X[:, :d], X[:, 0] > 0) for d in (20, 60)]
    known = {hashlib.sha256(verosim.dumps(model)).hexdigest() for model in models}
    verosim.save(models[0], path)
    start = time.perf_counter()
    verosim.save(models[0], path)
    one_save = time.perf_counter() - start
    for _ in range(times):
        child = os.fork()
        if not child:
            try:
                for i in range(10**6):
                    verosim.save(models[i % 2], path)
            finally:
                os._exit(1)
        time.sleep(float(rng.uniform(0.2, 3.0)) * one_save + 0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert hashlib.sha256(path.read_bytes()).hexdigest() in known
    verosim.save(models[1], path)
    assert os.listdir(folder) == ["model.verosim"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_killed_saver_leaves_the_old_or_the_new_file(tmp_path):
    killed_savers(tmp_path, 50)


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_many_killed_savers_leave_the_old_or_the_new_file(tmp_path):
    killed_savers(tmp_path, 1000)


@tried_often
@given(st.integers(0, 10**9))
def test_every_model_that_can_be_saved_comes_back_to_the_bit(number):
    """Random models of the fuzz tests: rows in any order, weights, `merge`, `forget`, `decay`."""
    case = Case.of(number)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = live(case.rnd, case.make, case.draw, case.family.updates, case.ledger)
            probes = case.draw.wrap(case.draw.probes)
            model.predict(probes)
        except verosim.VerosimError:
            return
        for statistics in (True, False):
            loaded = verosim.loads(verosim.dumps(model, statistics=statistics))
            for method in ("predict_log_proba", "predict_proba", "decision_function"):
                if hasattr(model, method):
                    found, same = (getattr(one, method)(probes) for one in (model, loaded))
                    assert np.array_equal(found, same, equal_nan=True), (case.shown(), statistics)


@tried_often
@given(st.integers(0, 10**9))
def test_amounts_of_tokens_come_back_to_the_bit(number):
    """The file has the tokens of a class in another order than the model that read the texts."""
    rng = np.random.default_rng(number)
    words = [f"w{i}" for i in range(rng.integers(2, 40))]
    n = int(rng.integers(4, 40))
    texts = [" ".join(rng.choice(words, rng.integers(1, 20))) for _ in range(n)]
    y, weights = np.arange(n) % 3, rng.uniform(0.1, 3, n)
    model = TextNB(hashed=[None, 16][number % 2], weighting=["counts", "l2"][number % 3 > 0])
    model.fit(texts, y, sample_weight=weights)
    loaded = verosim.loads(verosim.dumps(model))
    assert np.array_equal(model.predict_log_proba(texts), loaded.predict_log_proba(texts))


def test_the_names_of_a_model_without_sums_can_be_listed():
    model = verosim.CategoricalNB().fit([[0], [1], [1], [0]], [0, 0, 1, 1])
    loaded = verosim.loads(verosim.dumps(model, statistics=False))
    assert "predict" in dir(loaded)
    assert not hasattr(loaded, "category_count_")
