"""One row of a table or an array, and copies of it with other values in some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.axes import Columns
from verosim.axes.codes import is_missing
from verosim.data import Documents
from verosim.data.adapters import is_scalar, open_table
from verosim.data.libraries import pa
from verosim.data.near_names import near
from verosim.data.schema import Schema
from verosim.errors import VerosimError, listed
from verosim.estimators.base import NotFitted, ScoreMixin
from verosim.estimators.one_state import snapshot
from verosim.models.program import typed_cells
from verosim.twins.linear import LinearClassifier

NUMBER_ROLE, DATE_ROLE, TEXT_ROLE = "number", "date/time", "text"
UNUSED_ROLE = "ignored"
TEXT_COLUMN = "text"  # the name of the only column of a model of texts


def fitted_classifier(model: Any, caller: str) -> Any:
    """A snapshot of a fitted classifier; an error for anything else."""
    if not isinstance(model, ScoreMixin):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise VerosimError(
            f"The function {caller} needs a fitted classifier of verosim; got {given}.",
            "Use a model such as NaiveBayes().fit(X, y).",
        )
    if not getattr(model, "__sklearn_is_fitted__", lambda: True)():
        raise NotFitted.of(model)
    return snapshot(model)


@dataclass(frozen=True, eq=False)
class SingleRow:
    """The cells of one row by column, in the form in which a model reads them."""

    model: Any
    cells: Mapping[str, Any]  # None for a missing cell
    schema: Schema | None = None  # None if columns have no kinds
    form: str = "table"  # "table", "array" or "texts"
    names: tuple[str, ...] = field(default=())  # the columns that the model reads

    @classmethod
    def of(cls, model: Any, row: Any, caller: str) -> SingleRow:
        """Read a row: a mapping of cells, a Series, a table of one row, or a list of cells."""
        if hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:  # a Series of pandas
            row = row.to_dict()
        if isinstance(row, Mapping) and all(is_scalar(value) for value in row.values()):
            given = {str(name): value for name, value in row.items()}
        elif isinstance(row, str) or _is_array(row):
            return cls._of_array(model, row, caller)
        else:
            given = _only_row(row, caller)
        given = {name: _plain(value) for name, value in given.items()}
        if isinstance(model, LinearClassifier):
            return cls._of_numbers(model, given)
        names = _read_columns(model, given)
        if names and not given.keys() & {*names}:
            raise _no_column(given, names)
        known = {name: given.get(name) for name in names}
        _, rows = model.opened_to_score({name: [cell] for name, cell in known.items()})
        return cls(model, known, rows.schema, "table", names)

    @classmethod
    def _of_numbers(cls, model: Any, given: Mapping[str, Any]) -> SingleRow:
        """The row of a linear classifier, which reads only arrays."""
        named = getattr(model, "feature_names_in_", None)
        size = getattr(model, "n_features_in_", 0)
        names = tuple(f"x{j}" for j in range(size)) if named is None else tuple(map(str, named))
        if not given.keys() & {*names}:
            raise _no_column(given, names)
        return cls(model, {name: given.get(name) for name in names}, None, "array", names)

    @classmethod
    def _of_array(cls, model: Any, row: Any, caller: str) -> SingleRow:
        """A row of an array, or one text."""
        if isinstance(row, str):
            rule, rows = model.opened_to_score([row])
            if not isinstance(getattr(rows, "X", None), Documents):
                raise VerosimError(
                    f"The function {caller} needs one row; got the text {row[:40]!r}.",
                    "Give the row as {'column': value, …}.",
                )
            return cls(model, {TEXT_COLUMN: row}, None, "texts", (TEXT_COLUMN,))
        row = row.toarray() if hasattr(row, "toarray") else row
        cells = np.asarray(row, dtype=None if isinstance(row, np.ndarray) else object)
        if cells.ndim == 2 and len(cells) == 1:
            cells = cells[0]
        if cells.ndim != 1:
            raise _not_one_row(caller, len(cells) if cells.ndim else 0)
        values = [_plain(value) for value in cells.tolist()]
        rule, rows = model.opened_to_score(_matrix([values]))
        if rows.names:
            names = rows.names if len(rows.names) == len(values) else rows.schema.names
            return cls.of(model, dict(zip(names, values, strict=True)), caller)
        names = tuple(rule.columns)
        if len(names) != len(values):  # the rule reads features of the columns
            names = tuple(Columns(len(values)))
        return cls(model, dict(zip(names, values, strict=True)), None, "array", names)

    @classmethod
    def blank(cls, model: Any, fill: Any = None) -> SingleRow:
        """A row in which every cell is missing, or has the value `fill` where kinds are unknown."""
        named = getattr(model, "feature_names_in_", None)
        if named is None:
            size = int(getattr(model, "n_features_in_", 1))
            if size == 1:
                with suppress(VerosimError):  # other models refuse texts
                    return cls._of_array(model, "", "effect")
            return cls._of_array(model, [fill] * size, "effect")
        row = cls.of(model, dict.fromkeys(map(str, named)), "effect")
        plain = row.schema is None or not row.schema.columns[0].type
        return row.with_cells(dict.fromkeys(row.names, fill)) if plain else row

    # Columns -------------------------------------------------------------------------------------

    def role(self, name: str) -> str:
        """The role of a column in the schema; "" without a schema."""
        return "" if self.schema is None else self.schema[name].role

    def check(self, name: str) -> str:
        """The name of a column that the model reads; an error for any other name."""
        if name not in self.names:
            raise VerosimError(f"The model has no column {name!r}.", near(str(name), self.names))
        if self.role(name) == UNUSED_ROLE:
            used = tuple(one for one in self.names if self.role(one) != UNUSED_ROLE)
            raise VerosimError(f"The model does not use the column {name!r}.",
                               f"Use one of the columns {listed(list(used))}.")  # fmt: skip
        return name

    def number(self, name: str) -> float:
        """The number in a cell; NaN if it is missing."""
        value = self.cells[name]
        if value is None:
            return np.nan
        if self.schema is None or self.role(name) != NUMBER_ROLE:
            return float(value)
        array = pa.array([value])
        found = typed_cells(self.schema[name], "number", array, frozenset(self.schema.na))
        return float(found[0])

    # Copies --------------------------------------------------------------------------------------

    def with_cells(self, cells: Mapping[str, Any]) -> SingleRow:
        """The same row with other values in some columns."""
        return replace(self, cells={**self.cells, **cells})

    def copies(self, columns: Mapping[str, Sequence[Any]], n: int = 1) -> Any:
        """A source with n copies of the row, with other values (n,) in some columns."""
        every = {name: columns.get(name, [cell] * n) for name, cell in self.cells.items()}
        if self.form == "texts":
            return list(every[TEXT_COLUMN])
        if self.form == "array":
            return _matrix(list(zip(*every.values(), strict=True)))
        return {name: list(column) for name, column in every.items()}

    def log_posterior(self, columns: Mapping[str, Sequence[Any]], n: int = 1) -> np.ndarray:
        """(n, C) the log posteriors of copies with other values in some columns."""
        found: np.ndarray = self.model.evaluate(self.copies(columns, n), _log_posterior)
        return found

    @property
    def source(self) -> Any:
        """The row as a source of one row."""
        return self.copies({})


def class_scores(log_p: np.ndarray) -> np.ndarray:
    """(n, C) scores for argmax: a class of probability 0 is possible, an undefined score is not."""
    return np.where(np.isnan(log_p), -np.inf, log_p)


def _log_posterior(rule: Any, block: Any) -> np.ndarray:
    found: np.ndarray = rule.log_posterior(block)
    return found


def _plain(value: Any) -> Any:
    """A cell as a plain value; None if it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) and value.dtype.kind != "M" else value


