"""A pool holds out the same rows in memory, from files and on a cluster, in any order.

The cluster of these tests is in this process. `tests/engines` has real schedulers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import verosim
from tests.fake_cluster import cut, fake_table
from verosim import AODE, KDB, LDA, MDA, LiftedLDA, Pool, TextNB, TextPool, TextRidge, VerosimError
from verosim.data.adapters import open_table
from verosim.folds import inputs_of
from verosim.kinds.first_rows import FirstRows
from verosim.models import open_rows
from verosim.pool import held_out, rows, splitting
from verosim.pool.experts import as_experts
from verosim.pool.spec import PoolSpec
from verosim.pool.text_svm import TextSVM
from verosim.pool.weighted_pairs import WeightedPairs
from verosim.testing import assert_same

N = 12_000
EXPERTS = [AODE(5), KDB(2, "mdl"), WeightedPairs(5), LDA(encode="normal"), LiftedLDA(64, 1.5, 0.01)]
WORDS = np.array(["red apple", "green pear", "blue plum", "old tree", "new leaf", "hot tea"])


def mixed(n=N, seed=7):
    """Numbers with holes, categories, dates, booleans, weights and some rows twice; 3 classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    x = rng.normal(y, 1.0)
    table = pa.table({
        "size": x,
        "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1 + (x > 1))),
        "hue": np.array(list("abcdefg"))[(rng.integers(0, 5, n) + y) % 7],
        "flag": rng.random(n) < 0.3 + 0.2 * y,
        "when": pa.array(rng.integers(1_700_000_000, 1_720_000_000, n), pa.timestamp("s")),
        "weight": rng.integers(0, 9, n).astype(float),
        "kind": np.array(["u", "v", "w"])[y],
    })  # fmt: skip
    return pa.concat_tables([table.slice(0, n - n // 10), table.slice(0, n // 10)])


def shuffled(table, seed=3):
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


@pytest.fixture
def few_are_brought(monkeypatch):
    """Tables of more than 2,000 rows stay on the cluster."""
    monkeypatch.setattr("verosim.folds.inputs.MOST_ROWS_TO_BRING", 2000)


def in_chunks(table, tmp_path, monkeypatch):
    """A file of some row groups that counts as larger than memory."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=3000)
    monkeypatch.setattr(rows, "MOST_BYTES", 1 << 12)
    return path


def same_pools(far, near, table):
    """The two pools have the same experts, scores and weights, and predict the same."""
    figures = [{row.name: (row.score, row.accuracy, row.weight) for row in one.table_}
               for one in (far, near)]  # fmt: skip
    assert figures[0].keys() == figures[1].keys()
    for name, found in figures[0].items():
        np.testing.assert_allclose(found, figures[1][name], atol=1e-9, err_msg=name)
    assert_same(far.stats_, near.stats_, rounding=1e-9)
    np.testing.assert_allclose(
        far.predict_log_proba(table), near.predict_log_proba(table), rtol=1e-8, atol=1e-8
    )


WAYS = {
    "one partition": lambda t: [t],
    "another order": lambda t: cut(shuffled(t), 5),
    "many": lambda t: cut(t, 24),
    "sorted by class, some empty": lambda t: [t.slice(0, 0), *cut(t.sort_by("kind"), 3)],
}


@pytest.fixture(scope="module")
def pools():
    """The table, and the pools of its rows in memory by the column of weights."""
    table = mixed()
    return table, {
        weight: Pool(EXPERTS).fit(table, "kind", sample_weight=weight)
        for weight in (None, "weight")
    }


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("way", [*WAYS, "memory", "file"])
def test_the_pool_is_the_same_everywhere(
    way, weight, pools, few_are_brought, tmp_path, monkeypatch
):
    table, near = pools
    if way == "memory":
        source = shuffled(table)
    elif way == "file":
        source = in_chunks(shuffled(table), tmp_path, monkeypatch)
    else:
        source = fake_table(WAYS[way](table), batch_rows=1000)
    far = Pool(EXPERTS).fit(source, "kind", sample_weight=weight)
    same_pools(far, near[weight], table.slice(0, 500))


def test_all_experts_agree_beyond_the_first_look():
    """No limit is changed. The file and the cluster have the rows in the same order."""
    table = mixed(52_000).drop(["weight", "when", "holes"])
    near = verosim.auto(table, "kind")
    there = fake_table(cut(table, 3))
    far = verosim.auto(there, "kind")
    same_pools(far.model, near.model, table.slice(0, 500))
    assert there.cluster.seen < 110_000  # the first look, and no pass after it
    assert there.cluster.jobs == 5  # classes, hashes, bins, pairs, sums


def test_rows_in_another_order_beyond_the_first_look():
    """The first look sees other rows, so the schema is given."""
    table = mixed(52_000).drop(["weight", "when"])
    near = Pool([AODE("mdl"), LDA(encode="normal")]).fit(table, "kind")
    again = Pool([AODE("mdl"), LDA(encode="normal")])
    far = again.fit(fake_table(cut(shuffled(table), 3)), "kind", schema=near.schema_)
    same_pools(far, near, table.slice(0, 500))


def test_an_array_and_a_table_hold_out_the_same_rows():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(11_000, 4)), rng.integers(0, 2, 11_000)
    X[:, 0] += y
    frame = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"y": y})
    near, far = Pool([LDA(), AODE()]).fit(X, y), Pool([LDA(), AODE()]).fit(frame, "y")
    np.testing.assert_allclose(near.table_[0].score, far.table_[0].score, atol=1e-12)


def test_another_seed_holds_out_other_rows():
    table = mixed()
    found = [Pool([AODE()], random_state=seed).fit(table, "kind").table_[0] for seed in (0, 0, 1)]
    assert found[0].score == found[1].score != found[2].score


# Which rows are held out -------------------------------------------------------------------------


def parts_of(table, there=None, weight=None):
    """The table of cells that are held out, from memory or from a cluster."""
    spec = PoolSpec(name="Pool", members=as_experts([AODE()]), unsettled=True)
    opened = open_rows(spec, inputs_of(table if there is None else there, "y", weight))
    first = FirstRows(open_table(table), weight)
    schema = spec.members[0].spec.look_closer(opened.schema, first)
    source = replace(opened.source, reader=replace(spec, unsettled=False).reader(schema))
    if there is None:
        read = splitting.with_held_out(rows.read_rows(source))
        return read.take(read.held).source
    return held_out.held_out_part(source, splitting.rows_per_class, 0).held.source


def few_different_rows(n=20_000):
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, (n, 3))
    y = (a.sum(axis=1) + (rng.random(n) < 0.2)) % 2
    return pa.table({f"c{j}": [f"v{v}" for v in a[:, j]] for j in range(3)} | {"y": y})


def different_rows():
    return mixed().rename_columns(["size", "holes", "hue", "flag", "when", "weight", "y"])


@pytest.mark.parametrize("make", [few_different_rows, different_rows])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_held_out_rows_do_not_depend_on_order_or_partitions(make, weighted):
    table = make()
    if weighted and "weight" not in table.column_names:
        table = table.append_column("weight", pa.array(np.arange(len(table)) % 3 + 0.5))
    weight = "weight" if weighted else None
    here = parts_of(table, weight=weight)
    for there in (None, fake_table(cut(shuffled(table), 11), batch_rows=700)):
        again = parts_of(shuffled(table, 5), there, weight)
        np.testing.assert_array_equal(again.X["cells"], here.X["cells"])
        np.testing.assert_array_equal(again.groups, here.groups)
        np.testing.assert_array_equal(again.weights, here.weights)


def test_weights_of_one_hold_out_the_same_rows():
    table = different_rows().drop(["weight"])
    ones = table.append_column("one", pa.array(np.ones(len(table))))
    np.testing.assert_array_equal(
        parts_of(table).X["cells"], parts_of(ones, weight="one").X["cells"]
    )


def test_copies_of_a_row_are_held_out_like_other_rows():
    """A share of the copies of each row is held out, and the classes keep their shares."""
    table = few_different_rows()
    held = parts_of(table)
    wanted = splitting.rows_per_class(np.bincount(table["y"].to_numpy()))
    assert len(held) == pytest.approx(wanted.sum(), rel=0.05)
    _, count = np.unique(held.X["cells"], axis=0, return_counts=True)
    assert len(count) == 27  # every kind of row is held out, and was seen in the rest
    share = len(held) / len(table)
    each = np.unique(np.stack([table[f"c{j}"].to_numpy() for j in range(3)]).astype(str),
                     axis=1, return_counts=True)[1]  # fmt: skip
    assert (count < each).all()
    # The numbers vary as in a random sample, not less: labels of copies would predict each other.
    z = (np.sort(count) - share * np.sort(each)) / np.sqrt(share * (1 - share) * np.sort(each))
    assert 0.3 < z.std() < 2


@pytest.mark.parametrize(
    "count", [[9_000, 3_000], [19_990, 9, 1], [1] * 12_000, [400_000, 800_000]]
)
def test_the_numbers_of_held_out_rows(count):
    count = np.array(count)
    found, n = splitting.rows_per_class(count), count.sum()
    assert (found <= count).all()
    most = splitting.most_held_out(len(count))
    assert 0 < found.sum() <= max(most, n // 2)
    if count.min() > 1000:  # each class has its share
        np.testing.assert_allclose(found / found.sum(), count / n, atol=1e-3)
    if count.max() > 1 and 1 in count:
        assert found[count == 1].sum() == 0  # the only row of a class is needed to learn from


def test_replies_of_workers_are_bounded(few_are_brought):
    """A partition sends no more rows than are held out, however many it has."""
    table = mixed(40_000).select(["size", "flag", "kind"])
    there = fake_table(cut(table, 2))
    Pool([AODE()]).fit(there, "kind")
    held = int(splitting.rows_per_class(np.array([24_000, 12_000, 4_000])).sum())
    assert max(there.cluster.sent) < 100 * held


# Texts -------------------------------------------------------------------------------------------


def notes(n=N):
    rng = np.random.default_rng(9)
    y = rng.integers(0, 2, n)
    k = rng.integers(0, 5, (n, 4))
    k[:, 0] = np.where(rng.random(n) < 0.7, y, k[:, 0])
    text = [" ".join([*WORDS[row], f"w{row.sum() * (i % 40)}"]) for i, row in enumerate(k)]
    return pa.table({"note": text, "size": rng.normal(y), "kind": np.array(["u", "v"])[y]})


@pytest.mark.parametrize("way", ["cluster", "memory", "file"])
@pytest.mark.parametrize("kind", [TextPool, Pool])
def test_pools_of_texts_are_the_same(kind, way, few_are_brought, tmp_path, monkeypatch):
    table = notes()
    experts = [AODE(), TextRidge(d=40), TextNB()]
    if kind is TextPool:
        experts = [TextNB(), TextNB(ngrams=(1, 2), min_count=2), TextRidge(d=40)]
        table = table.drop(["size"])
    near = kind(experts).fit(table, "kind")
    source = shuffled(table)
    if way == "cluster":
        source = fake_table(cut(source, 5), batch_rows=900)
    if way == "file":
        source = in_chunks(source, tmp_path, monkeypatch)
    far = kind(experts).fit(source, "kind")
    same_pools(far, near, table.slice(0, 300))


def test_the_terms_of_texts_are_chosen_on_the_cluster():
    table = notes(3000).drop(["size"])
    near = TextRidge(d=20).fit(table, "kind")
    far = TextRidge(d=20).fit(fake_table(cut(table, 4), batch_rows=300), "kind")
    assert far.terms_.tolist() == near.terms_.tolist()
    assert_same(far.stats_, near.stats_, rounding=1e-9)


# What needs all rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"cv": 4}, {"cv": "hue"}, {"groups": "hue"}])
def test_folds_of_a_pool_need_all_rows(given, few_are_brought):
    what = "A pool with groups" if "groups" in given else r"A pool with cv"
    with pytest.raises(VerosimError, match=f"{what}.* needs all rows in one process"):
        verosim.auto(fake_table(cut(mixed(), 3)), "kind", **given)


def test_an_expert_that_needs_all_rows_is_left_out_by_name(few_are_brought, tmp_path, monkeypatch):
    table = mixed().select(["size", "kind"])
    far = Pool([AODE(), MDA()]).fit(fake_table(cut(table, 3)), "kind")
    (line,) = (row for row in far.table_ if row.why)
    assert (
        line.why
        == "MDA() needs all rows in one process, but this table is on a cluster of this test."
    )
    near = Pool([AODE(), MDA()]).fit(in_chunks(table, tmp_path, monkeypatch), "kind")
    (line,) = (row for row in near.table_ if row.why)
    assert line.why == "MDA() needs all rows in memory, and the table is too large."


def test_other_experts_with_the_same_sums_stay(few_are_brought):
    table = notes().drop(["size"])
    pairs = TextNB(ngrams=(1, 2), min_count=2, model="contrast", weighting="l2")
    far = TextPool([pairs, TextSVM()], keep="all").fit(fake_table(cut(table, 2)), "kind")
    assert [row.name for row in far.table_ if row.why] == ["TextSVM(C=1.0)"]
    near = TextPool([pairs], keep="all").fit(table, "kind")
    np.testing.assert_allclose(far.table_[1].score, near.table_[1].score, atol=1e-9)


def test_weights_are_learned_again_on_the_cluster(few_are_brought):
    table = mixed()
    model = Pool([AODE(), LDA(encode="normal")]).fit(table, "kind")
    before = model.table_[0].score
    model.reweigh(fake_table(cut(table, 3)), "kind")
    assert model.table_[0].score == pytest.approx(before, abs=0.02)
