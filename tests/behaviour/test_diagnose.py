"""diagnose: the numbers are the textbooks', the readings name what is there, and every model is
told what it can be told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import verosim
from verosim import estimators
from verosim.theory import prior_error, rows_for_priors
from verosim.validate import Diagnosis, Finding
from verosim.validate.diagnose import diagnose
from verosim.validate.diagnosis import rows as rows_module
from verosim.validate.diagnosis.dependence import cramer
from verosim.validate.diagnosis.shape import _all_pairs, _third_moments, mardia
from verosim.validate.diagnosis.spread import box_m

IRIS = load_iris(return_X_y=True)


def only(diagnosis: Diagnosis, name: str) -> Finding:
    found = diagnosis[name]
    assert len(found) == 1
    return found[0]


def about(diagnosis: Diagnosis, name: str, subject: str) -> Finding:
    return next(found for found in diagnosis[name] if found.subject == subject)


# Box's M --------------------------------------------------------------------------------------


def test_box_m_of_iris_is_that_of_r():
    """M = 146.6632, χ² = 140.943 with 20 degrees of freedom (R: heplots::boxM, biotools)."""
    X, y = IRIS
    found = box_m(verosim.QDA().fit(X, y).stats_)
    np.testing.assert_allclose([found.M, found.chi2, found.df], [146.6632, 140.943, 20], atol=5e-4)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_box_m_by_the_textbook(load):
    """Rencher & Christensen (2012), §7.3.2, written out."""
    X, y = load(return_X_y=True)
    d, g, n = X.shape[1], 3, np.bincount(y)
    v = n - 1
    S = [np.cov(X[y == k].T) for k in range(g)]
    pooled = sum(a * b for a, b in zip(v, S, strict=True)) / v.sum()
    M = v.sum() * np.linalg.slogdet(pooled)[1]
    M -= sum(a * np.linalg.slogdet(b)[1] for a, b in zip(v, S, strict=True))
    c1 = (sum(1 / v) - 1 / v.sum()) * (2 * d * d + 3 * d - 1) / (6 * (d + 1) * (g - 1))
    c2 = (d - 1) * (d + 2) / (6 * (g - 1)) * (sum(1 / v**2) - 1 / v.sum() ** 2)
    a1 = d * (d + 1) * (g - 1) / 2
    a2 = (a1 + 2) / abs(c2 - c1**2)
    b1 = (1 - c1 - a1 / a2) / a1
    assert c2 > c1**2
    for estimator in (verosim.QDA, verosim.LDA, verosim.RDA):
        found = box_m(estimator().fit(X, y).stats_)
        np.testing.assert_allclose(
            [found.M, found.chi2, found.df, found.F, found.df2],
            [M, (1 - c1) * M, a1, b1 * M, a2], rtol=1e-9,
        )  # fmt: skip
        np.testing.assert_allclose(found.p, stats.f.sf(b1 * M, a1, a2))


def test_box_m_holds_its_level_and_does_not_depend_on_units(rng):
    """At 5 %, about 5 % of samples with equal covariances are called unequal."""
    A = rng.normal(size=(3, 3))
    y = np.repeat([0, 1, 2], [20, 30, 40])
    rejected = 0
    for _ in range(300):
        X = rng.normal(size=(90, 3)) @ A
        found = box_m(verosim.QDA().fit(X, y).stats_)
        rejected += found.p < 0.05
    assert 5 <= rejected <= 27  # binomial, four deviations
    moved = box_m(verosim.QDA().fit(X * [1e-4, 1, 1e5] + 1e3, y).stats_)
    np.testing.assert_allclose(moved.M, found.M, rtol=1e-6)


def test_lda_or_qda_is_answered():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + y[:, None]
    alike = only(diagnose(verosim.LDA().fit(X, y)), "Box's M")
    assert alike.p_value > 0.05
    assert alike.reading.endswith("LDA is appropriate.")
    assert "LDA has fewer parameters" in only(diagnose(verosim.QDA().fit(X, y)), "Box's M").reading
    X[y == 1] *= [3, 1]
    apart = only(diagnose(verosim.LDA().fit(X, y)), "Box's M")
    assert apart.reading == (
        "The covariances differ between the classes (p < 0.001): use QDA or RDA instead of LDA."
    )


def test_classes_too_small_for_box_m_are_named(rng):
    X, y = rng.normal(size=(63, 4)), np.repeat(["a", "b", "c"], [30, 30, 3])
    with pytest.warns(verosim.VerosimWarning):
        found = only(diagnose(verosim.QDA().fit(X, y)), "Box's M")
    assert "Classes with too few rows were not tested: 'c'." in found.reading


def test_bartlett_is_scipys():
    X, y = IRIS
    each = [stats.bartlett(*(X[y == k, j] for k in range(3))).statistic for j in range(4)]
    found = only(diagnose(verosim.NaiveLDA().fit(X, y)), "Bartlett")
    np.testing.assert_allclose(found.value, sum(each))
    np.testing.assert_allclose(found.p_value, stats.chi2.sf(sum(each), 8), rtol=1e-6)
    assert "use GaussianNB instead of NaiveLDA" in found.reading


# Mardia ---------------------------------------------------------------------------------------


def direct(X):
    """Mardia (1970), as printed."""
    n = len(X)
    Z = X - X.mean(axis=0)
    D = Z @ np.linalg.solve(Z.T @ Z / n, Z.T)
    return (D**3).sum() / n**2, (np.diag(D) ** 2).sum() / n


def test_mardia_of_iris_is_that_of_r():
    """setosa: b₁ = 3.0797 (p = 0.1772), b₂ = 26.5377 (R: MVN)."""
    X, y = IRIS
    found = diagnose(verosim.QDA().fit(X, y), X, y)
    setosa = about(found, "skewness", "0")
    np.testing.assert_allclose([setosa.value, setosa.p_value], [3.0797, 0.1772], atol=5e-5)
    np.testing.assert_allclose(about(found, "kurtosis", "0").value, 26.5377, atol=5e-5)
    for k in (1, 2):
        b1, b2 = direct(X[y == k])
        np.testing.assert_allclose(about(found, "skewness", str(k)).value, b1, rtol=1e-9)
        np.testing.assert_allclose(about(found, "kurtosis", str(k)).value, b2, rtol=1e-9)


def test_mardia_two_ways_weights_and_directions_without_spread(rng):
    X = rng.exponential(size=(40, 7))
    w = rng.integers(1, 4, 40).astype(float)
    once, repeated = mardia(X, w), mardia(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(
        [once.skewness, once.kurtosis, once.skewness_p],
        [repeated.skewness, repeated.kurtosis, repeated.skewness_p],
    )
    np.testing.assert_allclose(_third_moments(X, w), _all_pairs(X, w))  # d³ sums or n² pairs
    np.testing.assert_allclose(mardia(X).skewness, direct(X)[0])
    wider = np.column_stack([X, X[:, 0] + X[:, 1], np.full(40, 2.0)])
    np.testing.assert_allclose(mardia(wider).kurtosis, mardia(X).kurtosis)
    np.testing.assert_allclose(mardia(X + 1e6).kurtosis, mardia(X).kurtosis, rtol=1e-6)
    assert mardia(X[:8]) is None


def test_mardia_holds_its_level():
    rng = np.random.default_rng(4)
    found = [mardia(rng.normal(size=(60, 4))) for _ in range(400)]
    for p in ([one.skewness_p for one in found], [one.kurtosis_p for one in found]):
        assert 0.01 < np.mean(np.array(p) < 0.05) < 0.1


def test_skewed_and_heavy_columns_are_named(rng):
    y = np.repeat(["a", "b"], 300)
    table = pd.DataFrame(rng.normal(size=(600, 3)), columns=["even", "skew", "heavy"])
    table.loc[y == "a", "skew"] = rng.exponential(size=300)
    table.loc[y == "b", "heavy"] = rng.standard_t(3, size=300)
    found = diagnose(verosim.QDA().fit(table, y), table, y)
    assert found["skewness"][0].subject == "'a'"
    assert "most strongly in 'skew'" in found["skewness"][0].reading
    assert "most strongly in 'heavy'" in about(found, "kurtosis", "'b'").reading
    assert "robust=True" in about(found, "kurtosis", "'b'").reading
    bounded = rng.uniform(size=(600, 3))
    light = diagnose(verosim.GaussianNB().fit(bounded, y), bounded, y)["kurtosis"][0]
    assert "lighter than those of a Gaussian" in light.reading


def test_many_rows_are_sampled_and_it_says_so(rng, monkeypatch):
    monkeypatch.setattr(rows_module, "MOST_ROWS_PER_CLASS", 500)
    X, y = rng.normal(size=(5000, 2)), np.repeat([0, 1], [4000, 1000])
    found = diagnose(verosim.GaussianNB().fit(X, y), X, y)
    assert about(found, "skewness", "0").reading.endswith("Computed from 500 of 4,000 rows.")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "k": y})
    batches = list(table.to_batches(max_chunksize=300))
    stream = diagnose(verosim.GaussianNB().fit(table, "k"), (batch for batch in batches), "k")
    np.testing.assert_allclose(
        [one.value for one in stream["kurtosis"]], [8, 8], atol=1.5
    )  # d(d + 2)


# Dependence -----------------------------------------------------------------------------------


def test_correlation_within_classes_from_sums_and_from_rows():
    X, y = IRIS
    Z = X - np.array([X[y == k].mean(axis=0) for k in range(3)])[y]
    R = np.corrcoef(Z.T)
    mean = np.abs(R[np.triu_indices(4, 1)]).mean()
    sums = diagnose(verosim.LDA().fit(X, y))["correlation"]
    rows = diagnose(verosim.GaussianNB().fit(X, y), X, y)["correlation"]
    for found in (sums, rows):
        assert [one.subject for one in found] == ["within classes", "1", "2", "0"]
        np.testing.assert_allclose(found[0].value, mean)
        np.testing.assert_allclose(
            about(found, "correlation", "1").value,
            np.abs(np.corrcoef(X[y == 1].T)[np.triu_indices(4, 1)]).mean(),
        )
        assert "'x0' and 'x2' (+0.76)" in found[0].reading
        assert found[0].p_value < 1e-6
    assert "as in this model" in sums[0].reading
    assert "counted twice" in rows[0].reading


def test_independent_columns_are_fairly_taken_for_so(rng):
    """Bartlett's test of independence holds its level, and the reading is calm."""
    y = np.repeat([0, 1], 200)
    rejected = 0
    for _ in range(100):
        X = rng.normal(size=(400, 4)) + 3 * y[:, None]  # correlated over all, not within
        found = diagnose(verosim.GaussianNB().fit(X, y), X, y)["correlation"][0]
        rejected += found.p_value < 0.05
    assert rejected <= 14
    assert "reasonable to assume that the columns are independent" in found.reading
    assert "NaiveLDA is enough" in diagnose(verosim.LDA().fit(X, y))["correlation"][0].reading


