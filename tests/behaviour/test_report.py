"""Reports and nomograms as files: what they contain, and what they must not contain."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.behaviour import test_privacy as privacy
from verosim.axes.value_hashes import value_hash
from verosim.cli.main import main
from verosim.errors import VerosimError
from verosim.insight.report import report as module
from verosim.insight.report.carried import bytes_of
from verosim.insight.report.page import LANGUAGES, catalogue, escaped_json
from verosim.insight.report.scripts import asset, page_script

pytestmark = pytest.mark.filterwarnings("ignore")
N = 120


def rows():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 9, N) + 6 * y,
            "hue": ["secret-hue"] * 3 + rng.choice(["red", "blue"], N - 3).tolist(),
            "label": np.where(y == 1, "yes", "no"),
        }
    )


def content(path) -> str:
    return Path(path).read_text(encoding="utf-8")


def data_of(html: str) -> dict:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(block[1])


# The page -----------------------------------------------------------------------------------------


def test_the_policy_allows_one_script_and_one_style(tmp_path):
    html = content(
        verosim.report(verosim.NaiveBayes().fit(rows(), "label"), rows(), path=tmp_path / "r")
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1].replace("&#39;", "'")
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert len(script) == len(style) == 1
    for text in (script[0], style[0]):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"\son[a-z]+=", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    assert not re.search(r"""(?:src|href)=["'](?!#)""", html)
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in html


def test_json_cannot_end_its_block():
    odd = {"</script>": "<!-- & \u2028\u2029", "x": float("nan"), "y": [np.inf, np.float64(1.5)]}
    text = escaped_json(odd)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"</script>": "<!-- & \u2028\u2029", "x": None, "y": [None, 1.5]}


def test_every_text_is_in_every_catalogue():
    english, spanish = (catalogue(language) for language in LANGUAGES)
    assert english.keys() == spanish.keys()
    for key in english:
        assert {*re.findall(r"{\w+}", english[key])} == {*re.findall(r"{\w+}", spanish[key])}, key
    sources = page_script() + "".join(
        asset(name) for name in ("report.html", "frame.html", "nomogram.html")
    )
    for key in {*re.findall(r'(?:say\(|words\[)"([^"]+)"[\])]', sources)}:
        assert key in english, key
    with pytest.raises(VerosimError, match="language must be one of"):
        catalogue("fr")


