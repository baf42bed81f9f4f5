"""On separable rows, ‖w‖ of logistic regression grows without limit; a penalty limits it.

    w(t)/log t → ŵ,   ŵ = argmin ‖w‖² with tᵢ wᵀxᵢ ≥ 1,   so d‖w‖/d log t → 1/margin

‖w‖ grows with the number t of passes over the rows, not with the number of rows. If w makes no
errors, a larger w always has a lower loss. The direction of w converges to the widest margin. The
models have no intercept, so that ‖w‖ describes the whole model.
Reference: Soudry et al. (2018), The implicit bias of gradient descent on separable data.

    python -m examples.lessons separable
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, DARK, GREEN, PINK, QUIET, RED, draw_line, draw_rows, plane
from verosim import ConvergenceWarning, LinearSVM, LogisticRegression

SIZE = (8.8, 3.9)  # of the picture, in inches
PASSES = 5_000
PENALTIES = (1.0, 10.0, 100.0)  # C
MEAN = np.array([1.5, 1.0])


def rows(n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on opposite sides of the origin."""
    y = np.repeat([0, 1], n)
    noise = np.random.default_rng(4).standard_normal((2 * n, 2))
    return spread * noise + np.where(y[:, None] == 1, MEAN, -MEAN), y


def logistic(C: float, **how: Any) -> LogisticRegression:
    return LogisticRegression(C=C, fit_intercept=False, **how)


def descent(X: np.ndarray, y: np.ndarray, C: float, passes: int = PASSES) -> LogisticRegression:
    """Stochastic gradient descent with a constant step size, while the loss decreases."""
    model = logistic(C, solver="sgd", decay=0.0, tol=0.0, max_iter=passes, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the lesson shows this
        return model.fit(X, y)


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,)
    free: dict[int, LogisticRegression]  # no penalty, by passes
    penalised: dict[float, LogisticRegression]  # by C
    overlapping: LogisticRegression  # no penalty, on rows that no line separates
    minima: list[float]  # ‖w‖ at the minimum of each of these models
    widest: np.ndarray  # (2,) ŵ
    kept: LogisticRegression  # the default solver with C=inf
    warning: str

    @property
    def slope(self) -> float:
        """d‖w‖/d log t over the last 90 % of the passes."""
        t = np.arange(1, PASSES + 1)
        late = t > PASSES // 10
        return float(np.polyfit(np.log(t[late]), np.array(self.norms)[late], 1)[0])

    @property
    def margin(self) -> float:
        """The widest margin: half the distance between the classes."""
        return 1 / float(np.linalg.norm(self.widest))

    @property
    def norms(self) -> list[float]:
        """‖w‖ after each pass, without a penalty."""
        return self.free[PASSES].norm_curve_

    def __str__(self) -> str:
        at = (1, 10, 100, 1_000, PASSES)
        lines = [
            "no penalty: ‖w‖ = "
            + ", ".join(f"{self.norms[t - 1]:.2f}" for t in at)
            + " after "
            + ", ".join(f"{t:,}" for t in at)
            + " passes",
            f"            d‖w‖/d log t = {self.slope:.2f}, which converges to 1/margin = "
            f"{1 / self.margin:.2f}",
        ]
        models = {f"C = {C:g}": model for C, model in self.penalised.items()}
        models["overlapping, no penalty"] = self.overlapping
        for (name, model), end in zip(models.items(), self.minima, strict=True):
            lines.append(
                f"{name}: ‖w‖ = {model.norm_curve_[-1]:.2f} at the end of the descent, after "
                f"{model.n_iter_} passes; {end:.2f} at the minimum"
            )
        kept = float(np.linalg.norm(self.kept.coef_))
        lines += [f"LogisticRegression(C=inf): ‖w‖ = {kept:.2f}, with the warning:", self.warning]
        return "\n".join(lines)


