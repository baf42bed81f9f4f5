"""Files that are wrong by accident or on purpose are refused, and nothing else happens."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import verosim
from tests.hostile_files import models, one_case, outcome
from verosim import VerosimError
from verosim.stats.tensor_files import read_tensors, tensor_file

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = 5_000
SOAK_CASES = 1_000_000


def test_the_files_themselves_work():
    for data, rows in models():
        assert outcome(data, rows) == "works"


@pytest.mark.slow
def test_mutated_files_are_refused_or_work():
    found = Counter(one_case(seed) for seed in range(CASES))
    assert found["refused"] > CASES / 2
    assert found["works"] > CASES / 50  # changes that matter to no prediction, such as notes


@pytest.mark.soak
def test_a_million_mutated_files_are_refused_or_work():
    for seed in range(CASES, CASES + SOAK_CASES):
        one_case(seed)


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


LIMITED = """
import resource, struct, sys
import verosim
from tests.hostile_files import models, one_case
models()
one_case(0)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (250 << 20), used + (250 << 20)))
for seed in range(200_000, 200_300):
    one_case(seed)
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is that of Linux")
def test_mutated_files_need_little_memory():
    assert resource.RLIMIT_AS
    out = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert out.stdout.strip() == "done", out.stderr[-2000:]
