"""Plain data as strict JSON and named tensors, and back to the bit.

    tree  ⇄  (node, {name: array})

A tree has dicts, lists, tuples, sets, numbers, texts, bytes and numpy arrays. Single numbers
stay in the node, which is JSON. Arrays, lists of numbers and lists of texts are tensors.
Texts are UTF-8 bytes and the position where each text ends. An array that is mostly zero is stored
as the places and the values of its other cells, and an array with few different values as their
numbers. Equal tensors are stored once.

>>> import numpy as np
>>> node, tensors = packed_tree({"classes": ["no", "yes"], "sums": np.zeros((2, 3))})
>>> sorted(tensors)
['classes', 'classes.ends', 'sums']
>>> unpacked_tree(node, tensors)["classes"]
['no', 'yes']
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from verosim.axes.state_checks import LARGEST_INTEGER
from verosim.errors import VerosimError

DEEPEST = 64  # levels of a tree
LEAST_SPARSE = 256  # smaller arrays are always stored whole
SPARSE_SHARE = 4  # an array with fewer than 1/4 of its cells other than zero is stored sparse
MOST_CODED = 1 << 22  # cells; sorting more of them takes too long
UNNAMED_KEYS = {"model", "params", "fitted", "state_"}  # they say nothing about a tensor
FIRST_VALUES = 1 << 12  # cells in which many different values mean that there are many in all
FEWEST_NUMBERS = 8  # longer lists of numbers are tensors
MOST_DIMS = 8
MOST_ARRAY_CELLS = 1 << 40
ARRAY_TYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
STORED = {np.dtype(kind).newbyteorder("<"): np.dtype(kind).str for kind in ARRAY_TYPES}
SCALARS = {np.dtype(kind).name: np.dtype(kind).type for kind in ARRAY_TYPES}
SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
INTEGERS = ((np.int64, -(1 << 63), 1 << 63), (np.uint64, 0, 1 << 64))
TIME_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
TIMES = {f"<{kind}8[{unit}]" for kind in "Mm" for unit in TIME_UNITS}

# A hook gives a tag and a tree for an object that is not plain data, or None to refuse it.
Hook = Callable[[Any], tuple[str, Any] | None]


def damaged(what: str) -> VerosimError:
    """The error for bytes that do not describe what they should describe."""
    return VerosimError(
        f"The file is damaged or is not a file of verosim: {what}.",
        "Use the original file, or save the model again.",
    )


# Packing -----------------------------------------------------------------------------------------


def packed_tree(tree: Any, hook: Hook | None = None) -> tuple[Any, dict[str, np.ndarray]]:
    """The node and the tensors of a tree."""
    work = _Packing(hook)
    return work.node(tree, "", 0), work.tensors


class _Packing:
    def __init__(self, hook: Hook | None) -> None:
        self.hook = hook
        self.tensors: dict[str, np.ndarray] = {}
        self.known: dict[bytes, str] = {}  # the names of tensors, by their content

    def node(self, one: Any, at: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise VerosimError(
                f"The value at {at!r} has more than {DEEPEST} levels.", "Use a simpler value."
            )
        if one is None or one is True or one is False:
            return one
        kind = type(one)
        if kind is int:
            if abs(one) >= LARGEST_INTEGER:
                raise VerosimError(f"The number {one:.3e} is too large to be saved.")
            return one
        if kind is float:
            return one if math.isfinite(one) else {"is": "float", "of": str(one)}
        if kind is str:
            return one
        if kind is date or kind is datetime:
            return {"is": kind.__name__, "of": one.isoformat()}
        if kind is timedelta:
            return {"is": "timedelta", "of": [one.days, one.seconds, one.microseconds]}
        if kind is Decimal:
            return {"is": "decimal", "of": str(one)}
        if kind is bytes:
            return {"is": "bytes", "of": self._add(at, np.frombuffer(one, dtype=np.uint8))}
        if kind is list or kind is tuple:
            return self._sequence(one, at, depth)
        if isinstance(one, np.ndarray):
            return self._array(one, at, depth)
        if isinstance(one, np.generic):
            return self._scalar(one, at)
        if kind is frozenset:
            inside = sorted(one, key=lambda value: (type(value).__name__, value))
            return {"is": "set", "of": self.node(inside, at, depth + 1)}
        if self.hook is not None:
            found = self.hook(one)
            if found is not None:
                tag, tree = found
                return {"is": tag, "of": self.node(tree, at, depth + 1)}
        if isinstance(one, Mapping):
            return self._mapping(one, at, depth)
        raise VerosimError(
            f"A value of type {kind.__name__} cannot be saved" + (f" ({at})." if at else "."),
            "Use numbers, texts, lists and dicts, or use pickle, which can run any code.",
        )

    def _add(self, at: str, array: np.ndarray, **others: np.ndarray) -> str:
        """The name of a tensor. Equal tensors are stored once, under the name of the first.

        The others belong to it, and their names begin with its name.
        """
        key = content_key(array, *others.values())
        if key in self.known:
            return self.known[key]
        at = "".join(letter if letter.isprintable() else "?" for letter in at) or "value"
        name, i = at, 1
        while any(one in self.tensors for one in (name, *(f"{name}.{end}" for end in others))):
            i += 1
            name = f"{at}~{i}"
        self.known[key] = name
        self.tensors[name] = array
        for end, other in others.items():
            self.tensors[f"{name}.{end}"] = other
        return name

    @staticmethod
    def _below(at: str, key: str) -> str:
        """The place of a value in a dict, for the names of tensors."""
        return at if key in UNNAMED_KEYS else f"{at}.{key}" if at else key

    def _mapping(self, one: Mapping[Any, Any], at: str, depth: int) -> Any:
        if all(type(key) is str for key in one) and len(one) < FEWEST_NUMBERS * 8:
            pairs = [
                [key, self.node(value, self._below(at, key), depth + 1)]
                for key, value in one.items()
            ]
            return {"is": "dict", "of": pairs}
        keys = self.node(list(one), f"{at}.keys", depth + 1)
        return {"is": "map", "keys": keys, "of": self.node(list(one.values()), at, depth + 1)}

    def _sequence(self, one: Any, at: str, depth: int) -> Any:
        shape = {"as": "tuple"} if type(one) is tuple else {}
        kinds = {type(value) for value in one}
        if kinds == {str}:
            return {"is": "texts", "of": self._texts(one, at), **shape}
        if len(one) >= FEWEST_NUMBERS and len(kinds) == 1:
            array = _numbers(one, kinds.pop())
            if array is not None:
                return {"is": "numbers", "of": self._add(at, array), **shape}
        inside = [self.node(value, f"{at}.{i}", depth + 1) for i, value in enumerate(one)]
        return {"is": "tuple", "of": inside} if shape else inside

    def _texts(self, texts: Any, at: str) -> str:
        raw = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(one) for one in raw], dtype=np.int64)
        return self._add(at, np.frombuffer(b"".join(raw), dtype=np.uint8), ends=ends)

    def _array(self, one: np.ndarray, at: str, depth: int) -> Any:
        if one.dtype.kind == "U":
            texts = self._texts(one.ravel().tolist(), at)
            width = one.dtype.itemsize // 4
            return {"is": "labels", "of": texts, "width": width, "shape": list(one.shape)}
        if one.dtype == object:
            of = self.node(one.ravel().tolist(), at, depth + 1)
            return {"is": "objects", "of": of, "shape": list(one.shape)}
        if one.dtype.kind == "S" and one.dtype.itemsize:
            cells = np.ascontiguousarray(one).reshape(-1).view(np.uint8)
            whole = self._array(cells.reshape(*one.shape, one.dtype.itemsize), at, depth)
            return {"is": "bytestrings", "of": whole}
        if one.dtype.kind in "Mm":
            whole = self._array(one.view(np.int64), at, depth)
            return {"is": "times", "type": one.dtype.str, "of": whole}
        if one.dtype.newbyteorder("<") not in STORED or one.dtype.byteorder == ">":
            raise VerosimError(
                f"An array of type {one.dtype} cannot be saved ({at}).",
                "Use whole numbers, floats, booleans or texts.",
            )
        # The order of the cells in memory is kept, because sums in another order round otherwise.
        order = memory_order(one)
        flat = one.transpose(order)
        more = {} if order == list(range(one.ndim)) else {"order": order}
        if one.size >= LEAST_SPARSE:
            bits = np.ascontiguousarray(flat).view(f"u{one.dtype.itemsize}").reshape(-1)
            places = np.flatnonzero(bits)  # −0.0 has a bit, so it is kept
            if len(places) * SPARSE_SHARE < one.size:
                values = np.ascontiguousarray(flat).reshape(-1)[places]
                name = self._add(at, values, places=places.astype(np.int64))
                return {"is": "sparse", "of": name, "shape": list(flat.shape), **more}
            codes, values = few_values(bits)
            if codes is not None:
                values = values.view(one.dtype)
                name = self._add(at, codes.reshape(flat.shape), values=values)
                return {"is": "coded", "of": name, **more}
        return {"is": "array", "of": self._add(at, flat.copy(order="C")), **more}

    def _scalar(self, one: np.generic, at: str) -> Any:
        if isinstance(one, np.str_):
            return str(one)
        if one.dtype.name not in SCALARS:
            raise VerosimError(f"A value of type {one.dtype} cannot be saved ({at}).")
        return {"is": "scalar", "type": one.dtype.name, "of": self.node(one.item(), at, 0)}


def memory_order(array: np.ndarray) -> list[int]:
    """The axes of an array from the one with the largest steps to the one with the smallest."""
    long = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    by_steps = sorted(long, key=lambda axis: -abs(array.strides[axis]))
    if by_steps == long or not array.size:
        return list(range(array.ndim))
    return [axis for axis in range(array.ndim) if axis not in long] + by_steps


def _numbers(values: Any, kind: type) -> np.ndarray | None:
    """A list of numbers of one type as an array; None if there is no exact array."""
    if kind is bool:
        return np.array(values, dtype=bool)
    if kind is float:
        return np.array(values, dtype=np.float64)
    if kind is int:
        low, high = min(values), max(values)
        for dtype, least, most in INTEGERS:
            if least <= low and high < most:
                return np.array(values, dtype=dtype)
    return None


def content_key(*arrays: np.ndarray) -> bytes:
    """A key that is equal for equal types, shapes and bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape} ".encode())
        digest.update(memoryview(np.ascontiguousarray(array).reshape(-1)).cast("B"))
    return digest.digest()


