"""Dates that are infinite or out of range are refused by column, row and value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import verosim
from verosim import NaiveBayes, VerosimError

BIG = 2**63 - 1
WRONG = {
    "infinity": (BIG, pa.timestamp("us"), "'infinity'"),
    "minus infinity": (-BIG, pa.timestamp("us"), "'-infinity'"),
    "least": (-BIG - 1, pa.timestamp("ns"), "'-infinity'"),
    "zone": (BIG, pa.timestamp("us", "Europe/Madrid"), "'infinity'"),
    "seconds": (10**15, pa.timestamp("s"), "'31690708-"),
    "milliseconds": (2**62, pa.timestamp("ms"), "'146140482-"),
    "days": (2**31 - 1, pa.date32(), "'infinity'"),
    "minus days": (-(2**31) + 1, pa.date32(), "'-infinity'"),
    "day": (2_932_897, pa.date32(), "'10000-01-01'"),
    "date64": (2**62, pa.date64(), "'146"),
    "year 0": (-719_163, pa.date32(), "'0000-12-31'"),
}
KINDS = ["date", "date+trend", "category", "gaussian"]


def _table(value: int, type_: pa.DataType, n: int = 30) -> pa.Table:
    step = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.get(
        getattr(type_, "unit", ""), 1000
    )
    step = 1 if type_ == pa.date32() else step
    plain = [step * (18_000 + i) for i in range(n)]
    plain[17] = value
    raw = pa.array(plain, pa.int32() if type_ == pa.date32() else pa.int64())
    return pa.table({"when": raw.cast(type_), "y": [0, 1] * (n // 2)})


@pytest.mark.parametrize("case", WRONG)
def test_fit_refuses_dates_out_of_range(case):
    value, type_, shown = WRONG[case]
    with pytest.raises(VerosimError, match=r"'when', row 17: .*a date between the years") as error:
        NaiveBayes().fit(_table(value, type_), "y")
    assert shown in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["infinity", "seconds", "days"])
def test_every_kind_of_column_refuses_them_at_fit_and_predict(case, kind):
    value, type_, shown = WRONG[case]
    wrong, right = _table(value, type_), _table(86_400, type_)
    with pytest.raises(VerosimError, match=r"'when', row 17: .*a date between the years"):
        NaiveBayes(columns={"when": kind}).fit(wrong, "y")
    model = NaiveBayes(columns={"when": kind}).fit(right, "y")
    with pytest.raises(VerosimError, match=r"'when', row 17: .*a date between the years") as error:
        model.predict(wrong)
    assert shown in str(error.value)
    with pytest.raises(VerosimError, match="'when', row 17"):
        model.partial_fit(wrong, "y")


def test_an_ignored_column_may_have_them():
    table = _table(BIG, pa.timestamp("us")).append_column("x", pa.array(np.sin(np.arange(30.0))))
    model = NaiveBayes(columns={"when": "ignore"}).fit(table, "y")
    assert len(model.predict(table)) == 30


def test_labels_refuse_them():
    table = _table(BIG, pa.timestamp("us")).append_column("x", pa.array(np.sin(np.arange(30.0))))
    with pytest.raises(VerosimError, match=r"'when', row 17: 'infinity'"):
        NaiveBayes().fit(table, "when")


def test_the_first_and_the_last_day_are_dates():
    table = {"when": pa.array([-719_162, 2_932_896] * 10, pa.date32()), "y": [0, 1] * 10}
    model = NaiveBayes(columns={"when": "date+trend"}).fit(table, "y")
    assert np.isfinite(model.predict_proba(table)).all()
    far = pd.DataFrame({"when": ["9999-12-31 23:59:59"]})
    plain = NaiveBayes().fit(_table(0, pa.timestamp("us")).to_pandas(), "y")
    assert len(plain.predict(far)) == 1


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_an_infinite_date_of_duckdb_is_refused(kind):
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql(
        f"select case when i = 5 then {kind} 'infinity' else {kind} '2020-01-01' end as d, "
        "i % 2 as y from range(30) t(i)"
    )
    with pytest.raises(VerosimError, match=r"Column 'd', row 5: 'infinity' is not a date between"):
        verosim.NaiveBayes().fit(rows, "y")
