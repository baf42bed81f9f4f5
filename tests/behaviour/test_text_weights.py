"""Weighted counts, characters and contrast: the algebra, the choice of alpha, and odd texts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import verosim
from tests.behaviour.test_text import LABELS, TEXTS, assert_alike, many
from verosim import TextNB, VerosimError, testing, use_threads
from verosim.folds.scores import own_log_proba
from verosim.folds.splits import array_folds
from verosim.folds.tuning import TEMPERATURES

VIEWS = [
    {}, {"ngrams": (1, 2), "min_count": 2}, {"hashed": 256},
    {"analyzer": "char_wb", "ngrams": (3, 5), "min_count": 3},
]  # fmt: skip
WEIGHED = ["multinomial", "complement", "contrast"]


def model_of(name, **options):
    return TextNB(name, weighting="l2", alpha=0.1, **options)


@pytest.mark.parametrize("options", VIEWS, ids=str)
@pytest.mark.parametrize("name", WEIGHED)
def test_chunks_merges_order_and_threads(rng, name, options):
    texts, labels = many(rng, 200)
    whole = model_of(name, **options).fit(texts, labels)
    chunked = model_of(name, **options)
    for part in np.array_split(rng.permutation(len(texts)), 7):
        chunked.partial_fit(texts[part], labels[part])
    halves = [model_of(name, **options).fit(texts[i::2], labels[i::2]) for i in (0, 1)]
    with use_threads(3):
        threaded = model_of(name, **options).fit(texts, labels)
    for other in (chunked, halves[0] + halves[1], threaded):
        np.testing.assert_allclose(
            other.predict_log_proba(texts), whole.predict_log_proba(texts), atol=1e-9
        )
        testing.assert_same(other.stats_, whole.stats_)


@pytest.mark.parametrize("options", VIEWS, ids=str)
@pytest.mark.parametrize("name", WEIGHED)
def test_forgetting_is_never_having_seen(rng, name, options):
    texts, labels = many(rng, 200)
    weights = rng.choice([0.1, 0.3, 1.0], len(texts))
    keep = rng.random(len(texts)) < 0.3
    forgot = model_of(name, **options).fit(texts, labels, weights)
    forgot.forget(texts[~keep], labels[~keep], weights[~keep])
    never = model_of(name, **options).fit(texts[keep], labels[keep], weights[keep])
    if "hashed" not in options:
        assert_alike(forgot, never, texts)
    np.testing.assert_allclose(
        forgot.predict_log_proba(texts), never.predict_log_proba(texts), atol=1e-9
    )
    np.testing.assert_array_equal(forgot.stats_.rows, never.stats_.rows)


@pytest.mark.parametrize("weighting", ["counts", "l2"])
@pytest.mark.parametrize("options", VIEWS, ids=str)
def test_folds_are_refits(rng, options, weighting):
    """The held-out losses by subtraction equal those of models fitted again."""
    texts, labels = many(rng, 120)
    texts[:3] += " twice here"  # in two folds at most, so that a fold makes it rare
    model = model_of("contrast", **options).set_params(weighting=weighting)
    folds = np.arange(120) % 4
    found = verosim.cross_validate(model, texts, labels, cv=folds, scoring="neg_log_loss")
    for f, loss in enumerate(found.scores["neg_log_loss"]):
        fitted = clone(model).fit(texts[folds != f], labels[folds != f])
        log_p = fitted.predict_log_proba(texts[folds == f])
        own = np.searchsorted(fitted.classes_, labels[folds == f])
        assert loss == pytest.approx(own_log_proba(log_p, own).mean(), abs=1e-9)


def test_alpha_by_the_log_loss_at_the_best_temperature(rng):
    """The choice of alpha="cv" is that of refits on the same folds."""
    words = np.array([f"w{i}" for i in range(60)])
    labels = rng.integers(0, 3, 90)
    shares = rng.dirichlet(np.full(60, 0.2), 3)
    texts = [" ".join(rng.choice(words, 12, p=shares[k])) for k in labels]
    model = TextNB("contrast", weighting="l2", alpha="cv").fit(texts, labels)
    folds = array_folds(10, labels)[0]
    losses = {}
    for alpha in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0):
        rows = np.empty((90, 3))
        for f in range(10):
            inside = folds == f
            one = TextNB("contrast", weighting="l2", alpha=alpha)
            one.fit([texts[i] for i in np.flatnonzero(~inside)], labels[~inside])
            rows[inside] = one.predict_log_proba([texts[i] for i in np.flatnonzero(inside)])
        losses[alpha] = min(
            -(tau * rows - logsumexp(tau * rows, axis=1, keepdims=True))[range(90), labels].sum()
            for tau in TEMPERATURES
        )
    assert model.alpha_ == min(losses, key=losses.get)


def test_min_count_and_prune_count_texts():
    texts = ["rare rare rare word", "word here", "here too"]
    model = TextNB(weighting="l2", min_count=2).fit(texts, [0, 1, 1])
    assert sorted(model.tokens_) == ["here", "word"]
    pruned = TextNB(weighting="l2").fit(texts, [0, 1, 1]).decay(0.5).prune(2)
    assert sorted(pruned.tokens_) == ["here", "word"]
    assert b"rare" not in pickle.dumps(pruned)
    pruned.decay(0.01).forget(texts[:1], [0], [0.005])
    assert sorted(pruned.tokens_) == ["here", "word"]
    whole = TextNB(weighting="l2").fit([*texts, *["more"] * 9], [0, *[1] * 11]).prune(2)
    with pytest.raises(VerosimError, match="'here': more would be forgotten"):
        whole.forget(["here"] * 4, [1] * 4)


def test_settings_share_one_statistic():
    model = TextNB("multinomial", weighting="l2").fit(TEXTS, LABELS)
    model.set_params(model="contrast", alpha=0.1)
    expected = TextNB("contrast", weighting="l2", alpha=0.1).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    np.testing.assert_allclose(model.class_prior_, 0.5)
    with pytest.raises(VerosimError, match="weighting changed after the rows were read"):
        model.set_params(weighting="counts").predict(TEXTS)
    with pytest.raises(VerosimError, match="analyzer changed after the rows were read"):
        model.set_params(weighting="l2", analyzer="char_wb").predict(TEXTS)


def test_a_model_of_weights_is_not_a_density():
    model = TextNB(weighting="l2").fit(TEXTS, LABELS)
    for name in ("log_density", "log_joint", "sample"):
        assert not hasattr(model, name)
    assert hasattr(TextNB("contrast").fit(TEXTS, LABELS), "log_density")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"weighting": "tfidf"}, "weighting must be one of 'counts', 'l2'; got 'tfidf'"),
        ({"analyzer": "char"}, "analyzer must be one of 'word', 'char_wb'; got 'char'"),
        ({"model": "bernoulli", "weighting": "l2"}, 'cannot be used with model="bernoulli"'),
        ({"weighting": None}, "weighting must be"),
        ({"analyzer": ["word"]}, "analyzer must be"),
    ],
)
def test_bad_parameters(parameters, said):
    with pytest.raises(VerosimError, match=said):
        TextNB(**parameters).fit(TEXTS, LABELS)


def test_merging_unlike_models():
    model = TextNB(weighting="l2").fit(TEXTS, LABELS)
    for other in (TextNB(), TextNB(weighting="l2", analyzer="char_wb"), TextNB("bernoulli")):
        with pytest.raises(VerosimError):
            model.merge(other.fit(TEXTS, LABELS))


# Odd texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", VIEWS, ids=str)
@pytest.mark.parametrize("name", WEIGHED)
def test_odd_texts(name, options):
    """Empty texts, texts of one token, a class with one text, right-to-left text and emoji."""
    texts = [
        "", "   ", "one", "שלום עולם שלום", "مرحبا بالعالم", "🚀🚀 👩🏽‍🚀 🚀", "one two two",
        "x", "!", "two", "alone in its class", "one שלום", "😀", "two 😀 مرحبا",
    ]  # fmt: skip
    labels = np.array(list("aabbbaabbacbab"))
    options = {**options, "min_count": 1}
    model = model_of(name, **options).fit(texts, labels)
    p = model.predict_proba(texts)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[0], model.class_prior_)  # nothing but the priors
    assert model.predict(["alone in its class"])[0] == "c"
    model.forget(texts[10:11], labels[10:11])
    assert model.classes_.tolist() == ["a", "b"]


def test_a_text_of_a_million_tokens(rng):
    """Each of 10⁶ distinct tokens has the weight 1/1000; the others count as before."""
    long = " ".join(f"t{i:x}" for i in range(1_000_000))
    model = TextNB(weighting="l2").fit([long, "t0 t1", "t2"], [0, 1, 1])
    count, codes = model.stats_.arrays["count"], model.stats_.codes
    assert codes.size == 1_000_000
    np.testing.assert_allclose(count[0, 0], 1e-3, rtol=1e-12)
    at = [codes.tokens().index(token) for token in ("t0", "t1", "t2")]
    np.testing.assert_allclose(count[1, 0, at], [0.5**0.5, 0.5**0.5, 1.0])
    assert model.predict(["t0 t1"]).tolist() == [1]
    model.forget([long], [0])
    assert sorted(model.tokens_) == ["t0", "t1", "t2"]
