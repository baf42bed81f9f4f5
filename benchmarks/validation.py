"""Speed of validation: verosim reads the rows twice, its peers fit again.

python -m benchmarks.validation    prints its rows and writes them to docs/benchmarks/speed.md
"""

from __future__ import annotations

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

import verosim
from benchmarks.measure import HEADER, Row, options_of, table
from benchmarks.pages import DATA, keep
from benchmarks.tables import read

CODE = "kernels stats densities bayes models estimators folds validate"
SHRINKAGES = np.linspace(0, 1, 11)


def gaussian_rows(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, n)
    means, mix = rng.normal(size=(K, d)), np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    return 0.3 * means[y] + rng.normal(size=(n, d)) @ mix, y


def path_row(n: int) -> Row:
    X, y = gaussian_rows(n, 50, 5)
    grid = GridSearchCV(
        LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": SHRINKAGES}, cv=10, n_jobs=2
    )

    def ours() -> object:
        return verosim.path(verosim.LDA(), X, y, "shrinkage", SHRINKAGES, scoring="accuracy")

    found, peer = ours(), grid.fit(X, y)
    apart = np.abs(found.mean() - peer.cv_results_["mean_test_score"]).max()
    assert apart < 2 / n, apart  # the scores are equal, except for ties
    return Row(f"LDA, 11 shrinkages × 10 folds, {n // 1000}k × 50", ours,
               {"GridSearchCV, 2 jobs": (lambda: grid.fit(X, y), 100)})  # fmt: skip


def one_by_one_row(n: int) -> Row:
    X, y = gaussian_rows(n, 20, 3)
    peer = QuadraticDiscriminantAnalysis()

    def theirs() -> np.ndarray:
        return cross_val_predict(peer, X, y, cv=LeaveOneOut(), method="predict_log_proba")

    def ours() -> object:
        return verosim.cross_validate(verosim.QDA(), X, y, cv="loo", scoring="accuracy")

    return Row(f"QDA, leave-one-out, {n:,} × 20", ours,
               {"cross_val_predict": (theirs, 200)})  # fmt: skip


def adult_row() -> Row:
    frame = read("adult")

    def once() -> object:
        return verosim.NaiveBayes().fit(frame, "income").predict(frame)

    return Row("NaiveBayes, 10 folds, adult",
               lambda: verosim.cross_validate(verosim.NaiveBayes(), frame, "income"),
               {"one fit and predict": (once, 0.4)})  # fmt: skip


def validation_rows(quick: bool = False) -> list[Row]:
    rows = [path_row(10_000 if quick else 100_000), one_by_one_row(200 if quick else 2000)]
    return [*rows, adult_row()] if DATA.is_dir() else rows


def main() -> None:
    options = options_of(__doc__)
    print("\n".join(HEADER))
    lines = table(validation_rows(options.quick), options.repeats)
    if not options.quick:
        keep("docs/benchmarks/speed.md", "validation", "\n".join(HEADER + lines))


if __name__ == "__main__":
    main()
