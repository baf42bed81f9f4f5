"""Texts against scikit-learn: the tokens of CountVectorizer, the posteriors of its naive Bayes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes
from sklearn.feature_extraction.text import CountVectorizer

from tests.texts import counted, statistic_of_texts
from verosim import TextNB
from verosim.axes import Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.stats.document_terms import document_terms

CORPORA = {
    "20news_bydate": ["text"],
    "sms_spam": ["text"],
    "webkb4": ["text"],
    "trec_questions": ["text"],
    "spanish_fake_news": ["headline", "text", "source", "topic"],
}
SETTINGS = [((1, 1), True), ((1, 1), False), ((1, 2), True), ((2, 3), True), ((2, 3), False)]
PEERS = {
    "multinomial": naive_bayes.MultinomialNB,
    "complement": naive_bayes.ComplementNB,
    "bernoulli": naive_bayes.BernoulliNB,
}


def read(data, name):
    return pytest.importorskip("pyarrow.parquet").read_table(data / name / f"{name}.parquet")


def assert_same_counts(texts, matrix, tokens, groups, statistic):
    """Class × token counts of the statistic are those of the document–term matrix."""
    n, C = len(texts), int(groups.max()) + 1
    member = sparse.csr_matrix((np.ones(n), (groups, np.arange(n))), shape=(C, n))
    expected = (member @ matrix).toarray()  # (C, V)
    place = {token: i for i, token in enumerate(statistic.codes.tokens())}
    assert place.keys() == set(tokens)
    order = [place[token] for token in tokens]
    np.testing.assert_array_equal(statistic.arrays["count"][:, 0][:, order], expected)


@pytest.mark.slow
@pytest.mark.parametrize(("ngrams", "lowercase"), SETTINGS)
@pytest.mark.parametrize("name", CORPORA)
def test_tokens_of_every_corpus(data, name, ngrams, lowercase):
    table = read(data, name)
    short = name in ("sms_spam", "trec_questions")
    # All texts for single tokens; of 20 Newsgroups that is the test after next.
    thin = {"20news_bydate": 60}.get(name, 1 if short or ngrams == (1, 1) else 12)
    for column in CORPORA[name]:
        texts = [text or "" for text in table[column].to_pylist()][::thin]
        groups = np.arange(len(texts), dtype=np.int32) % 7
        vectorizer = CountVectorizer(ngram_range=ngrams, lowercase=lowercase)
        matrix = vectorizer.fit_transform(texts)
        statistic = statistic_of_texts(texts, groups, ngrams=ngrams, lowercase=lowercase)
        assert_same_counts(texts, matrix, vectorizer.get_feature_names_out(), groups, statistic)


@pytest.mark.parametrize("weighting", ["counts", "presence"])
@pytest.mark.parametrize(("ngrams", "lowercase"), SETTINGS)
def test_document_terms(ngrams, lowercase, weighting):
    """The document–term matrix is CountVectorizer's, number for number, unknown tokens left out."""
    rng = np.random.default_rng(0)
    words = ["El", "el", "Niño", "ΣΑΣ", "İstanbul", "5:30", "a", "x_1", "día", "ß", "日本", "no-no"]
    texts = [" ".join(rng.choice(words, rng.integers(0, 30))) for _ in range(100)]
    options = {"ngram_range": ngrams, "lowercase": lowercase}
    options["binary"] = weighting == "presence"
    tokens = CountVectorizer(**options).fit(texts[:9]).get_feature_names_out().tolist()
    rng.shuffle(tokens)
    places = {token: i for i, token in enumerate(tokens)}
    expected = CountVectorizer(vocabulary=places, **options).transform(texts)
    tokenizer = Tokenizer(ngrams, lowercase)
    found = document_terms(Documents.of(texts), Vocabulary.of(tokens), tokenizer, weighting)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def assert_same_posteriors(model, peer, test, matrix, labels):
    ours, theirs = model.predict_log_proba(test), peer.predict_log_proba(matrix)
    np.testing.assert_allclose(np.exp(ours), np.exp(theirs), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert np.mean(model.predict(test) == labels) == np.mean(peer.predict(matrix) == labels)


@pytest.mark.slow
def test_20_newsgroups_by_date(data):
    """Every token of every text, then train → test with the three models."""
    table = read(data, "20news_bydate")
    texts = np.array(table["text"].to_pylist(), dtype=object)
    labels = np.array(table["group"].to_pylist())
    train = np.array(table["split"].to_pylist()) == "train"
    vectorizer = CountVectorizer()
    matrix = vectorizer.fit_transform(texts)
    groups = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    tokens = vectorizer.get_feature_names_out()
    assert_same_counts(texts, matrix, tokens, groups, statistic_of_texts(texts, groups))

    known = np.asarray(matrix[train].sum(axis=0)).ravel() > 0  # the vocabulary of the train part
    seen, unseen = matrix[train][:, known], matrix[~train][:, known]
    for name, peer in PEERS.items():
        fitted = peer(alpha=0.1).fit(seen, labels[train])
        model = TextNB(name, alpha=0.1).fit(texts[train], labels[train])
        assert set(model.tokens_) == set(tokens[known])
        assert_same_posteriors(model, fitted, texts[~train], unseen, labels[~train])


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0, 0.01])
@pytest.mark.parametrize("model", PEERS)
@pytest.mark.parametrize(("name", "target"), [("sms_spam", "label"), ("webkb4", "class")])
def test_posteriors_on_smaller_corpora(data, name, target, model, alpha):
    table = read(data, name)
    texts, labels = np.array(table["text"].to_pylist(), dtype=object), np.array(
        table[target].to_pylist()
    )  # fmt: skip
    train = np.arange(len(texts)) % 3 > 0
    if "split" in table.column_names:
        train = np.array(table["split"].to_pylist()) == "train"
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    peer = PEERS[model](alpha=alpha)
    peer.fit(vectorizer.fit_transform(texts[train]), labels[train])
    ours = TextNB(model, ngrams=(1, 2), alpha=alpha).fit(texts[train], labels[train])
    matrix = vectorizer.transform(texts[~train])
    assert_same_posteriors(ours, peer, texts[~train], matrix, labels[~train])
    assert set(ours.vocabulary_) == set(vectorizer.vocabulary_)


