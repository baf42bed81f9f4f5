"""The accuracy tables: correct digits on NIST data, errors on textbook data, variances in chunks.

python -m benchmarks.accuracy    prints the tables and writes them to docs/benchmarks/accuracy.md
"""

from __future__ import annotations

import csv
import warnings
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB as PeerGaussianNB

import verosim
from benchmarks.pages import DATA, keep

CODE = "kernels stats densities models estimators"
PAGE = "docs/benchmarks/accuracy.md"


def read(path: Path) -> list[dict[str, str]]:
    with open(path) as file:
        return list(csv.DictReader(file))


def digits(found: float, exact: Fraction) -> float:
    error = abs(Fraction(float(found)) - exact)
    return 16.0 if error == 0 else min(16.0, -np.log10(float(error / abs(exact))))


def exact_squares(x: np.ndarray) -> Fraction:
    values = [Fraction(v) for v in x]
    mean = sum(values) / len(values)
    return sum(((v - mean) ** 2 for v in values), Fraction(0))


def within_chunks(model: verosim.GaussianNB, x: np.ndarray, y: np.ndarray, chunk: int) -> float:
    for start in range(0, len(x), chunk):
        model.partial_fit(x[start : start + chunk, None], y[start : start + chunk])
    return float(model.covariances_[0]) * len(x)


def nist() -> list[str]:
    """Correct digits of the within-class sum of squares, by chunk size."""
    lines = ["| NIST set | rows | 1 row at a time | 7 rows | all at once | scikit-learn, all |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    ours, peers = [], {}
    sets: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in read(DATA / "nist_strd/univariate.csv"):
        sets[row["dataset"]].append((float(row["y"]), "0"))
    for row in read(DATA / "nist_strd/anova.csv"):
        sets[row["dataset"]].append((float(row["response"]), row["treatment"]))
    for name, rows in sets.items():
        x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
        exact = sum((exact_squares(x[y == k]) for k in np.unique(y)), Fraction(0))
        cells = []
        for chunk in (1, 7, len(x)):
            if chunk == 1 and len(x) > 6000:
                cells.append("–")
                continue
            found = within_chunks(verosim.NaiveLDA(floor=0), x, y, chunk)
            ours.append(digits(found, exact))
            cells.append(f"{ours[-1]:.1f}")
        peer = PeerGaussianNB(var_smoothing=0).fit(x[:, None], y)
        peers[name] = digits((peer.var_[:, 0] * peer.class_count_).sum(), exact)
        cells.append(f"{peers[name]:.1f}")
        lines.append(f"| {name} | {len(x)} | " + " | ".join(cells) + " |")
    few = ", ".join(f"{found:.1f} on {name}" for name, found in peers.items() if found < min(ours))
    sentence = (
        f"verosim has at least {min(ours):.1f} digits on every set, however the rows are cut."
    )
    return [*lines, "", f"{sentence} scikit-learn has fewer on some: {few}."]


def textbook() -> list[str]:
    """Errors on the training rows and leave-one-out errors; a row is left out by forgetting it."""
    lines = ["| data set | LDA | QDA | GaussianNB |", "|---|---|---|---|"]
    for name, target in (("iris_fisher", "Species"), ("wine", "class")):
        rows = read(DATA / name / f"{name}.csv")
        y = np.array([row.pop(target) for row in rows])
        X = np.array([[float(v) for v in row.values()] for row in rows])
        cells = []
        for model in (verosim.LDA(), verosim.QDA(), verosim.GaussianNB()):
            model.fit(X, y)
            left_out = 0
            for i in range(len(y)):
                rest = model.with_priors(None).forget(X[i : i + 1], y[i : i + 1])
                left_out += int(rest.predict(X[i : i + 1])[0] != y[i])
            cells.append(f"{int((model.predict(X) != y).sum())} → {left_out}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def chunks() -> list[str]:
    """Breast cancer in chunks of five: variances of `partial_fit` against those of one `fit`."""
    X, y = load_breast_cancer(return_X_y=True)
    lines = [
        "| breast cancer, `partial_fit` in chunks of five | largest change of a variance "
        "against `fit` |",
        "|---|---|",
    ]
    for name, make, read_off in (
        ("verosim", verosim.GaussianNB, lambda m: m.covariances_),
        ("scikit-learn", PeerGaussianNB, lambda m: m.var_),
    ):
        model = make()
        for start in range(0, len(y), 5):
            model.partial_fit(X[start : start + 5], y[start : start + 5], classes=[0, 1])
        apart = np.abs(read_off(model) / read_off(make().fit(X, y)) - 1).max()
        lines.append(f"| {name} | {100 * apart:.2g} % |")
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    for mark, lines in (("nist", nist()), ("textbook", textbook()), ("chunks", chunks())):
        text = "\n".join(lines)
        print(text, "\n")
        keep(PAGE, mark, text)


if __name__ == "__main__":
    main()
