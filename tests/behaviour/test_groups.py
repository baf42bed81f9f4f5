"""`cross_validate(…, by=…)`: the scores, calibration and decision rates of each group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

from verosim import (
    LDA,
    MDA,
    GaussianNB,
    LeastSquares,
    NaiveBayes,
    VerosimError,
    cross_validate,
    look,
    reliability,
)

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :6]
RNG = np.random.default_rng(0)
GROUP = RNG.choice(["f", "m", "x"], len(y), p=[0.6, 0.37, 0.03])
LABELS = np.where(y == 1, "benign", "malignant")
TABLE = pd.DataFrame(X, columns=list("abcdef")).assign(sex=GROUP, kind=LABELS)


@pytest.mark.parametrize("weights", [None, RNG.uniform(0, 2, len(y)) * (RNG.random(len(y)) > 0.1)])
@pytest.mark.parametrize("cv", [5, "loo"])
def test_numbers_of_a_group_are_those_of_its_rows_alone(weights, cv):
    scoring = ["accuracy", "neg_log_loss", "roc_auc"]
    found = cross_validate(GaussianNB(), X, LABELS, cv, scoring, by=GROUP, sample_weight=weights)
    by, w = found.by, np.ones(len(y)) if weights is None else weights
    assert by.groups.tolist() == ["f", "m", "x"]
    for g, name in enumerate(by.groups):
        at = (name == GROUP) & (w > 0)
        true, p, mass = LABELS[at], found.proba[at], w[at]
        predicted = by.classes[p.argmax(axis=1)]
        table = confusion_matrix(true, predicted, sample_weight=mass)
        assert by.rows[g] == at.sum()
        np.testing.assert_allclose(by.confusion[g], table)
        assert by.scores["accuracy"][g] == pytest.approx(np.trace(table) / table.sum())
        assert by.scores["neg_log_loss"][g] == pytest.approx(-log_loss(true, p, sample_weight=mass))
        assert by.scores["roc_auc"][g] == pytest.approx(
            roc_auc_score(true, p[:, 1], sample_weight=mass)
        )
        assert by.calibration_error[g] == pytest.approx(
            reliability(true, p, by.classes, sample_weight=mass).error
        )
        for k in range(2):
            others = table.sum() - table[k].sum()
            assert by.predicted_shares[g, k] == pytest.approx(table[:, k].sum() / table.sum())
            assert by.true_shares[g, k] == pytest.approx(table[k].sum() / table.sum())
            assert by.true_positive_rates[g, k] == pytest.approx(table[k, k] / table[k].sum())
            assert by.false_positive_rates[g, k] == pytest.approx(table[1 - k, k] / others)
    np.testing.assert_allclose(by.confusion.sum(axis=0), found.confusion)


def test_column_may_be_part_of_the_model_or_not():
    used = cross_validate(NaiveBayes(), TABLE, "kind", cv=3, by="sex")
    ignored = cross_validate(NaiveBayes(columns={"sex": "ignore"}), TABLE, "kind", cv=3, by="sex")
    plain = cross_validate(NaiveBayes(), TABLE, "kind", cv=3)
    np.testing.assert_array_equal(used.proba, plain.proba)
    assert np.abs(used.proba - ignored.proba).max() > 1e-6
    np.testing.assert_array_equal(used.by.rows, ignored.by.rows)


def test_files_frames_and_arrow_give_the_same(tmp_path):
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    wanted = cross_validate(NaiveBayes(), TABLE, "kind", cv=3, by="sex").by
    for source in (path, pa.Table.from_pandas(TABLE)):
        schema = look(TABLE, "kind")
        found = cross_validate(
            NaiveBayes(), source, "kind", cv=3, by="sex", keep_rows=False, schema=schema
        ).by
        np.testing.assert_allclose(found.confusion, wanted.confusion)
        np.testing.assert_allclose(found.calibration_error, wanted.calibration_error)
    as_array = cross_validate(NaiveBayes(), TABLE, "kind", cv=3, by=GROUP).by
    np.testing.assert_allclose(as_array.confusion, wanted.confusion)
    frame = TABLE.drop(columns=["sex", "kind"]).assign(size=np.where(TABLE["a"] > 14, 1, 0))
    named = cross_validate(LDA(), frame, LABELS, cv=3, by="size").by
    assert named.rows.tolist() == [(X[:, 0] <= 14).sum(), (X[:, 0] > 14).sum()]


def test_models_that_are_fitted_again_and_models_without_probabilities():
    A, b = load_iris(return_X_y=True)
    half = np.arange(len(b)) % 2
    mixture = cross_validate(MDA(components=1), A, b, cv=3, by=half).by
    assert mixture.rows.tolist() == [75, 75]
    linear = cross_validate(LeastSquares(), A, b, cv=3, by=half).by
    assert linear.reliability == ()
    assert np.isnan(linear.calibration_error).all()
    assert "calibration" not in str(linear)


def test_missing_values_are_a_group_of_their_own(tmp_path):
    some = TABLE.assign(sex=TABLE["sex"].where(RNG.random(len(y)) < 0.8))
    path = tmp_path / "table.csv"
    some.to_csv(path, index=False)
    for source, by in ((path, "sex"), (some, some["sex"]), (some, "sex")):
        found = cross_validate(NaiveBayes(), source, "kind", cv=3, by=by).by
        assert found.groups.tolist() == ["f", "m", "x", "‹missing›"]
        assert found.column == "sex"
        assert found.rows[-1] == some["sex"].isna().sum()


def test_rows_without_a_label_are_left_out_of_their_group():
    labels = LABELS.astype(object)
    labels[::7] = None
    for source, target, by in (
        (X, labels, GROUP),
        (TABLE.assign(kind=labels), "kind", "sex"),
        (TABLE[list("abcdef")], labels, GROUP),
    ):
        found = cross_validate(GaussianNB() if target is labels else NaiveBayes(),
                               source, target, cv=3, by=by, unlabelled="skip").by  # fmt: skip
        kept = np.arange(len(y)) % 7 > 0
        assert found.rows.tolist() == [((name == GROUP) & kept).sum() for name in found.groups]


def test_small_groups_are_marked_and_do_not_count_in_the_gap():
    found = cross_validate(GaussianNB(), X, LABELS, cv=3, by=GROUP).by
    assert found.few.tolist() == [False, False, True]
    lines = str(found).splitlines()
    assert lines[0] == "by 'groups', positive class 'malignant'"
    assert lines[4].startswith("x *")
    assert lines[-1] == "* fewer than 30 rows"
    gap = float(lines[5].removeprefix("largest gap").split()[0])
    assert gap == pytest.approx(np.ptp(found.scores["accuracy"][:2]), abs=1e-3)


def test_rates_that_do_not_exist_are_nan():
    split = np.where(y == 1, "all benign", "all malignant")
    found = cross_validate(GaussianNB(), X, LABELS, cv=3, by=split, scoring="roc_auc").by
    assert np.isnan(found.scores["roc_auc"]).all()
    assert np.isnan(found.true_positive_rates[0, 1])
    assert np.isnan(found.false_positive_rates[0, 0])


def test_results_print_and_become_a_data_frame():
    A, b = load_iris(return_X_y=True)
    found = cross_validate(GaussianNB(), A, b, cv=3, by=np.arange(150) % 2)
    assert "class 2" in str(found)
    frame = found.by.to_pandas()
    assert frame.columns[:2].tolist() == ["groups", "rows"]
    assert frame["predicted 1"].tolist() == found.by.predicted_shares[:, 1].tolist()
    assert len(frame) == 2


@pytest.mark.parametrize(
    ("source", "target", "by", "words"),
    [
        (TABLE, "kind", "sexe", "The column by 'sexe' is not in the table.*Did you mean 'sex'"),
        (X, LABELS, "sex", "by='sex' is not a column, because X is an array"),
        (X, LABELS, GROUP[:-1], "one group for each of the 569 rows; got 568"),
        (TABLE, "kind", GROUP[:-1], "one group for each of the 569 rows; got 568"),
        (X, LABELS, X, r"one value for each row; got shape \(569, 6\)"),
        (np.tile(X, (2, 1)), np.tile(LABELS, 2), np.arange(1138), "at most 1,000"),
    ],
)
@pytest.mark.parametrize("cv", [3, "loo"])
def test_wrong_groups_are_named(source, target, by, words, cv):
    with pytest.raises(VerosimError, match=words):
        cross_validate(
            NaiveBayes() if isinstance(target, str) else LDA(), source, target, cv, by=by
        )
