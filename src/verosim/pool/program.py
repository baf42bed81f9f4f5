"""The program of a pool: a weighted sum of the tempered log-posteriors of its experts.

    log p(k | x) = log π_k + b_k − log π⁰_k + Σ_e w_e ℓ_e(k) − a common term

Experts that read the same cells share their readings.
"""

from __future__ import annotations

import json

from verosim.bayes.program import POSTERIOR_OUTPUT, Program
from verosim.data.nodes import no_program
from verosim.data.readings import CellReading
from verosim.densities.terms import TemperedTerm, WordsLength
from verosim.errors import VerosimError
from verosim.models import State
from verosim.models.program import score_terms
from verosim.pool.experts import Expert
from verosim.pool.mixing import LOWEST, floor_of
from verosim.pool.params import PoolParams
from verosim.pool.rows import PoolReader
from verosim.pool.texts import WORDS


def pool_program(state: State) -> Program:
    """The log-posteriors of a fitted pool as a program."""
    params: PoolParams = state.params
    assert state.schema is not None
    reader = state.spec.reader(state.schema)
    assert isinstance(reader, PoolReader)
    members = {expert.name: expert for expert in params.members}
    readings = _Readings()
    terms = tuple(
        _expert_term(params, e, members[name], reader, readings)
        for e, name in enumerate(params.mixing.names)
    )
    classes, log_prior = state.classes.tolist(), params.offsets(state.rule.log_prior)
    return Program(tuple(classes), log_prior, tuple(readings.all), terms, POSTERIOR_OUTPUT)


class _Readings:
    """Different readings, each once."""

    def __init__(self) -> None:
        self.all: list[CellReading] = []
        self._places: dict[str, int] = {}

    def places(self, some: tuple[CellReading, ...]) -> tuple[int, ...]:
        """The numbers of some readings. New ones are added."""
        out = []
        for reading in some:
            key = json.dumps(reading.plain())
            if key not in self._places:
                self._places[key] = len(self.all)
                self.all.append(reading)
            out.append(self._places[key])
        return tuple(out)


def _expert_term(
    params: PoolParams, e: int, expert: Expert, reader: PoolReader, readings: _Readings
) -> TemperedTerm:
    """What expert e adds to the scores."""
    rule, mixing = params.rules[expert.name], params.mixing
    try:
        found = rule.params.readings(reader.readers[expert.reading].readings)
        terms = score_terms(expert.spec, rule.params)
    except VerosimError as error:
        raise no_program(
            f"its expert {expert.name} has none", f"Leave {expert.name} out of experts."
        ) from error
    exponent = float(mixing.exponents[e])  # 0 if the expert does not read texts
    return TemperedTerm(
        readings.places(found), expert.name, terms, rule.log_prior, float(mixing.temperatures[e]),
        float(mixing.weights[e]), LOWEST, floor_of(len(params.classes)),
        exponent, WordsLength.of(WORDS) if exponent else None,
    )  # fmt: skip
