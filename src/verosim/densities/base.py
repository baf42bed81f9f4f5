"""A density holds hyperparameters only; estimating turns a statistic into parameters.

    statistic → estimate → Params → log p(x | k)

Smoothing, floors and shrinkage live here, never in the statistic: asking again with other
settings needs no data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.data import SparseRows
from verosim.data.sources import as_block
from verosim.errors import VerosimError


@dataclass(frozen=True)
class LinearForm:
    """log p(x | k) = coef_k · ((x − pivot) − centre) + bias_k + what all classes share."""

    pivot: np.ndarray  # (d,)
    centre: np.ndarray  # (d,)
    coef: np.ndarray  # (C, d)
    bias: np.ndarray  # (C,)

    def scores(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) of complete rows."""
        out = into(out, (len(block), len(self.coef)))
        if self._from_zero:
            np.matmul(block, self.coef.T, out=out)
        else:
            Z = np.empty(block.shape)
            kernels.centre_rows(block, self.pivot, self.centre, Z)
            np.matmul(Z, self.coef.T, out=out)
        out += self.bias
        return out

    @cached_property
    def _from_zero(self) -> bool:
        return not self.pivot.any() and not self.centre.any()

    def about(self, other: LinearForm | None) -> bool:
        """Whether both read the rows about one point."""
        return (
            other is not None
            and np.array_equal(self.pivot, other.pivot)
            and np.array_equal(self.centre, other.centre)
        )


class Scores(ABC):
    """What tells C classes apart: a score each, up to a term they share."""

    def read(self, rows: Any) -> Any:
        """Rows of the user's matrix as the kernels take them."""
        return as_block(rows)

    @abstractmethod
    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) log p(x | k) up to a term all classes share: enough for a posterior."""

    @property
    def linear_form(self) -> LinearForm | None:
        """The scores as a linear function of a complete row, where they are one."""
        return None

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """A score that is not a number points at a cell that is not one: name it."""
        if np.isfinite(scores).all():
            return
        error = not_a_number(block, columns, start, nan=bool(np.isnan(scores).any()))
        if error is not None:
            raise error


def not_a_number(block: Any, columns: Columns, start: int, nan: bool = True) -> VerosimError | None:
    """The complaint about the first infinite cell of these rows, or else the first NaN."""
    values = block.data[block.stored] if isinstance(block, SparseRows) else block
    infinite = np.argwhere(np.isinf(values))
    bad = infinite if len(infinite) or not nan else np.argwhere(np.isnan(values))
    if not len(bad):
        return None
    name = "infinity" if len(infinite) else "NaN"
    i, j = block.place(int(bad[0][0])) if isinstance(block, SparseRows) else bad[0]
    where = f": column {columns.name(int(j))!r}, row {start + int(i)}"
    hint = (
        "replace it with NaN where the model skips missing cells, or drop the row."
        if name == "infinity"
        else 'missing="marginalise", if the model has it, predicts from the other columns.'
    )
    return VerosimError(f"Input X contains {name}{where}.", hint)


class Params(Scores):
    """Frozen parameters of p(x | k) for C classes over d columns."""

    n_parameters: int  # free parameters, priors not counted

    @abstractmethod
    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) log p(x | k)."""

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.log_density(block, out)

    @property
    def generative(self) -> Params:
        """The parameters of p(x | k) proper, where the scores that decide are something else."""
        return self

    @abstractmethod
    def contributions(self, block: Any) -> np.ndarray:
        """(n, C, d) each column's part of log p(x | k); they sum to it."""

    @abstractmethod
    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) one row for each class number."""

    @abstractmethod
    def marginal(self, columns: np.ndarray) -> Params:
        """The parameters of p(x_columns | k)."""

    @abstractmethod
    def log_likelihood(self, statistic: Any) -> np.ndarray:
        """(C,) Σ over the statistic's rows of log p(x | class of the row), without the rows."""


class Density(ABC):
    """Hyperparameters of a family; `estimate` reads a statistic and never changes it."""

    @abstractmethod
    def estimate(self, statistic: Any) -> Params: ...


def into(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.empty(shape) if out is None else out
