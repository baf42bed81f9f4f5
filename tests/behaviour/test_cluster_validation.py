"""Validation of rows on a cluster: the figures of the same rows in this process.

The cluster of these tests is in this process. `tests/engines` has real schedulers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import verosim
from tests.engines.rows import same_findings
from tests.fake_cluster import cut, fake_table
from verosim import VerosimError
from verosim.validate.diagnosis import rows as diagnosis_rows


@pytest.fixture(scope="module")
def mixed():
    """Numbers with holes, categories, dates and weights; three classes."""
    rng = np.random.default_rng(11)
    n = 900
    y = rng.integers(0, 3, n)
    return pa.table({
        "size": rng.normal(y, 1.0),
        "wide": rng.normal(0, 1 + y) ** 2,
        "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1 + y)),
        "hue": np.array(list("abcdefg"))[(rng.integers(0, 5, n) + y) % 7],
        "site": pa.array([None if k % 13 == 0 else f"s{k % 4}" for k in range(n)]),
        "when": pa.array(rng.integers(1_700_000_000, 1_720_000_000, n), pa.timestamp("s")),
        "weight": rng.integers(0, 3, n).astype(float),
        "kind": np.array(["u", "v", "w"])[y],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("model", "columns"),
    [(verosim.NaiveBayes(), None), (verosim.LDA(), ["size", "wide", "kind"]),
     (verosim.QDA(), ["size", "wide", "kind"]), (verosim.GaussianNB(), ["size", "wide", "kind"])],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_a_diagnosis_gives_the_local_figures(mixed, model, columns):
    table = mixed if columns is None else mixed.select(columns)
    weight = "weight" if columns is None else None
    near = model.fit(table, "kind", sample_weight=weight)
    wanted = [verosim.diagnose(near), verosim.diagnose(near, table, "kind", weight)]
    there = fake_table(cut(table, 7))
    far = model.fit(there, "kind", sample_weight=weight)
    same_findings(verosim.diagnose(far), wanted[0])
    jobs = there.cluster.jobs
    same_findings(verosim.diagnose(far, there, "kind", weight), wanted[1])
    assert there.cluster.jobs == jobs + 1


def test_a_diagnosis_of_many_rows_uses_a_sample_and_says_so(mixed, monkeypatch):
    table = mixed.select(["size", "wide", "kind"])
    model = verosim.QDA().fit(table, "kind")
    monkeypatch.setattr(diagnosis_rows, "MOST_CELLS_SENT", 600)  # 100 rows of each class
    there = fake_table(cut(table, 7), batch_rows=50)
    found = verosim.diagnose(model, there, "kind")
    again = verosim.diagnose(model, fake_table(cut(table, 7)), "kind")
    assert [one.value for one in found] == [one.value for one in again]  # the same sample
    assert "Computed from 100 of" in found["skewness"][0].reading


def test_a_diagnosis_of_a_robust_model_is_refused_by_name(mixed):
    table = mixed.select(["size", "wide", "kind"])
    model = verosim.LDA(robust=True).fit(table, "kind")
    with pytest.raises(VerosimError, match=r"^robust=True needs all rows.*Give the rows as a"):
        verosim.diagnose(model, fake_table(cut(table, 2)), "kind")


SCORES_OF_CLASSES = ["f1_macro", "f1_weighted", "balanced_accuracy", "matthews_corrcoef",
                     "precision_macro", "recall_micro", "jaccard_weighted"]  # fmt: skip


@pytest.mark.parametrize("weight", [None, "weight"])
def test_scores_of_predicted_classes_come_from_the_confusion_matrix(mixed, weight):
    given = {"cv": 4, "scoring": SCORES_OF_CLASSES, "sample_weight": weight}
    near = verosim.cross_validate(verosim.NaiveBayes(), mixed, "kind", keep_rows=False, **given)
    far = verosim.cross_validate(verosim.NaiveBayes(), fake_table(cut(mixed, 7)), "kind", **given)
    for name in SCORES_OF_CLASSES:
        np.testing.assert_allclose(far.scores[name], near.scores[name], atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", ["average_precision", "neg_median_absolute_error", "rand_score"])
def test_scores_of_all_rows_are_refused_by_name(mixed, name):
    table = fake_table(cut(mixed, 2))
    with pytest.raises(VerosimError, match=f"scoring='{name}' needs the predictions of all rows"):
        verosim.cross_validate(verosim.NaiveBayes(), table, "kind", scoring=name)


# Scores by group ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "weight"])
def test_scores_by_group_are_the_local_ones(mixed, weight):
    given = {"cv": 4, "scoring": ["accuracy", "neg_log_loss", "f1_macro"], "by": "site"}
    near, far = (
        verosim.cross_validate(
            verosim.NaiveBayes(), one, "kind", sample_weight=weight, keep_rows=False, **given
        ).by
        for one in (mixed, fake_table(cut(mixed, 7)))
    )
    assert far.groups.tolist() == near.groups.tolist()
    assert len(far.groups) == 5  # missing cells are a group
    assert far.rows.tolist() == near.rows.tolist()
    np.testing.assert_allclose(far.confusion, near.confusion)
    np.testing.assert_allclose(far.calibration_error, near.calibration_error, atol=1e-9)
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


def test_groups_that_a_cluster_cannot_have_are_refused(mixed):
    table = fake_table(cut(mixed, 3))
    with pytest.raises(VerosimError, match="argument by is an array, but the rows are on a"):
        verosim.cross_validate(verosim.NaiveBayes(), table, "kind", by=np.zeros(900))
    with pytest.raises(VerosimError, match="The column by 'town' is not in the table"):
        verosim.cross_validate(verosim.NaiveBayes(), table, "kind", by="town")
    many = mixed.select(["size", "kind"]).append_column("id", pa.array(range(900)))
    many = pa.concat_tables([many, many.set_column(2, "id", pa.array(range(900, 1800)))])
    with pytest.raises(VerosimError, match="by must have at most 1,000 different groups; got more"):
        verosim.cross_validate(verosim.QDA(), fake_table(cut(many, 3)), "kind", by="id")


# Folds in the order of time ----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("cv", ["time:when", "time:when:3", "time:rank", "time:step:5"])
def test_folds_in_the_order_of_time_are_the_local_ones(mixed, cv, weight):
    rng = np.random.default_rng(2)
    table = (
        mixed.append_column("rank", pa.array(rng.normal(0, 1e6, 900).round(-5)))
        .append_column("step", pa.array(rng.integers(-2, 2, 900)))
        .select(["size", "hue", "when", "rank", "step", "weight", "kind"])
    )
    given = {"cv": cv, "sample_weight": weight, "keep_rows": False}
    near = verosim.cross_validate(verosim.NaiveBayes(), table, "kind", **given)
    there = fake_table(cut(table, 7))
    far = verosim.cross_validate(verosim.NaiveBayes(), there, "kind", **given)
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)
    assert far.rows == near.rows


def test_times_that_cannot_be_ordered_have_their_place(mixed):
    times = mixed["when"].to_pylist()
    times[700] = None
    table = mixed.set_column(mixed.column_names.index("when"), "when", pa.array(times))
    with pytest.raises(VerosimError, match=r"'when' is missing in row 100 of partition 2"):
        verosim.cross_validate(
            verosim.NaiveBayes(), fake_table(cut(table, 3)), "kind", cv="time:when"
        )
    same = mixed.append_column("same", pa.array([1.0] * 900))
    with pytest.raises(VerosimError, match="must have at least 2 different values; got 1"):
        verosim.cross_validate(
            verosim.NaiveBayes(), fake_table(cut(same, 3)), "kind", cv="time:same"
        )


# Fits outside each fold --------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [3, "site", "time:when:3"])
def test_models_that_choose_a_setting_are_fitted_outside_each_fold(mixed, cv):
    table = mixed.select(["size", "wide", "when", "site", "kind"])
    sites = pa.array(["none" if site is None else site for site in table["site"].to_pylist()])
    table = table.set_column(3, "site", sites)
    columns = {"when": "ignore", "site": "ignore"}
    schema = verosim.look(table, "kind", columns=columns)
    near, far = (
        verosim.cross_validate(
            verosim.RDA(shrinkage="cv", pooling=0.5), one, "kind", cv, schema=schema,
            keep_rows=False, by="site" if cv == 3 else None,
        )
        for one in (table, fake_table(cut(table, 7)))
    )  # fmt: skip
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)
    assert far.rows == near.rows
    if cv == 3:
        np.testing.assert_allclose(far.by.scores["accuracy"], near.by.scores["accuracy"])


def test_a_look_outside_each_fold_sees_the_rows_outside(mixed):
    table = mixed.select(["size", "hue", "site", "kind"])
    near, far = (
        verosim.cross_validate(
            verosim.CategoricalNB(alpha="cv"), one, "kind", 3, sample_weight=None, keep_rows=False
        )
        for one in (
            table.select(["hue", "kind"]),
            fake_table(cut(table.select(["hue", "kind"]), 7)),
        )
    )
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


# Calibration -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [4, 25, "site"])
def test_a_temperature_is_the_local_one(mixed, cv):
    table = mixed.select(["size", "wide", "hue", "site", "weight", "kind"])
    sites = pa.array(["none" if site is None else site for site in table["site"].to_pylist()])
    table = table.set_column(3, "site", sites)
    model = verosim.Calibrated(verosim.NaiveBayes(), cv=cv)
    there = fake_table(cut(table, 7))
    near, far = (clone(model).fit(one, "kind", sample_weight="weight") for one in (table, there))
    assert far.map_.tau == pytest.approx(near.map_.tau, rel=1e-9)
    for name in ("before_", "after_"):
        a, b = getattr(far, name), getattr(near, name)
        for figure in ("error", "log_loss", "brier"):
            assert getattr(a, figure) == pytest.approx(getattr(b, figure), abs=1e-9)
    np.testing.assert_allclose(far.predict_proba(table), near.predict_proba(table), atol=1e-9)
    assert there.cluster.jobs < 15
    found = pa.concat_tables(far.predict_table(fake_table(cut(table, 3))))
    assert found["prediction"].to_pylist() == near.predict(table).tolist()


def test_a_temperature_of_a_model_that_chooses_a_setting_is_refused(mixed):
    table = fake_table(cut(mixed.select(["size", "wide", "kind"]), 3))
    with pytest.raises(VerosimError, match=r"The calibration of RDA with these settings needs all"):
        verosim.Calibrated(verosim.RDA(shrinkage="cv")).fit(table, "kind")
