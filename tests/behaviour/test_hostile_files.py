"""Files that are wrong by accident or on purpose are refused, and nothing else happens.

`python -m tests.hostile_files FIRST LAST` runs many more of the random mutants.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from tests.hostile_files.originals import models, originals
from tests.hostile_files.outcomes import one_case, outcome
from tests.memory_of_files import honest_files, hostile_files, limit_of
from verosim import VerosimError
from verosim.files.models import SAVED_MODELS
from verosim.files.records import RECORDS, hints_of
from verosim.files.shapes import SHAPES
from verosim.stats.tensor_files import read_tensors, tensor_file

pytestmark = pytest.mark.filterwarnings("ignore")

# Labels, and arrays in tuples: `FURTHER_CHECKS` and constructors check these.
CHECKED_OTHERWISE = {
    "Isotonic": {"knots"}, "Lift": {"given"}, "TextSVMSpec": {"classes"},
    "WeightedPairsSpec": {"classes"},
}  # fmt: skip


def test_the_files_themselves_work():
    for one in originals()[2:]:  # the first model is not fitted
        assert outcome(one, one.data, random.Random(0)) == "equal"


@tried_often
@given(st.integers(0, 10**9))
def test_a_mutated_file_is_refused_or_works(number):
    found = one_case(number)
    assert found.outcome != "wrong", found


def test_mutants_are_of_every_class_that_can_be_saved():
    names = {one.name for one in originals()} | {"TextSVM", "WeightedPairs"}  # inside of pools
    assert names == set(SAVED_MODELS)


def test_a_number_that_no_fit_gives_is_refused():
    """Each tensor of floats of a model without sums: NaN is refused, whatever it means."""
    unknown = ("log_likelihood", "losses", "loss_curve_", "norm_curve_", "objective_", "gap_")
    for one in originals():
        content, tensors = read_tensors(one.data)
        for name, array in tensors.items():
            part = name.split(".")[-1]
            if one.statistics or array.dtype != float or not array.size or part in unknown:
                continue
            changed = array.copy()
            changed.flat[0] = np.nan
            with pytest.raises(VerosimError):
                loaded_with(content, {**tensors, name: changed}, f"{one.name}: {name}")


def loaded_with(content, tensors, shown):
    verosim.loads(tensor_file(content, tensors))
    print(shown)  # pytest shows it if the file is not refused


def test_every_array_of_a_record_is_declared():
    for name, kind in RECORDS.items():
        arrays = {field for field, hint in hints_of(kind).items() if "ndarray" in str(hint)}
        assert arrays <= SHAPES.get(name, {}).keys() | CHECKED_OTHERWISE.get(name, set()), name


def _with_header(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        _with_header(b""),
        _with_header(b"{}"),
        _with_header(b"[" * 100_000),
        _with_header(b'{"a":' * 100_000),
        _with_header(b'{"__metadata__":{"verosim":"{}"}}'),
        _with_header(b'{"__metadata__":{"verosim":"1"},"__metadata__":{"verosim":"2"}}'),
        _with_header(b'{"__metadata__":{"verosim":"NaN"}}'),
        _with_header(json.dumps({f"t{i}": {} for i in range(100_000)}).encode()),
        struct.pack("<Q", 1 << 60) + b"{}",
        struct.pack("<Q", (16 << 20) + 1) + bytes((16 << 20) + 1),
    ],
    ids=range(12),
)
def test_wrong_containers_are_refused(data):
    with pytest.raises(VerosimError, match="damaged or is not a file of verosim"):
        verosim.loads(data)


def test_impossible_sums_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    data = verosim.dumps(verosim.QDA().fit(X, X[:, 0] > 0))
    content, tensors = read_tensors(data)
    wrong = {"rows": -1, "weight": np.nan, "scatter": -5.0, "sum": np.inf}
    for field, value in wrong.items():
        (name,) = (one for one in tensors if one.endswith(f"arrays.{field}"))
        changed = tensors[name].copy()
        changed[(0,) * changed.ndim] = value
        with pytest.raises(VerosimError, match="sums are damaged"):
            verosim.loads(tensor_file(content, {**tensors, name: changed}))
    (name,) = (one for one in tensors if one.endswith("arrays.scatter"))
    lopsided = tensors[name].copy()
    lopsided[0, 0, 0, 1] += 1
    with pytest.raises(VerosimError, match="not symmetric"):
        verosim.loads(tensor_file(content, {**tensors, name: lopsided}))


@pytest.mark.parametrize("kind", [verosim.GaussianNB, verosim.QDA, verosim.LDA])
def test_a_sum_of_squares_is_below_zero_by_its_own_rounding_at_most(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([1e6 * rng.normal(size=40), rng.normal(size=40)])  # very different units
    y = np.arange(40) % 2
    model = kind().fit(X, y).forget(X[:4], y[:4])  # the largest sums are not those of today
    content, tensors = read_tensors(verosim.dumps(model))
    (name,) = (one for one in tensors if one.endswith(("arrays.square", "arrays.scatter")))
    (peak,) = (one for one in tensors if one.endswith("arrays.absorbed"))
    last = (-1,) * tensors[name].ndim  # of the column of small numbers
    for share, works in ((-1e-8, True), (-1e-4, False)):
        sums = tensors[name].copy()
        sums[last] = share * tensors[peak][..., -1].min()
        data = tensor_file(content, {**tensors, name: sums})
        if works:
            verosim.loads(data)
        else:
            with pytest.raises(VerosimError, match=r"a sum of squares .* is negative"):
                verosim.loads(data)
    if "scatter" in name:  # the products of the small column are symmetric up to its own rounding
        sums = tensors[name].copy()
        sums[..., 0, 1] += 1e4
        with pytest.raises(VerosimError, match="not symmetric"):
            verosim.loads(tensor_file(content, {**tensors, name: sums}))


def test_models_that_have_forgotten_rows_can_be_loaded():
    rng = np.random.default_rng(0)
    X, y = 1e8 + rng.normal(size=(60, 3)), np.arange(60) % 2
    for model in (verosim.GaussianNB(), verosim.QDA(shrinkage=0.1), verosim.LDA()):
        model.fit(X, y)
        for start in range(0, 54, 6):
            model.forget(X[start : start + 6], y[start : start + 6])
        assert verosim.dumps(verosim.loads(verosim.dumps(model))) == verosim.dumps(model)


def test_an_accident_is_found_by_the_sum_of_the_bytes():
    data = bytearray(models()[0][0])
    data[-1] ^= 1
    with pytest.raises(VerosimError, match="SHA-256"):
        verosim.loads(bytes(data))


def test_sparse_arrays_cannot_take_all_memory():
    content, tensors = read_tensors(models()[0][0])
    tensors = {**tensors, "big": np.zeros(0), "big.places": np.zeros(0, dtype=np.int64)}
    content["notes"] = {"is": "sparse", "of": "big", "shape": [1 << 20, 1 << 19]}
    with pytest.raises(VerosimError, match="max_bytes"):
        verosim.loads(tensor_file(content, tensors))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is that of Linux")
def test_a_file_needs_no_more_memory_than_it_declares(tmp_path):
    cases = {}
    for works, files in ((True, honest_files()), (False, hostile_files())):
        for data in files:
            name = f"{len(cases)}.verosim"
            (tmp_path / name).write_bytes(data)
            cases[name] = limit_of(data), works
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    # The address space is limited, and each thread reserves much of it without using it.
    alone = {**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run(
        [sys.executable, "-m", "tests.memory_of_files", str(tmp_path)], env=alone,
        capture_output=True, text=True,
    )  # fmt: skip
    assert out.stdout.strip() == "done", out.stdout + out.stderr[-2000:]
    assert len(cases) > 60