@pytest.mark.parametrize(("text", "size"), [("3MB", 3_000_000), ("500 kB", 500_000), (1e4, 10_000)])
def test_budgets(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("wrong", ["much", "-1MB", 0, "MB"])
def test_wrong_budgets_are_refused(wrong):
    with pytest.raises(VerosimError, match="budget must be a size"):
        bytes_of(wrong)


# What a report has --------------------------------------------------------------------------------


def test_a_report_of_the_sums_alone(tmp_path):
    html = content(verosim.report(verosim.NaiveBayes().fit(rows(), "label"), path=tmp_path / "r"))
    found = data_of(html)
    assert found["importance"]["kind"] == "information"
    assert {one["column"] for one in found["densities"]} == {"age", "hue"}
    assert "confusion" not in found
    assert "prior error" in html


def test_a_report_with_rows_has_their_scores(tmp_path):
    model = verosim.NaiveBayes().fit(rows(), "label")
    html = content(verosim.report(model, rows(), path=tmp_path / "r"))
    found = data_of(html)
    assert np.sum(found["confusion"]) == N
    accuracy = verosim.cross_validate(model, rows(), "label").mean("accuracy")
    assert f"{accuracy:.4g}" in html
    assert found["simulated"]


@pytest.mark.parametrize("wrap", ["calibrate", "twin", "svm"])
def test_models_that_must_be_fitted_again_have_scores_too(wrap, tmp_path):
    table = rows().drop(columns="hue")
    model = {
        "calibrate": lambda: verosim.calibrate(verosim.GaussianNB(), table, "label", cv=3),
        "twin": lambda: verosim.twin(verosim.GaussianNB().fit(table, "label")).fit(table, "label"),
        "svm": lambda: verosim.LinearSVM().fit(table[["age"]], table["label"]),
    }[wrap]()
    found = data_of(content(verosim.report(model, table, path=tmp_path / "r", y="label")))
    assert np.sum(found["confusion"]) == N
    assert ("calibration" in found) == (wrap != "svm")


def test_rows_need_a_source(tmp_path):
    with pytest.raises(VerosimError, match="needs a source of rows"):
        verosim.report(verosim.NaiveBayes().fit(rows(), "label"), path=tmp_path / "r", rows=3)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = verosim.NaiveBayes().fit(rows(), "label")
    first, second = (verosim.report(model, rows(), path=tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_adult_is_small_and_fast(data, tmp_path):
    table = pd.read_parquet(data / "adult" / "adult.parquet")
    model = verosim.NaiveBayes().fit(table, "income")
    verosim.cross_validate(model, table[:1000], "income")  # what is loaded once is loaded now
    start = time.process_time()
    verosim.cross_validate(model, table, "income")
    alone = time.process_time() - start
    start = time.process_time()
    file = verosim.report(model, table, path=tmp_path / "adult.html")
    assert time.process_time() - start <= 10 * alone
    assert file.stat().st_size < 3_000_000


@pytest.mark.parametrize("holes", [False, True])
def test_a_wide_covariance_explains_few_rows(holes, tmp_path, monkeypatch):
    """Each row costs the square of the columns, and each pattern of missing cells the cube."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    table = pd.DataFrame(rng.normal(size=(400, 60)) + y[:, None] / 4).add_prefix("c")
    if holes:
        table = table.mask(rng.random(table.shape) < 0.05)
    table["y"] = np.where(y == 1, "a", "b")
    model = verosim.LDA(missing="marginalise").fit(table, "y")
    explained = []

    def watched(model, X=None):
        explained.append(0 if X is None else X.num_rows)
        return verosim.importance(model, X)

    monkeypatch.setattr(module, "importance", watched)
    monkeypatch.setattr(module, "EXPLAINED_CELLS", 6_000)
    found = data_of(content(verosim.report(model, table, path=tmp_path / "r")))
    assert explained == [0 if holes else 100]
    assert len(found["importance"]["bars"]) == 60


def test_the_report_of_a_pool_has_the_diagnosis_of_a_named_expert(tmp_path):
    experts = [verosim.NaiveBayes(), verosim.KDB(k=1)]
    model = verosim.Pool(experts, keep="all").fit(rows(), "label")
    html = content(verosim.report(model, rows(), path=tmp_path / "r"))
    assert "the diagnosis of its best expert with a density of the columns, " in html
    assert f"There are {N} rows for" in html
    alone = content(verosim.report(model, path=tmp_path / "r"))
    assert "the diagnosis of one of its experts needs rows" in alone


def test_a_model_without_a_density_says_that_it_has_no_diagnosis(tmp_path):
    table = rows()
    model = verosim.LinearSVM().fit(table[["age"]], table["label"])
    assert "There is no diagnosis" in content(verosim.report(model, path=tmp_path / "r"))


# What a report must not have ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [
    verosim.NaiveBayes(), verosim.KDB(k=1), verosim.LDA(encode="onehot"),
    verosim.Pool([verosim.NaiveBayes(), verosim.KDB(k=1)], keep="all"),
], ids=repr)  # fmt: skip
@pytest.mark.parametrize("with_source", [True, False])
def test_values_of_few_rows_are_not_named(model, with_source, tmp_path):
    fitted = model.fit(rows(), "label")
    source = rows() if with_source else None
    html = content(verosim.report(fitted, source, path=tmp_path / "r"))
    assert "secret-hue" not in html
    assert "red" in html
    if type(model) is not verosim.LDA:
        assert f"{value_hash('secret-hue'):016x}" in html  # it can still be typed
    if with_source:
        # All rows are shown, and nothing but these rows names the value.
        html = content(verosim.report(fitted, source, path=tmp_path / "r", rows=N))
        assert "secret-hue" in html
        assert "secret-hue" not in json.dumps(data_of(html))


def test_the_ends_of_a_histogram_are_not_in_a_report(tmp_path):
    table = rows().assign(age=lambda t: np.exp(t["age"] / 10))
    table.loc[7, "age"] = 987654.125
    model = verosim.NaiveBayes({"age": "histogram"}).fit(table, "label")
    for source in (None, table):
        assert "987654" not in content(verosim.report(model, source, path=tmp_path / "r"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("with_source", [True, False])
def test_a_page_states_what_rounded_numbers_change(language, with_source, tmp_path):
    model = verosim.TAN().fit(rows(), "label")
    source = rows() if with_source else None
    html = content(verosim.report(model, source, path=tmp_path / "r", language=language))
    words = catalogue(language)
    body = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    for key in ("rounded", "rounding" if with_source else "rounding drawn"):
        start, _, end = words[key].partition("{")
        assert start in body
        assert end.rpartition("}")[2] in body
    whole = verosim.nomogram(model, language=language).html
    assert words["rounded"].partition("{")[0] not in re.sub(
        r"<script.*?</script>", "", whole, flags=re.DOTALL
    )


@pytest.mark.parametrize("with_source", [True, False])
def test_tokens_of_few_rows_are_not_named(with_source, tmp_path):
    texts = ["good day zyxwqj zyxwqj"] * 2 + ["good day", "bad night"] * 20
    labels = ["a", "b"] * 21
    model = verosim.TextNB().fit(texts, labels)
    source = texts if with_source else None
    html = content(
        verosim.report(model, source, path=tmp_path / "r", y=labels if with_source else None)
    )
    assert "zyxwqj" not in html
    assert "night" in html


def test_ignored_columns_are_not_in_a_report(tmp_path):
    table = privacy._with_ignored()
    names = [name for name in table if name not in privacy._table()]
    model = verosim.NaiveBayes(columns=dict.fromkeys(names, "ignore")).fit(table, "y")
    for source in (None, table):
        html = content(verosim.report(model, source, path=tmp_path / "r"))
        assert privacy.SECRET not in html
        assert "776655" not in html


def test_forgotten_values_are_not_in_a_report(tmp_path):
    table = privacy._with_forgotten()
    model = verosim.NaiveBayes().fit(table, "y")
    model.forget(privacy._part(table, privacy.FORGOTTEN), "y")
    html = content(verosim.report(model, path=tmp_path / "r"))
    assert privacy.SECRET not in html


# Around it ----------------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    rows().to_csv(tmp_path / "rows.csv", index=False)
    verosim.save(
        verosim.NaiveBayes().fit(str(tmp_path / "rows.csv"), "label"), tmp_path / "m.verosim"
    )
    words = ["report", str(tmp_path / "m.verosim"), str(tmp_path / "rows.csv")]
    assert main([*words, "-o", str(tmp_path / "out.html"), "--language", "es"]) == 0
    assert '<html lang="es">' in content(tmp_path / "out.html")
    assert "bytes" in capsys.readouterr().out
    assert main([*words[:2], "--language", "fr"]) == 2


def test_a_nomogram_without_names_of_few_rows():
    model = verosim.NaiveBayes().fit(rows(), "label")
    assert "secret-hue" in verosim.nomogram(model).html
    assert "secret-hue" not in verosim.nomogram(model, names="frequent").html


def test_nothing_fits_a_tiny_page():
    with pytest.raises(VerosimError, match="No part of the model fits"):
        verosim.nomogram(verosim.NaiveBayes().fit(rows(), "label"), budget=100)


def test_the_files_of_the_page_are_in_the_wheel():
    """hatchling packs everything below src/verosim that git does not ignore."""
    root = Path(verosim.__file__).parents[2]
    names = {path.suffix for path in (root / "src/verosim/insight/report/assets").iterdir()}
    assert names == {".js", ".css", ".html", ".json"}
    done = subprocess.run(
        ["git", "check-ignore", "-v", "src/verosim/insight/report/assets/page.css"],
        cwd=root, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == ""


def test_labels_stand_third_and_the_file_has_a_name(tmp_path, monkeypatch):
    """`report(model, table, "target")` reads the target; it writes no file of that name."""
    monkeypatch.chdir(tmp_path)
    table = rows()
    model = verosim.NaiveBayes().fit(table, "label")
    assert verosim.report(model, table, "label").name == "report.html"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(TypeError):
        verosim.report(model, table, "label", tmp_path / "page.html")
