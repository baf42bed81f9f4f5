"""N-grams that are found by pairs of numbers are those that are found by their bytes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from tests.behaviour.test_hash_flooding import RANDOM_RUN, longest_run
from verosim import TextNB, use_threads
from verosim.axes.hash_keys import random_key
from verosim.axes.vocabulary import Vocabulary, empty_slots
from verosim.data import Documents, Tokenizer
from verosim.kernels import fill_grams
from verosim.kernels.constants import KEY_WORDS
from verosim.stats.document_terms import text_lengths

WORDS = ["un", "dos", "tres", "la", "casa", "niño", "incomprehensibilities", "x1", "_y"]


def texts_of(rng, n, words=WORDS):
    return [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(n)]


def known(model):
    """The tokens in the order of their codes, the counts and the numbers of occurrences."""
    statistic = model.stats_
    return (
        statistic.codes.tokens(),
        np.asarray(statistic.arrays["count"]).tolist(),
        statistic.arrays["cells"].tolist(),
    )


@pytest.mark.parametrize("weighting", ["counts", "l2"])
@pytest.mark.parametrize("longest", [2, 3, 5])
def test_pairs_give_the_counts_of_bytes(rng, longest, weighting):
    """A fixed vocabulary is looked up by bytes."""
    texts, labels = texts_of(rng, 300), rng.integers(0, 3, 300)
    settings = {"ngrams": (1, longest), "weighting": weighting}
    by_pairs = TextNB(**settings).fit(texts, labels)
    assert by_pairs.stats_.codes.parents is not None
    tokens, count, cells = known(by_pairs)
    peer = CountVectorizer(ngram_range=(1, longest)).fit(texts)
    assert set(tokens) == set(peer.get_feature_names_out())
    by_bytes = TextNB(vocabulary=tokens, **settings).fit(texts, labels)
    assert by_bytes.stats_.codes.parents is None
    np.testing.assert_allclose(np.asarray(by_bytes.stats_.arrays["count"]), count, rtol=1e-13)
    assert by_bytes.stats_.arrays["cells"].tolist() == cells


@pytest.mark.parametrize("threads", [2, 3])
def test_merged_pairs_have_the_order_of_one_reading(rng, threads):
    words = [f"w{i}" for i in range(400)]
    texts, labels = texts_of(rng, 12_000, words), rng.integers(0, 3, 12_000)
    with use_threads(1):
        one = TextNB(ngrams=(1, 3)).fit(texts, labels)
    with use_threads(threads):
        several = TextNB(ngrams=(1, 3)).fit(texts, labels)
    assert known(several) == known(one)
    np.testing.assert_array_equal(
        several.predict_log_proba(texts[:50]), one.predict_log_proba(texts[:50])
    )


def test_models_with_and_without_pairs_are_added(rng):
    """A pickled vocabulary has no pairs, and a pruned one lacks the shorter n-grams."""
    texts, labels = texts_of(rng, 200), rng.integers(0, 2, 200)
    whole = TextNB(ngrams=(1, 2)).fit(texts, labels)
    first = TextNB(ngrams=(1, 2)).fit(texts[:90], labels[:90])
    second = TextNB(ngrams=(1, 2)).fit(texts[90:], labels[90:])
    read_again = pickle.loads(pickle.dumps(second))
    assert read_again.stats_.codes.parents is None
    for one in (second, read_again):
        assert known(pickle.loads(pickle.dumps(first)).merge(one)) == known(whole)
        assert known(TextNB(ngrams=(1, 2)).fit(texts[:90], labels[:90]).merge(one)) == known(whole)
    grown = first.partial_fit(texts[90:], labels[90:])
    assert known(grown) == known(whole)
    pruned = grown.prune(5).partial_fit(texts, labels)
    assert set(known(pruned)[0]) == set(known(whole)[0])


@pytest.mark.parametrize("pairs", ["neighbours", "first", "last", "squares"])
def test_neighbouring_pairs_cost_no_more_than_random_ones(pairs):
    k = np.arange(20_000, dtype=np.uint64)
    low, high = {
        "neighbours": (k, k + np.uint64(1)), "first": (0 * k, k), "last": (k, 0 * k),
        "squares": (k, k),
    }[pairs]  # fmt: skip
    parents = ((high << np.uint64(32)) | low) + np.uint64(1)
    empty = Vocabulary.empty()
    for _ in range(3):
        grams = empty_slots(len(k), random_key())
        bounds = np.zeros(len(k) + 1, dtype=np.int64)
        fill_grams(empty.slices[0], bounds, parents, empty_slots(0), grams)
        assert longest_run(grams[:-KEY_WORDS].reshape(-1, 2)[:, 1] != 0) < RANDOM_RUN


def test_words_at_the_edges_of_what_is_read_at_once(rng):
    """Runs of letters of all lengths, around multiples of 64 and at the end of the buffer."""
    texts = ["a" * i + " " * j + "Bc" * k for i in (0, 1, 2, 62, 63, 64, 65) for j in range(4)
             for k in (0, 1, 31, 32, 33)]  # fmt: skip
    letters = np.array(list("aZ09_ .-[{`@/:\n"))
    texts += ["".join(rng.choice(letters, n)) for n in range(200)]
    by = Tokenizer()
    for some in (texts, texts[::-1], texts[-1:], texts[150:]):
        wanted = [len(by.tokens(text)) for text in some]
        assert text_lengths(Documents.of(some), by).tolist() == wanted
        labels = np.arange(len(some)) % 2
        if len(some) > 1:
            peer = CountVectorizer().fit(some)
            found = TextNB().fit(some, labels).stats_.codes.tokens()
            assert sorted(found) == sorted(peer.get_feature_names_out())


def test_a_model_is_pickled_before_and_after_it_has_scored(rng):
    texts, labels = texts_of(rng, 60), rng.integers(0, 2, 60)
    model = TextNB().fit(texts, labels)
    before = pickle.loads(pickle.dumps(model))
    wanted = model.predict_log_proba(texts)
    after = pickle.loads(pickle.dumps(model))
    for one in (before, after):
        np.testing.assert_array_equal(one.predict_log_proba(texts), wanted)
    rule = pickle.loads(pickle.dumps(TextNB().fit(texts, labels).state_.rule))
    np.testing.assert_array_equal(rule.log_posterior(Documents.of(texts)), wanted)


def test_a_table_that_grows_has_room_for_what_was_asked(rng):
    """Tables of every size: a table that stays too small would be asked again without end."""
    words = [f"w{i}" for i in range(60)]
    model = TextNB(ngrams=(1, 2))
    for size in range(1, 60):
        model.partial_fit(
            texts_of(rng, size, words[:size]), rng.integers(0, 2, size), classes=[0, 1]
        )
    again = TextNB(ngrams=(1, 2))
    for size in range(1, 40):  # one document at a time, with `size` new words
        again.fit([" ".join(f"v{size}x{i}" for i in range(size)), "one two"], [0, 1])
        assert again.stats_.codes.size == 2 * size - 1 + 3
