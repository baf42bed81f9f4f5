"""Speed of LinearSVM against LIBLINEAR, and of Perceptron against scikit-learn's Perceptron.

python -m benchmarks.margins    prints its rows

LinearSVM penalises its intercept here, as LIBLINEAR does, so that both have one objective. Its rows
show how far above the minimum each side stops, relative to the minimum, over all classes:
(verosim / LinearSVC). Each has the loosest of a few tolerances that reaches 1e-6. LinearSVC has its
default number of passes, 1000, where that is not enough. Perceptrons run the same number of epochs.
For several classes scikit-learn fits one against the rest, and verosim fits all functions together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import Perceptron as Peer
from sklearn.svm import LinearSVC

from benchmarks.measure import HEADER, Row, options_of, table
from benchmarks.pages import DATA
from benchmarks.text import newsgroups
from benchmarks.validation import gaussian_rows
from verosim.twins.perceptron import Perceptron
from verosim.twins.svm import LinearSVM

EPOCHS = 5
ENOUGH = 1e-6
TOLERANCES = (1e-5, 5e-6, 3e-6, 2e-6, 1e-6)  # duality gaps; the objective is closer to its minimum


def objective(model: Any, X: Any, y: np.ndarray, loss: str) -> float:
    """½ ‖w‖² + ½ b² + Σ ℓ, summed over the problems of one class against the rest."""
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    found = 0.0
    for k, label in enumerate(classes):
        w, b = model.coef_[k], model.intercept_[k]
        left = np.maximum(1 - np.where(y == label, 1.0, -1.0) * (X @ w + b), 0)
        found += 0.5 * (w @ w + b * b) + (left @ left if loss != "hinge" else left.sum())
    return float(found)


def machine_row(name: str, X: Any, y: np.ndarray, loss: str, tol: float, slow: bool) -> Row:
    """One row of the table. `tol` is the tolerance of LinearSVC."""

    def ours(tol: float) -> LinearSVM:
        return LinearSVM(loss=loss, tol=tol, penalize_intercept=True, random_state=0).fit(X, y)

    def theirs() -> LinearSVC:
        return LinearSVC(loss=loss, tol=tol, random_state=0).fit(X, y)

    best = ours(1e-9)
    least = float((best.objective_ - best.gap_).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for own in TOLERANCES:
            ends = [objective(ours(own), X, y, loss) / least - 1]
            if ends[0] <= ENOUGH:
                break
        ends.append(objective(theirs(), X, y, loss) / least - 1)
    assert ends[0] <= ENOUGH, ends
    shown = f"LinearSVM, {loss.replace('_', ' ')}, {name} ({ends[0]:.0e} / {ends[1]:.0e})"
    peers = {f"LinearSVC, tol={tol:.0e}": (theirs, 1.5)}
    return Row(shown, lambda: ours(own), peers, slow=slow)


def perceptron_row(name: str, X: Any, y: np.ndarray) -> Row:
    def ours() -> Perceptron:
        return Perceptron(max_iter=EPOCHS, random_state=0).fit(X, y)

    def theirs() -> Peer:
        return Peer(max_iter=EPOCHS, tol=None, random_state=0).fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ours().n_iter_ == EPOCHS
    several = ", one against the rest" if len(np.unique(y)) > 2 else ""
    return Row(f"Perceptron, {EPOCHS} epochs, {name}", ours,
               {f"scikit-learn's{several}": (theirs, 1.5)})  # fmt: skip


def dense_rows(quick: bool) -> Iterator[Row]:
    n = 10_000 if quick else 100_000
    for K in (2, 5):
        X, y = gaussian_rows(n, 50, K)
        name = f"{n // 1000}k × 50, {K} classes"
        yield machine_row(name, X, y, "squared_hinge", 3e-4, slow=False)
        yield machine_row(name, X, y, "hinge", 1e-4, slow=True)
    n = 50_000 if quick else 500_000
    for K in (2, 5):
        X, y = gaussian_rows(n, 50, K)
        yield perceptron_row(f"{n // 1000}k × 50, {K} classes", X, y)


def text_rows(quick: bool) -> Iterator[Row]:
    texts, groups = newsgroups("train", 4 if quick else 1)
    counts = CountVectorizer().fit_transform(texts).astype(np.float64)
    weighed = TfidfTransformer().fit_transform(counts)
    for title, first, second, loose in (
        ("atheism or christianity", "alt.atheism", "soc.religion.christian", 1e-2),
        ("comp.* or sci.*", "comp.", "sci.", 3e-2),
    ):
        chosen = np.array([group.startswith((first, second)) for group in groups])
        y = np.array([group.startswith(first) for group in groups[chosen]])
        X = weighed[chosen]
        for loss, tol in (("squared_hinge", loose), ("hinge", 1e-5)):
            yield machine_row(f"tf-idf, {title}, {len(y)} texts", X, y, loss, tol, slow=False)
    name = f"{len(groups)} texts, 20 groups"
    for loss, tol in (("squared_hinge", 1e-2), ("hinge", 1e-5)):
        yield machine_row(f"tf-idf, {name}", weighed, groups, loss, tol, slow=loss == "hinge")
    yield perceptron_row(f"counts, {name}", counts, groups)
    comp = np.array([group.startswith("comp.") for group in groups])
    yield perceptron_row("counts, comp.* or not", counts, comp)


def rows(quick: bool = False) -> Iterator[Row]:
    yield from dense_rows(quick)
    if DATA.is_dir():
        yield from text_rows(quick)


def main() -> None:
    options = options_of(__doc__)
    print("\n".join(HEADER))
    table(rows(options.quick), options.repeats)


if __name__ == "__main__":
    main()
