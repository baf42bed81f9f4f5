"""The parts of a pool by expert and by column.

    log p(k | x) / p(l | x) = b_k − b_l + Σ_e w_e (ℓ_e(k) − ℓ_e(l))
    ℓ_e(k) = τ_e (log π_ek + Σ_j φ_ejk) + clipping + a common term

The first line is exact by expert. By column, φ_ejk is the part of column j in expert e. Experts
without parts, and what the clipping of an expert changes, are lines of their own.
Reference: Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
bibliography, Statistical Science 1, 114–135.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data.sources import Parts
from verosim.densities.attribution import POOLED, Attribution, AttributionRequest
from verosim.engines import use_threads
from verosim.pool.texts import log_lengths

if TYPE_CHECKING:
    from verosim.pool.params import PoolParams

CLIPPING = "clipping of"  # the start of the names of lines of clipped scores
ROUNDING = 1e-9  # nats; a smaller change by clipping is rounding


def pooled_attribution(
    params: PoolParams, block: Parts, request: AttributionRequest
) -> Attribution:
    """The parts (n, C, p) of p columns in the scores of a pool."""
    n, C = block.shape[0], len(params.classes)
    p = 1 + max((int(owner.max(initial=-1)) for owner in request.inside.values()), default=-1)
    parts, prior, squares = np.zeros((n, C, p)), np.tile(params.start, (n, 1)), np.zeros((n, p))
    lines: dict[str, np.ndarray] = {}
    experts: dict[str, np.ndarray] = {}
    tokens: list[Any] = []
    for e, name in enumerate(params.mixing.names):
        expert = next(one for one in params.members if one.name == name)
        rule, rows = params.rules[name], block[expert.reading]
        weight, length = params.mixing.weights[e], log_lengths(rows)
        with use_threads(1):
            log_p = rule.log_posterior(rows)
        exact = weight * params.mixing.clipped(log_p, e, length)  # (n, C)
        experts[name] = exact
        if not rule.params.has_attribution:
            lines[name] = exact
            continue
        owner = request.inside[expert.reading]
        asked = replace(request, owner=owner, seed=request.seed + e)
        factor = weight * params.mixing.temperature(e, length)
        found = rule.attributed(rows, asked).scaled(np.broadcast_to(factor, (n, 1))[:, 0])
        width = found.parts.shape[2]
        parts[:, :, :width] += found.parts
        known = np.isfinite(found.prior)
        prior += np.where(known, found.prior, 0.0)
        rest = exact - (np.where(known, found.prior, 0.0) + found.parts.sum(axis=2))
        for line in found.lines.values():
            rest = rest - line
        for what, line in found.lines.items():
            lines[what] = lines.get(what, 0.0) + line
        # The class with the largest posterior is never clipped.
        rest -= np.take_along_axis(rest, exact.argmax(axis=1)[:, None], axis=1)
        if np.abs(rest).max(initial=0.0) > ROUNDING:
            lines[f"{CLIPPING} {name}"] = rest
        if found.errors is not None:
            squares[:, :width] += found.errors**2
        tokens += found.tokens
    errors = np.sqrt(squares) if squares.any() else None
    return Attribution(parts, POOLED, lines, errors, tuple(tokens), prior, experts)
