"""The study of Ng & Jordan runs without a data folder."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import ng_jordan
from benchmarks.ng_jordan import BUNDLED_SETS, SIMULATED_SETS, line, measured, page, rows


@pytest.mark.parametrize("study", [*BUNDLED_SETS, *SIMULATED_SETS], ids=lambda study: study.name)
def test_sets_that_need_no_folder_have_two_classes(study, tmp_path, monkeypatch):
    monkeypatch.setattr(ng_jordan, "DATA", tmp_path)
    X, y = rows(study)
    assert len(X) == len(y)
    assert np.isfinite(X).all()
    assert set(np.unique(y)) == {0, 1}


def test_an_empty_folder_has_no_studies(tmp_path, monkeypatch):
    monkeypatch.setattr(ng_jordan, "DATA", tmp_path)
    assert ng_jordan.studies() == []


def test_a_study_becomes_a_line_of_the_table():
    study = next(s for s in BUNDLED_SETS if s.folder == "iris")
    found = {study: measured(study, 3)}
    assert line(study, found[study]).startswith("| iris (1 or 2) | 100 | 3 |")
    assert len(list(page(found))) == 2  # the table and the conclusions


def test_columns_of_the_simulated_sets_have_the_stated_correlation():
    for study in SIMULATED_SETS:
        X, y = rows(study)
        means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
        found = np.corrcoef((X - means[y]).T)[np.arange(0, 16, 2), np.arange(1, 16, 2)]
        error = 4 / np.sqrt(len(y))
        np.testing.assert_allclose(found, float(study.folder), atol=error)
