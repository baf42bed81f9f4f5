"""Labels of all types: every method has exactly the given labels, or `fit` refuses them by name.

The types are those of Python and numpy that people have as labels. Mixtures of types, missing
labels and labels that differ in their last zero byte or in their last digit are among them.
"""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from html import escape
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import verosim
from tests.examples import tried_often
from verosim import GaussianNB, NaiveBayes, VerosimError
from verosim.cli.named_models import named_model
from verosim.cli.pieces import cross_validated, numbers_and_labels, predicted_pieces, scored_pieces
from verosim.data.adapters import open_table
from verosim.insight.report.some_rows import labelled_rows

UTC = dt.UTC
ROWS = 12  # at least 3 of each class
X = np.random.default_rng(0).normal(size=(ROWS, 2)) + np.arange(ROWS)[:, None] % 3
COLUMNS = {"u": X[:, 0], "v": X[:, 1]}

moments = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
texts = st.text(max_size=3) | st.sampled_from(
    ["nan", "None", "1", "a", "a\0", "a\0\0", "\0", "\ud800"]
)
integers = st.integers(-3, 3) | st.integers(-(2**127), 2**127) | st.integers(2**63 - 2, 2**64 + 2)
zones = st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), dt.timezone(dt.timedelta(hours=-5))])
OF_ONE_TYPE = {  # labels that are accepted
    "texts": texts,
    "booleans": st.booleans(),
    "integers": integers,
    "floats": st.integers(-(2**60), 2**60).map(float) | st.sampled_from([1e300, -1e25, 2.0**53]),
    "byte strings": st.binary(max_size=3) | st.sampled_from([b"a", b"a\0", b"nan"]),
    "decimals": st.decimals(allow_nan=False, allow_infinity=False, places=2)
    | st.sampled_from([Decimal("1E+100"), Decimal("1.0"), Decimal(2**70)]),
    "dates": st.dates(),
    "datetimes": moments,
    "datetimes with a time zone": st.builds(lambda at, z: at.replace(tzinfo=z), moments, zones),
    "durations": st.timedeltas(),
}  # fmt: skip
REFUSED = {  # values that no label can be, and what the error says
    "has the type Fraction": Fraction(1, 3),
    "has the type complex": 1j,
    "has the type time": dt.time(1),
    "more than 128 bits": 2**128,
    "not finite": Decimal("Infinity"),
    "which is not a whole number": 0.5,
    "because of nanoseconds": pd.Timestamp("2024-01-01 00:00:00.000000001"),
    "of its time zone": dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")),
}
MISSING = [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN")]


def kind_of(label):
    """The name of the type of a label, as the errors have it."""
    zoned = isinstance(label, dt.datetime) and label.tzinfo is not None
    return "datetimes with a time zone" if zoned else next(
        name for name, known in {
            "booleans": bool, "integers": int, "texts": str, "floats": float,
            "byte strings": bytes, "decimals": Decimal, "datetimes": dt.datetime, "dates": dt.date,
            "durations": dt.timedelta,
        }.items() if type(label) is known
    )  # fmt: skip


def in_one_moment(label):
    """Whether a time with a zone is one moment: not in an hour that the clocks repeat or skip."""
    zoned = isinstance(label, dt.datetime) and label.tzinfo is not None
    return not zoned or label == label.astimezone(UTC)


ONE_OR_TWO = st.lists(st.sampled_from([*OF_ONE_TYPE]), min_size=1, max_size=2)


@st.composite
def labels(draw, kinds=ONE_OR_TWO):
    """Twelve labels of two to four classes, of one type or of two."""
    some = st.one_of([OF_ONE_TYPE[kind] for kind in draw(kinds)]).filter(in_one_moment)
    names = draw(st.lists(some, min_size=2, max_size=4))
    order = draw(st.permutations([names[i % len(names)] for i in range(ROWS)]))
    return list(order)


def forms(y):
    """The same labels in the forms that keep them."""
    boxed = np.empty(len(y), dtype=object)
    boxed[:] = y
    return {
        "list": list(y),
        "tuple": tuple(y),
        "objects": boxed,
        "series": pd.Series(boxed, dtype=object),
    }


def distinct(y):
    """The different labels with their types: `1`, `True` and `1.0` are three."""
    return {(type(label), label) for label in y}


def share(found, y):
    return sum(a == b for a, b in zip(found.tolist(), y, strict=True)) / len(y)


def has_labels(found, y):
    """Whether all these are labels of y, with their types."""
    return distinct(found.tolist()) <= distinct(y)


def round_trip(model, y):
    again = verosim.loads(verosim.dumps(model))
    assert distinct(again.classes_.tolist()) == distinct(y)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.partial_fit(X, y).class_count_.sum() == 2 * ROWS


def by_label(model, y):
    """The arguments that name labels."""
    first, second = model.classes_.tolist()[:2]
    C = len(model.classes_)
    priors = GaussianNB(priors=dict.fromkeys(y, 1 / C)).fit(X, y)
    np.testing.assert_allclose(priors.class_prior_, 1 / C)
    GaussianNB(class_weight={first: 2.0}).fit(X, y)
    assert has_labels(verosim.decide(model, X, {(first, second): 5}), y)
    assert distinct(model.sample(3, second, random_state=0)[1].tolist()) == distinct([second])


def updates(model, y):
    parts = GaussianNB().partial_fit(X[:5], y[:5], classes=y).partial_fit(X[5:], y[5:])
    assert distinct(parts.classes_.tolist()) == distinct(y)
    merged = GaussianNB().fit(X[:5], y[:5]) + GaussianNB().fit(X[5:], y[5:])
    assert merged.score(X, y) == parts.score(X, y) == model.score(X, y)
    assert parts.forget(X[5:], y[5:]).class_count_.sum() == 5


def validation(model, y):
    found = verosim.cross_validate(GaussianNB(), X, y, cv=3, scoring=["accuracy", "f1_macro"])
    assert found.classes.tolist() == model.classes_.tolist()
    assert np.isfinite(found.scores["f1_macro"]).all()
    verosim.cross_validate(GaussianNB(), X, y, cv="loo")
    verosim.cross_validate(GaussianNB(), X, y, cv=3, by=y)
    verosim.reliability(y, model.predict_proba(X))


def wrappers(model, y):
    for made in (
        verosim.calibrate(GaussianNB(), X, y, cv=3),
        verosim.conformal(GaussianNB(), X, y, cv=3, method="cross"),
        verosim.reject(GaussianNB(), X, y, confidence=0.1, cv=3),
        verosim.search(GaussianNB(), X, y, {"floor": [1e-3, 1e-2]}, cv=3).model,
    ):
        assert has_labels(made.predict(X), y)
        assert made.score(X, y) == share(made.predict(X), y)


def linear(model, y):
    for made in (
        verosim.LogisticRegression(), verosim.Perceptron(), verosim.OneVsOne(verosim.LDA()),
        verosim.OneVsRest(verosim.LeastSquares()), verosim.Twin(GaussianNB()),
    ):  # fmt: skip
        made.fit(X, y)
        assert distinct(made.classes_.tolist()) == distinct(y)
        assert has_labels(made.predict(X), y)
        assert made.score(X, y) == share(made.predict(X), y)
        again = verosim.loads(verosim.dumps(made))
        assert again.predict(X).tolist() == made.predict(X).tolist()


def linear_updates(model, y):
    names = model.classes_.tolist()
    for made in (
        verosim.OneVsOne(verosim.LDA()), verosim.OneVsRest(GaussianNB()),
        verosim.LogisticRegression(solver="sgd"), verosim.Perceptron(),
    ):  # fmt: skip
        made.partial_fit(X[:6], y[:6], names).partial_fit(X[6:], y[6:])
        assert distinct(made.classes_.tolist()) == distinct(y)
        assert has_labels(made.predict(X), y)
        before = made.predict(X).tolist()
        if len(names) > 2:  # labels of two classes cannot be unknown if there are only two
            fewer = [label for label in y if label != names[0]]
            known = clone(made).fit(X[: len(fewer)], fewer)
            with pytest.raises(VerosimError, match="is not one of the model's classes"):
                known.partial_fit(X, y)
        again = verosim.loads(verosim.dumps(made))
        again.partial_fit(X, y)
        assert made.predict(X).tolist() == before
        assert again.classes_.tolist() == names


def tables(model, y):
    made = NaiveBayes().fit(COLUMNS, y)
    assert distinct(made.classes_.tolist()) == distinct(y)
    assert made.score(COLUMNS, y) == share(made.predict(COLUMNS), y)
    found = made.predict_table(COLUMNS).read_all().column("prediction")
    assert found.null_count == 0
    assert len(found.unique()) == len(set(made.predict(COLUMNS).tolist()))
    assert len(made.learned("u").to_pandas()) == len(made.classes_)


def without_label(model, y):
    some = [None if i % 4 == 0 else label for i, label in enumerate(y)]
    known = [label for label in some if label is not None and label != ""]
    found = GaussianNB().fit(X, some, unlabelled="skip")
    assert distinct(found.classes_.tolist()) == distinct(known)
    if len(set(known)) < 2:
        return
    both = verosim.SemiSupervised(GaussianNB(), unlabelled=None, max_iter=2).fit(X, some)
    assert distinct(both.classes_.tolist()) == distinct(known)


def explained(model, y):
    first, second = model.classes_.tolist()[:2]
    assert str(verosim.explain(model, X[:2]))
    assert verosim.explain(model, X[:1], of=first, against=second).chosen.tolist() == [first]
    assert str(verosim.diagnose(model, X, y))
    model._html_repr()
    verosim.LDA().fit(X, y).boundary(first, second)


def programs(model, y):
    program = model.program()
    again = verosim.bayes.Program.from_json(program.to_json())
    assert again == program
    assert [(type(k), k) for k in again.classes] == [(type(k), k) for k in program.classes]


METHODS = (
    round_trip, by_label, updates, validation, wrappers, linear, linear_updates, tables,
    without_label, explained, programs,
)  # fmt: skip


@pytest.mark.slow
@tried_often
@given(labels(), st.sampled_from([*forms([])]), st.sampled_from(METHODS))
def test_every_method_has_exactly_the_given_labels(y, form, method):
    given_labels = forms(y)[form]
    warnings.simplefilter("ignore")
    kinds = list(dict.fromkeys(map(kind_of, y)))
    if len(kinds) > 1:
        with pytest.raises(VerosimError, match=f"mix {kinds[0]} such as .* and {kinds[1]} such as"):
            GaussianNB().fit(X, given_labels)
        return
    model = GaussianNB().fit(X, given_labels)
    assert distinct(model.classes_.tolist()) == distinct(y)
    found = model.predict(X)
    assert has_labels(found, y)
    assert model.score(X, given_labels) == share(found, y)
    if len(set(y)) > 1 and min(y.count(label) for label in y) > 2:
        method(model, given_labels if form in ("list", "tuple") else list(y))


@tried_often
@given(labels(st.tuples(st.sampled_from([*OF_ONE_TYPE]))), st.data())
def test_missing_labels_and_other_types_are_refused_by_name(y, data):
    bad, message = data.draw(
        st.sampled_from([*((value, name) for name, value in REFUSED.items())])
        | st.sampled_from([(value, r"the label of row 3 is (missing|nan)") for value in MISSING])
    )
    y[3] = bad
    for form in ("list", "objects"):
        with pytest.raises(VerosimError, match=f"{message}|The labels mix"):
            GaussianNB().fit(X, forms(y)[form])
        with pytest.raises(VerosimError, match=f"{message}|The labels mix"):
            verosim.LogisticRegression().fit(X, forms(y)[form])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*OF_ONE_TYPE])
