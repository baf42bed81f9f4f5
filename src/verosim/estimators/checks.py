"""What users of scikit-learn may give: X with the columns of `fit`, a random_state, two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError


def only_one_class(who: str, rows: int, label: Any, which: str = " that count") -> VerosimError:
    """The complaint of a model that has nothing to tell apart."""
    return VerosimError(
        f"{who} tells classes apart, and all {rows:,} rows{which} are of one class, "
        f"{plain_label(label)!r}.",
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


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from whatever scikit-learn accepts as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    try:
        return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1))
    except ValueError as error:
        raise VerosimError(f"random_state: {error}.") from None
