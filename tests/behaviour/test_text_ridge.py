"""TextRidge: the ridge regression, the choice of terms, the algebra, and odd texts."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

import verosim
from tests.behaviour.test_text import many
from verosim import TextNB, TextRidge, VerosimError, testing, use_threads
from verosim.data import Documents, Tokenizer
from verosim.data.sources import rows_in_memory
from verosim.folds.scores import own_log_proba
from verosim.models import terms as terms_module
from verosim.models.terms import choose_terms

pa = pytest.importorskip("pyarrow")


def corpus(rng, n=150, words=40, classes=3):
    """Texts in which some words are typical of a class."""
    made = np.array([f"w{i}" for i in range(words)])
    y = rng.integers(0, classes, n)
    shares = rng.dirichlet(np.full(words, 0.3), classes)
    texts = [" ".join(rng.choice(made, rng.integers(1, 12), p=shares[k])) for k in y]
    return np.array(texts, dtype=object), np.array(list("abcdef"))[y]


def rows_of(texts, chosen, ngrams=(1, 2)):
    """(n, K) sublinear weights of the chosen terms, with the norm 1 over these terms."""
    peer = TfidfVectorizer(
        ngram_range=ngrams, sublinear_tf=True, use_idf=False, vocabulary=list(chosen)
    )
    return peer.fit_transform(texts).toarray()


@pytest.mark.parametrize("penalty", [0.03, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_parity_with_ridge(rng, penalty, weighted):
    """The fitted indicators are those of scikit-learn's Ridge, and σ² is the penalised loss."""
    texts, y = corpus(rng)
    w = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    model = TextRidge(d=60, penalty=penalty).fit(texts, y, w)
    Z, T = rows_of(texts, model.terms_), (y[:, None] == model.classes_).astype(float)
    peer = Ridge(alpha=penalty).fit(Z, T, sample_weight=w)
    each = np.ones(len(y)) if w is None else w
    share = each @ T / each.sum()
    loss = (each[:, None] * (T - peer.predict(Z)) ** 2).sum() + penalty * (peer.coef_**2).sum()
    variance = loss / (each.sum() * len(share))
    np.testing.assert_allclose(model.coef_, peer.coef_ / variance, rtol=1e-8)
    scores = np.log(share) + (peer.predict(Z) - share) / variance
    found = model.predict_log_proba(texts)
    np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.class_prior_, share)
    Z = rows_of(["nothing known"], model.terms_)
    assert not Z.any()
    np.testing.assert_allclose(model.intercept_, (peer.intercept_ - share) / variance, atol=1e-8)


def test_the_terms_have_the_largest_scores(rng):
    """idf_j² Σ_i x_ij² by TfidfVectorizer, among the terms of two texts or more."""
    texts, y = corpus(rng)
    texts[0] += " unique unique unique"
    peer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, use_idf=False)
    X = peer.fit_transform(texts).toarray()
    frequency = (X > 0).sum(axis=0)
    idf = 1 + np.log((1 + len(texts)) / (1 + frequency))
    score = np.where(frequency >= 2, idf**2 * (X**2).sum(axis=0), -1.0)
    best = np.argsort(-score, kind="stable")[:50]
    assert score[best[-1]] > np.sort(score)[-51] * (1 + 1e-9)
    expected = sorted(peer.get_feature_names_out()[best])
    assert TextRidge(d=50).fit(texts, y).terms_.tolist() == expected
    table = pa.table({"text": texts.tolist(), "y": y.tolist()})
    assert TextRidge(d=50).fit(table, "y").terms_.tolist() == expected
    with use_threads(3):
        assert TextRidge(d=50).fit(texts, y).terms_.tolist() == expected


def test_the_choice_does_not_depend_on_labels(rng):
    texts, y = corpus(rng)
    other = TextRidge(d=30).fit(texts, rng.permutation(y))
    assert TextRidge(d=30).fit(texts, y).terms_.tolist() == other.terms_.tolist()
    weights = np.r_[np.zeros(40), np.ones(110)]
    part = TextRidge(d=30).fit(texts, y, weights).terms_.tolist()
    assert part == TextRidge(d=30).fit(texts[40:], y[40:]).terms_.tolist()


