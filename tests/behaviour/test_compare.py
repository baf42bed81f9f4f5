"""Learning curves: paired draws, seeds, resuming, files, crossings, pictures; and whitening."""

from __future__ import annotations

import json
import math
import sys
import warnings
from threading import Lock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, make_scorer, matthews_corrcoef
from sklearn.naive_bayes import GaussianNB as PeerGaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import verosim
from verosim import Whiten
from verosim.errors import SingularWarning, VerosimError, VerosimWarning
from verosim.twins import Comparison
from verosim.twins.comparison.compare import compare
from verosim.twins.comparison.crossing import crossing, last_crossing
from verosim.twins.comparison.resampling import pool_of

X, y = load_wine(return_X_y=True)
NB, KNN = verosim.GaussianNB(), KNeighborsClassifier(1)
BOTH = {"nb": NB, "knn": KNN}


class Watched(ClassifierMixin, BaseEstimator):
    """A majority classifier that shows what it was given, and may be made to fail."""

    seen: list = []  # noqa: RUF012  (shared by all clones, on purpose)
    lock = Lock()

    def __init__(self, name="a", stop_at=None, random_state=None):
        self.name, self.stop_at, self.random_state = name, stop_at, random_state

    def fit(self, X, y):
        with self.lock:
            self.seen.append((self.name, X[:, 0].tolist(), list(y), self.random_state))
            fits = sum(name == self.name and y is not None for name, _, y, _ in self.seen)
        if fits == self.stop_at:
            raise KeyboardInterrupt
        self.classes_, count = np.unique(y, return_counts=True)
        self.top_ = self.classes_[count.argmax()]
        return self

    def predict(self, X):
        with self.lock:
            self.seen.append((self.name, X[:, 0].tolist(), None, None))
        return np.full(len(X), self.top_)


@pytest.fixture
def seen():
    Watched.seen.clear()
    return Watched.seen


# Draws ---------------------------------------------------------------------------------------


def numbered(n, classes=2):
    """Rows that say which they are."""
    return np.arange(float(n))[:, None], np.arange(n) % classes


def test_every_model_and_size_sees_the_same_rows(seen):
    rows, labels = numbered(60)
    models = {"a": Watched("a"), "b": Watched("b")}
    compare(models, rows, labels, sizes=[5, 20, 45], repeats=2, threads=1)
    fits = [call for call in seen if call[2] is not None]
    tests = [call for call in seen if call[2] is None]
    assert len(fits) == len(tests) == 12
    for repeat in range(2):
        of_a = [call[1] for call in fits[6 * repeat : 6 * repeat + 6] if call[0] == "a"]
        of_b = [call[1] for call in fits[6 * repeat : 6 * repeat + 6] if call[0] == "b"]
        assert of_a == of_b
        assert [len(found) for found in of_a] == [5, 20, 45]
        assert of_a[2][:20] == of_a[1]  # larger training sets hold the smaller ones
        assert of_a[1][:5] == of_a[0]
        held = {tuple(call[1]) for call in tests[6 * repeat : 6 * repeat + 6]}
        assert len(held) == 1
        assert not set(of_a[2]) & set(held.pop())
    assert fits[0][1] != fits[6][1]


@pytest.mark.parametrize("seed", range(20))
def test_beginnings_are_stratified(seed):
    """Adams's apportionment of two parties: the share to within a row, never below it for the
    smaller class, and all classes from the first rows on."""
    codes = np.repeat([0, 1, 2], [70, 28, 2])
    pool = pool_of(np.zeros((100, 1)), codes)
    order = pool.order(np.random.SeedSequence(seed))
    assert sorted(order.tolist()) == list(range(100))
    assert set(codes[order[:3]]) == {0, 1, 2}
    two = codes[order][codes[order] < 2]
    for m in range(2, 98):
        ones = int((two[:m] == 1).sum())
        assert math.floor(m * 28 / 98) <= ones <= math.ceil(m * 28 / 98) + 1


def test_the_order_is_by_lot():
    """Each row of a class is as likely as another to come first."""
    pool = pool_of(np.zeros((8, 1)), np.repeat([0, 1], 4))
    firsts = [pool.order(np.random.SeedSequence(s))[0] for s in range(2000)]
    count = np.bincount(firsts, minlength=8)
    assert ((count - 250) ** 2 / 250).sum() < 24.3  # χ² of 7 degrees, one in a thousand


