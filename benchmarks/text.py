"""Speed of text classification from raw strings: verosim against its peers.

python -m benchmarks.text            20 Newsgroups by date, train → test, prints the table
python -m benchmarks.text --quick    a quarter of it

Documents are shuffled: Vowpal Wabbit learns online, and from documents sorted by class it would
learn nothing, in half the time. It reads a prepared file, which is its fastest way (one pass,
`--oaa`).
The pipeline is CountVectorizer and MultinomialNB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse import csr_matrix
from sklearn import naive_bayes
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import verosim
from benchmarks.measure import HEADER, Call, Row, options_of, table
from benchmarks.pages import DATA
from verosim.data import Documents

try:
    import vowpalwabbit
except ImportError:
    vowpalwabbit = None

SPLIT = str.maketrans({":": " ", "|": " ", "\n": " ", "\r": " ", "\t": " "})  # special marks of VW


def newsgroups(part: str, thin: int) -> tuple[list[str], np.ndarray]:
    """Texts and labels of the training or the test part, in random order."""
    rows = pq.read_table(DATA / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    chosen = np.flatnonzero(np.array(rows["split"]) == part)
    chosen = np.random.default_rng(0).permutation(chosen)[::thin]
    return [rows["text"][i] for i in chosen], np.array(rows["group"])[chosen]


def vowpal_wabbit(texts: list[str], labels: np.ndarray, folder: str) -> Call:
    """One pass over a file of prepared examples."""
    classes, codes = np.unique(labels, return_inverse=True)
    path = Path(folder) / "train.vw"
    lines = (f"{c + 1} | {text.translate(SPLIT)}\n" for c, text in zip(codes, texts, strict=True))
    path.write_text("".join(lines))
    options = f"--oaa {len(classes)} -d {path} --no_stdin --quiet"
    return lambda: vowpalwabbit.Workspace(options).finish()


def rows(thin: int, folder: str) -> list[Row]:
    texts, labels = newsgroups("train", thin)
    unseen, _ = newsgroups("test", thin)

    def pipeline(**options: object) -> object:
        return make_pipeline(CountVectorizer(**options), MultinomialNB())

    ours, peer = verosim.TextNB().fit(texts, labels), pipeline().fit(texts, labels)
    assert (ours.predict(unseen) == peer.predict(unseen)).all()
    train, test = Documents.of(texts), Documents.of(unseen)
    size, test_size = f"{train.size / 1e6:.0f} MB", f"{test.size / 1e6:.0f} MB"
    fit = Row(
        f"TextNB fit ({len(texts)} texts, {size})", lambda: verosim.TextNB().fit(texts, labels),
        {"scikit-learn pipeline": (lambda: pipeline().fit(texts, labels), 10)},
        train.data.max,
    )  # fmt: skip
    if vowpalwabbit is not None:
        fit.peers["Vowpal Wabbit"] = (vowpal_wabbit(texts, labels, folder), 3)
    return [
        fit,
        Row(f"TextNB predict ({len(unseen)} texts, {test_size})", lambda: ours.predict(unseen),
            {"scikit-learn pipeline": (lambda: peer.predict(unseen), 10)},
            test.data.max),
        Row(f"TextNB fit, one thread ({size})", lambda: one_thread(texts, labels),
            {"scikit-learn pipeline": (lambda: pipeline().fit(texts, labels), 10)}),
        Row(f"TextNB fit, n-grams (1, 2) ({size})",
            lambda: verosim.TextNB(ngrams=(1, 2)).fit(texts, labels),
            {"scikit-learn pipeline": (
                lambda: pipeline(ngram_range=(1, 2)).fit(texts, labels), 20)}, slow=True),
        # The table of scores is made by the first prediction, so this row has it too.
        Row(f"TextNB fit and first predict, n-grams (1, 2) ({size})",
            lambda: verosim.TextNB(ngrams=(1, 2)).fit(texts, labels).predict(unseen[:1]),
            {"scikit-learn pipeline": (
                lambda: pipeline(ngram_range=(1, 2)).fit(texts, labels).predict(unseen[:1]), 10)},
            slow=True),
        *count_rows(CountVectorizer().fit_transform(texts), labels),
    ]  # fmt: skip


def count_rows(X: csr_matrix, labels: np.ndarray) -> list[Row]:
    """Models of the counts that scikit-learn makes of texts: whole numbers, columns not in order.

    A fit is measured with its first prediction, which makes the table of scores.
    """
    out = []
    for name in ("MultinomialNB", "BernoulliNB"):
        mine, theirs = getattr(verosim, name), getattr(naive_bayes, name)
        ours, peer = mine().fit(X, labels), theirs().fit(X, labels)
        assert (ours.predict(X) == peer.predict(X)).mean() > 0.999
        counts = f"counts of {X.shape[0]} texts, {X.nnz / 1e6:.1f}M stored"
        out += [
            Row(f"{name} fit and first predict ({counts})",
                lambda mine=mine: mine().fit(X, labels).predict(X[:1]),
                {"scikit-learn": (
                    lambda theirs=theirs: theirs().fit(X, labels).predict(X[:1]), 8)}),
            Row(f"{name} proba ({counts})", lambda ours=ours: ours.predict_proba(X),
                {"scikit-learn": (lambda peer=peer: peer.predict_proba(X), 5)}),
        ]  # fmt: skip
    return out


def one_thread(texts: list[str], labels: np.ndarray) -> object:
    with verosim.use_threads(1):
        return verosim.TextNB().fit(texts, labels)


def main() -> None:
    options = options_of(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        work = rows(4 if options.quick else 1, folder)
        print("\n".join(HEADER))
        table(work, options.repeats)


if __name__ == "__main__":
    main()
