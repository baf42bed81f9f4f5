"""What users of scikit-learn give, checked once at every public call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from verosim.errors import VerosimError, warn
from verosim.models import Inputs, Spec, open_rows


def inputs_of(
    X: Any, y: Any = None, sample_weight: Any = None, schema: Any = None, na: Any = ()
) -> Inputs:
    """The arguments of `fit` as one value, the labels as a vector."""
    labels = y if y is None or isinstance(y, str) else one_column(y)
    return Inputs(X, labels, sample_weight, schema, na)


def one_column(y: Any) -> np.ndarray:
    """The labels as a vector."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        y = y.ravel()
    if y.ndim != 1:
        raise VerosimError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    return y


def without_split_columns(spec: Spec, inputs: Inputs, cv: Any, groups: Any = None) -> Inputs:
    """Inputs whose schema leaves out the columns that split the rows, as the folds do."""
    names = tuple(name for name in (cv, groups) if isinstance(name, str) and name != "loo")
    if not names:
        return inputs
    schema = open_rows(spec, replace(inputs, ignored=names)).schema
    return inputs if schema is None else replace(inputs, schema=schema, na=())
