"""Numbers and dates as people write them are read by one format per column.

The schema states the format, and a messy column gives the model of its clean twin. Nothing is
misread in silence: what does not fit, and what has two meanings, is listed under *to check*.
"""

from __future__ import annotations

import contextlib
import json
import random
import warnings
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from verosim import NaiveBayes, VerosimError, look
from verosim.data import cells
from verosim.data.adapters import open_table
from verosim.data.cell_formats import by_format, find_format, parsed_format
from verosim.kinds.reader import MixedReader

N = 120


@pytest.fixture(scope="module")
def amounts():
    return np.random.default_rng(1).normal(9000, 5000, N).round(2)


@pytest.fixture(scope="module")
def moments():
    return pd.Timestamp("2021-01-01") + pd.to_timedelta(
        np.random.default_rng(2).integers(0, 1500, N), unit="D"
    )


def labels():
    return np.where(np.arange(N) % 3 == 0, "yes", "no")


def european(value: float, digits: int = 2, group: str = ".") -> str:
    return f"{value:,.{digits}f}".replace(",", "_").replace(".", ",").replace("_", group)


NUMBERS = {  # format of the schema: how the amount is written
    "$1,234.56": lambda v: f"${v:,.2f}" if v >= 0 else f"-${-v:,.2f}",
    "1.234,56": european,
    "1 234,56": lambda v: european(v, group=" "),
    "1'234.56": lambda v: f"{v:,.2f}".replace(",", "'"),
    "1,234.56": lambda v: f"{v:,.2f}" if v >= 0 else f"({-v:,.2f})",
    "1234.56%": lambda v: f"{v:.2f}%",
    "1234.56 kg": lambda v: f"{v:.2f} kg",
    "1234,56": lambda v: f"{v:.2f}".replace(".", ","),
    "€ 1.234,56": lambda v: f"€ {european(v)}",
    "1234.56 €": lambda v: f"{v:.2f} €",
    "R$ 1.234,56": lambda v: f"R$ {european(v)}",
    "1234.56": lambda v: f"{v:.2f}" if v >= 0 else f"{-v:.2f}-",
    "": lambda v: f"{v:+.6e}",
}
DATES = {
    "31/12/2024": "%d/%m/%Y",
    "12/31/2024": "%m/%d/%Y",
    "31.12.2024": "%d.%m.%Y",
    "2024/12/31": "%Y/%m/%d",
    "31-Dec-2024": "%d-%b-%Y",
    "Dec 31, 2024": "%b %d, %Y",
    "31 Dec 2024": "%d %B %Y",
    "31-12-24": "%d-%m-%y",
    "": "%Y-%m-%d",
}


def fitted(column, source=pd.DataFrame):
    return NaiveBayes().fit(source({"x": column, "y": labels()}), "y")


def assert_same_model(one, other):
    assert one.schema_["x"].density == other.schema_["x"].density
    assert one.stats_.fingerprint() == other.stats_.fingerprint()


# The model of the clean twin ----------------------------------------------------------------------


@pytest.mark.parametrize("format_", NUMBERS)
def test_formatted_numbers_give_the_model_of_plain_numbers(format_, amounts, tmp_path):
    texts = [NUMBERS[format_](v) for v in amounts]
    twin = fitted(amounts)
    model = fitted(texts)
    assert model.schema_["x"].format == format_
    assert_same_model(model, twin)
    if format_:
        assert f'number "{format_}"' in str(model.schema_)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": texts, "y": labels()}).to_csv(path, index=False)
    assert_same_model(NaiveBayes().fit(path, "y"), twin)
    new = model.predict_proba(pd.DataFrame({"x": texts}))
    np.testing.assert_array_equal(new, twin.predict_proba(pd.DataFrame({"x": amounts})))


