"""Conditional samples and imputed cells, from exact conditional distributions.

    sample(given)   k ~ p(k | x_o),   x_m ~ p(x_m | x_o, k)
    impute          mean = Σ_k p(k | x_o) E[x_m | x_o, k]

o are the columns with values and m the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from verosim.arguments import finite, one_of
from verosim.axes import Columns
from verosim.axes.codes import is_missing
from verosim.axes.groups import plain_label
from verosim.data.adapters import is_frame, is_source, open_table
from verosim.data.arrays import SparseRows
from verosim.data.clusters import check_is_here
from verosim.data.filled_cells import NewCells, filled_array, with_new_cells
from verosim.data.libraries import pa
from verosim.data.stream import TableChunk
from verosim.densities import Params
from verosim.densities.conditionals import DRAW, MEAN, MODE, Conditionals
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.checks import empty_table
from verosim.estimators.column_position import column_position
from verosim.estimators.density_method import NotADensity
from verosim.kinds.imputing import new_cells
from verosim.kinds.missing import MISSING
from verosim.models import State
from verosim.models.opening import open_to_score

ROWS_FILLED_AT_ONCE = 1 << 15


def exact_conditionals(state: State, what: str) -> Conditionals:
    """The conditional distributions of a fitted model, or an error that names the model."""
    found: Conditionals | None = state.params.conditionals if state.spec.is_density else None
    if found is None:
        raise NotADensity(
            f"{state.spec.name} has no exact conditional distributions of its columns, so {what} "
            "is not available.",
            "Use NaiveBayes, GaussianNB, LDA, QDA, RDA or MDA.",
        )
    return found


# Samples -----------------------------------------------------------------------------------------


def draw_given(
    state: State,
    n: int,
    classes: np.ndarray | None,
    given: Any,
    rng: np.random.Generator,
) -> tuple[Any, np.ndarray]:
    """n rows with given cells, and their class numbers (n,), which are drawn if they are None."""
    conditionals = exact_conditionals(state, "sample(given=…)")
    block = _given_row(state, conditionals, given)
    reason = conditionals.outside(block, state.statistic.axes.columns)
    if reason:
        raise _outside(given, reason)
    scores = conditionals.log_marginal(block)  # (1, C)
    state.params.check(block, scores, state.statistic.axes.columns, 0)
    scores = scores[0]
    if classes is None:
        scores = scores + state.rule.log_prior
        if not (scores > -np.inf).any():
            raise _outside(given, "these values have probability 0 in every class")
        p = np.exp(scores - scores.max())
        classes = rng.choice(len(p), size=n, p=p / p.sum())
    for k in np.unique(classes).tolist():
        if scores[k] == -np.inf:
            label = plain_label(state.classes[k])
            raise _outside(given, f"these values have probability 0 in class {label!r}")
    return conditionals.drawn(block, classes, rng), classes


def _outside(given: Any, reason: str) -> VerosimError:
    return VerosimError(
        f"The values given={dict(given)!r} are outside the support of the model: {reason}.",
        "Give values that the training rows could have.",
    )


def _given_row(state: State, conditionals: Conditionals, given: Any) -> Any:
    """One row with the given cells, in the form that the density reads; others are missing."""
    if not isinstance(given, Mapping):
        raise VerosimError(
            f"given must be a dict of columns and values; got {given!r}.",
            "Use given={'age': 40}.",
        )
    if not given:
        raise VerosimError(
            "The argument given has no columns.", "Use given=None for rows without conditions."
        )
    for name, value in given.items():
        if is_missing(value) or value == "":
            raise VerosimError(
                f"The value given[{name!r}] is missing.", "Leave the column out of given."
            )
        if isinstance(value, float | np.floating):
            finite(f"given[{name!r}]", value)
    if state.schema is None:
        return _given_array(state, given)
    reader = state.spec.reader(state.schema)
    if state.schema.target in given:
        raise VerosimError(
            f"The column {state.schema.target!r} is the target, so it cannot be in given.",
            "Use the argument y to choose the class.",
        )
    columns = Columns(len(reader.names), reader.names)
    cells = {columns.name(column_position(columns, name)): [v] for name, v in given.items()}
    try:
        block = reader.block(next(open_table(cells).batches()))
    except VerosimError as error:
        raise VerosimError(
            f"The values given={dict(given)!r} cannot be read: {error.what}",
            "Give values that the columns of the training rows can have.",
        ) from None
    gaps = conditionals.missing(block)
    if isinstance(gaps, dict):
        if MISSING.name in gaps:  # a column that is not given is not a missing cell
            block[MISSING.name] = np.full(gaps[MISSING.name].shape, np.nan)
        gaps = np.concatenate(
            [np.zeros((1, 1), dtype=bool) if part is None else part for part in gaps.values()],
            axis=1,
        )
    for name, gone in zip(reader.owners, gaps[0].tolist(), strict=False):
        if gone and name in cells:
            raise VerosimError(
                f"The value given[{name!r}]={given[name]!r} means missing in the table of the fit.",
                "Leave the column out of given.",
            )
    return state.params.read(block)


def _given_array(state: State, given: Mapping[Any, Any]) -> Any:
    columns = state.statistic.axes.columns
    values = state.spec.reads_values
    row = np.full((1, len(columns)), None if values else np.nan, dtype=object if values else float)
    for name, value in given.items():
        if not values:
            finite(f"given[{name!r}]", float(value) if isinstance(value, bool) else value)
        row[0, column_position(columns, name)] = value
    return state.params.read(state.spec.matrix(row, columns.names))


def given_columns(reader: Any, given: Mapping[Any, Any], n: int) -> dict[str, Any]:
    """n cells of each given column of a table, as Arrow arrays."""
    columns = Columns(len(reader.names), reader.names)
    return {
        columns.name(column_position(columns, name)): pa.array([value] * n)
        for name, value in given.items()
    }


# Imputed cells -----------------------------------------------------------------------------------


def imputed(state: State, X: Any, opened: Any, how: str, rng: np.random.Generator) -> Any:
    """X with its missing cells filled in. `opened` is X with the marks of missing cells."""
    one_of("how", how, (MEAN, MODE, DRAW))
    conditionals = exact_conditionals(state, "impute")
    filler = _Filler(state, conditionals, how, rng)
    rows = open_to_score(state, opened)
    check_is_here(rows, "The method impute")
    if rows.reader is not None:
        return filler.table(X, rows)
    if isinstance(rows.X, SparseRows):
        raise VerosimError(
            "The method impute needs a dense array or a table; got a sparse matrix.",
            "Use X.toarray() on as many rows as fit in memory.",
        )
    return filler.array(X, rows.X)


class _Filler:
    """Fills in missing cells, block by block."""

    def __init__(
        self, state: State, conditionals: Conditionals, how: str, rng: np.random.Generator
    ) -> None:
        self.state, self.conditionals, self.how, self.rng = state, conditionals, how, rng
        self.kept: set[str] = set()  # columns in which cells stay missing

    def values(self, rows: Any, start: int) -> tuple[Any, Any]:
        """(n, d) the missing cells and the values of some rows, or dicts of them by part."""
        params: Params = self.state.params
        block = params.read(rows)
        missing = self.conditionals.missing(block)
        with np.errstate(over="ignore", invalid="ignore"):  # `check` names the bad cell
            scores = self.conditionals.log_marginal(block)
        params.check(block, scores, self.state.statistic.axes.columns, start)
        posterior = _posterior(scores, self.state.rule.log_prior)
        if self.how == MEAN:
            return missing, self.conditionals.means(block, posterior)
        if self.how == MODE:
            return missing, self.conditionals.modes(block, posterior)
        reached = np.cumsum(posterior, axis=1)
        wanted = self.rng.random(len(posterior)) * reached[:, -1]
        classes = (reached <= wanted[:, None]).sum(axis=1)
        return missing, self.conditionals.drawn(block, classes, self.rng)

    def array(self, X: Any, rows: np.ndarray) -> Any:
        """Rows of an array, or of a data frame that was read as an array."""
        frame = is_frame(X)
        out = np.array(rows)
        found = []
        for start in range(0, len(rows), ROWS_FILLED_AT_ONCE):
            missing, values = self.values(rows[start : start + ROWS_FILLED_AT_ONCE], start)
            i, j = np.nonzero(missing)
            if frame:
                found.append((start + i, j, values[i, j]))
            elif len(i):
                out[start + i, j] = values[i, j]
        if not frame:
            return out
        i, j, values = (np.concatenate(one) for one in zip(*found, strict=True))
        names = [str(name) for name in X.columns]
        cells = {
            names[at]: NewCells(i[j == at], pa.array(values[j == at].tolist()))
            for at in np.unique(j).tolist()
        }
        return with_new_cells(X, cells)

    def table(self, X: Any, source: Any) -> Any:
        if not source.table.in_memory:
            return self._stream(source)
        found: dict[str, list[NewCells]] = {}
        for chunk in source.chunks():
            for name, new in self._cells(chunk).items():
                found.setdefault(name, []).append(NewCells(new.rows + chunk.first, new.values))
        self._warn()
        cells = {
            name: NewCells(
                np.concatenate([new.rows for new in several]),
                pa.chunked_array([new.values for new in several]).combine_chunks(),
            )
            for name, several in found.items()
        }
        if is_source(X):
            return with_new_cells(X, cells)
        out = np.array(self.state.spec.value_matrix(X))
        for name, new in cells.items():
            out[new.rows, source.table.names.index(name)] = new.values.to_pylist()
        return out

    def _cells(self, chunk: TableChunk) -> dict[str, NewCells]:
        missing, values = self.values(chunk.block(), chunk.rows.start)
        cells, kept = new_cells(chunk.reader, chunk.rows, missing, values, self.how)
        self.kept |= kept
        return cells

    def _stream(self, source: Any) -> Any:
        """An Arrow record-batch reader that fills in each piece when it is read."""
        names = list(source.table.names)
        whole = self.how == MEAN  # a mean of whole numbers is a fraction
        numbers = {c.name for c in source.reader.schema.used if c.role == "number"}
        types: dict[str, Any] = {}

        def filled(chunk: TableChunk) -> pa.RecordBatch:
            cells, arrays = self._cells(chunk), []
            for name in names:
                array = chunk.rows.batch.column(name)
                if whole and name in numbers and pa.types.is_integer(array.type):
                    array = array.cast(pa.float64())
                array = filled_array(array, cells[name]) if name in cells else array
                arrays.append(array.cast(types.setdefault(name, array.type)))
            return pa.record_batch(arrays, names=names)

        pieces = (filled(chunk) for chunk in source.pieces(set(names)))
        first = next(pieces, None)
        if first is None:
            raise empty_table()

        def batches() -> Iterator[Any]:
            yield first
            yield from pieces
            self._warn()

        return pa.RecordBatchReader.from_batches(first.schema, batches())

    def _warn(self) -> None:
        if self.kept:
            warn(
                f"Missing cells of the columns {listed(sorted(self.kept))} were not filled in, "
                "because the model of a date has no year, or because the values cannot be written "
                "in the format of the column. Use columns={name: 'date+trend'} for a date.",
                VerosimWarning,
            )


def _posterior(scores: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """(n, C) p(k | x_o); the priors for rows with probability 0 in every class."""
    joint = scores + log_prior
    joint[~(joint > -np.inf).any(axis=1)] = log_prior
    out = np.exp(joint - joint.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out
