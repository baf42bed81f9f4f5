"""The value of unlabelled rows: EM against the model of the labelled rows only.

python -m benchmarks.semi            prints the tables and writes them to docs/benchmarks/quality.md
python -m benchmarks.semi --quick    one draw of labels; nothing is written

20 Newsgroups by date: some posts of every group of the training part have a label, in five random
draws, and all other posts of it have none. The accuracy is that on the test part, which has later
posts. scikit-learn's sets: accuracy on a fifth of the rows, held out again in every draw.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

import verosim
from benchmarks.measure import options_of
from benchmarks.pages import DATA, keep
from verosim.validate.semi import SemiSupervised

CODE = "kernels stats densities bayes models estimators validate"
PAGE = "docs/benchmarks/quality.md"
EACH = (1, 5, 20, 100, 300)  # labelled posts of every group
WEIGHTS = (1.0, 0.1)


def drawn(y: np.ndarray, each: int, draw: int) -> np.ndarray:
    """(n,) which rows have a label: the same number in each class."""
    rng = np.random.default_rng(draw)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:each] for label in np.unique(y)]
    out = np.zeros(len(y), dtype=bool)
    out[np.concatenate(chosen)] = True
    return out


def scores(
    model: Any, X: Any, y: np.ndarray, known: np.ndarray, test: tuple[Any, Any]
) -> list[float]:
    """Accuracy with the labelled rows only, and by EM with each weight λ."""
    labels = np.where(known, y.astype(object), None)
    out = [clone(model).fit(X[known], y[known]).score(*test)]
    for weight in WEIGHTS:
        em = SemiSupervised(model, unlabelled=None, weight=weight, max_iter=20)
        out.append(em.fit(X, labels).score(*test))
    return out


def line(name: str, each: int, found: list[list[float]]) -> str:
    """One line of the table: means, and the standard error of the gain at λ = 1."""
    mean = np.mean(found, axis=0)
    gain = np.array(found)[:, 1] - np.array(found)[:, 0]
    error = f" ± {gain.std(ddof=1) / len(gain) ** 0.5:.3f}" if len(gain) > 1 else ""
    cells = " | ".join(f"{m:.3f}" for m in mean)
    return f"| {name} | {each} | {cells} | {gain.mean():+.3f}{error} |"


HEADER = [
    "| model | labels per class | labelled rows alone | EM, λ = 1 | EM, λ = 0.1 | gain at λ = 1 |",
    "|---|---|---|---|---|---|",
]


def newsgroups(draws: int) -> tuple[list[str], str]:
    rows = pq.read_table(DATA / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    train = np.array(rows["split"]) == "train"
    y, texts = np.array(rows["group"]), np.array(rows["text"], dtype=object)
    bodies = [text.partition("\n\n")[2] for text in rows["text"]]  # without their headers
    words = CountVectorizer(stop_words="english", min_df=2).fit(
        np.array(bodies, dtype=object)[train]
    )
    scaled = 100 * normalize(words.transform(bodies).astype(float), norm="l1")
    lines = []
    for name, model, X in (
        ("TextNB(alpha=0.01), raw posts", verosim.TextNB(alpha=0.01), texts),
        ("MultinomialNB(alpha=0.1), prepared as in Nigam et al.",
         verosim.MultinomialNB(alpha=0.1), scaled),
        ("TextNB(), raw posts", verosim.TextNB(), texts),
    ):  # fmt: skip
        for each in EACH:
            found = [
                scores(
                    model, X[train], y[train], drawn(y[train], each, draw), (X[~train], y[~train])
                )
                for draw in range(draws)
            ]
            lines.append(line(name, each, found))
            print(lines[-1], flush=True)
    labels = np.where(drawn(y[train], 20, 0), y[train].astype(object), None)
    em = SemiSupervised(verosim.TextNB(alpha=0.01), unlabelled=None, max_iter=10, tol=0)
    start = time.perf_counter()
    em.fit(texts[train], labels)
    took = time.perf_counter() - start
    return lines, f"Ten iterations on all {train.sum():,} posts: {took:.1f} s on 2 cores."


SETS: dict[str, tuple[Callable[..., Any], Any]] = {
    "iris, LDA(shrinkage=0.01)": (load_iris, verosim.LDA(shrinkage=0.01)),
    "wine, GaussianNB(floor=0.01)": (load_wine, verosim.GaussianNB(floor=0.01)),
    "breast cancer, GaussianNB(floor=0.01)": (load_breast_cancer, verosim.GaussianNB(floor=0.01)),
    "digits, LDA(shrinkage=0.1)": (load_digits, verosim.LDA(shrinkage=0.1)),
    "digits, GaussianNB(floor=0.01)": (load_digits, verosim.GaussianNB(floor=0.01)),
}


def numbers(draws: int) -> list[str]:
    lines = []
    for name, (load, model) in SETS.items():
        X, y = load(return_X_y=True)
        for each in (3, 10, 30):
            found = []
            for draw in range(draws):
                X_train, X_test, y_train, y_test = train_test_split(
                    X, y, test_size=0.2, stratify=y, random_state=draw
                )
                known = drawn(y_train, each, draw)
                found.append(scores(model, X_train, y_train, known, (X_test, y_test)))
            lines.append(line(name, each, found))
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    quick = options_of(__doc__).quick
    print("\n".join(HEADER))
    posts, took = newsgroups(1 if quick else 5)
    print(took)
    print("\n".join(HEADER))
    rows = numbers(1 if quick else 20)
    if not quick:
        keep(PAGE, "semi_texts", "\n".join([*HEADER, *posts, "", took]))
        keep(PAGE, "semi_sets", "\n".join([*HEADER, *rows]))


if __name__ == "__main__":
    main()