def test_a_report_names_the_labels_of_every_type(kind, tmp_path):
    names = {
        "texts": ["a", "a\0", "\ud800"], "booleans": [True, False], "integers": [2**63, -1, 2**100],
        "floats": [1.0, -2.0], "byte strings": [b"a", b"a\0"],
        "decimals": [Decimal("1.50"), Decimal(2)],
        "dates": [dt.date(2024, 2, 29), dt.date(1, 1, 1)],
        "datetimes": [dt.datetime(2024, 2, 29, 1), dt.datetime(2024, 2, 29)],
        "datetimes with a time zone": [
            dt.datetime(2024, 2, 29, tzinfo=UTC), dt.datetime(2024, 2, 28, tzinfo=UTC)
        ],
        "durations": [dt.timedelta(1), dt.timedelta(0, 1)],
    }[kind]  # fmt: skip
    y = [names[i % len(names)] for i in range(ROWS)]
    warnings.simplefilter("ignore")
    for model in (GaussianNB().fit(X, y), verosim.LogisticRegression().fit(X, y)):
        page = verosim.report(model, X, y, path=tmp_path / "page.html", rows=2).read_text("utf-8")
        for name in names[:2]:
            shown = escape(str(name).encode("utf-8", "backslashreplace").decode())
            assert shown.replace("&#x27;", "&#39;") in page.replace("\ufffd", "\0")
        assert verosim.nomogram(model).html.startswith("<!doctype html>")