@pytest.mark.parametrize("format_", DATES)
def test_formatted_dates_give_the_model_of_dates(format_, moments, tmp_path):
    texts = moments.strftime(DATES[format_])
    twin = fitted(moments)
    model = fitted(texts)
    assert model.schema_["x"].format == format_
    assert_same_model(model, twin)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": texts, "y": labels()}).to_csv(path, index=False)
    assert_same_model(NaiveBayes().fit(path, "y"), twin)


@pytest.mark.parametrize(
    "written",
    ["%d/%m/%Y %H:%M", "%d/%m/%Y, %H:%M:%S", "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%SZ",
     "%Y-%m-%dT%H:%M:%S+0200", "%Y/%m/%d %H:%M:%S.000", "%a, %d %b %Y %H:%M:%S +0000",
     "%Y-%m-%d %H:%M"],
)  # fmt: skip
def test_times_and_zones_of_written_dates(written, moments):
    when = moments + pd.to_timedelta(np.arange(N) * 37, unit="min")
    assert_same_model(fitted(when.strftime(written)), fitted(when))


@pytest.mark.parametrize("source", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_every_kind_of_table_reads_formats(source, amounts):
    texts = [NUMBERS["$1,234.56"](v) for v in amounts]
    assert_same_model(fitted(texts, source), fitted(amounts))


def test_strings_of_duckdb_and_dictionaries(amounts):
    import duckdb

    texts = [european(v) for v in amounts]
    frame = pd.DataFrame({"x": texts, "y": labels()})  # noqa: F841
    found = duckdb.connect().sql("SELECT * FROM frame")
    assert_same_model(NaiveBayes().fit(found, "y"), fitted(amounts))
    model = fitted(texts)
    coded = pa.table({"x": pa.array(texts).dictionary_encode()})
    view = pa.table({"x": pa.array(texts, pa.string_view())})
    plain = model.predict_proba(pa.table({"x": texts}))
    for table in (coded, view):
        np.testing.assert_array_equal(model.predict_proba(table), plain)


def test_several_formats_of_dates_in_one_column(moments):
    texts = [m.strftime(("%d/%m/%Y", "%Y-%m-%d", "%d-%b-%Y")[i % 3]) for i, m in enumerate(moments)]
    model = fitted(texts)
    assert model.schema_["x"].format == "31/12/2024 or 2024-12-31 or 31-Dec-2024"
    assert_same_model(model, fitted(moments))


def test_separators_of_dates_have_their_own_order(moments):
    texts = [m.strftime(("%d.%m.%Y", "%m/%d/%Y")[i % 2]) for i, m in enumerate(moments)]
    model = fitted(texts)
    assert model.schema_["x"].format == "12/31/2024 or 31.12.2024"
    assert_same_model(model, fitted(moments))


def test_digits_of_all_scripts_are_digits(amounts, moments):
    def arabic(text):
        return "".join(chr(0x660 + int(c)) if c.isdigit() else c for c in text)

    assert_same_model(fitted([arabic(f"{v:.2f}") for v in amounts]), fitted(amounts))
    marks = str.maketrans(".,", "٫٬")
    written = [arabic(f"{v:,.2f}").translate(marks) for v in amounts]
    assert_same_model(fitted(written), fitted(amounts))
    days = [arabic(text) for text in moments.strftime("%d/%m/%Y")]
    assert_same_model(fitted(days), fitted(moments))
    codes = {"x": [arabic(f"{i % 7:03d}") for i in range(N)], "y": labels()}
    assert look(codes)["x"].role == "category"
    kept = verosim.CategoricalNB().fit(codes, "y").categories_[0]
    assert kept[0] == "٠٠٠"  # a category keeps its text
    halves = look({"x": ["½", "²", "¾"] * 40})["x"]
    assert halves.role == "category"


def test_a_group_of_spaces_may_be_of_any_width(amounts):
    for space in "\u00a0", "\u2009", "\u202f":
        assert_same_model(fitted([european(v, group=space) for v in amounts]), fitted(amounts))


def test_lakh_and_crore():
    found = find_format(["12,34,567.50", "99,999", "1,00,000", "500.25"])
    values, fits = found.format.read(pa.array(["12,34,567.50", "1,00,000"]))
    assert fits.all()
    assert values.to_pylist() == [1234567.5, 100000.0]


# The same rule for later rows ---------------------------------------------------------------------


def test_later_rows_are_read_by_the_format_of_the_first(amounts):
    texts = [european(v) for v in amounts]
    table, clean = ({"x": c, "y": labels()} for c in (texts, amounts))
    model, twin = (NaiveBayes().fit(t, "y") for t in (table, clean))
    more = {"x": ["950", "1.200", "12,5", "(3,25)", None], "y": ["no"] * 5}
    same = {"x": [950.0, 1200.0, 12.5, -3.25, None], "y": ["no"] * 5}
    for change in ("partial_fit", "forget"):
        getattr(model, change)(more, "y")
        getattr(twin, change)(same, "y")
        assert model.stats_.fingerprint() == twin.stats_.fingerprint()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out = [verosim.cross_validate(NaiveBayes(), t, "y", cv=3) for t in (table, clean)]
    assert held_out[0].scores["accuracy"].tolist() == held_out[1].scores["accuracy"].tolist()
    np.testing.assert_array_equal(  # plain numbers need no format
        model.predict_proba(same), model.predict_proba(more)
    )


def test_models_of_numbers_and_of_dependent_columns_read_formats(amounts):
    texts = {"x": [f"{v:.1f} kg" for v in amounts], "z": [f"${v:,.1f}" for v in amounts[::-1]]}
    tenths = np.array([float(f"{v:.1f}") for v in amounts])
    clean = {"x": tenths, "z": tenths[::-1]}
    for model in (verosim.LDA, verosim.GaussianNB, verosim.TAN):
        one, other = (model().fit({**t, "y": labels()}, "y") for t in (texts, clean))
        np.testing.assert_array_equal(one.predict_proba(texts), other.predict_proba(clean))


@pytest.mark.parametrize(
    ("fitted_on", "cell", "match"),
    [
        ("$1,234.56", "what", r"Column 'x', row 1: 'what' is not a number like \"\$1,234.56\"\."),
        ("$1,234.56", "EUR 12", r"'EUR 12' is not a number like .* Write the number like \"\$1,2"),
        ("1.234,56", "1,234.56", r"columns=\{'x': 'number \"1,234.56\"'\}"),
        ("1234.56 kg", "155 lb", r"'155 lb' is not a number like \"1234.56 kg\""),
        (
            "",
            "$15,285.12",
            r"'\$15,285.12' is not a number\. Hint: Write the number like \"1234.56",
        ),
    ],
)
def test_a_cell_that_does_not_fit_is_named(fitted_on, cell, match, amounts):
    model = fitted([NUMBERS[fitted_on](v) for v in amounts])
    good = NUMBERS[fitted_on](12.5)
    for call in (model.predict, model.predict_proba):
        with pytest.raises(VerosimError, match=match):
            call({"x": [good, cell]})
    before = model.stats_.fingerprint()
    with pytest.raises(VerosimError, match=match):
        model.partial_fit({"x": [good, cell], "y": ["no", "yes"]}, "y")
    assert model.stats_.fingerprint() == before


@pytest.mark.parametrize(
    ("written", "cell"),
    [("%d/%m/%Y", "12/31/2024"), ("%Y-%m-%d", "31/12/2024"), ("%d.%m.%Y", "30.02.2024"),
     ("%d/%m/%Y", "31/12/2024 25:00")],
)  # fmt: skip
def test_a_date_that_does_not_fit_is_named(written, cell, moments):
    model = fitted(moments.strftime(written))
    with pytest.raises(VerosimError, match=f"Column 'x', row 0: '{cell}' is not a date like"):
        model.predict({"x": [cell]})


# What does not fit, and what has two meanings -----------------------------------------------------


def test_what_did_not_fit_is_missing_and_listed(amounts):
    texts = [european(v) for v in amounts]
    texts[3] = texts[40] = "lost"
    texts[7] = "ask Ana"
    schema = look({"x": texts})
    assert schema["x"].role == "number"
    assert schema["x"].missing == ("lost", "ask Ana")
    assert "x: 3 cells are not numbers and are read as missing: 'lost', 'ask Ana'." in str(schema)
    clean = amounts.copy()
    clean[[3, 40, 7]] = np.nan
    model = fitted(texts)
    assert_same_model(model, fitted(clean))
    np.testing.assert_array_equal(
        model.predict_proba({"x": ["lost"]}), model.predict_proba({"x": [None]})
    )
    with pytest.raises(VerosimError, match="'ask Eva' is not a number like"):
        model.predict({"x": ["ask Eva"]})


def test_plain_numbers_with_a_few_words_are_numbers(amounts, tmp_path):
    texts = [f"{v:.1f}" for v in amounts]
    clean = np.array([float(text) for text in texts])
    texts[5], clean[5] = "unknown", np.nan
    assert_same_model(fitted(texts), fitted(clean))
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": texts, "y": labels()}).to_csv(path, index=False)
    model = NaiveBayes().fit(path, "y")
    assert_same_model(model, fitted(clean))
    assert model.schema_["x"].missing == ("unknown",)
    assert "1 cell is not numbers" not in str(model.schema_)
    assert "1 cell is not a number and is read as missing: 'unknown'." in str(model.schema_)


def test_dates_with_impossible_days_are_listed(moments):
    texts = list(moments.strftime("%Y-%m-%d"))
    texts[4] = "0000-00-00"
    texts[9] = "2023-02-30"
    schema = look({"x": texts})
    assert schema["x"].role == "date/time"
    assert schema["x"].missing == ("0000-00-00", "2023-02-30")
    assert "2 cells are not dates and are read as missing: '0000-00-00', '2023-02-30'" in str(
        schema
    )


def test_the_order_of_day_and_month_is_decided_by_the_column():
    unsure = [f"{d:02d}/{m:02d}/2024" for d in range(1, 13) for m in range(1, 13)]
    column = look({"x": unsure})["x"]
    assert (column.role, column.format) == ("date/time", "31/12/2024")
    assert "The day is read before the month, but no value decides this" in column.note
    assert "columns={'x': 'date \"12/31/2024\"'}" in column.note
    for last, format_ in (("13/01/2024", "31/12/2024"), ("01/13/2024", "12/31/2024")):
        column = look({"x": [*unsure, last]})["x"]
        assert (column.format, column.note) == (format_, "")
    both = look({"x": ["13/01/2024", "01/13/2024"] * 30})["x"]
    assert both.role == "category"
    given = look({"x": unsure}, columns={"x": 'date "12/31/2024"'})["x"]
    assert (given.format, given.note, given.reason) == ("12/31/2024", "", "set by the user")


def test_a_separator_without_a_deciding_value_is_listed():
    column = look({"x": ["10.06.1986", "04/09/1984", "17.10.1994"] * 10})["x"]
    assert column.format == "31/12/2024 or 31.12.2024"
    assert "The day is read before the month, but no value with '/' decides this." in column.note
    assert "columns={'x': 'date \"12/31/2024 or 31.12.2024\"'}" in column.note


@pytest.mark.parametrize(
    ("texts", "format_", "note"),
    [
        (["9,955", "1,200", "300"], "1,234.56", "'9,955' is read as 9955. If it means 9.955, use"),
        (["9,955", "12345", "3,100"], "1234,56", "'9,955' is read as 9.955. If it means 9955, use"),
        (["9,955", "0,300", "3,100"], "1234,56", ""),
        (["9,955", "12,5"], "1234,56", ""),
        (["9,955", "1,234,567"], "1,234.56", ""),
        (["9,955", "1,200.5"], "1,234.56", ""),
        (["€ 9.955", "€ 300"], "€ 1.234,56", "'€ 9.955' is read as 9955."),
        (["9.955 kg", "300 kg"], "1234.56 kg", "'9.955 kg' is read as 9.955."),
        (["1.234.567", "1.500"], "1.234,56", ""),
        (["1,2", "1,3", "2,3"], "1234,56", "'1,2' is read as 1.2. If the values are lists of"),
    ],
)
def test_marks_with_two_meanings_are_decided_by_the_column(texts, format_, note):
    column = look({"x": texts * 20})["x"]
    assert (column.role, column.format) == ("number", format_)
    assert column.note.startswith(note)
    assert bool(note) or "is read as" not in column.note


def test_dots_that_may_separate_thousands_are_listed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "1.234\n950\n12.500\n" * 10)
    column = look(path)["x"]
    assert (column.role, column.format) == ("number", "")
    assert "'1.234' is read as a decimal number" in column.note
    given = look(path, columns={"x": 'number "1.234,56"'})["x"]
    assert (given.format, given.whole) == ("1.234,56", True)
    path.write_text("x\n" + "1.234\n950\n12.5\n" * 10)
    assert look(path)["x"].note == ""


