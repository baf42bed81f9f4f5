"""AODE, KDB and TAN against their formulas in exact arithmetic, on small tables."""

from __future__ import annotations

from fractions import Fraction as Fr
from itertools import combinations, permutations, product
from math import log, prod

import numpy as np
import pytest

import verosim

SEEDS = range(6)


class Exact:
    """A small table: rows of values, labels and whole weights, and counts of what they have."""

    def __init__(self, rows, labels, weights):
        self.rows, self.labels, self.weights = rows, labels, weights
        self.d, self.classes = len(rows[0]), sorted(set(labels))
        self.values = [{row[j] for row in rows} for j in range(self.d)]

    def count(self, k=None, **at) -> Fr:
        """The weight of the rows of class k (None: of all classes) with x_j = at['xj']."""
        wanted = {int(name[1:]): value for name, value in at.items()}
        return Fr(sum(
            w for row, label, w in zip(self.rows, self.labels, self.weights, strict=True)
            if k in (None, label) and all(row[j] == v for j, v in wanted.items())
        ))  # fmt: skip

    def about_class(self, i) -> float:
        """I(x_i; y)"""
        N, total = self.count(), 0.0
        for v, k in product(self.values[i], self.classes):
            both = self.count(k, **{f"x{i}": v})
            if both:
                each = self.count(None, **{f"x{i}": v}) * self.count(k)
                total += float(both / N) * log(both * N / each)
        return total

    def within(self, i, j) -> float:
        """I(x_i; x_j | y)"""
        N, total = self.count(), 0.0
        for v, u, k in product(self.values[i], self.values[j], self.classes):
            both = self.count(k, **{f"x{i}": v, f"x{j}": u})
            if both:
                each = self.count(k, **{f"x{i}": v}) * self.count(k, **{f"x{j}": u})
                total += float(both / N) * log(both * self.count(k) / each)
        return total

    def posteriors(self, density):
        """(n, C) from density(row, k), with priors n_k / n."""
        N, out = self.count(), []
        for row in self.rows:
            joint = [self.count(k) / N * density(row, k) for k in self.classes]
            out.append([float(one / sum(joint)) for one in joint])
        return np.array(out)


