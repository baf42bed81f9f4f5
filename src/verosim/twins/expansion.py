"""The features in which a generative model's log-odds are linear, and their weights in closed form.

    log p(k | x) = w_kᵀφ(x) + b_k + what classes share

φ(x) is x for one shared covariance, x and its squares for a variance per class, x and all products
for a covariance per class, indicators for categories and bins, amounts for counts. Logistic
regression on φ is the discriminative twin: the same surfaces, other weights.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from verosim import kernels
from verosim.axes import Columns, Vocabulary
from verosim.bayes.boundary import precision_of
from verosim.data import SparseRows
from verosim.densities import DiagonalParams, FullParams, not_a_number
from verosim.densities.columns import ColumnParams
from verosim.densities.discrete import CodeParams
from verosim.densities.gaussian import Located
from verosim.densities.histogram import CellParams
from verosim.densities.poisson import PoissonParams
from verosim.densities.product import ProductParams
from verosim.densities.text import TextParams
from verosim.errors import VerosimError
from verosim.stats import Moments, Product, Statistic

MISSING = "{} is missing"


@dataclass(frozen=True)
class Expansion(ABC):
    """φ, and the generative model's weights on it."""

    names: tuple[str, ...]  # F of them
    coef: np.ndarray  # (C, F)
    bias: np.ndarray  # (C,) without the priors
    scale: np.ndarray  # (F,) the unit in which a weight is penalised

    @abstractmethod
    def features(self, block: Any) -> Any:
        """(n, F) of rows as the densities read them: an array, or CSR."""

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """The intercepts as people read them."""
        return bias


@dataclass(frozen=True)
class Centred(Expansion):
    """Features of z = x − m, m near the middle of the data; a missing cell has z = 0."""

    pivot: np.ndarray  # (d,)
    centre: np.ndarray  # (d,) m = pivot + centre
    columns: Columns
    gaps: bool  # whether missing cells have features of their own

    def features(self, block: Any) -> np.ndarray:
        dense = block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block
        Z = np.empty(dense.shape)
        kernels.centre_rows(dense, self.pivot, self.centre, Z)
        holes = np.isnan(Z)
        if np.isinf(Z).any() or (not self.gaps and holes.any()):
            error = not_a_number(dense, self.columns, 0)
            if error is not None:
                raise VerosimError(
                    error.what,
                    "full covariances weigh a missing cell in no linear way; GaussianNB, NaiveLDA "
                    "and NaiveBayes do.",
                )
        Z[holes] = 0.0
        parts = self.powers(Z)
        return np.concatenate([*parts, holes] if self.gaps else parts, axis=1)

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        return [Z]

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        d = len(self.pivot)
        return bias - coef[:, :d] @ (self.pivot + self.centre)


class Squares(Centred):
    """z and z², column by column."""

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        return [Z, Z * Z]

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return bias  # of features about the middle


class Products(Squares):
    """z and every z_i z_j."""

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        i, j = np.triu_indices(Z.shape[1])
        return [Z, Z[:, i] * Z[:, j]]


@dataclass(frozen=True)
class Amounts(Expansion):
    """Amounts of columns, of which a missing cell has none."""

    def features(self, block: Any) -> Any:
        if not isinstance(block, SparseRows):
            return sparse.csr_matrix(np.where(np.isnan(block), 0.0, block))
        stored = block.stored
        amounts = np.nan_to_num(block.data[stored].astype(np.float64), nan=0.0)
        starts = block.indptr - block.indptr[0]
        return sparse.csr_matrix((amounts, block.indices[stored], starts), shape=block.shape)


@dataclass(frozen=True)
class Presence(Expansion):
    """Whether a column exceeds a threshold, and whether it is missing."""

    threshold: float

    def features(self, block: Any) -> Any:
        if not isinstance(block, SparseRows):
            there = block > np.float64(self.threshold)
            return sparse.csr_matrix(np.hstack([there, np.isnan(block)]).astype(np.float64))
        data = block.data[block.stored]
        columns = block.indices[block.stored] + np.where(np.isnan(data), block.columns, 0)
        there = ((data > self.threshold) | np.isnan(data)).astype(np.float64)
        shape = (len(block), 2 * block.columns)
        return sparse.csr_matrix((there, columns, block.indptr - block.indptr[0]), shape=shape)


@dataclass(frozen=True)
class Indicators(Expansion):
    """One feature for each value or bin of each column, and one for a value never seen."""

    params: CodeParams

    def features(self, block: Any) -> Any:
        codes, _ = self.params.codes.encode(block)  # (n, columns)
        there = codes >= 0
        counts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        places = codes[there]
        shape = (len(codes), len(self.names))
        return sparse.csr_matrix((np.ones(len(places)), places, counts), shape=shape)


@dataclass(frozen=True)
class Occurrences(Expansion):
    """How often each known token occurs in a text."""

    counter: CountVectorizer

    def features(self, block: Any) -> Any:
        texts = [block.text(i) or "" for i in range(len(block))]
        return self.counter.transform(texts).astype(np.float64)


@dataclass(frozen=True)
class Side(Expansion):
    """Independent parts, side by side."""

    parts: dict[str, Expansion]

    def features(self, block: Any) -> Any:
        found = [part.features(block[name]) for name, part in self.parts.items()]
        if all(isinstance(one, np.ndarray) for one in found):
            return np.concatenate(found, axis=1)
        return sparse.hstack(found, format="csr")


# From parameters to features ---------------------------------------------------------------------


@singledispatch
def expansion(params: Any, statistic: Statistic) -> Expansion:
    """φ of a model, by its parameters; the statistic says which columns have missing cells."""
    raise VerosimError(
        f"{type(params).__name__} has no features in which it is linear.",
        "LDA, QDA, RDA, NaiveLDA and the naive Bayes models have.",
    )