def test_rare_terms_are_dropped_while_texts_are_read(rng, monkeypatch):
    """With too many terms in memory the rarest go first; frequent ones stay."""
    texts = [f"common frequent only{i}" for i in range(60)]
    block = Documents.of(texts)
    monkeypatch.setattr(terms_module, "MOST_TERMS", 15)
    monkeypatch.setattr(terms_module, "BYTES_AT_ONCE", block.size // 6)  # ten texts at a time
    source = rows_in_memory(block, np.zeros(len(texts), dtype=np.int32), raw=True)
    found = choose_terms(source, Tokenizer(), 10, 2)
    assert found == ("common", "frequent")


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_chunks_merges_order_and_threads(rng, analyzer):
    texts, labels = many(rng, 200)
    options = {"d": 100, "analyzer": analyzer, "ngrams": (1, 2)}
    whole = TextRidge(**options).fit(texts, labels)
    options["vocabulary"] = whole.terms_.tolist()
    given = TextRidge(**options).fit(texts, labels)
    chunked = TextRidge(**options)
    for part in np.array_split(rng.permutation(len(texts)), 7):
        chunked.partial_fit(texts[part], labels[part])
    halves = [TextRidge(**options).fit(texts[i::2], labels[i::2]) for i in (0, 1)]
    with use_threads(3):
        threaded = TextRidge(**options).fit(texts, labels)
    for other in (given, chunked, halves[0] + halves[1], sum(halves), threaded):
        testing.assert_same(other.stats_, whole.stats_)
        np.testing.assert_allclose(
            other.predict_log_proba(texts), whole.predict_log_proba(texts), atol=1e-8
        )


def test_forgetting_is_never_having_seen(rng):
    texts, labels = many(rng, 200)
    weights = rng.choice([0.1, 0.3, 1.0], len(texts))
    keep = rng.random(len(texts)) < 0.3
    model = TextRidge(d=100).fit(texts, labels, weights)
    terms = model.terms_.tolist()
    declared = TextRidge(vocabulary=terms).fit(texts, labels, weights)
    for one in (model, declared):
        one.forget(texts[~keep], labels[~keep], weights[~keep])
        given = TextRidge(vocabulary=one.terms_.tolist())
        never = given.fit(texts[keep], labels[keep], weights[keep])
        testing.assert_same(one.stats_, never.stats_)
        np.testing.assert_allclose(
            one.predict_log_proba(texts), never.predict_log_proba(texts), atol=1e-8
        )
    assert declared.terms_.tolist() == terms  # terms that the user has given stay
    assert set(model.terms_) < set(terms)  # terms that no text has any more are gone
    with pytest.raises(VerosimError, match="more would be forgotten"):
        model.forget(texts[~keep], labels[~keep])


@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
@given(seed=st.integers(0, 2**32 - 1), heavier=st.floats(0, 11.5))
def test_forgetting_heavy_texts_leaves_a_model(seed, heavier):
    """The products that are left have the rounding errors of the heavy texts."""
    rng = np.random.default_rng(seed)
    texts, y = corpus(rng, int(rng.integers(4, 12)), 8)
    heavy = rng.random(len(y)) < 0.4
    heavy[:2] = False, True
    w = 10.0 ** (rng.choice([0, 30, 86]) + rng.uniform(0, 0.3, len(y)) + heavier * heavy)
    model = TextRidge(d=8, penalty=0.1, min_count=1, ngrams=(1, 1)).fit(texts, y, w)
    model.forget(texts[heavy], y[heavy], w[heavy])
    found = model.predict_log_proba(texts)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        verosim.loads(verosim.dumps(model)).predict_log_proba(texts), found
    )


