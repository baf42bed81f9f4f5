"""The nomogram in a browser has the posteriors and log densities of Python."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import verosim
from tests.browser.models import MODELS, lda, mixed, naive_mixed, text
from verosim.bayes.program import JOINT_OUTPUT

pytestmark = [
    pytest.mark.browser, pytest.mark.filterwarnings("ignore::verosim.VerosimWarning"),
]  # fmt: skip
MOVES = 200
MOVE = """
(moves) => {
  const { controls } = JSON.parse(document.getElementById("data").textContent);
  const place = new Map(controls.map((one, i) => [one.column, i]));
  const out = [];
  for (const [column, value] of moves) {
    const i = place.get(column);
    const { type, values, typed } = controls[i];
    const box = document.getElementById(`column-${i}`);
    const unknown = document.getElementById(`column-${i}-unknown`);
    let event = "input";
    if (value === null && unknown) {
      unknown.checked = true;
      unknown.dispatchEvent(new Event("change"));
      event = null;
    } else if (box.tagName === "SELECT") {
      const at = values ? values.indexOf(value) : -1;
      if (type === "boolean") box.value = value === null ? "" : String(Number(value));
      else box.value = value === null ? "unknown" : at < 0 ? "unseen" : String(at);
      event = "change";
    } else if (type === "date") box.value = new Date(value).toISOString().slice(0, 19);
    else box.value = value === null ? "" : String(value);
    if (event) box.dispatchEvent(new Event(event));
    const numbers = JSON.parse(document.getElementById("posteriors").dataset.values);
    out.push([numbers, document.getElementById("density").dataset.value ?? null]);
  }
  return out;
}
"""


def random_value(control, takes_unknown, rng):
    if takes_unknown and rng.random() < 0.2:
        return None
    kind = control["type"]
    if kind == "number":
        value = rng.uniform(control["low"], control["high"])
        return float(np.round(value)) if control["least"] == 0 else float(value)
    if kind == "date":
        return int(rng.integers(10**6, 2 * 10**6)) * 1_000_000
    if kind == "boolean":
        return int(rng.integers(0, 2))
    if kind == "text":
        from tests.laws.test_programs import WORDS

        return " ".join(rng.choice([*WORDS, "new", "ΣΑΣ", "İx", "Naïve"], rng.integers(1, 12)))
    return str(rng.choice([*map(str, control["values"]), "never seen"]))


def python_rows(states, controls):
    """The states of the page as a table for Python."""
    out = {}
    for control in controls:
        cells = [state[control["column"]] for state in states]
        if control["type"] == "number":
            cells = np.array([np.nan if cell is None else cell for cell in cells])
        elif control["type"] == "date":
            cells = np.array([np.datetime64("NaT") if c is None else np.datetime64(c, "ms")
                              for c in cells]).astype("datetime64[us]")  # fmt: skip
        else:
            cells = np.array(
                [bool(c) if control["type"] == "boolean" and c is not None else c for c in cells],
                dtype=object,
            )
        out[control["column"]] = cells
    return out


@pytest.mark.parametrize("name", MODELS)
def test_random_moves_have_the_numbers_of_python(name, opened):
    model = MODELS[name]()
    made = verosim.nomogram(model)
    page = opened(made.html)
    controls = json.loads(page.evaluate("document.getElementById('data').textContent"))["controls"]
    rng = np.random.default_rng(11)
    unknown = {
        c["column"]: c["type"] in ("text", "boolean", "category")
        or page.query_selector(f"#column-{i}-unknown") is not None
        for i, c in enumerate(controls)
    }
    state = {c["column"]: None if unknown[c["column"]] else c["typical"] for c in controls}
    moves, states = [], []
    for _ in range(MOVES):
        control = controls[rng.integers(len(controls))]
        value = random_value(control, unknown[control["column"]], rng)
        moves.append([control["column"], value])
        state = {**state, control["column"]: value}
        states.append(state)
    found = page.evaluate(MOVE, moves)
    rows = python_rows(states, controls)
    if name == "text":
        rows = [text or "" for text in next(iter(rows.values())).tolist()]
    wanted = model.predict_proba(pd.DataFrame(rows) if isinstance(rows, dict) else rows)
    posteriors = np.exp([[float(x) for x in numbers] for numbers, _ in found])
    np.testing.assert_allclose(posteriors, wanted, rtol=0, atol=1e-9)
    assert len(np.unique(posteriors[:, 0].round(6))) > 50  # the moves did something
    if made.program.output == JOINT_OUTPUT:
        density = model.log_density(pd.DataFrame(rows) if isinstance(rows, dict) else rows)
        np.testing.assert_allclose([float(d) for _, d in found], density, rtol=1e-9, atol=1e-9)
    else:
        assert all(density is None for _, density in found)


KINDS = {"naive_mixed": "own", "lda": "shapley", "twin": "term", "pool": "given", "text": "own"}


@pytest.mark.parametrize("name", KINDS)
def test_the_label_names_the_kind_of_the_contributions(name, opened):
    page = opened(verosim.nomogram(MODELS[name]()).html)
    assert page.get_attribute("#parts", "data-kind") == KINDS[name]
    words_ = json.loads(page.evaluate("document.getElementById('data').textContent"))["words"]
    said = "kind words" if name == "text" else f"kind {KINDS[name]}"
    assert words_[said] in page.text_content("#kind")


def test_many_correlated_columns_have_contributions_given_the_others(opened):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    model = verosim.LDA(missing="marginalise").fit(rng.normal(size=(200, 9)) + y[:, None], y)
    page = opened(verosim.nomogram(model).html)
    assert page.get_attribute("#parts", "data-kind") == "given"


def bars(page):
    """The labels and numbers of the contributions."""
    found = page.evaluate(
        "[...document.querySelectorAll('#parts svg g')].map((g) => "
        "[...g.querySelectorAll('text')].map((t) => t.firstChild.textContent))"
    )
    return {label.strip("\u2068\u2069"): float(note.replace("−", "-")) for label, note in found}


def test_shapley_bars_are_those_of_explain(opened):
    model = lda()
    fragment = "#.a=1&.b=2.5&.c=-1&.d=0&!=2"
    page = opened(verosim.nomogram(model).html, fragment=fragment)
    row = {"a": [1.0], "b": [2.5], "c": [-1.0], "d": [0.0]}
    parts = verosim.explain(model, row).contributions[0]  # (C, p)
    wanted = parts[2] - parts[:2].mean(axis=0)
    found = bars(page)
    for j, column in enumerate("abcd"):
        assert abs(found[column] - wanted[j]) < 0.006


def test_the_address_keeps_the_state(opened):
    html = verosim.nomogram(naive_mixed()).html
    first = opened(html)
    first.evaluate(MOVE, [["number", 512.25], ["city", "c3"], ["flag", 1], ["city", "c4"]])
    first.select_option("#of-class", "1")
    fragment = first.evaluate("location.hash")
    values = first.get_attribute("#posteriors", "data-values")
    second = opened(html, fragment=fragment)
    assert second.get_attribute("#posteriors", "data-values") == values
    assert second.input_value("#of-class") == "1"
    second.click("#reset")
    assert ".city" not in second.evaluate("location.hash")
    start = opened(html).get_attribute("#posteriors", "data-values")
    assert second.get_attribute("#posteriors", "data-values") == start
    second.evaluate(f"location.hash = {fragment!r}")
    second.wait_for_selector(f"#posteriors[data-values='{values}']")


def test_a_damaged_address_is_ignored(opened):
    html = verosim.nomogram(naive_mixed()).html
    start = opened(html).get_attribute("#posteriors", "data-values")
    for fragment in (
        "#.number=abc",
        "#.nothing=1",
        "#!=99",
        "#%E0%A4%A",
        "#=&&=",
        "#.when=yesterday",
    ):
        page = opened(html, fragment=fragment)
        assert page.get_attribute("#posteriors", "data-values") == start


def test_keyboard_alone_moves_the_nomogram(opened):
    page = opened(verosim.nomogram(lda()).html)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.type"))
        if seen[-1] == "save":
            break
    order = [
        one for one in seen if re.fullmatch(r"column-\d|of-class|reset|typical|print|save", one)
    ]
    assert order == ["column-0", "column-1", "column-2", "column-3", "of-class", "reset",
                     "typical", "print", "save"]  # fmt: skip
    before = page.get_attribute("#posteriors", "data-values")
    page.focus("input[type=range]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#posteriors", "data-values") != before


def test_typed_numbers_and_unknown(opened):
    page = opened(verosim.nomogram(lda()).html)
    start = page.get_attribute("#posteriors", "data-values")
    page.fill("#column-0", "1.75")
    assert page.get_attribute("#posteriors", "data-values") != start
    page.check("#column-0-unknown")
    assert page.get_attribute("#posteriors", "data-values") == start


def test_every_control_has_a_name(opened):
    page = opened(verosim.nomogram(naive_mixed()).html)
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select, textarea, button')].filter((one) => "
        "!(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim())).length"
    )
    assert nameless == 0


def test_save_as_svg(opened):
    page = opened(verosim.nomogram(lda()).html, fragment="#.a=1")
    with page.expect_download() as saved:
        page.click("#save")
    text_ = saved.value.path().read_text(encoding="utf-8")
    assert text_.startswith("<?xml")
    assert "<rect" in text_
    assert "var(--" not in text_


@pytest.mark.parametrize("language", ["en", "es"])
def test_languages(language, opened):
    page = opened(verosim.nomogram(lda(), language=language).html)
    assert page.get_attribute("html", "lang") == language
    assert page.text_content("#reset") == {"en": "Reset", "es": "Restablecer"}[language]


def test_a_notebook_shows_it_in_a_frame_of_its_own(opened):
    shown = verosim.nomogram(lda())._repr_html_()
    page = opened(f"<!doctype html><html data-ready=''><body>{shown}")
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("#posteriors svg")
    frame.fill("#column-0", "2")
    assert frame.get_attribute("#density", "data-value")
    assert "allow-same-origin" not in shown


# Over the budget ----------------------------------------------------------------------------------


def test_a_pool_that_does_not_fit_runs_its_best_expert(opened):
    model, rows = MODELS["pool"](), mixed()
    made = verosim.nomogram(model, rows, "label", budget="90kB")
    assert "expert" in repr(made)
    best = max(model.weights_, key=model.weights_.get)
    page = opened(made.html)
    said = page.text_content("main")
    assert "held-out rows" in said
    assert any(name in said for name in model.weights_), best
    start = np.array(json.loads(page.get_attribute("#posteriors", "data-values")))
    cells = {name: [None] for name in made.program.inputs}
    np.testing.assert_allclose(start, made.program.evaluate(cells)[0], atol=1e-9)


def test_many_columns_leave_the_least_telling_out(opened):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 60))
    X[:, :5] += y[:, None] * 1.5
    model = verosim.QDA(missing="marginalise", shrinkage=0.2).fit(X, y)
    made = verosim.nomogram(model, X, y, budget="60kB")
    assert re.search(r"\d+ of 60 columns", repr(made))
    kept = list(made.program.inputs)
    assert {"x0", "x1", "x2", "x3", "x4"} <= {*kept}
    page = opened(made.html)
    assert "were left out" in page.text_content("main")
    assert "held-out rows" in page.text_content("main")
    rows = np.full((1, 60), np.nan)
    for name in kept:
        rows[0, int(name[1:])] = 0.3
    page.evaluate(MOVE, [[name, 0.3] for name in kept])
    found = np.array(json.loads(page.get_attribute("#posteriors", "data-values")))
    np.testing.assert_allclose(np.exp(found), model.predict_proba(rows)[0], atol=1e-9)


def test_many_tokens_leave_the_least_telling_out(opened):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    documents = [
        " ".join([f"w{i}" for i in rng.integers(0, 3000, 30)] + [f"class{k}"] * 2) for k in y
    ]
    model = verosim.TextNB().fit(documents, y)
    made = verosim.nomogram(model, documents, y, budget="120kB")
    assert re.search(r"\d+ of 2997 tokens", repr(made))
    page = opened(made.html)
    page.fill("#column-0", "class1 w5 unknown")
    found = np.array(json.loads(page.get_attribute("#posteriors", "data-values")))
    scores = made.program.evaluate(["class1 w5 unknown"])[0]
    np.testing.assert_allclose(found, scores - np.logaddexp.reduce(scores), atol=1e-9)
    assert found.argmax() == 1


def test_text_columns_of_tables_and_words_as_bars(opened):
    page = opened(verosim.nomogram(text()).html)
    page.fill("#column-0", "good dog good")
    assert {"good", "dog"} <= bars(page).keys()
