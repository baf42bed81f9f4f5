"""Types of the arguments that most functions share.

They are wide, because verosim reads what the user has. A type checker accepts all of the sources
below, and an editor shows the name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "CV",
    "ArrowStream",
    "BatchTable",
    "ClassWeight",
    "ColumnKind",
    "FileOptions",
    "Labels",
    "LazyTable",
    "MissingMarks",
    "Priors",
    "RandomState",
    "Scoring",
    "Source",
    "Splitter",
    "Weights",
]


@runtime_checkable
class ArrowStream(Protocol):
    """A table that gives its rows as an Arrow C stream: pyarrow, polars, pandas, DuckDB …"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, as a PyCapsule."""


@runtime_checkable
class LazyTable(Protocol):
    """A query that is run when it is read, such as a polars `LazyFrame`."""

    def collect(self, *args: Any, **kwargs: Any) -> Any:
        """The rows."""


@runtime_checkable
class BatchTable(Protocol):
    """A table that is read in batches, such as the result of `verosim.query`."""

    names: tuple[str, ...]

    def batches(self, columns: Iterable[str] | None = None) -> Iterable[Any]:
        """The rows in batches."""


@runtime_checkable
class Splitter(Protocol):
    """A splitter as scikit-learn defines it: `KFold`, `GroupKFold`, `TimeSeriesSplit` …"""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[Any]:
        """Pairs of training and test positions."""


Source: TypeAlias = (
    ArrayLike
    | ArrowStream
    | LazyTable
    | BatchTable
    | Mapping[str, Any]
    | os.PathLike[str]
    | Iterable[Any]
)
"""Rows: an array (n, d), a sparse matrix, a data frame, an Arrow table or stream, a DuckDB
relation, `verosim.query`, `verosim.read`, a mapping of columns, a path to a file or folder, an open
file, or an iterable of any of these."""

Labels: TypeAlias = ArrayLike
"""Labels (n,): text, integers or booleans; or the name of the target column as a `str`."""

Weights: TypeAlias = ArrayLike
"""Weights (n,), none of them negative; or the name of the column of weights as a `str`."""

CV: TypeAlias = int | str | Splitter | ArrayLike | Iterable[tuple[ArrayLike, ArrayLike]]
"""Folds: a number of folds, "loo", a splitter, a fold for each row, the name of a column of
folds, "time:column" for blocks in the order of time, or pairs of training and test positions."""

RandomState: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
"""Randomness: a seed, a generator, or None for new randomness at each call."""

Priors: TypeAlias = (
    Literal["laplace", "uniform"]
    | tuple[Literal["laplace"], float]
    | ArrayLike
    | Mapping[Any, float]
    | None
)
"""Class priors: None for the share of each class, "laplace", ("laplace", α), "uniform", numbers in
the order of `classes_`, or a mapping from label to number."""

ClassWeight: TypeAlias = Literal["balanced"] | Mapping[Any, float] | None
"""Weights of the classes: None for equal weights, "balanced", or a weight for each label."""

Scoring: TypeAlias = str | Callable[..., float] | Sequence[Any] | Mapping[str, Any] | None
"""Scores: the name of a scikit-learn scoring, a scorer, several of them, or a mapping from name
to scorer."""

ColumnKind: TypeAlias = (
    Literal[
        "gaussian",
        "histogram",
        "poisson",
        "category",
        "boolean",
        "date",
        "date+trend",
        "text",
        "ignore",
    ]
    | list[Any]
    | tuple[Any, ...]
)
"""How `NaiveBayes` describes a column: the name of its kind, or a list of the possible values of a
category."""

FileOptions: TypeAlias = Mapping[str, Any]
"""Options for files: the keyword arguments of `verosim.read`, as a dict."""

MissingMarks: TypeAlias = Iterable[str]
"""Texts that mean missing in a table, in addition to the empty cell."""
