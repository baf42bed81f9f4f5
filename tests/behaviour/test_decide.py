"""`decide`: the class with the least expected cost, from the posterior and the costs alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Scikit

from verosim import (
    LDA,
    QDA,
    GaussianNB,
    LinearSVM,
    LogisticRegression,
    NaiveBayes,
    Reject,
    VerosimError,
    calibrate,
    decide,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
LABELS = NAMES[y]


def test_costs_of_one_give_the_prediction():
    for model in (QDA().fit(X, y), LDA().fit(X, y), LogisticRegression().fit(X, y)):
        np.testing.assert_array_equal(decide(model, X, {}), model.predict(X))
        np.testing.assert_array_equal(decide(model, X, 1 - np.eye(3)), model.predict(X))


def test_decision_minimises_the_expected_cost_row_by_row():
    rng = np.random.default_rng(0)
    model, costs = QDA().fit(X, LABELS), rng.uniform(-1, 6, (3, 3))
    posterior = model.predict_proba(X)
    by_hand = [min(range(3), key=lambda j: sum(p[k] * costs[k, j] for k in range(3)))
               for p in posterior]  # fmt: skip
    np.testing.assert_array_equal(decide(model, X, costs), NAMES[by_hand])
    pairs = {(NAMES[k], NAMES[j]): costs[k, j] for k in range(3) for j in range(3)}
    np.testing.assert_array_equal(decide(model, X, pairs), NAMES[by_hand])
    frame = pd.DataFrame(costs, index=NAMES, columns=NAMES).iloc[::-1, [1, 0, 2]]
    np.testing.assert_array_equal(decide(model, X, frame), NAMES[by_hand])


def test_two_classes_move_the_threshold_of_the_posterior():
    A, b = load_breast_cancer(return_X_y=True)
    model = GaussianNB().fit(A, b)
    p = model.predict_proba(A)[:, 1]
    # Decide for 1 if (1 − p) · 1 < p · 5, so p > 1/6.
    np.testing.assert_array_equal(decide(model, A, {(1, 0): 5}), (p > 1 / 6).astype(int))


def test_costs_cost_less_on_average_than_the_prediction():
    A, b = load_breast_cancer(return_X_y=True)
    model = calibrate(LDA(), A[::2], b[::2])
    costs = np.array([[0, 20.0], [1, 0]])
    rows, labels = A[1::2], b[1::2]
    paid = [costs[labels, found].mean() for found in (decide(model, rows, costs),
                                                      model.predict(rows))]  # fmt: skip
    assert paid[0] < paid[1]


def test_tables_are_read_as_predict_reads_them(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=LABELS)
    frame.to_csv(tmp_path / "iris.csv", sep=";", index=False)
    model = NaiveBayes().fit(frame, "kind")
    costs = {("virginica", "versicolor"): 30}
    found = decide(model, frame, costs)
    np.testing.assert_array_equal(
        decide(model, tmp_path / "iris.csv", costs, read={"sep": ";"}), found
    )
    assert (found == "virginica").sum() > (model.predict(frame) == "virginica").sum()


def test_rejected_rows_keep_the_label_of_reject():
    model = Reject(QDA(), novelty=0.05, label="unknown").fit(X, LABELS)
    found = decide(model, X, {("setosa", "virginica"): 3})
    np.testing.assert_array_equal(found == "unknown", model.rejected(X))


def test_other_classifiers_with_probabilities():
    other = Scikit(max_iter=1000).fit(X, LABELS)
    found = decide(other, X, {("virginica", "versicolor"): 1e6})
    assert not (found[LABELS == "virginica"] == "versicolor").any()


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({("setosa", "virginika"): 2}, "'virginika'.*Did you mean 'virginica'"),
        ({("setosa", 7): 2}, "The class 7 .*Use one of the classes"),
        ({"setosa": 2}, "pair"),
        ({("setosa", "virginica"): "many"}, "'setosa', 'virginica'.*must be a number; got 'many'"),
        ({("setosa", "virginica"): np.nan}, "must be a number; got nan"),
        (np.eye(2), r"each of the 3 classes; got shape \(2, 2\)"),
        (None, "costs must be a dict or an array; got None"),
    ],
)
def test_wrong_costs_are_named(costs, words):
    with pytest.raises(VerosimError, match=words):
        decide(QDA().fit(X, LABELS), X, costs)


def test_model_without_probabilities_or_fit():
    with pytest.raises(VerosimError, match="probabilities; got LinearSVM"):
        decide(LinearSVM().fit(X, LABELS), X, {})
    with pytest.raises(VerosimError, match="not fitted"):
        decide(QDA(), X, {})
