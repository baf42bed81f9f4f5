"""Rows and labels as scikit-learn's users give them: names of columns, vectors of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _get_feature_names, validate_data

from verosim.axes.groups import plain, union_of_labels
from verosim.data import encode_labels
from verosim.errors import VerosimError, warn


def feature_names(X: Any) -> np.ndarray | None:
    """The names of X's columns, where it has some and all are strings."""
    try:
        return _get_feature_names(X)
    except Exception as error:  # two columns of one name, or names of several types
        first = str(error).strip().split("\n")[0]
        raise VerosimError(f"The column names of X cannot be used: {first}") from None


def one_column(y: Any) -> np.ndarray:
    """The labels as a vector."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        y = y.ravel()
    if y.ndim != 1:
        raise VerosimError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    return y


def labels_of(y: Any, n: int) -> np.ndarray:
    """The labels of n rows as a vector."""
    y = one_column(y)
    if len(y) != n:
        raise VerosimError(f"X has {n} rows and y has {len(y)} labels: inconsistent lengths.")
    return y


def encode_counted(
    y: np.ndarray, weights: np.ndarray, known: np.ndarray | None, declared: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers, and the classes: those known, those declared and those of rows that count."""
    if declared is not None:
        declared = encode_labels(declared)[1]
        known = declared if known is None else union_of_labels(known, declared)
    if not len(weights) or weights.all():
        return encode_labels(y, known)
    kept = np.flatnonzero(weights)  # rows of zero weight bring no class with them
    found, labels = encode_labels(y[kept], known)
    codes = np.zeros(len(y), dtype=np.int32)
    codes[kept] = found
    return codes, labels


def only_one_class(who: str, rows: int, label: Any, which: str = " that count") -> VerosimError:
    """The complaint of a model that has nothing to tell apart."""
    return VerosimError(
        f"{who} tells classes apart, and all {rows:,} rows{which} are of one class, "
        f"{plain(label)!r}.",
        "two classes or more are needed.",
    )


def check_features(model: Any, X: Any) -> None:
    """X has the columns the model was fitted on."""
    if type(X) is np.ndarray and not hasattr(model, "feature_names_in_"):
        if X.ndim == 2 and X.shape[1] != model.n_features_in_:  # nothing else to check
            raise VerosimError(
                f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
                f"{model.n_features_in_} features as input.",
                "give the same columns as at fit.",
            )
        return
    try:
        validate_data(model, X, reset=False, skip_check_array=True)
    except ValueError as error:
        raise VerosimError(str(error)) from None
