"""What every engine must give: the figures of the local engine, for partitions of several shapes.

A module of tests that imports these tests defines the fixture `in_parts`: a function of a pandas
frame and a way to cut it. It returns the frame in the order of the partitions, and the same rows on
the engine.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import verosim
from tests.engines.rows import (
    WAYS,
    mixed_frame,
    numbers_frame,
    same_calibrations,
    same_diagnosis,
    same_pools,
    same_scores_by_group,
)
from verosim import VerosimWarning
from verosim.testing import assert_same

SCORES = ["accuracy", "neg_log_loss", "neg_brier_score"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_mixed_table_gives_the_local_sums(in_parts, way, weight):
    frame = mixed_frame() if weight else mixed_frame().drop(columns="weight")
    frame, there = in_parts(frame, way)
    near = verosim.NaiveBayes().fit(frame, "kind", sample_weight=weight)
    far = verosim.NaiveBayes().fit(there, "kind", sample_weight=weight)  # the look covers all rows
    assert far.schema_ == near.schema_
    assert_same(far.stats_, near.stats_, rounding=1e-11)


@pytest.mark.parametrize("way", WAYS)
def test_covariances_give_the_local_sums(in_parts, way):
    frame, there = in_parts(numbers_frame(), way)
    near, far = (verosim.QDA().fit(one, "kind") for one in (frame, there))
    assert_same(far.stats_, near.stats_, rounding=1e-9)


@pytest.mark.parametrize("way", ["7", "empty", "late class"])
def test_holes_give_the_local_sums(in_parts, way):
    frame, there = in_parts(mixed_frame()[["size", "holes", "kind"]], way)
    near, far = (verosim.QDA(missing="marginalise").fit(one, "kind") for one in (frame, there))
    assert_same(far.stats_, near.stats_, rounding=1e-9)
    np.testing.assert_allclose(far.predict_proba(frame), near.predict_proba(frame), atol=1e-8)


@pytest.mark.parametrize("way", ["7", "sorted", "late class"])
def test_texts_give_the_local_sums(in_parts, way):
    frame, there = in_parts(mixed_frame()[["note", "kind"]], way)
    near, far = (verosim.TextNB().fit(one, "kind") for one in (frame, there))
    np.testing.assert_allclose(far.predict_proba(frame), near.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("cv", [5, "hue"])
def test_cross_validation_gives_the_local_figures(in_parts, cv):
    frame, there = in_parts(mixed_frame(), "7")
    given = {"cv": cv, "scoring": SCORES, "sample_weight": "weight"}
    near = verosim.cross_validate(verosim.NaiveBayes(), frame, "kind", keep_rows=False, **given)
    far = verosim.cross_validate(verosim.NaiveBayes(), there, "kind", **given)
    for name in SCORES:
        np.testing.assert_allclose(far.scores[name], near.scores[name], atol=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)


def test_search_gives_the_local_figures(in_parts):
    frame, there = in_parts(numbers_frame(), "7")
    grid = {"shrinkage": [0.0, 0.3], "pooling": [0.0, 1.0]}
    near, far = (
        verosim.search(verosim.RDA(), one, "kind", grid, cv=4) for one in (frame, there)
    )  # fmt: skip
    assert far.best_settings == near.best_settings
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


def test_a_diagnosis_gives_the_local_figures(in_parts):
    frame, there = in_parts(mixed_frame(), "7")
    same_diagnosis(frame, there)


@pytest.mark.parametrize("cv", [4, "time:when:3"])
def test_scores_by_group_and_in_the_order_of_time(in_parts, cv):
    frame, there = in_parts(mixed_frame(), "7")
    same_scores_by_group(frame, there, cv)


def test_a_model_that_chooses_a_setting_is_fitted_outside_each_fold(in_parts):
    frame, there = in_parts(numbers_frame(), "7")
    near, far = (
        verosim.cross_validate(verosim.RDA(shrinkage="cv"), one, "kind", 3, keep_rows=False)
        for one in (frame, there)
    )
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


def test_workers_send_unseen_values_and_warnings(in_parts):
    model = verosim.NaiveBayes().fit(mixed_frame()[["size", "hue", "kind"]], "kind")
    with pytest.warns(VerosimWarning, match="Column 'hue': all 1,200 values"):
        model.score(in_parts(mixed_frame()[["size", "kind"]].assign(hue="new"), "7")[1])
    texts = in_parts(mixed_frame()[["note", "kind"]], "7")[1]
    with pytest.warns(VerosimWarning, match="more than max_tokens=3 different tokens"):
        verosim.TextNB(max_tokens=3).fit(texts, "kind")


def test_pools_of_many_rows_give_the_local_figures(in_parts):
    """More rows than are brought here: the held-out rows are chosen on the workers."""
    frame = mixed_frame(51_000)[["size", "holes", "hue", "when", "weight", "kind"]]
    frame, there = in_parts(frame, "7")
    near, far = (
        verosim.auto(one, "kind", effort="fast", sample_weight="weight") for one in (frame, there)
    )
    same_pools(far, near)


def test_pools_of_texts_give_the_local_figures(in_parts):
    """The leading terms are chosen on the workers too."""
    frame = mixed_frame(51_000)[["note", "kind"]]
    near = verosim.TextPool([verosim.TextNB(), verosim.TextRidge(d=20)]).fit(frame, "kind")
    far = clone(near).fit(in_parts(frame, "7")[1], "kind")
    assert far.table_[0].score == pytest.approx(near.table_[0].score, abs=1e-9)
    assert_same(far.stats_, near.stats_, rounding=1e-9)


def test_a_temperature_is_the_local_one(in_parts):
    frame, there = in_parts(mixed_frame()[["size", "holes", "hue", "weight", "kind"]], "7")
    same_calibrations(*(
        verosim.Calibrated(verosim.NaiveBayes(), cv=3).fit(one, "kind", sample_weight="weight")
        for one in (there, frame)
    ))  # fmt: skip
