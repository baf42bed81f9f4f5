"""Base classes: a density has hyperparameters, and `estimate` turns a statistic into parameters.

    statistic → estimate → Params → log p(x | k)

Smoothing, floors and shrinkage belong to the density and never change the statistic. A new
estimate with other settings therefore needs no data.
Reference: Bickel & Doksum (2001), Mathematical Statistics, §1.5–1.6.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.data.nodes import PROGRAM_HINT, no_program
from verosim.data.sources import as_block, ready
from verosim.errors import SingularWarning, VerosimError
from verosim.locks import ProcessLock
from verosim.stats.bad_cell import INFINITE_CELL_HINT

if TYPE_CHECKING:
    from verosim.data.readings import CellReading
    from verosim.densities.attribution import Attribution, AttributionRequest
    from verosim.densities.conditionals import Conditionals
    from verosim.densities.estimates import Estimates
    from verosim.densities.features import Expansion
    from verosim.densities.interactions import Interactions
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import RowLength, Term

LARGEST_SHIFT = 64.0  # of the scores, between rows and centred rows
MOST_SUMMED_CLASSES = 16  # for more classes, a matrix product is faster than one sum per class

_filters = ProcessLock()  # the filters of warnings are global: one thread at a time changes them


@dataclass(frozen=True)
class LinearForm:
    """Scores that are linear in x: one function per class.

        log p(x | k) = coef_k · ((x − pivot) − centre) + bias_k + r(x)

    where r(x) is the same for all classes.
    """

    pivot: np.ndarray  # (d,)
    centre: np.ndarray  # (d,)
    coef: np.ndarray  # (C, d)
    bias: np.ndarray  # (C,)

    @property
    def is_summed(self) -> bool:
        """Whether a compiled loop computes the scores, and not a matrix product."""
        return len(self.coef) <= MOST_SUMMED_CLASSES

    def scores(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) the scores of complete rows."""
        classes = len(self.coef)
        if out is None:
            out = np.empty((len(block), classes))
        if classes <= MOST_SUMMED_CLASSES:
            kernels.score_linear(block, self.pivot, self.centre, self.coef, self.bias, out)
            return out
        at_zero = self._at_zero
        if at_zero is not None:
            np.matmul(block, self.coef.T, out=out)
            out += at_zero
            return out
        Z = np.empty(block.shape)  # (n, d)
        kernels.centre_rows(block, self.pivot, self.centre, Z)
        np.matmul(Z, self.coef.T, out=out)
        out += self.bias
        return out

    @cached_property
    def _at_zero(self) -> np.ndarray | None:
        """(C,) the scores of x = 0 if rows are scored without centring, otherwise None.

        Without centring, products of the weights and the centre are added and subtracted again.
        The scores lose no more than LARGEST_SHIFT times the precision of a double.
        """
        shift = (self.pivot + self.centre) * self.coef  # (C, d)
        if not np.abs(shift).sum(axis=1).max(initial=0.0) <= LARGEST_SHIFT:
            return None
        return self.bias - shift.sum(axis=1)

    def about(self, other: LinearForm | None) -> bool:
        """Whether both forms have the same pivot and the same centre."""
        return (
            other is not None
            and np.array_equal(self.pivot, other.pivot)
            and np.array_equal(self.centre, other.centre)
        )


