"""The first look: roles, reasons, what is reported and not guessed, schemas as values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import verosim
from verosim import NaiveBayes, look

N = 300


@pytest.fixture
def frame(rng):
    y = rng.integers(0, 2, N)
    return pd.DataFrame(
        {
            "height": rng.normal(170 + 10 * y, 8),
            "income": np.exp(rng.normal(3 + y, 2)),
            "code": rng.choice([1, 2, 5], N),
            "flag": rng.choice([0, 1], N),
            "row": np.arange(N),
            "name": [f"person {i:04d}" for i in range(N)],
            "city": rng.choice(["Lima", "Quito", "La Paz"], N),
            "same": "always",
            "void": None,
            "born": pd.Timestamp("1990-05-17")
            + pd.to_timedelta(rng.integers(0, 9999, N), unit="D"),
            "said": [" ".join(rng.choice(list("abcdefgh"), 9)) for _ in range(N)],
            "true": rng.random(N) < 0.5,
            "y": np.where(y, "yes", "no"),
        }
    )


def test_roles_and_reasons(frame):
    schema = look(frame, target="y")
    roles = {column.name: column.role for column in schema}
    assert roles == {
        "height": "number", "income": "number", "code": "number", "flag": "number",
        "row": "ignored", "name": "ignored", "city": "category", "same": "category",
        "void": "ignored", "born": "date/time", "said": "text", "true": "boolean",
    }  # fmt: skip
    assert schema["income"].density == "histogram"  # skewed: a Gaussian tells less
    assert schema["height"].density == "gaussian"
    assert "identifier" in schema["row"].reason
    assert "identifier" in schema["name"].reason
    assert "constant" in schema["same"].reason
    # Codes are not guessed, they are reported.
    assert "'category'" in schema["code"].note
    assert "'boolean'" in schema["flag"].note
    assert all(column.reason for column in schema)


def test_weights_are_a_column_or_an_array(frame, rng):
    weights = rng.integers(0, 3, N).astype(float)
    named = look(frame.assign(w=weights), target="y", sample_weight="w")
    given = look(frame, target="y", sample_weight=weights.tolist())
    assert named.weight == "w"
    assert given.weight is None
    assert list(named) == list(given)
    assert list(given) != list(look(frame, target="y"))
    with pytest.raises(verosim.VerosimError, match="one weight per row"):
        look(frame, target="y", sample_weight=weights[:-1])


def test_the_schema_prints_as_a_table(frame):
    text = str(NaiveBayes().fit(frame, "y").schema_)
    assert text.splitlines()[0].split() == ["column", "type", "role", "density", "why"]
    assert "target: 'y' (text)" in text
    assert "to check:" in text
    assert "only the whole numbers 1, 2, 5" in text
    assert "from the first 300 rows" in text


def test_columns_override_by_name(frame):
    given = {"code": "category", "said": "text", "row": "ignore", "height": "histogram",
             "flag": "boolean", "name": "category", "born": "ignore"}  # fmt: skip
    schema = look(frame, target="y", columns=given)
    for name, density in given.items():
        assert schema[name].density == density
        assert schema[name].reason == "set by the user"
    model = NaiveBayes(columns=given).fit(frame, "y")
    assert set(model.stats_.parts) >= {"histogram", "category", "boolean", "text said"}
    assert set(model.stats_.parts) <= {"gaussian", *set(given.values()), "text said"}
    for columns, match in (
        (
            {"cod": "category"},
            "Column 'cod' of columns= is not in the table. Hint: Did you mean 'code'",
        ),
        ({"code": "categorical"}, "'categorical' is not a kind of column"),
        ("all", "columns must be .* or a dict; got .all."),
        (["code"], r"columns must be .* or a dict; got \[.code.\]"),
        ({"city": "gaussian"}, "'.*' is not a number"),
    ):
        with pytest.raises(verosim.VerosimError, match=match):
            NaiveBayes(columns=columns).fit(frame, "y")


def test_a_schema_is_a_value(frame, tmp_path):
    schema = look(frame, target="y")
    edited = schema.edit({"code": "category", "height": "histogram"})
    assert schema["code"].density != "category"
    assert edited["code"].density == "category"
    edited.save(tmp_path / "schema.json")
    again = verosim.Schema.load(tmp_path / "schema.json")
    assert again == edited
    a = NaiveBayes().fit(frame[:200], "y", schema=again)
    b = NaiveBayes().fit(frame[200:], "y", schema=edited)
    whole = NaiveBayes().fit(frame, "y", schema=edited)
    np.testing.assert_allclose(
        (a + b).predict_log_proba(frame), whole.predict_log_proba(frame), atol=1e-9
    )
    other = NaiveBayes().fit(frame, "y", schema=schema)
    with pytest.raises(
        verosim.VerosimError, match="Column 'height' is gaussian in this model and histogram in"
    ):
        other + a
    with pytest.raises(verosim.VerosimError, match="fitted on a table, the other on arrays"):
        verosim.GaussianNB().fit(frame[["height", "y"]], "y") + verosim.GaussianNB().fit(
            frame[["height"]], frame["y"]
        )
    with pytest.raises(verosim.VerosimError, match="Column 'nope' is not in the schema"):
        schema.edit({"nope": "text"})
    with pytest.raises(verosim.VerosimError, match="is not a schema"):
        verosim.Schema.load(tmp_path / "nothing.json")
    with pytest.raises(verosim.VerosimError, match="must be a Schema or None; got"):
        NaiveBayes().fit(frame, "y", schema={"a": 1})
    with pytest.raises(verosim.VerosimError, match="columns that are not in the table: 'code'"):
        NaiveBayes().fit(frame.drop(columns="code"), "y", schema=edited)
    assert verosim.LDA().fit(
        frame, "y", schema=schema.edit(dict.fromkeys(["city", "same", "born", "said"], "ignore"))
    ).feature_names_in_.tolist()[:3] == ["height", "income", "code"]


def test_text_in_a_csv_is_what_it_prints_as(tmp_path):
    """Numbers, truths and dates are read as such; codes with leading zeros stay text."""
    path = tmp_path / "t.csv"
    rows = [f"{i % 7}.5, {i},0{i % 9},{i % 2 == 0},2024-01-{i % 28 + 1:02d},{'ab'[i % 2]},{i % 2}"
            for i in range(60)]  # fmt: skip
    path.write_text("number,spaced,zip,truth,day,word,y\n" + "\n".join(rows))
    schema = look(path, target="y")
    roles = [column.role for column in schema]
    assert roles == ["number", "ignored", "category", "boolean", "date/time", "category"]
    assert schema.target_type == "integer"


def test_almost_numbers_are_reported(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{'lost' if i % 10 == 0 else i},{i % 2}" for i in range(80)]
    path.write_text("x,y\n" + "\n".join(rows))
    schema = look(path, target="y")
    assert schema["x"].role == "number"
    assert "8 cells are not numbers and are read as missing: 'lost'" in schema["x"].note
    assert look(path, target="y", na="lost")["x"].role == "number"
    few = path.with_name("few.csv")  # so few whole numbers may be codes
    rows = [f"{'lost' if i % 10 == 0 else i % 9},{i % 2}" for i in range(80)]
    few.write_text("x,y\n" + "\n".join(rows))
    schema = look(few, target="y")
    assert schema["x"].role == "category"
    assert "numbers except 'lost'" in schema["x"].note
    assert look(path, target="y", na="lost")["x"].role == "number"


def test_a_column_of_lists_is_ignored_and_said_so():
    schema = look({"x": [[1, 2], [3]], "z": [1.0, 2.0], "y": ["a", "b"]}, target="y")
    assert schema["x"].role == "ignored"
    assert "lists" in schema["x"].note


def test_dates_become_hour_weekday_month_and_on_request_a_number(rng):
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 10**7, 200), unit="s")
    frame = pd.DataFrame({"when": when, "y": rng.integers(0, 2, 200)})
    assert list(NaiveBayes().fit(frame, "y").stats_.parts) == ["category"]
    model = NaiveBayes(columns={"when": "date+trend"}).fit(frame, "y")
    words = model.stats_.parts["category"]
    assert list(words.axes.columns) == ["when.hour", "when.weekday", "when.month"]
    assert list(model.stats_.parts["gaussian"].axes.columns) == ["when"]
    values = words.axes.codes.values
    assert set(values[0]) == {str(h) for h in when.hour}
    assert set(values[1]) == {str(d) for d in when.day_of_week}
    assert set(values[2]) == {str(m) for m in when.month}
    counted = words.arrays["count"].sum(axis=(0, 1))
    at = values[1].index("3") + words.axes.codes.first[1]
    assert counted[at] == (when.day_of_week == 3).sum()
    days = (when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    means = model.state_.rule.params.parts["gaussian"].means
    np.testing.assert_allclose(model.class_prior_ @ means, days.to_numpy().mean(), rtol=1e-12)


def test_time_zones_and_old_dates():
    """Local hours are what count, and 1969 is before 1970."""
    when = pd.to_datetime(["1969-12-31 23:30", "2024-06-30 00:15", "2024-07-01 13:00"])
    zoned = when.tz_localize("America/Santiago")
    naive = [NaiveBayes().fit(pd.DataFrame({"w": w, "y": [0, 1, 1]}), "y") for w in (when, zoned)]
    values = [model.stats_.parts["category"].axes.codes.values for model in naive]
    assert values[0] == values[1]
    assert set(values[0][0]) == {"23", "0", "13"}
    assert set(values[0][1]) == {"2", "6", "0"}  # Wednesday, Sunday, Monday
    assert set(values[0][2]) == {"12", "6", "7"}
