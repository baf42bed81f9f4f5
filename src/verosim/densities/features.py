"""The features φ(x) in which log p(x | k) is linear, with the weights of the density.

    log p(x | k) = w_kᵀφ(x) + b_k + r(x)

where r(x) is the same for all classes. φ(x) is x for one shared covariance, x and its squares for
one variance per class, x and all products for one covariance per class, indicators for categories
and bins, and amounts for counts. Logistic regression on φ is the discriminative twin of the
density: it has boundaries of the same form with other weights.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from verosim import kernels
from verosim.axes import Codes, Columns, Vocabulary
from verosim.data import Documents, SparseRows, Tokenizer
from verosim.densities.base import not_a_number
from verosim.densities.code_terms import code_terms
from verosim.densities.terms import AmountsTerm, PolynomialTerm, PresenceTerm, Term, TokensTerm
from verosim.densities.token_terms import checked_tokenizer, token_rows
from verosim.errors import VerosimError
from verosim.stats.document_terms import document_terms

MISSING_FEATURE = "{} is missing"


@dataclass(frozen=True)
class Expansion(ABC):
    """The features φ(x) with their names, and the weights of the density on them."""

    names: tuple[str, ...]  # one name per feature, m in total
    coef: np.ndarray  # (C, m)
    bias: np.ndarray  # (C,) without the priors
    scale: np.ndarray  # (m,) the unit in which each weight is penalised

    @abstractmethod
    def features(self, block: Any) -> Any:
        """(n, m) the features of rows, as an array or a CSR matrix."""

    @property
    @abstractmethod
    def columns_of(self) -> np.ndarray:
        """(m, 2) the columns of the block that each feature is computed from, often the same."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns of the block."""

    @abstractmethod
    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        """Scores with weights (C, m) of the features, as the terms of a program."""

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """(C,) the intercepts for features that are not centred."""
        return bias


