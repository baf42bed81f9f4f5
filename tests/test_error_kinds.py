"""Every kind of error in the table happens, in two sentences, and the page shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_messages import sentences
from verosim.error_kinds import GROUPS, caused, page
from verosim.errors import (
    ConvergenceWarning,
    PrecisionWarning,
    SingularWarning,
    VerosimError,
    VerosimWarning,
)

KINDS = [kind for group in GROUPS.values() for kind in group]
PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
WARNINGS = {
    "Singular covariance that was repaired": SingularWarning,
    "Lost digits": PrecisionWarning,
    "No convergence": ConvergenceWarning,
    "Label among the columns": VerosimWarning,
    "Absent column": VerosimWarning,
    "Unseen values": VerosimWarning,
    "First rows of a stream": VerosimWarning,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_example_causes_it(kind):
    found = caused(kind)
    assert isinstance(found, WARNINGS.get(kind.name, VerosimError))
    assert sentences(str(found).replace("Hint: ", "")) <= 2
    assert re.search("Hint: | must ", str(found)) or isinstance(found, Warning), "what to do?"


def test_names_are_unique():
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python -m verosim.error_kinds > docs/errors.md"
