"""The link function: logistic regression is a linear model behind a non-linear function.

    g(p) = aᵀx + b,   p = P(1 | x)        g: the link,   g⁻¹: from the line to probabilities
    logit   g(p) = log(p / (1 − p)),  g⁻¹ = σ        probit  g(p) = Φ⁻¹(p),  g⁻¹ = Φ
    identity (least squares)  g⁻¹(u) = u             perceptron  g⁻¹(u) = 1 if u ≥ 0, else 0

A generalised linear model is fitted by maximum likelihood, by repeated weighted least squares. The
classes choose the link: Gaussian classes with one covariance give the logit exactly, and a hidden
Gaussian score that is compared with a threshold gives the probit.
Reference: McCullagh & Nelder (1989), Generalized Linear Models, chapters 2 and 4.

    python -m examples.lessons link_function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from examples.lessons.style import BLUE, DARK, GREEN, QUIET, RED
from verosim import LDA, LeastSquares, LogisticRegression

SIZE = (9.8, 3.4)  # of the picture, in inches
ROWS = 40_000
MEAN, DEVIATION = 1.5, 1.2  # the classes are N(−1.5, 1.2²) and N(1.5, 1.2²)
EDGES = np.linspace(-3.25, 3.25, 14)
# The inverse of a link, and its derivative.
LOGIT = (expit, lambda u: expit(u) * expit(-u))
PROBIT = (norm.cdf, norm.pdf)


def fit(
    x: np.ndarray, t: np.ndarray, inverse: Callable[..., Any], slope: Callable[..., Any]
) -> np.ndarray:
    """(a, b) of maximum likelihood, by iteratively reweighted least squares (Fisher's scoring)."""
    A, theta = np.column_stack([x, np.ones(len(x))]), np.zeros(2)
    for _ in range(25):
        u = A @ theta
        p, d = np.clip(inverse(u), 1e-12, 1 - 1e-12), slope(u)
        weight = d * d / (p * (1 - p))
        step = np.linalg.solve(A.T * weight @ A, A.T @ (weight * (t - p) / np.maximum(d, 1e-300)))
        theta = theta + step
        if np.abs(step).max() < 1e-10:
            break
    return theta


@dataclass(frozen=True)
class Lesson:
    centre: np.ndarray  # (bins,) mean x of each bin
    share: np.ndarray  # (bins,) share of class 1
    rows: np.ndarray  # (bins,)
    lines: dict[str, np.ndarray]  # by name, (a, b) of the linear part
    truth: np.ndarray  # (a, b) of the classes
    loss: dict[str, float]  # mean −log p of the labels

    def probability(self, name: str, x: np.ndarray) -> np.ndarray:
        a, b = self.lines[name]
        if name == "least squares":
            return a * x + b
        return (norm.cdf if name == "probit" else expit)(a * x + b)

    def __str__(self) -> str:
        lines = [
            f"{'':<22} {'a':>8} {'b':>8} {'log-loss':>9} {'P(1 | −3)':>11} {'P(1 | 3)':>10}",
        ]
        ends = np.array([-3.0, 3.0])
        for name, (a, b) in self.lines.items():
            low, high = self.probability(name, ends)
            loss = f"{self.loss[name]:.5f}" if name in self.loss else "—"
            lines.append(f"{name:<22} {a:>8.3f} {b:>8.3f} {loss:>9} {low:>11.4f} {high:>10.4f}")
        low, high = expit(self.truth[0] * ends + self.truth[1])
        a, b = self.truth
        truth = "truth, by Bayes’ rule"
        lines.append(f"{truth:<22} {a:>8.3f} {b:>8.3f} {'':>9} {low:>11.4f} {high:>10.4f}")
        return "\n".join(lines)


def learn() -> Lesson:
    """Draw rows of two Gaussian classes, and fit four linear models with three links."""
    rng = np.random.default_rng(8)
    t = rng.integers(0, 2, ROWS)
    x = rng.normal(MEAN * (2 * t - 1), DEVIATION)
    X = x[:, None]
    lines = {
        "logit": fit(x, t, *LOGIT),
        "probit": fit(x, t, *PROBIT),
    }
    for name, model in (
        ("LogisticRegression", LogisticRegression(C=np.inf)),
        ("LDA", LDA()),
    ):
        model.fit(X, t)
        lines[name] = np.array([model.coef_[0, 0], model.intercept_[0]])
    square = LeastSquares().fit(X, t)  # with the targets −1 and 1, so p is (1 + y(x)) / 2
    lines["least squares"] = np.array([square.coef_[0, 0], 1 + square.intercept_[0]]) / 2
    place = np.digitize(x, EDGES)
    bins = [place == i for i in range(1, len(EDGES))]
    found = Lesson(
        np.array([x[own].mean() for own in bins]),
        np.array([t[own].mean() for own in bins]),
        np.array([own.sum() for own in bins]),
        lines,
        np.array([2 * MEAN / DEVIATION**2, 0.0]),
        {},
    )
    for name in ("logit", "probit", "LogisticRegression", "LDA"):
        p = found.probability(name, x)
        found.loss[name] = float(-np.mean(np.log(np.where(t == 1, p, 1 - p))))
    return found


def draw(found: Lesson, figure: Any) -> None:
    links, fits, scale = figure.subplots(1, 3)
    u = np.linspace(-4, 4, 401)
    links.plot(u, expit(u), color=BLUE, label="logit: $σ(u)$")
    links.plot(u, norm.cdf(u), color=GREEN, ls="--", label="probit: $Φ(u)$")
    links.plot(u, 0.5 + u / 4, color=RED, ls="-.", lw=1.2, label="identity: least squares")
    links.step(u, u >= 0, color=DARK, ls=":", label="step: perceptron")
    links.set(xlabel="$u = a^⊤x + b$", ylim=(-0.25, 1.55), title="from the line to a probability")
    links.legend(loc="upper left")
    x = np.linspace(-3.4, 3.4, 400)
    looks = {
        "logit": {"color": BLUE},
        "probit": {"color": GREEN, "ls": "--"},
        "least squares": {"color": RED, "ls": "-.", "lw": 1.2},
    }
    dots = {"color": "black", "ms": 4, "ls": "", "marker": "o", "zorder": 3}
    fits.plot(found.centre, found.share, **dots, label="share of class 1")
    scale.plot(found.centre, logit(found.share), **dots)
    for name, look in looks.items():
        p = found.probability(name, x)
        fits.plot(x, p, **look, label=name)
        inside = (p > 1e-4) & (p < 1 - 1e-4)
        scale.plot(x[inside], logit(p[inside]), **look)
    for ax in (fits, scale):
        ax.set(xlabel="$x$", xlim=(-3.5, 3.5))
    fits.set(ylim=(-0.25, 1.55), title="$P(1 \\mid x)$ of Gaussian classes")
    fits.legend(loc="upper left")
    scale.axhline(0, color=QUIET, lw=0.6)
    scale.set(ylim=(-9, 9), title="the same on the scale of the logit")


SPANISH = {
    "logit: $σ(u)$": "logit: $σ(u)$",
    "probit: $Φ(u)$": "probit: $Φ(u)$",
    "identity: least squares": "identidad: mínimos cuadrados",
    "step: perceptron": "escalón: perceptrón",
    "from the line to a probability": "de la recta a una probabilidad",
    "share of class 1": "proporción de la clase 1",
    "logit": "logit",
    "probit": "probit",
    "least squares": "mínimos cuadrados",
    "$P(1 \\mid x)$ of Gaussian classes": "$P(1 \\mid x)$ de clases gaussianas",
    "the same on the scale of the logit": "lo mismo en la escala del logit",
}
