"""The diagnosis of a model in words, in the language of the page.

A pool has no density of its own. The page shows the diagnosis of its best expert that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from verosim.errors import VerosimError
from verosim.insight.report.page import filled
from verosim.insight.report.rare_values import mentions
from verosim.insight.report.some_rows import SomeRows, innermost, state_of
from verosim.pool.params import PoolParams
from verosim.validate.diagnose import diagnose
from verosim.validate.diagnosis.findings import Diagnosis, Finding

MOST_LISTED_FINDINGS = 40
MOST_OF_ONE_CHECK = 6
FINDING = "finding: "  # the start of the keys of the patterns of findings


@dataclass(frozen=True)
class ShownDiagnosis:
    """Findings that a page may show, and whose they are."""

    findings: tuple[Finding, ...] = ()
    note: str = ""  # the key of a text of the catalogue
    expert: str = ""  # the expert of a pool

    def words(self, words: Mapping[str, str]) -> str:
        """The note in words."""
        return filled(words[self.note], expert=self.expert) if self.note else ""

    def lines(self, words: Mapping[str, str]) -> list[dict[str, Any]]:
        """The findings in the language of a catalogue."""
        patterns = finding_words(words)
        return [
            {
                "name": patterns[one.name],
                "subject": one.subject if one.about is None else one.about.text(patterns),
                "reading": " ".join(phrase.text(patterns) for phrase in one.phrases),
                "value": one.value, "p": one.p_value,
            }
            for one in self.findings
        ]  # fmt: skip


def finding_words(words: Mapping[str, str]) -> dict[str, str]:
    """The patterns of findings in the language of a catalogue, by their English patterns."""
    return {
        key.removeprefix(FINDING): text for key, text in words.items() if key.startswith(FINDING)
    }


def diagnosis_of(
    model: Any, some: SomeRows | None, hidden: set[str], every: SomeRows | None = None
) -> ShownDiagnosis:
    """The diagnosis of a model, without findings that name a value of few rows.

    `some` are the rows of the checks. The experts of a pool are fitted on `every` row.
    """
    inner, state = innermost(model), state_of(model)
    if state is not None and isinstance(state.params, PoolParams):
        if some is None or every is None:
            return ShownDiagnosis(note="no diagnosis of pool without rows")
        for name, expert in _fitted_experts(state, every):
            found = _found(expert, some)
            if found is not None:
                return ShownDiagnosis(_listed(found, hidden), "diagnosis of", name)
        return ShownDiagnosis(note="no diagnosis of pool")
    found = _found(inner, some)
    if found is None:
        return ShownDiagnosis(note="no diagnosis")
    return ShownDiagnosis(_listed(found, hidden))


def _fitted_experts(state: Any, rows: SomeRows) -> Iterator[tuple[str, Any]]:
    """The experts with a density, the largest weight first, each fitted alone."""
    mixing = state.params.mixing
    weights = dict(zip(mixing.names, mixing.weights.tolist(), strict=True))
    experts = [one for one in state.params.members if one.name in weights and one.spec.is_density]
    schema = {"schema": state.schema} if isinstance(rows.y, str) else {}
    for expert in sorted(experts, key=lambda one: -weights[one.name]):
        try:
            yield expert.name, clone(expert.model).fit(rows.X, rows.y, **schema)
        except (VerosimError, ValueError, TypeError):
            continue


def _found(model: Any, some: SomeRows | None) -> Diagnosis | None:
    try:
        return diagnose(model) if some is None else diagnose(model, some.X, some.y)
    except (VerosimError, NotImplementedError, AttributeError):
        return None


def _listed(found: Diagnosis, hidden: set[str]) -> tuple[Finding, ...]:
    """The first findings of each check."""
    seen: dict[str, int] = {}
    out = []
    for one in found:
        if one.value is None or mentions(one.subject, hidden) or mentions(one.reading, hidden):
            continue
        seen[one.name] = seen.get(one.name, 0) + 1
        if seen[one.name] <= MOST_OF_ONE_CHECK:
            out.append(one)
    return tuple(out[:MOST_LISTED_FINDINGS])
