"""Rows on a cluster: the local engine runs on each partition, and only bytes come back.

The cluster of these tests is in this process. `tests/engines` has real schedulers.
"""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

import verosim
from tests.fake_cluster import FakeCluster, cut, fake_table
from verosim import VerosimError, VerosimWarning
from verosim.engines import cluster, summarise, versions
from verosim.folds.ranking import RANK_BINS, HistogramArea, area, bins_of
from verosim.models import Inputs, open_rows
from verosim.testing import adds_like_one_thread, assert_same

SCORES = ["accuracy", "neg_log_loss", "neg_brier_score"]


@pytest.fixture(scope="module")
def mixed():
    """Numbers with holes, categories, dates, booleans, texts and weights; three classes."""
    rng = np.random.default_rng(7)
    n = 900
    y = rng.integers(0, 3, n)
    words = np.array(["red apple", "green pear", "blue plum", "old tree", "new leaf"])
    first = rng.integers(0, 5, n)
    return pa.table({
        "size": rng.normal(y, 1.0),
        "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1 + y)),
        "hue": np.array(list("abcdefg"))[(rng.integers(0, 5, n) + y) % 7],
        "flag": rng.random(n) < 0.3 + 0.2 * y,
        "when": pa.array(rng.integers(1_700_000_000, 1_720_000_000, n), pa.timestamp("s")),
        "note": [f"{words[(k + y[i]) % 5]} {words[k]}" for i, k in enumerate(first)],
        "weight": rng.integers(0, 3, n).astype(float),
        "kind": np.array(["u", "v", "w"])[y],
    })  # fmt: skip


def parts_of(table, way):
    """The table in partitions of several shapes. The rows keep their order, except sorted ones."""
    n = table.num_rows
    by_class = table.sort_by("kind")
    return {
        "1": [table],
        "7": cut(table, 7),
        "64": cut(table, 64),
        "empty": [table.slice(0, 0), *cut(table, 3), table.slice(0, 0)],
        "skewed": [table.slice(0, n - 5), table.slice(n - 5, 4), table.slice(n - 1, 1)],
        "sorted": cut(by_class, 5),
    }[way]


WAYS = ["1", "7", "64", "empty", "skewed", "sorted"]


@pytest.mark.parametrize("way", WAYS)
def test_the_statistic_is_that_of_the_local_engine(mixed, way):
    schema = verosim.look(mixed, "kind", sample_weight="weight")
    near = verosim.NaiveBayes().fit(mixed, "kind", schema=schema)
    table = fake_table(parts_of(mixed, way))
    far = verosim.NaiveBayes().fit(table, "kind", schema=schema)
    assert_same(far.stats_, near.stats_, rounding=1e-11)
    assert table.cluster.jobs == 1
    if way == "7":  # the first look needs no pass of its own, and sees the same rows
        alone = verosim.NaiveBayes().fit(fake_table(parts_of(mixed, way)), "kind",
                                         sample_weight="weight")  # fmt: skip
        assert alone.schema_ == verosim.NaiveBayes().fit(
            mixed, "kind", sample_weight="weight"
        ).schema_  # fmt: skip


@pytest.mark.parametrize("way", ["7", "empty", "sorted"])
def test_a_cluster_adds_like_one_thread(mixed, way):
    ordered = pa.concat_tables(parts_of(mixed, way))
    spec = verosim.NaiveBayes().spec()
    here, there = (
        open_rows(spec, Inputs(one, "kind", "weight"))
        for one in (ordered, fake_table(parts_of(mixed, way)))
    )
    adds_like_one_thread(summarise, here.source, here.plan, there.source)


