"""EM with labelled and unlabelled rows: Nigam, McCallum, Thrun & Mitchell (2000)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer

import verosim
from verosim.errors import ConvergenceWarning, SingularWarning, VerosimError
from verosim.validate.semi import SemiSupervised
from verosim.validate.soft_assignment import soft_statistic as shared

TEXTS = [
    "win cash now", "cash prize, win", "a cash prize for you", "lunch at noon?", "see you at lunch",
    "noon, then lunch", "prize inside: claim now", "claim cash", "coffee at eight",
    "at noon, coffee", "free entry, claim a prize", "are you there at eight", "",
    "coffee and free lunch",
]  # fmt: skip
WORDS = ["ada", "bob", "cid"]
KINDS = ["spam", "spam", "spam", "ham", "ham", "ham"] + [None] * 8


def few(y, each, rng, mark=-1):
    """All labels but `each` of every class replaced by the mark."""
    out = np.full(len(y), mark, dtype=object if mark is None else None)
    for label in np.unique(y):
        kept = rng.permutation(np.flatnonzero(y == label))[:each]
        out[kept] = y[kept]
    return out


@pytest.fixture
def wine(rng):
    X, y = load_wine(return_X_y=True)
    return X, y, few(y, 20, rng)


def steps(model, count, **options):
    """A model after exactly so many iterations of EM."""
    return SemiSupervised(model, max_iter=count, tol=0.0, **options)


def fitted(model, *rows, **given):
    with pytest.warns(ConvergenceWarning):
        return model.fit(*rows, **given)


# Against EM written by hand ----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_ten_lines_of_em(weight, weighted, wine, rng):
    """Gaussian naive Bayes, formula by formula: parameters and every log-likelihood."""
    X, _, y = wine
    w = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    known = y >= 0
    R = np.where(known, 1.0, 0.0)[:, None] * (y[:, None] == np.arange(3)) * w[:, None]
    told = []
    for _ in range(7):
        total = R.sum(axis=0)
        mean = R.T @ X / total[:, None]
        variance = R.T @ X**2 / total[:, None] - mean**2
        joint = norm.logpdf(X[:, None], mean, np.sqrt(variance)).sum(axis=2) + np.log(
            total / total.sum()
        )
        told.append(
            w[known] @ joint[known, y[known]]
            + weight * w[~known] @ logsumexp(joint[~known], axis=1)
        )
        R[~known] = (
            weight
            * w[~known, None]
            * np.exp(joint[~known] - logsumexp(joint[~known], axis=1, keepdims=True))
        )
    model = fitted(steps(verosim.GaussianNB(), 6, weight=weight), X, y, w if weighted else None)
    np.testing.assert_allclose(model.model_.means_, mean, rtol=1e-12)
    np.testing.assert_allclose(model.model_.covariances_, variance, rtol=1e-7)
    np.testing.assert_allclose(model.model_.class_count_, total, rtol=1e-10)
    np.testing.assert_allclose(model.convergence_.log_likelihood, told, rtol=1e-10)
    assert (model.convergence_.iterations, model.convergence_.converged) == (6, False)
    assert model.n_iter_ == 7


def em_by_refitting(model, X, y, weights, count, weight, **given):
    """EM by the model's own fit: labelled rows, and every unlabelled row once in each class."""
    known = np.array([label is not None for label in y])
    take = (lambda at: [X[i] for i in at]) if isinstance(X, list) else (
        lambda at: X.iloc[at] if isinstance(X, pd.DataFrame) else X[at])  # fmt: skip
    seen, unseen = np.flatnonzero(known), np.flatnonzero(~known)
    out = clone(model).fit(take(seen), y[seen].tolist(), weights[seen], **given)
    if isinstance(model, verosim.NaiveBayes):
        given = {"schema": out.schema_}
    for _ in range(count):
        R = weight * weights[unseen, None] * out.predict_proba(take(unseen))
        classes = out.classes_
        rows = np.concatenate([seen, np.tile(unseen, len(classes))])
        labels = y[seen].tolist() + np.repeat(classes, len(unseen)).tolist()
        out = clone(model).fit(
            take(rows), labels, np.concatenate([weights[seen], R.T.ravel()]), **given
        )
    return out