def test_years_with_two_digits_are_listed(moments):
    column = look({"x": moments.strftime("%d/%m/%y")})["x"]
    assert "Years with two digits are read as 1969 to 2068." in column.note


@pytest.mark.parametrize(
    "texts",
    [
        ["01001", "28013", "08001"],  # postal codes
        ["600 123 456", "611 222 333", "699 000 111"],  # telephones
        ["+34 600 123 456", "+34 611 222 333", "+1 200 300 400"],
        ["A11", "A12", "A34"],
        ["12A", "13B", "14C"],
        ["1.2.3", "1.10.4", "2.0.1"],
        ["192.168.1.1", "10.0.0.12", "172.16.0.1"],
        ["<5", ">10", "5-10"],
        ["12:30", "07:15", "23:59"],
        ["1st", "2nd", "3rd"],
        ["1,2,3", "1,2", "3,4"],
        ["3 x 4", "5 x 6", "7 x 8"],
        ["nan", "inf", "infinity"],
        ["3/4", "1/2", "2/3"],
    ],
)
def test_codes_are_not_numbers(texts, tmp_path):
    assert look({"x": texts * 20})["x"].role == "category"
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": texts * 20}).to_csv(path, index=False)
    assert look(path)["x"].role == "category"


def test_several_units_are_not_one_number():
    texts = [f"{50 + i % 30}.5 {'kg' if i % 2 else 'lb'}" for i in range(N)]
    column = look({"x": texts})["x"]
    assert column.role == "category"
    assert "numbers with different units: 'lb', 'kg'" in column.note
    apart = look({"x": [f"{i}.5 {'kg' if i % 2 else 'lb'}" for i in range(N)]})["x"]
    assert apart.role == "ignored"
    assert "different units" in apart.note


