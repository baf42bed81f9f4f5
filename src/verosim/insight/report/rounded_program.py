"""The program of a page, in which no number shows the value of a few rows.

    cuts and quantiles   rounded by the rule of `shown_numbers`; the others are left out
    means                from a pivot that is a round number, not the cell of a row
    fewer than 5 rows    a class has the mean and the deviation of all other rows

The scores are nearly those of the model: a rounded cut moves a few rows to the bin next to theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.bayes.program import Program
from verosim.data.code_readings import BinReading
from verosim.data.readings import CellReading, FlagReading
from verosim.densities.terms import (
    BinsTerm,
    GaussianTerm,
    LinearTerm,
    LogSumExpTerm,
    PoissonTerm,
    PolynomialTerm,
    QuadraticTerm,
    Term,
    WidthTerm,
)
from verosim.insight.report.inside import with_changed_inside
from verosim.insight.report.shown_numbers import (
    LEAST_ROWS,
    RowsOfNumbers,
    ShownBins,
    pooled_moments,
    shown_moments,
)
from verosim.kernels.constants import LOG_2PI
from verosim.kinds.design_readings import ScoreReading, StandardReading


@dataclass
class Rounded:
    """Rounds the numbers of a program, and notes whether scores change."""

    numbers: RowsOfNumbers
    changed: bool = False

    def program(self, program: Program) -> Program:
        """The program that a page may have."""
        readings = tuple(self._reading(one) for one in program.readings)
        share = np.ones(len(program.classes))
        terms = tuple(self._term(one, program.readings, share) for one in program.terms)
        return replace(program, readings=readings, terms=terms)

    # Readings ------------------------------------------------------------------------------------

    def _reading(self, one: CellReading) -> CellReading:
        column = next(iter(one.inputs), "")
        if isinstance(one, BinReading) and not isinstance(one.of, FlagReading):
            cuts = tuple(self.numbers.shown_bins(column, one.cuts).cuts.tolist())
            self.changed |= cuts != one.cuts
            return replace(one, cuts=cuts)
        if isinstance(one, ScoreReading):
            self.changed = True
            return replace(one, quantiles=self.numbers.quantiles(column, one.quantiles))
        if isinstance(one, StandardReading):
            if self.numbers.present.get(column, LEAST_ROWS) >= LEAST_ROWS:
                return one
            self.changed = True
            mean, deviation = shown_moments(one.mean, one.deviation)
            return replace(one, mean=mean, deviation=deviation)
        return with_changed_inside(one, self._reading)

    # Terms ---------------------------------------------------------------------------------------

    def _term(self, term: Term, readings: tuple[CellReading, ...], share: np.ndarray) -> Term:
        """A term; `share` (C,) is the part of the rows of each class that it describes."""
        mine = tuple(readings[j] for j in term.reads)
        inner: tuple[Term, ...] | None = getattr(term, "terms", None)
        if inner is not None:
            shares = [share] * len(inner)
            if isinstance(term, LogSumExpTerm):
                shares = [share * np.exp(weight) for weight in term.log_weight]
            terms = tuple(
                self._term(one, mine, part) for one, part in zip(inner, shares, strict=True)
            )
            return replace(term, terms=terms)  # type: ignore[call-arg]
        if isinstance(term, GaussianTerm | PoissonTerm | QuadraticTerm):
            every = [self.numbers.with_values(next(iter(one.inputs)), len(share)) for one in mine]
            rows = np.min(every, axis=0) * share
            return self._of_rows(term, np.where(np.isnan(rows), 0.0, rows))
        if isinstance(term, LinearTerm):
            return _about_round_numbers(term)
        if isinstance(term, PolynomialTerm):
            pivot = round_pivot(term.pivot + term.centre, np.abs(term.centre))
            return replace(term, pivot=pivot, centre=(term.pivot - pivot) + term.centre)
        if isinstance(term, BinsTerm):
            self.changed = True
            cuts = term.edges[1:-1].tolist()
            return _in_shown_bins(term, self.numbers.shown_bins(next(iter(mine[0].inputs)), cuts))
        if isinstance(term, WidthTerm) and isinstance(mine[0], BinReading):
            self.changed = True
            shown = self.numbers.shown_bins(next(iter(mine[0].inputs)), mine[0].cuts)
            rest = np.zeros(len(term.table) - shown.bins)  # of a missing cell
            return WidthTerm.of(
                term.reads[0], np.append(np.log(shown.widths), rest), term.table.shape[1]
            )
        return term

    def _of_rows(self, term: GaussianTerm | PoissonTerm | QuadraticTerm, rows: np.ndarray) -> Term:
        """A term with means, in which no class has those of few of its rows (C,)."""
        few = rows < LEAST_ROWS
        self.changed |= bool(few.any())
        rows = np.where(np.isinf(rows), LEAST_ROWS, rows)
        if isinstance(term, PoissonTerm):
            if not few.any():
                return term
            rate = term.rate[:, None]
            mean = pooled_moments(rate, np.zeros((len(rate), 1, 1)), rows)[0]
            return replace(term, rate=np.where(few, mean, term.rate))
        if isinstance(term, GaussianTerm):
            variance = 1.0 / term.precision
            mean = term.pivot + term.offset
            pivot = round_pivot(mean, np.sqrt(variance))
            offset = (term.pivot - pivot) + term.offset
            if few.any():
                one, two = pooled_moments(mean[:, None], variance[:, None, None], rows)
                pivot, offset = np.where(few, one, pivot), np.where(few, 0.0, offset)
                variance = np.where(few, max(float(two[0, 0]), np.finfo(float).tiny), variance)
            precision = np.where(few, 1.0 / variance, term.precision)
            constant = np.where(few, -0.5 * (LOG_2PI + np.log(variance)), term.constant)
            return replace(term, pivot=pivot, offset=offset, precision=precision, constant=constant)
        return _quadratic(term, rows, few)


def _in_shown_bins(term: BinsTerm, shown: ShownBins) -> BinsTerm:
    """The histogram with the bins of a page: the shares of the rows over widths that are shown.

    Exact widths would give all edges, and the largest and the smallest number. A term without
    shares, such as that of a twin, has the coefficients of the heaviest bins.
    """
    width = np.diff(term.edges)[:, None] if len(term.edges) > 1 else np.ones((1, 1))
    shares = np.exp(term.table) * np.where(width > 0, width, 1.0)
    if np.allclose(shares.sum(axis=0), 1.0):
        with np.errstate(divide="ignore"):
            table = np.log(shown.summed(shares.T).T) - np.log(np.diff(shown.edges))[:, None]
    else:
        table = term.table[shown.heaviest]
    return replace(term, edges=shown.edges, table=table)


def _quadratic(term: QuadraticTerm, rows: np.ndarray, few: np.ndarray) -> QuadraticTerm:
    """The Gaussians about round pivots. A class of few rows has the Gaussian of all others."""
    roots = np.linalg.inv(term.whitener)
    sigma = roots @ np.swapaxes(roots, 1, 2)  # (S, d, d)
    squares = np.broadcast_to(sigma, (len(rows), *sigma.shape[1:]))
    mean = term.pivot + term.offset
    pivot = round_pivot(mean, np.sqrt(np.einsum("cjj->cj", squares)))
    offset = (term.pivot - pivot) + term.offset
    if not few.any():
        return replace(term, pivot=pivot, offset=offset)
    centre, spread = pooled_moments(mean, squares, rows)
    pivot, offset = np.where(few[:, None], centre, pivot), np.where(few[:, None], 0.0, offset)
    if len(sigma) == 1 and not few.all():
        return replace(term, pivot=pivot, offset=offset)
    at = few if len(sigma) > 1 else np.ones(1, dtype=bool)
    unit = np.sqrt(np.maximum(spread.diagonal(), np.finfo(float).tiny))
    root = np.linalg.cholesky(spread / (unit[:, None] * unit) + 1e-9 * np.eye(len(unit)))
    whitener, log_det = term.whitener.copy(), term.log_det.copy()
    whitener[at] = np.linalg.inv(root) / unit
    log_det[at] = 2 * np.log(root.diagonal() * unit).sum()
    covariance: Any = None
    if term.covariance is not None:
        covariance = term.covariance.copy()
        covariance[at] = spread
    return replace(
        term, pivot=pivot, offset=offset, whitener=whitener, log_det=log_det, covariance=covariance
    )


def _about_round_numbers(term: LinearTerm) -> LinearTerm:
    """The same linear function without its reference point, which may be the cell of a row."""
    mean = term.pivot + term.centre
    slope = np.abs(term.coef).max(axis=0)
    pivot = round_pivot(mean, np.divide(1.0, slope, out=np.abs(mean), where=slope > 0))
    bias = term.bias + term.coef @ ((pivot - term.pivot) - term.centre)
    return replace(term, pivot=pivot, centre=np.zeros(len(pivot)), bias=bias)


def round_pivot(mean: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Round numbers next to the means; `size` is a length in which rounding errors are small."""
    known = (size > 0) & np.isfinite(size)
    unit = 10.0 ** np.floor(np.log10(np.where(known, size, 1.0)))
    out: np.ndarray = np.where(known, np.rint(mean / unit) * unit, mean)
    return out
