"""Credit from a table to a decision: fit, calibrate, decide by cost, and explain to the customer.

    p(k | x) ∝ π_k Π_j p(x_j | k)          a model of good and a model of bad credits
    decision(x) = argmin_j Σ_k p(k | x) c_kj    c_kj: the cost of decision j for class k

A credit that is not paid back costs five times the profit of a good one, so a credit is given only
if p(bad | x) < 1/6. Income, savings and rent repeat each other, so naive Bayes is too sure. The
calibration gives each column a weight, estimated on held-out rows, so that repeated evidence counts
once.
Reference: Elkan (2001), The foundations of cost-sensitive learning, Proceedings of IJCAI.

    python -m examples.lessons credit
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, DARK, QUIET, RED
from verosim import Calibrated, NaiveBayes, calibrate, decide, explain
from verosim.insight import Explanation

SIZE = (10.2, 3.6)  # of the picture, in inches
TRAIN, TEST = 2_000, 4_000
COSTS = {("bad", "good"): 5, ("good", "bad"): 1}  # (true class, decision)
APPLICANT = {
    "age": [31], "income": [1150], "savings": [600], "rent": [380], "months": [48],
    "history": ["good"], "housing": ["rent"], "purpose": ["car"],
}  # fmt: skip


def table(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Simulated credits. Income, savings and rent depend on one hidden level of wealth."""
    bad = rng.random(n) < 0.25
    wealth = rng.normal(np.where(bad, -0.6, 0.2), 1.0)

    def choose(values: tuple[str, ...], of_good: Any, of_bad: Any) -> np.ndarray:
        two = rng.choice(values, n, p=of_good), rng.choice(values, n, p=of_bad)
        return np.where(bad, two[1], two[0])

    columns = {
        "age": np.clip(rng.normal(np.where(bad, 36, 42), 10), 18, 80).round(),
        "income": np.exp(7.2 + 0.35 * wealth + 0.10 * rng.standard_normal(n)).round(-1),
        "savings": np.exp(7.0 + 0.90 * wealth + 0.30 * rng.standard_normal(n)).round(-1),
        "rent": np.exp(6.0 + 0.30 * wealth + 0.12 * rng.standard_normal(n)).round(-1),
        "months": np.clip(rng.normal(np.where(bad, 38, 28), 11), 6, 72).round(),
        "history": choose(("good", "delays", "none"), (0.6, 0.15, 0.25), (0.35, 0.4, 0.25)),
        "housing": choose(("own", "rent", "family"), (0.5, 0.3, 0.2), (0.3, 0.5, 0.2)),
        "purpose": choose(("car", "furniture", "business"), (0.4, 0.35, 0.25), (0.35, 0.25, 0.4)),
    }
    return columns, np.where(bad, "bad", "good")


def cost(truth: np.ndarray, decision: np.ndarray) -> float:
    """The mean cost per applicant, in units of the profit of a good credit."""
    return float(sum(c * np.mean((truth == k) & (decision == j)) for (k, j), c in COSTS.items()))


@dataclass(frozen=True)
class Lesson:
    model: NaiveBayes
    calibrated: Calibrated
    groups: tuple[tuple[np.ndarray, np.ndarray], ...]  # p(bad), share of bad; before and after
    costs: dict[str, float]  # mean cost per applicant on new rows
    curve: np.ndarray  # (limits, 2) limit of p(bad), mean cost
    why: Explanation
    months: int  # the longest period for which the applicant gets the credit

    @property
    def gaps(self) -> list[float]:
        """The mean difference of p(bad) and the share of bad credits, before and after."""
        return [float(np.abs(p - share).mean()) for p, share in self.groups]

    def __str__(self) -> str:
        before, after = self.gaps
        weights = str(self.calibrated.map_).split()
        lines = ["mean cost per applicant on new rows"]
        lines += [f"    {name:<26} {value:.3f}" for name, value in self.costs.items()]
        pairs = [
            f"{name} {weight}" for name, weight in zip(weights[::2], weights[1::2], strict=True)
        ]
        return "\n".join(
            [
                *lines,
                f"calibration error {before:.3f} before, {after:.3f} after",
                f"weights: {', '.join(pairs)}",
                f"applicant: {self.why}",
                f"The limit is p(bad) = 1/6. With {self.months} months the answer is yes.",
            ]
        )