def test_a_unit_has_a_singular(tmp_path):
    texts = [f"{i % 12} year{'s' if i % 12 != 1 else ''}" for i in range(N)]
    model = fitted(texts)
    assert model.schema_["x"].format == "1234.56 years"
    assert_same_model(model, fitted(np.arange(N) % 12))


def test_cells_without_the_unit_are_listed():
    texts = [f"{i}.5 kg" for i in range(60)]
    half = look({"x": [*texts, *(f"{i}.25" for i in range(60))]})["x"]
    assert (half.role, half.format) == ("number", "1234.56 kg")
    assert "'0.25' has no unit. It is read in the unit 'kg' of the other values." in half.note
    few = look({"x": [*(f"{i}.25" for i in range(60)), "3.5 kg"]})["x"]
    assert (few.role, few.format, few.missing) == ("number", "", ("3.5 kg",))


def test_whole_numbers_that_are_text_in_a_frame_may_be_codes():
    texts = [str(i % 40) for i in range(N)]
    column = look({"x": texts})["x"]
    assert column.role == "category"
    assert "numbers that are stored as text" in column.note
    declared = pd.DataFrame({"x": pd.Categorical([f"${i % 4}" for i in range(N)])})
    assert look(declared)["x"].role == "category"


# The user decides ---------------------------------------------------------------------------------


