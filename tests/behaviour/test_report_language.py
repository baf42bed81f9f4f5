"""A report in Spanish has no sentence in English."""

from __future__ import annotations

import ast
import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import verosim
from verosim.insight.report.diagnosis import finding_words
from verosim.insight.report.page import catalogue
from verosim.validate.diagnosis import findings

pytestmark = pytest.mark.filterwarnings("ignore")
N = 150
ENGLISH = [
    "the", "of", "and", "is", "are", "was", "were", "with", "for", "this",
    "that", "these", "from", "not", "which", "there", "than", "each", "rows", "columns",
    "missing", "number", "category", "text", "against", "prior", "more", "words", "class", "needs",
    "only", "does", "row", "between", "found", "model", "strongest", "mean", "true", "values",
    "value", "enough", "few", "drop", "it", "its", "all",
]  # fmt: skip


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, N)
    table = pd.DataFrame(
        {
            "edad": np.exp(rng.normal(3, 0.4, N)) + 6 * y,
            "talla": rng.normal(0, 1, N) * (1 + y),
            "nada": rng.normal(0, 1, N),
            "igual": np.ones(N),
            "tono": rng.choice(["rojo", "azul", "verde"], N),
            "zona": rng.choice(["norte", "sur"], N),
            "grupo": np.array(["uno", "dos", "tres"])[y],
        }
    )
    table.loc[::9, ["tono", "edad"]] = None
    return table


NUMBERS = ["talla", "nada", "igual", "grupo"]
TEXTS = ["buen dia sol", "mala noche lluvia", "dia sol mar"] * 20
MODELS = {
    "naive": lambda: (verosim.NaiveBayes(), rows(), "grupo"),
    "gaussian": lambda: (verosim.GaussianNB(), rows()[NUMBERS], "grupo"),
    "shared variances": lambda: (verosim.NaiveLDA(), rows()[NUMBERS], "grupo"),
    "lda": lambda: (verosim.LDA(encode="onehot"), rows(), "grupo"),
    "qda": lambda: (verosim.QDA(shrinkage=0.1), rows()[["talla", "nada", "grupo"]], "grupo"),
    "chain": lambda: (verosim.KDB(k=1), rows(), "grupo"),
    "text": lambda: (verosim.TextNB(), TEXTS, ["uno", "dos", "tres"] * 20),
    "pool": lambda: (
        verosim.Pool([verosim.NaiveBayes(), verosim.KDB(k=1)], keep="all"), rows(), "grupo",
    ),
    "linear": lambda: (
        verosim.LinearSVM(), rows()[["talla", "nada"]].to_numpy(), rows()["grupo"].to_numpy(),
    ),
}  # fmt: skip


def visible(page: str) -> str:
    """The text of a page without code, which is the same in all languages."""
    text = re.sub(r"<(script|style|code|title)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"<dd>.*?</dd>", " ", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("with_rows", [True, False])
def test_a_spanish_report_has_no_english_sentence(name, with_rows, tmp_path):
    model, X, y = MODELS[name]()
    fitted = model.fit(X, y)
    given = {"source": X, "y": y, "rows": 2} if with_rows else {}
    path = verosim.report(fitted, path=tmp_path / "r.html", language="es", **given)
    page = path.read_text(encoding="utf-8")
    text = visible(page)
    spanish = catalogue("es")
    for key, sentence in catalogue("en").items():
        pieces = [re.escape(piece) for piece in re.split(r"{\w+}", sentence)]
        if len(sentence) > 14 and sentence != spanish[key]:
            assert not re.search(".{1,200}?".join(pieces), text), key
    # Names of classes of verosim, such as LDA, and of arguments stay as they are.
    words = {*re.findall(r"(?<![\w=])[a-z]+(?![\w=(])", text)}
    assert not words & {*ENGLISH}, words & {*ENGLISH}
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    said = json.loads(block[1])["words"]
    assert said.items() <= spanish.items()


def test_every_pattern_of_the_diagnosis_is_translated():
    known = finding_words(catalogue("es"))
    folder = Path(findings.__file__).parent
    patterns = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.func.id if isinstance(node, ast.Call) and hasattr(node.func, "id") else ""
            if name == "said" or (name == "found_that" and isinstance(node.args[0], ast.Constant)):
                patterns.add(node.args[0].value)
    assert len(patterns) > 50
    assert patterns <= {*known}
    assert {*finding_words(catalogue("en")).values()} == {*known}


def test_findings_read_the_same_by_their_phrases():
    """The phrases of a finding are its whole reading."""
    table = rows()[NUMBERS]
    for found in verosim.diagnose(verosim.GaussianNB().fit(table, "grupo"), table, "grupo"):
        if found.value is not None:
            assert found.reading == " ".join(one.text() for one in found.phrases)
