"""Where two learning curves cross, and how surely.

    lead(m) = mean over repeats of the loss of one − the loss of the other, linear in log m
    m* = the last zero of lead, after which one of the two stays ahead

Repeats are drawn anew with replacement, and every draw has a crossing of its own: below the
smallest size if the winner leads throughout, beyond the largest if it does not win at all. So an
interval may be open at either end, and says so.
Reference: Efron & Tibshirani (1993), An introduction to the bootstrap, ch. 13 (percentiles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BOOTSTRAP_DRAWS = 2000
COVERAGE = 0.95


@dataclass(frozen=True)
class Crossing:
    """The crossing of a generative and a discriminative learning curve."""

    generative: str
    discriminative: str
    size: float | None  # rows; None where the curves do not cross
    low: float  # 95 % interval; 0 is below the smallest size
    high: float  # inf is beyond the largest
    ahead: str | None  # who leads after it, or throughout; None if they tie throughout
    times: int  # how often the curves cross
    sizes: int = 1  # at how many sizes both have values

    @property
    def interval(self) -> str:
        """The interval in words, open ends said as such."""
        low, high = _rows(self.low), _rows(self.high)
        if self.low == 0 and self.high == np.inf:
            return "anywhere"
        if self.low == 0:
            return f"below {high}" if self.high > 0 else "below the smallest size"
        if self.high == np.inf:
            return f"above {low}" if self.low < np.inf else "beyond the largest size"
        return f"{low} to {high}"

    def __str__(self) -> str:
        pair = f"{self.generative} / {self.discriminative}"
        if self.sizes == 0:
            return f"{pair}: at no size do both have values"
        if self.ahead is None:
            return f"{pair}: no crossing seen, they tie wherever both have values"
        if self.size is None:
            return f"{pair}: no crossing seen, {self.ahead} is nowhere behind"
        several = "" if self.times == 1 else f", the last of {self.times} crossings"
        return (
            f"{pair}: {self.ahead} stays ahead from {_rows(self.size)} rows on "
            f"(95 % {self.interval}){several}"
        )


def _rows(size: float) -> str:
    return f"{size:,.0f}" if size >= 10 or size == 0 else f"{size:.2g}"


def crossing(
    generative: str,
    discriminative: str,
    sizes: np.ndarray,
    lead: np.ndarray,
    rng: np.random.Generator,
) -> Crossing:
    """The crossing of two curves from lead (S, R), how far the discriminative one is better.

    A size no repeat has both values of is left out.
    """
    seen = ~np.isnan(lead)
    known = seen.any(axis=1)
    sizes, lead, seen = sizes[known], lead[known], seen[known]
    if not len(sizes):
        return Crossing(generative, discriminative, None, 0.0, np.inf, None, 0, 0)
    x, filled = np.log(sizes), np.where(seen, lead, 0.0)
    mean = filled.sum(axis=1) / seen.sum(axis=1)  # (S,)
    signs = np.sign(mean)[mean != 0]
    if not len(signs):
        return Crossing(generative, discriminative, None, 0.0, np.inf, None, 0, len(sizes))
    winner = float(signs[-1])
    found = float(last_crossing(x, winner * mean[None])[0])
    R = lead.shape[1]
    times = rng.multinomial(R, np.full(R, 1 / R), BOOTSTRAP_DRAWS).astype(float)  # (B, R)
    with np.errstate(invalid="ignore"):  # a draw may miss a size's few repeats
        drawn = (times @ filled.T) / (times @ seen.T)  # (B, S)
    drawn = np.where(np.isnan(drawn), mean, drawn)
    spread = np.sort(last_crossing(x, winner * drawn))
    tail = int((1 - COVERAGE) / 2 * BOOTSTRAP_DRAWS)
    return Crossing(
        generative,
        discriminative,
        found if 0 < found < np.inf else None,
        float(spread[tail]),
        float(spread[-1 - tail]),
        discriminative if winner > 0 else generative,
        int((signs[1:] != signs[:-1]).sum()),
        len(sizes),
    )


def last_crossing(x: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """(B,) exp of where lead (B, S), linear in x (S,), last rises through zero.

    0 where it is never below zero, inf where it is not above zero in the end.
    """
    S = lead.shape[1]
    behind, ahead = lead < 0, lead > 0
    last_behind = np.where(behind.any(axis=1), S - 1 - behind[:, ::-1].argmax(axis=1), -1)
    last_ahead = np.where(ahead.any(axis=1), S - 1 - ahead[:, ::-1].argmax(axis=1), -1)
    out = np.where(last_ahead > last_behind, 0.0, np.inf)
    out[(last_behind < 0) & (last_ahead < 0)] = 0.0
    at = np.flatnonzero((last_behind >= 0) & (last_ahead > last_behind))
    i = last_behind[at]
    before, after = lead[at, i], lead[at, i + 1]
    out[at] = np.exp(x[i] + (x[i + 1] - x[i]) * before / (before - after))
    return out
