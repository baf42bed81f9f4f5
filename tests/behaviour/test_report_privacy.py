"""Ignored and forgotten values are not in reports, for every class that can be reported."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import verosim
from tests.behaviour import test_privacy as privacy
from tests.examples import tried_often
from verosim.data.code_readings import BinReading
from verosim.densities.terms import BinsTerm
from verosim.errors import VerosimError
from verosim.insight.report.densities import densities_of
from verosim.insight.report.inside import terms_inside
from verosim.insight.report.nomogram import carried_by
from verosim.insight.report.observed import ObservedRows
from verosim.insight.report.rare_values import NamedValues
from verosim.insight.report.shown_numbers import different_cuts
from verosim.insight.report.some_rows import SomeRows, state_of
from verosim.insight.single_row import fitted_classifier

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


def sources(model, table):
    """No rows, and the rows in the first form that the model reads."""
    yield {}
    forms = [(table, "y")]
    if "text" in table:
        forms.append((table["text"], table["y"]))
    if {*privacy.NUMBERS} <= {*table}:
        numbers = np.column_stack([table[name] for name in privacy.NUMBERS])
        forms.append((numbers, table["y"]))
    for X, y in forms:
        try:
            model.predict(X)
        except (VerosimError, ValueError, TypeError, KeyError):
            continue
        yield {"source": X, "y": y}
        return
    raise AssertionError("the model reads none of the forms")


def pages(model, table, path):
    """The reports of a model, in lower case. A model that is no classifier has none."""
    try:
        fitted_classifier(model, "report")
    except VerosimError:
        pytest.skip("no classifier with a report")
    for i, rows in enumerate(sources(model, table)):
        made = verosim.report(model, path=path / f"{i}.html", **rows)
        yield made.read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("case", privacy.MODELS)
def test_no_value_of_an_ignored_column_is_in_a_report(case, tmp_path):
    model, part = privacy._fitted(case, privacy._with_ignored(), privacy.IGNORED)
    for page in pages(model, part, tmp_path):
        assert privacy.SECRET not in page
        # Not the digits of a longer fraction, such as 0.07766550.
        assert not re.search(r"(?<![\d.])7766(5[5-9]|6[01])", page)


@pytest.mark.parametrize("case", privacy.FORGETTING)
def test_no_value_of_forgotten_rows_is_in_a_report(case, tmp_path):
    model, table = privacy._fitted(case, privacy._with_forgotten())
    left = privacy._part(table, slice(privacy.FORGOTTEN.stop, None))
    for page in pages(privacy._without(model, table), left, tmp_path):
        assert privacy.SECRET not in page


# Numbers -----------------------------------------------------------------------------------------

NUMBER_TOKEN = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
LEAST = 5  # rows of a value that a page shows
PLANTED = (776655.125, -654321.375, 887766.53125)
NUMBER_MODELS = {
    "GaussianNB": lambda: verosim.GaussianNB(),
    "NaiveLDA": lambda: verosim.NaiveLDA(),
    "LDA": lambda: verosim.LDA(),
    "QDA": lambda: verosim.QDA(shrinkage=0.1),
    "HistogramNB": lambda: verosim.HistogramNB(bins=8),
    "JointHistogram": lambda: verosim.JointHistogram(bins=3),
    "TAN": lambda: verosim.TAN(),
    "AODE": lambda: verosim.AODE(),
    "KDB": lambda: verosim.KDB(k=1),
    "normal scores": lambda: verosim.LDA(encode="normal"),
    "naive Bayes": lambda: verosim.NaiveBayes({"income": "histogram", "visits": "poisson"}),
    "pool": lambda: verosim.Pool([verosim.NaiveBayes(), verosim.TAN()], cv=2, keep="all"),
}


def random_numbers(rng, n):
    """Columns of numbers with many digits, some of them planted, and labels."""
    y = rng.integers(0, 2, n)
    if rng.random() < 0.5:
        y[: rng.integers(1, LEAST)] = 2  # a class of few rows
    table = {
        "age": rng.normal(40, 10, n) + 4 * y, "income": rng.lognormal(8, 1, n),
        "visits": rng.poisson(3, n).astype(float), "level": rng.choice(rng.normal(size=5), n),
    }  # fmt: skip
    for name in ("age", "income"):
        at = rng.integers(0, n, rng.integers(0, 4))
        table[name][at] = rng.choice(PLANTED, len(at)) + rng.integers(0, 9, len(at))
    return table, np.array(["no", "yes", "perhaps"])[y]


def rare_numbers(table, kept):
    """The values that fewer than 5 of the kept rows have; small counts are not secret."""
    for name, column in table.items():
        if name != "visits":
            values, first = np.unique(column, return_index=True)
            counts = np.array([(column[kept] == value).sum() for value in values])
            yield from column[first[counts < LEAST]].tolist()


def numbers_in(page):
    """The different numbers in a page without its script and its style."""
    text = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
    return np.unique([float(one) for one in NUMBER_TOKEN.findall(text.replace("−", "-"))])


def shown_again(page, secrets):
    """The secrets that are in a page: with 12 digits, or with 6 if they are far from all others."""
    if not secrets:
        return []
    shown = numbers_in(page)
    far = np.abs(secrets) > 5e5
    near = np.abs(shown - np.array(secrets)[:, None]).min(axis=1)
    close = near <= np.abs(secrets) * np.where(far, 1e-6, 1e-12)
    return [x for x, found in zip(secrets, close.tolist(), strict=True) if found]


@tried_often
@given(st.integers(0, 2**32 - 1), st.sampled_from([*NUMBER_MODELS]))
def test_no_number_of_few_rows_is_in_what_a_page_runs_and_draws(seed, name):
    """Also not of rows that were forgotten, and no bin has fewer than 5 rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 120))
    table, y = random_numbers(rng, n)
    arrays = name in ("GaussianNB", "NaiveLDA", "LDA", "QDA", "HistogramNB", "JointHistogram")
    X = np.column_stack([*table.values()]) if arrays else table
    try:
        model = NUMBER_MODELS[name]().fit(X, y)
    except VerosimError:
        return
    gone = int(rng.integers(0, 5))
    if gone and not isinstance(model, verosim.Pool):
        rows = X[:gone] if arrays else {key: column[:gone] for key, column in table.items()}
        model.forget(rows, y[:gone])
    else:
        gone = 0
    kept = np.arange(gone, n)
    named = NamedValues.of(state_of(model))
    found = carried_by(model, 10**7, named, list(model.program().inputs))
    charts = densities_of(model, named, None)
    page = json.dumps([found.page_data([]), charts])
    assert shown_again(page, list(rare_numbers(table, kept))) == []
    for column, cuts in shown_cuts_of(found.program):
        x = [*table.values()][int(column[1:])] if arrays else table[column]
        rows = np.bincount(np.searchsorted(cuts, x[kept], side="right"), minlength=len(cuts) + 1)
        assert not ((rows > 0) & (rows < LEAST)).any(), (column, cuts, rows)


