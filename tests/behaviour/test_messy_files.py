"""A messy file of each kind gives the model of its clean twin, through every call of a model."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import zipfile

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import verosim
from verosim import NaiveBayes, Schema, VerosimError, cross_validate
from verosim.testing import assert_same

N = 300
OPTIONS = {"sample_weight": "veces", "unlabelled": "skip"}


def clean_table() -> pd.DataFrame:
    """Numbers, dates, texts with accents, weights, and a target with holes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    towns = np.array(["Málaga", "Cádiz", "Köln; Süd", 'el "Prado"'])
    table = pd.DataFrame({
        "importe": rng.normal(9000 + 3000 * y, 4000).round(2),
        "tasa": rng.normal(10 + 3 * y, 4).round(1),
        "peso": rng.normal(70 + 5 * y, 10).round(1),
        "alta": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, N), unit="D"),
        "fecha": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, N), unit="D"),
        "ciudad": towns[rng.integers(0, 3, N) + y],
        "veces": rng.integers(1, 4, N),
        "clase": np.where(y == 1, "sí", "no").astype(object),
    })  # fmt: skip
    for name in ("importe", "tasa", "alta", "clase"):
        table.loc[rng.random(N) < 0.05, name] = None
    return table


def european(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace(",", "_").replace(".", ",").replace("_", ".")


def messy_table(clean: pd.DataFrame) -> pd.DataFrame:
    """The same cells with units, decimal commas, days before months, and marks for missing."""
    return pd.DataFrame({
        "importe": ["s/d" if v != v else f"{european(v, 2)} €" for v in clean["importe"]],
        "tasa": ["n/a" if v != v else f"{european(v, 1)}%" for v in clean["tasa"]],
        "peso": [f"{european(v, 1)} kg" for v in clean["peso"]],
        "alta": ["-" if pd.isna(v) else v.strftime("%d/%m/%Y") for v in clean["alta"]],
        "fecha": clean["fecha"].dt.strftime("%d.%m.%y"),
        "ciudad": clean["ciudad"],
        "veces": clean["veces"],
        "clase": clean["clase"].where(clean["clase"].notna(), ""),
    })  # fmt: skip


def messy_sources(folder, frame: pd.DataFrame):
    """The messy table as files of every kind, and in memory."""
    windows = frame.to_csv(sep=";", index=False, lineterminator="\r\n").encode("cp1252")
    files = {
        "windows.csv": windows,
        "windows.csv.gz": gzip.compress(windows),
        "windows.txt.xz": lzma.compress(windows),
        "pipe.csv.bz2": bz2.compress(frame.to_csv(sep="|", index=False).encode("utf-8-sig")),
        "comma.csv.zst": pa.compress(frame.to_csv(index=False).encode(), "zstd", asbytes=True),
        "tab.txt": frame.to_csv(sep="\t", index=False).encode("utf-16"),
        "rows.jsonl": frame.to_json(orient="records", lines=True, force_ascii=False).encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with zipfile.ZipFile(folder / "windows.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/datos.csv", windows)
    frame.to_excel(folder / "book.xlsx", index=False)
    sources = {name: folder / name for name in (*files, "windows.zip", "book.xlsx")}
    return sources | {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "duckdb": duckdb.from_df(frame),
        "dict": frame.to_dict("list"),
        "list of dicts": frame.to_dict("records"),
    }


CLEAN = clean_table()
LABELLED = CLEAN[CLEAN["clase"].notna()]
MESSY = messy_table(CLEAN)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return messy_sources(tmp_path_factory.mktemp("messy"), MESSY)


@pytest.fixture(scope="module")
def twin():
    return NaiveBayes().fit(CLEAN, "clase", **OPTIONS)


@pytest.fixture(scope="module")
def model(sources):
    return NaiveBayes().fit(sources["windows.zip"], "clase", **OPTIONS)


NAMES = ["windows.csv", "windows.csv.gz", "windows.txt.xz", "pipe.csv.bz2", "comma.csv.zst",
         "tab.txt", "rows.jsonl", "windows.zip", "book.xlsx", "pandas", "polars", "arrow", "duckdb",
         "dict", "list of dicts"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_messy_source_gives_the_model_of_its_clean_twin(name, sources, twin, model):
    source = sources[name]
    found = NaiveBayes().fit(source, "clase", **OPTIONS)
    assert found.stats_.fingerprint() == twin.stats_.fingerprint()
    expected = twin.predict_proba(CLEAN)
    np.testing.assert_array_equal(found.predict_proba(source), expected)
    np.testing.assert_array_equal(model.predict_proba(source), expected)  # fitted on the zip


@pytest.mark.parametrize("name", NAMES)
def test_time_folds_of_a_messy_source_are_those_of_its_clean_twin(name, sources):
    for columns in ("auto", {"fecha": "ignore"}):
        found, expected = (
            cross_validate(NaiveBayes(columns=columns), table, "clase", cv="time:fecha:4",
                           **OPTIONS).scores
            for table in (sources[name], CLEAN)
        )  # fmt: skip
        for score, values in expected.items():
            np.testing.assert_array_equal(found[score], values)


def test_a_missing_mark_has_no_place_in_time(sources):
    with pytest.raises(VerosimError, match=r"'alta' is missing in row .* has no place in time"):
        cross_validate(NaiveBayes(), sources["windows.zip"], "clase", cv="time:alta", **OPTIONS)


def test_messy_rows_are_added_and_forgotten(sources, model, twin):
    for name in NAMES:
        found, expected = (pickle.loads(pickle.dumps(one)) for one in (model, twin))
        found.partial_fit(sources[name], **OPTIONS)  # the model knows its target
        expected.partial_fit(CLEAN, **OPTIONS)
        assert found.stats_.fingerprint() == expected.stats_.fingerprint(), name
        found.forget(sources[name], **OPTIONS)
        assert_same(found.stats_, twin.stats_)


def test_score_leaves_rows_without_a_target_out_if_asked(sources, model, twin):
    for weights in (None, "veces"):
        expected = twin.score(LABELLED, sample_weight=weights)
        for name in NAMES:
            found = model.score(sources[name], sample_weight=weights, unlabelled="skip")
            assert found == expected, name
    assert model.score(MESSY, CLEAN["clase"], unlabelled="skip") == twin.score(LABELLED)
    with pytest.raises(VerosimError, match=r"'clase' is missing .* with unlabelled=\"skip\""):
        model.score(sources["windows.zip"])
    marked = CLEAN.assign(clase=CLEAN["clase"].fillna("?"))
    assert twin.score(marked, na=["?"], unlabelled="skip") == twin.score(LABELLED)
    for wrap in (verosim.Calibrated, verosim.Reject):
        wrapped = wrap(NaiveBayes()).fit(sources["windows.zip"], "clase", **OPTIONS)
        found = wrapped.score(sources["book.xlsx"], unlabelled="skip")
        assert found == wrapped.score(sources["arrow"], CLEAN["clase"], unlabelled="skip")


def test_later_rows_without_a_target_are_known_by_the_marks_of_the_fit(model):
    marked = MESSY.assign(clase=MESSY["clase"].replace("", "s/d"))
    found = NaiveBayes().fit(marked, "clase", na=["s/d"], **OPTIONS)
    found.partial_fit(marked, "clase", **OPTIONS)
    assert_same(
        found.stats_, pickle.loads(pickle.dumps(model)).partial_fit(MESSY, **OPTIONS).stats_
    )
    found.forget(marked, **OPTIONS)
    assert_same(found.stats_, model.stats_)


def test_the_schema_of_a_messy_file_is_saved_for_files_of_other_kinds(
    sources, model, twin, tmp_path
):
    model.schema_.save(tmp_path / "schema.json")
    schema = Schema.load(tmp_path / "schema.json")
    assert schema == model.schema_
    for name in NAMES:
        found = NaiveBayes().fit(sources[name], "clase", schema=schema, **OPTIONS)
        assert found.stats_.fingerprint() == twin.stats_.fingerprint(), name


def test_auto_of_a_messy_file_is_auto_of_its_clean_twin(sources):
    found, expected = (
        verosim.auto(table, "clase", effort="fast", **OPTIONS).model.predict_proba(table)
        for table in (sources["windows.zip"], CLEAN)
    )
    np.testing.assert_array_equal(found, expected)