def _is_array(row: Any) -> bool:
    """Whether a row has no names: a list of cells, an array, or a sparse row."""
    if isinstance(row, list | tuple):
        return not row or not isinstance(row[0], Mapping)
    return isinstance(row, np.ndarray) or hasattr(row, "tocsr")


def _matrix(rows: list[Any]) -> np.ndarray:
    """Rows as an array of numbers, or of values if some cells are not numbers."""
    cells = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        cells[i] = row
    numbers = all(isinstance(v, int | float | None) for v in cells.ravel().tolist())
    return cells.astype(np.float64) if numbers else cells


def _only_row(row: Any, caller: str) -> dict[str, Any]:
    """The cells of a table of one row."""
    found: list[dict[str, Any]] = []
    for rows in open_table(row).read(None):
        found += rows.batch.slice(0, 2).to_pylist()
        if len(found) > 1:
            break
    if len(found) != 1:
        raise _not_one_row(caller, len(found))
    return found[0]


def _not_one_row(caller: str, n: int) -> VerosimError:
    shown = "several rows" if n > 1 else "no row"
    return VerosimError(f"The function {caller} needs one row; got {shown}.",
                        "Select one row, as in X[:1].")  # fmt: skip


def _no_column(given: Mapping[str, Any], names: tuple[str, ...]) -> VerosimError:
    return VerosimError(
        f"The row has none of the columns of the model; it has {listed(list(given))}.",
        near(next(iter(given), ""), names),
    )


def _read_columns(model: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that a model reads, in the order of the table."""
    rule, rows = model.opened_to_score({name: [cell] for name, cell in given.items()})
    if rows.schema is not None and rows.schema.names:
        return tuple(rows.schema.names)
    return tuple(rule.columns)
