"""The maximum likelihood covariance is too small on average; the unbiased one is not.

    Σ̂_MLE = S/n,   Σ̂_unbiased = S/(n − K),   S = Σ_i (x_i − μ̂_{y_i})(x_i − μ̂_{y_i})ᵀ
    E[Σ̂_MLE] = (n − K)/n · Σ,   E[Σ̂_unbiased] = Σ

S has a Wishart distribution with n − K degrees of freedom, because K means are estimated from the
same rows. The MLE has the larger likelihood on the training rows; that is its definition. One class
alone has n_k − 1 in place of n − K.
Reference: Anderson (2003), An Introduction to Multivariate Statistical Analysis, §3.2 and §7.2.

    python -m examples.lessons covariance_estimates
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, QUIET, RED, plane
from verosim import LDA
from verosim.bayes import Ellipse

SIZE = (8.8, 3.7)  # of the picture, in inches
K = 3  # classes
ROWS = (6, 9, 12, 18, 30, 60, 120)  # n, the same number of rows in each class
TABLES = 3_000  # simulated tables for each n
SIGMA = np.array([[2.0, 0.9], [0.9, 1.0]])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 4.0]])
DIVISORS = {"mle": lambda n: n, "unbiased": lambda n: n - K}
DASHES = {"mle": (0, (4, 1.5)), "unbiased": "-"}
LOOKS = {"mle": (RED, "s"), "unbiased": (BLUE, "o")}


@dataclass(frozen=True)
class Lesson:
    scatter: dict[int, np.ndarray]  # n → (TABLES, 2, 2), S of each simulated table
    first: dict[int, tuple[np.ndarray, np.ndarray]]  # n → rows and labels of the first table

    def mean(self, n: int, kind: str) -> np.ndarray:
        """(2, 2) the mean of an estimate over the tables."""
        return self.scatter[n].mean(axis=0) / DIVISORS[kind](n)

    def deviation(self, n: int, kind: str) -> np.ndarray:
        """(2, 2) the standard deviation of that mean, as the Wishart distribution gives it."""
        variance = (n - K) * (SIGMA**2 + np.outer(SIGMA.diagonal(), SIGMA.diagonal()))
        return np.sqrt(variance / TABLES) / DIVISORS[kind](n)

    def ratio(self, n: int, kind: str) -> float:
        """tr(Σ⁻¹ E[Σ̂])/d, which is 1 for an estimate without bias."""
        return float(np.trace(np.linalg.solve(SIGMA, self.mean(n, kind))) / len(SIGMA))

    def models(self, n: int) -> dict[str, LDA]:
        """LDA of the first table, with each estimate."""
        return {kind: LDA(covariance=kind).fit(*self.first[n]) for kind in DIVISORS}

    def __str__(self) -> str:
        lines = [
            f"mean over {TABLES:,} tables, as a multiple of Σ",
            f"{'n':>4} {'(n − K)/n':>10} {'MLE':>7} {'unbiased':>9}",
        ]
        for n in ROWS:
            lines.append(
                f"{n:>4} {(n - K) / n:>10.3f} {self.ratio(n, 'mle'):>7.3f} "
                f"{self.ratio(n, 'unbiased'):>9.3f}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Simulate many tables of each size, and compute the scatter within the classes of each."""
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(SIGMA)
    scatter, first = {}, {}
    for n in ROWS:
        rows = rng.standard_normal((TABLES, K, n // K, 2)) @ root.T + MEANS[:, None]
        away = rows - rows.mean(axis=2, keepdims=True)
        scatter[n] = np.einsum("tkri,tkrj->tij", away, away)
        first[n] = rows[0].reshape(n, 2), np.repeat(np.arange(K), n // K)
    return Lesson(scatter, first)


def draw(found: Lesson, figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    n = ROWS[0]
    for S in found.scatter[n][:20]:
        left.plot(*Ellipse(np.zeros(2), S / n, 0.9).points().T, color=QUIET, lw=0.5, alpha=0.5)
    left.plot([], [], color=QUIET, lw=0.8, label="MLE of 20 tables")
    truth = Ellipse(np.zeros(2), SIGMA, 0.9).points()
    left.fill(*truth.T, color="#CFE3F1", zorder=0, label="true $\\Sigma$")
    for kind, name in (("mle", "mean of the MLE"), ("unbiased", "mean of the unbiased")):
        outline = Ellipse(np.zeros(2), found.mean(n, kind), 0.9).points()
        left.plot(*outline.T, color=LOOKS[kind][0], ls=DASHES[kind], lw=2, label=name)
    plane(left, (-5.0, 5.0), (-4.4, 5.6))
    left.legend(loc="upper left", fontsize=7.5)
    left.set_title(f"$n = {n}$ rows, $K = {K}$ classes")

    fine = np.linspace(ROWS[0], ROWS[-1], 400)
    right.plot(fine, (fine - K) / fine, color=RED, lw=1.2, label="$(n - K)/n$")
    right.axhline(1, color=BLUE, lw=1.2)
    for kind, name in (("mle", "MLE: $S/n$"), ("unbiased", "unbiased: $S/(n - K)$")):
        colour, marker = LOOKS[kind]
        mean = [found.ratio(n, kind) for n in ROWS]
        right.plot(ROWS, mean, marker, color=colour, ms=6, label=name)
    right.set(xscale="log", ylim=(0.4, 1.1), xlabel="rows $n$")
    right.set_xticks(ROWS, [str(n) for n in ROWS])
    right.minorticks_off()
    right.legend(loc="lower right")
    right.set_title("mean of the estimate, as a multiple of $\\Sigma$")


SPANISH = {
    "MLE of 20 tables": "EMV de 20 tablas",
    "true $\\Sigma$": "$\\Sigma$ verdadera",
    "mean of the MLE": "media de la EMV",
    "mean of the unbiased": "media de la insesgada",
    "$n = 6$ rows, $K = 3$ classes": "$n = 6$ filas, $K = 3$ clases",
    "MLE: $S/n$": "EMV: $S/n$",
    "unbiased: $S/(n - K)$": "insesgada: $S/(n - K)$",
    "rows $n$": "filas $n$",
    "mean of the estimate, as a multiple of $\\Sigma$": (
        "media de la estimación, como múltiplo de $\\Sigma$"
    ),
}