class ClassScores(ABC):
    """One score per class for each row, up to a term that is the same for all classes."""

    is_positive: ClassVar[bool] = True  # whether no finite row has probability 0 in all classes
    has_attribution: ClassVar[bool] = False  # whether the scores are a sum over columns
    are_densities: ClassVar[bool] = False  # whether they are log p(x | k) themselves

    @property
    def has_compiled_ratio(self) -> bool:
        """Whether `log_ratio` uses compiled loops only, which give no floating-point warnings."""
        return False

    def read(self, rows: Any) -> Any:
        """Rows of a matrix in the form that the scores need.

        Parameters
        ----------
        rows : ndarray or sparse rows, n rows
            The rows.

        Returns
        -------
        ndarray or sparse rows, n rows
            The same rows. An array is contiguous, with float32 or float64 cells.
        """
        return rows if ready(rows) else as_block(rows)

    @abstractmethod
    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) log p(x | k) up to a term that is the same for all classes.

        This is enough to compute a posterior.
        """

    @property
    def linear_form(self) -> LinearForm | None:
        """The scores as linear functions of a complete row; None if they are not linear."""
        return None

    def readings(self, block: tuple[CellReading, ...]) -> tuple[CellReading, ...]:
        """The readings that the terms use. A model of bins reads bins in place of numbers.

        Parameters
        ----------
        block : tuple of CellReading
            The readings of the columns of the block.

        Returns
        -------
        tuple of CellReading
            The readings of the terms.
        """
        return block

    def terms(self) -> tuple[Term, ...]:
        """The scores as the terms of a program, which use the readings of `readings`."""
        raise no_program("its density does not state its terms", PROGRAM_HINT)

    def ratio_terms(self) -> tuple[Term, ...]:
        """The terms of `log_ratio` for complete rows, up to what is the same for all classes."""
        return self.terms()

    def program_length(self) -> RowLength:
        """The length of a row, as a program measures it: the same as `row_lengths`."""
        raise no_program("its rows have no length", PROGRAM_HINT)

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The part of each column in the scores.

        Parameters
        ----------
        block : array or sparse rows or texts, n rows
            The rows, in the form that `read` returns.
        request : AttributionRequest
            Which columns of the block belong together, and how values are sampled.

        Returns
        -------
        Attribution
            The parts (n, C, p) of p players, and the lines that belong to no column.
        """
        raise no_contributions("This model")

    def row_lengths(self, block: Any) -> np.ndarray:
        """The length of each row: the number of words of a text, or the sum of counts.

        Only models of texts and of counts have it.

        Parameters
        ----------
        block : array or sparse rows or texts, n rows
            The rows, in the form that `read` returns.

        Returns
        -------
        ndarray of shape (n,)
            The lengths.
        """
        raise NotImplementedError

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """Raise an error that names the bad cell if a score is not finite."""
        if np.isfinite(scores).all():
            return
        error = not_a_number(block, columns, start, nan=bool(np.isnan(scores).any()))
        if error is not None:
            raise error
        lost = ~np.isfinite(scores).any(axis=1) | np.isnan(scores).any(axis=1)
        if self.is_positive and lost.any():
            raise too_large(block, int(np.flatnonzero(lost)[0]), columns, start)

    def impossible_cell(self, block: Any, columns: Columns) -> str:
        """A cell of probability 0 in a row of probability 0, for a message.

        Parameters
        ----------
        block : array or sparse rows or texts, one row
            The row, in the form that `read` returns.
        columns : Columns
            The names of the columns.

        Returns
        -------
        str
            The column and its value; an empty text if they are not known.
        """
        return ""

    def undefined_cell(self, block: Any, columns: Columns) -> str:
        """A cell with a value that no class had, with α = 0, for a message.

        The odds of such a value are 0/0, so the cell is left out.

        Parameters
        ----------
        block : array or sparse rows or texts, n rows
            The rows, in the form that `read` returns.
        columns : Columns
            The names of the columns.

        Returns
        -------
        str
            The column and its value; an empty text if there is no such cell.
        """
        return ""


def not_a_number(block: Any, columns: Columns, start: int, nan: bool = True) -> VerosimError | None:
    """The error for the first infinite cell of these rows, or for the first NaN; None if there is
    no such cell."""
    values = block.data[block.stored] if isinstance(block, SparseRows) else block
    infinite = np.argwhere(np.isinf(values))
    bad = infinite if len(infinite) or not nan else np.argwhere(np.isnan(values))
    if not len(bad):
        return None
    name = "infinity" if len(infinite) else "NaN"
    i, j = block.place(int(bad[0][0])) if isinstance(block, SparseRows) else bad[0]
    where = f"column {columns.name(int(j))!r}, row {start + int(i)}"
    hint = (
        INFINITE_CELL_HINT
        if name == "infinity"
        else 'Set missing="marginalise" if the model has this parameter, or fill the missing '
        "values."
    )
    return VerosimError(f"Input X contains {name} in {where}.", hint)


def too_large(block: Any, row: int, columns: Columns, start: int) -> VerosimError:
    """The error for a row of finite cells for which no class has a finite score."""
    sparse = isinstance(block, SparseRows)
    cells = block.take(np.array([row]))[0] if sparse else np.asarray(block)[row]
    j = int(np.nanargmax(np.abs(cells)))
    return VerosimError(
        f"Input X contains a value too large ({cells[j]:g}) in column {columns.name(j)!r}, row "
        f"{start + row}: the density of this row cannot be computed in any class.",
        INFINITE_CELL_HINT,
    )


def no_known_features() -> VerosimError:
    """The error for a model that is not linear in features of its columns."""
    return VerosimError(
        "The scores of this model are not linear in known features.",
        "Use LDA, QDA, RDA, NaiveLDA or a naive Bayes model.",
    )


def no_contributions(name: str) -> VerosimError:
    """The error for a model with scores that are not a sum over columns."""
    return VerosimError(
        f"{name} cannot be explained by columns, because its scores are not a sum over columns.",
        "Use NaiveBayes, LDA, QDA, KDB or AODE.",
    )


def infinite_weights() -> VerosimError:
    """The error for the twin of a model with probabilities of 0."""
    return VerosimError(
        "The model has probabilities of 0, which would be infinite weights of its twin.",
        "Use alpha above 0.",
    )


