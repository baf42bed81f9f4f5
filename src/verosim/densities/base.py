"""A density holds hyperparameters only; estimating turns a statistic into parameters.

    statistic → estimate → Params → log p(x | k)

Smoothing, floors and shrinkage live here, never in the statistic: asking again with other
settings needs no data.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.data import SparseRows
from verosim.data.sources import as_block
from verosim.densities.leave_one_out import Scorer, refit
from verosim.errors import SingularWarning, VerosimError

if TYPE_CHECKING:
    from verosim.densities.features import Expansion

_filters = Lock()  # filters of warnings belong to the process


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


class ClassScores(ABC):
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


class Params(ClassScores):
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
    def log_likelihood(self, statistic: Any) -> np.ndarray:
        """(C,) Σ over the statistic's rows of log p(x | class of the row), without the rows."""

    # What it can do: asked of the object, never tested by its class ---------------------------

    @property
    def is_gaussian(self) -> bool:
        """Whether some columns have a Gaussian density."""
        return False

    @property
    def covariance_form(self) -> str | None:
        """ "full" or "diagonal" for one Gaussian of all columns, None for any other density."""
        return None

    @property
    def one_covariance(self) -> bool:
        """Whether the classes of a Gaussian share their covariance."""
        return False

    def expansion(self, statistic: Any) -> Expansion:
        """The features in which log p(x | k) is linear, named by the statistic's columns."""
        raise VerosimError(
            f"{type(self).__name__} has no features in which it is linear.",
            "LDA, QDA, RDA, NaiveLDA and the naive Bayes models have.",
        )

    def named_parts(self) -> Iterator[tuple[str, Params]]:
        """The independent parts by name; itself, without a name, if it is of one piece."""
        yield "", self

    def column_parts(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        """The columns of the `contributions`, part by part with the kind of each part; "" where
        there is one part only."""
        yield "", columns


class Density(ABC):
    """Hyperparameters of a family; `estimate` reads a statistic and never changes it."""

    @abstractmethod
    def estimate(self, statistic: Any) -> Params:
        """The parameters the statistic gives."""

    def estimate_quietly(self, statistic: Any) -> Params:
        """As `estimate`, without a warning where a covariance is singular."""
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularWarning)
            return self.estimate(statistic)

    # What it can do: asked of the object, never tested by its class ---------------------------

    @property
    def has_independent_columns(self) -> bool:
        """Whether log p(x | k) is a sum over columns, a density of its own for each."""
        return False

    @property
    def is_additive(self) -> bool:
        """Whether, beyond that, each column's density comes from that column's sums alone."""
        return self.has_independent_columns

    def leave_one_out(self, statistic: Any) -> Scorer:
        """What scores rows by the estimate without each; without a closed form, estimated again."""
        return refit.scorer(self, statistic)

    @classmethod
    def estimate_family(cls, densities: Sequence[Any], statistic: Any) -> list[Params]:
        """The parameters of several densities of this class; a family may share work here."""
        return [density.estimate(statistic) for density in densities]


def estimate_all(densities: Sequence[Density], statistic: Any) -> list[Params]:
    """The parameters of several densities from one statistic; each family shares its work.

    Examples
    --------
    >>> from verosim.densities import FullGaussian
    >>> from verosim.stats import Moments
    >>> from verosim.testing import statistic_of
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [5.0, 1.0], [6.0, 4.0], [7.0, 2.0]])
    >>> rows = statistic_of(X, [0, 0, 0, 1, 1, 1], plan=lambda axes: Moments(axes, layout="full"))
    >>> grid = [FullGaussian(pooling=1.0, shrinkage=a) for a in (0.1, 0.5)]
    >>> [float(params.covariances()[0, 1].round(3)) for params in estimate_all(grid, rows)]
    [0.3, 0.167]
    """
    out: dict[int, Params] = {}
    for family in dict.fromkeys(type(density) for density in densities):
        at = [i for i, density in enumerate(densities) if type(density) is family]
        found = family.estimate_family([densities[i] for i in at], statistic)
        out.update(zip(at, found, strict=True))
    return [out[i] for i in range(len(densities))]


def into(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.empty(shape) if out is None else out
