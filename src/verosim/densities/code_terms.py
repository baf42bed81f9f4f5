"""The terms of a table with one row per code: values that are looked up, or bins."""

from __future__ import annotations

import numpy as np

from verosim.axes import Bins, Categories, Codes
from verosim.densities.terms import BinsTerm, LookupTerm, Overflow, Term


def code_terms(codes: Codes, table: np.ndarray) -> tuple[Term, ...]:
    """One term per column, from the scores (K + d, C) of the codes and of unseen values."""
    first = codes.first
    if isinstance(codes, Bins):
        return tuple(
            BinsTerm((j,), edges, table[first[j] : first[j + 1]])
            for j, edges in enumerate(codes.edges)
        )
    assert isinstance(codes, Categories)
    return tuple(
        LookupTerm(
            (j,), values, table[first[j] : first[j + 1]], table[codes.size + j],
            np.zeros(table.shape[1]), _overflow(codes, j),
        )
        for j, values in enumerate(codes.values)
    )  # fmt: skip


def _overflow(codes: Categories, j: int) -> Overflow | None:
    rare = codes.overflow(j)
    return None if rare is None else Overflow.of(*rare)