class Params(ClassScores):
    """The estimated parameters of p(x | k) for C classes and d columns."""

    are_densities: ClassVar[bool] = True
    has_attribution: ClassVar[bool] = True
    n_parameters: int  # number of free parameters, without the priors

    @abstractmethod
    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) log p(x | k)."""

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.log_density(block, out)

    @property
    def generative(self) -> Params:
        """The parameters of p(x | k), if the scores that decide are not this density."""
        return self

    @abstractmethod
    def contributions(self, block: Any) -> np.ndarray:
        """(n, C, d) the part of each column in log p(x | k); the sum over columns is the total."""

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        from verosim.densities.attribution import Attribution, summed_by_owner

        dense = block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block
        return Attribution(summed_by_owner(self.contributions(dense), request.owner))

    @abstractmethod
    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) random rows, one for each class number in `classes`."""

    @abstractmethod
    def log_likelihood(self, statistic: Any) -> np.ndarray:
        """(C,) Σ_i log p(x_i | k) over the rows of each class, computed from the statistic."""

    # Capabilities: callers read these properties and never test the class ----------------------

    @property
    def is_gaussian(self) -> bool:
        """Whether some columns have a Gaussian density."""
        return False

    @property
    def covariance_form(self) -> str | None:
        """The form of the covariance, "full" or "diagonal"; None if this is not one Gaussian."""
        return None

    @property
    def one_covariance(self) -> bool:
        """Whether all classes of a Gaussian have the same covariance."""
        return False

    def expansion(self, statistic: Any) -> Expansion:
        """The features in which log p(x | k) is linear, with the names of the columns."""
        raise no_known_features()

    @property
    def interactions(self) -> Interactions | None:
        """The interactions of pairs of columns, which are not part of the density."""
        return None

    @property
    def conditionals(self) -> Conditionals | None:
        """The exact conditional distributions of missing cells; None if there are none."""
        return None

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates | None:
        """What was estimated for column j, with the counts of the statistic, to be read by people.

        At most `most` tokens per class are listed. None if columns have no table of their own.
        """
        return None

    def named_parts(self) -> Iterator[tuple[str, Params]]:
        """The independent parts with their names; ("", self) if there is only one part."""
        yield "", self

    def column_parts(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        """For each part, its kind and its columns, in the order of `contributions`.

        The kind is "" if there is only one part.
        """
        yield "", columns


class Density(ABC):
    """A family of densities with its hyperparameters; `estimate` never changes the statistic."""

    @abstractmethod
    def estimate(self, statistic: Any) -> Params:
        """Estimate the parameters from the statistic."""

    def checks(self, statistic: Any) -> bool:
        """Whether `estimate` can neither fail nor warn, after a check of the statistic here.

        The estimate can then be computed when it is first used.
        """
        return False

    def estimate_quietly(self, statistic: Any) -> Params:
        """Estimate the parameters without warnings about singular covariances."""
        with _filters.now, warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularWarning)
            return self.estimate(statistic)

    # Capabilities: callers read these properties and never test the class ----------------------

    @property
    def has_independent_columns(self) -> bool:
        """Whether log p(x | k) is a sum of one log density per column."""
        return False

    @property
    def is_additive(self) -> bool:
        """Whether, in addition, the density of each column depends only on the sums of that
        column."""
        return self.has_independent_columns

    @property
    def has_row_lengths(self) -> bool:
        """Whether rows have a length, as texts have: the number of words, or the sum of counts."""
        return False

    def leave_one_out(self, statistic: Any) -> Scorer:
        """A function that scores each row by the estimate without this row.

        Without a closed form, the density is estimated again for each row.
        """
        from verosim.densities.leave_one_out import refit

        return refit.scorer(self, statistic)

    @classmethod
    def estimate_family(
        cls, densities: Sequence[Any], statistic: Any, quiet: bool = False
    ) -> list[Params]:
        """Estimate several densities of this class; a subclass can share work between them.

        With `quiet`, singular covariances give no warning.
        """
        return [
            density.estimate_quietly(statistic) if quiet else density.estimate(statistic)
            for density in densities
        ]


def estimate_all(densities: Sequence[Density], statistic: Any, quiet: bool = False) -> list[Params]:
    """Estimate several densities from one statistic; densities of one class share work.

    With `quiet`, singular covariances give no warning.

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
        found = family.estimate_family([densities[i] for i in at], statistic, quiet)
        out.update(zip(at, found, strict=True))
    return [out[i] for i in range(len(densities))]


def into(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """The array `out`, or a new array of this shape if `out` is None."""
    return np.empty(shape) if out is None else out


def equal_parts(log_density: np.ndarray, d: int) -> np.ndarray:
    """(n, C, d) contributions of d columns to (n, C), if the density does not split by column."""
    return np.repeat(log_density[:, :, None] / d, d, axis=2)