def test_the_user_gives_the_kind_and_the_format(amounts):
    texts = [f"{v:,.0f}" for v in amounts.clip(1000)]
    table = {"x": texts, "y": labels()}
    column = look(table, "y", columns={"x": "category"})["x"]
    assert column.role == "category"
    assert column.frequent == ()
    assert verosim.CategoricalNB().fit(table, "y").categories_[0] == sorted(set(texts))
    whole = [float(text.replace(",", "")) for text in texts]
    for kind in ("number", 'number "1,234.56"', 'gaussian "1,234"', 'histogram "1,234.56"'):
        model = NaiveBayes(columns={"x": kind}).fit(table, "y")
        clean = NaiveBayes(columns={"x": kind.split()[0]}).fit({**table, "x": whole}, "y")
        assert model.stats_.fingerprint() == clean.stats_.fingerprint()
    decimals = NaiveBayes(columns={"x": 'number "1234,56"'}).fit(table, "y")
    thousandths = NaiveBayes().fit({**table, "x": [w / 1000 for w in whole]}, "y")
    np.testing.assert_array_equal(
        decimals.predict_proba({"x": ["9,955"]}), thousandths.predict_proba({"x": [9.955]})
    )
    given = NaiveBayes(columns={"x": 'number "1.234,56"'}).fit({**table, "x": whole}, "y")
    np.testing.assert_array_equal(  # the texts of later rows have the format
        given.predict_proba({"x": ["1.234,5"]}), given.predict_proba({"x": [1234.5]})
    )
    days = [f"{d:02d}/12/2024" for d in range(1, 31)] * 4
    as_number = NaiveBayes(columns={"x": "gaussian"}).fit({**table, "x": days}, "y")
    clean = pd.to_datetime(pd.Series(days), format="%d/%m/%Y")
    assert as_number.stats_.fingerprint() == NaiveBayes(columns={"x": "gaussian"}).fit(
        pd.DataFrame({**table, "x": clean}), "y"
    ).stats_.fingerprint()  # fmt: skip
    with pytest.raises(VerosimError, match="'9,955' is not a date"):
        NaiveBayes().fit({"x": ["9,955", "1,234"], "y": ["a", "b"]}, "y",
                         schema=look(table, "y").edit({"x": "date"}))  # fmt: skip
    words = look({"x": ["lost", *days]}).edit({"x": "category"})["x"]
    assert words.missing == ()  # every text of a category is a value
    edited = look(table, "y").edit({"x": 'gaussian "1234,56"'})
    assert NaiveBayes().fit(table, "y", schema=edited).predict({"x": ["9,955"]}).size == 1
    few = {"x": ["1.5 m", "unknown", "2 m", "none"], "y": list("abab")}
    with pytest.raises(VerosimError, match=r"row 1: 'unknown' is not a number like \"1234.56 m\""):
        NaiveBayes(columns={"x": "number"}).fit(few, "y")


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ('number "12,5"', "'12,5' is not the format of a number or a date"),
        ('number "31/12/2024"', "'number' cannot have the format \"31/12/2024\""),
        ('category "1,234.56"', "'category' cannot have the format"),
        ('date "12/12/2024"', "is not the format of a number or a date"),
        ('number "1.234.56"', "is not the format"),
        ('amount "1,234.56"', "is not a kind of column"),
    ],
)
def test_a_wrong_format_is_refused(kind, match):
    for call in (
        lambda: look({"x": ["1,5", "2,5"]}, columns={"x": kind}),
        lambda: look({"x": ["1,5", "2,5"]}).edit({"x": kind}),
    ):
        with pytest.raises(VerosimError, match=match):
            call()


