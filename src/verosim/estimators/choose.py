"""Settings left to the data: shrinkage="cv", alpha="cv".

    θ = argmin_θ − Σ w log p(class | x), x held out, over a fixed grid of θ

by stratified folds of the rows (by hash, in a table), all of it from the sums of two passes. Of
equals the first, which is the least, is taken. Reference: Stone (1974), Cross-validatory choice.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.labels import positions
from verosim.engines.progress import Progress
from verosim.estimators.holdout import Holdout

SHARES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
GRIDS: dict[str, tuple[float, ...]] = {
    "shrinkage": SHARES,
    "sphericity": SHARES,
    "pooling": (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    "alpha": (1e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0),
}
FOLDS = 10
LEAST = float(np.log(np.finfo(float).eps))  # a class held to be impossible costs no more than this


def chosen(model: Any, X: Any, y: Any, **given: Any) -> tuple[dict[str, float], Holdout]:
    """The values of the settings that are left open, and the rows in their folds."""
    names = model._open_settings
    settings = [
        dict(zip(names, values, strict=True)) for values in product(*(GRIDS[n] for n in names))
    ]
    models = [clone(model).set_params(**setting) for setting in settings]
    rows = getattr(y, "shape", (FOLDS,))[0] if not isinstance(y, str) else FOLDS
    holdout = Holdout(models[0], X, y, max(2, min(FOLDS, rows)), **given)
    loss = np.zeros(len(models))
    with Progress(len(models) * holdout.count, "models") as bar:
        for part in holdout.judged(models):
            own = positions(holdout.labels[part.rows], holdout.classes)
            weights = holdout.weights[part.rows] if len(holdout.weights) else np.ones(len(own))
            for m, log_proba in enumerate(part.log_proba):
                told = np.maximum(log_proba[np.arange(len(own)), own], LEAST)
                loss[part.first + m] -= float(weights @ told)
            bar.advance(len(part.log_proba))
    return settings[int(np.argmin(loss))], holdout