def test_correlation_over_the_cells_there_are(rng):
    """Pairs of cells that are both there; complete rows give the plain correlation."""
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 2000)
    y = rng.integers(0, 2, 2000)
    X[rng.random(X.shape) < 0.2] = np.nan
    found = diagnose(verosim.GaussianNB().fit(X, y), X, y)["correlation"][0]
    np.testing.assert_allclose(found.value, 0.8, atol=0.03)
    assert found.p_value is None


def test_cramers_v_within_classes(rng):
    """χ² of scipy, class by class, less its degrees of freedom."""
    classes, a = rng.integers(0, 2, 1000), rng.integers(0, 3, 1000)
    b = np.where(rng.random(1000) < 0.5, a, rng.integers(0, 3, 1000))
    chi, most, df = 0.0, 0.0, 0
    for k in (0, 1):
        table = pd.crosstab(a[classes == k], b[classes == k]).to_numpy()
        found = stats.chi2_contingency(table, correction=False)
        chi, df = chi + found.statistic, df + found.dof
        most += table.sum() * 2
    V, p = cramer(a, b, classes, np.ones(1000))
    np.testing.assert_allclose(V, np.sqrt((chi - df) / most))
    np.testing.assert_allclose(p, stats.chi2.sf(chi, df), rtol=1e-6, atol=1e-300)
    assert cramer(a, rng.integers(0, 3, 1000), classes, np.ones(1000))[0] < 0.08
    one = np.zeros(1000, dtype=int)
    assert cramer(a, one, classes, np.ones(1000)) == (0.0, 1.0)


