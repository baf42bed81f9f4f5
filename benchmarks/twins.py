"""Speed of the discriminative classifiers, each fitted to the objective that its peers reach.

python -m benchmarks.twins    prints its rows and writes them to docs/benchmarks/speed.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import RidgeClassifier

import verosim
from benchmarks import logistic, margins
from benchmarks.measure import HEADER, Row, options_of, table
from benchmarks.pages import keep

CODE = "kernels stats twins"


def least_squares_rows(n: int) -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for K in (2, 5):
        y = rng.integers(0, K, n)
        X = rng.normal(size=(n, 50)) + rng.normal(size=(K, 50))[y]
        ours, peer = verosim.LeastSquares(1.0).fit(X, y), RidgeClassifier().fit(X, y)
        assert (ours.predict(X) == peer.predict(X)).all()
        rows.append(
            Row(f"LeastSquares fit, {n // 1000}k × 50, {K} classes",
                lambda X=X, y=y: verosim.LeastSquares(1.0).fit(X, y),
                {"RidgeClassifier": (lambda X=X, y=y: RidgeClassifier().fit(X, y), 3)})
        )  # fmt: skip
    return rows


def rows(quick: bool = False) -> Iterator[Row]:
    yield from least_squares_rows(50_000 if quick else 500_000)
    yield from logistic.rows(quick)
    yield from margins.rows(quick)


def main() -> None:
    options = options_of(__doc__)
    print("\n".join(HEADER))
    lines = table(rows(options.quick), options.repeats)
    if not options.quick:
        keep("docs/benchmarks/speed.md", "twins", "\n".join(HEADER + lines))


if __name__ == "__main__":
    main()
