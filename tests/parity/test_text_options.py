"""The options of texts against scikit-learn: CountVectorizer with the same options, counted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from verosim import TextNB, VerosimError, cross_validate
from verosim.data.prepared_texts import decoded_tokens, encoded_token
from verosim.data.stop_words import NAMED
from verosim.errors import VerosimWarning

WORDS = [
    "El", "la", "perro", "en", "casa", "Árbol", "niño", "ñandú", "está", "esta", "ÉL", "the", "dog",
    "EATS", "at", "home", "Straße", "ΣΑΣ", "İstanbul", "½", "ﬁn", "™", "x1", "e\u0301l", "10", "a",
    "y", "日本", "don't", "coöperate", "RE-use",
]  # fmt: skip
STOPS = ["la", "en", "the", "at", "está", "él", "el", "niño", "x1", "10"]


WORDS_OF = CountVectorizer(lowercase=False).build_analyzer()


def texts_of(rng, n=120):
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(n)]
    return [text.replace(" casa", ", casa;") for text in texts], rng.integers(0, 3, n)


def halves(text):
    """Tokens with spaces, punctuation, single letters and nothing."""
    return [part for word in text.split() for part in (word[:2], word[2:], f"{word} !")]


OPTIONS = [
    {"stop_words": STOPS},
    {"stop_words": STOPS, "ngram_range": (1, 3)},
    {"stop_words": STOPS, "ngram_range": (2, 2), "lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "ngram_range": (1, 2)},
    {"strip_accents": "unicode", "stop_words": STOPS, "ngram_range": (1, 2)},
    {"strip_accents": "unicode", "analyzer": "char_wb", "ngram_range": (2, 4)},
    {"strip_accents": "unicode", "lowercase": False},
    {"min_df": 15}, {"max_df": 25}, {"min_df": 0.1, "max_df": 0.3}, {"min_df": 10, "max_df": 0.25},
    {"min_df": 3, "ngram_range": (1, 2), "stop_words": STOPS, "max_df": 30},
    {"tokenizer": str.split}, {"tokenizer": halves, "ngram_range": (1, 2)},
    {"tokenizer": halves, "stop_words": ["la", "dog !"], "strip_accents": "unicode", "min_df": 4},
]  # fmt: skip


def fitted_pair(options, texts, y, model="multinomial", **settings):
    words = {"token_pattern": None} if "tokenizer" in options else {}
    vectors = CountVectorizer(**options, **words)
    X = vectors.fit_transform(texts)
    mine = {("ngrams" if k == "ngram_range" else k): v for k, v in options.items()}
    return vectors, X, TextNB(model, **mine, **settings).fit(texts, y)


@pytest.mark.filterwarnings("ignore:Your stop_words")
@pytest.mark.parametrize("options", OPTIONS, ids=lambda value: ", ".join(value))
def test_counts_are_those_of_count_vectorizer(options, rng):
    texts, y = texts_of(rng)
    vectors, X, model = fitted_pair(options, texts, y)
    assert sorted(model.tokens_) == sorted(vectors.vocabulary_)
    other = MultinomialNB().fit(X, y)
    at = [vectors.vocabulary_[token] for token in model.tokens_]
    np.testing.assert_allclose(model.feature_log_prob_, other.feature_log_prob_[:, at], rtol=1e-12)
    new = [*texts_of(rng, 40)[0], "", "La ΣΑΣ!"]
    np.testing.assert_allclose(
        model.predict_log_proba(new), other.predict_log_proba(vectors.transform(new)),
        rtol=1e-9, atol=1e-9,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:Your stop_words")
@pytest.mark.parametrize(
    ("name", "reference"), [("bernoulli", BernoulliNB()), ("complement", ComplementNB())]
)
def test_other_models_use_the_same_tokens(name, reference, rng):
    texts, y = texts_of(rng)
    options = {"stop_words": STOPS, "strip_accents": "unicode", "min_df": 8, "max_df": 0.4}
    vectors, X, model = fitted_pair(options, texts, y, name)
    other = reference.fit(X, y)
    mine, theirs = model.predict_log_proba(texts), other.predict_log_proba(vectors.transform(texts))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:No token is in")
def test_pruning_by_documents_does_not_depend_on_the_order(rng):
    """Streams, merges and folds keep all counts; the bounds act when the model is estimated."""
    texts, y = texts_of(rng)
    settings = {"min_df": 15, "max_df": 0.2}
    whole = TextNB(**settings).fit(texts, y)
    stream = TextNB(**settings)
    with pytest.warns(VerosimWarning, match="No token is in at least 15"):
        stream.partial_fit(texts[80:], y[80:], classes=[0, 1, 2])
    for part in (slice(0, 50), slice(50, 80)):
        stream.partial_fit(texts[part], y[part])
    merged = TextNB(**settings).fit(texts[:60], y[:60])
    merged = merged.merge(TextNB(**settings).fit(texts[60:], y[60:]))
    empty = TextNB(min_df=1000)
    with pytest.warns(VerosimWarning, match="No token is in at least 1000"):
        empty.fit(texts, y)
    np.testing.assert_allclose(empty.predict_proba(["dog"])[0], np.bincount(y) / len(y))
    forgot = TextNB(**settings).fit(texts + texts[:30], np.concatenate([y, y[:30]]))
    forgot.forget(texts[:30], y[:30])
    want = whole.predict_log_proba(texts)
    for model in (stream, merged, forgot, pickle.loads(pickle.dumps(whole))):
        assert set(model.tokens_) == set(whole.tokens_)
        np.testing.assert_allclose(model.predict_log_proba(texts), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighting", ["counts", "l2"])
def test_folds_and_leave_one_out_are_refits(weighting, rng):
    texts, y = texts_of(rng, 60)
    settings = {"min_df": 6, "max_df": 0.3, "stop_words": STOPS, "weighting": weighting}
    folds = np.arange(60) % 4
    found = cross_validate(TextNB(**settings), texts, y, cv=folds).log_proba
    alone = cross_validate(TextNB(**settings), texts, y, cv="loo").log_proba
    for f in range(4):
        kept = np.flatnonzero(folds != f)
        model = TextNB(**settings).fit([texts[i] for i in kept], y[kept])
        held = [texts[i] for i in np.flatnonzero(folds == f)]
        np.testing.assert_allclose(found[folds == f], model.predict_log_proba(held), rtol=1e-9)
    for i in (0, 7):
        kept = np.delete(np.arange(60), i)
        model = TextNB(**settings).fit([texts[j] for j in kept], y[kept])
        want = model.predict_log_proba([texts[i]])[0]
        np.testing.assert_allclose(alone[i], want, rtol=1e-8, atol=1e-8)


def test_custom_tokens_are_shown_as_the_user_knows_them(rng):
    texts = ["red-hot, red", "cold !", "red-hot cold", "x"]
    model = TextNB(tokenizer=str.split).fit(texts, [0, 1, 0, 1])
    assert set(model.tokens_) == {"red-hot,", "red", "cold", "!", "red-hot", "x"}
    assert model.top_tokens(1)[0][0][0] == "red"
    only = TextNB(tokenizer=str.split, vocabulary=["!", "red-hot"]).fit(texts, [0, 1, 0, 1])
    assert only.tokens_.tolist() == ["!", "red-hot"]
    drawn, _ = model.sample(50, random_state=0)
    assert set(" ".join(np.ravel(drawn)).split()) <= set(model.tokens_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert again.stats_.fingerprint() == model.stats_.fingerprint()


@given(st.lists(st.text(), max_size=4))
def test_any_token_can_be_written_as_a_word(tokens):
    tokens = [token for token in tokens if " " not in token and token.isprintable()]
    written = [encoded_token(token) for token in tokens]
    assert len(set(written)) == len(set(tokens))
    assert decoded_tokens(" ".join(written)) == " ".join(tokens)
    assert WORDS_OF(" ".join(written)) == written


@pytest.mark.parametrize("language", ["english", "spanish"])
def test_a_named_list_leaves_out_function_words_with_and_without_accents(language):
    words = {"english": "the dog and the cat are at home", "spanish": "él está en la casa, según"}
    kept = {"english": {"dog", "cat", "home"}, "spanish": {"casa"}}
    for accents in (None, "unicode"):
        model = TextNB(stop_words=language, strip_accents=accents)
        model.fit([words[language].upper(), "xyz"], [0, 1])
        assert set(model.tokens_) == kept[language] | {"xyz"}
    assert len(NAMED[language]) > 150


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop_words": "klingon"}, "stop_words must be .*english"),
        ({"stop_words": ["a", 3]}, "stop_words must be .* a list of texts"),
        ({"stop_words": ["the"], "analyzer": "char_wb"}, "stop_words cannot be used with analyzer"),
        ({"tokenizer": str.split, "analyzer": "char_wb"}, "tokenizer cannot be used with analyzer"),
        ({"tokenizer": "words"}, "tokenizer must be a function"),
        ({"tokenizer": lambda text: [1, 2]}, r"tokenizer must return strings.* it returned 1"),
        ({"strip_accents": "all"}, "strip_accents must be"),
        ({"min_df": 0}, "min_df must be a number of texts of at least 1"),
        ({"max_df": 1.5}, "max_df must be a number of texts"),
        ({"min_df": 2, "vocabulary": ["one"]}, "cannot be used with a vocabulary"),
    ],
)
def test_wrong_options_are_named(settings, message):
    with pytest.raises(VerosimError, match=message):
        TextNB(**settings).fit(["one two", "two three"], [0, 1])