def test_association_of_categories_and_of_numbers_with_them(rng):
    n = 1000
    kind = rng.integers(0, 2, n)
    hue = rng.integers(0, 3, n)
    table = pd.DataFrame({
        "hue": np.array(["red", "green", "blue"])[hue],
        "tint": np.array(["r", "g", "b"])[hue],  # the same thing twice
        "coin": np.array(["head", "tail"])[rng.integers(0, 2, n)],
        "size": rng.normal(size=n) + 4 * hue,
        "kind": np.array(["a", "b"])[kind],
    })  # fmt: skip
    found = only(diagnose(verosim.NaiveBayes().fit(table, "kind"), table), "association")
    assert "'hue' and 'tint' (1.00)" in found.reading
    assert "'size'" in found.reading
    assert "drop one column of each pair" in found.reading
    assert found.p_value < 1e-6
    # Once the class is known, columns that both tell it may be independent: no association.
    X = np.column_stack([np.where(rng.random(n) < 0.9, kind, 1 - kind) for _ in range(3)])
    calm = only(diagnose(verosim.CategoricalNB().fit(X, kind), X, kind), "association")
    assert calm.value < 0.05
    assert "reasonable to assume that the columns are independent" in calm.reading


# Information ----------------------------------------------------------------------------------


def test_columns_of_numbers_by_the_f_test():
    """scipy's one-way analysis of variance; share of the variance between classes."""
    rng = np.random.default_rng(8)
    X, y = IRIS
    X = np.column_stack([X, rng.normal(size=150), np.full(150, 2.5)])
    with pytest.warns(verosim.SingularWarning, match="x5"):
        found = diagnose(verosim.LDA().fit(X, y))["information"]
    assert found[0].value == 4
    constant, noise = found[1], found[2]
    assert (constant.subject, constant.p_value) == ("x5", None)
    assert noise.subject == "x4"
    np.testing.assert_allclose(noise.p_value, stats.f_oneway(*(X[y == k, 4] for k in range(3)))[1])
    total, means = X[:, 2].var(), np.array([X[y == k, 2].mean() for k in range(3)])
    assert f"'x2' ({means.var() / total:.1%} of its variance)" in found[0].reading


