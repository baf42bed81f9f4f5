"""LDA of whole tables against scikit-learn's LDA on one-hot columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from verosim import LDA


def rows_of(data, name):
    if name == "adult":
        table = pd.read_parquet(data / "adult" / "adult.parquet").drop(columns="split")
        return table.drop(columns="income"), table["income"].astype(str).to_numpy()
    table = pd.read_csv(data / "german_credit" / "german_credit.csv")
    return table.drop(columns="class"), table["class"].to_numpy()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.SingularWarning")  # education has a number
@pytest.mark.parametrize("name", ["german_credit", "adult"])
def test_lda_on_one_hot_columns(data, name):
    """Held-out log-loss within 0.002 of scikit-learn's, on five folds."""
    X, y = rows_of(data, name)
    numbers = X.select_dtypes("number").columns.tolist()
    texts = [c for c in X if c not in numbers]
    theirs = make_pipeline(
        make_column_transformer(
            (StandardScaler(), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
        ),
        LinearDiscriminantAnalysis(),
    )
    loss = {}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for who, model in (("verosim", LDA(encode="onehot")), ("scikit-learn", theirs)):
        total = 0.0
        for train, test in folds.split(X, y):
            model.fit(X.iloc[train], y[train])
            proba = model.predict_proba(X.iloc[test])
            at = np.searchsorted(model.classes_, y[test])
            total -= np.log(np.maximum(proba[np.arange(len(at)), at], 1e-15)).sum()
        loss[who] = total / len(y)
    assert abs(loss["verosim"] - loss["scikit-learn"]) < 0.002, loss


def test_the_same_model_as_on_one_hot_columns(rng):
    """Without missing and rare values both are the same linear functions."""
    n = 500
    y = rng.choice(["a", "b", "c"], n)
    k = np.searchsorted(["a", "b", "c"], y)
    X = pd.DataFrame({
        "x": rng.normal(1e3 + k, 2), "city": rng.choice(["Lima", "Quito", "Cusco"], n),
        "hue": np.where(rng.random(n) < 0.3 + 0.2 * k, "red", "blue"),
    })  # fmt: skip
    onehot = make_column_transformer(
        (OneHotEncoder(drop="first"), ["city", "hue"]), ("passthrough", ["x"])
    )
    theirs = make_pipeline(onehot, LinearDiscriminantAnalysis(solver="lsqr")).fit(X, y)
    ours = LDA(encode="onehot").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