@given(seed=st.integers(0, 2**32 - 1), base=st.sampled_from([-90, 0, 30, 80]))
def test_heavy_texts_can_be_left_out(seed, base):
    """Of a text that has nearly all of the weight, the leverage is 1 up to rounding."""
    rng = np.random.default_rng(seed)
    texts, y = corpus(rng, int(rng.integers(4, 12)), 8)
    w = 10.0 ** (base + rng.uniform(0, 3, len(y)))
    w[0] *= rng.choice([1.0, 1e8, 1e16])
    y[:2] = "a", "b"
    model = TextRidge(d=int(rng.integers(1, 9)), min_count=1, ngrams=(1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = verosim.cross_validate(model, texts, y, sample_weight=w, cv="loo")
    np.testing.assert_allclose(found.proba.sum(axis=1), 1.0)


def test_folds_are_refits(rng):
    texts, labels = corpus(rng)
    folds = np.arange(len(texts)) % 4
    terms = TextRidge(d=50).fit(texts, labels).terms_.tolist()
    for model in (TextRidge(d=50), TextRidge(vocabulary=terms, penalty=0.1)):
        found = verosim.cross_validate(model, texts, labels, cv=folds, scoring="neg_log_loss")
        again = TextRidge(vocabulary=terms, penalty=model.penalty)
        for f, loss in enumerate(found.scores["neg_log_loss"]):
            again.fit(texts[folds != f], labels[folds != f])
            log_p = again.predict_log_proba(texts[folds == f])
            own = np.searchsorted(again.classes_, labels[folds == f])
            expected = own_log_proba(log_p, own).mean()
            assert loss == pytest.approx(expected, abs=1e-8)


def test_the_penalty_is_chosen_on_held_out_rows(rng):
    texts, y = corpus(rng, 200)
    model = TextRidge(d=80, penalty="cv").fit(texts, y)
    assert model.penalty_ in (0.03, 0.1, 0.3, 1.0, 3.0)
    fixed = TextRidge(d=80, penalty=model.penalty_).fit(texts, y)
    np.testing.assert_allclose(model.predict_proba(texts), fixed.predict_proba(texts), atol=1e-9)
    found = verosim.calibrate(TextRidge(d=80, penalty="cv"), texts, y, method="length", cv=4)
    assert found.after_.log_loss < found.before_.log_loss
    with pytest.raises(VerosimError, match='penalty="cv" is chosen on held-out rows'):
        TextRidge(penalty="cv").partial_fit(texts, y)


def test_permuted_labels_are_not_predictable(rng):
    texts, y = corpus(rng, 400)
    y = rng.permutation(y)
    found = verosim.calibrate(TextRidge(d=80), texts, y, method="length")
    share = np.unique(y, return_counts=True)[1] / len(y)
    assert found.after_.log_loss >= -share @ np.log(share) - 0.01


def test_leave_one_out(rng):
    """The closed form is a refit without the row, weights and a class of one text included."""
    texts, y = corpus(rng, 40)
    y[0] = "z"
    terms = TextRidge(d=15).fit(texts, y).terms_.tolist()
    weights = rng.choice([0.5, 1.0, 2.0], 40)
    for w in (None, weights):
        for penalty in (0.1, 2.0):
            model = TextRidge(vocabulary=terms, penalty=penalty).fit(texts, y, w)
            found = verosim.cross_validate(model, texts, y, sample_weight=w, cv="loo")
            expected = np.full((40, 4), -np.inf)
            for i in range(40):
                rest = np.arange(40) != i
                one = TextRidge(vocabulary=terms, penalty=penalty)
                one.fit(texts[rest], y[rest], None if w is None else w[rest])
                at = np.isin(model.classes_, one.classes_)
                expected[i, at] = one.predict_log_proba(texts[i : i + 1])[0]
            np.testing.assert_allclose(found.proba, np.exp(expected), atol=1e-9)


# Tables --------------------------------------------------------------------------------------


def test_tables_and_their_schema(rng, tmp_path):
    texts, y = corpus(rng)
    table = pa.table({"id": np.arange(150), "body": texts.tolist(), "kind": y.tolist()})
    schema = verosim.look(table, "kind", columns={"body": "text", "id": "ignore"})
    model = TextRidge(d=40).fit(table, "kind", schema=schema)
    arrays = TextRidge(d=40).fit(texts, y)
    np.testing.assert_allclose(model.predict_proba(table), arrays.predict_proba(texts), atol=1e-9)
    ((_, terms),) = model.schema_.terms
    assert list(terms) == arrays.terms_.tolist()
    model.schema_.save(tmp_path / "schema.json")
    again = verosim.Schema.load(tmp_path / "schema.json")
    assert again == model.schema_
    parts = [table.take(np.arange(i, 150, 2)) for i in (0, 1)]
    halves = [TextRidge(d=40).fit(part, "kind", schema=again) for part in parts]
    both = halves[0] + halves[1]
    np.testing.assert_allclose(both.predict_proba(table), model.predict_proba(table), atol=1e-9)
    other = TextRidge(d=40).fit(table.slice(0, 75), "kind", schema=schema)
    with pytest.raises(VerosimError, match="The leading terms in this model differ"):
        model.merge(other)
    path = tmp_path / "rows.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    by_file = TextRidge(d=40).fit(str(path), "kind", schema=schema)
    np.testing.assert_allclose(by_file.coef_, model.coef_, atol=1e-8)
    assert by_file.predict_table(str(path)).read_all().column_names[0] == "prediction"
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=40))
    once = TextRidge(d=40).fit(stream, "kind", schema=schema)
    np.testing.assert_allclose(once.coef_, model.coef_, atol=1e-8)
    folded = verosim.cross_validate(TextRidge(d=40), table, "kind", schema=schema, cv=3)
    assert np.isfinite(folded.mean("neg_log_loss"))