def test_a_column_may_tell_by_its_variance_alone(rng):
    """Same means, other variances: nothing for LDA, something for QDA."""
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) + [[0, 1]] * y[:, None]
    X[:, 0] -= np.array([X[y == k, 0].mean() for k in (0, 1)])[y]
    X[y == 1, 0] *= 4
    assert diagnose(verosim.LDA().fit(X, y))["information"][0].value == 1
    assert diagnose(verosim.NaiveLDA().fit(X, y))["information"][1].subject == "x0"
    for estimator in (verosim.QDA, verosim.GaussianNB):
        assert diagnose(estimator().fit(X, y))["information"][0].value == 2


def test_columns_of_categories_by_the_g_test(rng):
    """scipy's G-test, and mutual information over the entropy of the class."""
    y = rng.integers(0, 3, 900)
    X = np.column_stack([
        np.where(rng.random(900) < 0.4, y, rng.integers(0, 3, 900)),
        rng.integers(0, 4, 900), np.zeros(900, dtype=int),
    ])  # fmt: skip
    found = diagnose(verosim.CategoricalNB().fit(X, y))["information"]
    assert found[0].value == 1
    assert [one.subject for one in found[1:]] == ["x2", "x1"]
    table = pd.crosstab(y, X[:, 1]).to_numpy()
    G = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    np.testing.assert_allclose(found[2].p_value, G.pvalue)
    table = pd.crosstab(y, X[:, 0]).to_numpy() / 900
    information = (table * np.log(table / np.outer(table.sum(1), table.sum(0)))).sum()
    entropy = stats.entropy(np.bincount(y))
    share = (information - 4 / 2 / 900) / entropy  # less what chance gives
    assert f"'x0' ({share:.1%}" in found[0].reading
    present = diagnose(verosim.BernoulliNB().fit(X[:, [0, 1]] == 0, y))["information"]
    assert present[0].value == 1


def test_a_column_of_names_is_not_taken_for_information(rng):
    """As many values as rows: G would be certain of it; Pearson's χ² is not."""
    y = rng.integers(0, 2, 400)
    table = pd.DataFrame({"id": [f"n{i}" for i in range(400)], "coin": rng.integers(0, 2, 400)})
    table["coin"] = table["coin"].map({0: "no", 1: "yes"})
    schema = verosim.look(table, columns={"id": "category"})
    model = verosim.NaiveBayes().fit(table, y, schema=schema)
    found = diagnose(model)["information"]
    assert {one.subject for one in found[1:]} == {"id", "coin"}


