"""Find the rows that have a label, and fit a model on them.

    mark      the label that means "no label": −1, "?" …, or None for missing labels

In arrays, unlabelled rows get the weight zero. From tables, they are removed. In both cases the
first look and the fit use only the labelled rows.
Reference: Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled
documents using EM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import Groups
from verosim.axes.codes import is_missing
from verosim.axes.groups import plain_label
from verosim.data import as_weights, cells, encode_labels
from verosim.data.adapters import is_source, is_stream, open_table
from verosim.data.labels import array_of_labels
from verosim.data.names import feature_names
from verosim.data.schema import Schema
from verosim.data.sources import take_rows
from verosim.data.stream import check_length, target_codes, weights_of
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.kinds.look import check_columns
from verosim.kinds.missing_marks import as_na
from verosim.models import Inputs, State, open_to_score
from verosim.models.opening import no_target


@dataclass(frozen=True)
class PartiallyLabelled:
    """Labelled and unlabelled rows in memory, as a model reads them."""

    blocks: list[Any]
    codes: np.ndarray  # (n,) the class of each row, −1 if it has no label
    weights: np.ndarray  # (n,)

    def scored(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) log p(k | x) and (n,) log p(x)."""
        scored = [state.rule.posterior_and_density(block) for block in self.blocks]
        log_posterior, log_density = (np.concatenate(part) for part in zip(*scored, strict=True))
        return log_posterior, log_density


def fit_labelled(model: GenerativeClassifier, inputs: Inputs, mark: Any) -> PartiallyLabelled:
    """Fit the model on the labelled rows; return all rows with a positive weight."""
    if inputs.y is None and isinstance(inputs.schema, Schema):
        inputs = replace(inputs, y=inputs.schema.target)
    if inputs.y is None:
        raise no_target(model.spec())
    X, named, by_name = inputs.X, isinstance(inputs.y, str), isinstance(inputs.sample_weight, str)
    if named or is_stream(X) or (by_name and is_source(X)):
        table = _held(open_table(X))
        codes, weights = _fit_table(model, table, inputs, mark)
        if not named:  # fit(X, y): the rules of scikit-learn for column names
            schema = replace(model.schema_, named=feature_names(X) is not None)
            model.set_state(replace(model.state_, schema=schema))
        X = table
    else:
        codes, weights = _fit_array(model, inputs, mark)
    if (codes < 0).any() and len(model.classes_) < 2:
        if mark == -1 and model.classes_.tolist() == [1]:
            warn(
                "The labels are -1 and 1, so -1 is a class here and does not mark rows without a "
                "label. Set unlabelled=None to say the same.",
                VerosimWarning,
            )
            return fit_labelled(model, replace(inputs, X=X), None)
        raise VerosimError(
            f"Only one class has labelled rows, {plain_label(model.classes_[0])!r}; the other "
            f"{(codes < 0).sum():,} rows have the label unlabelled={mark!r}.",
            f"If {mark!r} is a class, use another value of unlabelled, or None.",
        )
    blocks = [chunk.block() for chunk in open_to_score(model.state_, X).chunks()]
    return _counting(PartiallyLabelled(blocks, codes, weights))


def _counting(rows: PartiallyLabelled) -> PartiallyLabelled:
    """The rows with a positive weight; rows with weight zero are not used."""
    counts = rows.weights > 0
    if counts.all():
        return rows
    cuts = np.split(counts, np.cumsum([block.shape[0] for block in rows.blocks])[:-1])
    kept = zip(rows.blocks, map(np.flatnonzero, cuts), strict=True)
    blocks = [take_rows(block, at) for block, at in kept if len(at)]
    return PartiallyLabelled(blocks, rows.codes[counts], rows.weights[counts])


# Arrays ------------------------------------------------------------------------------------------