@pytest.mark.parametrize("format_", [*filter(None, NUMBERS), *filter(None, DATES)])
def test_a_format_is_read_as_it_is_printed(format_):
    assert str(parsed_format(format_)) == format_


def test_formats_are_saved_with_the_schema(amounts, tmp_path):
    texts = ["lost", *(european(v) for v in amounts[1:])]
    table = {"x": texts, "y": labels()}
    schema = look(table, "y")
    schema.save(tmp_path / "schema.json")
    again = verosim.Schema.load(tmp_path / "schema.json")
    assert again == schema
    assert again["x"].missing == ("lost",)
    one, other = (NaiveBayes().fit(table, "y", schema=s) for s in (schema, again))
    assert one.stats_.fingerprint() == other.stats_.fingerprint()
    raw = json.loads((tmp_path / "schema.json").read_text())
    for column in raw["columns"]:  # as files were written before there were formats
        del column["format"], column["missing"]
    (tmp_path / "old.json").write_text(json.dumps(raw))
    assert verosim.Schema.load(tmp_path / "old.json")["x"].format == ""
    raw["columns"][0]["format"] = "nonsense"
    (tmp_path / "wrong.json").write_text(json.dumps(raw))
    with pytest.raises(VerosimError, match="'nonsense' is not the format"):
        verosim.Schema.load(tmp_path / "wrong.json")


