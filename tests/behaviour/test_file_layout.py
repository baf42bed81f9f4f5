"""What a model file looks like inside, and which containers and states are refused."""

from __future__ import annotations

import copy
import io
import json
import struct
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest

import verosim
from tests.behaviour.test_model_files import CASES, answers, assert_equal, fitted, rows_for
from tests.hostile_files.originals import models
from verosim import VerosimError
from verosim.axes import CODES_BY_NAME, Categories
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes
from verosim.stats.plain_trees import packed_tree, unpacked_tree
from verosim.stats.state import RESTORABLE, load_all
from verosim.stats.tensor_files import canonical_json, read_tensors, tensor_file

pytestmark = pytest.mark.filterwarnings("ignore")

# What is inside ----------------------------------------------------------------------------------


def test_texts_are_bytes_counts_are_sparse_and_the_schema_is_a_tensor():
    n = 400
    table = {
        "code": [f"zebra{i % 97}" for i in range(n)], "text": ["walrus bites"] * n,
        "kind": ["heron", "otter"] * (n // 2),
    }  # fmt: skip
    content, tensors = read_tensors(
        verosim.dumps(verosim.NaiveBayes(columns={"text": "text"}).fit(table, "kind"))
    )
    text = canonical_json(content)
    for value in ("zebra", "walrus", "heron"):
        assert value not in text
        assert any(value.encode() in array.tobytes() for array in tensors.values())
    schema = tensors["schema"]
    assert schema.dtype == np.uint8
    assert json.loads(schema.tobytes())
    pairs = {name: table[name] for name in ("code", "kind")} | {"other": table["code"]}
    content, tensors = read_tensors(verosim.dumps(verosim.AODE().fit(pairs, "kind")))
    assert '"is":"sparse"' in canonical_json(content)
    assert max(array.nbytes for array in tensors.values()) < 50_000  # of 2 · 194 · 194 counts


@pytest.mark.slow
def test_every_statistic_and_every_axis_comes_back_from_bytes():
    statistics, codes = set(), set()

    def note(statistic: Any) -> None:
        statistics.add(type(statistic).__name__)
        for part in (
            getattr(statistic, "parts", {}).values() if statistic.sums_of == "parts" else ()
        ):
            note(part)
        if statistic.axes.codes is not None:
            codes.add(type(statistic.axes.codes).__name__)

    for case in CASES:
        try:
            model, _ = fitted(case)
        except pytest.skip.Exception:
            continue
        if not hasattr(model, "stats_"):
            continue
        again = statistic_from_bytes(statistic_to_bytes(model.stats_))
        assert again.fingerprint() == model.stats_.fingerprint()
        note(again)
    X = np.where(np.random.default_rng(0).random((40, 2)) < 0.2, np.nan, 1.0) * np.arange(
        80
    ).reshape(40, 2)
    note(verosim.QDA(missing="marginalise").fit(X, np.arange(40) % 2).stats_)
    alone = Categories((("a", "b"), ("c", None)))  # models use its subclasses
    node, tensors = packed_tree(alone.state())
    assert Categories.from_state(unpacked_tree(node, tensors)).values == alone.values
    load_all()
    ours = {name for name, kind in RESTORABLE.items() if kind.__module__.startswith("verosim.")}
    assert ours - statistics <= {"Hollow"}
    assert CODES_BY_NAME.keys() - codes == {"Categories"}


def test_lifted_lda_has_its_frequencies_in_the_file():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = verosim.LiftedLDA(n_features=20, random_state=3).fit(X, X[:, 0] > 0)
    _, tensors = read_tensors(verosim.dumps(model))
    half = 10
    assert any(array.shape == (3, half) and array.dtype == float for array in tensors.values())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_joblib_and_copy_give_the_same_model(case):
    model, part = fitted(case)
    rows = rows_for(model, part)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for again in (copy.deepcopy(model), copy.copy(model), joblib.load(file)):
        assert_equal(answers(again, rows), answers(model, rows))


# Loading runs nothing ----------------------------------------------------------------------------

AUDITED = """
import sys, warnings
warnings.simplefilter("ignore")
import verosim
from tests.hostile_files.originals import models
files = [data for data, _ in models()]
for data in files:
    verosim.loads(data)
events = []
quiet = ("object.__getattr__", "object.__setattr__", "sys._getframe", "builtins.id")
sys.addaudithook(lambda event, args: event in quiet or events.append((event, args)))
for data in files:
    verosim.loads(data)
print(sorted({event for event, _ in events}))
"""


@pytest.mark.slow
def test_loading_imports_compiles_and_opens_nothing():
    out = subprocess.run([sys.executable, "-c", AUDITED], capture_output=True, text=True)
    assert out.stdout.strip() == "[]", out.stdout + out.stderr[-2000:]


# Containers --------------------------------------------------------------------------------------


def changed(change: Any, data: bytes = b"") -> bytes:
    """A small file with a changed header."""
    raw = models()[0][0]
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + raw[8 + length :] + data


def first(header: Any) -> Any:
    return next(entry for name, entry in header.items() if name != "__metadata__")


def last(header: Any) -> Any:
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    return max(entries, key=lambda entry: entry["data_offsets"][1])


def description(header: Any, old: str, new: str) -> None:
    text = header["__metadata__"]["verosim"]
    assert old in text
    header["__metadata__"]["verosim"] = text.replace(old, new, 1)


EMPTY = {"dtype": "F64", "shape": [0, 1 << 60], "data_offsets": [0, 0]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h: h.update(x=EMPTY), "shape"),
        (lambda h: h.update(x={**EMPTY, "shape": [1 << 30, 1 << 30]}), "too large"),
        (lambda h: h.update(x={**EMPTY, "shape": [0] * 9}), "shape"),
        (lambda h: h.update(x=dict(last(h))), "overlap"),
        (lambda h: first(h).update(data_offsets=[8, 8 + first(h)["data_offsets"][1]]), "gaps"),
        (lambda h: first(h).update(dtype="BF16"), "unknown type"),
        (lambda h: first(h).update(dtype=["F64"]), "unknown type"),
        (lambda h: first(h).update(more=1), "unknown fields"),
        (lambda h: h["__metadata__"].update(more="1"), "does not describe"),
        (lambda h: h.pop("__metadata__"), "does not describe"),
        (lambda h: description(h, '"format":1', '"format":NaN'), "NaN"),
        (lambda h: description(h, '"format":1', '"format":1e999'), "the number"),
        (lambda h: description(h, '"format":1', '"format":1,"format":1'), "a key twice"),
        (lambda h: description(h, '"format":1', '"format":1,"x":2'), "SHA-256"),
        (lambda h: description(h, '"format":1', '"format":' + 60 * "9"), "the number"),
        (lambda h: description(h, '"sha256"', '"sha255"'), "description"),
        (lambda h: h["__metadata__"].update(verosim="é"), "description"),
    ],
    ids=range(17),
)
def test_a_wrong_header_is_refused_with_the_reason(change, reason):
    with pytest.raises(VerosimError, match=reason):
        verosim.loads(changed(change))


