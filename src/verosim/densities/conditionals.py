"""Exact conditional distributions of missing cells, given the cells of the row that have values.

    p(x_m | x_o) = Σ_k p(k | x_o) p(x_m | x_o, k)

o are the columns with values and m the missing ones. If the columns are independent within a class,
p(x_m | x_o, k) = p(x_m | k). A Gaussian with the whitener W has

    x_m | x_o, k ~ N(μ_m − R⁻¹Qᵀ W_o (x_o − μ_o), (RᵀR)⁻¹),   Q R = W_m

where W_o and W_m are columns of W. This needs no difference of covariances.
Reference: Anderson (2003), An Introduction to Multivariate Statistical Analysis, §2.5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from verosim.axes import Columns
from verosim.cached import cached_property
from verosim.densities.missing_cells import rows_by_pattern
from verosim.densities.modes import gaussian_mixture_modes
from verosim.linalg import one_blas_thread

if TYPE_CHECKING:
    from verosim.densities.base import Params
    from verosim.densities.columns import ColumnParams
    from verosim.densities.discrete import CodeParams
    from verosim.densities.full_params import FullParams
    from verosim.densities.histogram import BinParams
    from verosim.densities.located import Located
    from verosim.densities.mixture import MixtureParams
    from verosim.densities.poisson import PoissonParams
    from verosim.densities.product import ProductParams

MEAN, MODE, DRAW = "mean", "mode", "draw"
WIDEST_SEARCH = 4096  # whole numbers among which the mode of a mixture of Poissons is searched


class Conditionals(ABC):
    """The conditional distributions of the missing cells of rows.

    Rows are blocks in the form that `Params.read` returns. Values are (n, d) arrays in the form
    that `Params.sample` returns. Values of cells that are not missing are kept.
    """

    @abstractmethod
    def log_marginal(self, block: Any) -> np.ndarray:
        """(n, C) log p(x_o | k)."""

    @abstractmethod
    def missing(self, block: Any) -> Any:
        """(n, d) bool: the missing cells."""

    @abstractmethod
    def drawn(self, block: Any, classes: np.ndarray, rng: np.random.Generator) -> Any:
        """(n, d) rows with draws from p(x_m | x_o, k), for class numbers (n,).

        A block of one row is used for all classes.
        """

    @abstractmethod
    def means(self, block: Any, posterior: np.ndarray) -> Any:
        """(n, d) rows with E[x_m | x_o], for posteriors (n, C); modes of columns without means."""

    @abstractmethod
    def modes(self, block: Any, posterior: np.ndarray) -> Any:
        """(n, d) rows with the most probable value of each missing cell."""

    def outside(self, block: Any, columns: Columns) -> str:
        """Why a cell of one row is outside the support, for a message; "" if none is."""
        return ""


# Independent columns -----------------------------------------------------------------------------


class Independent(Conditionals):
    """Columns that are independent within a class: other columns matter only by the posterior."""

    params: Any

    def log_marginal(self, block: Any) -> np.ndarray:
        found: np.ndarray = self.params.log_density(block)
        return found

    def missing(self, block: Any) -> np.ndarray:
        return np.isnan(block)

    def cells(self, block: Any) -> np.ndarray:
        """(n, d) the cells with values, in the form of samples."""
        found: np.ndarray = block
        return found

    def drawn(self, block: Any, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._with_cells(block, self.params.sample(classes, rng))

    def means(self, block: Any, posterior: np.ndarray) -> np.ndarray:
        return self._with_cells(block, self.mean_values(posterior))

    def modes(self, block: Any, posterior: np.ndarray) -> np.ndarray:
        return self._with_cells(block, self.mode_values(posterior, self.missing(block)))

    def _with_cells(self, block: Any, values: np.ndarray) -> np.ndarray:
        return np.where(self.missing(block), values, self.cells(block))

    @abstractmethod
    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        """(n, d) Σ_k p(k | x_o) E[x | k]."""

    @abstractmethod
    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """(n, d) the most probable values; only those of missing cells are used."""


@dataclass(frozen=True, eq=False)
class DiagonalConditionals(Independent):
    """Gaussians with diagonal covariances."""

    params: Located

    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        pivot, shift = self.params.about_one_pivot
        return pivot + posterior @ shift

    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        pivot, shift = self.params.about_one_pivot
        variance = np.broadcast_to(self.params.variances, shift.shape)
        out = np.zeros(missing.shape)
        for j in np.flatnonzero(missing.any(axis=0)).tolist():
            at = missing[:, j]
            found = gaussian_mixture_modes(posterior[at], shift[None, :, j], variance[None, :, j])
            out[at, j] = pivot[j] + found
        return out


@dataclass(frozen=True, eq=False)
class PoissonConditionals(Independent):
    """Poisson columns."""

    params: PoissonParams

    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        return posterior @ self.params.rate

    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        out = np.zeros(missing.shape)
        for j in np.flatnonzero(missing.any(axis=0)).tolist():
            rate = self.params.rate[:, j]
            # Each component increases below its rate and decreases above it.
            values = np.arange(np.floor(rate.min()), np.floor(rate.max()) + 1)
            if len(values) > WIDEST_SEARCH:
                values = np.unique(np.floor(rate))
            log_rate = np.log(np.where(rate > 0, rate, 1.0))[:, None]
            mass = np.exp(values * log_rate - rate[:, None] - gammaln(values + 1))  # (C, values)
            out[:, j] = values[(posterior @ mass).argmax(axis=1)]
        return out

    def outside(self, block: Any, columns: Columns) -> str:
        for j in np.flatnonzero(~np.isnan(block[0])).tolist():
            value = block[0, j]
            if value < 0 or value != np.floor(value):
                return f"column {columns.name(j)!r} has counts, and {value:g} is not a count"
        return ""


@dataclass(frozen=True, eq=False)
class PresenceConditionals(Independent):
    """Columns that are present or absent. They are categories, so that the mean is the mode."""

    params: ColumnParams

    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        share = posterior @ np.exp(self.params.log_mass).T  # (n, d)
        return self.params.threshold + (share > 0.5).astype(np.float64)

    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        return self.mean_values(posterior)


@dataclass(frozen=True, eq=False)
class CategoryConditionals(Independent):
    """Columns of categories. A category has no mean, so that the mode is used instead."""

    params: CodeParams

    def _codes(self, block: Any) -> np.ndarray:
        codes: np.ndarray = self.params.codes.encode(block)[0]
        return codes

    def missing(self, block: Any) -> np.ndarray:
        return self._codes(block) < 0

    def cells(self, block: Any) -> np.ndarray:
        codes = self._codes(block)
        known = np.where(codes < self.params.codes.size, codes, -1)
        return self.params.values(known, np.random.default_rng(0))

    @cached_property
    def shares(self) -> np.ndarray:
        """(K, C) p(value | k), with sum 1 over the values of a column."""
        mass, first = np.exp(self.params.log_mass()), self.params.codes.first
        for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
            mass[a:b] /= np.maximum(mass[a:b].sum(axis=0), np.finfo(float).tiny)
        return mass

    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        return self._most_probable(posterior, self.shares)

    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        return self._most_probable(posterior, self.shares)

    def _most_probable(self, posterior: np.ndarray, shares: np.ndarray) -> np.ndarray:
        codes, first = self.params.codes, self.params.codes.first
        best = np.full((len(posterior), len(first) - 1), -1, dtype=np.intp)
        for j, (a, b) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
            if b > a:
                values = shares[a:b] - np.array(codes.is_bucket[a:b])[:, None]
                best[:, j] = a + (posterior @ values.T).argmax(axis=1)
        return self._values(best)

    def _values(self, codes: np.ndarray) -> np.ndarray:
        return self.params.values(codes, np.random.default_rng(0))

    def outside(self, block: Any, columns: Columns) -> str:
        codes = self.params.codes
        for j, code in enumerate(self._codes(block)[0].tolist()):
            if code >= codes.size:
                return f"no training row has this value in column {columns.name(j)!r}"
        return ""


@dataclass(frozen=True, eq=False)
class BinConditionals(CategoryConditionals):
    """Histograms: within a bin, all values have the same density."""

    params: BinParams

    def missing(self, block: Any) -> np.ndarray:
        return np.isnan(block)

    def cells(self, block: Any) -> np.ndarray:
        found: np.ndarray = block
        return found

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        bins: Any = self.params.codes
        low, high = bins.bounds()
        return low, high

    def mean_values(self, posterior: np.ndarray) -> np.ndarray:
        low, high = self._edges
        column = self.params.codes.column_of()
        middles = ((low + high) / 2)[:, None] * self.shares  # (K, C)
        means = np.zeros((len(self.params.codes.first) - 1, self.shares.shape[1]))
        np.add.at(means, column, middles)
        return posterior @ means.T

    def mode_values(self, posterior: np.ndarray, missing: np.ndarray) -> np.ndarray:
        low, high = self._edges
        width = np.where(high > low, high - low, 1.0)
        return self._most_probable(posterior, self.shares / width[:, None])

    def _values(self, codes: np.ndarray) -> np.ndarray:
        low, high = self._edges
        return (low[codes] + high[codes]) / 2

    def outside(self, block: Any, columns: Columns) -> str:
        low, high = self._edges
        first = self.params.codes.first
        for j in np.flatnonzero(~np.isnan(block[0])).tolist():
            a, b = low[first[j]], high[first[j + 1] - 1]
            if not a <= block[0, j] <= b:
                return f"the histogram of column {columns.name(j)!r} is from {a:g} to {b:g}"
        return ""


# Full Gaussians ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FullConditionals(Conditionals):
    """Gaussians with full covariances."""

    params: FullParams

    @cached_property
    def _marginal(self) -> FullParams:
        return replace(self.params, marginalise=True)

    def log_marginal(self, block: np.ndarray) -> np.ndarray:
        return self._marginal.log_density(block)

    def missing(self, block: np.ndarray) -> np.ndarray:
        return np.isnan(block)

    def _patterns(self, block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each pattern with missing cells: its rows, the columns with values that are used, and
        the missing columns."""
        for at, seen in rows_by_pattern(block):
            hidden = np.setdiff1d(np.arange(block.shape[1]), seen)
            if len(hidden):
                yield at, seen[self.params.used[seen]], hidden

    def _given(
        self, rows: np.ndarray, seen: np.ndarray, hidden: np.ndarray, c: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) E[x_m | x_o, c] − μ_m, and (m, m) R⁻¹ of the class, from rows (n, d)."""
        params = self.params
        used = params.used[hidden]
        W = params.whitener[0 if params.shared else c]
        Q, R = np.linalg.qr(W[:, hidden[used]])
        inverse = np.zeros((len(hidden), len(hidden)))
        inverse[np.ix_(used, used)] = solve_triangular(R, np.eye(len(R)))
        z = (rows[:, seen] - params.pivot[c, seen]) - params.offset[c, seen]
        shift = np.zeros((len(rows), len(hidden)))
        shift[:, used] = -(z @ W[:, seen].T) @ Q @ inverse[np.ix_(used, used)].T
        return shift, inverse

    @one_blas_thread
    def drawn(self, block: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = np.repeat(block, len(classes), axis=0) if len(block) == 1 else block
        out = out.astype(np.float64)
        noise = rng.standard_normal(out.shape)
        for at, seen, hidden in self._patterns(out):
            for c in np.unique(classes[at]).tolist():
                rows = at[classes[at] == c]
                shift, inverse = self._given(out[rows], seen, hidden, c)
                shift += noise[np.ix_(rows, hidden)] @ inverse.T
                mean = self.params.offset[c, hidden] + shift
                out[np.ix_(rows, hidden)] = self.params.pivot[c, hidden] + mean
        return out

    @one_blas_thread  # the matrices are many and small
    def means(self, block: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        pivot, place = self.params.about_one_pivot
        out = block.astype(np.float64)
        for at, seen, hidden in self._patterns(block):
            filled = np.zeros((len(at), len(hidden)))
            for c in np.flatnonzero(posterior.any(axis=0)).tolist():
                shift, _ = self._given(block[at], seen, hidden, c)
                filled += posterior[at, c, None] * (place[c, hidden] + shift)
            out[np.ix_(at, hidden)] = pivot[hidden] + filled
        return out

    @one_blas_thread  # the matrices are many and small
    def modes(self, block: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        pivot, place = self.params.about_one_pivot
        out = block.astype(np.float64)
        C = posterior.shape[1]
        for at, seen, hidden in self._patterns(block):
            means, variances = np.empty((len(at), C, len(hidden))), np.empty((1, C, len(hidden)))
            for c in range(C):
                shift, inverse = self._given(block[at], seen, hidden, c)
                means[:, c] = place[c, hidden] + shift
                variances[0, c] = (inverse**2).sum(axis=1)
            for i, j in enumerate(hidden.tolist()):
                found = gaussian_mixture_modes(posterior[at], means[:, :, i], variances[:, :, i])
                out[at, j] = pivot[j] + found
        return out


@dataclass(frozen=True, eq=False)
class MixtureConditionals(Conditionals):
    """Mixtures of full Gaussians: the components take the place of classes."""

    params: MixtureParams

    @cached_property
    def _components(self) -> FullConditionals:
        return FullConditionals(self.params.components)

    def _log_components(self, block: np.ndarray) -> np.ndarray:
        """(n, G) log w_g p(x_o | g)."""
        return self._components.log_marginal(block) + self.params.log_share

    def log_marginal(self, block: np.ndarray) -> np.ndarray:
        scores = self._log_components(block)
        starts = self.params.starts[:-1]
        top = np.maximum.reduceat(scores, starts, axis=1)  # (n, C)
        rest = np.exp(scores - top[:, self.params.owner])
        return top + np.log(np.add.reduceat(rest, starts, axis=1))

    def missing(self, block: np.ndarray) -> np.ndarray:
        return np.isnan(block)

    def _within(self, block: np.ndarray) -> np.ndarray:
        """(n, G) p(g | x_o, k) for the class k of each component g."""
        return np.exp(self._log_components(block) - self.log_marginal(block)[:, self.params.owner])

    def drawn(self, block: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        within = np.broadcast_to(self._within(block), (len(classes), len(self.params.owner)))
        own = np.where(self.params.owner == classes[:, None], within, 0.0)
        reached = np.cumsum(own, axis=1)
        wanted = rng.random(len(classes)) * reached[:, -1]
        return self._components.drawn(block, (reached <= wanted[:, None]).sum(axis=1), rng)

    def means(self, block: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        return self._components.means(block, posterior[:, self.params.owner] * self._within(block))

    def modes(self, block: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        return self._components.modes(block, posterior[:, self.params.owner] * self._within(block))


# Parts -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WholeConditionals(Conditionals):
    """A part that is one column, such as a text: it is given as a whole, or drawn as a whole."""

    params: Params

    def log_marginal(self, block: Any) -> np.ndarray:
        return self.params.log_density(block)

    def missing(self, block: Any) -> None:
        """None: a missing text is an empty text, and nothing replaces it."""

    def drawn(self, block: Any, classes: np.ndarray, rng: np.random.Generator) -> Any:
        return self.params.sample(classes, rng)

    def means(self, block: Any, posterior: np.ndarray) -> None:
        """None: a text has no mean."""

    def modes(self, block: Any, posterior: np.ndarray) -> None:
        """None: the most probable text is not a useful value."""


@dataclass(frozen=True, eq=False)
class ProductConditionals(Conditionals):
    """Independent parts. Results are dicts by the names of the parts."""

    parts: Mapping[str, Conditionals]
    columns: Mapping[str, Columns]

    @classmethod
    def of(cls, params: ProductParams) -> ProductConditionals:
        return cls(
            {name: p.conditionals or WholeConditionals(p) for name, p in params.parts.items()},
            params.columns,
        )

    def log_marginal(self, block: Mapping[str, Any]) -> np.ndarray:
        found = [part.log_marginal(block[name]) for name, part in self.parts.items()]
        total: np.ndarray = np.sum(found, axis=0)
        return total

    def missing(self, block: Mapping[str, Any]) -> dict[str, Any]:
        return {name: part.missing(block[name]) for name, part in self.parts.items()}

    def drawn(
        self, block: Mapping[str, Any], classes: np.ndarray, rng: np.random.Generator
    ) -> dict[str, Any]:
        return {name: part.drawn(block[name], classes, rng) for name, part in self.parts.items()}

    def means(self, block: Mapping[str, Any], posterior: np.ndarray) -> dict[str, Any]:
        return {name: part.means(block[name], posterior) for name, part in self.parts.items()}

    def modes(self, block: Mapping[str, Any], posterior: np.ndarray) -> dict[str, Any]:
        return {name: part.modes(block[name], posterior) for name, part in self.parts.items()}

    def outside(self, block: Mapping[str, Any], columns: Columns) -> str:
        found = (p.outside(block[name], self.columns[name]) for name, p in self.parts.items())
        return next(filter(None, found), "")
