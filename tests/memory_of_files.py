"""Loads files in a process with a memory limit: `python -m tests.memory_of_files FOLDER`.

The limit of a file is 3 × (its bytes + the bytes that it declares to need in memory) + 50 MB. It is
set before the file is loaded, so a file that takes more memory fails.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

import verosim
from tests.hostile_files.mutations import raw, signed
from tests.hostile_files.originals import models
from verosim import VerosimError
from verosim.stats.plain_trees import packed_tree, sizes_when_built
from verosim.stats.tensor_files import read_tensors, tensor_file

ALWAYS = 50 << 20
MOST_DECLARED = 1 << 26  # the argument `max_bytes` of these loads


def limit_of(data: bytes) -> int:
    """The memory that a file may use."""
    try:
        content, tensors = read_tensors(data, MOST_DECLARED)
        declared = sizes_when_built(
            content, {name: (array.size, array.itemsize) for name, array in tensors.items()}
        )
    except VerosimError:
        declared = 0  # it is refused before anything is built
    return 3 * (len(data) + declared) + ALWAYS


def honest_files() -> list[bytes]:
    """Models that are large in different ways."""
    rng = np.random.default_rng(0)
    n = 300
    y = np.array(["no", "yes"])[np.arange(n) % 2]
    wide = {f"column {j}": rng.normal(size=60) for j in range(4_000)}
    values = [f"value {i}" for i in range(20_000)]
    texts = [" ".join(f"word{i}" for i in rng.integers(1 << 20, size=400)) for _ in range(n)]
    table = {"code": values, "size": rng.normal(size=20_000), "y": y[np.arange(20_000) % 2]}
    fitted = [
        verosim.LDA(shrinkage=0.1).fit(rng.normal(size=(n, 500)), y),
        verosim.GaussianNB().fit({**wide, "y": y[:60]}, "y"),
        verosim.NaiveBayes(columns={"code": "category"}).fit(table, "y"),
        verosim.TextNB().fit(texts, y),
    ]
    return [verosim.dumps(m, statistics=s) for m in fitted for s in (True, False)]


def hostile_files() -> list[bytes]:
    """Files that would take much memory if they were not checked."""
    content, tensors = read_tensors(models()[0][0])
    plain = {name: array.copy() for name, array in tensors.items()}

    def with_notes(notes: Any, **more: np.ndarray) -> bytes:
        return tensor_file({**content, "notes": notes}, {**plain, **more})

    def header(text: bytes) -> bytes:
        return struct.pack("<Q", len(text)) + text

    empty = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    many = 1 << 20
    dense = "[]," * 5_000_000
    out = [
        header(f"[{dense}[]]".encode()),
        header(b"[" + b"{}," * 5_000_000 + b"{}]"),
        header(b"[" + b"1e9," * 4_000_000 + b"1]"),
        header(json.dumps({f"t{i}": empty for i in range(100_000)}).encode()),
        header(json.dumps({"__metadata__": {"verosim": "[" * 15_000_000}}).encode()),
        header(json.dumps({"__metadata__": {"verosim": '{"sha256":"' + dense}}).encode()),
        # Small tensors that become large
        with_notes({"is": "sparse", "of": "x", "shape": [1 << 22]}, x=np.zeros(0),
                   **{"x.places": np.zeros(0, dtype=np.int64)}),
        with_notes({"is": "coded", "of": "x"}, x=np.zeros(1 << 22, dtype=np.uint8),
                   **{"x.values": np.zeros(1)}),
        with_notes({"is": "labels", "of": "x", "width": 1 << 20, "shape": [10]},
                   x=np.zeros(0, dtype=np.uint8), **{"x.ends": np.zeros(10, dtype=np.int64)}),
        with_notes({"is": "texts", "of": "x"}, x=np.frombuffer(b"a" * many, dtype=np.uint8),
                   **{"x.ends": np.arange(1, many + 1)}),
        with_notes({"is": "texts", "of": "x"}, x=np.frombuffer("é".encode() * many, dtype=np.uint8),
                   **{"x.ends": np.arange(2, 2 * many + 2, 2)}),
        with_notes({"is": "numbers", "of": "x"}, x=np.arange(many) + (1 << 40)),
        with_notes({"is": "objects", "of": {"is": "numbers", "of": "x"}, "shape": [many]},
                   x=np.arange(many) / 7),
        # One tensor in many places
        with_notes([{"is": "array", "of": "x"}] * 1_000, x=np.zeros(1 << 17)),
        with_notes([{"is": "texts", "of": "x"}] * 1_000, x=np.zeros(0, dtype=np.uint8),
                   **{"x.ends": np.zeros(1 << 17, dtype=np.int64)}),
        with_notes(packed_tree([[[i] for i in range(40)] for _ in range(1_000)])[0]),
    ]  # fmt: skip
    for i in range(0, len(models()), 3):
        for seed in range(2):
            for make in (raw, signed):
                try:
                    out.append(make(models()[i][0], random.Random(1_000 * i + seed)))
                except (VerosimError, ValueError, TypeError, UnicodeError):
                    continue
    return out


def in_use() -> int:
    """The address space of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def swallowed(error: BaseException | None) -> bool:
    """Whether a lack of memory is among the causes of an error."""
    while error is not None:
        if isinstance(error, MemoryError) or "MemoryError" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def main(folder: Path) -> None:
    cases = json.loads((folder / "cases.json").read_text())
    for data, rows in models():  # everything is imported and compiled
        verosim.loads(data).predict(rows)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    for name, (limit, works) in cases.items():
        data = (folder / name).read_bytes()
        gc.collect()
        resource.setrlimit(resource.RLIMIT_AS, (in_use() + limit, hard))
        outcome = "works"
        try:
            model = verosim.loads(data, max_bytes=MOST_DECLARED)
            del model
        except VerosimError as error:
            outcome = "out of memory" if swallowed(error) else "refused"
        except MemoryError:
            outcome = "out of memory"
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        if outcome == "out of memory" or (works and outcome != "works"):
            print(name, outcome, limit)
    print("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