def made(seed, d=4, n=40, gaps=True):
    """A table of categories, numbers of few values and missing cells, and the same rows exactly."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]).tolist()
    shift = np.array([ord(label) - ord("a") for label in labels])
    base = rng.integers(0, 2, n) + shift
    codes = [(base + rng.integers(0, 2 + j % 2, n)) % (3 + j % 2) for j in range(d)]
    gone = rng.random((d, n)) < (0.1 if gaps else 0.0)
    columns = [
        [
            None if gone[j][i] else f"v{c}" if j % 2 == 0 else float(c)
            for i, c in enumerate(codes[j])
        ]
        for j in range(d)
    ]
    table = {f"x{j}": column for j, column in enumerate(columns)}
    weights = rng.integers(1, 4, n).tolist()
    exact = Exact(list(zip(*columns, strict=True)), labels, weights)
    kinds = {f"x{j}": "category" if j % 2 == 0 else "histogram" for j in range(d)}
    return {**table, "y": labels}, exact, kinds, np.array(weights, dtype=float)


def one_dependence(exact, weighted):
    value = [exact.about_class(i) if weighted else 1.0 for i in range(exact.d)]
    v = [Fr(one) / sum(map(Fr, value)) for one in value]

    def alone(j, x, k):
        return (exact.count(k, **{f"x{j}": x}) + Fr(1, len(exact.values[j]))) / (exact.count(k) + 1)

    def density(row, k):
        total = Fr(0)
        for i in range(exact.d):
            inside = exact.count(k, **{f"x{i}": row[i]})
            total += v[i] * alone(i, row[i], k) * prod(
                (exact.count(k, **{f"x{i}": row[i], f"x{j}": row[j]}) + alone(j, row[j], k))
                / (inside + 1)
                for j in range(exact.d) if j != i
            )  # fmt: skip
        return total

    return density


def backed_off(exact, parents, m):
    m, m_0 = Fr(m), min(Fr(m), Fr(1))

    def share(row, j, k, depth):
        at = {f"x{j}": row[j]}
        if depth < 0:
            B = len(exact.values[j])
            return (exact.count(None, **at) + Fr(1, 2)) / (exact.count() + Fr(B, 2))
        context = {f"x{i}": row[i] for i in parents[j][:depth]}
        towards, inside = (m if depth else m_0), exact.count(k, **context)
        lower = share(row, j, k, depth - 1)
        if not inside + towards:
            return lower
        return (exact.count(k, **at, **context) + towards * lower) / (inside + towards)

    def density(row, k):
        return prod(share(row, j, k, len(parents[j])) for j in range(exact.d))

    return density


def laplace(exact, parents, alpha):
    def density(row, k):
        out = Fr(1)
        for j in range(exact.d):
            context = {f"x{i}": row[i] for i in parents[j]}
            B = len(exact.values[j])
            top = exact.count(k, **{f"x{j}": row[j]}, **context) + Fr(alpha)
            out *= top / (exact.count(k, **context) + Fr(alpha) * B)
        return out

    return density


def numbered(model):
    """The parents by number, as tuples."""
    return [tuple(int(p[1:]) for p in model.parents_[name]) for name in sorted(model.parents_)]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_aode(seed, weighted):
    table, exact, kinds, w = made(seed)
    model = verosim.AODE(weighted=weighted, columns=kinds).fit(table, "y", sample_weight=w)
    density = one_dependence(exact, weighted)
    np.testing.assert_allclose(model.predict_proba(table), exact.posteriors(density), rtol=1e-9)
    if weighted:
        value = [exact.about_class(i) for i in range(exact.d)]
        found = [model.parent_weights_[f"x{i}"] for i in range(exact.d)]
        np.testing.assert_allclose(found, np.array(value) / sum(value), rtol=1e-9)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_kdb(seed, k):
    table, exact, kinds, w = made(seed)
    rank = sorted(range(exact.d), key=lambda i: -exact.about_class(i))
    parents = [()] * exact.d
    for at, j in enumerate(rank):
        parents[j] = tuple(sorted(rank[:at], key=lambda i: -exact.within(i, j))[:k])
    for m, smoothing, alpha in ((20, "backoff", 1.0), (0.5, "backoff", 1.0), (1, "laplace", 0.25)):
        model = verosim.KDB(k, 5, smoothing, m, alpha, kinds).fit(table, "y", sample_weight=w)
        assert numbered(model) == parents
        density = (
            backed_off(exact, parents, m) if smoothing == "backoff"
            else laplace(exact, parents, alpha)
        )  # fmt: skip
        np.testing.assert_allclose(
            model.predict_proba(table), exact.posteriors(density), rtol=1e-9, err_msg=smoothing
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_tan(seed):
    """Of all trees the best one, rooted at the column with the most information about the class."""
    table, exact, kinds, w = made(seed)
    model = verosim.TAN(bins=5, columns=kinds).fit(table, "y", sample_weight=w)
    pairs = list(combinations(range(exact.d), 2))
    value = {pair: exact.within(*pair) for pair in pairs}
    best = max(
        (edges for edges in combinations(pairs, exact.d - 1) if is_tree(edges, exact.d)),
        key=lambda edges: sum(value[e] for e in edges),
    )
    parents = numbered(model)
    assert {tuple(sorted((j, *p))) for j, p in enumerate(parents) if p} == set(best)
    root = max(range(exact.d), key=exact.about_class)
    assert [j for j, p in enumerate(parents) if not p] == [root]
    found = model.predict_proba(table)
    np.testing.assert_allclose(found, exact.posteriors(backed_off(exact, parents, 20)), rtol=1e-9)
    model.set_params(smoothing="laplace", alpha=2.0)
    found = model.predict_proba(table)
    np.testing.assert_allclose(found, exact.posteriors(laplace(exact, parents, 2)), rtol=1e-9)


def is_tree(edges, d):
    reached = {0}
    for _ in range(d):
        reached |= {j for edge in edges for j in edge if set(edge) & reached}
    return len(reached) == d


# Against other models of verosim -----------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_no_parents_is_naive_bayes_on_categories(alpha):
    table, _, _, w = made(3, gaps=False)
    kinds = {f"x{j}": "category" for j in range(4)}
    ours = verosim.KDB(k=0, smoothing="laplace", alpha=alpha, columns=kinds)
    theirs = verosim.NaiveBayes(columns=kinds, alpha=alpha)
    for model in (ours, theirs):
        model.fit(table, "y", sample_weight=w)
    np.testing.assert_allclose(ours.log_joint(table), theirs.log_joint(table), rtol=1e-10)


@pytest.mark.parametrize("bins", [5, "mdl"])
def test_no_parents_is_naive_bayes_on_bins(bins):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 3)) * [1, 10, 0.1] + y[:, None] * [1, 5, 0]
    ours = verosim.KDB(k=0, bins=bins, smoothing="laplace").fit(X, y)
    theirs = verosim.HistogramNB(bins=bin_edges(ours), alpha=1.0).fit(X, y)
    np.testing.assert_allclose(ours.log_joint(X), theirs.log_joint(X), rtol=1e-9, atol=1e-9)
    other = rng.normal(size=(50, 3)) * 3
    np.testing.assert_allclose(ours.predict_proba(other), theirs.predict_proba(other), rtol=1e-9)


def bin_edges(model):
    """The edges of the bins of a fitted model: where the code of the cells changes."""
    ((_, structure),) = model.schema_.structures
    out = []
    for column, codes in zip(model.schema_.cells, structure.bins, strict=True):
        change = np.flatnonzero(np.diff(codes[:-1])) + 1
        edges = np.array(column.edges)
        out.append(np.concatenate([edges[:1], edges[change], edges[-1:]]))
    return out


def test_all_parents_without_smoothing_is_the_joint_histogram():
    """With m = 0, p(x | k) is the share of the rows of class k with the codes of x."""
    table, exact, kinds, w = made(1, d=6, n=200)
    model = verosim.KDB(k=5, bins=5, m=0.0, columns=kinds).fit(table, "y", sample_weight=w)
    assert sorted(map(len, model.parents_.values())) == [0, 1, 2, 3, 4, 5]
    proba, density = model.predict_proba(table), np.exp(model.log_density(table))
    for row, found, evidence in zip(exact.rows, proba, density, strict=True):
        at = {f"x{j}": v for j, v in enumerate(row)}
        each = [exact.count(k, **at) for k in exact.classes]
        np.testing.assert_allclose(found, [float(e / sum(each)) for e in each], atol=1e-12)
        widths = np.exp(log_widths(model, at))
        assert evidence == pytest.approx(float(sum(each) / exact.count()) / widths, rel=1e-9)


def log_widths(model, at):
    """Σ log width of the bins of the numbers of a row."""
    total = 0.0
    for column in model.schema_.cells:
        if column.is_number and at[column.name] is not None:
            edges = np.array(column.edges)  # every value has a bin of its own
            cell = np.searchsorted(edges[1:-1], at[column.name], side="right")
            total += np.log(edges[cell + 1] - edges[cell])
    return total


@pytest.mark.parametrize("model", [verosim.AODE(), verosim.KDB(k=2, bins=5), verosim.TAN(bins=5)])
def test_mass_of_all_rows_is_one(model):
    """Σ over all rows of values that were seen, each class for itself."""
    table, exact, _, w = made(2, d=3)
    kinds = {f"x{j}": "category" for j in range(3)}
    model = model.set_params(columns=kinds).fit(table, "y", sample_weight=w)
    every = list(product(*exact.values))
    rows = {f"x{j}": [row[j] for row in every] for j in range(3)}
    mass = np.exp(model.log_joint(rows) - np.log(model.class_prior_)).sum(axis=0)
    np.testing.assert_allclose(mass, 1.0, rtol=1e-10)


def test_order_of_columns_does_not_matter_to_aode():
    table, _, kinds, w = made(4)
    first = verosim.AODE(columns=kinds).fit(table, "y", sample_weight=w).predict_proba(table)
    for order in permutations(["x0", "x1", "x2", "x3"]):
        moved = {name: table[name] for name in (*order, "y")}
        model = verosim.AODE(columns=kinds).fit(moved, "y", sample_weight=w)
        np.testing.assert_allclose(model.predict_proba(table), first, rtol=1e-10)
