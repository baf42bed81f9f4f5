"""calibrate(method="pairs"): weights for columns and for pairs of columns."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from verosim import GaussianNB, NaiveBayes, VerosimError, reject
from verosim.data.sources import CELLS_PART
from verosim.densities.dependence import informative_pairs
from verosim.densities.interactions import ROWS_PER_PAIR, TRUST, Interactions
from verosim.estimators.paired import PairedNaiveBayes
from verosim.folds import HeldOutEngine, inputs_of
from verosim.folds.splits import shuffled_folds
from verosim.models import open_to_score, structure
from verosim.validate import held_out_maps
from verosim.validate.calibration import Calibrated, calibrate
from verosim.validate.contributions import held_out_contributions, nested_contributions
from verosim.validate.weight_likelihood import Likelihood, Prior


def xor(rng, n=800, noise=0.0):
    """y = a xor b: neither column has information about y alone."""
    a, b = rng.integers(0, 2, (2, n))
    y = a ^ b ^ (rng.random(n) < noise)
    return pd.DataFrame({
        "a": np.array(["u", "v"])[a], "b": np.array(["p", "q"])[b], "c": rng.normal(size=n),
        "y": np.array(["no", "yes"])[y],
    })  # fmt: skip


def mixed(rng, n=700, C=3):
    """Categories and numbers with missing cells, and labels that depend on some of them."""
    y = rng.integers(0, C, n)
    hue = np.array(["red", "green", "blue", None], dtype=object)
    return pd.DataFrame({
        "hue": hue[(y + (rng.random(n) < 0.5) * rng.integers(0, 4, n)) % 4],
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.5)),
        "form": np.array(["x", "y"])[(y + rng.integers(0, 2, n)) % 2],
        "noise": rng.normal(size=n),
        "kind": np.array(["k0", "k1", "k2"])[y],
    })  # fmt: skip


def cells_of(model, frame):
    """The rows as codes (n, d), and the number of codes of each column."""
    chunks = open_to_score(model.state_, frame).chunks()
    cells = np.concatenate([chunk.block()[CELLS_PART] for chunk in chunks])
    codes = model.stats_.parts[CELLS_PART].codes
    return np.stack([codes.maps[j][cells[:, j]] for j in range(cells.shape[1])], axis=1), codes


def evidence_of(found, frame):
    """(n, C, P) the interactions of the pairs of a fitted model."""
    blocks = [chunk.block() for chunk in open_to_score(found.state_, frame).chunks()]
    return np.concatenate([found.state_.params.interactions.features(b[CELLS_PART])
                           for b in blocks])  # fmt: skip


# The interactions --------------------------------------------------------------------------------


def test_interactions_by_definition(rng):
    """In exact fractions: log P(k | x_i, x_j) / Q, where Q ∝ P(k | x_i) P(k | x_j) / P(k)."""
    frame = mixed(rng, 90)
    model = PairedNaiveBayes(pairs=60).fit(frame, "kind")
    x, codes = cells_of(model, frame)
    y = np.searchsorted(model.classes_, frame["kind"].to_numpy())
    found = Interactions.of(model.stats_.parts[CELLS_PART], [(0, 1), (1, 3)])
    n, C = len(y), 3
    share = [Fraction(int((y == k).sum()) + 1, n + C) for k in range(C)]

    def alone(j, a, k):
        seen = x[:, j] == a
        return (int((seen & (y == k)).sum()) + share[k]) / (int(seen.sum()) + 1)

    for (i, j), table in zip(found.pairs, found.tables, strict=True):
        table = table.reshape(codes.sizes[i], codes.sizes[j], C)
        for a in range(codes.sizes[i]):
            for b in range(codes.sizes[j]):
                naive = [alone(i, a, k) * alone(j, b, k) / share[k] for k in range(C)]
                naive = [one / sum(naive) for one in naive]
                both = (x[:, i] == a) & (x[:, j] == b)
                trust = Fraction(TRUST)
                for k in range(C):
                    count = int((both & (y == k)).sum())
                    together = (count + trust * naive[k]) / (int(both.sum()) + trust)
                    expected = np.log(float(together / naive[k]))
                    assert table[a, b, k] == pytest.approx(expected, abs=1e-12)


def test_a_pair_of_values_that_no_row_has_says_nothing(rng):
    frame = xor(rng, 300)
    model = PairedNaiveBayes().fit(frame, "y")
    new = frame.assign(a="w")
    names = model.state_.params.interactions.names
    found = evidence_of(model, new)
    np.testing.assert_allclose(found[:, :, names.index(("a", "b"))], 0, atol=1e-15)


def test_the_most_informative_pairs(rng):
    """|I(x_i, x_j; y) − I(x_i; y) − I(x_j; y) − ½ (B_i − 1)(B_j − 1)(C − 1)/2n|, by its sums."""
    frame = mixed(rng, 400).assign(same="one")
    model = PairedNaiveBayes().fit(frame, "kind")
    statistic = model.stats_.parts[CELLS_PART]
    names = list(statistic.axes.columns)
    x, _ = cells_of(model, frame)
    y = np.searchsorted(model.classes_, frame["kind"].to_numpy())

    def about_class(keys):
        both, each = (pd.Series(v).value_counts(normalize=True) for v in (
            [f"{a} {b}" for a, b in zip(keys, y, strict=True)], keys))  # fmt: skip
        p = pd.Series(y).value_counts(normalize=True)

        def entropy(q):
            return -(q * np.log(q)).sum()

        return entropy(each) + entropy(p) - entropy(both)

    values = {}
    for i, j in combinations(range(len(names)), 2):
        together = about_class([f"{a},{b}" for a, b in zip(x[:, i], x[:, j], strict=True)])
        free = [len(np.unique(x[:, k])) - 1 for k in (i, j)]
        gain = together - about_class(list(x[:, i])) - about_class(list(x[:, j]))
        values[i, j] = abs(gain - 0.5 * free[0] * free[1] * 2 / (2 * len(y)))
    useful = [p for p in values if "same" not in (names[p[0]], names[p[1]])]
    expected = sorted(useful, key=lambda p: -values[p])
    assert list(informative_pairs(statistic, 60)) == expected
    assert list(informative_pairs(statistic, 3)) == expected[:3]
    assert informative_pairs(statistic, 0) == ()


# The model with counts of pairs ------------------------------------------------------------------


def test_predictions_are_those_of_naive_bayes(rng):
    frame = mixed(rng)
    plain, paired = NaiveBayes().fit(frame, "kind"), PairedNaiveBayes().fit(frame, "kind")
    for name in ("predict_log_proba", "log_density", "predict"):
        np.testing.assert_array_equal(getattr(paired, name)(frame), getattr(plain, name)(frame))
    assert paired.n_parameters_ == plain.n_parameters_
    a, b = (model.sample(5, random_state=0)[0] for model in (plain, paired))
    pd.testing.assert_frame_equal(a, b)


def test_merge_and_forget(rng):
    """Both statistics add and subtract: the same tables as one fit on the same rows."""
    frame = mixed(rng)
    whole = PairedNaiveBayes().fit(frame, "kind")
    schema = whole.schema_
    first, rest = (PairedNaiveBayes().fit(part, "kind", schema=schema)
                   for part in (frame[:300], frame[300:]))  # fmt: skip
    again = PairedNaiveBayes().fit(frame, "kind", schema=schema).forget(frame[:300], "kind")
    for one, other in ((first + rest, whole), (again, rest)):
        x, y = (model.state_.params.interactions for model in (one, other))
        assert x.pairs == y.pairs
        for a, b in zip(x.tables, y.tables, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_held_out_interactions_are_refits(rng):
    """The tables and the choice of pairs of fold f come from the other folds, by refits."""
    frame = mixed(rng, 400)
    folds = np.arange(len(frame)) % 4
    whole = PairedNaiveBayes(pairs=2).fit(frame, "kind")
    inputs = inputs_of(frame.drop(columns="kind"), frame["kind"].to_numpy(), schema=None)
    engine = HeldOutEngine([whole.spec()], inputs, folds)
    held = held_out_contributions(engine, "")
    rest = nested_contributions(whole.spec(), engine.rows, [[0], [1, 2]])
    schema = engine.rows.schema

    def check(found, f, training):
        """The interactions of the rows of fold f, by a model of the training rows."""
        labels = frame["kind"][training].to_numpy()
        X = frame.drop(columns="kind")
        model = PairedNaiveBayes(pairs=2).fit(X[training], labels, schema=schema)
        chosen = model.state_.params.interactions.names
        expected = evidence_of(model, X[folds == f])
        at = found.folds == f
        for p, pair in enumerate(found.pairs):
            one = found.interactions[at][:, :, p]
            if pair in chosen:
                np.testing.assert_allclose(one, expected[:, :, chosen.index(pair)], atol=1e-12)
            else:
                assert not one.any()

    for f in range(4):
        check(held, f, folds != f)
    for found, aside in zip(rest, ([0], [1, 2]), strict=True):
        assert set(found.folds) == set(range(4)) - set(aside)
        for f in set(range(4)) - set(aside):
            check(found, f, (folds != f) & ~np.isin(folds, aside))


# The weights -------------------------------------------------------------------------------------


def test_xor(rng):
    """No column has information alone, so columns cannot be right; one pair is enough."""
    frame, new = xor(rng), xor(rng, 500)
    columns, pairs = (calibrate(NaiveBayes(), frame, "y", method=m) for m in ("columns", "pairs"))
    assert columns.score(new, "y") < 0.6
    assert pairs.score(new, "y") > 0.99
    assert pairs.after_.log_loss < 0.05 < 0.6 < columns.after_.log_loss
    assert "a × b" in str(pairs.map_)
    best = int(np.argmax(pairs.map_.pair_weights))
    assert pairs.map_.pairs[best] == ("a", "b")
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    found = calibrate(NaiveBayes(), X, y, method="pairs")
    assert found.model_.score(X, y) < 0.6
    assert found.score(X, y) > 0.9


def test_posteriors_by_definition(rng):
    """b_k + Σ_j w_j log p_j(x_j | k) + Σ_ij u_ij s_ij(k)."""
    frame = mixed(rng)
    found = calibrate(NaiveBayes(missing="category"), frame, "kind", method="pairs")
    inner, by = found.model_, found.map_
    rule = inner.state_.rule
    blocks = [rule.params.read(c.block()) for c in open_to_score(inner.state_, frame).chunks()]
    parts = np.concatenate([rule.params.contributions(b) for b in blocks])
    scores = rule.log_prior + by.offsets + parts @ by.weights
    known = dict(zip(by.pairs, by.pair_weights, strict=True))
    u = [known.get(pair, 0.0) for pair in rule.params.interactions.names]
    scores = scores + evidence_of(inner, frame) @ u
    expected = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    np.testing.assert_allclose(found.predict_log_proba(frame), expected, atol=1e-9)
    np.testing.assert_array_equal(found.log_density(frame), inner.log_density(frame))
    p = found.predict_proba(frame)
    np.testing.assert_allclose(found.predict_proba(iter([frame[:90], frame[90:]])), p)
    table = found.predict_table(frame).read_all().to_pandas()
    np.testing.assert_allclose(table["p_k1"], p[:, 1])
    np.testing.assert_allclose(table["log_density"], inner.log_density(frame))


def test_without_pairs_it_is_columns(rng):
    """With pairs=0; and where a pair is not possible, or has no information."""
    frame = mixed(rng)
    columns = calibrate(NaiveBayes(), frame, "kind", method="columns")
    none = calibrate(NaiveBayes(), frame, "kind", method="pairs", pairs=0)
    np.testing.assert_array_equal(none.predict_proba(frame), columns.predict_proba(frame))
    assert repr(none.after_) == repr(columns.after_)
    constant = frame[["size", "kind"]].assign(same="one", also=1.5)
    few = frame[:: len(frame) // (ROWS_PER_PAIR - 1)]
    text = frame[["kind"]].assign(text=np.where(frame["form"] == "x", "red sun", "blue sky"))
    for some, kinds in ((constant, {}), (frame[["size", "kind"]], {}), (few, {}),
                        (text, {"text": "text"})):  # fmt: skip
        model = NaiveBayes(columns=kinds) if kinds else NaiveBayes()
        a, b = (calibrate(model, some, "kind", method=m, cv=3) for m in ("columns", "pairs"))
        np.testing.assert_allclose(a.predict_proba(some), b.predict_proba(some), rtol=1e-9)
        assert repr(a.after_) == repr(b.after_)
        assert b.map_.pairs == ()


def test_weights_are_not_negative(rng):
    """And they are the mode: the gradient is 0, or points out of the bounds at 0."""
    n, C, d, P = 400, 3, 5, 4
    codes = rng.integers(0, C, n)
    against = rng.normal(size=(n, C, d + P))
    against[np.arange(n), codes] += np.array([0.6, 0.3, 0.0, -0.3, -0.6, 0.4, 0.1, -0.1, -0.4])
    like = Likelihood(against, np.zeros((n, C)) - np.log(C), codes, rng.random(n), P)
    for strength in (1.0, 30.0):
        prior = Prior(d, C, strength, 1.0, P)
        theta = like.newton_step(prior, like.mode(prior, like.start).theta)
        gradient = like.penalised(prior, theta)[1]
        assert (theta[: d + P] >= 0).all()
        assert (theta[: d + P] == 0).any()
        at_bound = like.bounded & (theta == 0)
        np.testing.assert_allclose(gradient[~at_bound], 0, atol=1e-9)
        assert (gradient[at_bound] > 0).all()
        # A chord path from the Hessian of nearby rows ends at the same mode.
        near = like.mode(prior, theta + 0.05 * like.bounded, like.hessian(theta))
        np.testing.assert_allclose(near.theta, theta, atol=1e-5)
        free = np.flatnonzero(~at_bound)
        expected = np.linalg.slogdet(prior.precision[np.ix_(free, free)])[1]
        assert prior.log_det_of(free) == pytest.approx(expected)


def test_gradient_and_curvature(rng):
    """Both are those of finite differences, with pairs and with two or more classes."""
    for C in (2, 4):
        n, d, P = 80, 3, 2
        codes = rng.integers(0, C, n)
        against = rng.normal(size=(n, C, d + P))
        log_prior = np.log(rng.dirichlet(np.ones(C), n))
        like = Likelihood(against, log_prior, codes, rng.random(n), P)
        theta = like.start + 0.3 * rng.normal(size=d + P + C)
        step = 1e-6 * np.eye(len(theta))
        slopes = [(like.loss(theta + e)[0] - like.loss(theta - e)[0]) / 2e-6 for e in step]
        bends = [(like.loss(theta + e)[1] - like.loss(theta - e)[1]) / 2e-6 for e in step]
        np.testing.assert_allclose(like.loss(theta)[1], slopes, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(like.hessian(theta), bends, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_permuted_labels(rng):
    """Neither the report nor new rows seem better than the entropy of the classes."""
    frame = mixed(rng, 600).drop(columns="kind")
    frame = frame.assign(**{f"x{j}": rng.integers(0, 3, 600).astype(str) for j in range(8)})
    labels = np.arange(600) % 2
    printed, new = [], []
    for seed in range(20):
        y = np.random.default_rng(seed).permutation(labels)
        found = calibrate(NaiveBayes(), frame[:400], y[:400], method="pairs")
        share = np.bincount(y[:400]) / 400
        printed.append(found.after_.log_loss + (share * np.log(share)).sum())
        log_p = found.predict_log_proba(frame[400:])
        new.append(-log_p[np.arange(200), y[400:]].mean() - np.log(2))
    for gain in (np.array(printed), np.array(new)):
        assert gain.mean() > -2 * gain.std(ddof=1) / np.sqrt(20)


def test_the_report_is_by_models_without_the_fold(rng, monkeypatch):
    """With few rows nested, with many rows not; the two are close for pairs that are real."""
    frame = xor(rng, 600, noise=0.1)
    few = calibrate(NaiveBayes(), frame, "y", method="pairs", cv=5)
    monkeypatch.setattr(held_out_maps, "NESTED_ROWS", 0)
    many = calibrate(NaiveBayes(), frame, "y", method="pairs", cv=5)
    np.testing.assert_allclose(few.predict_proba(frame), many.predict_proba(frame), atol=1e-6)
    assert few.after_.log_loss == pytest.approx(many.after_.log_loss, abs=0.03)
    assert few.after_.log_loss != many.after_.log_loss
    two = calibrate(NaiveBayes(), frame, "y", method="pairs", cv=2)
    assert two.after_.log_loss < 0.5


# Rows --------------------------------------------------------------------------------------------


def test_sorted_rows(rng):
    """Labels in an array: the order of the rows has little influence on the weights."""
    frame = xor(rng, 600).sort_values(["a", "b"])
    y = frame.pop("y").to_numpy()
    found = calibrate(NaiveBayes(), frame, y, method="pairs")
    assert found.after_.log_loss < 0.05
    folds = shuffled_folds(5, y)
    for f in range(5):
        assert np.unique(y[folds == f], return_counts=True)[1].tolist() == pytest.approx(
            [(y == k).sum() / 5 for k in ("no", "yes")], abs=1
        )
    np.testing.assert_array_equal(folds, shuffled_folds(5, y))


def test_missing_cells_and_unseen_values(rng):
    frame = xor(rng)
    frame.loc[::4, "b"] = None
    found = calibrate(NaiveBayes(), frame, "y", method="pairs")
    seen = frame["b"].notna()
    assert found.score(frame[seen], "y") > 0.99
    p = found.predict_proba(frame.assign(a="new", c=1e9, b=None))
    assert np.isfinite(p).all()
    gone = found.predict_proba(frame[["b", "c"]])  # the column a is missing from the table
    np.testing.assert_array_equal(gone, found.predict_proba(frame.assign(a=None)))
    assert np.abs(gone - 0.5).max() < 0.4


def test_weights_count_as_rows(rng):
    frame = xor(rng, 400, noise=0.1)
    y = frame.pop("y").to_numpy()
    w = rng.integers(0, 3, len(y))
    folds = np.arange(len(y)) % 4
    again = np.repeat(np.arange(len(y)), w)
    schema = calibrate(NaiveBayes(), frame, y, method="pairs").model_.schema_
    a = calibrate(NaiveBayes(), frame, y, cv=folds, method="pairs", sample_weight=w, schema=schema)
    b = calibrate(NaiveBayes(), frame.iloc[again], y[again], cv=folds[again], method="pairs",
                  schema=schema)  # fmt: skip
    np.testing.assert_allclose(a.map_.pair_weights, b.map_.pair_weights, atol=1e-6)
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame), atol=1e-6)
    assert a.after_.log_loss == pytest.approx(b.after_.log_loss, rel=1e-4)


def test_a_class_unknown_to_a_fold(rng):
    frame = mixed(rng, 300)
    folds = np.where(frame["kind"] == "k2", 0, np.arange(300) % 3)
    y = frame.pop("kind").to_numpy()
    found = calibrate(NaiveBayes(), frame, y, cv=folds, method="pairs")
    assert np.isfinite(found.map_.weights).all()
    assert np.isfinite(found.predict_proba(frame)).all()


def test_files_weights_and_groups(rng, tmp_path):
    frame = xor(rng, 500).assign(w=1.0, g=np.arange(500) % 7)
    frame.to_csv(tmp_path / "xor.csv", index=False)
    settings = {"method": "pairs", "sample_weight": "w", "groups": "g"}
    a = calibrate(NaiveBayes(), tmp_path / "xor.csv", "y", **settings)
    b = calibrate(NaiveBayes(), frame, "y", **settings)
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame), atol=1e-9)
    assert set(a.feature_names_in_) == {"a", "b", "c"}
    assert a.score(tmp_path / "xor.csv", "y") > 0.99


def test_an_estimator_like_any_other(rng):
    frame = xor(rng, 300)
    found = calibrate(NaiveBayes(alpha="cv"), frame, "y", method="pairs", cv=4)
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(back.predict_proba(frame), found.predict_proba(frame))
    again = clone(found).fit(frame, "y")
    np.testing.assert_array_equal(again.predict_proba(frame), found.predict_proba(frame))
    checked = reject(Calibrated(NaiveBayes(), method="pairs"), frame, "y", confidence=0.8)
    assert checked.score(frame, "y") > 0.95
    before = found.predict_proba(frame)
    found.model_.forget(frame[:100], "y")  # the counts of pairs are forgotten too
    assert np.abs(found.predict_proba(frame) - before).max() > 0
    other = PairedNaiveBayes(alpha="cv").fit(frame, "y", schema=found.model_.schema_)
    assert (found.model_ + other).class_count_.sum() == 500


def test_errors(rng, monkeypatch):
    frame = xor(rng, 100)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    with pytest.raises(VerosimError, match="needs a NaiveBayes model; got GaussianNB"):
        calibrate(GaussianNB(), X, y, method="pairs")
    with pytest.raises(VerosimError, match="pairs must be a whole number, at least 0"):
        calibrate(NaiveBayes(), X, y, method="pairs", pairs=-1)
    with pytest.raises(VerosimError, match='method="pairs" cannot be used with cv="loo"'):
        calibrate(NaiveBayes(), X, y, method="pairs", cv="loo")
    monkeypatch.setattr(structure, "FOLD_BUDGET", 10)
    with pytest.raises(VerosimError, match="counts of all pairs of columns need"):
        calibrate(NaiveBayes(), frame, "y", method="pairs")


def test_wide_tables_have_fewer_bins(rng, monkeypatch):
    X, y = rng.normal(size=(200, 4)), np.arange(200) % 2
    sizes = {}
    for budget in (1 << 21, 2 * 4**2 * 36):
        monkeypatch.setattr(structure, "FOLD_BUDGET", budget)
        model = PairedNaiveBayes().fit(X, y)
        sizes[budget] = model.stats_.parts[CELLS_PART].codes.sizes.tolist()
    assert list(sizes.values()) == [[13] * 4, [6] * 4]


@pytest.mark.slow
def test_car(data):
    """Real rows that were not used: far better than columns alone."""
    car = pd.read_csv(data / "car" / "car.csv")
    y = car.pop("class").to_numpy() if "class" in car else car.pop(car.columns[-1]).to_numpy()
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(car, y))
    known, new = car.iloc[train], car.iloc[test]
    columns, pairs = (calibrate(NaiveBayes(), known, y[train], method=m).predict_log_proba(new)
                      for m in ("columns", "pairs"))  # fmt: skip
    at = np.searchsorted(np.unique(y), y[test])
    loss = [-log_p[np.arange(len(at)), at].mean() for log_p in (columns, pairs)]
    assert loss[1] < 0.7 * loss[0]
    assert (pairs.argmax(axis=1) == at).mean() > 0.92
