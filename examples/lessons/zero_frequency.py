"""Zero frequency: one value that a class never had cancels all other evidence. Laplace repairs it.

    φ_j|k = (n_jk + α) / (n_k + α B)      α = 0: maximum likelihood,   α = 1: Laplace

With α = 0, a value that class k never had has φ = 0, so p(k | x) = 0 whatever the other columns
are. If no class had the value, p(x) = 0 and Bayes' rule gives 0/0. Laplace adds α rows for each of
the B values, so the denominator grows by α B and the shares still add up to 1.
Reference: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, §13.2; the
table: Quinlan (1986), Induction of decision trees, Machine Learning 1, 81–106.

    python -m examples.lessons zero_frequency
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, DARK, QUIET, RED
from verosim import CategoricalNB

SIZE = (8.6, 3.4)  # of the picture, in inches
NAMES = ("outlook", "temperature", "humidity", "wind")
TABLE = """
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no
"""
DAY = ["overcast", "hot", "high", "strong"]  # all but the first cell are evidence for "no"
FOG = ["fog", "hot", "high", "strong"]  # no day had this outlook
ALPHAS = (0, 0.01, 0.1, 1, 10)


@dataclass(frozen=True)
class Lesson:
    outlooks: tuple[str, ...]
    counts: np.ndarray  # (2, 3) the days of each class (no, yes) with each outlook
    share: dict[float, np.ndarray]  # by α, (2, 3) φ
    day: dict[float, float]  # by α, p(no | DAY)
    products: np.ndarray  # (2,) π_k Π φ of FOG with α = 0, computed by hand
    fog: dict[float, float]  # by α, p(no | FOG)
    others: float  # p(no) for DAY without its outlook, with α = 0

    def __str__(self) -> str:
        lines = [f"{'':>8} {'share of overcast':^17}   {'p(no) of the day':>16}"]
        lines.append(f"{'α':>8} {'no':>8} {'yes':>8}   {'':>16}")
        overcast = self.outlooks.index("overcast")
        for alpha in ALPHAS:
            no, yes = self.share[alpha][:, overcast]
            lines.append(f"{alpha:>8} {no:>8.4f} {yes:>8.4f}   {self.day[alpha]:>16.4f}")
        lines.append(f"p(no) of the day without its outlook, α = 0: {self.others:.4f}")
        no, yes = self.products
        lines.append(
            f"an outlook that no day had, α = 0: p(no, x) = {no:g}, p(yes, x) = {yes:g}, "
            "so p(no | x) = 0/0"
        )
        return "\n".join(lines)


def row(values: list[str]) -> dict[str, list[str]]:
    """One row as a table with names."""
    return {name: [value] for name, value in zip(NAMES, values, strict=True)}


def learn() -> Lesson:
    """Fit the table once, and read the shares and posteriors for several α."""
    cells = np.array([line.split() for line in TABLE.split("\n") if line])
    X, y = cells[:, :-1], cells[:, -1]
    model = CategoricalNB().fit(dict(zip(NAMES, X.T, strict=True)), y)
    share, day, fog = {}, {}, {}
    for alpha in ALPHAS:  # the counts do not depend on α, so nothing is fitted again
        model.set_params(alpha=alpha)
        share[alpha] = model.learned("outlook").values
        day[alpha] = float(model.predict_proba(row(DAY))[0, 0])
        if alpha:
            fog[alpha] = float(model.predict_proba(row(FOG))[0, 0])
    outlook = model.learned("outlook")
    others = CategoricalNB(alpha=0).fit(X[:, 1:], y).predict_proba([DAY[1:]])[0, 0]
    products = np.array(
        [
            np.mean(y == k) * np.prod([np.mean(X[y == k, j] == FOG[j]) for j in range(4)])
            for k in ("no", "yes")
        ]
    )
    return Lesson(outlook.heads, outlook.counts, share, day, products, fog, float(others))


def draw(found: Lesson, figure: Any) -> None:
    shares, posterior = figure.subplots(1, 2, width_ratios=[1.15, 1])
    at = np.arange(len(found.outlooks))
    for alpha, shift, how in (
        (0, -0.2, {"color": RED, "label": "$\\alpha = 0$"}),
        (1, 0.2, {"color": BLUE, "hatch": "//", "edgecolor": "white", "label": "Laplace, $α = 1$"}),
    ):
        bars = shares.bar(at + shift, found.share[alpha][0], width=0.36, **how)
        shares.bar_label(bars, [f"{v:.3f}" for v in found.share[alpha][0]], padding=2, fontsize=8)
    for x, outlook, days in zip(at, found.outlooks, found.counts[0], strict=True):
        place = {"transform": shares.get_xaxis_transform(), "ha": "center", "va": "top"}
        shares.text(x, -0.03, f"{outlook}\n{days:g} of 5 days", **place)
    shares.set(title="share $φ$ of each outlook, class no", ylim=(0, 0.75), xticks=[], yticks=[])
    shares.spines["left"].set_visible(False)
    shares.legend(loc="upper left")
    values = [found.day[alpha] for alpha in ALPHAS]
    places = np.arange(len(ALPHAS))
    posterior.plot(places[1:], values[1:], color=BLUE, marker="o", ms=5)
    posterior.plot(0, 0, color=RED, marker="X", ms=9, clip_on=False, zorder=3)
    posterior.axhline(found.others, color=QUIET, ls="--", lw=1)
    posterior.text(4.2, found.others + 0.02, "without the outlook", ha="right", color=DARK)
    posterior.annotate(
        "exactly 0", (0, 0), (-0.1, 0.2), color=RED, arrowprops={"arrowstyle": "-", "color": RED}
    )
    posterior.set_xticks(places, [str(alpha) for alpha in ALPHAS])
    posterior.set(xlabel="$α$", ylim=(0, 1), title="p(no) of an overcast, hot, humid, windy day")


SPANISH = {
    "share $φ$ of each outlook, class no": "proporción $φ$ de cada cielo, clase no",
    "Laplace, $α = 1$": "Laplace, $α = 1$",
    "without the outlook": "sin la columna del cielo",
    "exactly 0": "exactamente 0",
    "p(no) of an overcast, hot, humid, windy day": (
        "p(no) de un día nublado, caluroso, húmedo y ventoso"
    ),
    "overcast": "nublado",
    "rain": "lluvia",
    "sunny": "soleado",
    "of 5 days": "de 5 días",
}
