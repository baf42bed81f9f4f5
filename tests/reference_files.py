"""Model files of every format version, which all later versions of verosim must read.

`python -m tests.reference_files` writes the files of the current format, if there are none. The
files of older formats are never written again.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import verosim
from verosim.files.store import FILE_FORMAT

FOLDER = Path(__file__).parent / "reference_files"
NOTES = {"source": "reference", "numbers": [1, 2.5, None]}
SCORES = {"accuracy": 0.75}


def rows(n: int = 24) -> dict[str, list[Any]]:
    """A table that does not depend on random numbers."""
    at = range(n)
    return {
        "age": [None if i % 11 == 5 else 20.0 + (i * 7) % 23 + 6 * (i % 2) for i in at],
        "hue": [("red", "blue", "green")[(i + i % 2) % 3] for i in at],
        "visits": [(i * 5) % 7 + 2 * (i % 2) for i in at],
        "text": [f"{('win', 'call')[i % 2]} {('cash', 'now', 'home')[i % 3]} today" for i in at],
        "kind": [("no", "yes")[i % 2] for i in at],
    }


def numbers() -> np.ndarray:
    return np.array([[(i * 7) % 13 + 2.5 * (i % 2), (i * 3) % 8 - i % 2] for i in range(24)], float)


@cache
def rows_of_models() -> dict[str, Any]:
    """The rows that each model is fitted on and predicts."""
    X, table = numbers(), rows()
    cells = {name: table[name] for name in ("age", "hue", "visits")}
    whole = {"visits": table["visits"], "age": [40.0 if a is None else a for a in table["age"]]}
    given: dict[str, Any] = {"LDA": whole, "NaiveBayes": table, "TAN": cells, "AODE": cells}
    given |= {"TextNB": table["text"], "TextRidge": table["text"], "Pool": cells}
    return {name: given.get(name, X) for name in MODELS}


MODELS: dict[str, Any] = {
    "GaussianNB": verosim.GaussianNB(),
    "LDA": verosim.LDA(shrinkage=0.1),
    "QDA": verosim.QDA(missing="marginalise"),
    "NaiveBayes": verosim.NaiveBayes(),
    "TAN": verosim.TAN(bins=3),
    "AODE": verosim.AODE(bins=3),
    "HistogramNB": verosim.HistogramNB(),
    "TextNB": verosim.TextNB(),
    "TextRidge": verosim.TextRidge(),
    "LiftedLDA": verosim.LiftedLDA(n_features=6),
    "MDA": verosim.MDA(components=2, random_state=0),
    "LogisticRegression": verosim.LogisticRegression(),
    "Perceptron": verosim.Perceptron(features="polynomial", random_state=0),
    "OneVsRest": verosim.OneVsRest(verosim.LDA()),
    "Twin": verosim.Twin(verosim.LDA()),
    "Calibrated": verosim.Calibrated(verosim.GaussianNB(), cv=3),
    "Conformal": verosim.Conformal(verosim.GaussianNB(), cv=3),
    "Reject": verosim.Reject(verosim.GaussianNB()),
    "SemiSupervised": verosim.SemiSupervised(verosim.GaussianNB()),
    "Whiten": verosim.Whiten(),
    "Pool": verosim.Pool([verosim.TAN(bins=3), verosim.LDA(encode="onehot")]),
}


def answer(model: Any, given: Any) -> Any:
    """What a model says about rows, as JSON."""
    for name in ("predict_set", "predict_proba", "transform", "decision_function"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(given)).tolist()
    raise AssertionError(model)


def write(folder: Path) -> None:
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True)
    found = {}
    labels = rows()["kind"]
    for name, given in rows_of_models().items():
        if isinstance(given, dict):
            model = MODELS[name].fit({**given, "kind": labels}, "kind")
        else:
            model = MODELS[name].fit(given, np.array(labels))
        found[name] = {"model": repr(model), "answer": answer(model, given)}
        if hasattr(model, "stats_"):
            found[name]["fingerprint"] = model.stats_.fingerprint()
        for end, statistics in (("", True), (" without sums", False)):
            path = folder / f"{name}{end}.verosim"
            verosim.save(model, path, notes=NOTES, scores=SCORES, statistics=statistics)
    (folder / "answers.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    current = FOLDER / f"format_{FILE_FORMAT}"
    if current.exists():
        raise SystemExit(f"The files of format {FILE_FORMAT} exist.")
    write(current)