@expansion.register
def _(params: FullParams, statistic: Statistic) -> Expansion:
    names = tuple(statistic.axes.columns)
    scale, common = _spread(params, params.covariances())
    if params.shared:
        coef, bias = params.linear
        return Centred(names, coef, bias, scale, *common, statistic.axes.columns, False)
    shift = params.reference[2]
    i, j = np.triu_indices(len(names))
    rows, constants = [], []
    for k in range(len(shift)):
        precision, log_det = precision_of(params, k)
        linear = precision @ shift[k]
        products = -0.5 * precision[i, j] * np.where(i == j, 1.0, 2.0)
        rows.append(np.concatenate([linear, products]))
        constants.append(-0.5 * log_det - 0.5 * float(shift[k] @ linear))
    squares = tuple(f"{names[a]}²" if a == b else f"{names[a]}·{names[b]}"
                    for a, b in zip(i.tolist(), j.tolist(), strict=True))  # fmt: skip
    return Products(
        names + squares, np.array(rows), np.array(constants),
        np.concatenate([scale, scale[i] * scale[j]]), *common, statistic.axes.columns, False,
    )  # fmt: skip


@expansion.register
def _(params: DiagonalParams, statistic: Moments) -> Expansion:
    columns = statistic.axes.columns
    names = tuple(columns)
    variance = np.broadcast_to(params.variance, params.pivot.shape)
    scale, common = _spread(params, variance)
    shift, precision = params.reference[2], np.broadcast_to(params.precision, variance.shape)
    linear = precision * shift  # (C, d)
    constant = -0.5 * linear * shift + (0.0 if params.shared else params.log_cell)
    marks, ones = tuple(MISSING.format(name) for name in names), np.ones(len(names))
    if params.shared:
        return Centred(
            names + marks, np.hstack([linear, -constant]), constant.sum(axis=1),
            np.concatenate([scale, ones]), *common, columns, True,
        )  # fmt: skip
    return Squares(
        names + tuple(f"{name}²" for name in names) + marks,
        np.hstack([linear, -0.5 * precision, -constant]), constant.sum(axis=1),
        np.concatenate([scale, scale**2, ones]), *common, columns, True,
    )  # fmt: skip


def _spread(params: Located, covariance: np.ndarray) -> tuple[np.ndarray, tuple[Any, Any]]:
    """(d,) overall deviations, and the middle of the data as pivot and centre."""
    pivot, centre, shift = params.reference
    if isinstance(params, FullParams):
        covariance = np.diagonal(covariance, axis1=-2, axis2=-1)  # (C, d) or (d,)
    within = np.broadcast_to(covariance, shift.shape)
    deviation = np.sqrt(params.share @ (within + shift**2))
    return np.where(deviation > 0, deviation, 1.0), (pivot, centre)


@expansion.register
def _(params: PoissonParams, statistic: Moments) -> Expansion:
    columns = statistic.axes.columns
    names = tuple(columns)
    d, log_rate = len(names), params._log_rate
    mean = params.rate.mean(axis=0)
    marks = tuple(MISSING.format(name) for name in names)
    constant = log_rate * mean - params.rate  # of a count at its mean
    return Centred(
        names + marks, np.hstack([log_rate, -constant]), constant.sum(axis=1),
        np.concatenate([np.sqrt(np.maximum(mean, 1e-12)), np.ones(d)]),
        mean, np.zeros(d), columns, True,
    )  # fmt: skip


@expansion.register
def _(params: ColumnParams, statistic: Statistic) -> Expansion:
    names = tuple(statistic.axes.columns)
    if not params.presence:
        return Amounts(names, params.table.T, params.base, np.ones(len(names)))
    return Presence(
        names + tuple(MISSING.format(name) for name in names),
        np.hstack([params.table.T, -params.absent.T]), params.base, np.ones(2 * len(names)),
        params.threshold,
    )  # fmt: skip


@expansion.register
def _(params: CodeParams, statistic: Statistic) -> Expansion:
    if isinstance(params, CellParams):
        raise VerosimError(
            "A joint histogram has a share for every cell and class: logistic regression on its "
            "cells would be the same model.",
            "twin(HistogramNB()…) regresses on the bins of each column.",
        )
    codes, columns = params.codes, statistic.axes.columns
    names = []
    for code in range(codes.size):
        column, value = codes.label(code, columns)
        names.append(f"{column} = {value}")
    names += [f"{name} is new" for name in columns]
    C = params.table.shape[1]
    return Indicators(tuple(names), params.table.T, np.zeros(C), np.ones(len(names)), params)


@expansion.register
def _(params: TextParams, statistic: Statistic) -> Expansion:
    if not isinstance(params.codes, Vocabulary):
        raise VerosimError(
            "Buckets of hashed tokens have no names to regress on.", "fit TextNB with hashed=None."
        )
    tokens = params.codes.tokens()
    by = params.tokenizer
    counter = CountVectorizer(
        vocabulary={token: i for i, token in enumerate(tokens)},
        ngram_range=by.ngrams, lowercase=by.lowercase, binary=params.tokens.presence,
    )  # fmt: skip
    return Occurrences(
        tuple(tokens), params.tokens.table.T, params.tokens.base, np.ones(len(tokens)), counter
    )


@expansion.register
def _(params: ProductParams, statistic: Product) -> Expansion:
    parts = {name: expansion(part, statistic.parts[name]) for name, part in params.parts.items()}
    every = parts.values()
    return Side(
        tuple(name for part in every for name in part.names),
        np.hstack([part.coef for part in every]),
        np.sum([part.bias for part in every], axis=0),
        np.concatenate([part.scale for part in every]),
        parts,
    )
