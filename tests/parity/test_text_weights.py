"""Weighted counts and characters against scikit-learn's TfidfVectorizer, number for number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tests.behaviour.test_text import CHARACTERS
from tests.parity.test_text import CORPORA, read
from tests.texts import counted, statistic_of_texts
from verosim import TextNB
from verosim.axes import Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.stats.document_terms import document_terms

VIEWS = [("word", (1, 1)), ("word", (1, 2)), ("char_wb", (3, 5)), ("char_wb", (1, 2))]
ODD = [
    "", "a", "ab", "win WIN win", "El Niño llegó, ΣΊΣΥΦΟΣ İstanbul", "שלום עולם שלום",
    "🚀🚀 👩🏽‍🚀 go",
    " \t\u2003spaced\u00a0out \n", "x" * 300, "日本語 テキスト", "\x00 nul\x1cfs",
]  # fmt: skip


def vectorizer(analyzer, ngrams, **more):
    return TfidfVectorizer(
        analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True, use_idf=False, **more
    )


@pytest.mark.parametrize(("analyzer", "ngrams"), VIEWS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_rows(analyzer, ngrams, lowercase):
    """The rows are those of TfidfVectorizer(sublinear_tf=True, use_idf=False)."""
    peer = vectorizer(analyzer, ngrams, lowercase=lowercase)
    expected = peer.fit_transform(ODD).toarray()
    tokens = peer.get_feature_names_out().tolist()
    tokenizer = Tokenizer(ngrams, lowercase, analyzer)
    found = document_terms(Documents.of(ODD), Vocabulary.of(tokens), tokenizer, "l2")
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)


@pytest.mark.parametrize(("analyzer", "ngrams"), VIEWS)
def test_unknown_tokens_are_part_of_the_norm(analyzer, ngrams):
    peer = vectorizer(analyzer, ngrams)
    expected = peer.fit_transform(ODD).toarray()
    tokens = peer.get_feature_names_out().tolist()
    some = Vocabulary.of(tokens[::3])
    found = document_terms(Documents.of(ODD), some, Tokenizer(ngrams, True, analyzer), "l2")
    np.testing.assert_allclose(found.toarray(), expected[:, ::3], rtol=1e-14)


@given(
    texts=st.lists(st.text(CHARACTERS, max_size=40), min_size=1, max_size=5),
    ngrams=st.sampled_from([(1, 1), (1, 3), (3, 5), (4, 4)]),
    lowercase=st.booleans(),
)
def test_characters_are_those_of_count_vectorizer(texts, ngrams, lowercase):
    peer = CountVectorizer(analyzer="char_wb", ngram_range=ngrams, lowercase=lowercase)
    analyse = peer.build_analyzer()
    expected = Counter(token for text in texts for token in analyse(text))
    options = {"ngrams": ngrams, "lowercase": lowercase, "analyzer": "char_wb"}
    assert counted(texts, **options) == expected
    tokenizer = Tokenizer(**options)
    assert Counter(token for text in texts for token in tokenizer.tokens(text)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("analyzer", "ngrams"), VIEWS[:3])
@pytest.mark.parametrize("name", CORPORA)
def test_sums_of_every_corpus(data, name, analyzer, ngrams):
    """Class × token sums of the weights, and the number of texts with each token."""
    thin = {"20news_bydate": 40, "sms_spam": 4, "trec_questions": 4}.get(name, 8)
    texts = [text or "" for text in read(data, name)["text"].to_pylist()][::thin]
    groups = np.arange(len(texts), dtype=np.int32) % 3
    peer = vectorizer(analyzer, ngrams)
    rows = peer.fit_transform(texts)
    options = {"analyzer": analyzer, "ngrams": ngrams, "weighting": "l2"}
    statistic = statistic_of_texts(texts, groups, **options)
    place = {token: i for i, token in enumerate(statistic.codes.tokens())}
    tokens = peer.get_feature_names_out()
    assert place.keys() == set(tokens)
    order = [place[token] for token in tokens]
    for c in range(3):
        expected = np.asarray(rows[groups == c].sum(axis=0)).ravel()
        found = statistic.arrays["count"][c, 0, order]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    documents = np.asarray((rows > 0).sum(axis=0)).ravel()
    np.testing.assert_array_equal(statistic.arrays["cells"][0, order], documents)


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("weighting", ["counts", "l2"])
def test_contrast_by_definition(rng, weighting, least):
    """ln[(G_kj + α)/(G_k· + αV)] − ln[(G_·j − G_kj + α)/(G_·· − G_k· + αV)], on dense rows."""
    words = [f"w{i}" for i in range(12)]
    texts = [" ".join(rng.choice(words, rng.integers(0, 8))) for _ in range(40)]
    texts[3] += " once"
    y = rng.integers(0, 3, 40)
    options = {"ngram_range": (1, 2)}
    peer = vectorizer("word", (1, 2)) if weighting == "l2" else CountVectorizer(**options)
    X = peer.fit_transform(texts).toarray()
    reached = ((X > 0) if weighting == "l2" else X).sum(axis=0) >= least
    alpha, G = 0.2, np.array([X[y == k].sum(axis=0) for k in range(3)])[:, reached]
    V, total = G.shape[1], G.sum(axis=0)
    own = np.log((G + alpha) / (G.sum(axis=1, keepdims=True) + alpha * V))
    rest = total - G
    rest = np.log((rest + alpha) / (rest.sum(axis=1, keepdims=True) + alpha * V))
    scores = X[:, reached] @ (own - rest).T - np.log(3)
    model = TextNB("contrast", ngrams=(1, 2), weighting=weighting, alpha=alpha, min_count=least)
    found = model.fit(texts, y).predict_log_proba(texts)
    expected = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1.0)
