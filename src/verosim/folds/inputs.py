"""Checks of the arguments of public calls: rows, labels, weights and folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from verosim.data import adapters, as_weights
from verosim.data.adapters import opened_once
from verosim.data.labels import label_array
from verosim.data.schema import Schema
from verosim.data.tables import FIRST_LOOK_ROWS
from verosim.errors import VerosimError, warn
from verosim.folds.labelled_rows import with_labels
from verosim.models import Inputs, Spec, open_rows

MOST_ROWS_TO_BRING = FIRST_LOOK_ROWS  # the first look brings them anyway


def inputs_of(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
    unlabelled: str = "error",
    known: Schema | None = None,
) -> Inputs:
    """The arguments of `fit` as one value, with the labels as a vector.

    With `unlabelled="skip"`, the rows without a label are left out. `known` is the schema of a
    fitted model.
    """
    table = adapters.numbered_columns(X, y, sample_weight)
    if table is not None and table.array is not None:
        return Inputs(table, table.array.target, table.array.weight, schema, na)
    labels = y if y is None or isinstance(y, str) else one_column(y)
    inputs = Inputs(opened_once(X, y), labels, sample_weight, schema, na)
    return with_labels(inputs, unlabelled, known)


def brought_if_small(inputs: Inputs) -> Inputs:
    """The inputs, with the rows in this process if they are few and on a cluster."""
    return replace(inputs, X=adapters.brought_here(inputs.X, MOST_ROWS_TO_BRING))


def target_of(model: Any, y: Any) -> Any:
    """y, or the target column of a fitted model if y is None."""
    schema = getattr(model, "schema_", None) if y is None else None
    return schema.target if isinstance(schema, Schema) else y


def one_column(y: Any) -> np.ndarray:
    """The labels as a vector. One column of a matrix is accepted with a warning."""
    if isinstance(y, str):
        raise VerosimError(
            f"y must have one label per row; got the name {y!r}.",
            f"Give the labels themselves, such as table[{y!r}].",
        )
    y = label_array(y)
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning  # slow to import

        warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        y = y.ravel()
    if y.ndim != 1:
        raise VerosimError(
            f"The labels y should be a 1d array, got an array of shape {y.shape} instead.",
            "Give one label per row.",
        )
    return y


def without_split_columns(spec: Spec, inputs: Inputs, cv: Any, groups: Any = None) -> Inputs:
    """The inputs without the columns that define the folds or the groups."""
    names = tuple(name for name in (cv, groups) if isinstance(name, str) and name != "loo")
    return without_ignored_columns(spec, replace(inputs, ignored=names))


def without_ignored_columns(spec: Spec, inputs: Inputs) -> Inputs:
    """The inputs with a schema that leaves out the ignored columns."""
    if not inputs.ignored:
        return inputs
    schema = open_rows(spec, inputs).schema
    inputs = replace(inputs, ignored=())
    return inputs if schema is None else replace(inputs, schema=schema, na=())


def in_random_folds(cv: Any, inputs: Inputs, groups: Any, seed: Any = 0) -> Any:
    """cv, or the fold of each row in random order if cv is a number and the labels are an array.

    The folds of a table with a target column are random already.
    """
    from verosim.folds.splits import number_of_folds, shuffled_folds  # a fit does not need it

    y, weights = inputs.y, inputs.sample_weight
    if number_of_folds(cv) is None or groups is not None or y is None or isinstance(y, str):
        return cv
    known = np.empty(0) if isinstance(weights, str) else as_weights(weights, len(y))
    return shuffled_folds(no_more_folds_than_rows(cv, inputs), y, known, seed)


def no_more_folds_than_rows(cv: Any, inputs: Inputs) -> Any:
    """cv, reduced to the number of rows with positive weight if it is a larger number.

    The folds of a table with a target column depend on a hash, so they are not reduced.
    """
    from verosim.folds.splits import number_of_folds  # a fit does not need it

    count = number_of_folds(cv)
    if count is None or inputs.y is None or isinstance(inputs.y, str):
        return cv
    n, weights = len(inputs.y), inputs.sample_weight
    if weights is not None and not isinstance(weights, str):
        n = int(np.count_nonzero(as_weights(weights, n)))
    if n < 2:
        raise VerosimError(
            f"n_samples={n} is too small, because training rows and held-out rows are needed.",
            "Give at least two rows with positive weight.",
        )
    return min(count, n)
