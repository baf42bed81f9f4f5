"""Work that is done once for several folds, experts or passes gives the same as doing it again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import verosim
from verosim.data.adapters import open_table
from verosim.engines import LEAST_CELLS_FOR_THREADS
from verosim.kinds.discretise import equal_bins, separating_bins
from verosim.pool.splitting import FEWER_FOLDS, POOL_FOLDS, ROWS_FOR_FEWER
from verosim.stats import Moments
from verosim.stats.statistic import sums_of_others
from verosim.testing import statistic_of


def nats(count):
    """N times the entropy of counts."""
    total = count.sum()
    return -sum(n * np.log(n / total) for n in count if n > 0)


def cuts_by_definition(count, start, stop):
    """The cuts of Fayyad & Irani (1993), cell by cell."""
    whole = count[start:stop].sum(axis=0)
    N, best = whole.sum(), None
    for cut in range(start + 1, stop):
        parts = count[start:cut].sum(axis=0), count[cut:stop].sum(axis=0)
        if all(part.sum() > 0 for part in parts):
            rest = sum(map(nats, parts))
            if best is None or rest < best[0] - 1e-9:
                best = rest, cut, parts
    if best is None or N < 2:
        return []
    rest, cut, parts = best
    k, each = (whole > 0).sum(), [(part > 0).sum() for part in parts]
    described = k * nats(whole) / N - sum(
        c * nats(part) / part.sum() for c, part in zip(each, parts, strict=True)
    )
    if nats(whole) - rest <= np.log(N - 1) + np.log(3.0**k - 2) - described:
        return []
    return [*cuts_by_definition(count, start, cut), cut, *cuts_by_definition(count, cut, stop)]


@pytest.mark.parametrize("classes", [2, 4])
def test_cuts_by_definition(rng, classes):
    """The compiled search finds the cuts of the formula."""
    separated = 0
    for _ in range(20):
        share = np.repeat(rng.dirichlet(np.ones(classes), 4), 6, axis=0)  # four parts of six cells
        count = rng.poisson(20 * share).astype(float)
        cuts = cuts_by_definition(count, 0, len(count))
        wanted = np.searchsorted(cuts, np.arange(len(count)), side="right")
        if len(cuts) < 2:
            wanted = equal_bins(count.sum(axis=1), 3)
        np.testing.assert_array_equal(separating_bins(count), wanted)
        separated += len(cuts) > 1
    assert separated > 5


def test_sums_of_others_are_new_statistics(rng):
    """The sum of all others is that of the rows, and nobody else writes to it."""
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    parts = [statistic_of(X[f::4], y[f::4], plan=lambda axes: Moments(axes)) for f in range(4)]
    before = [part.fingerprint() for part in parts]
    found = list(sums_of_others(parts))
    for f, others in enumerate(found):
        rest = np.concatenate([X[g::4] for g in range(4) if g != f])
        total = (
            others.arrays["sum"]
            + others.lows["sum"]
            + others.weights * others.arrays["pivot"][:, None]
        )
        np.testing.assert_allclose(total.sum(axis=(0, 1)), rest.sum(axis=0))
    assert [part.fingerprint() for part in parts] == before


def test_a_table_in_memory_is_converted_once():
    """The first look and the passes after it use the same Arrow batches."""
    table = open_table(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "u"]}))
    first = table.head(2)
    assert table.head(3)[0] is first[0]
    assert next(table.batches()) is first[0]
    assert next(table.batches(["b"])).batch.schema.names == ["b"]


@pytest.mark.parametrize("rows", [ROWS_FOR_FEWER - 1, ROWS_FOR_FEWER])
def test_more_rows_have_fewer_folds(rng, rows, monkeypatch):
    """Five folds below 2,000 rows, three from there on."""
    from verosim.pool import fold_trial

    counts = []
    made = fold_trial.FoldTrial.__init__

    def note(self, groups, schema, rows, numbers, count, most):
        counts.append(count)
        made(self, groups, schema, rows, numbers, count, most)

    monkeypatch.setattr(fold_trial.FoldTrial, "__init__", note)
    X = rng.normal(size=(rows, 2))
    verosim.Pool([verosim.LDA(encode="normal")]).fit(X, X[:, 0] > 0)
    assert counts == [FEWER_FOLDS if rows >= ROWS_FOR_FEWER else POOL_FOLDS]


@pytest.mark.parametrize("shift", [0.0, 1e6])  # rows near zero are scored without centring
def test_folds_that_are_scored_in_parallel_give_the_scores_of_separate_fits(rng, shift):
    n, d, folds = 6000, 64, 5
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + 0.2 * rng.normal(size=(3, d))[y] + shift
    fold = np.arange(n) % folds
    amounts = (0.0, 0.1, 0.9, "oas")
    assert n * d / folds > LEAST_CELLS_FOR_THREADS
    found = {}
    for threads in (1, 3):
        with verosim.use_threads(threads):
            search = verosim.path(
                verosim.LDA(), X, y, "shrinkage", amounts, cv=fold,
                scoring=["neg_log_loss", "accuracy"],
            )  # fmt: skip
            found[threads] = search.scores
    for name in found[1]:
        np.testing.assert_allclose(found[1][name], found[3][name], rtol=1e-13)
    for i, amount in enumerate(amounts):
        for f in range(folds):
            out = fold == f
            model = verosim.LDA(shrinkage=amount).fit(X[~out], y[~out])
            own = model.predict_log_proba(X[out])[np.arange(out.sum()), y[out]]
            assert found[1]["neg_log_loss"][i, f] == pytest.approx(own.mean(), rel=1e-10)
            assert found[1]["accuracy"][i, f] == model.score(X[out], y[out])


def test_warnings_of_folds_that_are_scored_in_parallel_are_at_the_line_of_the_user(rng):
    X = rng.normal(size=(6000, 64))
    X[:, 1] = X[:, 0]
    with verosim.use_threads(2), pytest.warns(verosim.SingularWarning, match="4 more") as caught:
        verosim.cross_validate(verosim.LDA(), X, np.arange(6000) % 2, cv=5)
    assert [one.filename for one in caught] == [__file__]