def test_words_are_summed_up():
    texts = ["good fine day", "bad awful day", "good good day", "awful bad day"] * 10
    found = only(diagnose(verosim.TextNB().fit(texts, ["p", "n"] * 20))[-2:-1], "information")
    assert found.subject == "words"
    assert "'good'" in found.reading
    last = diagnose(verosim.TextNB().fit(texts, ["p", "n"] * 20))[-1]
    assert (last.subject, last.p_value > 0.05) == ("day", True)


# Sizes ----------------------------------------------------------------------------------------


def test_hoeffding_and_back():
    """rows_for_priors asks the reverse question."""
    n = rows_for_priors(0.02, 0.05, 4)
    assert prior_error(n, 0.05, 4) <= 0.02 < prior_error(n - 1, 0.05, 4)
    X, y = IRIS
    found = only(diagnose(verosim.LDA().fit(X, y)), "prior error")
    np.testing.assert_allclose(found.value, np.sqrt(np.log(2 * 3 / 0.05) / 300))
    given = only(diagnose(verosim.LDA(priors="uniform").fit(X, y)), "prior error")
    assert given.value is None
    assert "given" in given.reading
    with pytest.raises(verosim.VerosimError, match="n_rows must be above 0; got 0"):
        prior_error(0, 0.05, 3)


def test_classes_too_small_are_named(rng):
    X = rng.normal(size=(146, 5))
    y = np.repeat(["big", "few", "tiny"], [120, 21, 5])
    with pytest.warns(verosim.VerosimWarning):
        model = verosim.QDA().fit(X, y)
    found = diagnose(model)["class size"]
    assert [one.subject for one in found] == ["'tiny'", "'few'"]
    assert "singular" in found[0].reading
    assert "unstable" in found[1].reading
    assert "enough" in only(diagnose(verosim.LDA().fit(X, y)), "class size").reading
    shrunk = diagnose(verosim.QDA(shrinkage="ledoit_wolf").fit(X, y))["class size"][0]
    assert "The shrinkage of this model" in shrunk.reading
    wide = rng.normal(size=(30, 20))
    narrow = only(diagnose(verosim.LDA().fit(wide, np.repeat([0, 1], 15))), "class size")
    assert "unstable" in narrow.reading


def test_rows_per_parameter():
    X, y = IRIS
    model = verosim.QDA().fit(X, y)
    found = only(diagnose(model), "rows per parameter")
    assert found.value == 150 / model.n_parameters_
    assert "few" in found.reading


# Every model ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [one for one in estimators.__all__ if one not in ("LiftedLDA", "TextRidge")]
)
def test_every_model_is_told_what_applies(name, rng):
    """All findings have a reading of one line; none is NaN; without rows they say so."""
    estimator = getattr(verosim, name)
    y = rng.integers(0, 3, 120)
    X = rng.poisson(2 + y[:, None], size=(120, 3))
    if name == "TextNB":
        X = np.array([" ".join(f"w{v}" for v in row) for row in X])
    model = estimator().fit(X, y)
    for found in (diagnose(model), diagnose(model, X, y)):
        assert isinstance(found, Diagnosis)
        for one in found:
            assert one.value is None or np.isfinite(one.value)
            assert one.p_value is None or 0 <= one.p_value <= 1
            assert one.reading.endswith((".", "?"))
            assert "\n" not in one.reading
            if one.value is None:
                assert one.reading.startswith(("Does not apply", "Needs rows"))
    assert not any(one.reading.startswith("Needs rows") for one in found)
    assert {"rows per parameter", "prior error", "Box's M", "information"} <= {
        *found.names, *(["Box's M"] if "Bartlett" in found.names else []),
    }  # fmt: skip
    assert str(found).startswith(f"{name}: 120 rows, 3 classes\n")


