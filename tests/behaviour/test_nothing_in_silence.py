"""Nothing wrong happens in silence: what a table may hide is read, listed, warned of or refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import verosim
from verosim import GaussianNB, NaiveBayes, VerosimError, VerosimWarning, look

MARKS = ["NA", "N/A", "n/a", "null", "None", "?", "-", ".", "s/d", "#N/A"]


def warned(call):
    """The result of a call, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = call()
    return out, [str(one.message) for one in caught if issubclass(one.category, VerosimWarning)]


def every_source(frame, folder):
    """The same cells as a CSV file, a Parquet file, and tables of three libraries."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return [
        folder / "t.csv", folder / "t.parquet", frame, pl.from_pandas(frame),
        pa.Table.from_pandas(frame), frame.to_dict("list"),
    ]  # fmt: skip


# Missing marks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS)
def test_missing_marks_of_a_category_are_counted_for_every_source(mark, tmp_path):
    hue = (["red", "blue", mark] * 9)[:25]
    frame = pd.DataFrame({"hue": hue, "y": (["a", "b"] * 13)[:25]})
    for source in every_source(frame, tmp_path):
        schema = look(source, "y")
        assert schema["hue"].role == "category"
        assert f"{mark!r} (8 cells). If so, use na=[{mark!r}]." in str(schema)


@pytest.mark.parametrize("mark", MARKS)
def test_numbers_with_missing_marks_are_numbers_with_holes_for_every_source(mark, rng, tmp_path):
    y = rng.choice(["a", "b"], 90)
    x = (rng.normal(size=90) + (y == "a")).round(3)
    hole = np.arange(90) % 9 == 0
    frame = pd.DataFrame({"x": np.where(hole, mark, x.astype(str)), "y": y})
    clean = NaiveBayes().fit({"x": np.where(hole, np.nan, x), "y": y}, "y")
    for source in every_source(frame, tmp_path):
        model = NaiveBayes().fit(source, "y")
        column = model.schema_["x"]
        assert (column.role, column.missing) == ("number", (mark,))
        assert f"{mark!r} (10 cells)" in column.note
        assert model.stats_.fingerprint() == clean.stats_.fingerprint()
        given = NaiveBayes().fit(source, "y", na=[mark]) if source is frame else model
        assert (model.predict_proba(source) == given.predict_proba(source)).all()


def test_dates_and_truth_values_with_missing_marks_are_read_with_holes():
    days = ["2024-01-02", "s/d", "2024-03-04", "2024-03-05"] * 6
    flags = ["TRUE", "NA", "FALSE", "TRUE"] * 6
    schema = look({"when": days, "paid": flags, "y": ["a", "b"] * 12}, "y")
    assert [c.role for c in schema] == ["date/time", "boolean"]
    assert [c.missing for c in schema] == [("s/d",), ("NA",)]


def test_marks_of_a_column_are_kept_in_the_schema_and_not_used_for_a_category(tmp_path):
    table = {"x": ["1", "2", "?", "4"] * 6, "y": ["a", "b"] * 12}
    schema = look(table, "y")
    schema.save(tmp_path / "s.json")
    assert verosim.Schema.load(tmp_path / "s.json") == schema
    edited = schema.edit({"x": "category"})
    assert edited["x"].missing == () == look(table, "y", columns={"x": "category"})["x"].missing
    values = NaiveBayes().fit(table, "y", schema=edited).stats_.parts["category"].axes.codes.values
    assert sorted(values[0]) == ["1", "2", "4", "?"]


def test_one_number_and_a_mark_is_a_category():
    """'1' and '-' are two answers: without the mark, nothing would be left."""
    assert look({"x": ["1", "-"] * 20, "y": ["a", "b"] * 20}, "y")["x"].role == "category"


@pytest.mark.parametrize("mark", [99, 999, -999, 9999, -9999, 99999, -999.9])
def test_numbers_far_outside_and_repeated_are_listed_for_every_source(mark, rng, tmp_path):
    x = rng.integers(0, 28, 60).astype(type(mark))
    x[::10] = mark
    for source in every_source(pd.DataFrame({"x": x, "y": rng.choice(["a", "b"], 60)}), tmp_path):
        assert f"'{mark}' (6 cells). If they mean missing, use na=['{mark}']." in str(look(source))
        assert f"'{mark}'" not in look(source, na=[mark])["x"].note


def test_numbers_within_the_range_or_seen_once_are_not_listed(rng):
    smooth, once = rng.integers(0, 2000, 500), rng.integers(0, 28, 500)
    smooth[:9], once[0] = 999, 999
    for column in look({"x": smooth, "z": once}):
        assert "missing" not in column.note


def test_codes_with_leading_zeros_have_a_note_that_can_be_used():
    """The note said: numbers but for nothing, then na=[]."""
    codes = [f"{i:05d}" for i in range(10)] * 3
    note = look({"zip": codes, "y": ["a", "b"] * 15}, "y")["zip"].note
    assert "na=[]" not in note
    assert "columns={'zip': 'gaussian'}" in note


# Rows without a target ----------------------------------------------------------------------------


def half_labelled(rng, n=40):
    y = np.where(np.arange(n) % 4 == 1, None, np.where(rng.random(n) < 0.5, "a", "b"))
    y[:2], y[2:4] = ["a", None], ["b", "a"]
    return pd.DataFrame({"x": rng.normal(size=n) + (y == "a"), "w": rng.integers(1, 4, n), "y": y})


def test_rows_without_a_target_are_counted(rng, tmp_path):
    frame = half_labelled(rng)
    for source in every_source(frame, tmp_path):
        with pytest.raises(VerosimError, match=r"'y' is missing in row 1.*and in 9 more of the 40"):
            NaiveBayes().fit(source, "y")
    with pytest.raises(VerosimError, match=r"row 1 is missing, and 9 more of the 40") as caught:
        GaussianNB().fit(frame[["x"]], frame["y"])
    assert 'unlabelled="skip"' in caught.value.hint


def test_rows_without_a_target_are_left_out_if_asked(rng, tmp_path):
    frame = half_labelled(rng)
    kept = frame[frame["y"].notna()]
    wanted = NaiveBayes().fit(kept, "y", sample_weight="w").stats_.fingerprint()
    for source in every_source(frame, tmp_path):
        model = NaiveBayes().fit(source, "y", sample_weight="w", unlabelled="skip")
        assert model.stats_.fingerprint() == wanted
        model = GaussianNB().fit(source, "y", sample_weight=frame["w"], unlabelled="skip")
        assert model.class_count_.sum() == kept["w"].sum()
    batches = (frame[i : i + 8] for i in range(0, 40, 8))
    model = NaiveBayes().fit(batches, "y", sample_weight="w", unlabelled="skip")
    assert model.class_count_.sum() == kept["w"].sum()
    model = GaussianNB().fit(frame[["x"]], frame["y"], frame["w"], unlabelled="skip")
    given = GaussianNB().fit(kept[["x"]], kept["y"], kept["w"])
    assert (model.class_count_ == given.class_count_).all()
    model = GaussianNB().partial_fit(frame, "y", sample_weight="w", unlabelled="skip")
    assert model.class_count_.sum() == kept["w"].sum()


def test_validation_leaves_rows_without_a_target_out_if_asked(rng):
    frame = half_labelled(rng)[["x", "y"]]
    kept = frame[frame["y"].notna()]
    found = verosim.cross_validate(GaussianNB(), frame, "y", cv=3, unlabelled="skip")
    assert found.confusion.sum() == len(kept)
    labels = verosim.cross_validate(
        GaussianNB(), frame[["x"]], frame["y"], cv=3, unlabelled="skip"
    ).confusion
    assert labels.sum() == len(kept)
    for call in (verosim.calibrate, verosim.reject):
        assert call(GaussianNB(), frame, "y", cv=3, unlabelled="skip").score(kept, "y") > 0.5
    assert verosim.auto(frame, "y", simple=True, cv=3, unlabelled="skip").model.score(kept) > 0.5


def test_labels_keep_their_type_if_some_are_missing():
    y = pd.Series([0, 1, np.nan, 1, 0])
    model = GaussianNB().fit(np.arange(5.0)[:, None], y, unlabelled="skip")
    assert model.classes_.tolist() == [0, 1]
    assert model.classes_.dtype.kind == "i"


def test_score_and_validation_know_the_target_of_the_fit(rng, tmp_path):
    frame = half_labelled(rng)[["x", "y"]].dropna()
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = GaussianNB().fit(tmp_path / "t.csv", "y")
    assert model.score(tmp_path / "t.csv") == model.score(frame, "y")
    assert verosim.calibrate(model, frame, cv=3).score(tmp_path / "t.csv") > 0.5
    assert verosim.cross_validate(model, tmp_path / "t.csv", cv=3).confusion.sum() == len(frame)
    with pytest.raises(VerosimError, match="The true labels y are needed"):
        GaussianNB().fit(frame[["x"]], frame["y"]).score(frame[["x"]])


# Labels -------------------------------------------------------------------------------------------


def test_labels_of_another_type_are_matched_or_refused(rng):
    x = rng.normal(size=(30, 1))
    flag = x[:, 0] > 0
    by_flag, by_number = GaussianNB().fit(x, flag), GaussianNB().fit(x, flag.astype(int) + 6)
    by_text = GaussianNB().fit(x, np.where(flag, "7", "6"))
    assert by_flag.score(x, np.where(flag, "True", "False")) == by_flag.score(x, flag) > 0.8
    assert by_number.score(x, np.where(flag, "7", "6")) > 0.8
    assert (
        by_text.score(x, flag.astype(int) + 6) == by_text.score(x, np.where(flag, 7.0, 6.0)) > 0.8
    )
    for model, labels, shown in [
        (by_flag, np.where(flag, "TRUE", "FALSE"), r"\{'FALSE', 'TRUE'\}.*\{False, True\}"),
        (by_number, np.where(flag, "007", "006"), r"\{'006', '007'\}.*\{6, 7\}"),
        (by_number, np.where(flag, "yes", "no"), r"\{'no', 'yes'\}.*\{6, 7\}"),
    ]:
        with pytest.raises(VerosimError, match=shown):
            model.score(x, labels)


def test_a_label_with_leading_zeros_is_not_an_integer(rng):
    y = np.arange(40) % 2 + 7
    table = {"x": rng.normal(size=40), "y": y}
    texts = {**table, "y": [f"{label:03d}" for label in y]}
    model = NaiveBayes().fit(table, "y")
    for call in (model.score, model.partial_fit):
        with pytest.raises(VerosimError, match="The target 'y' is '007' in row 0"):
            call(texts, "y")
    with pytest.raises(VerosimError, match=r"\{'007', '008'\} share no label .* \{7, 8\}"):
        model.score(table, texts["y"])
    plain = {**table, "y": y.astype(str)}
    assert model.score(plain) == model.score(table)


def test_weights_with_a_decimal_comma_are_read_or_named(rng, tmp_path):
    table = pd.DataFrame({"x": rng.normal(size=40), "w": 1.5, "y": np.arange(40) % 2})
    table.to_csv(tmp_path / "w.csv", sep=";", decimal=",", index=False)
    with pytest.raises(VerosimError, match=r"weight 'w' is '1,5' .*read=dict\(decimal=','\)"):
        NaiveBayes().fit(tmp_path / "w.csv", "y", sample_weight="w")
    model = NaiveBayes().fit(tmp_path / "w.csv", "y", sample_weight="w", read={"decimal": ","})
    assert model.class_count_.tolist() == [30, 30]


def test_labels_of_a_table_that_the_model_does_not_have_are_refused(rng, tmp_path):
    frame = pd.DataFrame({"x": rng.normal(size=30)})
    frame["y"] = np.where(frame["x"] > 0, "007", "006")
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = GaussianNB().fit(tmp_path / "t.csv", "y")
    with pytest.raises(VerosimError, match=r"\{'[67]', '[67]'\} share no label .*\{'006', '007'\}"):
        model.score(pd.read_csv(tmp_path / "t.csv"), "y")
    flags = frame.assign(y=frame["x"] > 0)
    model = GaussianNB().fit(flags, "y")
    with pytest.raises(VerosimError, match=r"'TRUE'|'FALSE'.*\[False, True\]"):
        model.score(frame.assign(y=np.where(flags["y"], "TRUE", "FALSE")), "y")
    assert model.score(frame.assign(y=flags["y"].astype(str)), "y") > 0.8


@pytest.mark.parametrize("mark", [-1, "?", None])
def test_semi_supervised_reads_missing_labels_as_no_label(mark):
    x, y = [0.0, 0.2, 1.0, 1.1, 0.1, 1.2], ["a", None, "b", "b", "a", ""]
    model = verosim.SemiSupervised(GaussianNB(), unlabelled=mark)
    assert model.fit(np.array(x)[:, None], y).predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    assert model.fit({"x": x, "y": y}, "y").classes_.tolist() == ["a", "b"]
    numbers = [0, np.nan, 1, 1, 0, np.nan]
    assert model.fit(np.array(x)[:, None], numbers).classes_.tolist() == [0, 1]


# Tables to predict --------------------------------------------------------------------------------


@pytest.fixture
def postal_codes(rng, tmp_path):
    """A CSV file in which only the postal code, which starts with a zero, separates the classes."""
    codes = rng.integers(1000, 9999, 40)
    says_a = dict(zip(codes.tolist(), rng.random(40) < 0.5, strict=True))
    zips = rng.choice(codes, 600)
    y = ["a" if says_a[code] ^ (rng.random() < 0.1) else "b" for code in zips.tolist()]
    sizes = rng.normal(size=600).round(3)
    lines = [f"{c:05d},{x},{k}" for c, x, k in zip(zips, sizes, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["zip,size,y", *lines]) + "\n")
    return tmp_path / "t.csv"


MODELS = [NaiveBayes(), verosim.TAN(), verosim.LDA(encode="onehot")]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_postal_codes_that_lost_their_zeros_are_reported(model, postal_codes):
    model = model.fit(postal_codes, "y")
    good, quiet = warned(lambda: model.score(postal_codes))
    bad, loud = warned(lambda: model.score(pd.read_csv(postal_codes)))
    assert not quiet
    assert good > 0.8 > 0.65 > bad
    (message,) = loud
    assert "'zip': all 600 values were not seen at fit" in message
    assert "leading zeros" in message


def test_unseen_values_are_reported_only_above_their_estimate(rng):
    rare = [f"v{i}" for i in rng.zipf(1.4, 2000)]  # many values occur once
    table = {"c": rare[:1000], "y": rng.choice(["a", "b"], 1000)}
    model = NaiveBayes(max_categories=5000).fit(table, "y")
    assert not warned(lambda: model.predict({"c": rare[1000:]}))[1]  # new, as the estimate says
    assert not warned(lambda: model.predict({"c": ["new"] * 4}))[1]  # too few
    (message,) = warned(lambda: model.predict({"c": rare[:300] + ["new"] * 700}))[1]
    assert "'c': 700 of 1,000 values were not seen at fit, such as 'new'" in message
    capped = NaiveBayes(max_categories=20).fit(table, "y")
    assert not warned(lambda: capped.predict({"c": rare[1000:]}))[1]


def test_a_column_under_another_name_is_reported(rng):
    table = {"income": rng.normal(size=30), "age": rng.normal(size=30), "y": ["a", "b", "b"] * 10}
    model = NaiveBayes().fit(table, "y")
    (message,) = warned(lambda: model.predict({"Income": [1.0], "age": [2.0]}))[1]
    assert "Rename 'Income' to 'income'" in message
    (message,) = warned(lambda: model.predict({"age": rng.normal(size=20)}))[1]
    assert "does not have the column 'income'" in message
    assert not warned(lambda: model.predict({"age": [2.0]}))[1]  # a short question
    assert not warned(lambda: model.predict({**table, "other": table["age"]}))[1]


def test_an_absent_column_is_named_by_a_model_without_missing_values():
    """LDA said that the column contains NaN."""
    table = {"a": [1.0, 2, 3, 4, 2], "b": [2.0, 1, 5, 3, 1], "y": list("aabba")}
    model = verosim.LDA().fit(table, "y")
    with pytest.raises(VerosimError, match="does not have the column 'b' that LDA was fitted on"):
        model.predict({"a": [1.0]})
    with pytest.raises(VerosimError, match="Rename 'B' to 'b'"):
        model.predict({"a": [1.0], "B": [1.0]})


def test_predict_takes_the_na_that_its_error_suggests():
    table = {"x": [1.0, 2, 3, 4], "c": ["r", "s", "r", "s"], "y": ["a", "a", "b", "b"]}
    model = NaiveBayes().fit(table, "y")
    new = {"x": ["lost", "2"], "c": ["r", "s"], "y": ["a", "b"]}
    with pytest.raises(VerosimError, match=r"'lost' is not a number.*na=\['lost'\]"):
        model.predict(new)
    wanted = model.predict_proba({**new, "x": [None, 2.0]})
    assert (model.predict_proba(new, na=["lost"]) == wanted).all()
    assert model.predict(new, na="lost").tolist() == model.classes_[wanted.argmax(1)].tolist()
    assert model.score(new, na="lost") == model.score({**new, "x": [None, 2.0]})
    assert model.log_density(new, na="lost").shape == (2,)
    assert model.predict_table(new, na="lost").read_all().num_rows == 2
    with pytest.raises(VerosimError, match="na is only for tables"):
        GaussianNB().fit([[1.0], [2.0]], [0, 1]).predict([[1.0]], na=["?"])


# Columns that give the label away -----------------------------------------------------------------


@pytest.mark.parametrize("model", [NaiveBayes(), GaussianNB(), verosim.LogisticRegression()])
def test_the_target_among_the_columns_is_reported(model, rng):
    frame = pd.DataFrame({"x": rng.normal(size=30), "z": rng.normal(size=30)})
    frame["y"] = rng.integers(0, 2, 30)
    (message,) = warned(lambda: model.fit(frame, frame["y"]))[1]
    assert "column 'y' has one value for each class" in message
    assert not warned(lambda: model.fit(frame[["x", "z"]], frame["y"]))[1]
    (message,) = warned(lambda: model.fit(frame.to_numpy(), frame["y"].to_numpy()))[1]
    assert "column 'x2'" in message


def test_a_column_that_equals_the_target_one_to_one_is_reported(rng, tmp_path):
    y = rng.choice(["yes", "no", "so"], 40)
    code = pd.Series(y).map({"yes": 7, "no": 1, "so": 3})
    holes = code.where(np.arange(40) % 7 > 0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "code": code, "holes": holes, "y": y})
    for source in every_source(frame, tmp_path):
        model, messages = warned(lambda source=source: NaiveBayes().fit(source, "y"))
        assert "'code', 'holes'" in messages[0]
        assert "gives the label away" in model.schema_["code"].note
        assert model.schema_["x"].note == ""
    assert not warned(lambda: NaiveBayes().fit(frame[:19], "y"))[1]  # too few rows
    frame.loc[39, ["code", "holes"]] = 99  # one value more
    assert not warned(lambda: NaiveBayes().fit(frame, "y"))[1]


def test_an_array_of_texts_that_gives_the_label_away_is_reported(rng):
    y = rng.choice(["yes", "no"], 40)
    X = np.column_stack([rng.choice(["a", "b"], 40), np.where(y == "yes", "j", "n")]).astype(object)
    (message,) = warned(lambda: verosim.CategoricalNB().fit(X, y))[1]
    assert "The column 'x1' has one value for each class" in message


def test_a_class_that_often_means_missing_is_reported():
    table = {"x": [1.0, 2, 3, 4, 5, 6], "y": ["a", "b", "NA", "a", "b", "NA"]}
    (message,) = warned(lambda: NaiveBayes().fit(table, "y"))[1]
    assert "class 'NA' with 2 rows" in message
    assert not warned(lambda: NaiveBayes().fit(table, "y", na="NA", unlabelled="skip"))[1]
    assert not warned(lambda: NaiveBayes().fit({**table, "y": ["+", "-"] * 3}, "y"))[1]


# Streams ------------------------------------------------------------------------------------------


def test_a_stream_says_what_its_first_rows_have_fixed(rng):
    def chunk(n, **more):
        return {"x": rng.normal(size=n), "y": rng.choice(["a", "b"], n), **more}

    first = {"x": [1.0, 2, 3, 4], "late": [None] * 4, "y": ["a", "b"] * 2}
    model = NaiveBayes().partial_fit(first, "y")
    assert not warned(lambda: model.partial_fit(chunk(8, late=[None] * 8)))[1]
    (message,) = warned(lambda: model.partial_fit(chunk(8, late=["now"] * 8)))[1]
    assert "'late' had no values in the first 4 rows of the stream" in message
    (message,) = warned(lambda: model.partial_fit(chunk(8, late=[None] * 8, new=[1] * 8)))[1]
    assert "'new' were not in the first rows of the stream" in message
    (message,) = warned(lambda: model.partial_fit(chunk(20, late=[None] * 20)))[1]
    assert "first 4 rows of the stream have fixed the kinds of the columns 'x'" in message
    assert not warned(lambda: model.partial_fit(chunk(20, late=[None] * 20)))[1]  # only once


def test_a_stream_with_a_schema_is_quiet(rng):
    table = {"x": rng.normal(size=60), "y": rng.choice(["a", "b"], 60)}
    schema = look(table, "y")
    model = NaiveBayes()
    for at in range(0, 60, 5):
        chunk = {name: cells[at : at + 5] for name, cells in table.items()}
        assert not warned(lambda chunk=chunk: model.partial_fit(chunk, "y", schema=schema))[1]


def test_a_schema_that_lists_the_weights_as_a_column_is_accepted_twice(rng):
    frame = pd.DataFrame({"x": rng.normal(size=40), "w": rng.random(40), "y": ["a", "b"] * 20})
    schema = look(frame)
    model = NaiveBayes()
    for _ in range(2):
        model.partial_fit(frame, "y", sample_weight="w", schema=schema)
    assert model.class_count_.sum() == pytest.approx(2 * frame["w"].sum())


# Errors that a user can act on --------------------------------------------------------------------


def test_an_absent_column_of_partial_fit_is_not_taken_for_another():
    """The hint asked: did you mean 'amount'?"""
    table = {"amount": [1.0, 2, 3, 4], "country": list("abab"), "y": list("aabb")}
    model = NaiveBayes().fit(table, "y")
    with pytest.raises(VerosimError, match=r"'country'\. Hint: Add the column 'country'"):
        model.partial_fit({"amount": [1.0], "y": ["a"]})
    with pytest.raises(VerosimError, match="Rename the column 'Country' to 'country'"):
        model.partial_fit({"amount": [1.0], "Country": ["a"], "y": ["a"]})


def test_hints_name_columns_of_the_table():
    with pytest.raises(VerosimError, match=r"columns=\{'id': 'category'\}"):
        NaiveBayes().fit({"id": list(range(30)), "y": ["a", "b"] * 15}, "y")
    words = ["some words in a row", "other words in it", "and some more of them"] * 4
    table = {"a": words, "b": words[::-1], "y": ["p", "q"] * 6}
    with pytest.raises(VerosimError, match=r"edit\(\{'b': 'ignore'\}\)"):
        verosim.TextNB().fit(table, "y", schema=look(table, columns={"a": "text", "b": "text"}))


@pytest.mark.parametrize("text", ["cat", "a cat?", "x" * 5000, "cats [and] dogs."])
def test_one_text_to_predict_is_not_a_file(text):
    model = verosim.TextNB().fit(["a cat", "a dog"], ["x", "z"])
    with pytest.raises(VerosimError, match=r"got one text.*Put the text in a list"):
        model.predict(text)
    with pytest.raises(VerosimError, match="does not exist"):
        model.predict("texts.csv")


def test_types_that_are_not_read_are_named():
    frame = pd.DataFrame({
        "i": pd.interval_range(0, 4), "p": pd.period_range("2020", periods=4, freq="M"),
        "l": [[1], [2], [3], [4]], "b": [b"1", b"2", b"3", b"4"], "x": [1.0, 2, 3, 4],
    })  # fmt: skip
    notes = [column.note.split(" are not")[0].split()[-1] for column in look(frame) if column.note]
    assert notes == ["intervals", "periods", "lists", "bytes"]
    assert "extension" not in str(look(frame))
    assert [c.type for c in look(frame)][:2] == ["interval", "period"]
    for name in "ip":
        for columns in ("auto", {name: "category"}):
            with pytest.raises(VerosimError, match="Convert the column to numbers, dates or text"):
                NaiveBayes(columns=columns).fit(frame[[name]], [0, 0, 1, 1])


BAD_SCHEMAS = [
    "[" * 100_000, "[1, 2]", "3", "null", "{}", "9" * 5000, '"text"', "",
    '{"columns": [1]}', '{"columns": null}', '{"columns": [{}]}', '{"columns": {"a": 1}}',
    '{"columns": [{"name": 1, "density": "gaussian"}]}',
    '{"columns": [{"name": "\\ud800", "density": "gaussian"}]}',
    '{"columns": [{"name": "a", "density": ["x"]}]}',
    '{"columns": [{"name": "a", "density": "gaussian", "edges": [1e999]}]}',
    '{"columns": [{"name": "a", "density": "gaussian", "edges": 5}]}',
    '{"columns": [], "na": 5}', '{"columns": [], "looked": 1e400}', '{"columns": [], "odd": 1}',
    '{"columns": [], "max_categories": "x"}', '{"columns": [], "target_type": 7}',
    '{"columns": [], "structures": {"a": 1}}', '{"columns": [], "cells": [{"name": "q"}]}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_SCHEMAS, ids=lambda text: text[:60])
def test_a_file_that_is_not_a_schema_is_refused(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(VerosimError, match=r"is not a schema\. .*Hint: ") as caught:
        verosim.Schema.load(tmp_path / "s.json")
    assert str(caught.value).count("Hint:") == 1


@pytest.mark.parametrize("path", ["a\0b", "\ud800.json", "no.json"])
def test_a_path_that_cannot_be_read_as_a_schema_is_refused(path):
    with pytest.raises(VerosimError, match=r"is not a schema|path must be a text or a path"):
        verosim.Schema.load(path)


def test_a_number_is_not_a_path():
    with pytest.raises(VerosimError, match="path must be a text or a path; got 3"):
        verosim.Schema.load(3)
