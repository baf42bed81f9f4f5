"""Checks of the arguments that scikit-learn users give: the columns of X, random_state, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.data import as_matrix
from verosim.data.adapters import is_stream
from verosim.data.names import feature_names
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.typing import RandomState


def only_one_class(
    who: str, rows: int, label: Any, which: str = " with positive weight"
) -> VerosimError:
    """The error of a model that was given rows of one class only."""
    return VerosimError(
        f"{who} needs at least two classes; all {rows:,} rows{which} are of one class, "
        f"{plain_label(label)!r}.",
        "Give rows of two or more classes.",
    )


def empty_table() -> VerosimError:
    """The error for a table without rows where predictions are wanted."""
    return VerosimError("The table has no rows.", "Give a table with at least one row to predict.")


def needs_numbers(who: str) -> VerosimError:
    """The error of a model that reads arrays, for a table."""
    return VerosimError(
        f"{who} needs an array or a data frame of numbers with its labels; got a table.",
        "Use verosim.twin(NaiveBayes().fit(table, target)) for a table with a target column.",
    )


def check_width(model: Any, X: np.ndarray, width: int) -> None:
    """Check that an array has the number of columns of the training rows."""
    if X.ndim == 2 and X.shape[1] != width:
        raise VerosimError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{width} features as input.",
            "Give the same columns as at fit.",
        )


def count_rows_of_numbers(model: Any, X: Any) -> int:
    """The number of rows of an array or a data frame of numbers. Other rows are an error."""
    if is_stream(X):
        raise needs_numbers(type(model).__name__)
    return int(as_matrix(X, sparse_allowed=True, names=feature_names(X)).shape[0])


def check_features(model: Any, X: Any) -> None:
    """Check that X has the columns of the training rows."""
    if type(X) is np.ndarray and not hasattr(model, "feature_names_in_"):
        check_width(model, X, model.n_features_in_)  # there is nothing else to check
        return
    if is_stream(X):
        raise needs_numbers(type(model).__name__)
    if not hasattr(X, "shape"):
        X = as_matrix(X, sparse_allowed=True, values=True)
    from sklearn.utils.validation import validate_data  # slow to import

    try:
        validate_data(model, X, reset=False, skip_check_array=True)
    except ValueError as error:
        raise VerosimError(str(error)) from None


def generator(random_state: RandomState) -> np.random.Generator:
    """A numpy Generator from any value that scikit-learn accepts as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    from sklearn.utils import check_random_state  # slow to import

    try:
        return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1))
    except ValueError:
        raise VerosimError(
            "random_state must be None, an integer, a Generator or a RandomState; "
            f"got {random_state!r}."
        ) from None
