"""The tokenizer of pages divides texts into the same tokens as Python's."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from verosim.data.tokens import Tokenizer
from verosim.insight.report.characters import characters_of
from verosim.insight.report.scripts import evaluator

pytestmark = pytest.mark.browser
SETTINGS = {
    "words": Tokenizer(),
    "characters": Tokenizer((3, 3), analyzer="char_wb"),
    "accents": Tokenizer((1, 2), strip_accents="unicode"),
    "ascii": Tokenizer((1, 1), strip_accents="ascii", stop_words=("the", "de")),
    "capitals": Tokenizer((1, 1), lowercase=False),
}
TOKENS = """
({ settings, characters, texts }) => {
  const tokenizer = new Tokenizer(settings, new Characters(characters));
  return texts.map((text) => {
    const tokens = tokenizer.tokens(text);
    return [tokens.length, tokens.join("\\u0001"), tokenizer.length(text)];
  });
}
"""


@pytest.fixture(scope="module")
def in_browser(chromium):
    """A function that divides texts in a page with nothing but the evaluator."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_content("<!doctype html><title>empty</title>")
    page.add_script_tag(
        content=f"{evaluator()}\nObject.assign(window, {{ Tokenizer, Characters }});"
    )

    def divided(tokenizer, texts):
        settings = {
            "ngrams": tokenizer.ngrams, "lowercase": tokenizer.lowercase,
            "analyzer": tokenizer.analyzer, "stop_words": tokenizer.stop_words,
            "strip_accents": tokenizer.strip_accents,
        }  # fmt: skip
        data = {"settings": settings, "characters": characters_of(settings), "texts": texts}
        return page.evaluate(TOKENS, data)

    yield divided
    context.close()


def assert_same(tokenizer, texts, in_browser, at_once=500):
    for start in range(0, len(texts), at_once):
        some = texts[start : start + at_once]
        for text, (count, joined, length) in zip(some, in_browser(tokenizer, some), strict=True):
            wanted = tokenizer.tokens(text)
            assert count == len(wanted), text[:200]
            assert joined == "\u0001".join(wanted), text[:200]
            assert length == tokenizer.length(text), text[:200]


def texts_of(data, name):
    table = pq.read_table(data / name / f"{name}.parquet")
    long = [
        column for column in table.column_names if str(table.schema.field(column).type) in
        ("string", "large_string")
    ]  # fmt: skip
    found = [text for column in long for text in table.column(column).to_pylist() if text]
    assert len(found) > 1000
    return found


@pytest.mark.parametrize("name", ["20news_bydate", "spanish_fake_news"])
def test_real_texts(name, data, in_browser):
    assert_same(Tokenizer(), texts_of(data, name), in_browser)


@pytest.mark.parametrize("settings", SETTINGS)
def test_fuzzed_texts(settings, in_browser):
    """Characters of all of Unicode, most of them from the blocks with odd rules."""
    rng = np.random.default_rng(3)
    odd = [ord(c) for c in "ΣσςİıßẞǅŉΆ·'’\u0301\u0345\u00ad\u200d\u2028\u00a0 \t_aZ09ÅµΩ"]
    every = [p for p in range(1, 0x110000) if not 0xD800 <= p < 0xE000]
    low = [p for p in every if p < 0x2000]
    texts = []
    for _ in range(10_000):
        n = int(rng.integers(0, 24))
        pools = [odd, low, every]
        points = [pools[k][rng.integers(len(pools[k]))] for k in rng.integers(0, 3, n)]
        texts.append("".join(map(chr, points)))
    assert_same(SETTINGS[settings], texts, in_browser, 2000)


def test_every_character_alone(in_browser):
    points = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    texts = [
        " ".join(f"a{chr(p)}Σ {chr(p)}{chr(p)}" for p in points[start : start + 64])
        for start in range(0, len(points), 64)
    ]
    for name in ("words", "accents", "characters"):
        assert_same(SETTINGS[name], texts, in_browser)
