"""`class_weight` multiplies the sums of a class, as weights of its rows would."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from verosim import (
    AODE,
    KDB,
    LDA,
    QDA,
    RDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    HistogramNB,
    JointHistogram,
    NaiveBayes,
    NaiveLDA,
    Pool,
    TextNB,
    VerosimError,
    cross_validate,
    search,
)

X, y = load_iris(return_X_y=True)
keep = np.r_[0:50, 50:80, 100:110]  # classes of 50, 30 and 10 rows
X, y = X[keep], np.array(["a", "b", "c"])[y[keep]]
FACTORS = {"a": 0.5, "c": 3.0}
ROW_WEIGHTS = np.array([FACTORS.get(label, 1.0) for label in y.tolist()])
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
TABLE = pd.DataFrame(HOLES, columns=list("pqrs")).assign(
    day=pd.date_range("2024-01-01", periods=len(X), freq="31h"),
    colour=np.random.default_rng(1).choice(["red", "blue", None], len(X)),
    text=[" ".join(np.random.default_rng(i).choice(list("xyzuvw"), 6)) for i in range(len(X))],
)
TEXTS = TABLE["text"].tolist()
CODES = X.round().astype(int)
MODELS = {
    "LDA": (LDA(), X),
    "LDA, missing": (LDA(missing="marginalise"), HOLES),
    "LDA, Ledoit and Wolf": (LDA(shrinkage="ledoit_wolf"), X),
    "LDA, onehot": (LDA(encode="onehot", shrinkage=0.1), TABLE.drop(columns=["text"])),
    "QDA": (QDA(), X),
    "RDA": (RDA(), X),
    "GaussianNB": (GaussianNB(), HOLES),
    "NaiveLDA": (NaiveLDA(), X),
    "CategoricalNB": (CategoricalNB(), CODES),
    "BernoulliNB": (BernoulliNB(binarize=3.0), X),
    "HistogramNB": (HistogramNB(bins=[np.arange(9.0)] * 4), X),
    "JointHistogram": (JointHistogram(bins=[[0.0, 3, 6, 9]] * 4), X),
    "NaiveBayes": (NaiveBayes(columns={"p": "poisson", "q": "gaussian"}, missing="category"),
                   TABLE.assign(p=TABLE["p"].round())),
    "TextNB": (TextNB(), TEXTS),
    "TextNB, min_count": (TextNB(min_count=2), TEXTS),
    "TextNB, presence": (TextNB(model="bernoulli", min_df=2), TEXTS),
    "AODE": (AODE(bins=3), TABLE[["p", "q", "r", "colour"]]),
    "KDB": (KDB(bins=3), TABLE[["p", "q", "r", "colour"]]),
    "TAN": (TAN(bins=3), TABLE[["p", "q", "r", "colour"]]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(recwarn):
    """Small classes give warnings, which are not the subject here."""


@pytest.mark.parametrize("name", MODELS)
def test_factors_are_weights_of_the_rows(name):
    model, rows = MODELS[name]
    plain = type(model)(**model.get_params()).fit(rows, y)
    found = type(model)(**{**model.get_params(), "class_weight": FACTORS}).fit(rows, y)
    schema = {"schema": plain.schema_} if hasattr(plain, "schema_") else {}
    weighed = type(model)(**model.get_params()).fit(rows, y, ROW_WEIGHTS, **schema)
    if name == "TextNB, min_count":  # weights of rows count in min_count, factors do not
        assert found.tokens_.tolist() == plain.tokens_.tolist()
    else:
        np.testing.assert_allclose(
            found.predict_log_proba(rows), weighed.predict_log_proba(rows), rtol=1e-8, atol=1e-9
        )
    assert np.abs(found.predict_proba(rows) - plain.predict_proba(rows)).max() > 1e-4
    np.testing.assert_array_equal(found.class_count_, plain.class_count_)
    changed = plain.set_params(class_weight=FACTORS)  # without the rows
    np.testing.assert_allclose(changed.predict_proba(rows), found.predict_proba(rows), rtol=1e-12)


def test_balanced_gives_equal_priors_and_an_equal_share_of_the_covariance():
    model = LDA(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.class_prior_, 1 / 3)
    np.testing.assert_allclose(model.covariances_, QDA().fit(X, y).covariances_.mean(axis=0))


def test_given_priors_are_kept():
    model = QDA(class_weight={"a": 10.0}, priors=[0.2, 0.3, 0.5]).fit(X, y)
    np.testing.assert_allclose(model.class_prior_, [0.2, 0.3, 0.5])


def test_sums_stay_plain_through_updates():
    weighed = GaussianNB(class_weight=FACTORS)
    whole = GaussianNB(class_weight=FACTORS).fit(X, y).predict_proba(X)
    parts = weighed.fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(parts.predict_proba(X), whole, rtol=1e-9)
    merged = GaussianNB(class_weight=FACTORS).fit(X[::2], y[::2]) + GaussianNB().fit(
        X[1::2], y[1::2]
    )
    np.testing.assert_allclose(merged.predict_proba(X), whole, rtol=1e-9)
    later = GaussianNB(class_weight={"c": 2.0}).partial_fit(X[:50], y[:50])  # "c" comes later
    assert later.partial_fit(X[50:], y[50:]).class_prior_[2] == pytest.approx(20 / 100)


@pytest.mark.parametrize("setting", [FACTORS, "balanced"])
def test_folds_are_those_of_refitting(setting):
    model = LDA(class_weight=setting)
    folds = np.arange(len(y)) % 5
    found = cross_validate(model, X, y, cv=folds)
    for f in range(5):
        again = LDA(class_weight=setting).fit(X[folds != f], y[folds != f])
        np.testing.assert_allclose(found.proba[folds == f], again.predict_proba(X[folds == f]),
                                   rtol=1e-7, atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("model", [GaussianNB, LDA, QDA])
def test_leave_one_out_is_that_of_refitting(model):
    found = cross_validate(model(class_weight=FACTORS), X, y, cv="loo")
    for i in (0, 60, 85):
        rest = np.arange(len(y)) != i
        again = model(class_weight=FACTORS).fit(X[rest], y[rest])
        np.testing.assert_allclose(found.proba[i], again.predict_proba(X[i : i + 1])[0], rtol=1e-6)
    with pytest.raises(VerosimError, match="class_weight='balanced' depends on all rows"):
        cross_validate(model(class_weight="balanced"), X, y, cv="loo")


def test_priors_that_are_kept_in_all_folds_have_the_weights():
    found = cross_validate(GaussianNB(class_weight="balanced"), X, y, cv=5, fold_priors="keep")
    equal = cross_validate(GaussianNB(priors="uniform"), X, y, cv=5)
    np.testing.assert_allclose(found.proba, equal.proba, rtol=1e-9)


def test_search_tries_class_weights_without_reading_the_rows_again():
    grid = {"class_weight": [None, "balanced", FACTORS]}
    found = search(LDA(), X, y, grid, cv=5)
    scores = [cross_validate(LDA(class_weight=one), X, y, cv=5, scoring="neg_log_loss")
              .mean("neg_log_loss") for one in grid["class_weight"]]  # fmt: skip
    assert found.best_score == pytest.approx(max(scores))


def test_experts_of_a_pool_keep_their_class_weights():
    table = TABLE[["p", "q", "r", "colour"]].assign(target=y)
    pool = Pool(experts=[NaiveBayes(class_weight="balanced")], cv=3).fit(table, "target")
    (rule,) = pool.state_.params.rules.values()
    np.testing.assert_allclose(np.exp(rule.log_prior), 1 / 3)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"a": 2.0, "z": 1.0}, "unknown classes 'z', and no weight for class 'b', 'c'"),
        ({"a": 0.0}, "above zero for each class; got 0.0 for class 'a'"),
        ({"a": "many"}, "got 'many'"),
        ("even", "class_weight='even' is not valid"),
        (2.0, 'class_weight must be None, "balanced" or a dict; got 2.0'),
    ],
)
def test_wrong_class_weights_are_named(setting, words):
    with pytest.raises(VerosimError, match=words):
        GaussianNB(class_weight=setting).fit(X, y)