def test_merging_unlike_models(rng):
    texts, y = corpus(rng)
    model = TextRidge(d=10).fit(texts, y)
    for other in (TextRidge(d=12), TextRidge(d=10, ngrams=(1, 1))):
        with pytest.raises(VerosimError):
            model.merge(other.fit(texts[::2], y[::2]))
    with pytest.raises(VerosimError):
        model.merge(TextNB().fit(texts, y))


# Settings and odd texts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"d": 0}, "d must be .*; got 0"),
        ({"d": 2.5}, "d must be .*; got 2.5"),
        ({"d": 10_000}, "d must be .*from 1 to 8192; got 10000"),
        ({"penalty": 0}, "penalty must be .*above 0; got 0"),
        ({"penalty": "best"}, "penalty must be .*; got 'best'"),
        ({"min_count": -1}, "min_count must be .*; got -1"),
        ({"ngrams": (2, 1)}, "shortest n-gram first"),
        ({"analyzer": "char"}, "analyzer must be one of"),
        ({"vocabulary": []}, "got an empty one"),
    ],
)
def test_bad_parameters(parameters, said):
    with pytest.raises(VerosimError, match=said):
        TextRidge(**parameters).fit(["one two", "three"], [0, 1])


def test_settings_take_effect_at_once(rng):
    texts, y = corpus(rng)
    model = TextRidge(d=30).fit(texts, y).set_params(penalty=0.1, priors="uniform")
    expected = TextRidge(d=30, penalty=0.1, priors="uniform").fit(texts, y)
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    np.testing.assert_allclose(model.with_priors([0.2, 0.3, 0.5]).class_prior_, [0.2, 0.3, 0.5])
    with pytest.raises(VerosimError, match="d changed after the rows were read"):
        model.set_params(d=20).predict(texts)
    for name in ("log_density", "log_joint", "sample"):
        assert not hasattr(model, name)


def test_odd_texts():
    texts = [
        "", "   ", "one", "שלום עולם שלום", "مرحبا بالعالم", "🚀🚀 go", "one two two", "x", "!",
        "two", "alone in its class", "one שלום", "😀", "two مرحبا",
    ]  # fmt: skip
    labels = np.array(list("aabbbaabbacbab"))
    model = TextRidge(min_count=1).fit(texts, labels)
    p = model.predict_proba(texts)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert "שלום" in model.terms_
    model.forget(texts[10:11], labels[10:11])
    assert model.classes_.tolist() == ["a", "b"]
    empty = TextRidge().fit(["", "x", "!"], ["p", "p", "q"])
    np.testing.assert_allclose(empty.predict_proba(["any word"]), [[2 / 3, 1 / 3]])
    assert empty.terms_.shape == (0,)
    with pytest.raises(VerosimError, match="row 1: the text is not UTF-8"):
        TextRidge(vocabulary=["ab"]).fit(
            pa.array([b"fine", b"\xff"], pa.binary()).view(pa.string()), [0, 1]
        )


def test_a_text_of_a_million_tokens():
    long = " ".join(f"t{i:x}" for i in range(1_000_000))
    model = TextRidge(d=100, ngrams=(1, 1)).fit([long, "t0 t1", "t0 t2"], [0, 1, 1])
    assert model.terms_.tolist() == ["t0", "t1", "t2"]
    np.testing.assert_allclose(model.stats_.arrays["sum"][0, 0], 3**-0.5)
