"""What is printed for a person has no control characters, whatever a table has in its names."""

from __future__ import annotations

import csv
import io
import json
import traceback
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.behaviour.command_line import Screen, run
from tests.examples import tried_often
from verosim.errors import VerosimWarning, warn
from verosim.terminal import IN_ASCII, in_lines, in_one_line, printable, table_lines

FAKE = "FAKE LINE"
HARMFUL = [
    "\x1b[31m", "\x1b]0;title\x07", "\r", f"\n{FAKE}", f"\r\n{FAKE}", "\t", "\x08", "\x7f",
    "\x9b2J", "\x85", "\u202e", "\u2066", "\u200f", "\u2028", "\u2029", "\ufeff", "\x1c", "\x00",
    "\U000e0041", "[red]", "[/]", "{0}", "%s", "é", "−", "\\",
]  # fmt: skip
PIECES = st.sampled_from(HARMFUL) | st.text("ab", max_size=2)
NAMES = st.lists(PIECES, min_size=1, max_size=3).map("".join).filter(lambda name: name.strip())


def harmful(text: str) -> set[str]:
    """Control characters other than line breaks, and what changes the direction of a line."""
    overrides = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    return {
        one for one in set(text) - {"\n"}
        if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(one) in overrides
    }  # fmt: skip


def check(text: str) -> None:
    assert not harmful(text), repr(text)
    assert not any(line.startswith(FAKE) for line in text.split("\n")), text


@tried_often
@given(st.text() | st.lists(PIECES).map("".join))
def test_printable_texts(text):
    shown = printable(text)
    check(in_one_line(text))
    assert not harmful(shown)
    assert printable(shown) == shown
    assert shown.count("\n") == text.count("\n")
    assert in_one_line(text) == shown.replace("\n", "\\n")
    if not harmful(text) and text.isprintable():
        assert shown == text


@tried_often
@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.lists(NAMES, min_size=d, max_size=d))))
def test_a_table_has_one_line_per_row(rows):
    assert len(table_lines(rows, (1,))) == len(rows)
    check(in_lines(table_lines(rows)))


@tried_often
@given(NAMES, NAMES)
def test_errors_and_warnings(name, hint):
    try:
        raise verosim.VerosimError(f"The column {name} is odd.", hint)
    except verosim.VerosimError as error:
        lines = "".join(traceback.format_exception_only(error))
        check(lines)
        check(error.what + str(error.hint) + repr(error))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(name, VerosimWarning)
    check(str(caught[0].message))


# Tables with hostile names -----------------------------------------------------------------------


@st.composite
def tables(draw) -> tuple[pa.Table, str, list[str]]:
    """A table, its target, and the names that occur in it."""
    columns = draw(st.lists(NAMES, min_size=5, max_size=5, unique_by=lambda name: name.strip()))
    classes = draw(st.lists(NAMES, min_size=2, max_size=3, unique_by=lambda name: name.strip()))
    values = draw(st.lists(NAMES, min_size=2, max_size=3, unique_by=lambda name: name.strip()))
    seed = np.random.default_rng(draw(st.integers(0, 5)))
    n, (number, other, category, group, target) = 24, columns
    table = pa.table({
        number: seed.normal(size=n), other: seed.normal(size=n) + np.arange(n) % 2,
        category: [values[i % len(values)] for i in seed.integers(0, 9, n)],
        group: [values[i % len(values)] for i in seed.integers(0, 9, n)],
        target: [classes[i % len(classes)] for i in range(n)],
    })  # fmt: skip
    return table, target, [number, other, category, group, *values, *classes]


def model_of(table: pa.Table, target: str) -> verosim.NaiveBayes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerosimWarning)
        return verosim.NaiveBayes().fit(table, target)


