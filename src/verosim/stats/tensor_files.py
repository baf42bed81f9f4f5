"""One file of named tensors and one JSON text: the safetensors format, checked before it is read.

    8 bytes: length of the header  |  header: JSON  |  the bytes of all tensors

Everything in the header is checked before any memory is taken: its length, keys that occur twice,
unknown types, dimensions, and whether the tensors fill the file exactly. A SHA-256 of the JSON text
and of the tensors detects accidental damage. It is not a signature.
Reference: https://github.com/huggingface/safetensors, section Format.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.errors import VerosimError
from verosim.stats.plain_trees import damaged, shape_of, sizes_when_built

MOST_HEADER = 16 << 20
MOST_DIGITS = 40
METADATA = "__metadata__"
METADATA_KEY = "verosim"
BEFORE_DIGEST, AFTER_DIGEST = '{"sha256":"', '","content":'
MOST_JSON_MEMORY = 40 << 20
TENSOR_TYPES = {
    "BOOL": "?", "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "<u1", "U16": "<u2",
    "U32": "<u4", "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def json_memory(raw: str | bytes) -> int:
    """About how many bytes the objects of a JSON text need. A comma in a text counts too."""
    marks: Any = ("[", "{", ",") if isinstance(raw, str) else (b"[", b"{", b",")
    lists, dicts, commas = (raw.count(mark) for mark in marks)
    return 80 * lists + 240 * dicts + 48 * commas


def strict_json(raw: str | bytes, what: str) -> Any:
    """JSON without keys that occur twice, NaN and infinite numbers, and with limited memory."""
    if json_memory(raw) > MOST_JSON_MEMORY:
        raise damaged(f"{what} has too many parts")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            raise damaged(f"{what} has a key twice")
        return out

    def refused(text: str) -> Any:
        raise damaged(f"{what} has the number {text[:20]}")

    def whole(text: str) -> int:
        return int(text) if len(text) <= MOST_DIGITS else refused(text)

    def finite(text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else refused(text)

    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=once, parse_constant=refused, parse_int=whole,
            parse_float=finite,
        )  # fmt: skip
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise damaged(f"{what} is not JSON") from None


def canonical_json(content: Any) -> str:
    """The JSON text of plain data: the same text for the same data."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _digest(text: str, tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode("ascii"))
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name!r} {array.dtype.str} {array.shape}".encode("utf-8", "surrogatepass"))
        digest.update(memoryview(np.ascontiguousarray(array).reshape(-1)).cast("B"))
    return digest.hexdigest()


def tensor_file(content: Any, tensors: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a file with this JSON content and these tensors."""
    from safetensors.numpy import save

    text = canonical_json(content)
    description = f"{BEFORE_DIGEST}{_digest(text, tensors)}{AFTER_DIGEST}{text}}}"
    raw: bytes = save(dict(tensors), metadata={METADATA_KEY: description})
    length = int.from_bytes(raw[:8], "little")
    if length > MOST_HEADER or json_memory(raw[8 : 8 + length]) > MOST_JSON_MEMORY:
        raise VerosimError(
            "The description of the model is too large to be saved.",
            "Save a model with smaller settings, notes and fewer parts.",
        )
    return raw


def read_tensors(
    raw: bytes | memoryview, max_bytes: int | None = None
) -> tuple[Any, dict[str, Any]]:
    """The JSON content and the tensors of a file. The tensors are views of its bytes."""
    view = memoryview(raw).cast("B") if not isinstance(raw, bytes) else memoryview(raw)
    if len(view) < 8:
        raise damaged("it has fewer than 8 bytes")
    length = int.from_bytes(view[:8], "little")
    if length > MOST_HEADER:
        raise damaged("its header is larger than 16 MB")
    if 8 + length > len(view):
        raise damaged("it ends inside its header")
    header = strict_json(bytes(view[8 : 8 + length]), "its header")
    if not isinstance(header, dict):
        raise damaged("its header is not a list of tensors")
    metadata = header.pop(METADATA, None)
    if not isinstance(metadata, dict) or metadata.keys() != {METADATA_KEY}:
        raise damaged("its header does not describe a model of verosim")
    places = {name: _place(name, entry) for name, entry in header.items()}
    _check_tiles(places, len(view) - 8 - length)
    digest, text = _description(metadata.pop(METADATA_KEY))
    del header, metadata
    content = strict_json(text, "its description")
    cells = {
        name: (math.prod(shape), np.dtype(dtype).itemsize)
        for name, (dtype, shape, _, _) in places.items()
    }
    needed = len(view) + sizes_when_built(content, cells)
    if max_bytes is not None and needed > max_bytes:
        raise VerosimError(
            f"The model needs {needed:,} bytes of memory, and max_bytes is {max_bytes:,}.",
            "Use a larger max_bytes if you trust the file.",
        )
    data = view[8 + length :]
    tensors: dict[str, Any] = {}
    for name, (dtype, shape, start, end) in places.items():
        flat = np.frombuffer(data[start:end], dtype=np.dtype(dtype))
        if dtype == "?" and (flat.view(np.uint8) > 1).any():
            raise damaged(f"its tensor {name[:80]!r} has booleans other than 0 and 1")
        tensors[name] = flat.reshape(shape)
    if digest != _digest(text, tensors):
        raise damaged("its SHA-256 is not that of its content")
    return content, tensors


def _description(value: Any) -> tuple[str, str]:
    """The SHA-256 of a description and the JSON text of its content.

    The description is JSON too. Its content is not read and written again, because the SHA-256 is
    that of its text.
    """
    start = len(BEFORE_DIGEST) + 64
    well_formed = (
        isinstance(value, str)
        and value.isascii()
        and value.startswith(BEFORE_DIGEST)
        and value.startswith(AFTER_DIGEST, start)
        and value.endswith("}")
    )
    if not well_formed:
        raise damaged("its description is not that of a model")
    return value[len(BEFORE_DIGEST) : start], value[start + len(AFTER_DIGEST) : -1]


def _place(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """The type, the shape and the place of a tensor, checked."""
    shown = name[:80]
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise damaged(f"its tensor {shown!r} has unknown fields")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in TENSOR_TYPES:
        raise damaged(f"its tensor {shown!r} has an unknown type")
    shape = shape_of(entry["shape"])
    offsets = entry["data_offsets"]
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(
        type(one) is int and 0 <= one < 1 << 62 for one in offsets
    ):  # fmt: skip
        raise damaged(f"its tensor {shown!r} has no place")
    dtype = TENSOR_TYPES[entry["dtype"]]
    if offsets[1] - offsets[0] != math.prod(shape) * np.dtype(dtype).itemsize:
        raise damaged(f"the shape of its tensor {shown!r} does not fit its bytes")
    return dtype, shape, offsets[0], offsets[1]


def _check_tiles(places: Mapping[str, tuple[Any, ...]], size: int) -> None:
    """Raise an error unless the tensors fill the file without gaps and without overlaps."""
    reached = 0
    for start, end in sorted((start, end) for _, _, start, end in places.values()):
        if start != reached:
            raise damaged("its tensors have gaps or overlap")
        reached = end
    if reached != size:
        raise damaged("its tensors do not fill it exactly")
