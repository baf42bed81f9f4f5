"""Conditional samples and imputed cells: against analytic conditionals and brute force."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris

import verosim
from verosim import (
    AODE,
    KDB,
    LDA,
    MDA,
    QDA,
    RDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    HistogramNB,
    JointHistogram,
    LiftedLDA,
    MultinomialNB,
    NaiveBayes,
    NaiveLDA,
    Pool,
    TextNB,
    VerosimError,
    VerosimWarning,
)
from verosim.densities.modes import gaussian_mixture_modes

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(size=X.shape) * 0.01  # no ties
GAPS = X.copy()
GAPS[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
GAPS[0], GAPS[1] = np.nan, X[1]  # nothing known, everything known

DRAWS = 100_000
SIGNIFICANCE = 1e-4  # of each test; the seeds are fixed

GAUSSIANS = [LDA(), QDA(), RDA(pooling=0.3), GaussianNB(), NaiveLDA(), MDA(components=2)]
NUMERIC = [*GAUSSIANS, HistogramNB(), NaiveBayes()]


def name_of(model):
    return type(model).__name__


def conditional_mean(model, row, j):
    """E[x_j | the other cells of a complete row], by integration of p(x) over a grid of x_j."""
    spread = 12 * X[:, j].std()
    grid = np.linspace(X[:, j].mean() - spread, X[:, j].mean() + spread, 20_001)
    rows = np.repeat(row[None], len(grid), axis=0)
    rows[:, j] = grid
    p = np.exp(model.log_density(rows) - model.log_density(rows).max())
    return (p * grid).sum() / p.sum(), grid[p.argmax()]


# Imputed cells -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", GAUSSIANS, ids=name_of)
def test_imputed_means_and_modes_are_those_of_the_density(model):
    """One missing cell: its mean and mode by brute force, from p(x) of complete rows alone."""
    model.fit(X, y)
    for i, j in ((3, 0), (60, 2), (70, 3), (120, 1)):
        row = X[i].copy()
        mean, mode = conditional_mean(model, row, j)
        row[j] = np.nan
        assert model.impute(row[None])[0, j] == pytest.approx(mean, abs=1e-9)
        assert model.impute(row[None], how="mode")[0, j] == pytest.approx(mode, abs=0.006)


@pytest.mark.parametrize("model", [LDA(), QDA(), GaussianNB()], ids=name_of)
def test_imputed_means_are_the_formula(model):
    """Σ_k p(k | x_o) (μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o)) for every pattern, with scipy's densities."""
    model.fit(X, y)
    found = model.impute(GAPS)
    for row, got in zip(GAPS, found, strict=True):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        np.testing.assert_array_equal(got[o], row[o])
        log_joint, means = np.log(model.class_prior_), []
        for k in range(3):
            mean, sigma = model.means_[k], model.covariance_of(k).matrix
            if len(o):
                Sigma = sigma[np.ix_(o, o)]
                log_joint[k] += stats.multivariate_normal(mean[o], Sigma).logpdf(row[o])
            B = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
            means.append(mean[m] + B @ (row[o] - mean[o]))
        wanted = np.exp(log_joint - logsumexp(log_joint)) @ np.array(means)
        np.testing.assert_allclose(got[m], wanted, rtol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("model", [LDA(), QDA(), GaussianNB()], ids=name_of)
def test_imputing_does_not_depend_on_origin_and_units(model, shift):
    unit = np.array([1e-3, 1.0, 1e3, 1.0])
    for how in ("mean", "mode"):
        wanted = model.fit(X, y).impute(GAPS, how)
        found = model.fit(X * unit + shift, y).impute(GAPS * unit + shift, how)
        np.testing.assert_allclose((found - shift) / unit, wanted, atol=1e-5 if shift else 1e-9)


def test_nearly_dependent_columns_are_imputed():
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    data = np.column_stack([a, a + rng.normal(size=500) * 1e-6, rng.normal(size=500)])
    labels = (a + rng.normal(size=500) > 0).astype(int)
    model = QDA().fit(data, labels)
    gaps = data.copy()
    gaps[:, 1] = np.nan
    assert np.abs(model.impute(gaps)[:, 1] - a).max() < 1e-5
    drawn = model.impute(gaps, "draw", random_state=0)[:, 1]
    assert (drawn - a).std() == pytest.approx(1e-6, rel=0.15)


def test_histograms_by_brute_force():
    model = HistogramNB(bins=6).fit(X, y)
    edges = [np.asarray(e) for e in model.stats_.axes.codes.edges]
    row = np.array([np.nan, 3.1, np.nan, 1.2])
    posterior = model.predict_proba(row[None])[0]
    for j in (0, 2):
        middles = (edges[j][1:] + edges[j][:-1]) / 2
        cells = np.full((len(middles), 4), np.nan)
        cells[:, j] = middles
        density = np.exp(model.log_joint(cells) - np.log(model.class_prior_)) @ posterior
        mass = density * np.diff(edges[j])
        assert mass.sum() == pytest.approx(1)
        assert model.impute(row[None])[0, j] == pytest.approx(mass @ middles, abs=1e-10)
        assert model.impute(row[None], "mode")[0, j] == pytest.approx(middles[density.argmax()])


def test_categories_by_brute_force():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    data = np.column_stack([(labels + rng.integers(0, 3, 300)) % 5, rng.integers(0, 3, 300),
                            (labels + (rng.random(300) < 0.3)) % 4]).astype(float)  # fmt: skip
    model = CategoricalNB().fit(data, labels)
    gaps = np.where(rng.random(data.shape) < 0.4, np.nan, data)
    for how in ("mean", "mode"):
        found = model.impute(gaps, how)
        for row, got in zip(gaps[:60], found, strict=False):
            posterior = model.predict_proba(row[None])[0]
            for j in np.flatnonzero(np.isnan(row)):
                values = np.unique(data[:, j])
                cells = np.full((len(values), 3), np.nan)
                cells[:, j] = values
                share = np.exp(model.log_joint(cells) - np.log(model.class_prior_)) @ posterior
                assert got[j] == values[share.argmax()]


def test_poisson_mode_is_the_largest_probability():
    counts = np.array([0, 0, 1, 1, 2, 9, 11, 12, 12, 14])
    table = pd.DataFrame({"n": counts, "x": counts * 0.3, "k": [0] * 5 + [1] * 5})
    model = NaiveBayes(columns={"n": "poisson", "x": "gaussian"}).fit(table, "k")
    query = pd.DataFrame({"n": [np.nan] * 3, "x": [0.2, 3.4, 1.9]})
    posterior = model.predict_proba(query)
    rate = np.array([(counts[:5].sum() + 6.2) / 6, (counts[5:].sum() + 6.2) / 6])
    mass = posterior @ stats.poisson.pmf(np.arange(40), rate[:, None])
    np.testing.assert_array_equal(model.impute(query, "mode")["n"], mass.argmax(axis=1))
    np.testing.assert_allclose(model.impute(query)["n"], posterior @ rate, rtol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_mode_of_a_mixture_is_the_highest(seed):
    """Random mixtures of up to 6 Gaussians, against a grid of 200 001 points."""
    rng = np.random.default_rng(seed)
    C = rng.integers(2, 7)
    w, m, v = rng.dirichlet(np.ones(C)), rng.normal(size=C) * 2, rng.gamma(1.0, size=C) + 0.01
    grid = np.linspace(-9, 9, 200_001)
    density = stats.norm.pdf(grid[:, None], m, np.sqrt(v)) @ w
    found = gaussian_mixture_modes(w[None], m[None], v[None])[0]
    there = stats.norm.pdf(found, m, np.sqrt(v)) @ w
    assert there >= density.max() * (1 - 1e-12)
    slope = (w * stats.norm.pdf(found, m, np.sqrt(v)) * (m - found) / v).sum()
    assert abs(slope) < 1e-9


def test_drawn_cells_have_the_conditional_distribution():
    """Many copies of one row: a class, then both missing cells together."""
    model = QDA().fit(X, y)
    row = np.array([6.1, np.nan, 4.9, np.nan])
    rows = model.impute(np.repeat(row[None], DRAWS, axis=0), "draw", random_state=0)
    np.testing.assert_array_equal(rows[:, [0, 2]], np.tile(row[[0, 2]], (DRAWS, 1)))
    check_gaussian_draws(model, rows, {0: 6.1, 2: 4.9}, (1, 3))


# Conditional samples -------------------------------------------------------------------------


def conditional(model, given, m):
    """p(k | given), and per class the mean and the covariance of the columns m, by the formulas."""
    o, m = np.array(list(given)), np.array(m)
    values = np.array(list(given.values()))
    log_joint, means, covariances = np.log(model.class_prior_), [], []
    for k in range(len(log_joint)):
        mean, sigma = model.means_[k], model.covariance_of(k).matrix
        B = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        log_joint[k] += stats.multivariate_normal(mean[o], sigma[np.ix_(o, o)]).logpdf(values)
        means.append(mean[m] + B @ (values - mean[o]))
        covariances.append(sigma[np.ix_(m, m)] - B @ sigma[np.ix_(o, m)])
    return np.exp(log_joint - logsumexp(log_joint)), np.array(means), np.array(covariances)


def check_gaussian_draws(model, rows, given, m):
    """Kolmogorov–Smirnov of each column, and of the product of two columns' deviations."""
    p, means, covariances = conditional(model, given, m)
    for i, j in enumerate(m):
        deviations = np.sqrt(covariances[:, i, i])

        def cdf(x, i=i, s=deviations):
            return stats.norm.cdf(np.asarray(x)[:, None], means[:, i], s) @ p

        assert stats.kstest(rows[:, j], cdf).pvalue > SIGNIFICANCE
    total = p @ means
    wanted = np.einsum("k,kij->ij", p, covariances) + np.einsum(
        "k,ki,kj->ij", p, means - total, means - total
    )
    z = rows[:, list(m)] - total
    product = z[:, 0] * z[:, 1]
    error = product.std() / len(product) ** 0.5
    assert abs(product.mean() - wanted[0, 1]) < stats.norm.isf(SIGNIFICANCE / 2) * error


@pytest.mark.parametrize("model", [LDA(), QDA(), GaussianNB()], ids=name_of)
def test_conditional_samples_of_gaussians(model):
    """100 000 draws given two cells: classes by χ², columns by Kolmogorov–Smirnov."""
    model.fit(X, y)
    given = {0: 6.1, 2: 4.9}
    rows, labels = model.sample(DRAWS, given=given, random_state=2)
    p, *_ = conditional(model, given, (1, 3))
    seen = p > 1e-6
    counts = np.bincount(labels, minlength=3)[seen]
    assert stats.chisquare(counts, p[seen] / p[seen].sum() * counts.sum()).pvalue > SIGNIFICANCE
    assert (rows[:, 0] == 6.1).all()
    assert (rows[:, 2] == 4.9).all()
    check_gaussian_draws(model, rows, given, (1, 3))
    alone, labels = model.sample(DRAWS, y=1, given=given, random_state=3)
    assert (labels == 1).all()
    _, means, covariances = conditional(model, given, (1, 3))
    z = np.linalg.solve(np.linalg.cholesky(covariances[1]), (alone[:, [1, 3]] - means[1]).T)
    for one in z:
        assert stats.kstest(one, "norm").pvalue > SIGNIFICANCE


def test_conditional_samples_of_mixtures():
    """Against draws without conditions that happen to have nearly the given value."""
    model = MDA(components=2).fit(X, y)
    rows, labels = model.sample(400_000, random_state=0)
    near = np.abs(rows[:, 2] - 4.9) < 0.02
    given, classes = model.sample(near.sum(), given={2: 4.9}, random_state=1)
    for j in (0, 1, 3):
        assert stats.ks_2samp(rows[near, j], given[:, j]).pvalue > SIGNIFICANCE
    table = np.array([np.bincount(one, minlength=3)[1:] for one in (labels[near], classes)])
    assert stats.chi2_contingency(table).pvalue > SIGNIFICANCE


def mixed_table(n=600):
    rng = np.random.default_rng(5)
    kind = rng.choice(["cat", "dog", "owl"], n, p=[0.5, 0.3, 0.2])
    size = {"cat": 4.0, "dog": 20.0, "owl": 2.0}
    return pd.DataFrame({
        "weight": np.array([size[k] for k in kind]) * np.exp(rng.normal(size=n) * 0.3),
        "age": rng.integers(0, 15, n),
        "coat": [rng.choice(["short", "long", "feathers"],
                            p=[.2, .1, .7] if k == "owl" else [.6, .35, .05]) for k in kind],
        "indoor": rng.random(n) < np.where(kind == "cat", 0.8, 0.3),
        "visits": rng.poisson(np.where(kind == "dog", 5, 2)),
        "seen": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        "note": [" ".join(rng.choice(["purr", "bark", "hoot", "eats", "sleeps"], 4)) for _ in kind],
        "kind": kind,
    })  # fmt: skip


KINDS = {"visits": "poisson", "seen": "date+trend", "age": "histogram", "note": "text"}
TABLE = mixed_table()


@pytest.fixture(scope="module")
def mixed():
    return NaiveBayes(columns=KINDS).fit(TABLE, "kind")


def test_conditional_samples_of_a_mixed_table(mixed):
    """Given a category and a number, the other columns are mixtures with weights p(k | given)."""
    given = {"coat": "short", "age": 7}
    rows, labels = mixed.sample(DRAWS, given=given, random_state=0)
    assert (rows["coat"] == "short").all()
    assert (rows["age"] == 7).all()
    assert rows.dtypes["age"] == TABLE.dtypes["age"]
    p = mixed.predict_proba({"coat": ["short"], "age": [7]})[0]
    counts = np.array([(labels == k).sum() for k in mixed.classes_])
    assert stats.chisquare(counts, p * DRAWS).pvalue > SIGNIFICANCE
    weight = [TABLE["weight"][TABLE["kind"] == k] for k in mixed.classes_]
    cdf = lambda x: sum(  # noqa: E731
        pk * stats.norm.cdf(x, w.mean(), w.std(ddof=0)) for pk, w in zip(p, weight, strict=True)
    )
    assert stats.kstest(rows["weight"], cdf).pvalue > SIGNIFICANCE
    inside = [(TABLE["indoor"][TABLE["kind"] == k].sum() + 1) / ((TABLE["kind"] == k).sum() + 2)
              for k in mixed.classes_]  # fmt: skip
    test = stats.binomtest(int(rows["indoor"].sum()), DRAWS, float(p @ inside))
    assert test.pvalue > SIGNIFICANCE


def test_given_texts_and_dates(mixed):
    rows, labels = mixed.sample(2000, given={"note": "hoot hoot"}, random_state=0)
    assert set(rows["note"]) == {"hoot hoot"}
    p = mixed.predict_proba({"note": ["hoot hoot"]})[0]
    assert abs((labels == "owl").mean() - p[2]) < 0.05
    rows, _ = mixed.sample(3, given={"seen": pd.Timestamp("2021-05-06")}, random_state=0)
    assert set(rows["seen"]) == {pd.Timestamp("2021-05-06")}
    assert rows.dtypes["seen"].kind == "M"


def test_missing_cells_as_evidence_do_not_count_columns_that_are_not_given():
    """With missing="category" a column that is not given is unknown, and not a missing cell."""
    gaps = TABLE.copy()
    gaps.loc[(TABLE["kind"] == "owl") & (np.arange(len(TABLE)) % 10 > 0), "weight"] = np.nan
    model = NaiveBayes(columns=KINDS, missing="category").fit(gaps, "kind")
    plain = NaiveBayes(columns=KINDS).fit(gaps, "kind")
    _, labels = model.sample(20_000, given={"age": 7}, random_state=0)
    wanted = plain.predict_proba({"age": [7]})[0]
    for share, k in zip(wanted, model.classes_, strict=True):
        test = stats.binomtest(int((labels == k).sum()), 20_000, share)
        assert test.pvalue > SIGNIFICANCE


def test_samples_with_conditions_have_a_seed_and_any_number_of_rows():
    model = QDA().fit(X, y)
    a, b = (model.sample(5, given={"x1": 3.0}, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(a[0], b[0])
    assert model.sample(0, given={1: 3.0})[0].shape == (0, 4)
    rows, labels = model.sample(3, y=[0, 1, 2], given={1: 3.0, 0: 5.0, 2: 4.0, 3: 1.0})
    np.testing.assert_array_equal(rows, np.tile([5.0, 3.0, 4.0, 1.0], (3, 1)))
    assert labels.tolist() == [0, 1, 2]


# Containers ----------------------------------------------------------------------------------


def with_gaps(frame, seed=3):
    gone = np.random.default_rng(seed).random(frame.shape) < 0.25
    gone[:, frame.columns.get_loc("kind")] = False
    return frame.mask(gone), gone


@pytest.mark.parametrize("how", ["mean", "mode", "draw"])
def test_data_frames_keep_index_types_and_known_cells(mixed, how):
    typed = TABLE.astype({"age": "Int64", "coat": "category", "indoor": "boolean"})
    typed.index = np.arange(len(typed))[::-1] * 3
    gaps, gone = with_gaps(typed)
    before = gaps.copy(deep=True)
    found = mixed.impute(gaps, how, random_state=0)
    pd.testing.assert_frame_equal(gaps, before)
    assert found.index.equals(gaps.index)
    assert found.columns.equals(gaps.columns)
    assert found.drop(columns="note").notna().all().all()
    assert found["note"].isna().sum() == gaps["note"].isna().sum()  # texts stay missing
    for j, name in enumerate(typed):
        pd.testing.assert_series_equal(
            found[name][~gone[:, j]], gaps[name][~gone[:, j]], check_dtype=False
        )
        numbers = how == "mean" and name in ("age", "visits")
        assert found[name].dtype == (
            {"age": "Float64", "visits": "float64"}[name] if numbers else gaps[name].dtype
        )
    polars = mixed.impute(pl.from_pandas(gaps), how, random_state=0)
    assert isinstance(polars, pl.DataFrame)
    arrow = mixed.impute(pa.Table.from_pandas(gaps, preserve_index=False), how, random_state=0)
    assert isinstance(arrow, pa.Table)
    assert polars["coat"].dtype == pl.from_pandas(gaps)["coat"].dtype
    for name in ("weight", "age", "coat", "indoor", "visits", "seen"):
        wanted = found[name].tolist()
        assert polars[name].to_list() == wanted
        assert arrow[name].to_pylist() == wanted


def test_small_and_arrow_types_of_data_frames_stay(mixed):
    few = TABLE[["weight", "age", "coat"]].astype({"weight": "float32", "age": "Int16"})
    gaps = few.mask(np.random.default_rng(0).random(few.shape) < 0.3)
    assert mixed.impute(gaps, "draw", random_state=0).dtypes.tolist() == gaps.dtypes.tolist()
    arrow = TABLE[["weight", "age", "indoor", "seen"]].convert_dtypes(dtype_backend="pyarrow")
    gaps = arrow.mask(np.random.default_rng(0).random(arrow.shape) < 0.3)
    found = mixed.impute(gaps, "mode")
    assert found.dtypes.tolist() == gaps.dtypes.tolist()
    assert found.notna().all().all()
    enum = pl.DataFrame({"weight": [None, 3.0], "coat": ["short", None]}).with_columns(
        pl.col("coat").cast(pl.Enum(["short", "long", "feathers"])),
        pl.col("weight").cast(pl.Float32),
    )
    found = mixed.impute(enum)
    assert found.schema == enum.schema
    assert found.null_count().row(0) == (0, 0)
    lazy = mixed.impute(enum.lazy())
    assert isinstance(lazy, pa.RecordBatchReader)
    assert lazy.read_all().column("weight").null_count == 0


def test_files_give_a_reader(mixed, tmp_path):
    gaps, _ = with_gaps(TABLE)
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    gaps.to_parquet(tmp_path / "gaps.parquet")
    wanted = mixed.impute(gaps)
    for name in ("gaps.csv", "gaps.parquet"):
        reader = mixed.impute(str(tmp_path / name))
        assert isinstance(reader, pa.RecordBatchReader)
        found = reader.read_all().to_pandas()
        np.testing.assert_allclose(found["weight"].astype(float), wanted["weight"], rtol=1e-12)
        np.testing.assert_allclose(found["age"].astype(float), wanted["age"], rtol=1e-12)
        assert found["coat"].tolist() == wanted["coat"].tolist()
        assert found["kind"].tolist() == TABLE["kind"].tolist()
        dates = pd.to_datetime(found["seen"], format="ISO8601")
        assert (abs(dates - wanted["seen"]) < pd.Timedelta("1ms")).all()
    relation = mixed.impute(iter([gaps[:100], gaps[100:]]))
    np.testing.assert_allclose(relation.read_all()["weight"].to_numpy(), wanted["weight"])


def test_dicts_marks_and_written_formats():
    table = {"size": ["1,5", "2,5", "?", "99,5", "98,5", "1.009,5"],
             "on": ["TRUE", "FALSE", "", "TRUE", "TRUE", "FALSE"], "k": list("aaabbb")}  # fmt: skip
    columns = {"size": 'number "1.234,56"', "on": "boolean"}
    model = NaiveBayes(columns=columns).fit(table, "k", na=["?"])
    found = model.impute({**table, "extra": [None] * 6}).to_pydict()
    assert found["size"][:2] == ["1,5", "2,5"]
    assert float(found["size"][2].replace(",", ".")) == pytest.approx((2 + 1207.5 / 3) / 2)
    assert found["on"][2] in ("TRUE", "FALSE")
    assert found["k"] == table["k"]
    assert found["extra"] == [None] * 6
    marks = model.impute({"size": ["x", "1,5"], "on": ["TRUE", "FALSE"]}, na=["x"]).to_pydict()
    assert "," in marks["size"][0]


def test_arrays_keep_their_type():
    model = QDA().fit(X, y)
    small = GAPS.astype(np.float32)
    found = model.impute(small)
    assert found.dtype == np.float32
    assert np.isnan(small).any()  # the input does not change
    np.testing.assert_allclose(found, model.impute(GAPS), rtol=1e-5)
    assert model.impute(GAPS.tolist()).tolist() == model.impute(GAPS).tolist()
    frame = pd.DataFrame(GAPS, columns=list("abcd"), index=np.arange(150) + 7)
    named = QDA().fit(pd.DataFrame(X, columns=list("abcd")), y).impute(frame)
    assert named.index.equals(frame.index)
    np.testing.assert_array_equal(named.to_numpy(), model.impute(GAPS))
    whole = np.arange(12).reshape(3, 4)
    assert model.impute(whole).dtype == whole.dtype
    texts = np.array([["a", "x"], ["a", "y"], ["b", "y"], ["b", None]], dtype=object)
    filled = NaiveBayes().fit(texts, [0, 0, 1, 1]).impute(texts)
    assert filled.tolist() == [["a", "x"], ["a", "y"], ["b", "y"], ["b", "y"]]
    objects = CategoricalNB().fit(texts, [0, 0, 1, 1]).impute(texts)
    assert objects.tolist() == filled.tolist()


def test_models_of_numbers_read_tables():
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    gaps = pd.DataFrame(GAPS, columns=list("abcd")).assign(kind=y, extra="e")
    model = QDA().fit(table, "kind")
    found = model.impute(gaps)
    assert found["extra"].tolist() == ["e"] * 150
    np.testing.assert_allclose(found[list("abcd")], QDA().fit(X, y).impute(GAPS), rtol=1e-9)
    rows, _ = model.sample(4, given={"c": 4.0}, random_state=0)
    assert (rows[:, 2] == 4.0).all()


def test_nothing_missing_changes_nothing(mixed):
    pd.testing.assert_frame_equal(mixed.impute(TABLE), TABLE)
    np.testing.assert_array_equal(LDA().fit(X, y).impute(X, "draw"), X)


def test_the_bucket_of_rare_categories_is_not_a_mode():
    values = [f"v{i}" for i in range(40)] * 3 + ["w"] * 5
    table = pd.DataFrame({"v": values, "k": [0, 1] * 62 + [0]})
    model = NaiveBayes(columns={"v": "category"}, max_categories=3).fit(table, "k")
    filled = model.impute(pd.DataFrame({"v": ["w", None]}), "mode")
    assert filled["v"].tolist() == ["w", "w"]


def test_dates_without_a_trend_stay_missing():
    table = TABLE[["weight", "seen", "kind"]]
    model = NaiveBayes().fit(table, "kind")
    gaps = table.copy()
    gaps.loc[3, ["weight", "seen"]] = [np.nan, pd.NaT]
    with pytest.warns(VerosimWarning, match="'seen' were not filled in"):
        found = model.impute(gaps)
    assert found["seen"].isna().sum() == 1
    assert found["weight"].notna().all()


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [TAN(), KDB(), AODE(), JointHistogram(bins=3), MultinomialNB(), ComplementNB(),
     Pool([TAN(), AODE()])],
    ids=name_of,
)  # fmt: skip
def test_models_without_exact_conditionals_are_refused_by_name(model):
    rows = X[:, :2] - X[:, :2].min()
    model.fit(rows, y)
    name = name_of(model)
    with pytest.raises(VerosimError, match=f"{name} has no exact conditional distributions"):
        model.sample(2, given={0: 1.0})
    with pytest.raises(VerosimError, match=f"{name} has no exact conditional distributions"):
        model.impute(rows)


def test_models_that_are_not_densities_are_refused_by_name():
    text = TextNB().fit(["a b", "c d", "a c"], [0, 1, 0])
    with pytest.raises(VerosimError, match="TextNB has no exact conditional"):
        text.sample(1, given={0: "a"})
    lifted = LiftedLDA().fit(X, y)
    assert not hasattr(lifted, "impute")
    with pytest.raises(VerosimError, match="LiftedLDA reads columns as features"):
        lifted.sample(1, given={0: 1.0})
    assert not hasattr(verosim.LogisticRegression().fit(X, y), "impute")


@pytest.mark.parametrize(("given", "message"), [
    ({"coat": "scales"}, "outside the support.*no training row has this value in column 'coat'"),
    ({"age": 200}, "outside the support.*histogram of column 'age' is from 0 to"),
    ({"visits": -1}, "cannot be read.*counts"),
    ({"visits": 1.5}, "cannot be read.*counts"),
    ({"weight": np.inf}, "given\\['weight'\\] must be a finite number"),
    ({"weight": np.nan}, "given\\['weight'\\] is missing"),
    ({"weight": None}, "is missing"),
    ({"weight": "heavy"}, "cannot be read.*'heavy' is not a number"),
    ({"colour": "red"}, "no column 'colour'"),
    ({"kind": "cat"}, "is the target"),
    ({}, "has no columns"),
    ([("age", 3)], "given must be a dict"),
])  # fmt: skip
def test_given_values_that_cannot_be(mixed, given, message):
    with pytest.raises(VerosimError, match=message):
        mixed.sample(1, given=given)


def test_given_values_of_probability_zero():
    texts = np.array([["a", "x"], ["a", "y"], ["b", "y"], ["b", "y"]], dtype=object)
    model = CategoricalNB(alpha=0).fit(texts, [0, 0, 1, 1])
    assert model.sample(9, given={0: "a"})[1].tolist() == [0] * 9
    with pytest.raises(VerosimError, match="probability 0 in class 1"):
        model.sample(1, y=1, given={0: "a"})
    with pytest.raises(VerosimError, match="probability 0 in every class"):
        model.sample(1, given={0: "b", 1: "x"})
    with pytest.raises(VerosimError, match="outside the support"):
        model.sample(1, given={0: "c"})
    with pytest.raises(VerosimError, match="no column 7"):
        QDA().fit(X, y).sample(1, given={7: 1.0})
    with pytest.raises(VerosimError, match="must be a finite number"):
        QDA().fit(X, y).sample(1, given={0: "a"})


def test_impute_refuses():
    model = GaussianNB().fit(X, y)
    with pytest.raises(VerosimError, match="how must be one of"):
        model.impute(GAPS, how="median")
    with pytest.raises(VerosimError, match="sparse"):
        model.impute(sparse.csr_array(X))
    bad = GAPS.copy()
    bad[5, 2] = np.inf
    with pytest.raises(VerosimError, match="infinity in column 'x2', row 5"):
        model.impute(bad)
    with pytest.raises(VerosimError, match="features"):
        model.impute(X[:, :3])
    with pytest.raises(VerosimError, match="not fitted"):
        GaussianNB().impute(X)


def test_presence_and_absence():
    labels = np.arange(200) % 2
    rows = (np.random.default_rng(0).random((200, 3)) < np.where(labels, 0.8, 0.3)[:, None]) * 1.0
    model = BernoulliNB().fit(rows, labels)
    gaps = np.array([[1.0, 1.0, np.nan], [0.0, 0.0, np.nan]])
    share = model.predict_proba(gaps) @ (
        (np.array([rows[labels == k, 2].sum() for k in (0, 1)]) + 1) / (100 + 2)
    )
    for how in ("mean", "mode"):
        np.testing.assert_array_equal(model.impute(gaps, how)[:, 2], share > 0.5)
    drawn = model.impute(np.repeat(gaps[:1], 20_000, axis=0), "draw", random_state=0)[:, 2]
    assert stats.binomtest(int(drawn.sum()), 20_000, share[0]).pvalue > SIGNIFICANCE