@pytest.mark.parametrize(
    "model",
    [verosim.LDA(), verosim.QDA(missing="marginalise"), verosim.RDA(pooling="cv"), verosim.TAN(),
     verosim.AODE(), verosim.KDB(), verosim.HistogramNB(), verosim.LeastSquares()],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_of_sums_agree(mixed, model):
    numbers = ["size", "holes", "kind"]
    few = isinstance(model, verosim.LDA | verosim.RDA | verosim.LeastSquares)
    table = mixed.select(["size", "flag", "kind"] if few else numbers)
    near = clone(model).fit(table, "kind")
    far = clone(model).fit(fake_table(parts_of(table, "7")), "kind")
    assert_same(far.stats_, near.stats_, rounding=1e-9)
    np.testing.assert_allclose(
        far.decision_function(table), near.decision_function(table), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    "model", [verosim.TextNB(), verosim.TextRidge(d=8, ngrams=(1, 2))],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_texts_agree(mixed, model):
    table = mixed.select(["note", "kind"])
    near = clone(model).fit(table, "kind")
    far = clone(model).fit(fake_table(cut(table, 7)), "kind")
    np.testing.assert_allclose(far.predict_proba(table), near.predict_proba(table), rtol=1e-9)


def test_rows_are_added_and_forgotten(mixed):
    first, rest = mixed.slice(0, 600), mixed.slice(600)
    model = verosim.NaiveBayes().fit(first, "kind")
    near = verosim.NaiveBayes().fit(first, "kind").partial_fit(rest, "kind")
    model.partial_fit(fake_table(cut(rest, 3)), "kind")
    assert_same(model.stats_, near.stats_, rounding=1e-11)
    model.forget(fake_table(cut(rest, 4)), "kind")
    assert int(model.stats_.rows.sum()) == 600


@pytest.mark.parametrize("cv", [5, "hue"])
def test_cross_validation_gives_the_local_figures(mixed, cv):
    model = verosim.NaiveBayes()
    near = verosim.cross_validate(
        model, mixed, "kind", cv, SCORES, sample_weight="weight", keep_rows=False
    )
    table = fake_table(cut(mixed, 7))
    far = verosim.cross_validate(model, table, "kind", cv, SCORES, sample_weight="weight")
    for name in SCORES:
        np.testing.assert_allclose(far.scores[name], near.scores[name], atol=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)
    np.testing.assert_allclose(far.reliability.brier, near.reliability.brier, atol=1e-9)
    assert far.rows == near.rows
    assert table.cluster.jobs == 2 + (cv == "hue")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_area_under_the_curve_is_within_its_bound(mixed, classes, weight):
    names = ["roc_auc"] if classes == 2 else ["roc_auc_ovr", "roc_auc_ovr_weighted"]
    names = [n for n in names if weight is None or n != "roc_auc_ovr_weighted"]
    kinds = np.array(mixed.column("kind").to_pylist())
    table = mixed.filter(pa.array(kinds != "w")) if classes == 2 else mixed
    given = {"cv": 4, "scoring": names, "sample_weight": weight}
    near = verosim.cross_validate(verosim.NaiveBayes(), table, "kind", keep_rows=False, **given)
    far = verosim.cross_validate(verosim.NaiveBayes(), fake_table(cut(table, 7)), "kind", **given)
    for name in names:
        np.testing.assert_allclose(far.scores[name], near.scores[name], atol=1e-3)


def test_the_bound_of_the_area_holds():
    rng = np.random.default_rng(3)
    for scale in (1e-3, 1.0, 30.0, 1e4):
        log_odds, hit = rng.normal(0, scale, 4000), rng.random(4000) < 0.4
        log_odds = log_odds + scale * hit
        counts = np.array(
            [np.bincount(bins_of(log_odds[hit == k]), minlength=RANK_BINS) for k in (0, 1)]
        )
        found, bound = area(np.array(counts))
        assert abs(found - roc_auc_score(hit, log_odds)) <= bound + 1e-12
        assert bound < 1e-3
    one_bin = np.zeros((1, 2, RANK_BINS))
    one_bin[0, :, 7] = 1.0
    with pytest.warns(VerosimWarning, match=r"is known up to ±0\.5"):
        HistogramArea("roc_auc").value([one_bin])


def test_search_gives_the_local_figures(mixed):
    table = mixed.select(["size", "flag", "kind"])
    grid = {"shrinkage": [0.0, 0.3], "pooling": [0.0, 1.0]}
    near = verosim.search(verosim.RDA(), table, "kind", grid, cv=4)
    far = verosim.search(verosim.RDA(), fake_table(cut(table, 7)), "kind", grid, cv=4)
    assert far.best_settings == near.best_settings
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)
    assert_same(far.model.stats_, near.model.stats_, rounding=1e-11)


def test_score_and_predictions(mixed):
    model = verosim.NaiveBayes().fit(mixed, "kind")
    table = fake_table(parts_of(mixed, "empty"))
    assert model.score(table) == pytest.approx(model.score(mixed), abs=1e-12)
    table = fake_table(parts_of(mixed, "empty"))
    found = model.predict_table(table, keep=["hue", "weight"])
    assert table.cluster.seen == 0  # nothing was read before it was asked for
    wanted = model.predict_table(mixed, keep=["hue", "weight"]).read_all()
    assert [part.schema for part in found] == [wanted.schema] * 5
    assert pa.concat_tables(found).to_pylist() == wanted.to_pylist()


def test_rows_without_a_label_are_left_out_on_the_workers(mixed):
    labels = mixed.column("kind").to_pylist()
    holes = pa.array([None if i % 9 == 0 else label for i, label in enumerate(labels)])
    table = mixed.set_column(mixed.column_names.index("kind"), "kind", holes)
    near = verosim.NaiveBayes().fit(table, "kind", unlabelled="skip")
    far = verosim.NaiveBayes().fit(fake_table(cut(table, 7)), "kind", unlabelled="skip")
    assert_same(far.stats_, near.stats_, rounding=1e-11)


def test_replies_do_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    sizes = []
    for n in (1000, 16000):
        y = rng.integers(0, 2, n)
        table = fake_table(cut(pa.table({"x": rng.normal(y, 1), "y": y}), 4), batch_rows=100)
        verosim.QDA().fit(table, "y")
        sizes.append(max(table.cluster.sent))
    assert abs(sizes[1] - sizes[0]) < 50


# Errors ------------------------------------------------------------------------------------------


def test_a_value_that_cannot_be_read_has_its_place(mixed):
    table = mixed.select(["size", "kind"])
    last = table.slice(600).set_column(0, "size", pa.array(["1.5", "many"] + ["2"] * 298))
    parts = [*cut(table.slice(0, 600), 2), last]
    schema = verosim.look(parts[0], "kind")
    with pytest.raises(VerosimError, match=r"'size'.*row 1 of partition 2.*'many'"):
        verosim.QDA().fit(fake_table(parts), "kind", schema=schema)


def test_a_partition_without_a_column_is_named(mixed):
    table = mixed.select(["size", "hue", "kind"])
    last = table.slice(600).drop_columns(["hue"])
    schema = verosim.look(table, "kind")
    for known in (None, schema):
        with pytest.raises(VerosimError, match=r"The rows of partition 1 do not have the .* 'hue'"):
            verosim.NaiveBayes().fit(fake_table([table.slice(0, 600), last]), "kind", schema=known)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"verosim": ""}, "does not have verosim.*pip install verosim=="),
        ({"verosim": "0.0.9"}, "has verosim 0.0.9, but this process has verosim"),
        ({"python": "3.9.1"}, "has Python 3.9.1"),
        ({"numpy": "1.26.0"}, "has numpy 1.26.0"),
    ],
)
def test_other_versions_are_named(found, message):
    with pytest.raises(VerosimError, match=message):
        versions.check_versions({**versions.versions_here(), **found}, "a worker")


