"""The pool: its weights, its sums under updates, its held-out predictions, and bad input."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

import verosim
from verosim import AODE, KDB, LDA, MDA, QDA, TAN, LiftedLDA, Pool, VerosimError, VerosimWarning
from verosim.folds import inputs_of
from verosim.kinds.first_rows import FirstRows
from verosim.models import derive, open_rows
from verosim.pool import rows, splitting
from verosim.pool.experts import as_experts, grouped
from verosim.pool.fold_trial import FoldTrial
from verosim.pool.mixing import HeldOutFeatures, clipped, logarithmic_pool
from verosim.pool.one_part_trial import OnePartTrial
from verosim.pool.spec import PoolSpec
from verosim.pool.weighted_pairs import WeightedPairs
from verosim.testing import assert_same

COUNTS = [AODE(5), KDB(2, 5), WeightedPairs(5)]
MOMENTS = [LDA(shrinkage=0.02, encode="normal"), LiftedLDA(64, 1.5, 0.01)]
EXPERTS = [*COUNTS, *MOMENTS]


def table_of(rng, n=300, classes=2):
    """Numbers, categories and missing cells; the label depends on two columns at once."""
    a, x = rng.integers(0, 3, n), rng.normal(size=n)
    y = (a + (x > 0) + (rng.random(n) < 0.15)) % classes
    return pa.table({
        "x": pa.array(x, mask=rng.random(n) < 0.1),
        "z": pa.array(rng.normal(size=n) + y),
        "a": pa.array([f"a{v}" for v in a]),
        "y": pa.array([f"c{v}" for v in y]),
    })  # fmt: skip


def pool(**given):
    return Pool(EXPERTS, keep="all", **given)


def like(model, table, **given):
    return Pool(EXPERTS, keep="all").fit_like(inputs_of(table, "y", **given), model)


def same_posteriors(one, other, table, rtol=1e-7):
    np.testing.assert_allclose(
        one.predict_proba(table), other.predict_proba(table), rtol=rtol, atol=1e-10
    )


def with_mixing_of(model, other):
    """A pool with the sums of one pool and everything that was learned by another."""
    state = model.state_
    tuned = {**other.state_.tuned, "report": state.tuned["report"]}
    both = derive(model.spec(), state.statistic, state.schema, tuned, streaming=True)
    return clone(model).set_state(both)


# The mixing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expert", [verosim.CategoricalNB(), verosim.HistogramNB(), verosim.JointHistogram()]
)
def test_an_expert_works_or_is_left_out_with_a_reason(rng, expert):
    X = rng.integers(0, 4, (80, 3))
    y = np.where(X[:, 0] + rng.random(80) > 2, "b", "a")
    pool = verosim.Pool([verosim.GaussianNB(), expert]).fit(X, y)
    row = next(row for row in pool.table_ if type(row.model) is type(expert))
    assert row.weight >= 0 or "bins are fixed by the first rows" in row.why
    np.testing.assert_allclose(pool.predict_proba(X).sum(axis=1), 1)


def test_weights_minimise_the_documented_objective(rng):
    """Against a direct minimisation with numerical gradients."""
    E, n, C = 3, 60, 3
    log_p = [np.log(rng.dirichlet(np.ones(C), n)) for _ in range(E)]
    codes = np.array([int(np.argmax(p + 0.3 * rng.normal(size=C))) for p in log_p[1]])
    v = rng.choice([1.0, 2.0], n)
    held = HeldOutFeatures(log_p, codes, v)

    def objective(theta):
        w, b = theta[:E], theta[E:]
        scores = sum(w[e] * held.features[e] for e in range(E)) + b
        own = scores[np.arange(n), codes] - logsumexp(scores, axis=1)
        return -(v @ own) + 8 * ((w - 1 / E) ** 2).sum() + (b**2).sum()

    found = held.mixing(["a", "b", "c"], np.arange(C), n)
    bounds = [(0, None)] * E + [(None, None)] * C
    best = minimize(objective, np.full(E + C, 0.3), method="L-BFGS-B", bounds=bounds,
                    options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 2000})  # fmt: skip
    at = objective(np.concatenate([found.weights, found.offsets]))
    assert at <= best.fun + 1e-5
    np.testing.assert_allclose(found.weights, best.x[:E], atol=2e-3)


def test_log_posteriors_are_tempered_and_clipped(rng):
    log_p = np.log(rng.dirichlet(np.full(4, 0.1), 50))
    log_p[0, 1] = -np.inf
    found = clipped(log_p, 0.7)
    scaled = 0.7 * np.maximum(log_p, -1e3)
    wanted = np.maximum(scaled - logsumexp(scaled, axis=1, keepdims=True), -6 - np.log(4))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_weights_that_are_not_whole_are_rescaled(rng):
    log_p = [np.log(rng.dirichlet(np.ones(2), 40)) for _ in range(2)]
    codes, v = rng.integers(0, 2, 40), rng.random(40)
    one, other = (HeldOutFeatures(log_p, codes, s * v) for s in (1.0, 7.3))
    np.testing.assert_allclose(one.weights, other.weights)
    assert one.weights.sum() == pytest.approx(40)
    whole = HeldOutFeatures(log_p, codes, np.full(40, 2.0))
    assert whole.weights.sum() == 80


def test_an_expert_without_information_gets_no_weight(rng):
    good = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))[np.tile([0, 1], 200)]
    noise = np.log(rng.dirichlet(np.ones(2), 400))
    codes = np.where(rng.random(400) < 0.9, np.tile([0, 1], 200), np.tile([1, 0], 200))
    w, _ = logarithmic_pool(np.stack([good, noise]), codes, np.ones(400))
    assert w[0] > 0.8
    assert w[1] < 0.1


# What each expert adds ---------------------------------------------------------------------------


@pytest.mark.parametrize("priors", [None, "uniform", {"c0": 0.7, "c1": 0.2, "c2": 0.1}])
def test_log_odds_are_the_sum_over_experts(rng, priors):
    table = table_of(rng, classes=3)
    model = pool(priors=priors).fit(table, "y")
    scores = model.expert_scores(table)
    assert scores.parts.shape == (5, 300, 3)
    assert list(scores.names) == list(model.weights_)
    np.testing.assert_array_equal(scores.parts[0], scores[scores.names[0]])
    odds = scores.totals[:, 1:] - scores.totals[:, :1]
    log_p = model.predict_log_proba(table)
    np.testing.assert_allclose(odds, log_p[:, 1:] - log_p[:, :1], rtol=0, atol=1e-12)
    if priors is None:
        np.testing.assert_allclose(scores.offsets, model.state_.tuned["mixing"].offsets, atol=1e-14)


def test_new_priors_shift_the_log_odds(rng):
    table = table_of(rng)
    model = pool().fit(table, "y")
    other = model.with_priors([0.9, 0.1])
    shift = np.log(0.9 / 0.1) - np.log(model.class_prior_[0] / model.class_prior_[1])
    np.testing.assert_allclose(
        -other.decision_function(table), -model.decision_function(table) + shift, atol=1e-10
    )
    same_posteriors(other.with_priors(None), model, table)


def test_the_table_states_everything(rng):
    model = Pool([*EXPERTS, QDA(), LDA(shrinkage="cv")]).fit(table_of(rng), "y")
    lines = {line.name: line for line in model.table_.rows}
    assert model.table_.rows[0].model.experts is not None  # the pool itself comes first
    for expert in EXPERTS:
        line = lines[repr(expert)]
        assert line.weight >= 0
        assert line.seconds > 0
        assert line.size > 0
        assert 0 < line.accuracy <= 1
        assert np.isfinite(line.score)
    assert "must be numbers" in lines["QDA()"].why or "number" in lines["QDA()"].why
    assert "held out" in lines["LDA(shrinkage='cv')"].why
    printed = str(model.table_)
    assert "weight" in printed
    assert "not tried: QDA" in printed
    assert set(model.weights_) <= {repr(expert) for expert in EXPERTS}
    assert all(weight > 0 for weight in model.weights_.values())


# Held-out predictions ----------------------------------------------------------------------------


def trial_for(table, experts, seed=0, **given):
    """The folds of a pool, before any expert is tried."""
    spec = PoolSpec(name="Pool", members=as_experts(experts), unsettled=True)
    opened = open_rows(spec, inputs_of(table, "y", **given))
    schema, found = opened.schema, opened.source
    spec = replace(spec, unsettled=False)
    first = FirstRows(found.table, found.weights)
    for expert in spec.members:
        schema = expert.spec.look_closer(schema, first)
    source = replace(found, reader=spec.reader(schema))
    groups = grouped(spec.members)
    return splitting.trial_of(groups, schema, rows.read_rows(source), seed), groups, schema


@pytest.mark.parametrize(
    "expert",
    [AODE(5), AODE("mdl"), KDB(2, 5), TAN(5), LDA(shrinkage=0.02, encode="normal"),
     LiftedLDA(64, 1.5, 0.01)],
    ids=repr,
)  # fmt: skip
def test_held_out_predictions_are_those_of_refits(rng, expert):
    """Each fold is predicted by a model of the other rows; its bins and parents are chosen there.

    The label-free part of the schema is shared by all folds.
    """
    table = table_of(rng)
    folds, groups, schema = trial_for(table, [expert])
    assert isinstance(folds, FoldTrial)
    (log_p,) = folds.count(groups[0]).log_p
    known = schema if expert.spec().chooses_by_labels else folds.schema
    wanted = []
    for f in range(folds.count_of_folds):
        train = table.take(np.flatnonzero(folds.numbers != f))
        refit = clone(expert).set_params(priors="laplace").fit(train, "y", schema=known)
        wanted.append(refit.predict_log_proba(table.take(folds.held[f])))
    np.testing.assert_allclose(log_p, np.concatenate(wanted), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(
        folds.classes[folds.codes], table["y"].to_numpy()[np.concatenate(folds.held)]
    )


def test_given_folds_are_used(rng):
    table = table_of(rng)
    numbers = rng.integers(0, 3, len(table))
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    given = pool(cv=numbers).fit(table, "y")
    named = pool(cv="fold").fit(table.append_column("fold", pa.array(numbers)), "y")
    assert given.table_[0].score == pytest.approx(named.table_[0].score, rel=1e-6)
    assert "fold" not in [column.name for column in named.schema_.used]
    assert pool(cv=splitter).fit(table, "y").table_[0].score != given.table_[0].score
    assert pool(cv=2).fit(table, "y").table_[0].score != given.table_[0].score
    with pytest.raises(VerosimError, match="one of the folds"):
        pool(cv=numbers).fit(table, "y", sample_weight=(numbers == 0).astype(float))


def test_weights_are_repetitions_given_the_folds(rng):
    table = table_of(rng, 120)
    times, numbers = rng.integers(0, 4, 120), np.arange(120) % 3
    weighted = pool(cv=numbers).fit(table, "y", sample_weight=times)
    at = np.repeat(np.arange(120), times)
    repeated = pool(cv=numbers[at]).fit(table.take(at), "y")
    same_posteriors(weighted, repeated, table, rtol=1e-4)
    np.testing.assert_allclose(weighted.class_count_, repeated.class_count_)


def test_rows_of_one_group_are_in_one_fold(rng):
    """Each row occurs five times. Without groups, its copies predict it."""
    x = np.repeat(rng.normal(size=(60, 2)), 5, axis=0)
    y = np.repeat(rng.integers(0, 2, 60), 5)
    group = np.repeat(np.arange(60), 5)
    experts = [KDB(1, 12), LiftedLDA(200, 0.01, 1e-3)]
    alone = Pool(experts).fit_like(inputs_of(x, y))
    together = Pool(experts).fit_like(inputs_of(x, y), groups=group)
    assert alone.table_[0].score < 0.5
    assert together.table_[0].score > 0.6


def test_the_first_look_does_not_use_labels(rng):
    """If all labels chose histograms, 500 columns of noise would be 0.02 nats below the entropy."""
    scores = []
    for _ in range(6):
        X, y = rng.normal(size=(150, 500)), rng.permutation(np.arange(150) % 2)
        model = Pool([verosim.NaiveBayes()]).fit(X, y)
        assert {column.density for column in model.schema_.used} == {"gaussian"}
        assert {c.reason for c in model.schema_} == {"the experts choose the density"}
        scores.append(model.table_[0].score)
    assert np.mean(scores) > np.log(2) - 0.01
    named = {"x0": "histogram"}
    schema = Pool([verosim.NaiveBayes()], columns=named).fit(X, y).schema_
    assert [column.density for column in schema.used][:2] == ["histogram", "gaussian"]
    assert schema["x0"].reason == "set by the user" != schema["x1"].reason


def test_permuted_labels_show_no_skill(rng):
    """The printed log-loss and that of new rows are not below the entropy of the classes."""
    table = table_of(rng, 160).drop(["y"])
    printed, outer = [], []
    for _ in range(10):
        y = rng.permutation(np.arange(160) % 2)
        at = rng.permutation(160)
        train, test = at[:110], at[110:]
        model = Pool([AODE(5), AODE("mdl"), *EXPERTS[1:]]).fit(table.take(train), y[train])
        share = np.bincount(y[train]) / 110
        entropy = -(share * np.log(share)).sum()
        printed.append(model.table_[0].score - entropy)
        log_p = model.predict_log_proba(table.take(test))
        outer.append(-log_p[np.arange(50), y[test]].mean() - np.log(2))
    for excess in (np.array(printed), np.array(outer)):
        assert excess.mean() > -2 * excess.std(ddof=1) / np.sqrt(10)


# Updates -----------------------------------------------------------------------------------------


def test_merged_pools_have_the_sums_of_all_rows(rng):
    table = table_of(rng)
    first = pool().fit(table.slice(0, 120), "y")
    second = like(first, table.slice(120))
    whole = like(first, table)
    merged = first + second
    assert_same(merged.stats_, whole.stats_)
    same_posteriors(merged, with_mixing_of(whole, merged), table)
    share = 120 / 300
    for name, weight in merged.weights_.items():
        assert weight == pytest.approx(
            share * first.weights_[name] + (1 - share) * second.weights_[name]
        )
    assert_same((second + first).stats_, merged.stats_)
    other_way = second + first
    same_posteriors(other_way, merged, table)


def test_pools_with_other_experts_or_bins_do_not_merge(rng):
    table = table_of(rng)
    first = pool().fit(table.slice(0, 150), "y")
    with pytest.raises(VerosimError, match=r"different experts.*auto\(…, like=pool\)"):
        first + Pool([AODE(5)]).fit(table, "y")
    with pytest.raises(VerosimError, match=r"model than in the other model.*auto\(…, like=pool\)"):
        first + pool().fit(table.slice(150), "y")
    with pytest.raises(VerosimError, match="another pool; got AODE"):
        first + AODE(5).fit(table, "y")
    same_cells = pool().fit(table.slice(150), "y", schema=replace(first.schema_, structures=()))
    with pytest.raises(VerosimError, match=r"'x' has different bins.*auto\(…, like=pool\)"):
        first + same_cells


def test_auto_like_a_pool_can_be_merged(rng):
    table = table_of(rng)
    first = verosim.auto(table.slice(0, 150), "y", effort="fast").model
    second = verosim.auto(table.slice(150), "y", like=first).model
    assert set(second.weights_) == set(first.weights_)
    assert (first + second).class_count_.sum() == 300


@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_leaves_the_sums_of_the_other_rows(rng, weighted):
    table = table_of(rng)
    w = rng.choice([0.5, 1.0, 2.0], 300) if weighted else np.ones(300)
    whole = pool().fit(table, "y", sample_weight=w)
    rest = with_mixing_of(
        Pool(EXPERTS, keep="all").fit_like(
            replace(inputs_of(table.slice(80), "y"), sample_weight=w[80:]), whole
        ),
        whole,
    )
    forgotten = pickle.loads(pickle.dumps(whole)).forget(table.slice(0, 80), "y", w[:80])
    np.testing.assert_allclose(forgotten.class_count_, rest.class_count_)
    same_posteriors(forgotten, rest, table, rtol=1e-5)
    assert forgotten.rows_since_weights_ == pytest.approx(w[:80].sum())
    assert whole.rows_since_weights_ == 0


def test_any_chunking_and_order_gives_the_same_model(rng):
    table = table_of(rng, 400)
    first = pool().fit(table.slice(0, 200), "y")
    models = []
    for size, order in ((200, 1), (50, 1), (33, -1), (1, 1)):
        model = pickle.loads(pickle.dumps(first))
        starts = range(200, 400 if size > 1 else 220, size)
        pieces = [table.slice(s, min(size, 400 - s)) for s in starts][::order]
        for piece in pieces:
            model.partial_fit(piece, "y")
        if size == 1:
            model.partial_fit(table.slice(220), "y")
        models.append(model)
    for model in models[1:]:
        same_posteriors(model, models[0], table)
        np.testing.assert_array_equal(model.stats_.rows, models[0].stats_.rows)
    whole = with_mixing_of(like(first, table), first)
    same_posteriors(models[0], whole, table)
    assert models[0].rows_since_weights_ == 200


def test_a_new_pool_learns_from_its_first_batch(rng):
    table = table_of(rng, 300)
    model = pool().partial_fit(table.slice(0, 200), "y", classes=["c0", "c1", "later"])
    assert model.classes_.tolist() == ["c0", "c1", "later"]
    np.testing.assert_array_equal(model.predict_proba(table)[:, 2], 0.0)
    fitted = pool().fit(table.slice(0, 200), "y")
    assert model.weights_ == pytest.approx(fitted.weights_)
    late = table.slice(200, 60).set_column(3, "y", pa.array(["later"] * 60))
    model.partial_fit(late, "y")
    assert (model.predict_proba(late)[:, 2] > 0).all()
    assert model.class_count_.tolist()[2] == 60
    fitted.partial_fit(late, "y")
    same_posteriors(fitted, model, table)
    merged = fitted + like(fitted, table.slice(240))
    assert merged.classes_.tolist() == ["c0", "c1", "later"]
    assert np.isfinite(merged.predict_log_proba(table)).all()


def test_decay_multiplies_the_sums(rng):
    table = table_of(rng)
    model = pool().fit(table, "y")
    before = model.class_count_
    model.decay(0.5)
    np.testing.assert_allclose(model.class_count_, before / 2)
    assert model.rows_since_weights_ == 0
    half = with_mixing_of(
        Pool(EXPERTS, keep="all").fit_like(
            replace(inputs_of(table, "y"), sample_weight=np.full(300, 0.5)), model
        ),
        model,
    )
    same_posteriors(model, half, table)


def test_one_warning_when_the_weights_are_old(rng):
    table = table_of(rng, 300)
    model = Pool(COUNTS).fit(table.slice(0, 100), "y")
    assert model.reweigh_after_ == 100
    model.partial_fit(table.slice(100, 100), "y")
    with pytest.warns(VerosimWarning, match=r"150 were added or removed.*reweigh\(X, y\)"):
        model.partial_fit(table.slice(200, 50), "y")
    model.forget(table.slice(0, 20), "y")  # no second warning: warnings are errors in the tests
    assert model.rows_since_weights_ == 170
    model.reweigh(table.slice(20, 230), "y")
    assert model.rows_since_weights_ == 0
    assert model.reweigh_after_ == 230


def test_one_warning_when_many_pools_are_merged(rng):
    table = table_of(rng, 400)
    first = Pool(COUNTS, keep="all").fit(table.slice(0, 100), "y")
    parts = [first] + [
        Pool(COUNTS, keep="all").fit_like(inputs_of(table.slice(s, 100), "y"), first)
        for s in (100, 200, 300)
    ]
    two = parts[0] + parts[1]
    assert two.rows_since_weights_ == two.reweigh_after_ == 100
    with pytest.warns(VerosimWarning, match="reweigh") as caught:
        every = sum(parts)
    assert len(caught) == 1
    assert every.rows_since_weights_ == pytest.approx(300)


def test_reweighing_keeps_the_sums_and_changes_the_weights(rng):
    table = table_of(rng, 400)
    model = pool().fit(table.slice(0, 100), "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerosimWarning)
        model.partial_fit(table.slice(100), "y")
    before, sums = model.weights_, model.stats_
    model.reweigh(table, "y")
    assert model.weights_ != before
    assert list(model.weights_) == list(before)
    assert model.stats_ is sums
    new = table_of(rng, 200)
    fresh = pickle.loads(pickle.dumps(model)).reweigh(new, "y", counted=False)
    assert fresh.weights_ != model.weights_
    with pytest.raises(VerosimError, match="'c7'"):
        model.reweigh(new.set_column(3, "y", pa.array(["c7"] * 200)), "y")


def test_the_table_after_reweighing_describes_the_pool_as_it_is_now(rng):
    """Experts that were left out or dropped at `fit` are not part of the pool any more."""
    table = table_of(rng, 300).append_column("t", pa.array(["some words", "other words"] * 150))
    model = Pool([*EXPERTS, QDA()], columns={"t": "text"}).fit(table.slice(0, 200), "y")
    left_out = [row.name for row in model.table_.rows if row.why]
    assert left_out == ["QDA()"]
    merged = model + like(model, table.slice(200))
    for pooled in (merged.reweigh(table, "y"), model.reweigh(table.slice(0, 200), "y")):
        own, *rows = pooled.table_.rows
        assert {row.name: row.weight for row in rows} == pooled.weights_
        assert own.model.keep == pooled.keep == "used"
        assert list(pooled.table_.not_read) == ["t"]


def test_reweighing_with_the_training_rows_is_near_the_first_weights(rng):
    """The folds differ, and bins are not chosen again, so the weights are near and not equal."""
    table = table_of(rng, 400)
    model = Pool([AODE(5), LDA(shrinkage=0.02, encode="normal")], keep="all").fit(table, "y")
    before = model.weights_
    for name, weight in model.reweigh(table, "y").weights_.items():
        assert weight == pytest.approx(before[name], abs=0.15)


def test_a_pool_with_a_model_of_rows_refuses_updates():
    X, y = load_iris(return_X_y=True)
    mixture = MDA(components=2, covariance="own", regularisation=0.1, target="diagonal")
    new = Pool([mixture, AODE(5)], keep="all")
    assert not hasattr(new, "partial_fit")
    model = clone(new).fit(X, y)
    for update in (
        lambda: model.partial_fit(X, y), lambda: model.forget(X, y), lambda: model + model,
        lambda: model.reweigh(X, y),
    ):  # fmt: skip
        with pytest.raises(VerosimError, match=r"not available.*expert MDA\(.*out of experts"):
            update()
    assert set(model.reweigh(X, y, counted=False).weights_) == {repr(mixture), "AODE(bins=5)"}
    assert {row.name for row in model.table_ if row.needs_all_rows} == {repr(mixture)}
    assert "not sums: MDA: this pool cannot merge" in str(model.table_)


def test_the_largest_effort_allows_no_updates_before_it_is_fitted(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = Pool(effort="max")
    with pytest.raises(VerosimError, match='new pool with effort="max"'):
        model.partial_fit(X, y)
    model.fit(X, y)
    assert hasattr(model, "partial_fit") != any(name.startswith("MDA") for name in model.weights_)


# The mixture of the members that are densities ---------------------------------------------------


def test_the_density_is_that_of_the_mixture_of_its_members(rng):
    table = table_of(rng)
    model = Pool([AODE(5), KDB(1, 5), TAN(5), *MOMENTS], keep="all").fit(table, "y")
    some = [AODE(5), KDB(1, 5), TAN(5)]
    weights = np.array([model.weights_[repr(one)] for one in some])
    each = np.stack([
        clone(one).set_params(priors="laplace").fit(table, "y", schema=model.schema_)
        .with_priors(model.class_prior_).log_density(table)
        for one in some
    ])  # fmt: skip
    joint = np.stack([
        clone(one).fit(table, "y", schema=model.schema_).with_priors(model.class_prior_)
        .log_joint(table)
        for one in some
    ])  # fmt: skip
    share = weights / weights.sum()
    np.testing.assert_allclose(
        model.log_density(table), logsumexp(each, axis=0, b=share[:, None]), atol=1e-9
    )
    np.testing.assert_allclose(
        model.log_joint(table), logsumexp(joint, axis=0, b=share[:, None, None]), atol=1e-9
    )
    drawn, labels = model.sample(50, random_state=0)
    assert drawn.column_names == ["x", "z", "a"]
    assert set(labels) <= {"c0", "c1"}
    assert np.isfinite(model.log_density(drawn)).all()
    assert next(iter(model.predict_table(table))).schema.names[-1] == "log_density"


def test_without_a_density_there_is_no_density(rng):
    table = table_of(rng)
    model = Pool(MOMENTS).fit(table, "y")
    for use in (model.log_density, model.log_joint):
        with pytest.raises(VerosimError, match="density"):
            use(table)
    with pytest.raises(VerosimError, match="density"):
        model.sample(3)
    assert "log_density" not in next(iter(model.predict_table(table))).schema.names


# Copies ------------------------------------------------------------------------------------------


def test_pickle_clone_and_parameters(rng):
    table = table_of(rng)
    model = pool().fit(table, "y")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert str(again.table_) == str(model.table_)
    assert repr(clone(model)) == repr(model)
    assert not hasattr(clone(model), "weights_")
    with pytest.raises(VerosimError, match="effort changed"):
        clone(model).fit(table, "y").set_params(effort="fast").predict(table)
    a, b = (Pool(COUNTS, random_state=s).fit(table, "y").weights_ for s in (3, 3))
    assert a == b


def test_the_same_rows_with_another_seed_have_other_folds(rng):
    table = table_of(rng)
    found = {pool(random_state=seed).fit(table, "y").table_[0].score for seed in (0, 1)}
    assert len(found) == 2
    pool(random_state=np.random.RandomState(0)).fit(table, "y")
    pool(random_state=np.random.default_rng(0)).fit(table, "y")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"experts": []}, "must not be empty"),
        ({"experts": "AODE"}, "must be a list of models"),
        ({"experts": [AODE]}, "must be generative classifiers; got <class"),
        ({"experts": [AODE(), AODE()]}, r"got AODE\(\) twice"),
        (
            {"experts": [verosim.Calibrated(LDA())]},
            "must be generative classifiers; got Calibrated",
        ),
        ({"effort": "big"}, "effort must be one of"),
        ({"keep": "some"}, "keep must be one of"),
        ({"time_limit": -1}, "time_limit must be a finite number, at least 0; got -1"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": "fold"}, "column of folds 'fold' is not in the table"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_settings(rng, given, message):
    with pytest.raises(VerosimError, match=message):
        Pool(**given).fit(table_of(rng, 40), "y")


def test_a_time_limit_leaves_experts_out(rng):
    model = Pool(EXPERTS, time_limit=0).fit(table_of(rng), "y")
    assert len([line for line in model.table_.rows if "time limit" in line.why]) > 0
    assert len(model.weights_) >= 1


# Large files -------------------------------------------------------------------------------------


def test_streamed_sums_are_those_in_memory_given_the_schema(rng, tmp_path, monkeypatch):
    table = table_of(rng, 4000)
    path = tmp_path / "rows.csv"
    pa.csv.write_csv(table, path)
    monkeypatch.setattr(rows, "MOST_BYTES", 1 << 12)
    monkeypatch.setattr(splitting, "LEAST_HELD_OUT", 300)
    monkeypatch.setattr(splitting, "MOST_SCORES", 600)
    streamed = pool().fit(path, "y")
    held = streamed.table_[0]
    monkeypatch.undo()
    memory = like(streamed, pa.csv.read_csv(path))
    assert_same(streamed.stats_, memory.stats_)
    same_posteriors(streamed, with_mixing_of(memory, streamed), table)
    assert held.score == pytest.approx(memory.table_[0].score, abs=0.1)
    assert streamed.score(path, "y") > 0.75


@pytest.mark.parametrize(("cv", "groups"), [("part", None), (None, "part")])
def test_groups_and_given_folds_need_all_rows_in_memory(rng, tmp_path, monkeypatch, cv, groups):
    table = table_of(rng, 200)
    table = table.append_column("part", pa.array(np.arange(200) % 3))
    path = tmp_path / "rows.csv"
    pa.csv.write_csv(table, path)
    monkeypatch.setattr(rows, "MOST_BYTES", 1 << 8)
    with pytest.raises(VerosimError, match=r"groups or the folds of cv need.*Leave groups and cv"):
        Pool(EXPERTS, cv=cv).fit_like(inputs_of(path, "y"), groups=groups)


def test_a_large_table_holds_out_one_part(rng, monkeypatch):
    monkeypatch.setattr(splitting, "ROWS_TO_HOLD_OUT", 500)
    monkeypatch.setattr(splitting, "LEAST_HELD_OUT", 150)
    table = table_of(rng, 1000)
    found, groups, _ = trial_for(table, EXPERTS)
    assert isinstance(found, OnePartTrial)
    counted = found.count(groups[0])
    assert counted.statistic.rows.sum() == 1000
    assert counted.log_p[0].shape == (len(found.codes), 2)
    model = pool().fit(table, "y")
    assert model.class_count_.sum() == 1000
    whole = pool(cv=5).fit(table, "y")
    assert model.table_[0].score == pytest.approx(whole.table_[0].score, abs=0.15)


@pytest.mark.parametrize("form", ["generator", "list", "csv", "polars", "arrow", "dict"])
def test_every_kind_of_source(rng, tmp_path, form):
    table = table_of(rng, 300)
    pieces = [table.slice(s, 100) for s in (0, 100, 200)]
    source = table
    if form == "generator":
        source = iter(pieces)
    elif form == "list":
        source = pieces
    elif form == "csv":
        source = tmp_path / "rows.csv"
        pa.csv.write_csv(table, source)
    elif form == "polars":
        source = pytest.importorskip("polars").from_arrow(table)
    elif form == "dict":
        source = table.to_pydict()
    model = pool().fit(source, "y")
    assert model.class_count_.sum() == 300
    assert model.score(table, "y") > 0.8


def test_a_source_that_is_read_once_is_learned_from_its_first_rows(rng, monkeypatch):
    monkeypatch.setattr("verosim.pool.learning.FIRST_LOOK_ROWS", 150)
    table = table_of(rng, 400)
    model = pool().fit((table.slice(s, 100) for s in range(0, 400, 100)), "y")
    assert model.class_count_.sum() == 400
    assert model.rows_since_weights_ == 0
    assert_same(model.stats_, like(model, table).stats_)


# Bad input ---------------------------------------------------------------------------------------


def checked(X, y, n=None, **given):
    """A default pool on some rows: its posteriors are finite and sum to one."""
    model = Pool(**given).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert len(model.weights_) >= 1
    return model


@pytest.mark.parametrize("n", range(2, 11))
def test_few_rows(rng, n):
    model = checked(rng.normal(size=(n, 3)), np.arange(n) % 2)
    assert model.classes_.tolist() == [0, 1]


def test_one_row(rng):
    with pytest.raises(VerosimError, match="n_samples=1 is too small"):
        Pool().fit([[1.0, 2.0]], [0])
    with pytest.raises(VerosimError, match="n_samples=1 is too small"):
        Pool().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1], sample_weight=[1, 0])


def test_one_class(rng):
    model = Pool(COUNTS).fit(rng.normal(size=(20, 2)), np.zeros(20, int))
    np.testing.assert_array_equal(model.predict(rng.normal(size=(3, 2))), 0)
    with pytest.raises(VerosimError, match="'y' is 'c0' in all"):
        Pool(COUNTS).fit({"x": [1, 2, 3], "y": ["c0"] * 3}, "y")


def test_one_column_and_constant_columns(rng):
    checked(rng.normal(size=(100, 1)), rng.integers(0, 2, 100))
    checked(np.c_[np.ones(100), rng.normal(size=100)], rng.integers(0, 2, 100))
    model = checked(np.ones((50, 2)), np.arange(50) % 2)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), 0.5, atol=0.1)


def test_one_row_per_class_and_a_rare_class(rng):
    model = checked(rng.normal(size=(12, 3)), np.arange(12))
    assert len(model.classes_) == 12
    y = rng.integers(0, 2, 120)
    y[7] = 5
    assert checked(rng.normal(size=(120, 3)), y).classes_.tolist() == [0, 1, 5]


def test_missing_columns(rng):
    X = pd.DataFrame({"a": rng.normal(size=100), "b": np.full(100, np.nan)})
    model = checked(X, (X["a"] > 0).to_numpy())
    assert model.score(X, (X["a"] > 0).to_numpy()) > 0.9
    with pytest.raises(VerosimError, match="no column to learn from"):
        Pool().fit(X[["b"]], (X["a"] > 0).to_numpy())
    holes = X.mask(rng.random(X.shape) < 0.5)
    checked(holes, (X["a"] > 0).to_numpy())


@pytest.mark.parametrize("labels", ["text", "boolean", "integer"])
def test_kinds_of_labels(rng, labels):
    y = rng.integers(0, 2, 80)
    given = {"text": np.array(["no", "yes"])[y], "boolean": y == 1, "integer": y * 7}[labels]
    X = rng.normal(size=(80, 2)) + y[:, None]
    model = Pool(COUNTS).fit(X, given)
    np.testing.assert_array_equal(model.classes_, np.unique(given))
    assert model.score(X, given) > 0.7


def test_booleans_dates_and_texts(rng):
    n, words = (
        150,
        np.array(["red", "green", "blue", "cold", "warm", "fast", "slow", "old", "new", "big"]),
    )
    y = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(words[5 * c : 5 * c + 5], 12)) for c in y]
    X = pd.DataFrame({
        "flag": rng.random(n) < 0.5,
        "when": pd.date_range("2024-01-01", periods=n, freq="7h"),
        "text": texts,
    })  # fmt: skip
    model = checked(X, y)
    assert model.table_.not_read == {}  # an expert reads the texts
    assert model.score(X, y) > 0.95
    model = Pool(COUNTS).fit(X, y)
    assert list(model.table_.not_read) == ["text"]
    assert "not read: 'text': No expert reads columns of kind text." in str(model.table_)


def test_weights_with_zeros(rng):
    table = table_of(rng, 200)
    w = rng.integers(0, 2, 200).astype(float)
    model = pool().fit(table, "y", sample_weight=w)
    there = pool().fit(table.filter(pa.array(w > 0)), "y")
    assert model.class_count_.sum() == w.sum()
    same_posteriors(model, there, table)


@pytest.mark.slow
def test_many_categories(rng):
    n = 100_000
    X = pd.DataFrame({"id": rng.permutation(n).astype(str), "x": rng.normal(size=n)})
    model = Pool(effort="fast").fit(X, (X["x"] + rng.normal(size=n) > 0).to_numpy())
    assert 0.7 < model.table_[0].accuracy < 0.8


@pytest.mark.slow
def test_many_classes(rng):
    model = checked(rng.normal(size=(2000, 2)), np.arange(2000) % 1000, effort="fast")
    assert len(model.classes_) == 1000
    left_out = Pool([AODE(5), WeightedPairs(5)]).fit(rng.normal(size=(2000, 2)),
                                                     np.arange(2000) % 1000)  # fmt: skip
    assert "not tried: WeightedPairs: The evidence of 2,000 held-out rows" in str(left_out.table_)


@pytest.mark.slow
def test_many_columns(rng):
    X, y = rng.normal(size=(200, 2000)), np.arange(200) % 2
    X[:, :40] += y[:, None]
    model = checked(X, y)
    reasons = {line.name: line.why for line in model.table_.rows if line.why}
    assert "counts of pairs" in reasons["AODE(bins=5)"]
    assert "are allowed" in reasons["LDA(encode='normal', shrinkage=0.02)"]
    assert model.table_[0].accuracy > 0.7


def test_large_values_and_infinity(rng):
    y = np.arange(100) % 2
    checked(1e150 * (rng.normal(size=(100, 2)) + y[:, None]), y)
    X = rng.normal(size=(100, 2))
    X[3, 1] = np.inf
    with pytest.raises(VerosimError, match="infinity in column 'x1', row 3"):
        Pool().fit(X, y)


def test_constant_columns_of_folds_give_no_warning(rng):
    """A category that only one row has is a constant column of the design matrix in its fold."""
    table = table_of(rng, 80)
    rare = pa.array(["rare" if i == 5 else f"v{i % 3}" for i in range(80)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Pool(effort="fast").fit(table.append_column("rare", rare), "y")
        model.partial_fit(table.append_column("rare", rare).slice(0, 20), "y")


# Other tools -------------------------------------------------------------------------------------


def test_validation_tools_accept_a_pool(rng):
    table = table_of(rng, 200)
    model = Pool(COUNTS)
    scores = verosim.cross_validate(model, table, "y", cv=3)
    assert scores.scores["accuracy"].mean() > 0.7
    calibrated = verosim.calibrate(model, table, "y", cv=3)
    assert calibrated.score(table, "y") > 0.7
