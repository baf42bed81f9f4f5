"""Published error counts: resubstitution and leave-one-out on iris and wine."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import verosim

ERRORS = {  # resubstitution, leave-one-out; MLE covariances, priors re-estimated
    ("iris_fisher", "LDA"): (3, 3),
    ("iris_fisher", "QDA"): (3, 4),
    ("iris_fisher", "GaussianNB"): (6, 7),
    ("wine", "LDA"): (0, 2),
    ("wine", "QDA"): (1, 1),
    ("wine", "GaussianNB"): (2, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), ERRORS)
def test_errors(data, name, model):
    with open(data / name / f"{name}.csv") as file:
        rows = list(csv.DictReader(file))
    target = "Species" if name == "iris_fisher" else "class"
    y = np.array([row.pop(target) for row in rows])
    X = np.array([[float(v) for v in row.values()] for row in rows])
    fitted = getattr(verosim, model)().fit(X, y)
    resubstitution = int((fitted.predict(X) != y).sum())
    left_out = 0
    for i in range(len(y)):
        one = slice(i, i + 1)
        rest = fitted.with_priors(None).forget(X[one], y[one])
        left_out += int(rest.predict(X[one])[0] != y[i])
    assert (resubstitution, left_out) == ERRORS[name, model]
