"""The text benchmark: calibration error, times, tables, and what is absent."""

from __future__ import annotations

import re

import numpy as np
import pytest
from benchmarks import pages, text_quality
from benchmarks.quality_runs import Cache
from benchmarks.text_corpora import CORPORA, corpus, is_absent
from benchmarks.text_models import REGISTRY, SEEDS, TextModel, missing
from benchmarks.text_quality import BINS, calibration_error, one_seed, sections, timed


def test_calibration_error_has_bins_of_equal_counts():
    confidence = np.repeat(np.linspace(0.1, 0.9, BINS), 10)
    right = np.concatenate([np.arange(10) < 10 * p for p in np.linspace(0.1, 0.9, BINS)])
    assert calibration_error(confidence, right) < 0.05
    assert calibration_error(np.ones(30), np.arange(30) < 15) == pytest.approx(0.5)


def test_short_work_is_repeated():
    calls = []
    out, clock, cpu = timed(lambda: calls.append(1) or len(calls))
    assert out == len(calls) == text_quality.REPEATS
    assert clock >= 0
    assert cpu >= 0


def test_the_page_has_the_marks_that_the_command_writes(tmp_path):
    page = (pages.ROOT / text_quality.PAGE).read_text()
    marks = re.findall(r"<!-- (?!end )(.+?) -->", page)
    assert marks == list(sections(Cache(tmp_path / "cache.json"), ["sms_spam"], [], {}))
    assert all(f"<!-- end {mark} -->" in page for mark in marks)


def test_tables_of_what_was_measured(tmp_path):
    cache = Cache(tmp_path / "cache.json")
    times = {"fit": 2.0, "fit_cpu": 4.0, "predict": 0.5, "predict_cpu": 1.0, "rows": 10}
    for seed in SEEDS:
        found = {"right": 8 + (seed == 2), "loss": 3.0, "error_of_calibration": 0.02}
        cache.add({("sms_spam", "contrast-length", seed): times | found})
    cache.add({("sms_spam", "svm", 0): times | {"right": 9}})
    cache.add({("sms_spam", "contrast", 0): times | {"right": 8, "loss": 5.0, "fit_cpu": 0.5}})
    cache.add({("sms_spam", "logistic", 0): {"error": "more than 3 s"}})
    keys = ["contrast", "contrast-length", "svm", "logistic"]
    made = sections(cache, ["sms_spam", "none"], keys, {"vw": "it is not installed"})
    assert any("0.8333 / **0.3000**" in line for line in made["text"])
    assert any(line.endswith("LinearSVC() | **0.9000** |") for line in made["text"])
    assert "- Vowpal Wabbit, words and pairs is left out: it is not installed" in made["text"]
    assert "- Not in the data folder: none." in made["text"] or is_absent("sms_spam")
    assert any("8.0 × / 1.0 ×" in line for line in made["text ratios"])
    assert not any("LogisticRegression" in line for line in made["text"])


def test_a_model_that_is_not_there_is_left_out_with_the_reason():
    def fit(texts, labels, seed):
        raise ImportError("no such library")

    assert missing(TextModel("x", "x", fit)) == "ImportError: no such library"
    assert missing(REGISTRY["contrast"]) is None


@pytest.mark.skipif(is_absent("trec_questions"), reason="needs VEROSIM_DATA")
def test_one_model_on_a_corpus():
    data = corpus("trec_questions")
    assert (len(data.texts), len(data.new)) == (5452, 500)
    record = one_seed("contrast", data, 0)
    assert record["rows"] == 500
    assert record["right"] > 380
    assert record["fit_cpu"] > 0
    assert set(CORPORA) > {"trec_questions"}
