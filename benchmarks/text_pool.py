"""Accuracy, log-loss and time of TextPool, against linear models on tf-idf.

python -m benchmarks.text_pool                       all collections, three seeds of the folds
python -m benchmarks.text_pool --only sms_spam       one collection
python -m benchmarks.text_pool --quick               one seed

The settings of all models come from the training part. Times are CPU seconds of one thread, with
the division into words. The peers are scikit-learn's TfidfVectorizer(sublinear_tf=True) with
LinearSVC() and with LogisticRegression(C=10), on words, and on words and pairs of words.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import verosim
from benchmarks.pages import DATA
from verosim.linalg import one_blas_thread

TARGETS = {
    "20news_bydate": "group",
    "webkb4": "class",
    "trec_questions": "coarse",
    "sms_spam": "label",
    "spanish_fake_news": "category",
}
SEEDS = 3


class Texts(NamedTuple):
    """The training and test parts of one collection."""

    train: list[str]
    labels: np.ndarray
    test: list[str]
    truth: np.ndarray


def collection(name: str) -> Texts:
    """The parts that the collection has, or three quarters and the rest in random order."""
    rows = pq.read_table(DATA / name / f"{name}.parquet").to_pydict()
    texts = np.array([text or "" for text in rows["text"]], dtype=object)
    labels = np.array(rows[TARGETS[name]])
    if "split" in rows:
        train = np.array(rows["split"]) == "train"
    else:
        train = np.zeros(len(texts), dtype=bool)
        train[np.random.default_rng(0).permutation(len(texts))[: int(0.75 * len(texts))]] = True
    return Texts(list(texts[train]), labels[train], list(texts[~train]), labels[~train])


def tfidf(model: Any, longest: int) -> Any:
    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, longest), min_df=longest)
    return make_pipeline(vectorizer, model)


def models(seeds: int) -> Iterator[tuple[str, list[Any]]]:
    """The name of each model, with one copy per seed."""
    for effort in ("default", "fast", "max"):
        made = range(seeds if effort == "default" else 1)
        name = "`TextPool()`" if effort == "default" else f'`TextPool(effort="{effort}")`'
        yield name, [verosim.TextPool(effort=effort, random_state=seed) for seed in made]
    for longest, what in ((1, "words"), (2, "words and pairs")):
        yield f"LinearSVC, {what}", [tfidf(LinearSVC(), longest)]
        yield (
            f"LogisticRegression, {what}",
            [tfidf(LogisticRegression(C=10, max_iter=1000), longest)],
        )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def measured(model: Any, texts: Texts) -> tuple[float, float, float, float]:
    """Accuracy, log-loss (nan without probabilities), and CPU seconds of fit and predict."""
    with verosim.use_threads(1), one_blas_thread:
        _, fit = timed(lambda: model.fit(texts.train, texts.labels))
        found, predict = timed(lambda: model.predict(texts.test))
        loss = np.nan
        if hasattr(model, "predict_log_proba"):
            log_p, predict = timed(lambda: model.predict_log_proba(texts.test))
            own = np.searchsorted(model.classes_, texts.truth)
            loss = -float(log_p[np.arange(len(own)), own].mean())
    return float((found == texts.truth).mean()), loss, fit, predict


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=list(TARGETS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    verosim.TextPool().fit(["warm up", "compile the loops"] * 20, [0, 1] * 20)
    print("| collection | model | accuracy | log-loss | fit, s | predict, s |")
    print("|---|---|---|---|---|---|")
    for name in [options.only] if options.only else TARGETS:
        texts = collection(name)
        for label, copies in models(1 if options.quick else SEEDS):
            mean = np.mean([measured(model, texts) for model in copies], axis=0)
            shown = [
                "–" if np.isnan(x) else f"{x:.{d}f}"
                for x, d in zip(mean, (3, 3, 2, 2), strict=True)
            ]
            print(f"| {name} | {label} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
