"""The marginal program of some columns or tokens: the same model without the others.

    log joint of the kept columns = log π_k + Σ of the terms of these columns

The terms of other columns are left out. A Gaussian block keeps the mean and the covariance of the
kept columns. Tokens that are left out are skipped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.bayes.program import Program
from verosim.data.readings import CellReading
from verosim.densities.terms import (
    AmountsTerm,
    ListedTokens,
    LogSumExpTerm,
    QuadraticTerm,
    SumTerm,
    TemperedTerm,
    Term,
    TokensTerm,
)
from verosim.densities.terms.tokens import HashedTokens


def of_columns(program: Program, kept: Collection[str]) -> Program | None:
    """The program of the kept columns; None if a term of several columns cannot be divided."""
    terms = _of_columns(program.terms, program.readings, frozenset(kept))
    if terms is None:
        return None
    used = sorted({j for term in terms for j in term.reads})
    places = {j: i for i, j in enumerate(used)}
    return replace(
        program,
        readings=tuple(program.readings[j] for j in used),
        terms=tuple(term.moved(places) for term in terms),
    )


def _of_columns(
    terms: tuple[Term, ...], readings: tuple[CellReading, ...], kept: frozenset[str]
) -> tuple[Term, ...] | None:
    out: list[Term] = []
    for term in terms:
        mine = [readings[j] for j in term.reads]
        inside = [kept.issuperset(reading.inputs) for reading in mine]
        if all(inside):
            out.append(term)
            continue
        if not any(inside):
            continue
        at = np.flatnonzero(inside)
        reads = tuple(term.reads[j] for j in at)
        if isinstance(term, AmountsTerm):
            out.append(AmountsTerm(reads, term.table[at]))
        elif isinstance(term, QuadraticTerm):
            out.append(_gaussian(term, reads, at))
        elif type(term) in (SumTerm, LogSumExpTerm, TemperedTerm):
            whole: Any = term
            inner = _of_columns(whole.terms, tuple(mine), kept)
            # The scores of a mixture and of its weights belong together.
            if inner is None or (type(term) is LogSumExpTerm and len(inner) < len(whole.terms)):
                return None
            if getattr(term, "length", None) is not None:
                return None
            places = {int(j): i for i, j in enumerate(at)}
            changed: Any = replace(term, terms=tuple(one.moved(places) for one in inner))  # type: ignore[call-arg]
            out.append(replace(changed, reads=reads))
        else:
            return None
    return tuple(out)


def _gaussian(term: QuadraticTerm, reads: tuple[int, ...], at: np.ndarray) -> QuadraticTerm:
    """The marginal of the columns `at`."""
    sigma = term.covariance
    if sigma is None:
        roots = np.linalg.inv(term.whitener)
        sigma = roots @ np.swapaxes(roots, 1, 2)
    part = sigma[:, at[:, None], at]  # (S, o, o)
    unit = np.sqrt(np.einsum("sjj->sj", part))
    root = np.linalg.cholesky(part / (unit[:, :, None] * unit[:, None, :]))
    whitener = np.linalg.inv(root) / unit[:, None, :]
    log_det = 2 * np.log(np.einsum("sjj->sj", root) * unit).sum(axis=1)
    kept = None if term.covariance is None else part
    return QuadraticTerm(reads, term.pivot[:, at], term.offset[:, at], kept, whitener, log_det)


DECIMALS = 5  # of the scores of a smaller list of tokens, so that more tokens fit


# Tokens ------------------------------------------------------------------------------------------


def token_count(program: Program) -> int:
    """The largest number of tokens of a term."""
    return max((len(term.tokens) for term in _token_terms(program.terms)), default=0)


def of_tokens(program: Program, most: int) -> Program:
    """The program in which each term of a text keeps its most telling tokens."""
    return replace(program, terms=tuple(_with_tokens(term, most) for term in program.terms))


def _token_terms(terms: tuple[Term, ...]) -> list[TokensTerm]:
    found = []
    for term in terms:
        if isinstance(term, TokensTerm):
            found.append(term)
        found += _token_terms(getattr(term, "terms", ()))
    return found


def _with_tokens(term: Term, most: int) -> Term:
    if not isinstance(term, TokensTerm):
        inner = getattr(term, "terms", None)
        if inner is None:
            return term
        return replace(term, terms=tuple(_with_tokens(one, most) for one in inner))  # type: ignore[call-arg]
    if len(term.tokens) <= most:
        return term
    at = np.sort(np.argsort(-_telling(term.table), kind="stable")[:most])
    tokens: ListedTokens | HashedTokens
    if isinstance(term.tokens, HashedTokens):
        tokens = HashedTokens(term.tokens.buckets, tuple(term.tokens.used[i] for i in at))
    else:
        assert isinstance(term.tokens, ListedTokens)
        tokens = ListedTokens(tuple(term.tokens.tokens[i] for i in at))
    return replace(
        term, tokens=tokens, table=term.table[at].round(DECIMALS),
        absent=None if term.absent is None else term.absent[at].round(DECIMALS),
        idf=None if term.idf is None else term.idf[at],
    )  # fmt: skip


def _telling(table: np.ndarray) -> np.ndarray:
    """(K,) how much each token tells about the class.

    For log shares s_ik this is its part of the information, Σ_k p_ik (s_ik − log mean_l p_il) / C.
    For other scores it is their spread.
    """
    known = np.where(np.isneginf(table), np.nan, table)
    if np.nanmax(known, initial=-np.inf) > 0:
        return np.nan_to_num(np.nanmax(known, axis=1) - np.nanmin(known, axis=1))
    share = np.exp(table)
    mean = share.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        out: np.ndarray = np.where(share > 0, share * (table - np.log(mean)), 0.0).mean(axis=1)
    return out