def by_groups(p: np.ndarray, bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean p(bad) and share of bad credits in ten groups of equal size."""
    groups = np.array_split(np.argsort(p), 10)
    return np.array([p[g].mean() for g in groups]), np.array([bad[g].mean() for g in groups])


def learn() -> Lesson:
    """From the table to the decisions for new applicants, and the explanation for one of them."""
    rng = np.random.default_rng(20)
    (X, y), (fresh, truth) = table(rng, TRAIN), table(rng, TEST)
    model = NaiveBayes().fit(X, y)
    calibrated = calibrate(NaiveBayes(), X, y, method="columns")
    p = [m.predict_proba(fresh)[:, 0] for m in (model, calibrated)]  # of the class "bad"
    costs = {
        "all get the credit": cost(truth, np.full(TEST, "good")),
        "the more probable class": cost(truth, model.predict(fresh)),
        "by cost": cost(truth, decide(model, fresh, COSTS)),
        "by cost, calibrated": cost(truth, decide(calibrated, fresh, COSTS)),
    }
    limits = np.linspace(0.02, 0.98, 97)
    curve = [[limit, cost(truth, np.where(p[1] > limit, "bad", "good"))] for limit in limits]
    periods = np.arange(6, 49)
    variants = {name: values * len(periods) for name, values in APPLICANT.items()}
    answers = decide(calibrated, variants | {"months": periods}, COSTS)
    return Lesson(
        model,
        calibrated,
        tuple(by_groups(values, truth == "bad") for values in p),
        costs,
        np.array(curve),
        explain(calibrated, APPLICANT, of="bad"),
        int(periods[answers == "good"].max()),
    )


def draw(found: Lesson, figure: Any) -> None:
    reasons, trust, price = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
    parts = found.why.to_pandas()
    order = [0, *(1 + np.argsort(-parts.contribution[1:].abs().to_numpy()))]
    total = 0.0
    for row, i in enumerate(order):
        name, value, size = parts.part[i], parts.value[i], parts.contribution[i]
        how = {"color": RED} if size > 0 else {"color": BLUE, "hatch": "//", "edgecolor": "white"}
        reasons.barh(row, size, left=total, height=0.66, **how)
        text = "prior" if name == "prior" else f"{name}: {value}"
        reasons.text(-2.75, row, text, va="center", ha="left")
        total += size
    reasons.plot([total, total], [-0.5, len(order) - 0.3], color=DARK, lw=0.8, ls=":")
    reasons.axvline(0, color=QUIET, lw=0.8)
    reasons.set(ylim=(len(order) - 0.3, -0.6), xlim=(-2.8, 1.2), yticks=[], xticks=[-1, 0, 1])
    reasons.spines["left"].set_visible(False)
    reasons.set(xlabel="log-odds of bad", title=f"why p(bad) = {found.why.probability[0]:.2f}")
    looks = ((RED, "s", "naive Bayes"), (BLUE, "o", "calibrated"))
    for (p, share), (colour, marker, name) in zip(found.groups, looks, strict=True):
        trust.plot(p, share, color=colour, marker=marker, ms=4, label=name)
    trust.plot([0, 1], [0, 1], color=QUIET, lw=0.8)
    trust.set(xlabel="p(bad)", title="share of bad credits", xlim=(0, 1), ylim=(0, 1))
    trust.legend(loc="upper left")
    price.plot(*found.curve.T, color=BLUE)
    for limit, dash, name in ((1 / 6, "-", "limit 1/6"), (0.5, ":", "limit 1/2")):
        price.axvline(limit, color=DARK, lw=1, ls=dash, label=name)
    price.set(
        xlabel="limit of p(bad)", title="mean cost per applicant", xlim=(0, 1), ylim=(0, None)
    )
    price.legend(loc="lower right")


SPANISH = {
    "prior": "a priori",
    "months": "meses",
    "history: good": "historial: bueno",
    "housing: rent": "vivienda: arriendo",
    "age": "edad",
    "income": "ingreso",
    "purpose: car": "destino: auto",
    "savings": "ahorros",
    "rent": "arriendo",
    "log-odds of bad": "log-razón de malo",
    "why p(bad)": "por qué p(malo)",
    "naive Bayes": "Bayes ingenuo",
    "calibrated": "calibrado",
    "limit of p(bad)": "límite de p(malo)",
    "p(bad)": "p(malo)",
    "share of bad credits": "proporción de créditos malos",
    "limit": "límite",
    "mean cost per applicant": "costo medio por solicitante",
}
