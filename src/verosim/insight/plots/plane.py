"""A model seen in two columns: posteriors, densities, boundaries and ellipses.

A Gaussian model is marginal in closed form. Another model gets rows in which the other columns have
a given value or are missing, which is the marginal for models that leave missing values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from verosim.errors import VerosimError
from verosim.insight.plots.rows import column_names, position

FEW_CLASSES = 8  # with ellipses that hold nearly all rows


def ellipse_level(level: float | None, classes: int) -> float:
    """The share of a class in its ellipse: as given, or smaller ellipses for many classes."""
    return level if level is not None else 0.95 if classes <= FEW_CLASSES else 0.5


@dataclass(frozen=True, eq=False)
class Plane:
    """The two columns of a picture, and the model."""

    model: Any
    names: tuple[str, str]
    others: Any

    @classmethod
    def of(cls, model: Any, columns: Any, others: Any) -> Plane:
        names = column_names(model)
        if columns is None and len(names) == 2:
            columns = names
        if (
            columns is None
            or isinstance(columns, str)
            or not np.iterable(columns)
            or len(list(columns)) != 2
        ):
            got = f"a model of {len(names)} columns" if columns is None else repr(columns)
            raise VerosimError(
                f"columns must name two columns; got {got}.",
                f"Use columns=({names[0]!r}, {names[min(1, len(names) - 1)]!r}).",
            )
        first, second = (names[position(names, one)] for one in columns)
        if first == second:
            raise VerosimError(
                f"columns must be two different columns; got {first!r} twice.",
                "Name each column once.",
            )
        return cls(model, (first, second), others)

    @property
    def is_gaussian(self) -> bool:
        """Whether boundaries and ellipses have a closed form."""
        return hasattr(self.model, "boundary") and hasattr(self.model, "ellipse")

    @property
    def classes_with_rows(self) -> list[int]:
        """The numbers of the classes that have an ellipse."""
        if not self.is_gaussian:
            return []
        found: list[int] = np.flatnonzero(self.model.class_prior_ > 0).tolist()
        return found

    def quadratic(self, i: int, j: int) -> Any:
        """The boundary between two classes."""
        labels = self.model.classes_.tolist()
        return self.model.boundary(labels[i], labels[j], self.names, self.others)

    def ellipse(self, k: int, level: float) -> Any:
        return self.model.ellipse(
            self.model.classes_.tolist()[k], self.names, level=level, others=self.others
        )

    def log_posterior(self, grid: np.ndarray) -> np.ndarray:
        """(n, C) log p(k | x) at points (n, 2)."""
        if self.is_gaussian:
            C = len(self.model.classes_)
            scores = np.zeros((len(grid), C))
            for k in range(1, C):
                scores[:, k] = self.quadratic(k, 0)(grid)
            found: np.ndarray = log_softmax(scores, axis=1)
            return found
        rows = self._rows(grid)
        if self.model.gives_probabilities:
            return np.asarray(self.model.predict_log_proba(rows))
        known = {label: k for k, label in enumerate(self.model.classes_.tolist())}
        best = np.array([known[one] for one in self.model.predict(rows).tolist()])
        return np.where(best[:, None] == np.arange(len(known)), 0.0, -np.inf)

    def log_density(self, grid: np.ndarray) -> np.ndarray:
        """(n,) log p(x) at points (n, 2)."""
        if self.is_gaussian:
            priors = self.model.class_prior_
            parts = []
            for k in self.classes_with_rows:
                found = self.ellipse(k, 0.5)
                root = np.linalg.cholesky(found.covariance)
                z = np.linalg.solve(root, (grid - found.centre).T)
                log_det = 2 * np.log(root.diagonal()).sum()
                parts.append(
                    np.log(priors[k]) - 0.5 * ((z**2).sum(axis=0) + log_det + 2 * np.log(2 * np.pi))
                )
            mixed: np.ndarray = logsumexp(parts, axis=0)
            return mixed
        if not hasattr(self.model, "log_density"):
            raise VerosimError(
                f"{type(self.model).__name__} has no density to draw.",
                "Use densities=False, or a generative model.",
            )
        return np.asarray(self.model.log_density(self._rows(grid)))

    def _rows(self, grid: np.ndarray) -> Any:
        """Rows of all columns: the two columns, given values, and missing values."""
        names = column_names(self.model)
        given = dict(self.others) if isinstance(self.others, Mapping) else {}
        values = {names[position(names, name)]: value for name, value in given.items()}
        columns: dict[str, Any] = {
            name: [values.get(name)] * len(grid) for name in names if name not in self.names
        }
        columns |= {name: grid[:, j] for j, name in enumerate(self.names)}
        if hasattr(self.model, "feature_names_in_"):
            return {name: columns[name] for name in names}
        return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names])
