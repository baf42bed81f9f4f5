"""TextNB: what it accepts, what it refuses, and that texts obey the algebra."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

import verosim
from tests.texts import counted, statistic_of_texts
from verosim import TextNB, VerosimError, VerosimWarning, testing, use_threads
from verosim.axes import Hashed, Vocabulary
from verosim.data import Documents, Tokenizer

pa = pytest.importorskip("pyarrow")

TEXTS = [
    "win cash now, WIN big", "cash prize! win", "free entry: win £100", "lunch at noon?",
    "see you at lunch", "are you at the office", "", "El Niño llegó a la oficina", "office lunch",
]  # fmt: skip
LABELS = ["spam", "spam", "spam", "ham", "ham", "ham", "ham", "ham", "spam"]
MODELS = ["multinomial", "bernoulli", "complement", "contrast"]


def many(rng, n=600, words=400, least=0):
    """Texts of made-up words, some of them long, some accented."""
    made = [f"w{i}" + "ñ" * (i % 3) + "long" * (i % 7) for i in range(words)]
    lengths = rng.integers(least, 30, n)
    texts = [" ".join(rng.choice(made, length)) for length in lengths]
    return np.array(texts, dtype=object), rng.choice(["a", "b", "c"], n)


# Tokens --------------------------------------------------------------------------------------

CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("aZ_9 \t\n-'İIıΣσςßÉéñ़́‍️👩🏽🚀漢字かなกำ한\u00a0\u2028𝒜𐐀𐐨Ǆǅ"),
)
NGRAMS = st.sampled_from([(1, 1), (1, 2), (2, 3)])


@given(
    texts=st.lists(st.text(CHARACTERS, max_size=40), min_size=1, max_size=5),
    ngrams=NGRAMS,
    lowercase=st.booleans(),
)
def test_tokens_are_those_of_count_vectorizer(texts, ngrams, lowercase):
    analyse = CountVectorizer(ngram_range=ngrams, lowercase=lowercase).build_analyzer()
    expected = Counter(token for text in texts for token in analyse(text))
    assert counted(texts, ngrams=ngrams, lowercase=lowercase) == expected
    tokenizer = Tokenizer(ngrams, lowercase)
    assert Counter(token for text in texts for token in tokenizer.tokens(text)) == expected


@pytest.mark.parametrize("text", ["ΟΔΟΣ ΟΔΥΣΣΕΥΣ Σ ΣΣ αΣ́ β Σα", "İstanbul İİ ıI", "AΣ", "ΣΣΣ"])
def test_sigma_and_dotted_i(text):
    """The two characters whose lowercase is not one character, whatever is around them."""
    analyse = CountVectorizer().build_analyzer()
    texts = ["plain", text, "Ünïted", text + " tail", *["more text"] * 100, text]
    assert counted(texts) == Counter(token for t in texts for token in analyse(t))


def test_lengths_around_the_words_of_a_machine():
    """Tokens and texts of 0 … 200 bytes, so that every tail and block edge occurs."""
    texts = ["x" * n for n in range(200)] + [("ab" * n + " ") * 3 for n in range(70)]
    texts += ["é" * n + "a" for n in range(70)] + [" " * n + "ab" for n in range(140)]
    analyse = CountVectorizer(ngram_range=(1, 3)).build_analyzer()
    expected = Counter(token for t in texts for token in analyse(t))
    assert counted(texts, ngrams=(1, 3)) == expected


def test_a_vocabulary_that_outgrows_its_room(rng):
    texts = [" ".join(f"{a}x{b}" for b in range(50)) for a in range(3000)]
    found = counted(texts)
    assert len(found) == 150_000
    assert set(found.values()) == {1}


# What may be given ---------------------------------------------------------------------------


def test_every_kind_of_sequence():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = TextNB().fit(TEXTS, LABELS).predict_proba(TEXTS)
    long = pa.array(["skipped", *TEXTS, "skipped"])
    for X in (
        tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object),
        np.array(TEXTS, dtype=object)[:, None], pd.Series(TEXTS), pd.Series(TEXTS, dtype="object"),
        pd.Series(TEXTS, dtype="category"), pd.DataFrame({"text": TEXTS}),
        pl.Series(TEXTS), pl.Series(TEXTS, dtype=pl.Categorical), pl.DataFrame({"text": TEXTS}),
        pa.array(TEXTS), pa.array(TEXTS, pa.large_string()), pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:4], [], TEXTS[4:]]), long[1:-1],
        pa.array([t.encode() for t in TEXTS]), pa.table({"text": TEXTS}),
        pa.array(TEXTS).cast(pa.string_view()),
    ):  # fmt: skip
        model = TextNB().fit(X, LABELS)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        assert model.n_features_in_ == 1


def test_missing_texts_have_no_tokens():
    pd = pytest.importorskip("pandas")
    holes = [text or None for text in TEXTS]
    expected = TextNB("bernoulli").fit(TEXTS, LABELS)
    for X in (holes, np.array(holes, dtype=object), pd.Series(holes), pa.array(holes)):
        model = TextNB("bernoulli").fit(X, LABELS)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(TEXTS))
    nan = [text or float("nan") for text in TEXTS]
    assert TextNB().fit(nan, LABELS).stats_.rows.sum() == len(TEXTS)


def test_texts_without_tokens_leave_the_priors():
    model = TextNB().fit(["", "a b c", "!"], ["x", "x", "y"])
    np.testing.assert_allclose(model.predict_proba(["anything", ""]), [[2 / 3, 1 / 3]] * 2)
    assert model.top_tokens() == {"x": [], "y": []}
    assert TextNB("bernoulli").fit([None, None], [0, 1]).predict(["word"]).shape == (1,)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (["fine", 3.5], r"Row 1: 3\.5 is of type float"),
        (["fine", None, b"byt\xe9s"], "Row 2: the text is not UTF-8, byte 3 is 0xE9"),
        (["fine", ["nested"]], r"Row 1: \['nested'\] is of type list"),
        (["fine", "half \ud800"], "Row 1: character 5"),
        (np.array([["a", "b"], ["c", "d"]]), r"one column of texts; got the shape \(2, 2\)"),
        (np.array([1, 2]), "Row 0: "),
    ],
)
def test_what_is_no_text_is_named(X, said):
    with pytest.raises(VerosimError, match=said):
        TextNB().fit(X, ["x", "y", "x"][: len(X)])


def test_a_series_of_objects_is_named_too():
    pd = pytest.importorskip("pandas")
    with pytest.raises(VerosimError, match="Row 1: 3 is of type int"):
        TextNB().fit(pd.Series(["fine", 3]), ["x", "y"])


def test_a_single_string_is_no_sequence():
    with pytest.raises(VerosimError, match="sequence of texts"):
        Documents.of("one text")
    with pytest.raises(VerosimError):
        TextNB().fit(TEXTS, LABELS).predict("one text")


BROKEN = [
    b"\xff", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80",
    b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\x80",
]  # fmt: skip


@pytest.mark.parametrize("bad", BROKEN)
def test_bytes_that_are_not_utf8_are_named(bad):
    """Truncated, overlong, surrogates, beyond the last code point: never read past the end."""
    texts = pa.array([b"good", b"caf\xc3\xa9", b"bad " + bad], pa.binary()).view(pa.string())
    with pytest.raises(VerosimError, match="row 2: the text is not UTF-8, byte 4"):
        TextNB().fit(texts, [0, 1, 1])
    model = TextNB().fit(TEXTS, LABELS)
    with pytest.raises(VerosimError, match="Row 2: the text is not UTF-8"):
        model.predict(texts)


def test_any_bytes_are_judged_as_python_judges_them(rng):
    model = TextNB(ngrams=(1, 2)).fit(["hello world", "ñandú"], [0, 1])
    for i in range(600):
        cut = ("é漢字😀aB_ " * 8).encode()[: rng.integers(1, 100)]
        raw = rng.bytes(rng.integers(0, 12)) if i % 2 else cut
        try:
            raw.decode()
            valid = True
        except UnicodeDecodeError:
            valid = False
        texts = pa.array([raw], pa.binary()).view(pa.string())
        if valid:
            model.predict(texts)
        else:
            with pytest.raises(VerosimError, match="not UTF-8"):
                model.predict(texts)


def test_a_bad_byte_after_a_sigma_is_named():
    texts = pa.array([b"x", "ΑΣ".encode(), b"\xff\xff"], pa.binary()).view(pa.string())
    with pytest.raises(VerosimError, match="ow 2: the text is not UTF-8"):
        TextNB().fit(texts, [0, 1, 1])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"model": "gaussian"}, "model must be one of .*; got 'gaussian'"),
        ({"ngrams": (2, 1)}, "shortest n-gram first"),
        ({"ngrams": (0, 1)}, "ngrams"),
        ({"ngrams": 2}, "ngrams must be .*; got 2"),
        ({"alpha": -1}, "alpha must be .*; got -1"),
        ({"min_count": None}, "min_count must be .*; got None"),
        ({"hashed": 1000}, "hashed must be a power of two"),
        ({"hashed": 2.5}, "hashed must be .*; got 2.5"),
        ({"hashed": 8, "vocabulary": ["ab"]}, "vocabulary and hashed cannot be used together"),
        ({"vocabulary": "ab"}, "must be a list of texts.* got 'ab'"),
        ({"vocabulary": []}, "vocabulary must .* got an empty one"),
        ({"vocabulary": ["ab", "cd", "ab"]}, "'ab' twice"),
        ({"vocabulary": ["ab", 3]}, "vocabulary must be a list of texts.* 3]"),
        ({"vocabulary": ["ab", "c\ud800"]}, "vocabulary must .* got "),
        ({"vocabulary": {"ab": 0, "cd": 2}}, "vocabulary must map its 2 tokens"),
    ],
)
def test_bad_parameters(parameters, said):
    with pytest.raises(VerosimError, match=said):
        TextNB(**parameters).fit(TEXTS, LABELS)


# Algebra -------------------------------------------------------------------------------------


def assert_alike(a, b, texts, atol=1e-9):
    assert set(a.tokens_) == set(b.tokens_)
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.predict_log_proba(texts), b.predict_log_proba(texts), atol=atol)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{}, {"ngrams": (1, 2)}, {"hashed": 256}])
def test_chunks_merges_order_and_threads(rng, model, options):
    texts, labels = many(rng)
    whole = TextNB(model, **options).fit(texts, labels)
    chunked = TextNB(model, **options)
    for part in np.array_split(rng.permutation(len(texts)), 7):
        chunked.partial_fit(texts[part], labels[part])
    halves = [TextNB(model, **options).fit(texts[i::2], labels[i::2]) for i in (0, 1)]
    with use_threads(3):
        threaded = TextNB(model, **options).fit(texts, labels)
    with use_threads(1):
        alone = TextNB(model, **options).fit(texts, labels)
    for other in (chunked, halves[0] + halves[1], sum(halves), threaded, alone):
        np.testing.assert_allclose(
            other.predict_log_proba(texts), whole.predict_log_proba(texts), atol=1e-9
        )
        testing.assert_same(other.stats_, whole.stats_)


@pytest.mark.parametrize("model", MODELS)
def test_forgetting_is_never_having_seen(rng, model):
    texts, labels = many(rng)
    weights = rng.choice([0.1, 0.3, 1.0], len(texts))
    keep = rng.random(len(texts)) < 0.3
    forgot = TextNB(model).fit(texts, labels, weights)
    forgot.forget(texts[~keep], labels[~keep], weights[~keep])
    never = TextNB(model).fit(texts[keep], labels[keep], weights[keep])
    assert_alike(forgot, never, texts)


def test_forgetting_what_was_never_seen_names_the_token():
    model = TextNB().fit(TEXTS, LABELS)
    with pytest.raises(VerosimError, match="value 'dinner': more would be forgotten"):
        model.forget(["dinner at noon"], ["ham"])
    before = model.stats_.fingerprint()
    with pytest.raises(VerosimError, match="'cash'"):
        model.forget(["cash"], ["ham"])
    assert model.stats_.fingerprint() == before


def test_decay_and_weights_scale_counts(rng):
    texts, labels = many(rng, 200)
    faded = TextNB().fit(texts[:100], labels[:100]).decay(0.25)
    faded.partial_fit(texts[100:], labels[100:])
    weights = np.where(np.arange(200) < 100, 0.25, 1.0)
    assert_alike(faded, TextNB().fit(texts, labels, weights), texts)


def test_rows_of_no_weight_bring_no_token():
    model = TextNB().fit(["keep this", "secret word", "that too"], [0, 1, 1], [1.0, 0.0, 2.0])
    assert set(model.tokens_) == {"keep", "this", "that", "too"}
    np.testing.assert_array_equal(model.class_count_, [1.0, 2.0])


def test_classes_may_arrive_late(rng):
    texts, labels = many(rng, 200)
    late = TextNB().fit(texts[labels != "b"], labels[labels != "b"])
    late.partial_fit(texts[labels == "b"], labels[labels == "b"])
    assert_alike(late, TextNB().fit(texts, labels), texts)


def test_folds_add_up(rng):
    texts, _ = many(rng, 100)
    groups = rng.integers(0, 6, 100)  # two classes, three folds
    folded = statistic_of_texts(texts, groups, folds=3)
    testing.folds_add_up(folded, statistic_of_texts(texts, groups // 3))


def test_switching_models_and_settings():
    model = TextNB().fit(TEXTS, LABELS)
    model.set_params(model="complement", alpha=0.5, min_count=2)
    expected = TextNB("complement", alpha=0.5, min_count=2).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    model.set_params(model="bernoulli")
    with pytest.raises(VerosimError, match="model changed after the rows were read"):
        model.predict(TEXTS)
    model.set_params(model="multinomial", ngrams=(1, 2))
    with pytest.raises(VerosimError, match="ngrams changed"):
        model.predict(TEXTS)


def test_priors():
    model = TextNB("complement").fit(TEXTS, LABELS)
    np.testing.assert_allclose(model.class_prior_, [0.5, 0.5])
    assert TextNB().fit(TEXTS, LABELS).class_prior_[0] == pytest.approx(5 / 9)
    counts = TextNB("complement", priors="laplace").fit(TEXTS, LABELS)
    assert counts.class_prior_[0] == pytest.approx(6 / 11)


def test_merging_unlike_models():
    model = TextNB().fit(TEXTS, LABELS)
    for other in (
        TextNB("bernoulli"), TextNB(ngrams=(1, 2)), TextNB(hashed=16),
        TextNB(vocabulary=["win", "lunch"]), TextNB(lowercase=False),
    ):  # fmt: skip
        with pytest.raises(VerosimError):
            model.merge(other.fit(TEXTS, LABELS))
    with pytest.raises(VerosimError, match="16 buckets in one model and 32 buckets in the other"):
        TextNB(hashed=16).fit(TEXTS, LABELS).merge(TextNB(hashed=32).fit(TEXTS, LABELS))


def test_models_travel(rng):
    texts, labels = many(rng, 100)
    for options in ({}, {"hashed": 64}, {"vocabulary": ["w1ñlong", "w2"], "min_count": 2}):
        model = TextNB(**options).fit(texts, labels)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
        assert again.stats_.fingerprint() == model.stats_.fingerprint()
        again.partial_fit(texts, labels)
        assert model.stats_.rows.sum() == 100
        assert clone(model).get_params() == model.get_params()


def test_a_statistic_and_its_copies_share_nothing_that_moves(rng):
    """One grows, the others stay: vocabularies are values, whoever still appends to the bytes."""
    texts, _ = many(rng, 300)
    first = statistic_of_texts(texts[:100])
    codes, prints = first.codes, first.fingerprint()
    tokens = codes.tokens()
    second = first.copy()
    third = first + statistic_of_texts(texts[100:200])
    second += statistic_of_texts(texts[200:])
    assert first.fingerprint() == prints
    assert codes.tokens() == tokens
    assert third.codes.size > codes.size
    assert (third - first).prune().codes.size == len(counted(texts[100:200]))


# Rare tokens, given tokens, buckets ----------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_min_count_is_a_smaller_vocabulary(rng, model):
    texts, labels = many(rng)
    fitted = TextNB(model).fit(texts, labels)
    totals = fitted.stats_.arrays["count"].sum(axis=(0, 1))
    least = int(np.median(totals))
    frequent = np.array(fitted.stats_.codes.tokens(), dtype=object)[totals >= least]
    assert 0 < len(frequent) < len(totals)
    given = TextNB(model, vocabulary=frequent.tolist()).fit(texts, labels)
    pruned = TextNB(model).fit(texts, labels).prune(least)
    fitted.set_params(min_count=least)
    for other in (given, pruned):
        assert_alike(fitted, other, texts, atol=1e-10)
    assert fitted.set_params(min_count=1).tokens_.shape == totals.shape


def test_pruning_leaves_no_trace():
    """Not in the state, not in the pickle, not in what is derived from it."""
    texts = [*TEXTS * 3, "my password is swordfishxyzzy", "zanzibarquux meets swordfishxyzzy"]
    labels = [*LABELS * 3, "ham", "ham"]
    for options in ({}, {"ngrams": (1, 2)}, {"model": "bernoulli"}):
        model = TextNB(**options).fit(texts, labels)
        assert b"swordfish" in pickle.dumps(model)
        assert model.prune(3) is model
        raw = pickle.dumps(model)
        assert b"swordfish" not in raw
        assert b"zanzibar" not in raw
        assert "password" not in model.vocabulary_
        assert "lunch" in model.vocabulary_
        with pytest.raises(VerosimError, match="min_count"):
            model.prune(-1)


def test_forgetting_after_pruning():
    texts, labels = [*TEXTS * 3, "a rare swordfish lunch"], [*LABELS * 3, "ham"]
    model = TextNB().fit(texts, labels).prune(2)
    model.forget(texts[-1:], labels[-1:])  # 'rare' and 'swordfish' are unknown by now
    assert_alike(model, TextNB().fit(texts[:-1], labels[:-1]).prune(2), TEXTS)
    # A pruned token that came back may be forgotten more often than it was seen since.
    model = TextNB().fit(texts, labels).prune(2).partial_fit(["swordfish"], ["ham"])
    model.forget(["rare swordfish", "swordfish lunch"], ["ham", "ham"])
    assert "swordfish" not in model.vocabulary_
    TextNB().fit(texts, labels).prune(2).decay(0.5).forget(["swordfish"], ["ham"], [0.5])
    with pytest.raises(VerosimError, match="'cash'"):
        TextNB().fit(texts, labels).prune(2).forget(["cash " * 20], ["spam"])
    kept = pickle.loads(pickle.dumps(TextNB().fit(texts, labels).prune(2) + TextNB().fit(
        TEXTS, LABELS)))  # fmt: skip
    kept.forget(["swordfish"], ["ham"])


def test_a_given_vocabulary():
    words = {"win": 1, "lunch": 0, "absent": 2}
    for vocabulary in (words, ["lunch", "win", "absent"], ("lunch", "win", "absent")):
        model = TextNB(vocabulary=vocabulary).fit(TEXTS, LABELS)
        assert model.vocabulary_ == {"lunch": 0, "win": 1, "absent": 2}
        model.partial_fit(TEXTS, LABELS).forget(TEXTS, LABELS)
        assert model.vocabulary_ == {"lunch": 0, "win": 1, "absent": 2}
    assert TextNB(vocabulary={"win", "lunch"}).fit(TEXTS, LABELS).tokens_.tolist() == [
        "lunch", "win"]  # fmt: skip
    with pytest.raises(VerosimError, match=r"cannot be pruned.*fixed vocabulary"):
        model.prune(2)
    with pytest.warns(verosim.VerosimWarning, match="'Win'"):
        TextNB(vocabulary=["Win"]).fit(TEXTS, LABELS)


def test_buckets_bound_memory(rng):
    """No more than the buckets, whatever the texts; and the same on every machine."""
    texts, labels = many(rng, 300, words=5000, least=5)
    model = TextNB(hashed=128).fit(texts, labels)
    assert model.stats_.arrays["count"].shape == (3, 1, 128)
    assert model.stats_.arrays["count"].sum() == TextNB().fit(texts, labels).stats_.arrays[
        "count"].sum()  # fmt: skip
    assert len(pickle.dumps(model)) < 100_000
    with pytest.raises(AttributeError, match="no names"):
        _ = model.tokens_
    with pytest.raises(VerosimError, match="cannot be drawn from a model with hashed tokens"):
        model.sample(1)
    with pytest.raises(VerosimError, match=r"cannot be pruned.*buckets"):
        model.prune(2)
    statistic = statistic_of_texts(["spam ham eggs spam"], codes=Hashed(1 << 16))
    assert np.flatnonzero(statistic.arrays["count"][0, 0]).tolist() == HASHES
    wide = TextNB(hashed=2**20, alpha=0.5).fit(texts, labels)
    exact = TextNB(vocabulary=TextNB().fit(texts, labels).tokens_.tolist(), alpha=0.5)
    agree = wide.predict(texts) == exact.fit(texts, labels).predict(texts)
    assert agree.mean() > 0.95


HASHES = [23_052, 28_295, 50_914]


def test_rare_buckets_are_ignored(rng):
    texts, labels = many(rng)
    model = TextNB(hashed=1 << 16, min_count=40).fit(texts, labels)
    exact = TextNB(min_count=40).fit(texts, labels)
    np.testing.assert_allclose(model.predict_proba(texts), exact.predict_proba(texts), atol=1e-9)


# For people ----------------------------------------------------------------------------------


def test_top_tokens():
    """φ_ik log(φ_ik / φ_i), largest first, words that are common everywhere last."""
    texts = ["the goal the match", "the match", "the law the court", "the court court"]
    model = TextNB().fit(texts, ["sport", "sport", "law", "law"])
    top = model.top_tokens(2)
    assert [token for token, _ in top["law"]] == ["court", "law"]
    assert [token for token, _ in top["sport"]] == ["match", "goal"]
    share = np.exp(model.feature_log_prob_)
    at = model.vocabulary_["court"]
    expected = share[0, at] * np.log(share[0, at] / share[:, at].mean())
    assert top["law"][0][1] == pytest.approx(expected)
    assert len(model.top_tokens(100)["law"]) == 5


@pytest.mark.parametrize("model", MODELS)
def test_simulated_texts_come_from_the_model(rng, model):
    texts, labels = many(rng, 300, words=30, least=3)
    fitted = TextNB(model).fit(texts, labels)
    drawn, classes = fitted.sample(3000, random_state=0)
    again = TextNB(model).fit(drawn, classes)
    order = [again.vocabulary_[token] for token in fitted.tokens_]
    np.testing.assert_allclose(
        np.exp(again.feature_log_prob_[:, order]), np.exp(fitted.feature_log_prob_), atol=0.06
    )
    with pytest.raises(VerosimError, match="n-grams overlap"):
        TextNB(model, ngrams=(1, 2)).fit(texts, labels).sample(1)


def test_laws_of_text_densities(rng):
    from verosim import densities

    texts, _ = many(rng, 80, words=40)
    groups = rng.integers(0, 3, 80)
    for density, weighting in (
        (densities.Multinomial(0.5), "counts"), (densities.Multinomial(min_count=20), "counts"),
        (densities.Complement(0.5), "counts"), (densities.Bernoulli(0.5, min_count=15), "presence"),
        (densities.Multinomial(0.5), "l2"), (densities.Contrast(0.5, min_count=12), "l2"),
        (densities.Contrast(0.5), "counts"),
    ):  # fmt: skip
        for codes in (None, Hashed(64), Vocabulary.of(["w1ñlong", "w2", "zz"], open=False)):
            statistic = statistic_of_texts(texts, groups, codes=codes, weighting=weighting)
            testing.reads_only(density, statistic)
            testing.agrees_with_its_statistic(density, statistic, texts, groups)
            testing.adds_up_by_column(density, statistic, texts)
            testing.ratio_is_density(density, statistic, texts)


def test_a_text_column_of_a_table_is_the_same_machinery(rng):
    """NaiveBayes on a table of one text is TextNB."""
    texts, labels = many(rng, 200, least=8)
    table = {"words": texts.tolist(), "kind": labels.tolist()}
    by_table = TextNB().fit(table, "kind")
    np.testing.assert_array_equal(by_table.predict_proba(table), by_table.predict_proba(texts))
    mixed = verosim.NaiveBayes(columns={"words": "text"}).fit(table, "kind")
    np.testing.assert_allclose(
        mixed.predict_proba(table), TextNB().fit(texts, labels).predict_proba(texts), atol=1e-12
    )


def test_the_limit_on_tokens_removes_the_rarest_and_says_so():
    texts = ["win cash now", "win cash", "win lunch", "see you lunch"]
    with pytest.warns(VerosimWarning, match=r"max_tokens=3 .* fewer than 2 occurrences"):
        model = TextNB(max_tokens=3).fit(texts, [0, 0, 1, 1])
    assert sorted(model.tokens_) == ["cash", "lunch", "win"]
    with pytest.warns(VerosimWarning, match="fewer than 3 occurrences"):
        tight = TextNB(max_tokens=1).fit(texts, [0, 0, 1, 1])
    assert tight.tokens_.tolist() == ["win"]
    with pytest.warns(VerosimWarning, match="fewer than 2 texts"):
        TextNB(max_tokens=3, weighting="l2").fit(texts, [0, 0, 1, 1])
    model.forget(texts[3:], [1])  # 'see' and 'you' are unknown by now
    assert sorted(model.tokens_) == ["cash", "lunch", "win"]
    assert model.class_count_.tolist() == [2, 1]


def test_the_limit_on_tokens_does_nothing_below_it(recwarn):
    texts = ["win cash now", "win cash", "win lunch", "see you at lunch"]
    limited = TextNB(max_tokens=7).fit(texts, [0, 0, 1, 1])
    free = TextNB(max_tokens=8).fit(texts, [0, 0, 1, 1])
    assert not recwarn.list
    np.testing.assert_array_equal(limited.predict_proba(texts), free.predict_proba(texts))


def test_the_limit_on_tokens_holds_after_a_merge():
    parts = [
        TextNB(max_tokens=4).fit([a, b], [0, 1])
        for a, b in (("aa bb", "aa cc"), ("aa dd", "aa ee"))
    ]
    with pytest.warns(VerosimWarning, match="max_tokens=4"):
        both = parts[0] + parts[1]
    assert both.tokens_.tolist() == ["aa"]


@pytest.mark.parametrize("value", [0, 1.5, "many", None])
def test_the_limit_on_tokens_is_a_whole_number(value):
    with pytest.raises(VerosimError, match="max_tokens must be a whole number"):
        TextNB(max_tokens=value).fit(["aa", "bb"], [0, 1])
