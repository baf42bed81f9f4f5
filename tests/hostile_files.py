"""Model files with one thing wrong: each is refused, or it is a model that works.

Raw mutations change the bytes. Structure-aware ones change the description or a tensor and sign the
result again, so that the SHA-256 does not find them.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import struct
import warnings
from functools import cache
from typing import Any

import numpy as np

import verosim
from verosim import VerosimError
from verosim.stats.tensor_files import read_tensors, tensor_file

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 62, -(1 << 63), 0.5, -1e300, 1e-320, "", "a",
    "LDA", "nan", "é" * 40, [], [1], [[]], {}, {"is": "tuple", "of": []}, {"is": "dict", "of": []},
    {"is": "float", "of": "nan"}, {"is": "list"}, [None, "b"], "\ud800", "__class__", "os.system",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 255, -128, 1 << 20, (1 << 62), np.nan, np.inf, -np.inf, 1e308, -1e-9, 0.5]
MOST = 1 << 26


@cache
def models() -> list[tuple[bytes, Any]]:
    """Small files of many kinds, and rows to predict."""
    rng = np.random.default_rng(0)
    n = 40
    y = np.array(["no", "yes"])[np.arange(n) % 2]
    X = rng.normal(size=(n, 2)) + (np.arange(n) % 2)[:, None]
    table = {
        "age": X[:, 0].round(2).tolist(), "hue": rng.choice(["red", "blue"], n).tolist(),
        "text": [" ".join(rng.choice(["win", "cash", "call"], 3)) for _ in range(n)],
    }  # fmt: skip
    cells = {name: table[name] for name in ("age", "hue")}
    missing = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    texts = table["text"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [
            (verosim.GaussianNB().fit(X, y), X),
            (verosim.LDA().fit(X, y), X),
            (verosim.QDA(missing="marginalise").fit(missing, y), X),
            (verosim.NaiveBayes().fit({**table, "y": y.tolist()}, "y"), table),
            (verosim.AODE(bins=3).fit({**cells, "y": y.tolist()}, "y"), cells),
            (verosim.TAN(bins=3).fit({**cells, "y": y.tolist()}, "y"), cells),
            (verosim.LiftedLDA(n_features=8).fit({**cells, "y": y.tolist()}, "y"), cells),
            (verosim.HistogramNB().fit(X, y), X),
            (verosim.JointHistogram(bins=3).fit(X, y), X),
            (verosim.CategoricalNB().fit((X > 0).astype(int), y), (X > 0).astype(int)),
            (verosim.BernoulliNB().fit(X, y), X),
            (verosim.TextNB().fit(texts, y), texts),
            (verosim.TextNB(hashed=16).fit(texts, y), texts),
            (verosim.TextRidge().fit(texts, y), texts),
            (verosim.MDA(components=1).fit(X, y), X),
            (verosim.LogisticRegression().fit(X, y), X),
            (verosim.Perceptron().fit(X, y), X),
            (verosim.Perceptron(features="polynomial", random_state=0).fit(X, y), X),
            (verosim.Perceptron(features="fourier", random_state=0).fit(X, y), X),
            (verosim.LeastSquares().fit(X, y), X),
            (verosim.OneVsRest(verosim.LeastSquares()).fit(X, y), X),
            (verosim.Twin(verosim.LDA()).fit(X, y), X),
            (verosim.Calibrated(verosim.GaussianNB(), cv=2).fit(X, y), X),
            (verosim.Conformal(verosim.GaussianNB()).fit(X, y), X),
            (verosim.Reject(verosim.GaussianNB()).fit(X, y), X),
            (verosim.Pool([verosim.TAN(bins=3), verosim.NaiveBayes()]).fit(
                {**cells, "y": y.tolist()}, "y"), cells),
        ]  # fmt: skip
        return [
            (verosim.dumps(model, notes={"a": 1}, statistics=statistics), rows)
            for model, rows in fitted
            for statistics in (True, False)
        ]


@cache
def parsed(i: int) -> bytes:
    """The content and the tensors of a file, as a pickle to copy quickly."""
    content, tensors = read_tensors(models()[i][0])
    return pickle.dumps((content, {name: array.copy() for name, array in tensors.items()}))


def places(node: Any) -> list[tuple[Any, Any]]:
    """All places (container, key) of a JSON tree."""
    out: list[tuple[Any, Any]] = []
    stack = [node]
    while stack:
        one = stack.pop()
        keys = one.keys() if isinstance(one, dict) else range(len(one))
        for key in keys:
            out.append((one, key))
            if isinstance(one[key], dict | list):
                stack.append(one[key])
    return out


def mutated_node(content: Any, rng: random.Random) -> None:
    found = places(content)
    one, key = rng.choice(found)
    how = rng.randrange(6)
    if how == 0:
        one[key] = copy.deepcopy(rng.choice(ODD))
    elif how == 1 and isinstance(one, dict):
        del one[key]
    elif how == 1:
        one.pop(key)
    elif how == 2:
        other, at = rng.choice(found)
        one[key] = copy.deepcopy(other[at])
    elif how == 3 and isinstance(one, list):
        one.append(copy.deepcopy(one[key]))
    elif how == 3:
        one[rng.choice(["of", "is", "as", "order", "shape", "x"])] = copy.deepcopy(one[key])
    elif how == 4 and isinstance(one[key], int | float):
        one[key] = one[key] + rng.choice([-1, 1, 0.5, 1000])
    else:
        scalars = [(o, k) for o, k in found if not isinstance(o[k], dict | list)]
        o, k = rng.choice(scalars)
        o[k] = copy.deepcopy(rng.choice(ODD))


def mutated_tensor(tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    if not tensors:
        return
    name = rng.choice(sorted(tensors))
    array = tensors[name]
    how = rng.randrange(7)
    if how < 3 and array.size:
        flat = array.reshape(-1).copy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array(rng.choice(NUMBERS)).astype(array.dtype)
        flat[rng.randrange(flat.size)] = value
        tensors[name] = flat.reshape(array.shape)
    elif how == 3:
        kind = rng.choice(["?", "i1", "i4", "i8", "u1", "u8", "f4", "f8"])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensors[name] = array.astype(kind)
    elif how == 4:
        flat = array.reshape(-1)
        tensors[name] = rng.choice([flat, flat[:-1], np.concatenate([flat, flat[:1]]), flat[None]])
    elif how == 5:
        tensors[rng.choice(["x", rng.choice(sorted(tensors))])] = tensors.pop(name)
    elif array.ndim:
        tensors[name] = np.ascontiguousarray(np.flip(array, rng.randrange(array.ndim)))


def signed(i: int, rng: random.Random) -> bytes:
    """A file with a wrong description or tensor and the right SHA-256."""
    content, tensors = pickle.loads(parsed(i))
    for _ in range(rng.choice([1, 1, 1, 2])):
        if rng.random() < 0.6:
            mutated_node(content, rng)
        else:
            mutated_tensor(tensors, rng)
    return tensor_file(content, tensors)


def raw(i: int, rng: random.Random) -> bytes:
    """A file with wrong bytes."""
    data = bytearray(models()[i][0])
    how = rng.randrange(7)
    if how == 0:
        return bytes(data[: rng.randrange(len(data))])
    if how == 1:
        data += bytes(rng.randrange(1, 50))
    elif how == 2:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 3:
        data[:8] = struct.pack("<Q", rng.choice([0, 1, 1 << 20, 1 << 24, 1 << 40, (1 << 64) - 1]))
    else:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(bytes(data[8 : 8 + length]))
        name = rng.choice([one for one in header if one != "__metadata__"])
        entry = header[name]
        change = rng.randrange(4)
        if change == 0:
            entry["shape"] = rng.choice([[0, 1 << 60], [1 << 62], [-1], [1.0], "x", [1] * 50])
        elif change == 1:
            entry["data_offsets"] = [entry["data_offsets"][0] + rng.choice([-8, 1, 8]), 1 << 40]
        elif change == 2:
            entry["dtype"] = rng.choice(["F64", "BF16", "I8", "C64", 3])
        else:
            header["y"] = dict(entry)
        text = json.dumps(header).encode()
        if how == 6:  # one name twice
            text = text[:-1] + b"," + json.dumps({name: entry}).encode()[1:]
        return struct.pack("<Q", len(text)) + text + bytes(data[8 + length :])
    return bytes(data)


def outcome(data: bytes, rows: Any) -> str:
    """ "refused" or "works". Anything else than a `VerosimError` is an error."""
    try:
        model = verosim.loads(data, max_bytes=MOST)
    except VerosimError:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.predict(rows)
        except VerosimError:
            return "refuses the rows"
    return "works"


def one_case(seed: int) -> str:
    """One mutation by its number."""
    rng = random.Random(seed)
    i = rng.randrange(len(models()))
    try:
        data = raw(i, rng) if rng.random() < 0.15 else signed(i, rng)
    except (VerosimError, ValueError, TypeError, UnicodeError):
        return "not written"
    return outcome(data, models()[i][1])
