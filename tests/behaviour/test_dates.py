"""Dates: hour, weekday and month by default, the position in time on request."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from verosim import KDB, NaiveBayes, Schema, cross_validate, look
from verosim.data.schema_json import with_trends
from verosim.kinds import registry


@pytest.fixture
def applicants(rng):
    """Later applicants of 2021 to 2023 are refused less often, and weekends more often."""
    day = np.sort(rng.integers(0, 3 * 365, 900))
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(day, unit="D")
    refused = rng.random(900) < 0.5 - 0.35 * day / (3 * 365) + 0.2 * (when.day_of_week > 4)
    return pd.DataFrame({"when": when, "income": rng.normal(size=900), "refused": refused})


def test_a_date_years_later_is_judged_by_its_calendar_alone(applicants):
    """The Gaussian of the position in time extrapolates, so it is not used by default."""
    plain = NaiveBayes().fit(applicants, "refused")
    trend = NaiveBayes(columns={"when": "date+trend"}).fit(applicants, "refused")
    same_calendar = pd.DataFrame({"when": pd.to_datetime(["2022-03-01", "2044-03-01"])})
    assert set(same_calendar.when.dt.day_of_week) == {1}
    p = plain.predict_proba(same_calendar)[:, 1]
    assert p[0] == p[1]
    q = trend.predict_proba(same_calendar)[:, 1]
    assert abs(q[0] - q[1]) > 0.1
    assert plain.schema_["when"].density == "date"
    assert plain.schema_["when"].reason == "dates, read as hour, weekday and month"
    assert trend.schema_["when"].role == "date/time"


def test_a_schema_saved_before_keeps_the_trend_of_its_dates(applicants, tmp_path):
    """In files without a version, "date" includes the position in time."""
    schema = look(applicants, "refused")
    schema.save(tmp_path / "new.json")
    assert Schema.load(tmp_path / "new.json") == schema
    raw = json.loads((tmp_path / "new.json").read_text())
    del raw["version"]
    (tmp_path / "old.json").write_text(json.dumps(raw))
    old = Schema.load(tmp_path / "old.json")
    assert old["when"].density == "date+trend"
    fields = dict(vars(schema))
    assert registry._schema(fields).columns == old.columns == with_trends(schema.columns)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert pickle.loads(pickle.dumps(old)) == old


@pytest.mark.parametrize("model", [NaiveBayes(), KDB(k=1)])
def test_sampled_dates_have_the_drawn_hour_weekday_and_month(model, rng):
    when = pd.to_datetime(rng.choice(["2021-02-06 10:00", "2023-07-09 22:00"], 300))
    frame = pd.DataFrame({"when": when, "x": rng.normal(size=300), "y": rng.integers(0, 2, 300)})
    frame.loc[:99, "when"] = pd.NaT
    drawn, _ = model.fit(frame, "y").sample(400, random_state=0)
    drawn = drawn["when"].dropna()
    assert len(drawn) > 100
    assert drawn.dtype == frame["when"].dtype
    assert set(drawn.dt.year) == {2024}
    common = pd.concat([drawn.dt.hour, drawn.dt.day_of_week, drawn.dt.month], axis=1)
    assert set(common.iloc[:, 0]) >= {10, 22}
    assert set(common.iloc[:, 1]) >= {5, 6}
    assert set(common.iloc[:, 2]) >= {2, 7}
    if isinstance(model, NaiveBayes):
        holed, _ = model.sample(2000, random_state=0, missing=True)
        assert holed["when"].isna().mean() == pytest.approx(1 / 3, abs=0.05)


def test_a_trend_can_be_edited_in_and_validated(applicants):
    schema = look(applicants, "refused")
    with_trend = schema.edit({"when": "date+trend"})
    days = [0, 1, 2] * 300
    plain, trend = (
        cross_validate(NaiveBayes(), applicants, "refused", cv=days, schema=s)
        for s in (schema, with_trend)
    )
    assert trend.mean("neg_log_loss") > plain.mean("neg_log_loss")  # within the range it helps
