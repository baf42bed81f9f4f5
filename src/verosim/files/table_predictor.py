"""Predictions of tables by the state of a model file, without its estimator.

    file → sums, schema and settings → rule → predictions

An estimator adds the interface of scikit-learn. The command line does not need it to predict, and
the import of scikit-learn takes longer than the prediction of a small table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from verosim.data.tables import Table
from verosim.errors import VerosimError
from verosim.estimators.predictions import predicted_table
from verosim.files.models import SavedState, restored_state, without_warnings
from verosim.files.records import RECORDS
from verosim.files.store import (
    MAX_BYTES,
    built_object,
    file_bytes,
    file_content,
    loads,
    unpacked_parts,
)
from verosim.models import Spec, State
from verosim.models.opening import with_marks
from verosim.stats.codec import DATA_ERRORS

# The class of the settings of a model, and the settings that are not parameters of the model.
SETTINGS_OF: dict[str, tuple[str, dict[str, Any]]] = {
    "NaiveBayes": ("TableSpec", {}),
    "GaussianNB": ("DiagonalSpec", {"shared": False}),
    "NaiveLDA": ("DiagonalSpec", {"shared": True}),
    "LDA": ("LDASpec", {"pooling": 1.0}),
    "QDA": ("FullSpec", {"pooling": 0.0}),
    "RDA": ("RDASpec", {}),
}


@dataclass(frozen=True)
class TablePredictor:
    """The state of a model file, which predicts tables."""

    state: State

    def predict_table(self, source: Table, keep: Iterable[str] = (), *, na: Any = ()) -> Any:
        """An Arrow reader of the predictions, equal to those of the estimator."""
        return predicted_table(self.state, with_marks(source, na), keep)


def table_predictor(path: Path) -> Any:
    """The predictor of a model file, or its estimator if the model needs more than its state."""
    raw = file_bytes(path, MAX_BYTES)
    try:
        state = saved_state(raw)
    except (VerosimError, *DATA_ERRORS):  # the estimator gives the error, in its own words
        state = None
    return loads(raw) if state is None else TablePredictor(state)


def saved_state(raw: bytes) -> State | None:
    """The state of a file of one of the models above, or None."""
    content, tensors = file_content(raw, MAX_BYTES)
    if content["class"] not in SETTINGS_OF:
        return None
    parts = unpacked_parts(content, tensors, _model_as_dict)
    name, params, fitted = (parts["model"].get(one) for one in ("model", "params", "fitted"))
    spec = settings_of(name, params) if name == content["class"] else None
    if spec is None or fitted.keys() != {"state_"} or not isinstance(fitted["state_"], SavedState):
        return None
    with without_warnings():
        return restored_state(spec, fitted["state_"])


def _model_as_dict(tag: str, tree: Any) -> Any:
    return tree if tag == "model" else built_object(tag, tree)


def settings_of(name: str, params: dict[str, Any]) -> Spec | None:
    """The settings of a model with these parameters, or None if only the estimator knows them."""
    kind, fixed = SETTINGS_OF[name]
    spec: type[Spec] = RECORDS[kind]
    known = {field.name for field in fields(spec)} - {"name", *fixed}
    if params.keys() != known or params.get("encode") is not None:
        return None
    return spec(name=name, **fixed, **params)