# Random tables ------------------------------------------------------------------------------------

MARKS = [("", "."), (",", "."), (".", ","), (" ", ","), ("\u00a0", ","), ("\u202f", ","),
         ("'", "."), ("’", "."), ("", ","), ("\u2009", ".")]  # fmt: skip
UNITS = [("", "")] * 6 + [
    ("$", ""), ("€ ", ""), ("R$ ", ""), ("US$", ""), ("£", ""), ("CHF ", ""), ("", " €"), ("", "€"),
    ("", " zł"), ("", "%"), ("", " %"), ("", " kg"), ("", "kg"), ("", " km/h"), ("", "°C"),
    ("", " m²"), ("", "\u00a0USD"), ("", " units"),
]  # fmt: skip
MISSING = ["", "", "n/a", "?", "unknown", "-", "NA", "s/d", "#N/A", "no data", "."]
DATE_PARTS = [
    ("%d/%m/%Y",), ("%m/%d/%Y",), ("%d.%m.%Y",), ("%d-%m-%Y",), ("%Y/%m/%d",), ("%Y-%m-%d",),
    ("%d-%b-%Y",), ("%d %B %Y",), ("%b %d, %Y",), ("%B %d, %Y",), ("%d/%m/%y",), ("%Y.%m.%d",),
    ("%d/%m/%Y", "%Y-%m-%d"), ("%m/%d/%Y", "%d-%b-%Y"), ("%d.%m.%Y", "%m/%d/%Y"),
]  # fmt: skip
TIMES = ["", "", "", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", "T%H:%M:%SZ", " %H:%M+02:00"]


def written_number(value: Decimal, group, decimal, unit, negative) -> str:
    text = f"{abs(value):,f}".replace(",", "_").replace(".", decimal).replace("_", group)
    before, after = unit
    if value >= 0:
        return f"{before}{text}{after}"
    return {
        "-": f"-{before}{text}{after}", "−": f"−{before}{text}{after}",
        "()": f"({before}{text}{after})", "after": f"{before}{text}-{after}",
    }[negative]  # fmt: skip


def number_column(rnd: random.Random, n: int) -> tuple[list[str], list[float]]:
    """Texts of one random format, and the numbers that they mean."""
    (group, decimal), unit = rnd.choice(MARKS), rnd.choice(UNITS)
    digits, size = rnd.randrange(4), rnd.choice([2, 3, 4, 5, 7])
    negative = rnd.choice(["-", "-", "−", "()", "after"])
    low = rnd.choice([0, 0, -(10**size)])
    values = [
        Decimal(rnd.randint(low * 10**digits, 10 ** (size + digits))).scaleb(-digits)
        for _ in range(n)
    ]
    texts = [written_number(v, group, decimal, unit, negative) for v in values]
    return texts, [float(v) for v in values]


def date_column(rnd: random.Random, n: int) -> tuple[list[str], list[float]]:
    """Texts of one or two random formats, and the days since 1970 that they mean."""
    forms, time = rnd.choice(DATE_PARTS), rnd.choice(TIMES)
    start = datetime(1970, 1, 1)
    texts, days = [], []
    for _ in range(n):
        moment = start + timedelta(days=rnd.randrange(36_000))
        if time:
            moment += timedelta(minutes=rnd.randrange(1440))
        texts.append(moment.strftime(rnd.choice(forms) + time))
        days.append((moment - start) / timedelta(days=1))
    return texts, days


def check_random_table(rnd: random.Random, path: Path) -> None:
    """The cells of a random table are read as they were meant, or listed under *to check*."""
    n = rnd.randrange(40, 90)
    columns, truths = {}, {}
    for j in range(3):
        texts, truth = rnd.choice([number_column, number_column, date_column])(rnd, n)
        for mark in rnd.sample(MISSING, rnd.randrange(4)):
            row = rnd.randrange(n)
            texts[row], truth[row] = mark, np.nan
        columns[f"c{j}"], truths[f"c{j}"] = texts, np.array(truth)
    table = rnd.choice([pa.table, pd.DataFrame])(columns)
    if rnd.random() < 0.3:
        pd.DataFrame(columns).to_csv(path, index=False)
        table = path
    schema = look(table)
    (rows,) = open_table(table).batches()
    MixedReader(schema).block(rows)
    for column in schema:
        truth, texts = truths[column.name], columns[column.name]
        shown = f"{texts[:8]} {column}"
        if column.role in ("category", "ignored"):  # whole numbers that are text may be codes
            assert "numbers" in column.note, shown
            continue
        exact = column.role == "number"
        read = by_format(column, cells.numbers if exact else cells.days)
        found = read(rows.batch.column(column.name), frozenset())
        same = np.allclose(found, truth, rtol=0 if exact else 1e-12, atol=0, equal_nan=True)
        assert same or "is read" in column.note, shown
        assert (np.isnan(found) == np.isnan(truth)).all(), shown


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("random") / "t.csv"


@given(st.integers(0, 2**32))
def test_random_formats_are_read_as_they_were_meant(path, seed):
    check_random_table(random.Random(seed), path)


PIECES = st.sampled_from(
    [*"0123456789", *"....,,,,''’  -−+()/:%$€eETZ°²½٣३", "\u00a0", "\u202f", "1,234", "2024", "31",
     "12", "Dec", "kg", "USD", "R$", "AM", "00", "-0", "nan"]
)  # fmt: skip


@pytest.mark.parametrize("space", [" ", "\u202f", "\xa0"])
@pytest.mark.parametrize("missing", ["no data", "n/a", "5 000 000,00"])
def test_amounts_of_one_length_are_not_telephone_numbers(space, missing):
    """Millions with spaces and decimals have nine digits and one length, as telephone numbers."""
    texts = [f"{i} 03{i} 96{i},8{i % 7}".replace(" ", space) for i in range(1, 10)]
    column = look({"x": [*texts, missing], "z": [1.0] * 10})["x"]
    assert column.role == "number"
    assert column.format


@given(st.lists(st.lists(PIECES, max_size=9).map("".join), min_size=1, max_size=30))
def test_any_text_is_read_or_refused_with_an_error_of_verosim(texts):
    """What the first look reads, a model can be fitted on, and the format reads its own example."""
    table = {"x": texts, "z": [1.0] * len(texts)}
    schema = look(table)
    reader = MixedReader(schema)
    (rows,) = open_table(table).batches()
    reader.block(rows)
    if schema["x"].format:
        assert str(parsed_format(schema["x"].format)) == schema["x"].format
    for kind in ("number", "date"):
        with contextlib.suppress(VerosimError):
            look(table, columns={"x": kind})


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_very_many_random_formats_are_read_as_they_were_meant(path, part):
    for seed in range(part * 12_500, (part + 1) * 12_500):
        check_random_table(random.Random(seed), path)
