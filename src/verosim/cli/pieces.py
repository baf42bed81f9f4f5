"""Models that read arrays of numbers, or that predict without `predict_table`: piece by piece.

Logistic regression, support vector machines and perceptrons need a matrix of numbers. Its columns
are those of the table that have the names of the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.errors import VerosimError

if TYPE_CHECKING:
    import pyarrow as pa

    from verosim.data.tables import Rows, Table


def reads_numbers(model: Any) -> bool:
    """Whether a model reads arrays and no tables."""
    from verosim.twins.linear import LinearClassifier
    from verosim.twins.multiclass import OneVsOne, OneVsRest
    from verosim.twins.twin import Twin

    kinds: tuple[type, ...] = (LinearClassifier, OneVsRest, OneVsOne)
    is_table_model = isinstance(model, Twin) or hasattr(model, "checked_state")
    return isinstance(model, kinds) and not is_table_model


def numbers_and_labels(
    model: Any, table: Table, target: str | None, schema: Any, na: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """All rows as numbers (n, d) with names, and their labels (n,)."""
    from verosim.data.stream import target_codes
    from verosim.kinds.look import look

    schema = look(table, target, na=na) if schema is None else schema
    for column in schema.used:
        if column.role not in ("number", "boolean"):
            raise VerosimError(
                f"Column {column.name!r} is a {column.role}, but {type(model).__name__} needs "
                "numbers.",
                "Use --model twin, or ignore the column: look --as COLUMN=ignore -o schema.json.",
            )
    names = [column.name for column in schema.used]
    X, y = [], []
    for rows in table.batches():
        codes, labels = target_codes(schema.target, rows, schema)
        X.append(_numbers(rows, names))
        y.append(labels[codes])
    if not X:
        raise VerosimError("The table has no rows.", "Check the table.")
    return _named(np.concatenate(X), names), np.concatenate(y)


class NamedNumbers(np.ndarray):
    """A matrix with names of its columns, as data frames have them."""

    columns: list[str] | None = None


def _named(X: np.ndarray, names: list[str]) -> NamedNumbers:
    out = X.view(NamedNumbers)
    out.columns = names
    return out


def _numbers(rows: Rows, names: list[str]) -> np.ndarray:
    """(n, d) the columns as numbers; nan if a cell is missing."""
    from verosim.data import cells

    out = np.empty((len(rows), len(names)))
    for j, name in enumerate(names):
        if name not in rows.batch.schema.names:
            raise VerosimError(f"The table has no column {name!r}.", "Check the names of columns.")
        try:
            out[:, j] = cells.numbers(rows.batch.column(name))
        except cells.Unreadable as error:
            place = f"Column {name!r}, {rows.place(error.row)}"
            raise error.named(place, "Correct the cell, or leave the column out.") from None
    return out


def input_of(model: Any, rows: Rows) -> Any:
    """The rows as the model reads them."""
    import pyarrow as pa

    if not reads_numbers(model):
        return pa.Table.from_batches([rows.batch])
    names = list(map(str, model.feature_names_in_))
    return _named(_numbers(rows, names), names)


def predicted_pieces(
    model: Any, table: Table, keep: tuple[str, ...]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The predictions of a model, piece by piece: the class, and probabilities if it has them."""
    import pyarrow as pa

    from verosim.axes.groups import label_text
    from verosim.data.cells import label_column
    from verosim.data.labels import positions

    for name in keep:
        if name not in table.names:
            raise VerosimError(f"The table has no column {name!r}.", "Check the names of columns.")
    probable = hasattr(model, "predict_proba")
    labels = model.classes_.tolist()
    column = label_column(labels)
    fields = [("prediction", column.type)]
    fields += [(f"p_{label_text(label)}", pa.float64()) for label in labels] if probable else []

    def pieces() -> Iterator[pa.RecordBatch]:
        for rows in table.batches():
            if not len(rows):
                continue
            X = input_of(model, rows)
            found = [column.take(pa.array(positions(model.predict(X), model.classes_)))]
            found += list(map(pa.array, model.predict_proba(X).T)) if probable else []
            kept = [rows.batch.column(name) for name in keep]
            yield pa.record_batch([*kept, *found], names=[*keep, *(name for name, _ in fields)])

    first = next(table.batches(list(keep)), None) if keep else None
    kinds = [] if first is None else [(name, first.batch.schema.field(name).type) for name in keep]
    return pa.schema([*kinds, *fields]), pieces()


def scored_pieces(model: Any, table: Table, target: str | None) -> Any:
    """The scores of a model on new rows with labels, piece by piece."""
    from verosim.data.label_match import codes_of_target
    from verosim.data.near_names import check_in_table
    from verosim.data.stream import kind_of_labels
    from verosim.folds.scores import ACCURACY, LOG_LOSS
    from verosim.kinds.look import look
    from verosim.validate.new_rows import NewRows

    if target is None:
        raise VerosimError(
            f"A {type(model).__name__} does not keep the name of its target.",
            "Give the column of the labels with --target.",
        )
    check_in_table(target, table.names, "target")
    classes = model.classes_
    schema = replace(look(table, target), target_type=kind_of_labels(classes))
    place = {label: k for k, label in enumerate(classes.tolist())}
    confusion = np.zeros((len(classes), len(classes)))
    right, loss, n = 0, 0.0, 0
    new: dict[Any, int] = {}
    for rows in table.batches():
        codes, labels = codes_of_target(target, rows, schema, classes)
        X = input_of(model, rows)
        predicted = np.array([place[label] for label in model.predict(X).tolist()])
        at = np.array([place.get(label, -1) for label in labels.tolist()])[codes]
        known = at >= 0
        right, n = right + int((predicted == at).sum()), n + len(at)
        np.add.at(confusion, (at[known], predicted[known]), 1)
        for code in np.unique(codes[~known]):
            label = labels.tolist()[code]
            new[label] = new.get(label, 0) + int((codes == code).sum())
        if hasattr(model, "predict_proba"):
            p = model.predict_proba(X)
            chosen = np.where(known, p[np.arange(len(at)), at], 0.0)
            with np.errstate(divide="ignore"):
                loss += float(np.log(chosen).sum())
    if not n:
        raise VerosimError("The table has no rows.", "Check the table.")
    scores = {ACCURACY: right / n}
    if hasattr(model, "predict_proba"):
        scores[LOG_LOSS] = loss / n
    return NewRows(n, classes, scores, confusion, None, None, new, {}, {}, None)


def cross_validated(model: Any, X: np.ndarray, y: np.ndarray, folds: int) -> dict[str, float]:
    """The scores of rows that are held out in folds."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from verosim.data.labels import encode_labels, positions
    from verosim.folds.scores import ACCURACY, LOG_LOSS

    X = np.asarray(X)
    codes, classes = encode_labels(y)  # scikit-learn knows fewer types of labels
    right, p = np.zeros(len(y), dtype=bool), np.zeros((len(y), len(classes)))
    probable = hasattr(model, "predict_proba")
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, codes):
        fitted = clone(model).fit(X[train], y[train])
        right[test] = positions(fitted.predict(X[test]), classes) == codes[test]
        if probable:
            p[np.ix_(test, positions(fitted.classes_, classes))] = fitted.predict_proba(X[test])
    scores = {ACCURACY: float(right.mean())}
    if probable:
        own = np.maximum(p[np.arange(len(y)), codes], np.finfo(float).tiny)
        scores[LOG_LOSS] = float(np.log(own).mean())
    return scores