VERBS: dict[str, Callable[[str, str, list[str]], list[str]]] = {
    "look": lambda m, r, t: ["look", r, "-t", t[0]],
    "look as": lambda m, r, t: ["look", r, "-t", t[0], "--as", f"{t[1]}=nothing"],
    "look wrong": lambda m, r, t: ["look", r, "-t", t[1] + "x"],
    "fit": lambda m, r, t: ["fit", r, "-t", t[0], "--model", "naivebayes", "--folds", "2", "-o", m],
    "fit lda": lambda m, r, t: ["fit", r, "-t", t[0], "--model", "lda", "--folds", "0", "-o", m],
    "info": lambda m, r, t: ["info", m],
    "explain": lambda m, r, t: ["explain", m, r],
    "explain row": lambda m, r, t: ["explain", m, r, "--row", "3"],
    "explain of": lambda m, r, t: ["explain", m, r, "--of", t[2]],
    "predict": lambda m, r, t: ["predict", m, r, "--keep", t[1], "--keep", t[3]],
    "predict wrong": lambda m, r, t: ["predict", m, r, "--keep", t[1] + "x"],
    "sample": lambda m, r, t: ["sample", m, "-n", "3"],
    "sample given": lambda m, r, t: ["sample", m, "--given", f"{t[3]}={t[2]}"],
    "validate": lambda m, r, t: ["validate", m, r, "--by", t[3]],
    "drift": lambda m, r, t: ["drift", m, r],
    "diagnose": lambda m, r, t: ["diagnose", m, r],
    "update": lambda m, r, t: ["update", m, r],
    "forget": lambda m, r, t: ["forget", m, r],
    "merge": lambda m, r, t: ["merge", m, m, "-o", m],
    "unknown": lambda m, r, t: [t[1]],
    "option": lambda m, r, t: ["info", m, f"--{t[1]}"],
}  # fmt: skip
JSON_VERBS = ("look", "fit", "info", "explain row", "validate", "drift")


@tried_often
@given(
    made=tables(), verb=st.sampled_from(sorted(VERBS)), note=NAMES, file=NAMES, debug=st.booleans(),
    encoding=st.sampled_from(["utf-8", "cp1252", "ascii"]),
)  # fmt: skip
def test_commands(made, verb, note, file, debug, encoding):
    table, target, names = made
    name = file.replace("/", "").replace("\0", "")
    with TemporaryDirectory() as place:
        rows, model = Path(place, f"{name}.parquet"), Path(place, f"{name}.verosim")
        pq.write_table(table, rows)
        verosim.save(model_of(table, target), model, notes={note: note, "more": {note: 1.0}})
        words = VERBS[verb](str(model), str(rows), [target, names[0], names[-1], names[2]])
        words = [word.replace("\0", "") for word in words]  # the system allows none in words
        more = ["--debug"] if debug and verb != "unknown" else []
        done = run(*words, *more, code=None, stdout=Screen, encoding=encoding)
    assert not harmful(done.stdout)
    if not verb.startswith(("predict", "sample")):  # a cell of a CSV table may have line breaks
        check(done.stdout)
    check(done.stderr)
    if verb == "look" and encoding == "utf-8":  # nothing is taken for markup, and nothing is lost
        assert all(in_one_line(one) in done.stdout for one in table.column_names)


@tried_often
@given(made=tables(), verb=st.sampled_from(JSON_VERBS), note=NAMES,
       encoding=st.sampled_from(["utf-8", "cp1252", "ascii"]))  # fmt: skip
def test_json_is_exact_and_has_no_control_characters(made, verb, note, encoding):
    table, target, names = made
    with TemporaryDirectory() as place:
        rows, model = Path(place, "rows.parquet"), Path(place, "m.verosim")
        pq.write_table(table, rows)
        verosim.save(model_of(table, target), model, notes={note: note})
        words = VERBS[verb](str(model), str(rows), [target, names[0], names[-1], names[2]])
        words = [word.replace("\0", "") for word in words]
        done = run(*words, "--json", code=None, stdout=Screen, encoding=encoding)
    check(done.stdout)
    if not done.stdout:  # the table cannot be used, such as that with a class without rows
        assert done.stderr.startswith(("error: ", "warning: "))
        return
    found = json.loads(done.stdout)
    if verb == "info":
        assert found["notes"] == {note: note}
        assert set(found["columns"]) >= set(names[:4])
    if verb == "drift":
        assert set(found["columns"]) | set(found["not_compared"]) == set(names[:4])
    if verb == "look":
        assert [column["name"] for column in found["columns"]][:4] == names[:4]