def table(rng, n=240):
    kind = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, kind + rng.normal(0, 0.6, n)),
            "hue": np.array(["red", "blue", "green"])[(kind + (rng.random(n) < 0.3)) % 3],
            "visits": rng.poisson(2 + 3 * kind),
            "on": rng.random(n) < 0.2 + 0.3 * kind,
            "note": [f"note of {WORDS[k]} and {WORDS[int(i) % 3]} number {int(i) % 7} today"
                     for k, i in zip(kind, rng.integers(0, 99, n), strict=True)],
        }
    )  # fmt: skip
    return frame, np.array(["a", "b", "c"], dtype=object)[kind]


def cases(rng):
    X, y = load_wine(return_X_y=True)
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    counts = rng.poisson(1 + 2 * (y[:, None] == np.arange(9) % 3)).astype(float)
    bins = [np.quantile(column, np.linspace(0, 1, 6)) for column in X.T]
    cells = np.array([[f"v{v}" for v in row] for row in (counts % 4).astype(int)], dtype=object)
    frame, kind = table(rng)
    columns = {"visits": "poisson", "note": "text"}
    notes = frame["note"].tolist()
    return {
        "GaussianNB": (verosim.GaussianNB(), X, y),
        "GaussianNB, sparse": (verosim.GaussianNB(), sparse.csr_array(counts), y),
        "GaussianNB, holes": (verosim.GaussianNB(), holes, y),
        "NaiveLDA": (verosim.NaiveLDA(covariance="unbiased"), X, y),
        "LDA": (verosim.LDA(), X, y),
        "QDA": (verosim.QDA(shrinkage="ledoit_wolf"), X[:, :4], y),
        "QDA, holes": (verosim.QDA(missing="marginalise", shrinkage=0.1), holes[:, :4], y),
        "RDA": (verosim.RDA(priors="uniform"), X[:, :5], y),
        "HistogramNB": (verosim.HistogramNB(bins=bins), X, y),
        "JointHistogram": (verosim.JointHistogram(bins=bins[:2]), X[:, :2], y),
        "CategoricalNB": (verosim.CategoricalNB(), cells, y),
        "BernoulliNB": (verosim.BernoulliNB(), counts, y),
        "MultinomialNB, sparse": (verosim.MultinomialNB(), sparse.csr_array(counts), y),
        "ComplementNB": (verosim.ComplementNB(), counts, y),
        "TextNB": (verosim.TextNB(alpha=0.1, ngrams=(1, 2)), notes, kind),
        "TextNB, presence": (verosim.TextNB("bernoulli"), notes, kind),
        "TextNB, given": (verosim.TextNB(vocabulary=[*WORDS, "unseen"]), notes, kind),
        "TextNB, hashed": (verosim.TextNB(hashed=64), notes, kind),
        "NaiveBayes": (verosim.NaiveBayes(columns, missing="category"), frame, kind),
    }


@pytest.mark.parametrize("name", cases(np.random.default_rng(0)))
def test_equals_em_by_refitting(name, rng):
    """One pass for all classes is what C weighted copies of the rows are, for every model."""
    model, X, y = cases(rng)[name]
    labels = few(np.array(y, dtype=object), 25, rng, mark=None)
    weights = rng.integers(0, 3, len(y)) + rng.choice([0.0, 0.5], len(y))
    weights[:5] = 0
    wanted = em_by_refitting(model, X, labels, weights, 3, 0.5)
    found = fitted(steps(model, 3, unlabelled=None, weight=0.5), X, labels, weights)
    assert found.classes_.tolist() == wanted.classes_.tolist()
    np.testing.assert_allclose(found.model_.class_count_, wanted.class_count_, rtol=1e-8)
    log_p = wanted.predict_log_proba(X)
    error = np.abs(found.predict_log_proba(X) - log_p) / np.maximum(1, np.abs(log_p))
    assert error.max() < 1e-7
    np.testing.assert_allclose(found.log_density(X), wanted.log_density(X), rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"ngrams": (1, 3)}, {"weighting": "presence"}])