def shown_cuts_of(program):
    """The cuts between bins of each column that a page runs."""
    for reading in program.readings:
        if isinstance(reading, BinReading):
            yield next(iter(reading.inputs)), different_cuts(np.array(reading.cuts))
    for term, readings in terms_inside(program.terms, program.readings):
        if isinstance(term, BinsTerm):
            yield next(iter(readings[0].inputs)), different_cuts(term.edges[1:-1])


BINNED = {
    "HistogramNB": lambda: verosim.HistogramNB(bins=8),
    "JointHistogram": lambda: verosim.JointHistogram(bins=3),
    "TAN": lambda: verosim.TAN(),
    "AODE": lambda: verosim.AODE(),
    "KDB": lambda: verosim.KDB(k=1),
    "naive Bayes": lambda: verosim.NaiveBayes({"age": "histogram", "income": "histogram"}),
}


@tried_often
@given(st.integers(0, 2**32 - 1), st.sampled_from([*BINNED]))
def test_exact_numbers_do_not_influence_a_page_with_bins(seed, name):
    """Noise that keeps the order of the cells leaves a page as it is: also heights and widths.

    The exact height of a bin gives its width, and the widths give all edges and both ends.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 150))
    y = np.array(["no", "yes"])[rng.permutation(np.arange(n) % 2)]
    table = {"age": rng.normal(40, 10, n), "income": rng.lognormal(8, 1, n)}
    found = []
    for noise in (0.0, 1e-9):
        some = {key: column * (1 + noise * rng.uniform(-1, 1, n)) for key, column in table.items()}
        for key, column in some.items():
            assume((column.argsort() == table[key].argsort()).all())
        arrays = name in ("HistogramNB", "JointHistogram")
        model = BINNED[name]().fit(np.column_stack([*some.values()]) if arrays else some, y)
        named = NamedValues.of(state_of(model))
        page = carried_by(model, 10**7, named, list(model.program().inputs)).page_data([])
        found.append(json.dumps([page, densities_of(model, named, None)]))
    assert NUMBER_TOKEN.split(found[0]) == NUMBER_TOKEN.split(found[1])
    before, after = (np.array(NUMBER_TOKEN.findall(page), dtype=np.float64) for page in found)
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)


@tried_often
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_axes_of_drawn_rows_end_at_numbers_that_5_rows_separate(seed, whole):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 300))
    x = rng.lognormal(rng.uniform(0, 8), rng.uniform(0.1, 2), n)
    x = np.round(x) if whole else x
    X, y = x[:, None], np.array(["no", "yes"])[np.arange(n) % 2]
    model = verosim.GaussianNB().fit(X, y)
    observed = ObservedRows.of(model, model.program(), SomeRows(X, y))
    edges = observed.edges("x0")
    if edges is None:
        return
    values, counts = np.unique(x, return_counts=True)
    often = values[counts >= LEAST]
    for end, outside in ((edges[0], x < edges[0]), (edges[-1], x > edges[-1])):
        shared = len(often) and np.abs(often - end).min() <= 0.5
        assert shared or outside.sum() >= LEAST
        assert shared or whole or not np.isin(end, x)


@tried_often
@given(st.integers(0, 2**32 - 1), st.sampled_from(["LDA", "RDA", "Pool"]))
def test_weights_do_not_make_a_rare_value_frequent(seed, name):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    y = np.array(["no", "yes"])[np.arange(n) % 2]
    hue = rng.choice(["red", "blue", "green"], n).astype(object)
    rare = rng.permutation(n)[: rng.integers(1, LEAST)]
    hue[rare] = privacy.SECRET
    weight = rng.uniform(0.1, 2.0, n)
    weight[rare] = rng.uniform(1, 100)
    if rng.random() < 0.5:  # in all, as many as rows
        weight *= n / weight.sum()
    encode = str(rng.choice(["onehot", "normal"]))
    model = {
        "LDA": verosim.LDA(encode=encode), "RDA": verosim.RDA(encode=encode),
        "Pool": verosim.Pool([verosim.LDA(encode=encode), verosim.NaiveBayes()]),
    }[name]  # fmt: skip
    table = {"hue": hue, "age": rng.normal(40, 10, n)}
    model.fit(table, y, sample_weight=weight)
    named = NamedValues.of(state_of(model))
    page = carried_by(model, 10**7, named, ["hue", "age"]).page_data([])
    assert privacy.SECRET not in json.dumps([page, densities_of(model, named, None)])


def planted():
    """A table with a number, a date, a category and a token of one row in every column."""
    rng = np.random.default_rng(3)
    table = privacy._table()
    table["age"][5], table["age"][1] = PLANTED[0], PLANTED[2]  # the second one is forgotten
    table["whole"][7] = 887766
    table["amount"] = [f"{value:,.5f} kg" for value in rng.uniform(1000, 9000, privacy.N)]
    table["amount"][9], table["amount"][1] = "776,655.12500 kg", "887,766.53125 kg"
    table["when"][11] = "17/03/1961"
    table["hue"][13] = table["user"][15] = privacy.SECRET
    table["text"][17] += f" {privacy.SECRET}s"
    return table


@pytest.mark.parametrize("case", privacy.MODELS)
def test_no_planted_value_is_in_a_report(case, tmp_path):
    """Neither of rows that the model has, nor of rows that were forgotten."""
    table = planted()
    model, part = privacy._fitted(case, table)
    left = part
    if case in privacy.FORGETTING:
        privacy._without(model, part)
        left = privacy._part(part, slice(privacy.FORGOTTEN.stop, None))
    amounts = [float(text[:-3].replace(",", "")) for text in table["amount"]]
    days = np.datetime64("1961-03-17").astype(int)
    secrets = [*table["age"], 887766.0, *amounts, float(days), *PLANTED]
    for page in pages(model, left, tmp_path):
        assert privacy.SECRET not in page
        assert "17/03/1961" not in page
        assert "1961-03-17" not in page
        assert shown_again(page, secrets) == []
