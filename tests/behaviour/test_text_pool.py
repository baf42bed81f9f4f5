"""The pool of texts: its reading of texts, its sums under updates, its folds, and odd texts."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import verosim
from tests.behaviour.test_pool import with_mixing_of
from tests.behaviour.test_text_ridge import corpus
from verosim import Pool, TextNB, TextPool, TextRidge, VerosimError, testing
from verosim.axes import Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.folds import inputs_of
from verosim.models import open_rows
from verosim.pool import rows, splitting, texts
from verosim.pool.experts import as_experts, grouped
from verosim.pool.fold_trial import FoldTrial
from verosim.pool.mixing import HeldOutFeatures, clipped
from verosim.pool.one_part_trial import OnePartTrial
from verosim.pool.text_experts import text_experts
from verosim.pool.text_spec import TextPoolSpec
from verosim.pool.text_svm import TextSVM
from verosim.stats.term_rows import TermRows

pa = pytest.importorskip("pyarrow")

WEIGHTED = {"model": "contrast", "weighting": "l2"}
WORDS = TextNB(alpha=0.01, **WEIGHTED)
PAIRS = TextNB(alpha=0.01, ngrams=(1, 2), min_count=2, **WEIGHTED)
LETTERS = TextNB(alpha=0.01, ngrams=(2, 3), analyzer="char_wb", min_count=3, **WEIGHTED)
RIDGE = TextRidge(d=30)
EXPERTS = [WORDS, PAIRS, LETTERS, RIDGE]
VIEWS = [Tokenizer(), Tokenizer((1, 2)), Tokenizer((2, 3), analyzer="char_wb")]


def pool(**given):
    return TextPool(EXPERTS, keep="all", **given)


def like(model, X, y, w=None):
    return pool().fit_like(replace(inputs_of(X, y), sample_weight=w), model)


def same_posteriors(one, other, X, rtol=1e-7):
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=rtol, atol=1e-10)


# Texts that were divided once --------------------------------------------------------------------


@pytest.mark.parametrize(
    "expert",
    [*EXPERTS, TextNB(alpha=0, weighting="l2")],
    ids=["words", "pairs", "letters", "ridge", "exact shares"],
)
def test_divided_texts_give_the_statistic_and_the_scores_of_texts(rng, expert):
    """Single words come from the rows of words and pairs."""
    X, y = corpus(rng)
    model = clone(expert).fit(X, y)
    documents = Documents.of(X)
    divided = TermRows.of(documents, VIEWS)
    groups = np.unique(y, return_inverse=True)[1].astype(np.int32)
    found = model.stats_.unplaced()
    for part in (slice(0, 60), np.arange(60, 150)):
        found.absorb(Batch(divided[part], groups[part]))
    testing.assert_same(found, model.stats_)
    at = rng.permutation(150)[:40]
    log_p = model.state_.rule.log_posterior(divided[at])
    np.testing.assert_allclose(log_p, model.predict_log_proba(X[at]), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(texts.log_lengths(divided[at]), texts.log_lengths(documents[at]))


def test_divided_texts_merge_with_texts(rng):
    """Sums of divided texts and of texts have other orders of the same terms."""
    X, y = corpus(rng)
    first = clone(PAIRS).fit(X[:70], y[:70])
    codes = np.searchsorted(first.classes_, y[70:]).astype(np.int32)
    more = first.stats_.copy()
    more.absorb(Batch(TermRows.of(Documents.of(X[70:]), VIEWS), codes))
    testing.assert_same(more, clone(PAIRS).fit(X, y).stats_)
    more.absorb(Batch(Documents.of(["quite new words"]), np.zeros(1, dtype=np.int32)))
    assert "quite new" in more.count_names()


def test_a_part_of_a_vocabulary_finds_the_tokens_of_the_whole(rng):
    """The places are known without a look at the tokens, also for a part of a part."""
    whole = Vocabulary.of([f"t{i}" for i in range(50)])
    part = whole.keep(rng.random(50) < 0.6)
    small = part.keep(rng.random(part.size) < 0.5).closed()
    for one in (part, small):
        looked_up = Vocabulary.of(one.tokens()).find(whole)
        np.testing.assert_array_equal(one.find(whole), looked_up)
    np.testing.assert_array_equal(small.find(part), Vocabulary.of(small.tokens()).find(part))
    again = pickle.loads(pickle.dumps(small))
    assert again.part_of is None
    np.testing.assert_array_equal(again.find(whole), small.find(whole))


def test_terms_of_divided_texts_are_those_of_texts(rng):
    X, y = corpus(rng)
    model = TextRidge(d=25).fit(X, y)
    pooled = TextPool([TextRidge(d=25)]).fit(X, y)
    ((_, terms),) = pooled.schema_.terms
    assert list(terms) == model.terms_.tolist()


def test_large_texts_are_not_divided(rng, monkeypatch):
    X, y = corpus(rng)
    divided = pool().fit(X, y)
    monkeypatch.setattr(texts, "MOST_TEXT_BYTES", 10)
    same_posteriors(pool().fit(X, y), divided, X, rtol=1e-5)


# Held-out predictions ----------------------------------------------------------------------------


def trial_for(X, y, experts):
    spec = TextPoolSpec(name="TextPool", members=as_experts(experts), unsettled=True)
    opened = open_rows(spec, inputs_of(X, y))
    spec = replace(spec, unsettled=False)
    source = replace(opened.source, reader=spec.reader(opened.schema))
    read = texts.divided(rows.read_rows(source), spec.members)
    schema = texts.completed(opened.schema, read, spec.members)
    groups = grouped(spec.members)
    return splitting.trial_of(groups, schema, read, 0), groups, schema


@pytest.mark.parametrize("kind", [FoldTrial, OnePartTrial])
@pytest.mark.parametrize("expert", EXPERTS, ids=["words", "pairs", "letters", "ridge"])
def test_held_out_predictions_are_those_of_refits(rng, expert, kind, monkeypatch):
    """Given the leading terms, which are chosen without labels."""
    X, y = corpus(rng)
    if kind is OnePartTrial:
        monkeypatch.setattr(splitting, "ROWS_TO_HOLD_OUT", 100)
        monkeypatch.setattr(splitting, "LEAST_HELD_OUT", 50)
        monkeypatch.setattr(splitting, "MOST_SCORES", 100)
    trial, groups, schema = trial_for(X, y, [expert])
    assert isinstance(trial, kind)
    (log_p,) = trial.count(groups[0]).log_p
    if kind is FoldTrial:
        parts = [(np.flatnonzero(trial.numbers != f), at) for f, at in enumerate(trial.held)]
    else:
        held = splitting.with_held_out(all_rows(X, y)).held
        parts = [(np.setdiff1d(np.arange(len(y)), held), held)]
    refit = clone(expert)
    if isinstance(expert, TextRidge):
        refit.set_params(priors="laplace", vocabulary=schema.terms[0][1])
    wanted = [refit.fit(X[train], y[train]).predict_log_proba(X[at]) for train, at in parts]
    np.testing.assert_allclose(log_p, np.concatenate(wanted), rtol=1e-6, atol=1e-8)


def test_experts_of_one_statistic_predict_as_each_alone(rng):
    """They ignore different rare terms, and the machine is found in the rows."""
    X, y = corpus(rng)
    experts = [clone(PAIRS).set_params(min_count=9), PAIRS, TextSVM()]
    trial, (group,), _ = trial_for(X, y, experts)
    for expert, log_p in zip(experts, trial.count(group).log_p, strict=True):
        alone, (one,), _ = trial_for(X, y, [expert])
        np.testing.assert_allclose(log_p, alone.count(one).log_p[0], rtol=1e-9, atol=1e-12)


def all_rows(X, y):
    spec = TextPoolSpec(name="TextPool", members=as_experts([WORDS]))
    return rows.read_rows(open_rows(spec, inputs_of(X, y)).source)


def test_permuted_labels_show_no_skill(rng):
    X, _ = corpus(rng, 160)
    printed, outer = [], []
    for _ in range(8):
        y, at = rng.permutation(np.arange(160) % 2), rng.permutation(160)
        train, test = at[:110], at[110:]
        model = TextPool(EXPERTS).fit(X[train], y[train])
        share = np.bincount(y[train]) / 110
        printed.append(model.table_[0].score + (share * np.log(share)).sum())
        log_p = model.predict_log_proba(X[test])
        outer.append(-log_p[np.arange(50), y[test]].mean() - np.log(2))
    for excess in (np.array(printed), np.array(outer)):
        assert excess.mean() > -2 * excess.std(ddof=1) / np.sqrt(8)


def test_long_texts_get_another_temperature(rng):
    """The true posterior is that of the first words; repeated words make the model too sure."""
    n = 2000
    length, y = rng.integers(1, 50, n), rng.integers(0, 2, n)
    evidence = rng.normal(np.where(y == 1, 1.0, -1.0), 1.0)
    log_p = np.zeros((n, 2))
    log_p[:, 1] = 2 * evidence * length**0.7
    found = HeldOutFeatures([log_p], y, np.ones(n), [np.log(length)])
    assert found.exponents[0] == pytest.approx(0.7, abs=0.1)
    plain = HeldOutFeatures([log_p], y, np.ones(n))
    assert plain.exponents[0] == 0
    assert found.scores()[0].loss < plain.scores()[0].loss
    mixing = found.mixing(["a"], np.arange(2), n)
    tau = mixing.temperatures[0] * length ** -mixing.exponents[0]
    np.testing.assert_allclose(
        mixing.clipped(log_p, 0, np.log(length)), clipped(log_p, tau[:, None]), rtol=1e-12
    )


# Updates -----------------------------------------------------------------------------------------


def test_merged_pools_have_the_sums_of_all_texts(rng):
    X, y = corpus(rng, 300)
    first = pool().fit(X[:120], y[:120])
    second = like(first, X[120:], y[120:])
    whole = like(first, X, y)
    merged = first + second
    testing.assert_same(merged.stats_, whole.stats_)
    same_posteriors(merged, with_mixing_of(whole, merged), X)
    for name, weight in merged.weights_.items():
        assert weight == pytest.approx(0.4 * first.weights_[name] + 0.6 * second.weights_[name])
    with pytest.raises(VerosimError, match="different experts"):
        first + TextPool([WORDS]).fit(X, y)


def test_auto_like_a_pool_of_texts_can_be_merged(rng):
    X, y = corpus(rng, 200)
    first = verosim.auto(X[:100], y[:100]).model
    second = verosim.auto(list(X[100:]), y[100:], like=first).model
    assert isinstance(second, TextPool)
    assert (first + second).class_count_.sum() == 200


@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_leaves_the_sums_of_the_other_texts(rng, weighted):
    X, y = corpus(rng, 200)
    w = rng.choice([0.5, 1.0, 2.0], 200) if weighted else np.ones(200)
    whole = pool().fit(X, y, sample_weight=w)
    rest = with_mixing_of(like(whole, X[60:], y[60:], w[60:]), whole)
    forgotten = pickle.loads(pickle.dumps(whole)).forget(X[:60], y[:60], w[:60])
    np.testing.assert_allclose(forgotten.class_count_, rest.class_count_)
    same_posteriors(forgotten, rest, X, rtol=1e-5)
    assert forgotten.rows_since_weights_ == pytest.approx(w[:60].sum())


def test_any_chunking_and_order_gives_the_same_model(rng):
    X, y = corpus(rng, 240)
    first = pool().fit(X[:120], y[:120])
    models = []
    for size, order in ((120, 1), (31, -1), (7, 1)):
        model = pickle.loads(pickle.dumps(first))
        for s in list(range(120, 240, size))[::order]:
            model.partial_fit(X[s : s + size], y[s : s + size])
        models.append(model)
    for model in models[1:]:
        same_posteriors(model, models[0], X)
    same_posteriors(models[0], with_mixing_of(like(first, X, y), first), X)


def test_decay_and_reweigh(rng):
    X, y = corpus(rng, 240)
    model = pool().fit(X, y)
    before, count = model.weights_, model.class_count_
    model.reweigh(X, y)
    assert list(model.weights_) == list(before)
    for name, weight in model.weights_.items():
        assert weight == pytest.approx(before[name], abs=0.2)
    half = model.decay(0.5)
    np.testing.assert_allclose(half.class_count_, count / 2)
    new, labels = corpus(rng, 100)
    assert half.reweigh(new, labels, counted=False).weights_ != before


def test_log_odds_are_the_sum_over_experts(rng):
    X, y = corpus(rng)
    model = pool(priors="uniform").fit(X, y)
    scores = model.expert_scores(X)
    assert list(scores.names) == list(model.weights_)
    log_p = model.predict_log_proba(X)
    odds = scores.totals[:, 1:] - scores.totals[:, :1]
    np.testing.assert_allclose(odds, log_p[:, 1:] - log_p[:, :1], rtol=0, atol=1e-10)


# Sources -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["array", "series", "arrow", "column", "frame", "csv"])
def test_every_kind_of_source(rng, tmp_path, form):
    X, y = corpus(rng)
    frame = pd.DataFrame({"text": X, "y": y})
    path = tmp_path / "texts.csv"
    frame.to_csv(path, index=False)
    wanted = (
        pool().fit(frame, "y") if form in ("column", "frame", "csv") else pool().fit(list(X), y)
    )
    given = {
        "array": (X, y), "series": (frame["text"], frame["y"]), "arrow": (pa.array(X), y),
        "column": (frame[["text"]], y), "frame": (frame, "y"), "csv": (path, "y"),
    }[form]  # fmt: skip
    model = pool().fit(*given)
    testing.assert_same(model.stats_, wanted.stats_)
    same_posteriors(model, wanted, X, rtol=1e-2)
    np.testing.assert_array_equal(model.predict(given[0]), model.predict(X))


def test_streamed_sums_are_those_in_memory(rng, tmp_path, monkeypatch):
    X, y = corpus(rng, 1500)
    path = tmp_path / "texts.csv"
    pd.DataFrame({"text": X, "y": y}).to_csv(path, index=False)
    monkeypatch.setattr(rows, "MOST_BYTES", 1 << 12)
    monkeypatch.setattr(splitting, "LEAST_HELD_OUT", 200)
    monkeypatch.setattr(splitting, "MOST_SCORES", 600)
    streamed = pool().fit(path, "y")
    monkeypatch.undo()
    memory = pool().fit_like(inputs_of(pd.read_csv(path), "y"), streamed)
    testing.assert_same(streamed.stats_, memory.stats_)
    same_posteriors(streamed, with_mixing_of(memory, streamed), X)
    assert streamed.score(path, "y") > 0.7


def test_auto_of_texts_is_a_pool_of_texts(rng):
    X, y = corpus(rng)
    for given in (list(X), X, pd.Series(X), pa.array(X), [None, *X[1:]]):
        model, table = verosim.auto(given, y, effort="fast")
        assert isinstance(model, TextPool)
        assert table[0].name == "TextPool(effort='fast')"
    assert set(model.weights_) <= {repr(one) for one in text_experts("fast", 150, 50.0)}


def test_texts_stand_beside_other_columns(rng):
    X, y = corpus(rng, 200, words=1000)  # the texts alone are not enough
    extra = (y == "a") ^ (rng.random(200) < 0.02)
    table = pd.DataFrame({"text": [f"{t} and more words here" for t in X], "flag": extra, "y": y})
    model, report = verosim.auto(table, "y")
    kinds = {name.split("(")[0] for name in model.weights_}
    assert kinds & {"TextNB", "TextRidge"}
    assert kinds & {"AODE", "KDB", "WeightedPairs", "LDA", "RDA", "LiftedLDA"}
    alone = TextPool().fit(table[["text"]], y).table_[0].score
    assert report[0].score < alone - 0.05
    assert model.table_.not_read == {}


def test_several_columns_of_texts_are_read_as_one(rng):
    X, y = corpus(rng, 120)
    table = pd.DataFrame({"title": X, "body": [f"{t} w0 w1" for t in X[::-1]], "n": 1.5, "y": y})
    kinds = {"title": "text", "body": "text"}
    model = Pool([WORDS], columns=kinds).fit(table, "y")
    joined = TextPool([WORDS]).fit(table["title"] + " " + table["body"], y)
    np.testing.assert_allclose(
        model.stats_.parts["texts"].parts[repr(WORDS)].arrays["count"],
        joined.stats_.parts["texts"].parts[repr(WORDS)].arrays["count"],
    )


# The machine of the largest effort ---------------------------------------------------------------


def test_the_largest_effort_adds_a_machine_that_refuses_updates(rng):
    X, y = corpus(rng)
    assert "TextSVM(C=1.0)" in map(repr, text_experts("max", 10**6, 50.0))
    model = TextPool([WORDS, TextSVM()], keep="all").fit(X, y)
    for update in (
        lambda: model.partial_fit(X, y), lambda: model.forget(X, y), lambda: model + model,
        lambda: model.reweigh(X, y),
    ):  # fmt: skip
        with pytest.raises(VerosimError, match=r"its expert TextSVM\(C=1.0\) does not allow it"):
            update()
    new = model.reweigh(X, y, counted=False)
    assert list(new.weights_) == list(model.weights_)
    assert [type(row.model) for row in model.table_ if row.needs_all_rows] == [TextSVM]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_machine_is_that_of_tfidf_rows(rng, classes):
    from sklearn.feature_extraction.text import TfidfVectorizer

    X, y = corpus(rng, classes=classes)
    model = TextPool([TextSVM()], keep="all").fit(X, y)
    (rule,) = model.state_.rule.params.rules.values()
    peer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    Z = peer.fit_transform(X)
    machine = verosim.LinearSVM(tol=1e-3, max_iter=200, random_state=0).fit(Z, y)
    wanted = machine.decision_function(Z)
    found = rule.params.log_ratio(Documents.of(X))
    if classes == 2:
        found = found[:, 1]
    np.testing.assert_allclose(found, wanted, atol=0.05)


# Odd texts ---------------------------------------------------------------------------------------

ODD = [
    "", "   ", "one", "שלום עולם שלום", "مرحبا بالعالم", "🚀🚀 go", "one two two", "x", "!",
    "two", "alone in its class", "one שלום", "😀", "two مرحبا", None, "two one 🚀🚀",
]  # fmt: skip
LABELS = np.array(list("aabbbaabbacbabaa"))


@pytest.mark.parametrize("effort", ["fast", "default", "max"])
def test_odd_texts(effort):
    model = TextPool(effort=effort).fit(ODD, LABELS)
    p = model.predict_proba([*ODD, "quite unknown"])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.predict(["alone in its class"]).shape == (1,)
    if effort == "default":
        model.forget(ODD[10:11], LABELS[10:11])
        assert model.classes_.tolist() == ["a", "b"]


def test_texts_without_tokens_and_one_token():
    nothing = TextPool([WORDS, PAIRS, RIDGE]).fit(["", "x", "!", "?"] * 5, list("aabb") * 5)
    np.testing.assert_allclose(nothing.predict_proba(["any word"]), 0.5, atol=0.01)
    one = TextPool().fit(["yes", "no"] * 20, ["a", "b"] * 20)
    assert one.predict(["yes", "no"]).tolist() == ["a", "b"]


def test_a_text_of_many_tokens():
    long = " ".join(f"t{i:x}" for i in range(100_000))
    X, y = ["t0 t1", "t0 t2", "u1 u2", "u1"] * 6, [0, 0, 1, 1] * 6
    model = TextPool(effort="fast").fit([*X, long], [*y, 1])
    assert model.predict(["t0", "u1", long]).tolist() == [0, 1, 1]
    every = TextPool().fit(X, y)
    assert np.isfinite(every.predict_proba([long])).all()


def test_wrong_input(rng):
    X, y = corpus(rng)
    with pytest.raises(VerosimError, match="Row 2"):
        TextPool().fit(["a b", "c d", 3], [0, 1, 1])
    with pytest.raises(VerosimError, match="does not exist"):
        TextPool().fit("one text", [0])
    with pytest.raises(VerosimError, match="effort"):
        TextPool(effort="slow").fit(X, y)
    with pytest.raises(VerosimError, match=r"n_samples=1"):
        TextPool().fit(["one text"], [0])
    model = TextPool().fit(X, y)
    for name in ("log_density", "log_joint", "sample"):
        assert not hasattr(model, name)
    with pytest.raises(VerosimError, match="Row 1"):
        model.predict(["fine", 7])
    with pytest.raises(VerosimError, match="got one text"):
        model.predict("one text")


def test_pickle_clone_and_parameters(rng):
    X, y = corpus(rng)
    model = TextPool(random_state=3).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.weights_ == model.weights_
    assert again.n_features_in_ == 1