def learn() -> Lesson:
    """Run the descent with and without a penalty, on separable and on overlapping rows."""
    X, y = rows(20, 0.7)
    other, kinds = rows(20, 1.6)
    ends = [logistic(C).fit(X, y) for C in PENALTIES] + [logistic(np.inf).fit(other, kinds)]
    widest = LinearSVM(C=1e4, loss="hinge", fit_intercept=False).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = logistic(np.inf).fit(X, y)
    return Lesson(
        X,
        y,
        free={passes: descent(X, y, np.inf, passes) for passes in (1, 100, PASSES)},
        penalised={C: descent(X, y, C) for C in PENALTIES},
        overlapping=descent(other, kinds, np.inf),
        minima=[float(np.linalg.norm(model.coef_)) for model in ends],
        widest=widest.coef_[0],
        kept=kept,
        warning=str(caught[0].message),
    )


def draw(found: Lesson, figure: Any) -> None:
    left, curve = figure.subplots(1, 2, width_ratios=(1, 1.35))
    draw_rows(left, found.X, found.y)
    for side in (-1, 1):
        draw_line(left, found.widest, side, color=QUIET, lw=0.8, ls=(0, (6, 3)))
    dashes = (":", (0, (4, 2)), "-")
    for (passes, model), dash in zip(found.free.items(), dashes, strict=True):
        label = f"{passes:,} pass" + "es" * (passes > 1)
        draw_line(left, model.coef_[0], 0.0, color="black", ls=dash, lw=1.4, label=label)
    left.plot([], [], color=QUIET, lw=0.8, ls=(0, (6, 3)), label="widest margin")
    plane(left, (-3.6, 3.6), (-3.6, 3.6))
    left.set_title("the boundary converges …")
    figure.legend(loc="outside lower left", ncols=4)

    _norms(curve, found.norms, RED, "-", "no penalty")
    colours = (BLUE, GREEN, PINK)
    for (C, model), colour in zip(found.penalised.items(), colours, strict=True):
        _norms(curve, model.norm_curve_, colour, "-", f"$C$ = {C:g}")
    overlapping = found.overlapping.norm_curve_
    _norms(curve, overlapping, DARK, (0, (1, 1)), "no penalty, classes overlap", -5)
    kept = float(np.linalg.norm(found.kept.coef_))
    curve.axhline(kept, color=QUIET, lw=0.8, ls=(0, (6, 3)))
    curve.annotate(
        "C=inf, default solver", (1, kept), xytext=(2, 3), textcoords="offset points",
        color=DARK, fontsize=8,
    )  # fmt: skip
    curve.set(xscale="log", xlabel="passes over the rows", ylim=(0, 1.12 * kept), xlim=(1, 9e4))
    curve.set_xticks([1, 10, 100, 1_000, PASSES], ["1", "10", "100", "1,000", f"{PASSES:,}"])
    curve.set_yticks([0, 5, 10, 15, 20])
    curve.minorticks_off()
    curve.set_title("… but $‖w‖$ grows like log t, unless there is a penalty")


def _norms(ax: Any, norms: list[float], colour: str, dash: Any, name: str, by: int = 0) -> None:
    """Draw ‖w‖ after each pass, with a dot and a name at the end of the descent."""
    ax.plot(range(1, len(norms) + 1), norms, color=colour, ls=dash)
    end = (len(norms), norms[-1])
    ax.plot(*end, "o", ms=4, color=colour)
    ax.annotate(
        name, end, xytext=(6, by), textcoords="offset points", va="center", color=colour,
        fontsize=8,
    )  # fmt: skip


SPANISH = {
    "the boundary converges …": "la frontera converge …",
    "… but $‖w‖$ grows like log t, ": "… pero $‖w‖$ crece como log t ",
    "unless there is a penalty": "si no hay penalización",
    "passes over the rows": "pasadas por las filas",
    "passes": "pasadas",
    "pass": "pasada",
    "widest margin": "margen máximo",
    "no penalty, classes overlap": "sin penalización, clases traslapadas",
    "no penalty": "sin penalización",
    "C=inf, default solver": "C=inf, algoritmo por defecto",
}