def _fit_array(
    model: GenerativeClassifier, inputs: Inputs, mark: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the model on the labelled rows of an array; return codes (n,) and weights (n,)."""
    y, sample_weight = inputs.y, inputs.sample_weight
    hidden = _marked(y, mark)
    weights = _weights(sample_weight, len(y))
    if hidden.any():
        y, sample_weight = _filled(y, hidden), np.where(hidden, 0.0, weights)
    model.fit(inputs.X, y, sample_weight, schema=inputs.schema, na=inputs.na)
    return _codes(model, y, ~hidden & (weights > 0)), weights


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) the weights, all 1 by default."""
    weights = as_weights(sample_weight, n)
    return weights if len(weights) else np.ones(n)


def _marked(y: np.ndarray, mark: Any) -> np.ndarray:
    """(n,) whether each label is the mark or missing."""
    found = [is_missing(v) or (isinstance(v, str) and v == "") for v in y.tolist()]
    if not is_missing(mark):
        found = [gone or bool(v == mark) for gone, v in zip(found, y.tolist(), strict=True)]
    return _checked(np.array(found, dtype=bool), mark)


def _checked(hidden: np.ndarray, mark: Any) -> np.ndarray:
    """`hidden` (n,); an error if no row has a label."""
    if len(hidden) and hidden.all():
        shown = "missing" if is_missing(mark) else repr(mark)
        raise VerosimError(
            f"No row has a label: the labels of all {len(hidden):,} rows are {shown}.",
            "Give at least one labelled row for each class.",
        )
    return hidden


def _filled(y: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """y with any label for the unlabelled rows."""
    out = y.copy()
    out[hidden] = y[~hidden][0]
    return array_of_labels(out.tolist()) if y.dtype == object else out


def _codes(model: GenerativeClassifier, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n,) the class of each known row, −1 for the others."""
    codes = np.full(len(y), -1)
    codes[known] = encode_labels(y[known], model.classes_)[0]
    return codes


# Tables ------------------------------------------------------------------------------------------


def _fit_table(
    model: GenerativeClassifier, table: Table, inputs: Inputs, mark: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the model on the labelled rows of a table; return codes (n,) and weights (n,)."""
    y, sample_weight, schema = inputs.y, inputs.sample_weight, inputs.schema
    n = table.rows or 0
    target = y if isinstance(y, str) else None
    if sample_weight is None and target and isinstance(schema, Schema):  # the same as in `fit`
        sample_weight = schema.weight if schema.weight in table.names else None
    named = sample_weight if isinstance(sample_weight, str) else None
    check_columns(table.names, target, named, "auto")
    if named is None:
        weights = _weights(sample_weight, n)
    else:
        found = (weights_of(named, rows) for rows in table.batches())
        weights = np.concatenate([np.empty(0), *found])
    if target is None:
        check_length(len(y), n, "labels")
        hidden = _marked(y, mark)
    else:
        missing = frozenset(schema.na if isinstance(schema, Schema) else as_na(inputs.na))
        marks = (_marked_cells(rows, target, mark, missing) for rows in table.batches())
        hidden = _checked(np.concatenate([np.empty(0, dtype=bool), *marks]), mark)
    part: Any = table
    labels = y
    if hidden.any():
        part, labels = _some(table, ~hidden), y if target else y[~hidden]
        sample_weight = weights[~hidden] if named is None else named
    model.fit(part, labels, sample_weight, schema=schema, na=inputs.na)
    known = ~hidden & (weights > 0)
    if target is None:
        return _codes(model, y, known), weights
    codes = np.full(n, -1)
    codes[known] = _codes_of_table(model, _some(table, known), target)
    return codes, weights


def _marked_cells(rows: Rows, target: str, mark: Any, na: frozenset[str]) -> np.ndarray:
    """(n,) whether each cell of the target column is the mark or missing."""
    try:
        index, texts = cells.keys(rows.batch.column(target), na)
    except cells.Unreadable:  # `fit` raises the error for this column
        return np.zeros(len(rows), dtype=bool)
    text = None if is_missing(mark) else cells.text_of(mark)
    return np.array([found is None or found == text for found in texts])[index]


def _codes_of_table(model: GenerativeClassifier, table: Table, target: str) -> np.ndarray:
    """(n,) the class of each row of a table with labels."""
    groups = model.stats_.axes.groups
    out = []
    for rows in table.batches():
        codes, labels = target_codes(target, rows, model.schema_)
        place = Groups(labels).positions(groups)
        out.append(codes if place is None else place[codes])
    return np.concatenate(out)


def _held(table: Table) -> Table:
    """The table with its rows in memory, so that it can be read many times."""
    rows = list(table.batches())
    n = sum(part.batch.num_rows for part in rows)
    return replace(table, read=lambda _: iter(rows), rows=n, resumes=False, once=False)


def _some(table: Table, kept: np.ndarray) -> Table:
    """The rows of a table in memory for which `kept` (n,) is True."""

    def read(columns: Iterable[str] | None) -> Iterator[Rows]:
        first = 0
        for rows in table.read(columns):
            at = np.flatnonzero(kept[first : first + len(rows)])
            first += len(rows)
            numbers = at + rows.start if rows.numbers is None else rows.numbers[at]
            if len(at):
                yield Rows(rows.batch.take(at), rows.start, rows.origin, numbers)

    return replace(table, read=read, rows=int(kept.sum()))
