"""The law of large numbers: the estimated priors converge, inside the band of Hoeffding.

    π_k = n_k / n → P(y = k),    ε(n) = √(log(2K/δ) / (2n))

By Hoeffding's inequality and a union bound over the K classes, all priors are within ε(n) of the
truth with probability 1 − δ. So ε needs n ≥ log(2K/δ) / (2ε²) rows: half of the error needs four
times the rows, and the number of classes enters through a logarithm only.
Reference: Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal
of the American Statistical Association 58, 13–30.

    python -m examples.lessons law_of_large_numbers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import CLASSES, DARK, RED, plain_numbers
from verosim.theory import prior_error, rows_for_priors

SIZE = (9.4, 3.6)  # of the picture, in inches
TRUTH = np.array([0.5, 0.3, 0.2])
DELTA = 0.05
SIZES = np.unique(np.geomspace(10, 10_000, 19).round().astype(int))
RUNS = 2_000
ERRORS = (1, 0.2, 0.1, 0.05, 0.02)


@dataclass(frozen=True)
class Lesson:
    labels: np.ndarray  # (n,) the labels of one run
    off: np.ndarray  # (runs, sizes) the largest error of the K priors
    enough: dict[float, tuple[int, float]]  # by ε: rows, share of runs with a larger error

    @property
    def bound(self) -> np.ndarray:
        """(sizes,) ε(n) of Hoeffding."""
        return np.array([prior_error(n, DELTA, len(TRUTH)) for n in SIZES])

    @property
    def outside(self) -> np.ndarray:
        """(sizes,) the share of the runs outside the band."""
        return np.mean(self.off > self.bound, axis=0)

    @property
    def usual(self) -> np.ndarray:
        """(sizes,) the error that a share 1 − δ of the runs does not exceed."""
        return np.quantile(self.off, 1 - DELTA, axis=0)

    def __str__(self) -> str:
        lines = [
            f"{RUNS:,} runs, {len(TRUTH)} classes, δ = {DELTA}",
            f"{'n':>8} {'ε(n)':>8} {'error of 95 % of the runs':>26} {'runs outside ε(n)':>18}",
        ]
        for i in range(0, len(SIZES), 3):
            lines.append(
                f"{SIZES[i]:>8,} {self.bound[i]:>8.3f} {self.usual[i]:>26.3f} "
                f"{self.outside[i]:>18.1%}"
            )
        lines.append(f"{'ε':>8} {'rows':>8} {'runs with a larger error':>26}")
        for error, (n, share) in self.enough.items():
            lines.append(f"{error:>8g} {n:>8,} {share:>26.1%}")
        return "\n".join(lines)


def learn() -> Lesson:
    """Draw labels many times, and compare the shares of the classes with the truth."""
    rng = np.random.default_rng(2)
    labels = rng.choice(len(TRUTH), SIZES[-1], p=TRUTH)
    steps = np.diff(SIZES, prepend=0)
    counts = np.cumsum([rng.multinomial(n, TRUTH, RUNS) for n in steps], axis=0)  # (sizes, runs, K)
    off = np.abs(counts / SIZES[:, None, None] - TRUTH).max(axis=2).T
    enough = {}
    for error in ERRORS:
        n = rows_for_priors(error, DELTA, len(TRUTH))
        apart = np.abs(rng.multinomial(n, TRUTH, RUNS) / n - TRUTH).max(axis=1)
        enough[error] = n, float(np.mean(apart > error))
    return Lesson(labels, off, enough)


def draw(found: Lesson, figure: Any) -> None:
    one, many = figure.subplots(1, 2)
    n = np.arange(10, len(found.labels) + 1)
    band = np.sqrt(np.log(2 * len(TRUTH) / DELTA) / 2 / n)
    for k, (truth, (colour, _), dash) in enumerate(
        zip(TRUTH, CLASSES, ("-", "--", "-."), strict=True)
    ):
        share = np.cumsum(found.labels == k)[9:] / n
        one.fill_between(n, truth - band, truth + band, color=colour, alpha=0.12, lw=0)
        one.plot(n, share, color=colour, lw=1.2, ls=dash, label=f"$π_{k + 1}$ = {truth:g}")
        one.axhline(truth, color=colour, lw=0.6)
    one.set(xscale="log", xlim=(10, 10_000), ylim=(0, 1), xlabel="rows")
    one.set_title("$n_k / n$ of one run, with the bands of Hoeffding")
    one.legend(loc="upper right")
    many.loglog(SIZES, found.bound, color=RED, lw=2.2, label="$ε(n)$ of Hoeffding, 95 %")
    look = {"color": DARK, "marker": "o", "ms": 3.5}
    many.loglog(SIZES, found.usual, **look, label="error of 95 % of the runs")
    mean = found.off.mean(axis=0)
    many.loglog(SIZES, mean, color=DARK, ls=":", label="mean error")
    many.set(xlabel="rows", title="largest error of the priors")
    many.legend(loc="lower left")
    for axis in (one.xaxis, many.xaxis, many.yaxis):
        plain_numbers(axis)


SPANISH = {
    "rows": "filas",
    "$n_k / n$ of one run, with the bands of Hoeffding": (
        "$n_k / n$ en una simulación, con las bandas de Hoeffding"
    ),
    "$ε(n)$ of Hoeffding, 95 %": "$ε(n)$ de Hoeffding, 95 %",
    "error of 95 % of the runs": "error del 95 % de las simulaciones",
    "mean error": "error medio",
    "largest error of the priors": "mayor error de los a priori",
}