def test_a_worker_compares_versions_before_it_reads_a_job(mixed, monkeypatch):
    table = fake_table(cut(mixed, 2))
    here = versions.versions_here()

    def elsewhere(job, number, batches):
        with monkeypatch.context() as patch:
            patch.setattr(versions, "versions_here", lambda: {**here, "verosim": "9.9"})
            patch.setattr(cluster.pickle, "loads", lambda raw: pytest.fail("it was read"))
            return cluster.partition_reply(job, number, batches)

    monkeypatch.setattr("tests.fake_cluster.partition_reply", elsewhere)
    with pytest.raises(VerosimError, match=r"but this process has verosim 9.9"):
        verosim.NaiveBayes().fit(table, "kind")


def test_no_partition_counts_twice():
    with pytest.raises(VerosimError, match="Partition 2 was counted twice"):
        cluster.joined_ranges([[[0, 3]], [[2, 3]]])
    assert cluster.joined_ranges([[[3, 4]], [[0, 3]], [[7, 9]]]) == [[0, 4], [7, 9]]


def test_a_partition_that_does_not_arrive_is_an_error(mixed, monkeypatch):
    class Lossy(FakeCluster):
        def reduced(self, job, columns):
            self.partitions.pop()
            reply = super().reduced(job, columns)
            cluster.check_complete(reply, len(self.partitions) + 1)
            return reply

    table = fake_table(cut(mixed, 3))
    table.cluster.__class__ = Lossy
    model = verosim.NaiveBayes()
    with pytest.raises(VerosimError, match=r"have the partitions \[\[0, 2\]\]"):
        model.fit(table, "kind")
    assert not hasattr(model, "classes_")


