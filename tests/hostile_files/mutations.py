"""Model files with one thing wrong, by a number.

Raw mutations change the bytes. Structure-aware ones change the description or a tensor and compute
the SHA-256 again, so that it does not find them.
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

from verosim.stats.tensor_files import read_tensors, tensor_file

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 62, -(1 << 63), 1 << 100, 0.5, -1e300, 1e-320,
    1e308, "", "a", "LDA", "nan", "é" * 40, [], [1], [[]], {}, {"is": "tuple", "of": []},
    {"is": "dict", "of": []}, {"is": "float", "of": "nan"}, {"is": "float", "of": "inf"},
    {"is": "list"}, [None, "b"], "\ud800", "__class__", "os.system",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 255, -128, 1 << 20, 1 << 62, np.nan, np.nan, np.inf, -np.inf, 1e308, -1e308,
    1e160, 1e-320, -1e-9, 0.5,
]  # fmt: skip
KINDS = ["?", "i1", "i4", "i8", "u1", "u8", "f4", "f8"]
Tensors = dict[str, np.ndarray]


@cache
def parsed(data: bytes) -> bytes:
    """The content and the tensors of a file, as a pickle to copy quickly."""
    content, tensors = read_tensors(data)
    return pickle.dumps((content, {name: array.copy() for name, array in tensors.items()}))


def signed(data: bytes, rng: random.Random) -> bytes:
    """A file with a wrong description or tensor and the right SHA-256."""
    content, tensors = pickle.loads(parsed(data))
    for _ in range(rng.choice([1, 1, 1, 2])):
        if rng.random() < 0.5 or not tensors:
            _mutate_node(content, rng)
        else:
            _mutate_tensor(tensors, rng)
    return tensor_file(content, tensors)


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


def _mutate_node(content: Any, rng: random.Random) -> None:
    found = places(content)
    one, key = rng.choice(found)
    how = rng.randrange(10)
    if how == 0:
        one[key] = copy.deepcopy(rng.choice(ODD))
    elif how == 1:
        one.pop(key)
    elif how == 2:  # a copy of another place
        other, at = rng.choice(found)
        one[key] = copy.deepcopy(other[at])
    elif how == 3 and isinstance(one, list):
        one.append(copy.deepcopy(one[key]))
    elif how == 3:
        one[rng.choice(["of", "is", "as", "order", "shape", "x"])] = copy.deepcopy(one[key])
    elif how == 4 and isinstance(one, dict):  # a key renamed
        one[rng.choice(["of", "is", key[:-1], key + "x"])] = one.pop(key)
    elif how < 7:  # two values of the same type swapped
        kind = type(one[key])
        other, at = rng.choice([(o, k) for o, k in found if type(o[k]) is kind])
        first, second = copy.deepcopy(one[key]), copy.deepcopy(other[at])
        one[key], other[at] = second, first
    else:
        _mutate_scalar(found, rng)


def _mutate_scalar(found: list[tuple[Any, Any]], rng: random.Random) -> None:
    one, key = rng.choice([(o, k) for o, k in found if not isinstance(o[k], dict | list)])
    value, how = one[key], rng.randrange(3)
    if how == 0:
        one[key] = copy.deepcopy(rng.choice(ODD))
    elif isinstance(value, str) and value:  # one letter
        at = rng.randrange(len(value))
        letter = rng.choice(["", "x", "0", "-", chr(ord(value[at]) ^ 1), value[at] * 2])
        one[key] = value[:at] + letter + value[at + 1 :]
    elif isinstance(value, bool):
        one[key] = not value
    elif isinstance(value, int | float):
        change = rng.choice([-1, 1, 0.5, 1000, -value, 1 - 2 * value])
        one[key] = value + change if rng.random() < 0.7 else -value
    else:
        one[key] = copy.deepcopy(rng.choice(ODD))


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a value of a type, or the value that it becomes by overflow."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(value).astype(dtype)


def _mutate_tensor(tensors: Tensors, rng: random.Random) -> None:
    name = rng.choice(sorted(tensors))
    array, how = tensors[name], rng.randrange(12)
    flat = array.reshape(-1).copy()
    if how < 6 and flat.size:
        at = rng.randrange(flat.size)
        changed = rng.randrange(4)
        if changed == 0 and array.dtype.kind != "b":  # a number near the old one, or its opposite
            flat[at] = _as(rng.choice([-1, 2, 1.5, 1e3]) * flat[at].astype(float), array.dtype)
        else:
            value = _as(rng.choice(NUMBERS), array.dtype)
            flat[slice(None) if changed == 1 else at] = value
        tensors[name] = flat.reshape(array.shape)
    elif how == 6:
        tensors[name] = _as(array, np.dtype(rng.choice(KINDS)))
    elif how == 7:
        longer = np.concatenate([flat, flat[:1]])
        tensors[name] = rng.choice(
            [flat, flat[:-1], longer, flat[None], flat[:0], *([array.T.copy()] * array.ndim)]
        )
    elif how == 8:
        tensors[rng.choice(["x", rng.choice(sorted(tensors))])] = tensors.pop(name)
    elif how == 9:  # two tensors of the same type
        like = [other for other in sorted(tensors) if tensors[other].dtype == array.dtype]
        other = rng.choice(like)
        tensors[name], tensors[other] = tensors[other], array
    elif how == 10 and flat.size > 1:  # two values
        i, j = rng.sample(range(flat.size), 2)
        flat[[i, j]] = flat[[j, i]]
        tensors[name] = flat.reshape(array.shape)
    elif array.ndim:
        axis = rng.randrange(array.ndim)
        fewer = np.delete(array, slice(0, 1), axis)
        more = np.concatenate([array, array[(slice(None),) * axis + (slice(0, 1),)]], axis)
        tensors[name] = np.ascontiguousarray(rng.choice([np.flip(array, axis), fewer, more]))


def raw(data: bytes, rng: random.Random) -> bytes:
    """A file with wrong bytes."""
    out = bytearray(data)
    how = rng.randrange(7)
    if how == 0:
        return bytes(out[: rng.randrange(len(out))])
    if how == 1:
        out += bytes(rng.randrange(1, 50))
    elif how == 2:
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif how == 3:
        out[:8] = struct.pack("<Q", rng.choice([0, 1, 1 << 20, 1 << 24, 1 << 40, (1 << 64) - 1]))
    else:
        length = int.from_bytes(out[:8], "little")
        header = json.loads(bytes(out[8 : 8 + length]))
        name = rng.choice([one for one in header if one != "__metadata__"] or ["__metadata__"])
        entry = header[name]
        change = rng.randrange(4)
        if change == 0:
            entry["shape"] = rng.choice([[0, 1 << 60], [1 << 62], [-1], [1.0], "x", [1] * 50])
        elif change == 1:
            entry["data_offsets"] = [rng.choice([0, -8, 1, 8]), 1 << 40]
        elif change == 2:
            entry["dtype"] = rng.choice(["F64", "BF16", "I8", "C64", 3])
        else:
            header["y"] = dict(entry)
        text = json.dumps(header).encode()
        if how == 6:  # one name twice
            text = text[:-1] + b"," + json.dumps({name: entry}).encode()[1:]
        return struct.pack("<Q", len(text)) + text + bytes(out[8 + length :])
    return bytes(out)