def few_values(bits: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """(n,) the number of each value, and the values, if there are so few that this is smaller."""
    none = np.empty(0, dtype=bits.dtype)
    if bits.dtype.itemsize < 8 or len(bits) > MOST_CODED:
        return None, none
    first = bits[:FIRST_VALUES]
    if len(np.unique(first)) > len(first) // 2:
        return None, none
    values, codes = np.unique(bits, return_inverse=True)
    kind = np.uint8 if len(values) <= 1 << 8 else np.uint16
    small = len(values) <= 1 << 16 and (
        8 * len(values) + len(codes) * np.dtype(kind).itemsize < 4 * len(codes)
    )
    return (codes.astype(kind), values) if small else (None, none)


# Unpacking ---------------------------------------------------------------------------------------

Build = Callable[[str, Any], Any]


def unpacked_tree(node: Any, tensors: Mapping[str, np.ndarray], build: Build | None = None) -> Any:
    """The tree of a node. Every tensor must be used.

    `build(tag, tree)` makes the objects that are not plain data.
    """
    work = _Unpacking(tensors, build)
    tree = work.tree(node, 0)
    if work.left:
        raise damaged(f"nothing uses its tensor {sorted(work.left)[0]!r}")
    return tree


NODE_FIELDS = {
    "float": {"of"}, "bytes": {"of"}, "tuple": {"of"}, "set": {"of"}, "dict": {"of"},
    "map": {"keys", "of"}, "texts": {"of", "as"}, "numbers": {"of", "as"},
    "labels": {"of", "width", "shape"}, "objects": {"of", "shape"}, "array": {"of", "order"},
    "sparse": {"of", "shape", "order"}, "coded": {"of", "order"}, "scalar": {"type", "of"},
    "date": {"of"}, "datetime": {"of"}, "timedelta": {"of"}, "times": {"type", "of"},
    "bytestrings": {"of"}, "decimal": {"of"},
}  # fmt: skip
OPTIONAL_FIELDS = {"as", "order"}


class _Unpacking:
    def __init__(self, tensors: Mapping[str, np.ndarray], build: Build | None) -> None:
        self.tensors, self.build = tensors, build
        self.left = set(tensors)

    def tree(self, node: Any, depth: int) -> Any:
        if depth > 2 * DEEPEST:
            raise damaged("its data has too many levels")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.tree(one, depth + 1) for one in node]
        if not isinstance(node, dict) or not isinstance(node.get("is"), str):
            raise damaged("a part of its data has no kind")
        tag, given = node["is"], node.keys() - {"is"}
        known = NODE_FIELDS.get(tag, {"of"})
        if not known - OPTIONAL_FIELDS <= given <= known:
            raise damaged(f"a {tag} has unknown fields")
        if tag not in NODE_FIELDS:
            if self.build is None:
                raise damaged(f"{tag!r} is not a kind of data")
            return self.build(tag, self.tree(node["of"], depth + 1))
        make = getattr(self, f"_{tag}")
        return make(node, depth + 1)

    def tensor(self, name: Any, kinds: str = "biuf", dims: int | None = None) -> np.ndarray:
        """A tensor by name."""
        if not isinstance(name, str) or name not in self.tensors:
            raise damaged(f"it has no tensor {str(name)[:80]!r}")
        self.left.discard(name)
        array = self.tensors[name]
        if array.dtype.kind not in kinds or (dims is not None and array.ndim != dims):
            raise damaged(f"its tensor {name!r} has a wrong type or shape")
        return array

    def _float(self, node: Any, depth: int) -> float:
        if not isinstance(node["of"], str) or node["of"] not in SPECIAL_FLOATS:
            raise damaged("a number is not a number")
        return SPECIAL_FLOATS[node["of"]]

    def _bytes(self, node: Any, depth: int) -> bytes:
        array = self.tensor(node["of"], "u", 1)
        if array.dtype != np.uint8:
            raise damaged("its bytes have a wrong type")
        return array.tobytes()

    def _tuple(self, node: Any, depth: int) -> tuple[Any, ...]:
        if not isinstance(node["of"], list):
            raise damaged("a tuple is not a list")
        return tuple(self.tree(one, depth) for one in node["of"])

    def _set(self, node: Any, depth: int) -> frozenset[Any]:
        inside = self.tree(node["of"], depth)
        if not isinstance(inside, list):
            raise damaged("a set is not a list")
        return frozenset(hashable(inside))

    def _dict(self, node: Any, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for pair in node["of"] if isinstance(node["of"], list) else [None]:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise damaged("a dict is not a list of pairs")
            if pair[0] in out:
                raise damaged(f"it has {pair[0][:80]!r} twice")
            out[pair[0]] = self.tree(pair[1], depth)
        return out

    def _map(self, node: Any, depth: int) -> dict[Any, Any]:
        keys, values = self.tree(node["keys"], depth), self.tree(node["of"], depth)
        if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
            raise damaged("a dict has not one value per key")
        out = dict(zip(hashable(keys), values, strict=True))
        if len(out) != len(keys):
            raise damaged("a dict has a key twice")
        return out

    def _strings(self, name: Any) -> list[str]:
        raw = self.tensor(name, "u", 1)
        ends = self.tensor(f"{name}.ends", "i", 1)
        if raw.dtype != np.uint8 or ends.dtype != np.int64:
            raise damaged("its texts have a wrong type")
        if not are_in_order(ends, len(raw)) or (ends[-1] if len(ends) else 0) != len(raw):
            raise damaged(f"the offsets of the texts {name!r} are not in order")
        data, start, out = raw.tobytes(), 0, []
        for end in ends.tolist():
            try:
                out.append(data[start:end].decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                raise damaged(f"a text of {name!r} is not UTF-8") from None
            start = end
        return out

    def _texts(self, node: Any, depth: int) -> Any:
        return _as(node, self._strings(node["of"]))

    def _numbers(self, node: Any, depth: int) -> Any:
        return _as(node, self.tensor(node["of"], dims=1).tolist())

    def _labels(self, node: Any, depth: int) -> np.ndarray:
        texts, width = self._strings(node["of"]), node["width"]
        if type(width) is not int or not 0 <= width <= 1 << 20:
            raise damaged("an array of texts has a wrong width")
        if any(len(text) > width for text in texts):
            raise damaged("an array of texts has a text that is too long")
        return np.array(texts, dtype=f"<U{width}").reshape(shape_of(node["shape"], len(texts)))

    def _objects(self, node: Any, depth: int) -> np.ndarray:
        values = self.tree(node["of"], depth)
        if not isinstance(values, list):
            raise damaged("an array is not a list")
        out = np.empty(len(values), dtype=object)
        out[:] = hashable(values)
        return out.reshape(shape_of(node["shape"], len(values)))

    def _array(self, node: Any, depth: int) -> np.ndarray:
        return _ordered(self.tensor(node["of"]).copy(), node)

    def _sparse(self, node: Any, depth: int) -> np.ndarray:
        values = self.tensor(node["of"], dims=1)
        places = self.tensor(f"{node['of']}.places", "i", 1)
        shape = shape_of(node["shape"])
        size = math.prod(shape)
        if len(places) != len(values) or places.dtype != np.int64:
            raise damaged("a sparse array has not one value per place")
        if not are_in_order(places, size - 1, strictly=True):
            raise damaged("the places of a sparse array are not in order")
        out = np.zeros(size, dtype=values.dtype)
        out[places] = values
        return _ordered(out.reshape(shape), node)

    def _coded(self, node: Any, depth: int) -> np.ndarray:
        codes = self.tensor(node["of"], "u")
        values = self.tensor(f"{node['of']}.values", dims=1)
        if not codes.size or codes.max() >= len(values):
            raise damaged("an array has a value that is not in its list of values")
        return _ordered(values[codes], node)

    def _date(self, node: Any, depth: int) -> date:
        try:
            return date.fromisoformat(node["of"])
        except (TypeError, ValueError):
            raise damaged("a date is not a date") from None

    def _datetime(self, node: Any, depth: int) -> datetime:
        try:
            return datetime.fromisoformat(node["of"])
        except (TypeError, ValueError):
            raise damaged("a time is not a time") from None

    def _timedelta(self, node: Any, depth: int) -> timedelta:
        of = node["of"]
        if not isinstance(of, list) or len(of) != 3 or not all(type(one) is int for one in of):
            raise damaged("a duration is not a duration")
        try:
            return timedelta(*of)
        except OverflowError:
            raise damaged("a duration is too long") from None

    def _decimal(self, node: Any, depth: int) -> Decimal:
        try:
            out = Decimal(node["of"]) if isinstance(node["of"], str) else Decimal("NaN")
        except InvalidOperation:
            out = Decimal("NaN")
        if not out.is_finite():
            raise damaged("a decimal is not a number")
        return out

    def _bytestrings(self, node: Any, depth: int) -> np.ndarray:
        cells = self.tree(node["of"], depth)
        wrong = not isinstance(cells, np.ndarray) or cells.dtype != np.uint8
        if wrong or not cells.ndim or not 1 <= cells.shape[-1] <= 1 << 20:
            raise damaged("byte strings are not bytes")
        flat = np.ascontiguousarray(cells).reshape(-1).view(f"S{cells.shape[-1]}")
        found: np.ndarray = flat.reshape(cells.shape[:-1])
        return found

    def _times(self, node: Any, depth: int) -> np.ndarray:
        whole = self.tree(node["of"], depth)
        if not isinstance(whole, np.ndarray) or whole.dtype != np.int64:
            raise damaged("times are not whole numbers")
        if node["type"] not in TIMES:
            raise damaged("times have an unknown type")
        return whole.view(node["type"])

    def _scalar(self, node: Any, depth: int) -> Any:
        kind = SCALARS.get(node["type"]) if isinstance(node["type"], str) else None
        value = self.tree(node["of"], depth)
        if kind is None or not isinstance(value, bool | int | float):
            raise damaged("a number has an unknown type")
        try:
            out = kind(value)
        except (OverflowError, ValueError):
            raise damaged("a number does not fit its type") from None
        if out != value and value == value:
            raise damaged("a number does not fit its type")
        return out


def _as(node: Any, values: list[Any]) -> Any:
    if node.get("as", "tuple") != "tuple":
        raise damaged("a list has an unknown type")
    return tuple(values) if "as" in node else values


def _ordered(array: np.ndarray, node: Any) -> np.ndarray:
    """The array with its axes as they were."""
    if "order" not in node:
        return array
    order = node["order"]
    if not isinstance(order, list) or sorted(map(repr, order)) != sorted(
        map(repr, range(array.ndim))
    ):
        raise damaged("the axes of an array are not in order")
    return array.transpose(np.argsort(order))


def shape_of(given: Any, cells: int | None = None) -> tuple[int, ...]:
    """A shape from a file, with bounded dimensions and a bounded product."""
    whole = isinstance(given, list) and all(type(size) is int for size in given)
    bounded = whole and all(0 <= size <= MOST_ARRAY_CELLS for size in given)
    if not bounded or len(given) > MOST_DIMS:
        raise damaged("an array has a wrong shape")
    if math.prod(max(size, 1) for size in given) > MOST_ARRAY_CELLS:
        raise damaged("an array is too large")
    if cells is not None and math.prod(given) != cells:
        raise damaged("an array has a wrong shape")
    return tuple(given)


def are_in_order(numbers: np.ndarray, most: int, strictly: bool = False) -> bool:
    """Whether numbers are between 0 and `most` and do not decrease, or increase strictly."""
    if not len(numbers):
        return True
    if numbers[0] < 0 or numbers[-1] > most:
        return False
    before, after = numbers[:-1], numbers[1:]
    return bool((before < after).all() if strictly else (before <= after).all())


def hashable(values: list[Any]) -> list[Any]:
    """The values, if a dict can have all of them as keys."""
    for value in values:
        try:
            hash(value)
        except TypeError:
            raise damaged("a value cannot be a key or a label") from None
    return values


# Bytes in memory for each item of a list: the item itself and its place in the list.
TEXT_IN_MEMORY, NUMBER_IN_MEMORY = 72, 40


def sizes_when_built(node: Any, cells: Mapping[str, tuple[int, int]]) -> int:
    """The bytes of a tree after it is built, in addition to its tensors. Nothing is allocated.

    `cells` has the number of cells of each tensor and the bytes of one. A tensor that several nodes
    use counts once for each of them.
    """
    total, stack = 0, [node]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            total += _size_when_built(one, cells)
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return total


def _size_when_built(node: dict[str, Any], cells: Mapping[str, tuple[int, int]]) -> int:
    tag, name = node.get("is"), node.get("of")
    if not isinstance(name, str):
        return 0
    count, width = cells.get(name, (0, 0))
    if tag in ("array", "bytes"):
        return count * width
    if tag == "numbers":
        return count * NUMBER_IN_MEMORY
    if tag == "sparse":
        return width * math.prod(shape_of(node.get("shape")))
    if tag == "coded":
        return count * cells.get(f"{name}.values", (0, 0))[1]
    if tag not in ("texts", "labels"):
        return 0
    texts = cells.get(f"{name}.ends", (0, 0))[0] * TEXT_IN_MEMORY + 2 * count
    if tag == "texts":
        return texts
    letters = node.get("width")
    if type(letters) is not int or not 0 <= letters <= 1 << 20:
        raise damaged("an array of texts has a wrong width")
    return texts + 4 * letters * math.prod(shape_of(node.get("shape")))
