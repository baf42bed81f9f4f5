"""The size at which two learning curves cross, with a bootstrap interval.

    lead(m) = mean over repeats of the loss of one − the loss of the other, linear in log m
    m* = the last zero of lead, after which one of the two remains better

The bootstrap draws repeats with replacement, and each draw has its own crossing. The crossing is
below the smallest size if the better model leads at all sizes, and beyond the largest size if it
does not lead at the end. So an interval can be open at either end.
Reference: Efron & Tibshirani (1993), An introduction to the bootstrap, ch. 13 (percentiles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verosim.terminal import in_one_line

BOOTSTRAP_DRAWS = 2000
COVERAGE = 0.95


@dataclass(frozen=True)
class Crossing:
    """The crossing of the learning curves of a generative and a discriminative model.

    The crossing is the last zero of the difference of the two mean curves, interpolated linearly in
    the logarithm of the number of rows:

        lead(m) = mean over repeats of loss(generative, m) − loss(discriminative, m) = 0

    The interval comes from a bootstrap over the repeats. :class:`Comparison` returns one crossing
    for each pair of models.

    Attributes
    ----------
    generative : str
        The name of the generative model.
    discriminative : str
        The name of the discriminative model.
    size : float or None
        The number of training rows at the last crossing. None if the curves do not cross.
    low : float
        The lower end of the 95 % interval of the size. The value 0 means below the smallest size.
    high : float
        The upper end of the interval. The value inf means beyond the largest size.
    ahead : str or None
        The name of the model that is better after the crossing, or at all sizes. None if the curves
        are equal at all sizes.
    times : int
        The number of crossings.
    sizes : int
        The number of sizes at which both models have values.
    interval : str
        The interval in words, for example "54 to 300", "above 54" or "below the smallest size".

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> from verosim.twins import Crossing
    >>> found = Crossing("naive Bayes", "logistic", 168.0, 54.0, 300.0, "logistic", 1, 3)
    >>> found.interval
    '54 to 300'
    >>> print(found)
    naive Bayes / logistic: logistic is better from 168 rows on (95 % interval: 54 to 300)
    """

    generative: str
    discriminative: str
    size: float | None
    low: float
    high: float
    ahead: str | None
    times: int
    sizes: int = 1

    @property
    def interval(self) -> str:
        """The interval in words, with open ends stated."""
        low, high = _rows(self.low), _rows(self.high)
        if self.low == 0 and self.high == np.inf:
            return "anywhere"
        if self.low == 0:
            return f"below {high}" if self.high > 0 else "below the smallest size"
        if self.high == np.inf:
            return f"above {low}" if self.low < np.inf else "beyond the largest size"
        return f"{low} to {high}"

    def __str__(self) -> str:
        pair = in_one_line(f"{self.generative} / {self.discriminative}")
        if self.sizes == 0:
            return f"{pair}: no size has values of both models"
        if self.ahead is None:
            return f"{pair}: no crossing, the means are equal at all sizes"
        ahead = in_one_line(self.ahead)
        if self.size is None:
            return f"{pair}: no crossing, {ahead} is better or equal at all sizes"
        several = "" if self.times == 1 else f", the last of {self.times} crossings"
        return (
            f"{pair}: {ahead} is better from {_rows(self.size)} rows on "
            f"(95 % interval: {self.interval}){several}"
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
    """The crossing of two curves, from the lead (S, R) of the discriminative model.

    A size is ignored if no repeat has values of both models.
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
    with np.errstate(invalid="ignore"):  # a draw may contain no repeat with values of a size
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
    """(B,) the size at which lead (B, S), linear in x = log size (S,), last rises through zero.

    0 if the lead is never below zero, and inf if it is not above zero at the end.
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
