"""Reports in a browser: silent, alone, readable on every screen, and safe with hostile names."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.browser.models import mixed, naive_mixed

pytestmark = [
    pytest.mark.browser, pytest.mark.filterwarnings("ignore::verosim.VerosimWarning"),
]  # fmt: skip
CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const out = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (["SCRIPT", "STYLE", "OPTION", "title"].includes(node.tagName)) continue;
    const style = getComputedStyle(node);
    const ink = rgb(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
    let paper = [255, 255, 255, 0];
    for (let one = node; one; one = one.parentElement) {
      paper = rgb(getComputedStyle(one).backgroundColor);
      if (paper[3] === 255) break;
    }
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    out.push([(a + 0.05) / (b + 0.05), node.tagName, walk.currentNode.textContent.slice(0, 30)]);
  }
  return out.sort((x, y) => x[0] - y[0]).slice(0, 3);
}
"""


def few_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    rows = pd.DataFrame({"a": rng.normal(size=200) + y, "b": rng.normal(size=200) - y, "y": y})
    return verosim.QDA().fit(rows, "y"), rows


def many_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 300)) + y[:, None] * np.linspace(1, 0, 300)
    rows = pd.DataFrame(X, columns=[f"sensor {j}" for j in range(300)]).assign(y=y)
    return verosim.GaussianNB().fit(rows, "y"), rows


def many_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 1000)
    rows = pd.DataFrame(rng.normal(size=(1000, 3)) + y[:, None] % [2, 3, 5], columns=list("abc"))
    rows["y"] = [f"class number {k}" for k in y]
    return verosim.LDA().fit(rows, "y"), rows


def texts():
    rng = np.random.default_rng(0)
    y = rng.choice(["sport", "politics"], 300)
    words = {"sport": ["goal", "match", "team"], "politics": ["vote", "law", "party"]}
    every = ["the", "new", "year", "of", *words["sport"], *words["politics"]]
    rows = [" ".join([*rng.choice(every, 8), *rng.choice(words[k], 3)]) for k in y]
    return verosim.TextNB().fit(rows, y), (rows, y)


def pooled():
    return verosim.Pool(keep="all").fit(mixed(), "label"), mixed()


PAGES = {
    "few": few_columns, "many": many_columns, "classes": many_classes, "texts": texts,
    "mixed": lambda: (naive_mixed(), mixed()), "sums": lambda: (naive_mixed(), None),
    "pool": pooled,
}  # fmt: skip


def report_of(model, source, path, **how):
    rows, y = source if isinstance(source, tuple) else (source, None)
    return verosim.report(model, rows, y, path=path, **how).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The report of each kind, made once."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def page_of(name):
        if name not in made:
            made[name] = report_of(*PAGES[name](), folder / f"{name}.html")
        return made[name]

    return page_of


@pytest.mark.parametrize("name", PAGES)
def test_reports_hold_on_every_screen(name, pages, opened):
    html = pages(name)
    assert len(html.encode()) < 3_000_000
    for width in (360, 1200):
        for dark in (False, True):
            page = opened(html, width=width, dark=dark)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} pixels"
            worst = page.evaluate(CONTRAST)
            assert worst[0][0] >= 4.5, worst
    assert len(page.query_selector_all("svg.chart")) >= 3
    text = page.text_content("main")
    assert "This page contains no rows of the data." in text
    assert "undefined" not in text
    assert "NaN" not in text


@pytest.mark.parametrize("name", ["few", "many", "texts"])
def test_reports_can_be_printed(name, pages, opened):
    page = opened(pages(name))
    found = page.pdf(format="A4")
    assert found.startswith(b"%PDF")
    assert len(found) > 20_000
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_the_rest_of_many_columns_is_drawn_when_it_is_opened(pages, opened):
    page = opened(pages("many"))
    before = len(page.query_selector_all("#densities svg.chart"))
    assert before == 30
    page.click("#densities summary")
    page.wait_for_selector("#densities details svg.chart")
    assert len(page.query_selector_all("#densities svg.chart")) == 300
    assert len(page.query_selector_all("#controls > .control")) == 30


def test_a_page_with_rows_says_so(opened, tmp_path):
    html = report_of(naive_mixed(), mixed(), tmp_path / "rows.html", rows=3)
    page = opened(html)
    assert "This page contains rows of the data" in page.text_content(".notice")
    assert len(page.query_selector_all("#rows details")) >= 6


def test_spanish(opened, tmp_path):
    page = opened(report_of(naive_mixed(), mixed(), tmp_path / "es.html", language="es"))
    assert page.get_attribute("html", "lang") == "es"
    assert "Esta página no contiene filas de los datos." in page.text_content(".notice")


def test_links_of_the_contents_work(pages, opened):
    page = opened(pages("mixed"))
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    values = page.get_attribute("#posteriors", "data-values")
    page.click("nav a[href='#densities']")
    assert page.get_attribute("#posteriors", "data-values") == values


# Hostile names ------------------------------------------------------------------------------------

HOSTILE = [
    "<script>window.harm = 1</script>", "</script><script>window.harm = 2</script>",
    "<style>body { display: none }</style>", "<img src=x onerror='window.harm = 3'>",
    '"><svg onload="window.harm = 4">', "'; window.harm = 5; '", "{{ 7 * 7 }}{% for x in y %}",
    "${window.harm = 6}", "\u202eright to left\u202c \u200f", "nul \x00 end", "<!--", "]]>",
    "&lt;b&gt; & <b>", "__proto__", "constructor", "line\u2028separator\u2029", "x" * 10_000,
]  # fmt: skip


def hostile_rows():
    rng = np.random.default_rng(0)
    n = len(HOSTILE) * 12
    rows = pd.DataFrame({name: rng.choice(HOSTILE[:6], n) for name in HOSTILE[:9]})
    for j, name in enumerate(HOSTILE[9:]):
        rows[name] = rng.normal(size=n) + j
    rows["cells"] = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    rows["label"] = [HOSTILE[(i // 3) % len(HOSTILE)] for i in range(n)]
    return rows


@pytest.mark.parametrize("policy", [True, False])
@pytest.mark.parametrize("width", [360, 1200])
def test_hostile_names_and_values_do_nothing(policy, width, opened, tmp_path):
    rows = hostile_rows()
    model = verosim.NaiveBayes({"cells": "category"}).fit(rows, "label")
    html = report_of(model, rows, tmp_path / "hostile.html", rows=2, title=HOSTILE[1])
    if not policy:
        html, n = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        assert n == 1
    page = opened(html, width=width)
    page.click("#typical")
    for box in page.query_selector_all("details"):
        box.evaluate("(one) => { one.open = true; }")
    assert page.evaluate("window.harm") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('style').length") == 1
    assert page.query_selector("img, main b, body > svg") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.offsetHeight") > 500
    handlers = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
    assert not [name for name in page.evaluate(handlers) if name.startswith("on")]


def test_hostile_tokens_do_nothing(opened, tmp_path):
    rng = np.random.default_rng(0)
    documents = [f"{HOSTILE[i % len(HOSTILE)]} {rng.choice(HOSTILE)}" for i in range(300)]
    labels = rng.choice(HOSTILE[:3], 300)
    model = verosim.TextNB(analyzer="char_wb", ngrams=(3, 5)).fit(documents, labels)
    html = report_of(model, (documents, labels), tmp_path / "tokens.html", rows=2)
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    page = opened(html, width=360)
    page.fill("textarea", " ".join(HOSTILE))
    assert page.evaluate("window.harm") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert json.loads(page.get_attribute("#posteriors", "data-values"))