def test_sizes():
    found = compare(BOTH, X, y, repeats=1)
    assert found.sizes[0] == 10
    assert found.sizes[-1] == 178 - found.test_rows == 134
    ratio = found.sizes[1:] / found.sizes[:-1]
    assert ratio.max() / ratio.min() < 1.2
    assert compare(NB, X, y, sizes=[0.5, 1.0, 20], repeats=1).sizes.tolist() == [20, 67, 134]
    assert compare(NB, X, y, sizes=np.array([20.0, 40.0]), repeats=1).sizes.tolist() == [20, 40]
    for bad in ([1], [135], [1.5], [-3], ["few"], [True], []):
        with pytest.raises(VerosimError, match="size"):
            compare(NB, X, y, sizes=bad, repeats=1)
    for bad in (0, 0.0, 1.0, 177, "half", None):
        with pytest.raises(VerosimError, match="test_size"):
            compare(NB, X, y, test_size=bad, repeats=1)


def test_bad_input():
    with pytest.raises(VerosimError, match="All 178 rows are of class 0"):
        compare(NB, X, np.zeros(178, int))
    with pytest.raises(VerosimError, match="y is None"):
        compare(NB, X)
    with pytest.raises(VerosimError, match="3 labels"):
        compare(NB, X, y[:3])
    with pytest.raises(VerosimError, match="no column 'grape'"):
        compare(NB, pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1]}), "grape")
    with pytest.raises(VerosimError, match="repeats"):
        compare(NB, X, y, repeats=0)
    with pytest.raises(VerosimError, match="scoring='wit' is not the name of a score"):
        compare(NB, X, y, scoring="wit")
    with pytest.raises(VerosimError, match="models must not be empty"):
        compare({}, X, y)
    with pytest.raises(VerosimError, match="'nb' must be a classifier"):
        compare({"nb": verosim.GaussianNB}, X, y)
    with pytest.raises(VerosimError, match="'svm' has no predict_proba"):
        compare({"svm": SVC()}, X, y, scoring="log_loss")
    with pytest.raises(VerosimError, match="is not a pair of models"):
        compare(BOTH, X, y, pairs=[("nb", "tree")])
    with pytest.raises(VerosimError, match="random_state"):
        compare(NB, X, y, random_state="seven")


# Seeds and workers ---------------------------------------------------------------------------


