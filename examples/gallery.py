"""Draw each plot of verosim once, for the page "Gallery".

    python -m examples.gallery                  draws docs/pictures/gallery_*.png
    python -m examples.gallery --only boundary  draws one of them

The measurements are Fisher's irises and the wines of scikit-learn. The table of customers is that
of the page "Five minutes".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import verosim

DOCS = Path(__file__).parents[1] / "docs"
CUSTOMERS = DOCS / "start" / "customers.csv"
TARGET = "left"
KINDS = {"customer": "ignore", "calls": "poisson"}


@cache
def flowers() -> tuple[dict[str, Any], str]:
    """The irises as a table, and the name of its target."""
    iris = load_iris()
    names = ("sepal length", "sepal width", "petal length", "petal width")
    table: dict[str, Any] = dict(zip(names, iris.data.T, strict=True))
    return table | {"kind": iris.target_names[iris.target].tolist()}, "kind"


@cache
def wines() -> tuple[np.ndarray, np.ndarray]:
    wine = load_wine()
    return wine.data, np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]


@cache
def customers() -> verosim.NaiveBayes:
    return verosim.NaiveBayes(KINDS).fit(CUSTOMERS, TARGET)


@cache
def evidence() -> verosim.insight.Explanation:
    return verosim.explain(customers(), CUSTOMERS, of="yes")


@cache
def validated() -> verosim.validate.CrossValidation:
    return verosim.cross_validate(customers(), CUSTOMERS, TARGET)


def boundary() -> Any:
    model = verosim.QDA().fit(*flowers())
    return verosim.plot_boundary(model, *flowers(), columns=("sepal length", "sepal width"))


def pairs() -> Any:
    return verosim.plot_pairs(verosim.QDA().fit(*flowers()), *flowers())


def densities() -> Any:
    return verosim.plot_densities(customers())


def nomogram() -> Any:
    return verosim.plot_nomogram(customers(), of="yes")


def graph() -> Any:
    model = verosim.TAN(columns={"customer": "ignore"})
    return verosim.plot_graph(model.fit(CUSTOMERS, TARGET))


def one_row() -> Any:
    return verosim.plot_evidence(evidence(), row=4)


def many_rows() -> Any:
    return verosim.plot_evidence_summary(evidence())


def effect() -> Any:
    return verosim.plot_effect(evidence(), "age")


def importance() -> Any:
    return verosim.plot_importance(evidence())


def confusion() -> Any:
    X, y = load_digits(return_X_y=True)
    return verosim.plot_confusion(verosim.cross_validate(verosim.HistogramNB(), X, y))


def calibration() -> Any:
    return verosim.plot_calibration(validated())


def path() -> Any:
    X, y = wines()
    values = np.geomspace(1e-4, 0.9, 15)
    return verosim.path(verosim.LDA(), X, y, "shrinkage", values).plot()


def candidates() -> Any:
    return verosim.auto(*wines()).plot()


def diagnosis() -> Any:
    model = verosim.LDA().fit(*flowers())
    return verosim.diagnose(model, *flowers()).plot()


def projection() -> Any:
    X, y = wines()
    return verosim.plot_projection(verosim.LDA().fit(X, y), X, y)


def whitening() -> Any:
    model = verosim.LDA().fit(*flowers())
    return verosim.plot_whitening(model, *flowers(), columns=("petal length", "petal width"))


def sample() -> Any:
    model = verosim.GaussianNB().fit(*flowers())
    return verosim.plot_sample(model, *flowers(), columns=("petal length", "petal width"))


PLOTS: tuple[Callable[[], Any], ...] = (
    boundary, pairs, densities, nomogram, graph, one_row, many_rows, effect, importance, confusion,
    calibration, path, candidates, diagnosis, projection, whitening, sample,
)  # fmt: skip


def main(arguments: list[str] | None = None) -> list[Path]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    parser = argparse.ArgumentParser("python -m examples.gallery")
    parser.add_argument("--out", type=Path, default=DOCS / "pictures")
    parser.add_argument("--only", choices=[one.__name__ for one in PLOTS])
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    written = []
    for draw in PLOTS:
        if asked.only in (None, draw.__name__):
            found = draw()
            path = asked.out / f"gallery_{draw.__name__}.png"
            getattr(found, "figure", found).savefig(
                path, dpi=90, metadata={"Software": None}, pil_kwargs={"optimize": True}
            )
            plt.close("all")
            written.append(path)
            print(path.name)
    return written


if __name__ == "__main__":
    main()