@pytest.mark.parametrize("estimator", [verosim.GaussianNB, verosim.BernoulliNB])
def test_sparse_rows_as_dense_ones(estimator, rng):
    X = rng.poisson(1, size=(100, 4)).astype(float)
    y = rng.integers(0, 2, 100)
    dense = diagnose(estimator().fit(X, y), X, y)
    thin = diagnose(estimator().fit(sparse.csr_array(X), y), sparse.csr_array(X), y)
    assert [one.reading for one in dense] == [one.reading for one in thin]


def test_rows_with_holes(rng):
    X, y = IRIS
    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    found = diagnose(verosim.QDA(missing="marginalise").fit(holes, y), holes, y)
    assert "values are missing" in only(found, "Box's M").reading
    assert "Computed from" in found["skewness"][0].reading
    np.testing.assert_allclose(found["correlation"][0].value, 0.5, atol=0.1)
    complete = diagnose(verosim.QDA(missing="marginalise").fit(X, y))
    np.testing.assert_allclose(only(complete, "Box's M").value, 146.6632, atol=5e-4)


def test_a_robust_model_is_looked_at_without_its_outliers():
    X, y = IRIS
    spoilt = X.copy()
    spoilt[0] *= 40
    plain = diagnose(verosim.LDA().fit(spoilt, y), spoilt, y)
    robust = diagnose(verosim.LDA(robust=True).fit(spoilt, y), spoilt, y)
    assert plain["kurtosis"][0].p_value < 1e-6 < about(robust, "kurtosis", "0").p_value


def test_weights_are_repetitions(rng):
    X, y = IRIS
    w = rng.integers(1, 4, 150)
    once = diagnose(verosim.GaussianNB().fit(X, y, w), X, y, w)
    again = diagnose(
        verosim.GaussianNB().fit(np.repeat(X, w, 0), np.repeat(y, w)), np.repeat(X, w, 0),
        np.repeat(y, w),
    )  # fmt: skip
    for a, b in zip(once, again, strict=True):
        assert a.reading == b.reading
        np.testing.assert_allclose(a.value or 0, b.value or 0, rtol=1e-7)


def test_tables_and_their_target_by_name(rng):
    X, y = IRIS
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["s", "v", "w"])[y])
    model = verosim.LDA().fit(table, "kind")
    by_name, by_schema = diagnose(model, table, "kind"), diagnose(model, table)
    assert str(by_name) == str(by_schema)
    assert about(by_name, "skewness", "'s'").value == pytest.approx(3.0797, abs=5e-5)


# As an object ---------------------------------------------------------------------------------


def test_a_diagnosis_is_a_sequence_with_names():
    X, y = IRIS
    found = diagnose(verosim.LDA().fit(X, y))
    assert found[0] == next(iter(found)) == found[:1][0]
    assert list(found) == list(found.findings)
    assert found.names[0] == "rows per parameter"
    assert isinstance(found["Box's M"], Diagnosis)
    with pytest.raises(verosim.VerosimError, match=r"no finding 'boxes'.*: Use one of rows per"):
        found["boxes"]
    with pytest.raises(AttributeError):
        found.findings = ()


def test_long_lists_are_cut_in_print_only():
    X, y = load_digits(return_X_y=True)
    found = diagnose(verosim.GaussianNB().fit(X, y), X, y)
    assert len(found["skewness"]) == 10
    assert "5 more" in str(found)
    assert max(map(len, str(found).splitlines())) <= 130


def test_what_cannot_be_diagnosed(rng):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(verosim.VerosimError, match="not fitted yet"):
        diagnose(verosim.LDA())
    with pytest.raises(verosim.VerosimError, match="model must be a model such as LDA"):
        diagnose(object(), X, y)
    model = verosim.LDA().fit(X, y)
    with pytest.raises(verosim.VerosimError, match="Labels were given without rows"):
        diagnose(model, y=y)
    with pytest.raises(verosim.VerosimError, match="not one of the model's classes"):
        diagnose(model, X, y + 1)
    with pytest.raises(verosim.VerosimError, match="3 features"):
        diagnose(model, X[:, :3], y)


def test_on_adult(data):
    """Education is there twice, in words and in years; a wife is a woman."""
    table = pd.read_parquet(data / "adult" / "adult.parquet").drop(columns="split")
    found = diagnose(verosim.NaiveBayes().fit(table, "income"), table)
    tied = only(found, "association").reading
    assert "'education' and 'education_num' (1.00)" in tied
    assert "'relationship' and 'sex'" in tied
