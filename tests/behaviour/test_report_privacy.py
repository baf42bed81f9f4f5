"""Ignored and forgotten values are not in reports, for every class that can be reported."""

from __future__ import annotations

import re

import numpy as np
import pytest

import verosim
from tests.behaviour import test_privacy as privacy
from verosim.errors import VerosimError
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
    for i, given in enumerate(sources(model, table)):
        made = verosim.report(model, path=path / f"{i}.html", **given)
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