def same(a: Comparison, b: Comparison) -> bool:
    return (
        np.array_equal(a.values, b.values, equal_nan=True)
        and a.failures == b.failures
        and a.models == b.models
        and np.array_equal(a.sizes, b.sizes)
        and a.crossings == b.crossings
        and str(a) == str(b)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.errors.SingularWarning")
def test_values_do_not_depend_on_the_workers():
    """Forests and shuffled folds draw seeds of their own: they are given ones."""
    models = {
        "nb": NB, "forest": RandomForestClassifier(5), "lda": verosim.LDA(shrinkage="cv"),
        "whitened": make_pipeline(Whiten(shrinkage=0.1), KNeighborsClassifier()),
    }  # fmt: skip
    runs = [compare(models, X, y, sizes=[15, 60], repeats=5, threads=k) for k in (1, 2, 4)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    other = compare(models, X, y, sizes=[15, 60], repeats=5, random_state=1)
    assert not np.array_equal(other.values, runs[0].values)


def test_models_with_a_seed_keep_it(seen):
    rows, labels = numbered(20)
    models = {"a": Watched("a", random_state=7), "b": Watched("b")}
    compare(models, rows, labels, sizes=[5, 10], repeats=2)
    of_a = {call[3] for call in seen if call[0] == "a" and call[2] is not None}
    of_b = {call[3] for call in seen if call[0] == "b" and call[2] is not None}
    assert of_a == {7}
    assert len(of_b) == 2  # one a repeat
    assert None not in of_b


def test_random_state():
    """None takes a new seed and keeps it; generators are drawn from."""
    first = compare(NB, X, y, sizes=[20], repeats=2, random_state=None)
    assert same(first, compare(NB, X, y, sizes=[20], repeats=2, random_state=first.seed))
    seeds = {compare(NB, X, y, sizes=[20], repeats=1, random_state=None).seed for _ in range(3)}
    assert len(seeds) == 3
    a = compare(NB, X, y, sizes=[20], repeats=1, random_state=np.random.default_rng(3))
    b = compare(NB, X, y, sizes=[20], repeats=1, random_state=np.random.default_rng(3))
    assert same(a, b)
    compare(NB, X, y, sizes=[20], repeats=1, random_state=np.random.RandomState(0))


# Resuming and keeping ------------------------------------------------------------------------

SIZES = [6, 20, 80]


def one_run(models=BOTH, sizes=SIZES, repeats=6, **how):
    return compare(models, X, y, sizes=sizes, repeats=repeats, **how)


def test_resuming_equals_one_run(seen):
    whole = one_run()
    assert same(whole, one_run(resume=one_run(repeats=2)))
    assert same(whole, one_run(resume=one_run(sizes=[20])))
    assert same(whole, one_run(resume=one_run(models={"knn": KNN})))
    assert same(one_run(repeats=2), one_run(repeats=2, resume=whole))
    models = {"a": Watched("a"), "b": Watched("b")}
    first = one_run(models={"a": models["a"]}, repeats=2)
    seen.clear()
    again = one_run(models=models, repeats=2, resume=first)
    assert {call[0] for call in seen} == {"b"}  # what is known is not computed again
    assert again.complete


def test_a_stranger_is_not_resumed(tmp_path):
    known = one_run(repeats=1)
    with pytest.raises(VerosimError, match="different rows or labels"):
        compare(BOTH, X + 1e-9, y, sizes=SIZES, resume=known)
    with pytest.raises(VerosimError, match="different rows or labels"):
        compare(BOTH, X, y[::-1], sizes=SIZES, resume=known)
    with pytest.raises(VerosimError, match="different random_state"):
        one_run(random_state=1, resume=known)
    with pytest.raises(VerosimError, match="different scoring"):
        one_run(scoring="accuracy", resume=known)
    with pytest.raises(VerosimError, match="different test_size"):
        one_run(test_size=30, resume=known)
    with pytest.raises(VerosimError, match=r"'knn' is KNeighborsClassifier\(n_neighbors=3\)"):
        one_run(models={"nb": NB, "knn": KNeighborsClassifier(3)}, resume=known)
    with pytest.raises(VerosimError, match="resume"):
        one_run(resume=17)
    with pytest.raises(VerosimError, match="cannot be read"):
        one_run(resume=tmp_path / "none.json")


def test_files(tmp_path):
    """A file is a whole comparison to the last bit; it is gone on with, never overwritten."""
    path = tmp_path / "curves.json"
    first = one_run(repeats=2, path=path)
    loaded = Comparison.load(path)
    assert same(first, loaded)
    assert loaded.values.tobytes() == first.values.tobytes()
    assert vars(loaded).keys() >= set(Comparison.__dataclass_fields__)
    with pytest.raises(VerosimError, match="already exists"):
        one_run(path=path)
    with pytest.raises(VerosimError, match="would delete them"):
        one_run(repeats=1, resume=path)
    with pytest.raises(VerosimError, match=r"folder .* does not exist"):
        one_run(path=tmp_path / "none" / "curves.json")
    copy = tmp_path / "copy.json"
    one_run(repeats=2, resume=first, path=copy)  # nothing to do but to keep it
    assert same(Comparison.load(copy), first)
    copy.unlink()
    whole = one_run(resume=str(path))
    assert same(whole, one_run())
    assert same(Comparison.load(path), whole)
    assert list(tmp_path.iterdir()) == [path]  # nothing half-written is left behind
    json.loads(path.read_text(), parse_constant=pytest.fail)  # plain JSON, without NaN
    path.write_text(json.dumps({"format": 99}))
    with pytest.raises(VerosimError, match="not a comparison of format 1"):
        Comparison.load(path)
    with pytest.raises(VerosimError, match="cannot be read"):
        Comparison.load(tmp_path)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "curves.json"
    one_run(repeats=1).save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(VerosimError, match="cannot be written: full"):
        one_run(repeats=2).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted(seen, threads, tmp_path):
    """Ctrl-C gives the whole repeats, and they are those of an undisturbed run."""
    rows, labels = numbered(60, 3)
    path = tmp_path / "curves.json"
    models = {"a": Watched("a", stop_at=11), "b": Watched("b")}
    with pytest.warns(VerosimWarning, match=r"interrupted after \d of 9 repeats"):
        part = compare(
            models, rows, labels, sizes=[5, 20], repeats=9, threads=threads, path=path
        )  # fmt: skip
    assert not part.complete
    done = int(part.whole.sum())
    assert 1 <= done < 9
    assert np.isnan(part.values[..., ~part.whole]).all()
    assert not np.isnan(part.mean).any()
    assert f"not complete: {done} of 9 repeats" in str(part)
    assert same(Comparison.load(path), part)
    seen.clear()
    calm = {"a": Watched("a", stop_at=10**6), "b": Watched("b")}
    whole = compare(calm, rows, labels, sizes=[5, 20], repeats=9)
    assert np.array_equal(part.values[..., part.whole], whole.values[..., part.whole])
    seen.extend([("a", [], [], None)] * 11)  # past the fit that stopped it
    rest = compare(models, rows, labels, sizes=[5, 20], repeats=9, resume=path)
    assert rest.complete
    assert np.array_equal(rest.values, whole.values)
    assert same(Comparison.load(path), rest)


def test_failures_are_kept_and_kill_nothing():
    """Five neighbours cannot be had of three rows, nor three folds of one."""
    models = {"nb": NB, "5-NN": KNeighborsClassifier(5)}
    with pytest.warns(
        VerosimWarning, match=r"4 of 16 fits failed.* The first one is '5-NN' on 3 rows"
    ):
        found = compare(models, X, y, sizes=[3, 30], repeats=4)
    assert found.complete
    assert [f[:3] for f in found.failures] == [("5-NN", 3, r) for r in range(4)]
    assert all("n_neighbors" in f.reason for f in found.failures)
    assert np.isnan(found.values[1, 0]).all()
    assert not np.isnan(found.values[:, 1]).any()
    assert np.isnan(found.mean[1, 0])
    assert "4 fits failed" in str(found)
    assert "–" in found.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = compare(models, X, y, sizes=[3, 30], repeats=6, resume=found)
    assert len(again.failures) == 6
    assert found.crossings[0].size is None  # one size is left to compare


def test_a_metric_without_a_value_is_a_failure():
    """The area under the curve of test rows of one class is nan."""
    labels = np.repeat([0, 1], [88, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(NB, X[:90], labels, sizes=[20], repeats=2, scoring="roc_auc", test_size=5)
    assert found.complete
    assert len(found.failures) == 2


def test_warnings_are_few():
    """One warning of a kind, however many fits give it."""
    lda = {"lda": verosim.LDA()}
    with pytest.warns(SingularWarning, match="similar warnings") as caught:
        compare(lda, X, y, sizes=[4, 6], repeats=5, threads=2)
    assert len(caught) == 1


# Metrics -------------------------------------------------------------------------------------


def refit(found, repeat, size, model):
    """The same draw by hand."""
    seed = np.random.SeedSequence(found.seed, spawn_key=(repeat,)).spawn(2)[0]
    order = pool_of(X, y).order(seed)
    train, test = order[:size], order[-found.test_rows :]
    return model.fit(X[train], y[train]), X[test], y[test]


def test_metrics_are_those_of_scikit_learn():
    metrics = {
        "error": lambda m, X, y: 1 - m.score(X, y),
        "accuracy": lambda m, X, y: m.score(X, y),
        "log_loss": lambda m, X, y: log_loss(y, m.predict_proba(X), labels=[0, 1, 2]),
        "brier": lambda m, X, y: ((m.predict_proba(X) - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "f1_macro": None,
    }
    for name, by_hand in metrics.items():
        found = compare({"nb": PeerGaussianNB()}, X, y, sizes=[40], repeats=2, scoring=name)
        assert found.better == ("lower" if name in ("error", "log_loss", "brier") else "higher")
        if by_hand is not None:
            for repeat in range(2):
                expected = by_hand(*refit(found, repeat, 40, PeerGaussianNB()))
                np.testing.assert_allclose(found.values[0, 0, repeat], expected, rtol=1e-12)


def test_brier_of_two_classes_is_halved():
    A, b = load_breast_cancer(return_X_y=True)
    found = compare({"nb": PeerGaussianNB()}, A, b, sizes=[40], repeats=1, scoring="brier")
    seed = np.random.SeedSequence(0, spawn_key=(0,)).spawn(2)[0]
    order = pool_of(A, b).order(seed)
    model = PeerGaussianNB().fit(A[order[:40]], b[order[:40]])
    test = order[-found.test_rows :]
    expected = brier_score_loss(b[test], model.predict_proba(A[test])[:, 1])
    np.testing.assert_allclose(found.values[0, 0, 0], expected, rtol=1e-12)


def test_scorers_and_classes_never_seen():
    found = compare(BOTH, X, y, sizes=[30], repeats=2, scoring=make_scorer(matthews_corrcoef))
    assert found.scoring == "matthews_corrcoef"
    assert found.better == "higher"
    labels = np.where(np.arange(178) < 2, "rare", np.where(y > 0, "b", "a"))
    few = compare({"nb": NB}, X, labels, sizes=[2], repeats=6, scoring="log_loss")
    assert np.isfinite(few.values).all()  # of three classes, a model of two is judged


def test_standard_errors_and_differences():
    found = one_run(repeats=7)
    np.testing.assert_allclose(found.mean, found.values.mean(axis=2))
    np.testing.assert_allclose(found.standard_error, found.values.std(axis=2, ddof=1) / 7**0.5)
    apart = found.values[0] - found.values[1]
    difference = found.difference("nb", "knn")
    np.testing.assert_allclose(difference.mean, apart.mean(axis=1))
    np.testing.assert_allclose(difference.standard_error, apart.std(axis=1, ddof=1) / 7**0.5)
    assert difference.repeats.tolist() == [7, 7, 7]
    assert found.differences.keys() == {("nb", "knn")}
    assert np.isnan(one_run(repeats=1).standard_error).all()
    with pytest.raises(VerosimError, match="'tree' is not one of the models"):
        found.difference("nb", "tree")


def test_some_of_the_models():
    models = {"nb": NB, "5-NN": KNeighborsClassifier(5), "svm": SVC()}
    with pytest.warns(VerosimWarning, match="fits failed"):
        found = compare(models, X, y, sizes=[3, 30], repeats=2)
    part = found.only("svm", "nb")
    assert same(part, compare({"svm": SVC(), "nb": NB}, X, y, sizes=[3, 30], repeats=2))
    assert found.only("nb").pairs == ()
    assert len(found.only("5-NN").failures) == 2
    with pytest.raises(VerosimError, match="'tree' is not one of the models"):
        found.only("tree")


# What can be given ---------------------------------------------------------------------------


def test_tables_and_strings():
    """A named target of any table, and labels apart, give the same curves."""
    names = [f"c{j}" for j in range(X.shape[1])]
    kinds = np.array(["barolo", "grignolino", "barbera"])[y]
    frame = pd.DataFrame(X, columns=names).assign(kind=kinds)
    models = {"nb": verosim.NaiveBayes(), "gnb": verosim.GaussianNB()}
    how = {"sizes": [12, 90], "repeats": 3}
    expected = compare(models, frame[names], kinds, **how)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        found = compare(models, table, "kind", **how)
        assert not found.failures
        np.testing.assert_array_equal(found.values, expected.values)
    by_target = []
    for repeat in range(3):
        seed = np.random.SeedSequence(0, spawn_key=(repeat,)).spawn(2)[0]
        order = pool_of(frame, "kind").order(seed)
        model = verosim.NaiveBayes().fit(frame.iloc[order[:90]], "kind")
        by_target.append(1 - model.score(frame.iloc[order[-found.test_rows :]], "kind"))
    np.testing.assert_allclose(expected.values[0, 1], by_target, rtol=1e-12)
    lists = compare(models, X.tolist(), kinds.tolist(), **how)
    np.testing.assert_array_equal(lists.values[1], expected.values[1])
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    assert compare({"lr": scaled}, frame, "kind", **how).mean[0, 1] < 0.1


def test_texts_and_sparse_rows(rng):
    words = np.array(["cash", "win", "prize", "lunch", "noon", "tea", "now", "the"])
    spam = rng.random(60) < 0.5
    chance = np.where(spam[:, None], [4, 4, 4, 1, 1, 1, 2, 2], [1, 1, 1, 4, 4, 4, 2, 2]) / 19
    texts = [" ".join(rng.choice(words, 9, p=p)) for p in chance]
    labels = np.where(spam, "spam", "ham")
    models = {
        "text": verosim.TextNB(),
        "logistic": make_pipeline(CountVectorizer(), LogisticRegression()),
    }
    for given in (texts, np.array(texts, dtype=object), pd.Series(texts)):
        found = compare(models, given, labels, sizes=[8, 40], repeats=3)
        assert not found.failures
        assert (found.mean[:, 1] < 0.3).all()
    assert found.pairs == (("text", "logistic"),)
    counts = CountVectorizer().fit_transform(texts)
    models = {"nb": verosim.MultinomialNB(), "logistic": LogisticRegression()}
    found = compare(models, sp.csc_array(counts), labels, sizes=[8, 40], repeats=3)
    dense = compare(models, counts.toarray(), labels, sizes=[8, 40], repeats=3)
    assert not found.failures
    np.testing.assert_allclose(found.values[0], dense.values[0])


def test_names_and_pairs():
    """Lists are named by class; the generative ones, verosim's or not, face all others."""
    listed = [NB, verosim.GaussianNB(floor=0.1), make_pipeline(StandardScaler(), KNN), SVC()]
    found = compare(listed, X, y, sizes=[30], repeats=1)
    assert found.names == ("GaussianNB 1", "GaussianNB 2", "KNeighborsClassifier", "SVC")
    assert found.pairs == tuple(
        (g, d) for g in ("GaussianNB 1", "GaussianNB 2") for d in ("KNeighborsClassifier", "SVC")
    )
    models = {"peer": PeerGaussianNB(), "calibrated": verosim.calibrate(NB, X, y), "svm": SVC()}
    found = compare(models, X, y, sizes=[60], repeats=1)
    assert found.pairs == (("peer", "svm"), ("calibrated", "svm"))
    chosen = compare(BOTH, X, y, sizes=[30], repeats=1, pairs=[("knn", "nb")])
    assert chosen.pairs == (("knn", "nb"),)
    assert compare({"svm": SVC()}, X, y, sizes=[30], repeats=1).crossings == ()


# Crossings -----------------------------------------------------------------------------------

LADDER = np.array([10, 20, 40, 80, 160, 320])


def curves(generative, discriminative, noise=0.0, repeats=40, lower_is_better=True):
    """A comparison with given mean curves."""
    rng = np.random.default_rng(5)
    means = np.array([generative, discriminative], dtype=float)
    each = rng.normal(0, 1, (2, len(LADDER), repeats))
    each -= each.mean(axis=2, keepdims=True)  # so that the means are as given
    return Comparison(
        {"g": "", "d": ""}, LADDER, means[:, :, None] + noise * each, "error", lower_is_better,
        (("g", "d"),), (), 500, 100, 0, "",
    )  # fmt: skip


@pytest.mark.parametrize("where", [13.0, 40.0, 57.0, 300.0])
def test_a_known_crossing(where):
    """Curves that are lines in log n cross where they were drawn to."""
    slope = np.log(LADDER / where)
    found = curves(0.3 - 0.02 * slope, 0.3 - 0.07 * slope).crossings[0]
    np.testing.assert_allclose(found.size, where, rtol=1e-12)
    np.testing.assert_allclose([found.low, found.high], where, rtol=1e-12)  # no noise, no doubt
    assert (found.ahead, found.times) == ("d", 1)
    accuracies = curves(0.7 + 0.02 * slope, 0.7 + 0.07 * slope, lower_is_better=False)
    np.testing.assert_allclose(accuracies.crossings[0].size, where, rtol=1e-12)
    assert accuracies.crossings[0].ahead == "d"


@pytest.mark.slow
def test_the_interval_covers(rng):
    """About 95 of 100 intervals hold the true crossing."""
    where, held = 57.0, 0
    lead = 0.02 * np.log(LADDER / where)
    for _ in range(300):
        noisy = lead[:, None] + 0.03 * rng.normal(size=(len(LADDER), 60))
        found = crossing("g", "d", LADDER, noisy, rng)
        held += found.low <= where <= found.high
    assert 0.90 <= held / 300 <= 0.985


def test_no_crossing_is_said():
    flat = np.full(6, 0.2)
    found = curves(flat, flat + 0.1, noise=0.01).crossings[0]
    assert (found.size, found.ahead, found.times) == (None, "g", 0)
    assert "no crossing, g is better or equal at all sizes" in str(found)
    assert (found.low, found.high) == (0, 0)
    tie = curves(flat, flat).crossings[0]
    assert (tie.size, tie.ahead) == (None, None)
    assert "the means are equal at all sizes" in str(tie)


def test_open_intervals():
    """With much noise the crossing may lie below what was tried, or beyond it."""
    slope = np.log(LADDER / 250.0)
    late = curves(0.3 - 0.02 * slope, 0.3 - 0.04 * slope, noise=0.1).crossings[0]
    assert late.high == np.inf
    assert "above" in late.interval
    slope = np.log(LADDER / 13.0)
    early = curves(0.3 - 0.02 * slope, 0.3 - 0.06 * slope, noise=0.2).crossings[0]
    assert early.low == 0
    assert "below" in early.interval


def test_the_last_of_several_crossings_counts():
    lead = np.array([-1.0, 1.0, 1.0, -1.0, -1.0, 1.0]) / 100
    found = curves(0.2 + lead, np.full(6, 0.2)).crossings[0]
    assert (found.ahead, found.times) == ("d", 3)
    np.testing.assert_allclose(found.size, np.sqrt(160 * 320), rtol=1e-12)
    assert "the last of 3 crossings" in str(found)
    back = curves(0.2 - lead, np.full(6, 0.2)).crossings[0]  # the generative one wins in the end
    assert (back.ahead, back.times) == ("g", 3)
    np.testing.assert_allclose(back.size, found.size, rtol=1e-12)


def test_last_crossing_of_ties():
    x = np.log([1.0, 2.0, 4.0])
    lead = np.array([[-1, 0, 1], [0, 0, 1], [1, 0, -1], [-1, 0, 0], [0, 0, 0], [1, 1, 0]])
    found = last_crossing(x, lead.astype(float))
    np.testing.assert_allclose(found, [2, 0, np.inf, np.inf, 0, 0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target", "drop"), [("pima", "class", []), ("boston", "above_median", ["medv"])]
)
def test_two_regimes(data, name, target, drop):
    """Ng & Jordan (2002), figure 1: naive Bayes is better with few rows, logistic with many."""
    frame = pd.read_csv(data / name / f"{name}.csv").drop(columns=drop)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=1000, max_iter=2000))
    models = {"naive": verosim.NaiveLDA(), "logistic": logistic}
    found = compare(models, frame, target, sizes=[10, 1.0], repeats=100)
    lead = found.difference("naive", "logistic")
    assert lead.mean[0] < -3 * lead.standard_error[0]
    assert lead.mean[1] > 3 * lead.standard_error[1]
    (crossing,) = found.crossings
    assert crossing.ahead == "logistic"
    assert 10 < crossing.size < found.sizes[-1]


# Tables and pictures -------------------------------------------------------------------------


def test_tables():
    found = one_run(repeats=3)
    lines = found.table().split("\n")
    assert lines[0] == "| rows | nb | knn |"
    assert lines[2].startswith(f"| 6 | {found.mean[0, 0]:.4f} ± ")
    frame = found.to_pandas()
    assert frame.shape == (6, 5)
    assert frame["repeats"].tolist() == [3] * 6
    np.testing.assert_array_equal(frame["mean"], found.mean.ravel())
    assert frame.to_dict("list") == found.to_dict()
    shown = str(found)
    assert shown.startswith("error (lower is better), 3 repeats, 44 test rows\nrows")
    assert shown == repr(found)


@pytest.mark.parametrize(
    ("method", "library", "hint"),
    [("plot", "matplotlib", r"pip install 'verosim\[plot\]'"), ("to_pandas", "pandas", "to_dict")],
)
def test_a_library_that_is_not_installed(monkeypatch, method, library, hint):
    found = one_run(repeats=3)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(VerosimError, match=f"needs {library}.*{hint}"):
        getattr(found, method)()


def test_plot():
    """A figure of both curves, their bands, the ring of the crossing and the names."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    slope = np.log(LADDER / 57.0)
    found = curves(0.3 - 0.02 * slope, 0.3 - 0.07 * slope, noise=0.05)
    ax = found.plot()
    assert ax.get_xscale() == "log"
    assert {text.get_text() for text in ax.texts} == {"g", "d"}
    rings = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert len(rings) == 1
    np.testing.assert_allclose(rings[0].get_xdata(), [57], rtol=1e-9)
    assert len(ax.collections) == 2  # bands
    ax.figure.canvas.draw()
    low, high = sorted(text.get_window_extent().y0 for text in ax.texts)
    assert high - low > 8  # names do not cover each other
    _, other = plt.subplots()
    assert found.plot(other, labels=False, crossings=False, colours={"g": "black"}) is other
    assert not other.texts
    many = compare({f"m{i}": NB for i in range(9)}, X, y, sizes=[20, 40], repeats=2)
    assert many.plot().get_legend() is not None
    plt.close("all")


# Whitening -----------------------------------------------------------------------------------


@parametrize_with_checks([Whiten(), Whiten(covariance="unbiased", shrinkage="ledoit_wolf")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("settings", [{}, {"covariance": "unbiased"}, {"shrinkage": 0.2}])
def test_distances_become_mahalanobis(settings):
    """Euclid in whitened space is Mahalanobis by the pooled covariance, to a class mean or between
    rows."""
    model, lda = Whiten(**settings).fit(X, y), verosim.LDA(**settings).fit(X, y)
    Z = model.transform(X)
    precision = np.linalg.inv(lda.covariances_)
    np.testing.assert_allclose(pdist(Z), pdist(X, "mahalanobis", VI=precision), rtol=1e-8)
    means = model.transform(lda.means_)
    np.testing.assert_allclose(cdist(Z, means), lda.mahalanobis(X), rtol=1e-8)
    W = model.whitener_
    np.testing.assert_allclose(W @ model.covariance_ @ W.T, np.eye(13), atol=1e-9)
    np.testing.assert_allclose(W, W.T, rtol=1e-9)
    np.testing.assert_allclose(Z, (X - model.mean_) @ W.T, rtol=1e-6, atol=1e-9)


def test_whitened_neighbours_know_no_units(rng):
    """A linear change of the columns changes nothing; plain neighbours it does."""
    A = rng.normal(size=(13, 13))
    flat = make_pipeline(Whiten(), KNeighborsClassifier()).fit(X, y)
    bent = make_pipeline(Whiten(), KNeighborsClassifier()).fit(X @ A, y)
    np.testing.assert_array_equal(flat.predict(X), bent.predict(X @ A))
    assert flat.score(X, y) > 0.97
    assert KNeighborsClassifier().fit(X, y).score(X, y) < 0.9


def test_constant_and_dependent_columns():
    """Constant columns are left out; dependent ones are shrunk, as LDA does, and said."""
    A, b = load_iris(return_X_y=True)
    wide = np.column_stack([A, np.full(150, 3.0)])
    with pytest.warns(SingularWarning, match="constant columns"):
        model = Whiten().fit(wide, b)
    assert model.transform(wide).shape == (150, 4)
    np.testing.assert_allclose(model.transform(wide), Whiten().fit_transform(A, b), rtol=1e-9)
    twice = np.column_stack([A, A[:, 0]])
    with pytest.warns(SingularWarning, match="singular"):
        model = Whiten().fit(twice, b)
    with pytest.warns(SingularWarning):
        lda = verosim.LDA().fit(twice, b)
    np.testing.assert_allclose(
        cdist(model.transform(twice), model.transform(lda.means_)),
        lda.mahalanobis(twice),
        rtol=1e-6,
    )
    names = Whiten().fit(pd.DataFrame(A, columns=list("abcd")), b).get_feature_names_out()
    assert names.tolist() == ["whiten0", "whiten1", "whiten2", "whiten3"]