def test_an_unknown_field_is_refused_even_if_it_is_signed():
    content, tensors = read_tensors(models()[0][0])
    with pytest.raises(VerosimError, match="unknown fields"):
        verosim.loads(tensor_file({**content, "more": 1}, tensors))


def test_bytes_after_the_tensors_are_refused():
    with pytest.raises(VerosimError, match="fill it exactly"):
        verosim.loads(changed(lambda header: None, b"more"))


# States ------------------------------------------------------------------------------------------


def test_a_vocabulary_has_no_repeats_and_ordered_offsets():
    texts = ["alpha beta gamma", "beta gamma delta"] * 5
    content, tensors = read_tensors(verosim.dumps(verosim.TextNB().fit(texts, [0, 1] * 5)))
    (name,) = (one for one, array in tensors.items() if b"alphabeta" in array.tobytes())
    arena = tensors[name].copy()
    arena[:5] = np.frombuffer(b"delta", dtype=np.uint8)
    with pytest.raises(VerosimError, match="contains 'delta' twice"):
        verosim.loads(tensor_file(content, {**tensors, name: arena}))
    starts = np.array([0, 5, 9, 14, 19])
    (name,) = (one for one, array in tensors.items() if array.tobytes() == starts.tobytes())
    for wrong in ([0, 9, 5, 14, 19], [1, 5, 9, 14, 19], [0, 5, 9, 14, 10**6], [0, 5, 9, -14, 19]):
        bounds = np.frombuffer(np.array(wrong).tobytes(), dtype=np.uint8)
        with pytest.raises(VerosimError, match=r"in order|begin at 0|do not fit its bytes"):
            verosim.loads(tensor_file(content, {**tensors, name: bounds}))


def test_a_declared_size_is_refused_before_it_is_taken():
    data = verosim.dumps(verosim.LDA().fit(np.eye(40)[np.arange(80) % 40], np.arange(80) % 2))
    with pytest.raises(
        VerosimError, match=r"The model needs [\d,]+ bytes of memory, and max_bytes"
    ):
        verosim.loads(data, max_bytes=len(data) + 100)
    verosim.loads(data, max_bytes=100_000)
    verosim.loads(data, max_bytes=None)
