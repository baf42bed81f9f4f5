"""The rows of a picture: two or more number columns of any source, and the class of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.labels import positions
from verosim.data.near_names import near
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.score_mixin import NotFitted, ScoreMixin
from verosim.insight.plots.canvas import row_note, thinned
from verosim.validate.diagnosis.rows import sample_of


@dataclass(frozen=True, eq=False)
class PlotRows:
    """At most 5,000 rows of some number columns."""

    names: tuple[str, ...]  # d
    values: np.ndarray  # (n, d)
    codes: np.ndarray  # (n,) the number of the class
    total: int  # the number of rows before some were left out

    @property
    def note(self) -> str:
        return row_note(len(self.codes), self.total)


def check_fitted(model: Any, function: str) -> Any:
    """The model, if it is a fitted classifier of verosim."""
    if not isinstance(model, ScoreMixin):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise VerosimError(
            f"The function {function} needs a fitted classifier of verosim; got {given}.",
            "Use a model such as LDA().fit(X, y).",
        )
    try:
        _ = model.classes_
    except AttributeError as error:
        raise NotFitted.of(model) from error
    return model


def column_names(model: Any) -> tuple[str, ...]:
    """The names of the columns of a model, in their order."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{j}" for j in range(int(model.n_features_in_)))
    return tuple(str(name) for name in names)


def has_independent_columns(model: Any) -> bool:
    """Whether the columns of a model are independent in each class."""
    if not isinstance(model, GenerativeClassifier):
        return False
    return bool(model.checked_state().spec.density.has_independent_columns)


def position(names: Sequence[str], column: Any) -> int:
    """The number of a column that is given by its name or its number."""
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if -len(names) <= column < len(names):
            return int(column) % len(names)
        raise VerosimError(
            f"Column {column} does not exist; there are {len(names)} columns.",
            f"Use a number from 0 to {len(names) - 1}.",
        )
    if column in names:
        return list(names).index(column)
    raise VerosimError(f"There is no column {column!r} to draw.", near(str(column), tuple(names)))


def plot_rows(model: Any, X: Any, y: Any, columns: Sequence[Any] | None = None) -> PlotRows:
    """The number columns of the rows, with their classes; without y, the predicted classes."""
    if y is not None and isinstance(model, GenerativeClassifier):
        sample = sample_of(model, X, y, None)
        if sample is None or not sample.number_names:
            raise VerosimError(
                f"The rows of {type(model).__name__} have no number columns to draw.",
                "Use a model with number columns.",
            )
        names, numbers, codes = sample.number_names, sample.numbers, sample.classes
        total = int(sample.seen.sum())
    else:
        names, numbers = _as_numbers(model, X)
        labels = model.predict(X) if y is None else y
        codes = positions(labels, model.classes_)
        total = len(numbers)
    at = [position(names, one) for one in columns] if columns is not None else range(len(names))
    values = numbers[:, list(at)]
    there = np.flatnonzero(~np.isnan(values).any(axis=1) & (codes >= 0))
    kept = there[thinned(len(there))]
    return PlotRows(
        tuple(names[j] for j in at), values[kept], codes[kept], max(len(there), min(total, total))
    )


def _as_numbers(model: Any, X: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """The names and the numbers (n, d) of rows that are in memory."""
    named = getattr(X, "columns", None)
    try:
        numbers = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise VerosimError(
            "The rows to draw must be numbers if no labels are given.",
            "Give the labels too: y or the name of the target.",
        ) from error
    if numbers.ndim != 2:
        raise VerosimError(
            f"The rows to draw must have two dimensions; got {numbers.ndim}.",
            "Use an array of shape (n, d).",
        )
    return column_names(model) if named is None else tuple(map(str, named)), numbers