def test_labels_in_an_array_are_refused(mixed):
    table = fake_table(cut(mixed.drop_columns(["kind"]), 2))
    with pytest.raises(VerosimError, match="The labels are an array"):
        verosim.NaiveBayes().fit(table, mixed.column("kind").to_numpy(zero_copy_only=False))


X = ["size", "flag", "kind"]
REFUSED = {
    "predict": ("This method", lambda t: verosim.NaiveBayes().fit(t, "kind").predict(t)),
    "rows": ("keep_rows=True", lambda t: crossed(verosim.NaiveBayes(), t, keep_rows=True)),
    "loo": ('cv="loo"', lambda t: crossed(verosim.NaiveBayes(), t, cv="loo")),
    "splitter": ("cv=KFold", lambda t: crossed(verosim.NaiveBayes(), t, cv=KFold(3))),
    "robust": ("robust=True", lambda t: verosim.LDA(robust=True).fit(t, "kind")),
    "mda": ("MDA", lambda t: verosim.MDA().fit(t, "kind")),
    "logistic": ("LogisticRegression", lambda t: verosim.LogisticRegression().fit(t, "kind")),
    "svm": ("LinearSVM", lambda t: verosim.LinearSVM().fit(t, "kind")),
    "perceptron": ("Perceptron", lambda t: verosim.Perceptron().fit(t, "kind")),
    "twin": ("Twin", lambda t: verosim.Twin(verosim.LDA()).fit(t, "kind")),
    "semi": ("SemiSupervised", lambda t: verosim.SemiSupervised(verosim.LDA()).fit(t, "kind")),
    "conformal": ("Conformal", lambda t: verosim.Conformal(verosim.LDA()).fit(t, "kind")),
    "ovr": ("OneVsRest", lambda t: verosim.OneVsRest(verosim.LDA()).fit(t, "kind")),
    "ovo": ("OneVsOne", lambda t: verosim.OneVsOne(verosim.LDA()).fit(t, "kind")),
    "reject": ("Reject", lambda t: verosim.Reject(verosim.LDA()).fit(t, "kind")),
    "explain": (
        "The function explain",
        lambda t: verosim.explain(verosim.NaiveBayes().fit(t, "kind"), t),
    ),
    "importance": (
        "The function importance",
        lambda t: verosim.importance(verosim.NaiveBayes().fit(t, "kind"), t),
    ),
    "compare": ("The function compare", lambda t: verosim.compare(verosim.LDA(), t, "kind")),
    "gap": (
        "The function generative_gap",
        lambda t: verosim.generative_gap(verosim.LDA(), t, "kind"),
    ),
    "select": ("The function select", lambda t: verosim.select(verosim.NaiveBayes(), t, "kind")),
    "report": (
        "The function report",
        lambda t: verosim.report(verosim.NaiveBayes().fit(t, "kind"), t),
    ),
    "robust folds": ("robust=True", lambda t: crossed(verosim.LDA(robust=True), t)),
    "mda folds": ("MDA", lambda t: crossed(verosim.MDA(), t)),
    "calibrated loo": (
        "Calibrated\\(method='temperature'\\)",
        lambda t: verosim.Calibrated(verosim.LDA(), cv="loo").fit(t, "kind"),
    ),
    "columns": (
        "Calibrated\\(method='columns'\\)",
        lambda t: verosim.Calibrated(verosim.NaiveBayes(), method="columns").fit(t, "kind"),
    ),
    "isotonic": (
        "Calibrated\\(method='isotonic'\\)",
        lambda t: verosim.Calibrated(verosim.LDA(), method="isotonic").fit(t, "kind"),
    ),
}


def crossed(model, table, **given):
    return verosim.cross_validate(model, table, "kind", **given)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_all_rows_says_so_by_name(mixed, name):
    what, call = REFUSED[name]
    table = fake_table(cut(mixed.select(X), 2))
    message = f"^{what}.* needs all rows in one process, but this table is on a cluster of this"
    with pytest.raises(VerosimError, match=message) as caught:
        call(table)
    assert "Give the rows as a table." in caught.value.hint  # the way out


