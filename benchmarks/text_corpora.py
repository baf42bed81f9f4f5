"""The corpora of the text benchmark, with one split each into training and test texts.

A corpus with a published split keeps it: the part "train" is for training, and all other parts are
the test texts. A corpus without one has 75 % of its texts for training, in random order with
seed 0. A corpus that is not in the data folder is marked as absent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from benchmarks.pages import DATA

TARGETS = {
    "20news_bydate": "group", "webkb4": "class", "trec_questions": "coarse", "sms_spam": "label",
    "spanish_fake_news": "category", "sentence_polarity": "label", "subjectivity": "label",
}  # fmt: skip
CORPORA = tuple(TARGETS)
TRAINING_SHARE = 0.75


@dataclass(frozen=True)
class Corpus:
    """Texts and labels of the training and the test part."""

    name: str
    texts: list[str]
    labels: np.ndarray  # labels as text
    new: list[str]  # the test texts
    truth: np.ndarray  # their labels

    @property
    def classes(self) -> np.ndarray:
        return np.unique(np.concatenate([self.labels, self.truth]))


def is_absent(name: str) -> bool:
    return not (DATA / name / f"{name}.parquet").exists()


def corpus(name: str) -> Corpus:
    rows = pq.read_table(DATA / name / f"{name}.parquet").to_pydict()
    texts = np.array([text or "" for text in rows["text"]], dtype=object)
    labels = np.array(rows[TARGETS[name]]).astype(str)
    if "split" in rows:
        train = np.array(rows["split"]) == "train"
    else:
        order = np.random.default_rng(0).permutation(len(texts))
        train = np.zeros(len(texts), dtype=bool)
        train[order[: int(TRAINING_SHARE * len(texts))]] = True
    return Corpus(name, list(texts[train]), labels[train], list(texts[~train]), labels[~train])