def test_given_vocabulary_and_weights(data, rng):
    """CountVectorizer(vocabulary=…) counts only those tokens, and so do we; weights as well."""
    table = read(data, "sms_spam")
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], len(texts))
    words = [*sorted(CountVectorizer(min_df=30).fit(texts).vocabulary_), "neverseenatall"]
    vectorizer = CountVectorizer(vocabulary=words)
    matrix = vectorizer.transform(texts)
    for name, peer in PEERS.items():
        fitted = peer(alpha=0.5).fit(matrix, labels, sample_weight=weights)
        model = TextNB(name, vocabulary=words, alpha=0.5).fit(texts, labels, weights)
        np.testing.assert_allclose(
            model.predict_proba(texts), fitted.predict_proba(matrix), rtol=0, atol=1e-9
        )
        assert model.tokens_.tolist() == words
        if name != "complement":
            np.testing.assert_allclose(
                model.feature_log_prob_, fitted.feature_log_prob_, rtol=1e-12
            )


# Unicode -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_code_point(lowercase):
    """Each code point within a word, doubled, and alone, in upper and lower company."""
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = [
        " ".join(f"a{c}b {c}{c} {c} X{c}" for c in points[i : i + 64])
        for i in range(0, len(points), 64)
    ]
    analyse = CountVectorizer(lowercase=lowercase).build_analyzer()
    expected: dict[str, int] = {}
    for text in texts:
        for token in analyse(text):
            expected[token] = expected.get(token, 0) + 1
    assert counted(texts, lowercase=lowercase) == expected


@pytest.mark.slow
def test_only_two_characters_have_no_single_lowercase():
    """The table's promise: lower() of a text is lower() of its characters, but for İ and Σ."""
    from verosim.data.tokens import NOT_BY_TABLE

    long = [c for c in range(0x110000) if len(chr(c).lower()) != 1]
    assert set(long) <= set(NOT_BY_TABLE)
    for before, after in (("A", "a"), ("\u0301", "\u0301")):
        text = "".join(
            f"{before}{chr(c)}{after}\n" for c in range(0x110000)
            if c not in NOT_BY_TABLE and not 0xD800 <= c < 0xE000
        )  # fmt: skip
        assert text.lower() == "".join(c.lower() for c in text)
