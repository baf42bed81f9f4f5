"""Every estimator on small random cases: the exact posteriors, or an error with a known cause.

One case is one number, and `python -m tests.fuzz NUMBER` shows it. The soak runs a million cases
and continues where it was stopped (`tests/fuzz/journal.py`).
"""

from __future__ import annotations

import pytest

import verosim
from tests.fuzz.cases import FAMILIES, Case, run, run_many
from tests.fuzz.journal import BLOCK, CASES, FIRST, run_block
from verosim import estimators

SAMPLE, PART = 12_000, 500  # cases in `make test`
WITHOUT_EXACT = {  # iterative or random: compared with nothing, but finite and normalised
    "LiftedLDA", "MDA", "TextRidge",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SAMPLE, PART))
def test_random_cases_are_exact_or_refused_with_a_cause(first):
    counts, wrong = run_many(first, first + PART)
    assert not [f"python -m tests.fuzz {one.number}: {one.detail}" for one in wrong]
    # Most cases must be compared, and not refused.
    assert counts["agrees"] > 0.5 * PART
    assert counts["refused"] < 0.2 * PART
    assert counts["sharp"] > 0.7 * counts["compared"]
    if first == 0:  # scikit-learn can fit few of these cases, so a later part may have none
        assert counts["peer"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, BLOCK))
def test_very_many_random_cases_are_exact_or_refused_with_a_cause(first):
    assert not run_block(first)


def test_every_estimator_has_cases():
    assert set(estimators.__all__) <= set(FAMILIES)
    assert {name for name in estimators.__all__ if FAMILIES[name].oracle is None} == WITHOUT_EXACT
    assert all(hasattr(verosim, name) for name in estimators.__all__)


def test_a_case_is_the_same_every_time():
    for number in range(0, 200, 7):
        assert Case.of(number).shown() == Case.of(number).shown()


def test_the_bound_of_shrunk_variances_includes_errors_below_the_floor_of_another_column():
    assert run(25344).outcome == "agrees"