@tried_often
@given(made=tables())
def test_tables_in_files_and_pipes_are_exact(made):
    table, target, names = made
    with TemporaryDirectory() as place:
        rows, model = Path(place, "rows.parquet"), Path(place, "m.verosim")
        pq.write_table(table, rows)
        fitted = model_of(table, target)
        verosim.save(fitted, model)
        if "\0" in names[2]:
            return
        done = run("predict", model, rows, "--keep", names[2], "-q")
    found = list(csv.reader(io.StringIO(done.stdout, newline="")))
    assert found[0][0] == names[2]
    assert [line[0] for line in found[1:]] == table[names[2]].to_pylist()
    assert [line[1] for line in found[1:]] == fitted.predict(table).tolist()


# Results in Python -------------------------------------------------------------------------------


def quick_search(model, table, target):
    return verosim.search(verosim.NaiveBayes(), table, target, {"alpha": [0.5, 1.0]}, cv=2)


RESULTS: dict[str, Callable] = {
    "schema": lambda m, t, y: m.schema_,
    "model": lambda m, t, y: m,
    "statistic": lambda m, t, y: m.stats_,
    "learned": lambda m, t, y: m.learned(),
    "explain": lambda m, t, y: verosim.explain(m, t),
    "explain table": lambda m, t, y: verosim.explain(m, t).table(markdown=False),
    "explain markdown": lambda m, t, y: verosim.explain(m, t).table(),
    "importance": lambda m, t, y: verosim.importance(m),
    "effect": lambda m, t, y: verosim.effect(m, t.column_names[2]),
    "counterfactual": lambda m, t, y: verosim.counterfactual(m, t.slice(0, 1)),
    "what_if": lambda m, t, y: verosim.what_if(m, t.slice(0, 1), {t.column_names[0]: 2.0}),
    "scorecard": lambda m, t, y: verosim.scorecard(m),
    "cross_validate": lambda m, t, y: verosim.cross_validate(m, t, y, 2, by=t.column_names[3]),
    "drift": lambda m, t, y: verosim.drift(m, t),
    "diagnose": lambda m, t, y: verosim.diagnose(m, t, y),
    "select": lambda m, t, y: verosim.select(m, t, y, cv=2),
    "search": quick_search,
    "program": lambda m, t, y: m.program(),
    "nomogram": lambda m, t, y: verosim.nomogram(m),
}


@tried_often
@given(made=tables(), what=st.sampled_from(sorted(RESULTS)))
def test_results(made, what):
    table, target, _ = made
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = RESULTS[what](model_of(table, target), table, target)
    except verosim.VerosimError as error:
        found = error
    for text in (str(found), repr(found), *(str(one.message) for one in caught)):
        check(text)


def test_every_result_that_prints_itself_is_tried_or_has_no_names():
    """A class with a text of its own uses the functions of `terminal`, or it is listed here."""
    import ast

    source = Path(verosim.__file__).parent
    known = {"in_lines", "in_one_line", "table_lines", "named_lines", "schema_view", "repr"}
    harmless = {  # numbers, settings, and texts that are made of printed parts
        "bayes/learned.py", "data/date_formats.py", "data/number_formats.py", "data/dialects.py",
        "data/prepared_texts.py", "densities/em.py", "pool/text_svm.py", "pool/weighted_pairs.py",
        "stats/arrays.py", "stats/cohorts.py", "stats/hollow.py", "stats/patterns.py",
        "stats/product.py", "validate/reliability.py", "insight/report/nomogram.py",
    }  # fmt: skip
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name in ("__str__", "__repr__"):
                used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
                place = str(path.relative_to(source))
                assert used & known or place in harmless, place


# Encodings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_an_encoding_without_our_characters_gets_ascii(encoding):
    text = "".join(IN_ASCII) + "é字"
    shown = text.encode(encoding, "verosim.degraded").decode(encoding)
    lacks = [one for one in IN_ASCII if not _has(encoding, one)]
    assert not any(one in shown for one in lacks)
    assert shown.endswith("\\u5b57")
    assert _has(encoding, "é") == ("é" in shown)


def _has(encoding: str, one: str) -> bool:
    try:
        return bool(one.encode(encoding))
    except UnicodeEncodeError:
        return False