COLUMN_TYPES = {
    "timestamp": pa.timestamp("us"),
    "time zone": pa.timestamp("us", "Europe/Berlin"),
    "date": pa.date32(),
    "date64": pa.date64(),
    "decimal": pa.decimal128(30, 0),
    "large decimal": pa.decimal256(60, 0),
    "binary": pa.binary(),
    "unsigned": pa.uint64(),
    "duration": pa.duration("s"),
    "text": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
REPEATED = st.datetimes(dt.datetime(2024, 10, 27), dt.datetime(2024, 10, 27, 2))  # in UTC
CELLS = {
    "timestamp": moments, "time zone": moments | REPEATED, "date": st.dates(), "date64": st.dates(),
    "decimal": st.integers(-(2**90), 2**90).map(Decimal),
    "large decimal": st.integers(-(2**120), 2**120).map(Decimal),
    "binary": st.binary(min_size=1, max_size=3), "unsigned": st.integers(0, 2**64 - 1),
    "duration": st.integers(-(10**9), 10**9).map(lambda s: dt.timedelta(seconds=s)),
    "text": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    "dictionary": st.sampled_from(["a", "a\0", "nan", "None"]),
}  # fmt: skip


@tried_often
@given(st.data())
def test_a_table_and_a_column_of_it_have_the_same_labels(data):
    kind = data.draw(st.sampled_from([*COLUMN_TYPES]))
    names = data.draw(st.lists(CELLS[kind], min_size=2, max_size=4, unique=True))
    y = pa.array([names[i % len(names)] for i in range(ROWS)], COLUMN_TYPES[kind])
    table = pa.table({**COLUMNS, "y": y})
    warnings.simplefilter("ignore")
    model = NaiveBayes().fit(table, "y")
    assert len(model.classes_) == len(names)
    right = model.score(table, "y")
    parts = NaiveBayes().fit(table[:6], "y", schema=model.schema_)
    parts = parts + NaiveBayes().fit(table[6:], "y", schema=model.schema_)
    again = verosim.loads(verosim.dumps(parts))
    for one in (model, again):
        assert one.score(table, "y") == right == one.score(table.select(["u", "v"]), y)
    assert set(labelled_rows(model, table, None).codes(model.classes_)) == set(range(len(names)))
    column = table["y"].to_pylist()
    if not all(map(in_one_moment, column)):
        with pytest.raises(VerosimError, match="is not one moment in UTC, because of its time zon"):
            NaiveBayes().fit(table.select(["u", "v"]), y)
        return
    of_array = NaiveBayes().fit(table.select(["u", "v"]), y)  # the column, next to the table
    assert set(of_array.classes_.tolist()) == set(column)
    predicted = of_array.predict(table).tolist()
    share_right = sum(a == b for a, b in zip(predicted, column, strict=True)) / ROWS
    assert of_array.score(table, y) == of_array.score(table, "y") == share_right


IN_FILES = {**COLUMN_TYPES, "boolean": pa.bool_(), "float": pa.float64(), "time": pa.time64("us")}
CELLS_OF_FILES = {**CELLS, "boolean": st.booleans(), "float": st.integers(-9, 9).map(float)}
CELLS_OF_FILES["time"] = st.times()


@tried_often
@given(
    st.data(), st.sampled_from([*IN_FILES]), st.sampled_from(["logistic", "onevsone", "onevsrest"])
)
def test_models_of_numbers_at_the_command_line_have_the_labels_of_every_column(data, kind, name):
    names = data.draw(st.lists(CELLS_OF_FILES[kind], min_size=2, max_size=4, unique=True))
    y = pa.array([names[i % len(names)] for i in range(ROWS)], IN_FILES[kind])
    table, model = pa.table({**COLUMNS, "y": y}), named_model(name, {})
    read, codes = numbers_and_labels(model, open_table(table), "y", None, ())
    warnings.simplefilter("ignore")
    assert 0 <= cross_validated(model, read, codes, 3)["accuracy"] <= 1
    model = verosim.loads(verosim.dumps(model.fit(read, codes)))
    assert len(model.classes_) == len(names)
    right = model.score(read, codes)
    assert scored_pieces(model, open_table(table), "y").scores["accuracy"] == right
    if kind == "boolean":  # as Arrow writes them to CSV files
        texts = table.set_column(2, "y", y.cast(pa.string()))
        assert scored_pieces(model, open_table(texts), "y").scores["accuracy"] == right
    schema, pieces = predicted_pieces(model, open_table(table), ())
    found = pa.Table.from_batches(pieces, schema)["prediction"]
    assert found.null_count == 0
    assert len(found.unique()) == len(set(model.predict(read).tolist()))


@tried_often
@given(st.lists(st.integers(-(2**62), 2**62) | st.none(), min_size=4, max_size=8), st.data())
def test_columns_keep_the_digits_next_to_missing_labels(values, data):
    """numpy makes floats of whole numbers if one of them is missing."""
    known = [value for value in values if value is not None]
    column = data.draw(
        st.sampled_from([pa.array, pl.Series, lambda v: pd.Series(v, dtype="Int64")])
    )
    if known:
        model = GaussianNB().fit(X[: len(values)], column(values), unlabelled="skip")
        assert distinct(model.classes_.tolist()) == distinct(known)
