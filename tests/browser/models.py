"""Models of every family, with the rows that they were fitted on."""

from __future__ import annotations

import numpy as np
import pandas as pd

import verosim
from tests.laws.test_programs import table, texts

N = 240


def rng():
    return np.random.default_rng(5)


def mixed():
    """A table with a column of every type, and labels that depend on it."""
    rows = table(rng(), cities=12).drop(columns="words")
    rows["label"] = np.where(rows["number"].fillna(500) > 500, "hi", rng().choice(["lo", "mid"], N))
    return rows


def numbers():
    y = rng().integers(0, 3, N)
    X = rng().normal(size=(N, 4)) @ rng().normal(size=(4, 4)) + y[:, None] * [1, 2, 0, 0.5]
    return pd.DataFrame(X, columns=list("abcd")).assign(label=y)


def words():
    return texts(rng()), rng().choice(["spam", "ham", "news"], N)


def naive_mixed():
    return verosim.NaiveBayes({"count": "poisson"}).fit(mixed(), "label")


def lda():
    return verosim.LDA(missing="marginalise").fit(numbers(), "label")


def qda():
    return verosim.QDA(missing="marginalise").fit(numbers(), "label")


def text():
    return verosim.TextNB(ngrams=(1, 2)).fit(*words())


def twin():
    model = verosim.twin(verosim.GaussianNB().fit(numbers(), "label"))
    return model.fit(numbers(), "label")


def calibrated():
    return verosim.calibrate(verosim.NaiveBayes(), mixed(), "label", cv=3)


def pool():
    return verosim.Pool(keep="all").fit(mixed(), "label")


MODELS = {one.__name__: one for one in (naive_mixed, lda, qda, text, twin, calibrated, pool)}