@pytest.mark.parametrize("given", [{"simple": True}, {"effort": "fast"}], ids=["simple", "pool"])
def test_auto_gives_the_local_figures(mixed, given):
    near = verosim.auto(mixed, "kind", **given)
    far = verosim.auto(fake_table(cut(mixed, 7)), "kind", **given)
    assert [row.name for row in far.table] == [row.name for row in near.table]
    np.testing.assert_allclose(
        [row.score for row in far.table], [row.score for row in near.table], atol=1e-9
    )


def test_auto_compares_textbook_models_of_many_rows_on_the_cluster(mixed, monkeypatch):
    monkeypatch.setattr("verosim.folds.inputs.MOST_ROWS_TO_BRING", 500)
    monkeypatch.setattr("verosim.pool.candidate_scores.MOST_ROWS_TO_LOOK_AGAIN", 500)
    near = verosim.auto(mixed, "kind", simple=True)
    table = fake_table(cut(mixed, 7))
    far = verosim.auto(table, "kind", simple=True)
    assert [row.name for row in far.table] == [row.name for row in near.table]
    np.testing.assert_allclose(
        [row.score for row in far.table], [row.score for row in near.table], atol=1e-9
    )
    assert table.cluster.jobs > 2


# The look ----------------------------------------------------------------------------------------


def sorted_by_class():
    """A table in which only the last class has texts that are not numbers."""
    n = 3000
    kind = np.repeat(["u", "v", "w"], n // 3)
    some = np.random.default_rng(5).integers(0, 40, n)
    code = [str(i) if k != "w" else f"x{i}" for i, k in zip(some, kind, strict=True)]
    return pa.table({"code": code, "size": np.arange(n) % 17 * 1.0, "kind": kind})


@pytest.mark.parametrize("where", ["memory", "parquet", "csv", "cluster"])
def test_a_look_can_take_rows_of_all_parts(where, tmp_path):
    table = source = sorted_by_class()
    if where == "parquet":
        parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
        source = tmp_path / "rows.parquet"
    elif where == "csv":
        table.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
        source = tmp_path / "rows.csv"
    elif where == "cluster":
        source = fake_table(cut(table, 10))
    first = verosim.look(source, "kind", rows=300)
    found = verosim.look(source, "kind", rows=300, spread=True)
    assert first["code"].reason in ("40 values in 300 rows", "numbers")
    assert int(found["code"].reason.split()[0]) > 70  # the values of the last class too
    assert 250 <= found.looked <= 300
    assert str(found).endswith(f"from {found.looked} rows of all parts of the table")
    model = verosim.NaiveBayes().fit(table, "kind", schema=found)
    assert model.classes_.tolist() == ["u", "v", "w"]


def test_a_look_at_all_parts_needs_columns():
    with pytest.raises(VerosimError, match="spread=True needs labels and weights in columns"):
        verosim.look(sorted_by_class(), "kind", sample_weight=np.ones(3000), spread=True)


# Warnings ----------------------------------------------------------------------------------------


def test_warnings_of_workers_arrive_once(mixed):
    table = mixed.select(["note", "kind"])
    model = verosim.TextNB(max_tokens=3)
    with pytest.warns(VerosimWarning, match=r"more than max_tokens=3 different tokens") as caught:
        model.fit(fake_table(cut(table, 7)), "kind")
    assert len({str(one.message) for one in caught}) == len(caught)


def test_unseen_values_are_counted_on_the_workers(mixed):
    table = mixed.select(["size", "hue", "kind"])
    model = verosim.NaiveBayes().fit(table, "kind")
    odd = table.set_column(1, "hue", pa.array([f"new {i % 3}" for i in range(900)]))
    with pytest.warns(VerosimWarning, match="Column 'hue': all 900 values") as near:
        model.score(odd)
    with pytest.warns(VerosimWarning, match="Column 'hue': all 900 values") as far:
        model.score(fake_table(cut(odd, 7)))
    assert [str(one.message) for one in far] == [str(one.message) for one in near]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(fake_table(cut(table, 7)))
        model.predict_table(fake_table(cut(odd, 7)))  # lazy, so this process does not know


def test_added_rows_with_new_columns_are_a_warning(mixed):
    table = mixed.select(["size", "hue", "kind"])
    model = verosim.NaiveBayes().partial_fit(table.select(["size", "kind"]), "kind")
    with pytest.warns(VerosimWarning, match="The columns 'hue' were not in the first rows"):
        model.partial_fit(fake_table(cut(table, 3)), "kind")