@dataclass(frozen=True)
class Deviations(Expansion):
    """The features z = x − (pivot + centre); a missing cell has z = 0."""

    pivot: np.ndarray  # (d,)
    centre: np.ndarray  # (d,) pivot + centre is near the mean of the data
    columns: Columns
    marks_missing: bool  # whether each column has one more feature that marks missing cells

    def features(self, block: Any) -> np.ndarray:
        dense = block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block
        Z = np.empty(dense.shape)
        kernels.centre_rows(dense, self.pivot, self.centre, Z)
        missing = np.isnan(Z)  # (n, d)
        if np.isinf(Z).any() or (not self.marks_missing and missing.any()):
            error = not_a_number(dense, self.columns, 0)
            if error is not None:
                raise VerosimError(
                    error.what,
                    "Use the twin of GaussianNB, NaiveLDA or NaiveBayes, which accepts missing "
                    "values, or fill the missing values.",
                )
        Z[missing] = 0.0
        parts = self.powers(Z)
        return np.concatenate([*parts, missing] if self.marks_missing else parts, axis=1)

    @property
    def columns_of(self) -> np.ndarray:
        return _same(np.tile(np.arange(len(self.pivot)), len(self.names) // len(self.pivot)))

    @property
    def width(self) -> int:
        return len(self.pivot)

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        d = self.width
        first, inner, last = np.split(coef, [d, len(self.names) - d * self.marks_missing], axis=1)
        missing = last if self.marks_missing else None
        if inner.shape[1] == d > 1:  # squares, but no products of two columns
            at = [slice(j, j + 1) for j in range(d)]
            return tuple(
                PolynomialTerm(
                    (j,), self.pivot[at[j]], self.centre[at[j]], first[:, at[j]], inner[:, at[j]],
                    None if missing is None else missing[:, at[j]],
                )
                for j in range(d)
            )  # fmt: skip
        products = inner if inner.size else None
        reads = tuple(range(d))
        return (PolynomialTerm(reads, self.pivot, self.centre, first, products, missing),)

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        """The features of centred rows Z (n, d), as blocks of columns."""
        return [Z]

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        d = len(self.pivot)
        return bias - coef[:, :d] @ (self.pivot + self.centre)


class Squares(Deviations):
    """The features z and z² of each column."""

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        return [Z, Z * Z]

    def at_zero(self, coef: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return bias  # the features stay centred


class SquaresAndProducts(Squares):
    """The features z and all products z_i z_j."""

    def powers(self, Z: np.ndarray) -> list[np.ndarray]:
        i, j = np.triu_indices(Z.shape[1])
        return [Z, Z[:, i] * Z[:, j]]

    @property
    def columns_of(self) -> np.ndarray:
        d = len(self.pivot)
        return np.concatenate([_same(np.arange(d)), np.stack(np.triu_indices(d), axis=1)])


@dataclass(frozen=True)
class Amounts(Expansion):
    """The amounts of the columns; a missing cell has amount 0."""

    @property
    def width(self) -> int:
        return len(self.names)

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        return (AmountsTerm(tuple(range(self.width)), np.ascontiguousarray(coef.T)),)

    @property
    def columns_of(self) -> np.ndarray:
        return _same(np.arange(len(self.names)))

    def features(self, block: Any) -> Any:
        if not isinstance(block, SparseRows):
            return sparse.csr_matrix(np.where(np.isnan(block), 0.0, block))
        stored = block.stored
        amounts = np.nan_to_num(block.data[stored].astype(np.float64), nan=0.0)
        starts = block.indptr - block.indptr[0]
        return sparse.csr_matrix((amounts, block.indices[stored], starts), shape=block.shape)


@dataclass(frozen=True)
class Presence(Expansion):
    """Two indicators per column: the value is above a threshold, and the value is missing."""

    threshold: float

    @property
    def columns_of(self) -> np.ndarray:
        return _same(np.tile(np.arange(self.width), 2))

    @property
    def width(self) -> int:
        return len(self.names) // 2

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        present, missing = np.split(coef, 2, axis=1)  # (C, d) each
        nothing, origin = np.zeros_like(present), np.zeros(self.width)
        reads, threshold = tuple(range(self.width)), float(self.threshold)
        return (
            *(PresenceTerm((j,), threshold, present[:, j], nothing[:, j]) for j in reads),
            PolynomialTerm(reads, origin, origin, nothing, missing=missing),
        )

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
    """One indicator per value or bin of each column, and one per column for unseen values."""

    codes: Codes

    @property
    def columns_of(self) -> np.ndarray:
        return _same(np.concatenate([self.codes.column_of(), np.arange(self.width)]))

    @property
    def width(self) -> int:
        return len(self.names) - self.codes.size

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        return code_terms(self.codes, np.ascontiguousarray(coef.T))

    def features(self, block: Any) -> Any:
        codes, _ = self.codes.encode(block)  # (n, d)
        there = codes >= 0
        counts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        places = codes[there]
        shape = (len(codes), len(self.names))
        return sparse.csr_matrix((np.ones(len(places)), places, counts), shape=shape)


@dataclass(frozen=True)
class TokenAmounts(Expansion):
    """The amount of each known token in a text: its count, 0 or 1, or its weight."""

    codes: Vocabulary
    tokenizer: Tokenizer
    weighting: str

    @property
    def columns_of(self) -> np.ndarray:
        return np.zeros((len(self.names), 2), dtype=np.intp)

    @property
    def width(self) -> int:
        return 1

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        if not len(self.names):
            return ()
        rows, by = token_rows(self.codes), checked_tokenizer(self.tokenizer)
        table = np.ascontiguousarray(coef.T)
        return (TokensTerm.of(by, self.weighting, rows, np.zeros(len(coef)), table),)

    def features(self, block: Documents) -> Any:
        terms = document_terms(block, self.codes, self.tokenizer, self.weighting)
        return sparse.csr_matrix(terms)


@dataclass(frozen=True)
class SideBySide(Expansion):
    """The features of independent parts, concatenated."""

    parts: dict[str, Expansion]

    @classmethod
    def of(cls, parts: dict[str, Expansion]) -> SideBySide:
        every = parts.values()
        return cls(
            tuple(name for part in every for name in part.names),
            np.hstack([part.coef for part in every]),
            np.sum([part.bias for part in every], axis=0),
            np.concatenate([part.scale for part in every]),
            parts,
        )

    @property
    def columns_of(self) -> np.ndarray:
        out, first = [], 0
        for part in self.parts.values():
            out.append(part.columns_of + first)
            first += part.width
        return np.concatenate(out)

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts.values())

    def terms(self, coef: np.ndarray) -> tuple[Term, ...]:
        out, feature, first = [], 0, 0
        for part in self.parts.values():
            own = coef[:, feature : feature + len(part.names)]
            out += [term.moved(range(first, first + part.width)) for term in part.terms(own)]
            feature, first = feature + len(part.names), first + part.width
        return tuple(out)

    def features(self, block: Any) -> Any:
        found = [part.features(block[name]) for name, part in self.parts.items()]
        if any(sparse.issparse(one) for one in found):
            return sparse.hstack(found, format="csr")
        return np.concatenate(found, axis=1)


def _same(columns: np.ndarray) -> np.ndarray:
    """(m, 2) features of one column each."""
    return np.stack([columns, columns], axis=1)