def test_texts_split_once_give_the_same_sums(options, rng):
    """Xᵀr with the document–term matrix X against one weighted pass over the texts per class."""
    from tests.texts import statistic_of_texts
    from verosim.data import Documents

    texts = [*TEXTS * 11, "İstanbul ΟΔΟΣ naïve"]
    share = rng.dirichlet(np.ones(3), len(texts))
    share[rng.random(share.shape) < 0.2] = 0.0
    plan = statistic_of_texts(["lunch at ten", "cash", "x"], [0, 1, 2], **options).zero()
    blocks = [Documents.of(texts[:100]), Documents.of(texts[100:])]
    found = shared(plan, blocks, raw=True)(share)
    wanted = statistic_of_texts(
        texts * 3, np.repeat([0, 1, 2], len(texts)), weights=share.T.ravel(), **options
    )
    wanted = wanted.align(found.axes)
    for name in ("rows", "weight", "count"):
        np.testing.assert_allclose(found.arrays[name], wanted.arrays[name], atol=1e-12)
    existing = found.arrays["count"].sum(axis=(0, 1)) > 0
    assert (found.arrays["cells"][0] > 0)[existing].all()


# What is maximised -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        verosim.GaussianNB(floor=0.0),
        verosim.NaiveLDA(floor=0.0),
        verosim.LDA(),
        verosim.QDA(),
        verosim.QDA(missing="marginalise"),
        verosim.GaussianNB(floor=0.0, priors="uniform"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_maximum_likelihood_never_falls(model, weight, rng):
    """Dempster, Laird & Rubin (1977): no iteration lowers the likelihood it maximises."""
    X, y = load_wine(return_X_y=True)
    X = X[:, :6]
    labels = few(y, 15, rng)
    if getattr(model, "missing", "") == "marginalise":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    em = SemiSupervised(model, weight=weight, tol=1e-9, max_iter=500).fit(X, labels)
    told = em.convergence_.log_likelihood
    assert em.convergence_.converged
    assert len(told) == em.convergence_.iterations + 1 > 3
    assert (np.diff(told) >= -1e-9 * np.abs(told[0])).all()
    known = labels >= 0
    joint = em.model_.log_joint(X[known])[np.arange(known.sum()), labels[known]].sum()
    np.testing.assert_allclose(told[-1], joint + weight * em.log_density(X[~known]).sum())


def test_smoothed_steps_maximise_a_penalised_likelihood(rng):
    """Nigam et al. (2000), eq. 8: with α it is ℓ + α Σ log φ that never falls."""
    y = rng.integers(0, 3, 300)
    X = rng.poisson(0.4 + 0.8 * (y[:, None] == np.arange(30) % 3))
    labels = few(y, 5, rng)
    penalised = []
    for count in range(1, 9):
        em = fitted(steps(verosim.MultinomialNB(alpha=2.0), count), X, labels)
        penalty = 2.0 * em.model_.feature_log_prob_.sum()
        penalised.append(em.convergence_.log_likelihood[-1] + penalty)
    assert (np.diff(penalised) > 0).all()


# The ends of the scale ---------------------------------------------------------------------------


def test_weight_zero_is_the_labelled_model(wine):
    X, _, labels = wine
    known = labels >= 0
    plain = verosim.QDA().fit(X[known], labels[known])
    none = SemiSupervised(verosim.QDA(), weight=0).fit(X, labels)
    np.testing.assert_allclose(none.predict_log_proba(X), plain.predict_log_proba(X), atol=1e-10)
    assert (none.convergence_.iterations, none.convergence_.converged) == (0, True)
    little = SemiSupervised(verosim.QDA(), weight=1e-10).fit(X, labels)
    np.testing.assert_allclose(little.model_.means_, plain.means_, rtol=1e-8)
    np.testing.assert_allclose(little.model_.covariances_, plain.covariances_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", cases(np.random.default_rng(0)))
def test_all_labelled_is_plain_fit(name, rng):
    """Bit by bit: the statistic has the same fingerprint."""
    model, X, y = cases(rng)[name]
    em = SemiSupervised(model, unlabelled=None).fit(X, y)
    assert hasattr(em, "feature_names_in_") == isinstance(X, pd.DataFrame)
    assert em.model_.stats_.fingerprint() == clone(model).fit(X, y).stats_.fingerprint()
    assert (em.convergence_.iterations, em.convergence_.converged) == (0, True)


def test_all_labelled_table_is_plain_fit(tmp_path, rng):
    frame, kind = table(rng)
    frame["kind"] = kind
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, pl.from_pandas(frame), tmp_path / "t.csv"):
        em = SemiSupervised(verosim.NaiveBayes(), unlabelled=None).fit(source, "kind")
        plain = verosim.NaiveBayes().fit(source, "kind")
        assert em.model_.stats_.fingerprint() == plain.stats_.fingerprint()
        assert em.model_.schema_ == plain.schema_
    source = pa.Table.from_pandas(frame.drop(columns="kind"), preserve_index=False)
    em = SemiSupervised(verosim.NaiveBayes(), unlabelled=None).fit(source, kind)
    assert em.model_.schema_ == verosim.NaiveBayes().fit(source, kind).schema_


def test_the_model_given_is_left_alone(wine):
    X, _, labels = wine
    inner = verosim.LDA()
    em = SemiSupervised(inner).fit(X, labels)
    assert not hasattr(inner, "stats_")
    forgot = em.model_.forget(X[labels >= 0][:3], labels[labels >= 0][:3])  # the algebra is there
    assert forgot.class_count_.sum() == pytest.approx(len(labels) - 3)


# Labels that are none ----------------------------------------------------------------------------


def test_marks(wine):
    """−1, None, NaN, an empty text or any value: the same rows have no label."""
    X, _, labels = wine
    hidden = labels < 0
    names = np.array(["x", "y", "z"])
    wanted = SemiSupervised(verosim.LDA()).fit(X, labels)

    def found(mark, y):
        return SemiSupervised(verosim.LDA(), unlabelled=mark).fit(X, y)

    holed = labels.astype(object)
    holed[hidden] = None
    for y in (holed, np.where(hidden, np.nan, labels), pd.array(holed, dtype="Int64"), list(holed)):
        em = found(None, y)
        assert em.classes_.tolist() == [0, 1, 2]
        assert em.classes_.dtype.kind in "if"
        np.testing.assert_array_equal(em.predict_proba(X), wanted.predict_proba(X))
    for mark, text in (("?", "?"), (None, "")):
        em = found(mark, np.where(hidden, text, names[labels]))
        assert em.classes_.tolist() == ["x", "y", "z"]
        np.testing.assert_array_equal(em.predict_proba(X), wanted.predict_proba(X))


def test_plain_fit_takes_the_mark_for_a_label(wine):
    X, _, labels = wine
    assert verosim.LDA().fit(X, labels).classes_.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("mark", [None, "?", -1])
def test_tables_with_holes_in_the_target(mark, tmp_path, rng):
    """Any source, each read as its type demands; a generator, which is read only once, too."""
    frame, kind = table(rng)
    number = pd.Series(pd.Categorical(kind).codes, dtype="Int64")
    hidden = rng.random(len(kind)) < 0.8
    labels = number.mask(pd.Series(hidden)) if mark is None else number.astype(object)
    labels[hidden] = mark
    frame["kind"] = labels.astype("Int64") if mark != "?" else labels.astype(str)
    frame["w"] = rng.integers(1, 4, len(kind)).astype(float)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    model = SemiSupervised(verosim.NaiveBayes(), unlabelled=mark)
    beside = model.fit(
        frame.drop(columns=["kind", "w"]), np.where(hidden, None, number), frame["w"].to_numpy()
    ) if mark is None else None  # fmt: skip
    reference = clone(model).fit(frame, "kind", "w")
    rows = frame.drop(columns=["kind", "w"])
    log_p = reference.predict_log_proba(rows)
    if beside is not None:
        np.testing.assert_allclose(beside.predict_log_proba(rows), log_p, rtol=1e-9, atol=1e-12)
    batches = (batch for batch in arrow.to_batches(max_chunksize=50))
    for source in (
        pl.from_pandas(frame),
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        arrow,
        batches,
    ):
        em = clone(model).fit(source, "kind", "w")
        assert [str(label) for label in em.classes_] == ["0", "1", "2"]
        np.testing.assert_allclose(em.predict_log_proba(rows), log_p, rtol=1e-6, atol=1e-9)
    assert reference.convergence_.iterations > 1
    share = reference.score(
        frame.assign(kind=number if mark != "?" else number.astype(str)), "kind"
    )
    assert share > 0.8
    weight = frame["w"].sum()
    assert reference.model_.class_count_.sum() == pytest.approx(weight)


def test_schema_names_target_and_weights(rng):
    frame, kind = table(rng)
    frame["kind"] = np.where(rng.random(len(kind)) < 0.7, None, kind)
    frame["w"] = rng.integers(1, 4, len(kind)).astype(float)
    schema = verosim.look(frame.dropna(subset="kind"), "kind", sample_weight="w")
    em = SemiSupervised(verosim.NaiveBayes(), unlabelled=None)
    given = clone(em).fit(frame, schema=schema)
    named = clone(em).fit(frame, "kind", "w")
    np.testing.assert_allclose(given.predict_proba(frame), named.predict_proba(frame), rtol=1e-9)


def test_texts_by_every_road(rng):
    """A list of texts, a column of a table, and the counts of a document–term matrix."""
    words = CountVectorizer().fit(TEXTS)
    vocabulary = words.get_feature_names_out().tolist()
    em = SemiSupervised(verosim.TextNB(vocabulary=vocabulary), unlabelled=None).fit(TEXTS, KINDS)
    by_table = clone(em).fit({"text": TEXTS, "kind": KINDS}, "kind")
    counts = SemiSupervised(verosim.MultinomialNB(), unlabelled=None)
    counts.fit(words.transform(TEXTS), KINDS)
    unseen = ["claim free coffee", "at eight"]
    wanted = counts.predict_log_proba(words.transform(unseen))
    np.testing.assert_allclose(em.predict_log_proba(unseen), wanted, rtol=1e-9)
    np.testing.assert_allclose(by_table.predict_log_proba({"text": unseen}), wanted, rtol=1e-9)
    assert em.convergence_.log_likelihood == pytest.approx(counts.convergence_.log_likelihood)


def test_words_only_unlabelled_texts_have_are_learnt():
    em = SemiSupervised(verosim.TextNB(), unlabelled=None).fit(TEXTS, KINDS)
    assert {"claim", "coffee"} <= set(em.model_.tokens_)
    assert em.predict(["claim", "coffee"]).tolist() == ["spam", "ham"]


# What is said ------------------------------------------------------------------------------------


def test_the_labels_1_and_minus_1_are_two_classes(wine):
    X, y, _ = wine
    labels = np.where(y == 0, -1, 1)
    with pytest.warns(verosim.VerosimWarning, match=r"so -1 is a class here.*Set unlabelled=None"):
        em = SemiSupervised(verosim.LDA()).fit(X, labels)
    assert em.classes_.tolist() == [-1, 1]
    same = SemiSupervised(verosim.LDA(), unlabelled=None).fit(X, labels)
    np.testing.assert_array_equal(em.predict_log_proba(X), same.predict_log_proba(X))


def test_errors(wine):
    X, y, labels = wine
    with pytest.raises(VerosimError, match="No row has a label: the labels of all 178 rows are -1"):
        SemiSupervised(verosim.LDA()).fit(X, np.full(len(y), -1))
    with pytest.raises(VerosimError, match=r"Only one class has .* 2; the other 59 rows.*or None"):
        SemiSupervised(verosim.LDA()).fit(X, np.where(y == 0, -1, 2))
    with pytest.raises(VerosimError, match=r"model must be a model such as LDA.*got 'LDA'"):
        SemiSupervised("LDA").fit(X, labels)
    with pytest.raises(VerosimError, match="Use the generative classifier inside"):
        SemiSupervised(SemiSupervised(verosim.LDA())).fit(X, labels)
    with pytest.raises(VerosimError, match="robust=True"):
        SemiSupervised(verosim.LDA(robust=True)).fit(X, labels)
    with pytest.raises(VerosimError, match=r"weight must be .*; got -1"):
        SemiSupervised(verosim.LDA(), weight=-1).fit(X, labels)
    with pytest.raises(VerosimError, match="'target' is not in the table"):
        SemiSupervised(verosim.NaiveBayes()).fit({"a": [1, 2]}, "target")
    with pytest.raises(VerosimError, match="not fitted"):
        SemiSupervised(verosim.LDA()).predict(X)
    broken = X.copy()
    broken[np.flatnonzero(labels < 0)[7], 2] = np.inf
    with pytest.raises(VerosimError, match=f"infinity.*row {np.flatnonzero(labels < 0)[7]}"):
        SemiSupervised(verosim.LDA()).fit(broken, labels)


def test_only_the_last_model_warns(rng):
    """Two labelled rows a class make a singular covariance; all rows together do not."""
    X, y = load_iris(return_X_y=True)
    labels = few(y, 2, rng)
    with pytest.warns(SingularWarning):
        verosim.QDA().fit(X[labels >= 0], labels[labels >= 0])
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations") as said:
        SemiSupervised(verosim.LDA(), max_iter=2, tol=0).fit(X, labels)
    assert len(said) == 1


# Help ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_unlabelled_posts_help(data):
    """Nigam et al. (2000), fig. 2: at few labels EM gains much on 20 Newsgroups, test set by date.

    Five groups, ten labels each, raw posts: three draws.
    """
    rows = pq.read_table(data / "20news_bydate" / "20news_bydate.parquet").to_pandas()
    groups = ["rec.autos", "sci.med", "sci.space", "soc.religion.christian", "talk.politics.guns"]
    rows = rows[rows["group"].isin(groups)]
    train, test = (rows[rows["split"] == part] for part in ("train", "test"))
    texts, y = train["text"].tolist(), train["group"].to_numpy(dtype=object)
    before, after = [], []
    for draw in range(3):
        labels = few(y, 10, np.random.default_rng(draw), mark=None)
        model = verosim.TextNB(alpha=0.01)
        some = SemiSupervised(model, unlabelled=None, weight=0).fit(texts, labels)
        em = SemiSupervised(model, unlabelled=None, max_iter=30).fit(texts, labels)
        assert em.convergence_.converged
        before.append(some.score(test["text"], test["group"]))
        after.append(em.score(test["text"], test["group"]))
    assert np.mean(after) > np.mean(before) + 0.1


def test_unlabelled_rows_help_numbers(rng):
    """Two labels a class and 144 rows without: LDA on iris makes fewer errors, on average."""
    X, y = load_iris(return_X_y=True)
    before, after = [], []
    for _ in range(10):
        labels = few(y, 3, rng)
        after.append(SemiSupervised(verosim.LDA(shrinkage=0.01)).fit(X, labels).score(X, y))
        known = labels >= 0
        before.append(verosim.LDA(shrinkage=0.01).fit(X[known], labels[known]).score(X, y))
    assert np.mean(after) > np.mean(before) + 0.01
