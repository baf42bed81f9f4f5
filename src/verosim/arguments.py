"""The arguments of public calls are checked against their annotations.

    @checked
    def select(model: GenerativeClassifier, …, cv: CV = 10, most: int | None = None)

The annotation declares what a parameter may be, so other values are refused at the call, in one
form of words. Annotations are read as text, because their types are imported for type checkers
only. What depends on other arguments, such as the length of `y`, is checked where it is used.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial, wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from verosim.errors import VerosimError

Function = TypeVar("Function", bound=Callable[..., Any])
Test = Callable[[Any], bool]

LARGEST = float(np.finfo(float).max)
LONGEST_SHOWN = 60  # characters of a wrong value in a message


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be: words for a message, and a test."""

    words: str
    test: Test
    parts: tuple[tuple[Allowed, ...], ...] = ()  # of the keys and the values of a dict


# Kinds of values -----------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a double can hold: not a boolean, and not NaN."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    known = isinstance(value, float | np.integer | np.floating)
    odd = isinstance(value, np.timedelta64)  # numpy counts durations among the integers
    return known and not odd and bool(value == value)


def is_whole_number(value: Any) -> bool:
    """Whether a value is a whole number of at most 64 bits. It may be a float such as 3.0."""
    whole = is_number(value) and (isinstance(value, int) or float(value).is_integer())
    return whole and abs(int(value)) < 1 << 64  # int, because abs(np.int8(-128)) is -128


