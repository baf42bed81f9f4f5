"""The models of the text benchmark: a registry by short names.

`fit(texts, labels, seed)` gives a fitted classifier of texts and is timed, with everything that it
reads and writes. The seed is that of the folds on which settings, calibration and weights are
chosen; they are folds of the training texts only. Models without folds ignore it.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import verosim

SEEDS = (0, 1, 2)
FOLDS = 5
NOT_WORDS = re.compile(r"[\W_]+")
Fit = Callable[[list[str], np.ndarray, int], Any]


@dataclass(frozen=True)
class TextModel:
    """One model of the comparison."""

    key: str  # its name in the command line and in the cache
    call: str  # its name on the page: how it is called
    fit: Fit
    has_folds: bool = False  # then it is measured with three seeds

    @property
    def seeds(self) -> tuple[int, ...]:
        return SEEDS if self.has_folds else SEEDS[:1]


def folds(seed: int) -> StratifiedKFold:
    return StratifiedKFold(FOLDS, shuffle=True, random_state=seed)


# verosim -----------------------------------------------------------------------------------------


def contrast(alpha: Any = 1.0) -> Any:
    return verosim.TextNB("contrast", weighting="l2", alpha=alpha)


def calibrated_contrast(texts: list[str], labels: np.ndarray, seed: int) -> Any:
    alpha = contrast("cv").fit(texts, labels).alpha_
    return verosim.calibrate(contrast(alpha), texts, labels, cv=folds(seed), method="length")


def calibrated_ridge(texts: list[str], labels: np.ndarray, seed: int) -> Any:
    chosen = verosim.TextRidge(penalty="cv").fit(texts, labels)
    model = verosim.TextRidge(penalty=chosen.penalty_, vocabulary=chosen.terms_.tolist())
    return verosim.calibrate(model, texts, labels, cv=folds(seed))


def text_pool(effort: Any) -> Fit:
    return lambda X, y, seed: verosim.TextPool(effort=effort, random_state=seed).fit(X, y)


# scikit-learn ------------------------------------------------------------------------------------


def tf_idf(make: Callable[[], Any], longest: int) -> Fit:
    """Terms of a single training text are left out if there are pairs of words."""

    def fit(texts: list[str], labels: np.ndarray, seed: int) -> Any:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, longest), min_df=longest)
        return make_pipeline(words, make()).fit(texts, labels)

    return fit


def logistic() -> LogisticRegression:
    return LogisticRegression(C=10, max_iter=1_000)


# Vowpal Wabbit and fastText ----------------------------------------------------------------------


def plain_words(text: str) -> str:
    """Lowercased words, without the characters that have a meaning in the files of both."""
    return NOT_WORDS.sub(" ", text.lower())


class FileModel:
    """A classifier that is trained from a file."""

    def __init__(self, texts: list[str], labels: np.ndarray) -> None:
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.folder = tempfile.TemporaryDirectory()
        order = np.random.default_rng(0).permutation(len(texts))  # both learn online
        self.train(self.write([self.line(texts[i], int(codes[i])) for i in order], "train"))

    def write(self, lines: list[str], name: str) -> str:
        path = Path(self.folder.name) / name
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def line(self, text: str, code: int) -> str:
        raise NotImplementedError

    def train(self, path: str) -> None:
        raise NotImplementedError


class VowpalWabbit(FileModel):
    """One against all, pairs of words, ten passes."""

    def line(self, text: str, code: int) -> str:
        return f"{code + 1} | {plain_words(text)}"

    def train(self, path: str) -> None:
        import vowpalwabbit

        options = (
            f"--oaa {len(self.classes_)} --probabilities --loss_function logistic --ngram 2 -b 22 "
            f"--passes 10 --holdout_off -k --cache_file {path}.cache -f {path}.model "
        )
        vowpalwabbit.Workspace(f"{options} -d {path} --no_stdin --quiet").finish()
        self.model = f"{path}.model"

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        import vowpalwabbit

        path = self.write([f"| {plain_words(text)}" for text in texts], "test")
        options = f"-t -i {self.model} -d {path} -p {path}.out --probabilities --no_stdin --quiet"
        vowpalwabbit.Workspace(options).finish()
        lines = Path(f"{path}.out").read_text().split("\n")[: len(texts)]
        found = [[float(pair.split(":")[1]) for pair in line.split()] for line in lines]
        return np.array(found)


class FastText(FileModel):
    """Words and pairs of words, 25 epochs, learning rate 1."""

    def line(self, text: str, code: int) -> str:
        return f"__label__{code} {plain_words(text)}"

    def train(self, path: str) -> None:
        import fasttext

        self.model = fasttext.train_supervised(
            path, wordNgrams=2, epoch=25, lr=1.0, thread=2, verbose=0
        )

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        labels, shares = self.model.predict([plain_words(text) for text in texts], k=-1)
        out = np.zeros((len(texts), len(self.classes_)))
        for i, (names, row) in enumerate(zip(labels, shares, strict=True)):
            out[i, [int(name.removeprefix("__label__")) for name in names]] = row
        return np.clip(out, 0, 1)


REGISTRY = {
    model.key: model
    for model in (
        TextModel("textnb", "TextNB()", lambda X, y, seed: verosim.TextNB().fit(X, y)),
        TextModel("contrast", 'TextNB("contrast", weighting="l2")',
                  lambda X, y, seed: contrast().fit(X, y)),
        TextModel("contrast-length", 'the same, alpha="cv", calibrated by length',
                  calibrated_contrast, True),
        TextModel("ridge", 'TextRidge(penalty="cv"), calibrated by a temperature',
                  calibrated_ridge, True),
        TextModel("pool", "TextPool()", text_pool("default"), True),
        TextModel("pool-fast", 'TextPool(effort="fast")', text_pool("fast"), True),
        TextModel("pool-max", 'TextPool(effort="max")', text_pool("max"), True),
        TextModel("svm", "tf-idf, LinearSVC()", tf_idf(LinearSVC, 1)),
        TextModel("svm-pairs", "tf-idf of words and pairs, LinearSVC()", tf_idf(LinearSVC, 2)),
        TextModel("logistic", "tf-idf, LogisticRegression(C=10)", tf_idf(logistic, 1)),
        TextModel("logistic-pairs", "tf-idf of words and pairs, LogisticRegression(C=10)",
                  tf_idf(logistic, 2)),
        TextModel("vw", "Vowpal Wabbit, words and pairs",
                  lambda X, y, seed: VowpalWabbit(X, y)),
        TextModel("fasttext", "fastText, words and pairs", lambda X, y, seed: FastText(X, y)),
    )
}  # fmt: skip


def missing(model: TextModel) -> str | None:
    """Why the model cannot be used here: the error of a fit on 40 texts, or None."""
    texts = [f"{word} number {i % 7} here" for i in range(20) for word in ("spam", "ham")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(texts, np.array(["a", "b"] * 20), 0)
    except Exception as error:  # whatever it is, it is shown on the page
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def reasons_missing(keys: Iterable[str]) -> dict[str, str]:
    """The models that cannot be used, with the reason."""
    found = {key: missing(REGISTRY[key]) for key in keys}
    return {key: why for key, why in found.items() if why}
