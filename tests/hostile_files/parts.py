"""Model files with parts that are sound but do not belong together, by a number.

A part is a model, a state, sums, a schema, codes or a record. It is swapped with another one,
replaced by that of another file, or has the name of another class. Sizes change everywhere at once,
and numbers become too large, too small or nearly right. The SHA-256 is computed again.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.hostile_files.mutations import Tensors, parsed, places
from verosim.files.models import SAVED_MODELS
from verosim.files.records import RECORDS, field_names
from verosim.stats.tensor_files import tensor_file

ENDINGS = (".ends", ".places", ".values")  # of tensors that belong to another one
WHOLE = {"model", "state", "statistic", "schema", "codes", *RECORDS}
FACTORS = [-1.0, 1e308, 1e-308, 5e-324, 1e150, 1e-150, 1e20, 1e-20]
SHIFTS = [1e-7, -1e-7, 1e-3, 700.0, -700.0, 1e9]
NAMES = ["x" * 100_000, "\x1b[31m", "\u202e", "\n", "\0", "", " ", "nan", "__class__"]


def mixed(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A file whose parts do not belong together. New parts come from the other files."""
    content, tensors = pickle.loads(parsed(data))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        how = rng.randrange(8)
        if how < 3:
            _replace(content, tensors, rng.choice(others) if how else data, rng)
        elif how == 3:
            _rename_class(content, rng)
        elif how == 4:
            _resize(content, tensors, rng)
        elif how == 5:
            _rename(content, rng)
        else:
            _scale(tensors, rng)
    _remove_unused(content, tensors)
    return tensor_file(content, tensors)


def _parts(content: Any) -> list[tuple[Any, Any]]:
    """The places (container, key) of all parts."""
    found = places(content)
    return [(o, k) for o, k in found if isinstance(o[k], dict) and o[k].get("is") in WHOLE]


def _references(node: Any) -> list[dict[str, Any]]:
    """The nodes that name tensors."""
    found = [o[k] for o, k in places([node]) if isinstance(o[k], dict)]
    return [one for one in found if isinstance(one.get("of"), str)]


def _replace(content: Any, tensors: Tensors, data: bytes, rng: random.Random) -> None:
    """Replace a part by one of another file, of the same kind if it has one."""
    theirs, arrays = pickle.loads(parsed(data))
    mine = _parts(content)
    if not mine:
        return
    container, key = rng.choice(mine)
    kind, given = container[key]["is"], [o[k] for o, k in _parts(theirs)]
    node = rng.choice([one for one in given if one["is"] == kind] or given or [container[key]])
    node = copy.deepcopy(node)
    for one in _references(node):
        name = one["of"]
        if name in arrays:
            one["of"] = f"{name} of another file"
            for end in ("", *ENDINGS):
                if name + end in arrays:
                    tensors[one["of"] + end] = arrays[name + end]
    container[key] = node


def _remove_unused(content: Any, tensors: Tensors) -> None:
    used = {one["of"] for one in _references(content)}
    for name in list(tensors):
        owners = {name, *(name.removesuffix(end) for end in ENDINGS)}
        if not used & owners:
            del tensors[name]


def _rename_class(content: Any, rng: random.Random) -> None:
    """Name another class: a record with nearly the same fields, or a model everywhere."""
    records = [o[k] for o, k in _parts(content) if o[k]["is"] in RECORDS]
    if records and rng.random() < 0.7:
        one = rng.choice(records)
        mine = set(field_names(RECORDS[one["is"]]))
        near = [name for name in RECORDS if len(mine ^ set(field_names(RECORDS[name]))) <= 1]
        one["is"] = rng.choice(near)
        return
    found = places(content)
    models = [(o, k) for o, k in found if isinstance(o[k], str) and o[k] in SAVED_MODELS]
    if not models:  # an earlier change has renamed the only one
        return
    old, new = (o[k] for o, k in (rng.choice(models), rng.choice(models)))
    new = rng.choice([new, *SAVED_MODELS])
    for one, key in models:
        if one[key] == old:
            one[key] = new


def _resize(content: Any, tensors: Tensors, rng: random.Random) -> None:
    """All axes of one size lose or gain a place, and so do lists and numbers of that size."""
    sizes = sorted({size for array in tensors.values() for size in array.shape if size})
    if not sizes:
        return
    old, more, share = rng.choice(sizes), rng.random() < 0.5, rng.choice([1.0, 0.5])
    for name, array in list(tensors.items()):
        if any(name.endswith(end) or name + end in tensors for end in ENDINGS):
            continue
        for axis, size in enumerate(array.shape):
            if size == old and rng.random() < share:
                last = np.take(array, [-1], axis)
                kept = np.delete(array, -1, axis)
                array = np.concatenate([array, last], axis) if more else kept
        tensors[name] = np.ascontiguousarray(array)
    for one, key in places(content):
        if isinstance(one, list) and key >= len(one):
            continue
        if type(one[key]) is int and one[key] == old and rng.random() < share:
            one[key] += 1 if more else -1
        elif isinstance(one[key], list) and len(one[key]) == old and rng.random() < share / 2:
            one[key][old - 1 :] = [copy.deepcopy(one[key][-1])] * (2 * more)


def _rename(content: Any, rng: random.Random) -> None:
    """Another text in place of all equal ones."""
    found = [(o, k) for o, k in places(content) if isinstance(o[k], str) and k not in ("is", "of")]
    if not found:
        return
    one, key = rng.choice(found)
    old, new = one[key], rng.choice(NAMES)
    for o, k in found:
        if o[k] == old:
            o[k] = new


def _scale(tensors: Tensors, rng: random.Random) -> None:
    """All numbers of one tensor, or one place of an axis, are scaled or shifted."""
    names = [name for name in sorted(tensors) if tensors[name].dtype.kind == "f"]
    names = [name for name in names if tensors[name].ndim and tensors[name].size]
    if not names:
        return
    name = rng.choice(names)
    array = tensors[name].copy()
    axis = rng.randrange(array.ndim)
    at = slice(None) if rng.random() < 0.5 else rng.randrange(array.shape[axis])
    part = np.moveaxis(array, axis, 0)[at]
    with np.errstate(all="ignore"):
        new = part * rng.choice(FACTORS) if rng.random() < 0.6 else part + rng.choice(SHIFTS)
        np.moveaxis(array, axis, 0)[at] = np.nan_to_num(new, nan=0.0)
    tensors[name] = array