def _is_container(value: Any) -> bool:
    """Whether a value has parts: not a number, a text, a function or a class."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if isinstance(value, str | bytes | np.generic | type):
        return False
    return True in [hasattr(type(value), name) for name in _PARTS]


_PARTS = ("__iter__", "__getitem__", "__array__", "__arrow_c_stream__", "__len__", "tocsr", "shape")
_READS = ("__fspath__", "read", "batches", "collect", "collect_batches", "schema", "to_batches")


def _is_rows(value: Any) -> bool:
    if _is_container(value):
        return True
    if isinstance(value, bytes | np.generic | type):
        return False
    return isinstance(value, str) or True in [hasattr(value, name) for name in _READS]


def _is_path(value: Any) -> bool:
    if not isinstance(value, str | os.PathLike) or isinstance(value, type) or value == "":
        return False
    try:
        return b"\0" not in os.fsencode(value)
    except (UnicodeEncodeError, TypeError):  # half of a character; a path that gives no text
        return False


def _is_model(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _is_callable(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not _is_model(value)


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray | list | tuple):
        return _has_length(value)
    if isinstance(value, Mapping | str | bytes | np.generic | type) or _is_model(value):
        return False
    return True in [hasattr(type(value), name) for name in ("__array__", "__getitem__", "tocsr")]


def _is_cv(value: Any) -> bool:
    if value is None or is_whole_number(value) or isinstance(value, str) or _is_list(value):
        return True  # None has a message of its own where folds are needed
    return hasattr(value, "split") and not isinstance(value, type | bytes)


def _is_the_text(text: str, value: Any) -> bool:
    return isinstance(value, str) and value == text


def _is_seed(value: Any) -> bool:
    known = value is None or isinstance(value, np.random.Generator | np.random.RandomState)
    return known or (is_whole_number(value) and value >= 0)


def _is_marks(value: Any) -> bool:
    return value is None or isinstance(value, str | Mapping) or is_number(value) or _is_list(value)


def _is_scoring(value: Any) -> bool:
    return value is None or isinstance(value, str) or _is_callable(value) or _is_list(value)


def _is_priors(value: Any) -> bool:
    return value is None or isinstance(value, str) or _is_container(value)


def _anything(value: Any) -> bool:
    return True


ANYTHING = Allowed("anything", _anything)
_MODEL = Allowed("a model such as LDA()", _is_model)
_ROWS = "an array, a table, or the path of a file"
_ARRAY = Allowed("an array", _is_array)
_COLUMN = Allowed(
    "an array, or the name of a column", lambda value: isinstance(value, str) or _is_array(value)
)
_TEXT = Allowed("a text", lambda value: isinstance(value, str))

# The names that annotations use. Other names are classes, and the class of a value is compared with
# them by its name. A model of another library is refused by the function that receives it.
ALLOWED: dict[str, Allowed] = {
    "None": Allowed("None", lambda value: value is None),
    "bool": Allowed("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "int": Allowed("a whole number", is_whole_number),
    "float": Allowed("a number", is_number),
    "str": _TEXT,
    "bytes": Allowed("bytes", lambda value: isinstance(value, bytes | bytearray | memoryview)),
    "Path": Allowed("a path", _is_path),
    "PathLike": Allowed("a text or a path", _is_path),
    "Callable": Allowed("a function", _is_callable),
    "Hashable": Allowed("a label", lambda value: isinstance(value, Hashable)),
    "Mapping": Allowed("a dict", lambda value: isinstance(value, Mapping)),
    "Iterable": Allowed("a list", lambda value: isinstance(value, Iterable)),
    "Sequence": Allowed(
        "a list", lambda value: isinstance(value, Sequence | np.ndarray) and _has_length(value)
    ),
    "ArrayLike": _ARRAY,
    "ndarray": _ARRAY,
    "Source": Allowed(_ROWS, _is_rows),
    # Absent labels have a message of their own, with the words of scikit-learn.
    "Labels": Allowed(_COLUMN.words, lambda value: value is None or _COLUMN.test(value)),
    "Weights": _COLUMN,
    "CV": Allowed('a number of folds, a splitter, "loo", folds, or the name of a column', _is_cv),
    "RandomState": Allowed(
        "None, a whole number of 0 or more, a Generator or a RandomState", _is_seed
    ),
    "Priors": Allowed('None, "laplace", ("laplace", α), "uniform", an array or a dict', _is_priors),
    "ClassWeight": Allowed('None, "balanced" or a dict',
                        lambda v: v is None or isinstance(v, str | Mapping)),
    "HeldOutScoring": _TEXT,  # `auto` has a better message
    "Scoring": Allowed("None, the name of a score, a function, a list or a dict", _is_scoring),
    "ColumnKind": Allowed("the name of a type, or a list of values",
                       lambda v: isinstance(v, str | list | tuple)),
    "FileOptions": Allowed("a dict", lambda value: isinstance(value, Mapping)),
    "MissingMarks": Allowed("a list of texts", _is_marks),
    "TransformerMixin": Allowed("a transformer", _is_model),
    "PlotAxes": Allowed("matplotlib axes", lambda value: hasattr(value, "get_figure")),
    "PlotFigure": Allowed("a matplotlib figure", lambda value: hasattr(value, "subplots")),
    **dict.fromkeys(
        ("GenerativeClassifier", "StatisticClassifier", "ScoreMixin", "BaseEstimator",
         "ClassifierMixin", "Wrapper", "GaussianClassifier", "PoolClassifier",
         "Pool", "TextPool", "Calibrated"),
        _MODEL,
    ),
    **dict.fromkeys(
        ("Any", "object", "Connection", "SavedScores", "Unpack", "Self",
         "Inputs", "Iterator"),
        ANYTHING,
    ),
}  # fmt: skip
ALIASES = {
    "str | os.PathLike[str]": "PathLike",
    "str | Path": "PathLike",
    "LogisticSolver": 'Literal["auto", "newton", "lbfgs", "sgd"]',
    "Method": 'Literal["temperature", "isotonic", "length", "columns", "pairs"]',
}


# Reading annotations -------------------------------------------------------------------------


@cache
def kinds_of(annotation: str) -> tuple[Allowed, ...]:
    """The alternatives of an annotation. A value must be one of them."""
    return _alternatives(ast.parse(ALIASES.get(annotation, annotation), mode="eval").body)


def _alternatives(node: ast.expr) -> tuple[Allowed, ...]:
    if isinstance(node, ast.BinOp):
        return (*_alternatives(node.left), *_alternatives(node.right))
    if isinstance(node, ast.Constant):
        return (ALLOWED[str(node.value)],)
    if isinstance(node, ast.Subscript):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _with_parts(_name(node.value), inside)
    name = _name(node)
    if name in ALIASES:
        return kinds_of(name)
    return (ALLOWED.get(name) or _of_class(name),)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "Any")


def _of_class(name: str) -> Allowed:
    article = "an" if name[0] in "AEIOU" else "a"
    return Allowed(f"{article} {name}", lambda v: name in [c.__name__ for c in type(v).__mro__])


def _with_parts(name: str, inside: list[ast.expr]) -> tuple[Allowed, ...]:
    """The alternatives of `name[inside]`."""
    if name == "Literal":
        values = [ast.literal_eval(one) for one in inside]
        return tuple(Allowed(repr(value), partial(_is_the_text, value)) for value in values)
    if name in ("Callable", "type", "PathLike", "Unpack"):
        return (ALLOWED.get(name, ANYTHING),)
    parts = [_alternatives(one) for one in inside if not _is_ellipsis(one)]
    if name in ("Mapping", "dict"):

        def test(value: Any) -> bool:
            return isinstance(value, Mapping) and _fit(value.items(), parts)

        return (Allowed("a dict", test, tuple(parts)),)
    if name == "tuple" and len(parts) == len(inside):
        words = f"a pair of {parts[0][0].words}s" if len(parts) == 2 else "a tuple"
        return (Allowed(words.replace("a pair of a ", "a pair of "), lambda v: _fits(v, parts)),)
    if name in ("Sequence", "Iterable", "list", "tuple"):
        words = " or ".join(kind.words for kind in parts[0])
        plain = "a list" if parts[0] == (ANYTHING,) else f"a list of {_plural(words)}"
        plain = "a list of models" if parts[0] == (_MODEL,) else plain
        return (Allowed(plain, lambda v: _is_list(v) and _each(v, parts[0])),)
    return (ALLOWED.get(name) or _of_class(name),)


def _plural(words: str) -> str:
    parts = [one.removeprefix("a ").removeprefix("an ") for one in words.split(" or ")]
    return " or ".join(f"{one}s" for one in parts)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_list(value: Any) -> bool:
    odd = isinstance(value, str | bytes | type) or hasattr(value, "tocsr")
    return isinstance(value, Iterable) and not odd and not _is_model(value) and _has_length(value)


def _has_length(value: Any) -> bool:
    return bool(getattr(value, "ndim", 1) != 0)  # an array without dimensions is a number


def _each(values: Any, kinds: tuple[Allowed, ...]) -> bool:
    """Whether each part of a list is allowed. Iterators are not read here.

    Models are checked by the function that receives them.
    """
    if ANYTHING in kinds or _MODEL in kinds:
        return True
    if not isinstance(values, list | tuple | set | frozenset | np.ndarray):
        return True
    return False not in [_matches(value, kinds) for value in values]


def _fit(items: Iterable[Any], parts: list[tuple[Allowed, ...]]) -> bool:
    """Whether each item has one part of each kind."""
    return False not in [_fits(item, parts) for item in items]


def _fits(item: Any, parts: list[tuple[Allowed, ...]]) -> bool:
    if not isinstance(item, tuple | list) or len(item) != len(parts):
        return False
    return False not in [_matches(one, kinds) for one, kinds in zip(item, parts, strict=True)]


# These checks do not use generators. If an interrupt comes while a generator is closed before its
# end, Python drops the interrupt.


def _matches(value: Any, kinds: tuple[Allowed, ...]) -> bool:
    """Whether a value is one of some kinds."""
    for kind in kinds:  # noqa: SIM110
        if kind.test(value):
            return True
    return False


def number_array(name: str, value: Any, *dimensions: int) -> np.ndarray:
    """An argument as an array of numbers with one of these numbers of dimensions."""
    try:
        found = np.asarray(value)
        if found.dtype.kind == "c":
            raise TypeError
        found = found.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        given = value_in_message(value)
        raise VerosimError(f"{name} must be an array of numbers; got {given}.") from None
    if found.ndim not in dimensions:
        allowed = " or ".join(map(str, dimensions))
        raise VerosimError(
            f"{name} must be an array of {allowed} dimensions; got the shape {found.shape}."
        )
    return found


# Checks --------------------------------------------------------------------------------------


class Parameters:
    """The parameters of a function that can be checked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        known = [p for p in signature(function).parameters.values() if p.kind < p.VAR_KEYWORD]
        named = [p for p in known if p.kind != p.VAR_POSITIONAL]
        self.positional = [p.name for p in named if p.kind != p.KEYWORD_ONLY]
        self.defaults = {p.name: p.default for p in named}
        self.annotations = {
            p.name: p.annotation for p in named if isinstance(p.annotation, str)
        }  # fmt: skip

        arrays = ("Source", "Labels", "Labels | None", "Weights | None")
        self.rows = {name for name, given in self.annotations.items() if given in arrays}

    @property
    def first_is_rows(self) -> bool:
        """Whether the first argument of a method is rows."""
        return [self.annotations.get(name) for name in self.positional[1:2]] == ["Source"]

    def check(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Raise an error for the first argument that is not allowed."""
        for name, value in zip(self.positional, arguments, strict=False):
            if type(value) is not np.ndarray or name not in self.rows:  # most calls give arrays
                self.check_one(name, value)
        for name, value in named.items():
            self.check_one(name, value)

    def check_one(self, name: str, value: Any) -> None:
        if name in self.annotations and value is not self.defaults[name]:
            check_kind(name, value, self.annotations[name])


def check_kind(name: str, value: Any, annotation: str) -> None:
    """Raise an error if an annotation does not allow a value."""
    kinds = kinds_of(annotation)
    if _matches(value, kinds):
        return
    if isinstance(value, type) and _MODEL in kinds:
        raise class_not_model(value)
    parts = next((kind.parts for kind in kinds if kind.parts), None)
    if isinstance(value, Mapping) and parts is not None:
        for key, part in value.items():
            if not _matches(key, parts[0]):
                given = value_in_message(key)
                raise VerosimError(f"The keys of {name} must be {_listed(parts[0])}; got {given}.")
            if not _matches(part, parts[1]):
                name, value, kinds = f"{name}[{key!r}]", part, parts[1]
                break
    raise VerosimError(f"{name} must be {_listed(kinds)}; got {value_in_message(value)}.")


def _listed(kinds: tuple[Allowed, ...]) -> str:
    """The alternatives in words."""
    words = [kind.words for kind in kinds]
    if len(words) > 1 and all(word.startswith("'") for word in words):
        return f"one of {', '.join(words)}"
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def class_not_model(given: type) -> VerosimError:
    """The error for a class where a model is needed."""
    return VerosimError(f"{given.__name__} is a class, not a model.", f"Use {given.__name__}().")


def value_in_message(value: Any) -> str:
    """A wrong value in a message, or its type if it is long."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str | bytes) and len(value) > LONGEST_SHOWN:
        return f"{value[:LONGEST_SHOWN]!r}…"
    plain = value is None or isinstance(value, str | bytes | int | float | complex | np.generic)
    text = ""
    if plain or isinstance(value, list | tuple | dict | set):
        with suppress(ValueError):  # Python writes no integer of more than 4,300 digits
            text = repr(value)
    return text if 0 < len(text) <= LONGEST_SHOWN else f"an object of type {type(value).__name__}"


def checked(function: Function) -> Function:
    """A function whose arguments are checked against its annotations.

    Rows are checked when they are opened, so a method that is called with rows alone is not
    checked here.
    """
    parameters = Parameters(function)
    alone = 2 if parameters.first_is_rows else 0

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if named or len(arguments) > alone:
            parameters.check(arguments, named)
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


@cache
def _settings_of(estimator: Any) -> Parameters:
    return Parameters(estimator)


def check_settings(model: Any) -> None:
    """Raise an error if the annotation of a parameter of an estimator does not allow its value."""
    kind: Any = type(model)
    parameters, given = _settings_of(kind), vars(model)
    defaults = parameters.defaults
    for name in parameters.annotations:
        value = given[name]
        if value is not defaults[name]:
            check_kind(name, value, parameters.annotations[name])


# Settings ------------------------------------------------------------------------------------
# They are checked when a model is fitted or changed, never in the constructor.


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Check a setting that must be one of a few strings."""
    if value not in allowed:
        known, given = ", ".join(repr(a) for a in allowed), value_in_message(value)
        raise VerosimError(f"{name} must be one of {known}; got {given}.")


def finite(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> None:
    """Check a setting that must be a finite number within bounds."""
    if not is_number(value) or not math.isfinite(value) or not least <= value <= most:
        raise _wrong_number(name, value, "finite", least, most)


def whole(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> None:
    """Check a setting that must be a whole number within bounds."""
    if not is_whole_number(value) or not least <= int(value) <= most:
        raise _wrong_number(name, value, "whole", least, most)


def _wrong_number(name: str, value: Any, kind: str, least: float, most: float) -> VerosimError:
    """The error for a setting that is not a number within bounds."""
    bounds = "" if least == -np.inf else f", at least {least:g}"
    if 0 < least <= np.finfo(float).tiny:  # the smallest positive number
        bounds = " above 0"
    if most < np.inf:
        bounds = f" from {least:g} to {most:g}"
    return VerosimError(f"{name} must be a {kind} number{bounds}; got {value_in_message(value)}.")


def share(name: str, value: Any, zero: bool = False) -> None:
    """Check a setting that must be below 1 and above 0. `zero` also allows 0."""
    if not is_number(value) or not 0 <= value < 1 or (value == 0 and not zero):
        least = "at least" if zero else "above"
        given = value_in_message(value)
        raise VerosimError(f"{name} must be a number {least} 0 and below 1; got {given}.")
