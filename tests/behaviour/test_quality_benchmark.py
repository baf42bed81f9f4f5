"""The quality benchmark: temperature, means, comparisons, cache, splits and marks of the page."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from benchmarks import pages, quality
from benchmarks.quality_checks import compared, entropy
from benchmarks.quality_models import (
    LABELS,
    NO_EARLY_STOPPING,
    REGISTRY,
    Model,
    categoricals,
    hist_gradient_boosting,
    missing,
    missing_as_category,
    plain,
    with_target,
)
from benchmarks.quality_report import (
    Score,
    against,
    costs,
    losses,
    means,
    notes,
    pairs,
    results,
    times_by_table,
    wins,
)
from benchmarks.quality_runs import (
    LEAST,
    Cache,
    aligned,
    held_out_temperature,
    one_fold,
    scores,
    temperature,
    tempered,
)
from benchmarks.quality_tables import (
    BUNDLED,
    CHOSEN_ON,
    CONFIRMED_ON,
    NAMES,
    Table,
    folds,
    one_split,
    table,
)
from scipy.special import log_softmax


def score(accuracy: float, log_loss: float, rows: int = 100, fit: float = 1.0) -> Score:
    return Score(rows, accuracy, log_loss, fit, 0.5, 10.0)


# Scores ------------------------------------------------------------------------------------------


def test_scores_clip_small_probabilities():
    log_p = aligned(
        np.array([[1.0, 0.0], [0.25, 0.75]]), np.array(["a", "c"]), np.array(list("abc"))
    )
    assert log_p.shape == (2, 3)
    found = scores(log_p, np.array([1, 2]))  # class b has no training rows
    assert found["rows"] == 2
    assert found["right"] == 1
    assert found["loss"] == pytest.approx(-np.log(LEAST) - np.log(0.75))


def test_probabilities_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        aligned(np.array([[np.nan, 1.0]]), np.array(["a", "b"]), np.array(["a", "b"]))


def test_temperature_finds_the_power_of_the_labels():
    """Labels drawn from p; posteriors p^3 / Σ p^3 need the power 1/3."""
    rng = np.random.default_rng(0)
    log_p = log_softmax(rng.normal(size=(20_000, 3)), axis=1)
    own = (rng.random((20_000, 1)) > np.exp(log_p).cumsum(axis=1)).sum(axis=1)
    beta = temperature(log_softmax(3 * log_p, axis=1), own)
    assert beta == pytest.approx(1 / 3, abs=0.01)
    assert np.allclose(tempered(log_softmax(3 * log_p, axis=1), 1 / 3), log_p)


def test_temperature_has_the_smallest_loss_and_limits():
    rng = np.random.default_rng(1)
    log_p, own = log_softmax(2 * rng.normal(size=(200, 4)), axis=1), rng.integers(0, 4, 200)
    own[:100] = log_p[:100].argmax(axis=1)
    beta = temperature(log_p, own)
    loss = [scores(tempered(log_p, b), own)["loss"] for b in (beta - 0.01, beta, beta + 0.01)]
    assert loss[1] == min(loss)
    sure = np.log([[0.9, 0.1], [0.1, 0.9]])
    assert temperature(sure, np.array([0, 1])) == 5.0  # always right: as sharp as allowed
    assert temperature(sure, np.array([1, 0])) == 0.05  # always wrong: as flat as allowed


def test_entropy_and_the_comparison_with_it():
    assert entropy(np.array(["a", "a", "b", "b"])) == pytest.approx(np.log(2))
    assert entropy(np.array(["a"])) == 0
    gap, error, fine = compared([0.7, 0.8, 0.75], [0.7, 0.7, 0.7])
    assert gap == pytest.approx(0.05)
    assert error == pytest.approx(0.05 / np.sqrt(3))
    assert fine
    assert not compared([0.5, 0.51, 0.49], [0.7, 0.7, 0.7])[2]


# Tables ------------------------------------------------------------------------------------------


def test_the_halves_share_no_rows():
    assert not set(CHOSEN_ON) & set(CONFIRMED_ON)
    assert len(NAMES) == len(CHOSEN_ON) + len(CONFIRMED_ON)
    for name, twin in (("pima_mass", "pima"), ("sklearn_digits", "optdigits"),
                       ("sklearn_iris", "iris_fisher"), ("sklearn_wine", "wine")):  # fmt: skip
        assert (name in CHOSEN_ON) == (twin in CHOSEN_ON)


def test_every_table_of_the_data_folder_is_in_the_list():
    if not pages.DATA.exists():
        pytest.skip("needs the folder of real data sets")
    found = {path.parent.name for path in pages.DATA.glob("*/*.schema.json")
             if '"text"' not in path.read_text()}  # fmt: skip
    assert found == set(NAMES) - set(BUNDLED)


def test_a_bundled_table_has_five_folds():
    iris = table("sklearn_iris")
    assert iris.X.shape == (150, 4)
    assert list(iris.classes) == ["0", "1", "2"]
    assert sorted(np.concatenate([test for _, test in iris.splits])) == list(range(150))


def test_training_sets_of_the_curve_are_nested():
    y = np.repeat(["a", "b"], 500)
    (few, test), (many, again) = one_split(y, 100)[0], one_split(y)[0]
    assert (few == many[:100]).all()
    assert (test == again).all()
    assert len(many) == 800


# Models ------------------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    X = pd.DataFrame({
        "colour, of it": ["red", "blue", None, "red"], "flag": [True, False, True, True],
        "size": [1.0, 2.0, np.nan, 4.0],
    })  # fmt: skip
    new = X.assign(**{"colour, of it": ["green", "red", "blue", None]})
    return X, np.array(list("abab")), new


def test_categories_are_those_of_the_training_rows(mixed):
    rows, new = categoricals(*mixed)
    assert list(rows["c0"].cat.categories) == ["blue", "red"]
    assert new["c0"].isna().tolist() == [True, False, False, True]
    rows, new = missing_as_category(*mixed)
    assert list(rows["colour, of it"]) == ["red", "blue", "(missing)", "red"]
    assert list(new["colour, of it"])[::3] == ["green", "(missing)"]
    rows, _ = plain(*mixed)
    assert list(rows["flag"]) == ["True", "False", "True", "True"]


@pytest.mark.slow
def test_early_stopping_is_off_if_a_class_has_one_row():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(10_050, 1)), columns=["x"])
    y = np.where(X["x"] > 0, "a", "b")
    y[0] = "c"
    model = hist_gradient_boosting(X, y)
    assert model.note_ == NO_EARLY_STOPPING
    assert set(model.classes_) == {"a", "b", "c"}


def refuse(rows: object, y: np.ndarray) -> object:
    raise TypeError("unexpected keyword argument 'effort'")


def test_a_model_that_does_not_exist_is_left_out_with_the_reason():
    absent = Model("absent", "Absent", "Absent()", refuse, with_target, "expert")
    assert missing(absent) == "TypeError: unexpected keyword argument 'effort'"
    assert missing(REGISTRY["naive-bayes"]) is None


def test_one_fold_of_a_model_and_its_temperature():
    y = np.repeat(["a", "b"], 40)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["u", "v"])
    data = Table("made", X + (y == "b")[:, None], y, folds(y))
    model = Model("lda", "LDA", "LDA()", REGISTRY["lda-sklearn"].fit, plain, "pipeline",
                  tempered=True)  # fmt: skip
    found, log_p = one_fold(model, data, 0)
    assert list(found) == ["lda", "lda+temperature"]
    assert found["lda"]["rows"] == 16
    assert found["lda"]["right"] == found["lda+temperature"]["right"]
    assert found["lda+temperature"]["fit"] > found["lda"]["fit"]
    beta = held_out_temperature(model, data, data.splits[0][0])
    assert found["lda+temperature"]["beta"] == beta
    assert np.allclose(log_p["lda+temperature"], tempered(log_p["lda"], beta))


# Cache and report --------------------------------------------------------------------------------


def record(right: int, loss: float, **more: object) -> dict[str, object]:
    return {"rows": 10, "right": right, "loss": loss, "fit": 1.0, "predict": 0.1, "memory": 5.0,
            "note": "", "run": "first", "threads": 2} | more  # fmt: skip


def test_two_runs_write_the_same_cache(tmp_path):
    one, two = (Cache(tmp_path / "cache.json") for _ in range(2))
    one.add({("car", "auto", 0): record(9, 1.0)})
    two.add({("car", "lightgbm", 0): record(8, 2.0)})
    kept = Cache(tmp_path / "cache.json")
    assert kept.is_finished("car", "auto", 0)
    assert kept.get("car", "lightgbm", 0)["right"] == 8
    assert not kept.is_finished("car", "auto", 1)


def test_errors_are_tried_again_and_limits_are_not(tmp_path):
    cache = Cache(tmp_path / "cache.json")
    cache.add({("car", "auto", 0): {"error": "ValueError"},
               ("car", "auto", 1): {"error": "more than 60 s", "limit": 60}})  # fmt: skip
    assert not cache.is_finished("car", "auto", 0, limit=60)
    assert cache.is_finished("car", "auto", 1, limit=60)
    assert not cache.is_finished("car", "auto", 1, limit=120)


def test_results_need_all_folds(tmp_path):
    cache = Cache(tmp_path / "cache.json")
    cache.add({("car", "auto", fold): record(fold + 5, 1.0 + fold) for fold in range(5)})
    cache.add({("zoo", "auto", fold): record(9, 1.0) for fold in range(4)})
    cache.add({("zoo", "auto", 4): {"error": "ValueError: no", "run": "second", "threads": 1}})
    found = results(cache, ["car", "zoo"], ["auto"])
    assert found == {"auto": {"car": Score(50, 0.7, 0.3, 5.0, 0.5, 5.0)}}
    said = "\n".join(notes(cache, ["car", "zoo"], ["auto"], found, {"mda": "AttributeError: MDA"}))
    assert "MDA() is left out: `AttributeError: MDA`" in said
    assert "auto failed on zoo: `ValueError: no`" in said
    assert "Threads per model: 1 and 2. The times come from 2 runs" in said


FOUND = {
    "auto": {"car": score(0.9, 0.2), "votes": score(0.8, 0.4, 3_000)},
    "lightgbm": {"car": score(0.95, 0.1, fit=2.0), "votes": score(0.7, 0.5, 3_000)},
    "logistic": {"car": score(0.8, 0.3)},
}


def test_means_by_group_of_tables():
    assert means(FOUND) == [
        "| model | all tables (2) | chosen on (1) | confirmed on (1) | n > 2,000 (1) |",
        "| --- | --- | --- | --- | --- |",
        "| auto | **0.8500** / **0.3000** | 0.9000 / 0.2000 | **0.8000** / **0.4000** | "
        "**0.8000** / **0.4000** |",
        "| LightGBM | 0.8250 / **0.3000** | **0.9500** / **0.1000** | 0.7000 / 0.5000 | "
        "0.7000 / 0.5000 |",
        "| logistic regression | – | 0.8000 / 0.3000 | – | – |",
    ]


def test_wins_are_over_shared_tables():
    assert against(FOUND["auto"], FOUND["lightgbm"]) == ([1, 0, 1], [1, 0, 1])
    assert against(FOUND["auto"], FOUND["logistic"]) == ([1, 0, 0], [1, 0, 0])
    assert wins(FOUND)[2:] == [
        "| LightGBM | 2 | +0.0250 | +0.0000 | 1 / 0 / 1 | 1 / 0 / 1 |",
        "| logistic regression | 1 | +0.1000 | -0.1000 | 1 / 0 / 0 | 1 / 0 / 0 |",
    ]


def test_times_losses_and_bold_figures():
    assert costs(FOUND)[3].split(" | ")[2:4] == ["3000 ms", "1.50 ×"]
    assert times_by_table(FOUND)[3].count("10 MB") == 2
    assert losses(FOUND)[2:] == [
        "| log-loss | car | 0.2000 | LightGBM | 0.1000 | 0.1000 |",
        "| accuracy | car | 0.9000 | LightGBM | 0.9500 | 0.0500 |",
    ]
    assert pairs([(0.5, 0.1), None, (0.5, 0.2)]) == ["**0.5000** / **0.1000**", "–",
                                                     "**0.5000** / 0.2000"]  # fmt: skip


def test_the_report_fills_the_marks_of_the_page(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache.json")
    made = quality.sections(cache, ["car", "votes"], ["auto"], FOUND, {})
    copy = tmp_path / quality.PAGE
    copy.parent.mkdir(parents=True)
    old = (pages.ROOT / quality.PAGE).read_text()
    copy.write_text(old)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    for mark, lines in made.items():
        pages.keep(quality.PAGE, mark, "\n".join(lines))
    new = copy.read_text()
    marks = re.compile(r"<!-- .+? -->")
    assert marks.findall(new) == marks.findall(old)
    between = re.search(r"<!-- quality wins -->\n(.*?)\n<!-- end quality wins -->", new, re.DOTALL)
    assert between[1].splitlines()[:-2] == wins(FOUND)  # the last line has the commit
    assert set(LABELS) >= set(FOUND)
