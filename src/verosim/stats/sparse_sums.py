"""Sums per class, fold and code that are mostly zero, such as the counts of rare tokens.

    sums (C, F, K),   stored as the codes and sums that are not zero, one list per group

Most tokens occur in few classes and folds, so the memory grows with the number of different tokens
of each group and not with C · F · K. New rows are first appended to a log. The log is added to the
sums when it is long, or when the sums are read:

    n entries cost O(n) additions in total

A value of this class has the operations of an array that the algebra of statistics needs. Arrays
that were stored once are never written to, so that copies share them.
Reference: Knuth, The Art of Computer Programming, vol. 1, §2.2.6 (sparse matrices).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from verosim import kernels

LEAST_LOG_ENTRIES = 1 << 20  # entries of the log; with fewer, adding them too often costs time
LONG_LOG = 1 << 17  # entries that are worth being added by the thread that has read them
NO_AMOUNTS = np.empty(0)

Groupwise = tuple[np.ndarray, np.ndarray, np.ndarray]  # indptr (G + 1,), codes, sums


class RowLog:
    """Sparse rows in one buffer. A row has a group, and a weight or one amount per code."""

    def __init__(self, length: int, weighed: bool) -> None:
        self.codes = np.empty(length, dtype=np.int32)
        self.amounts = np.empty(length) if weighed else NO_AMOUNTS
        self.used = 0
        self.rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def append(self, ends: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> None:
        """Note rows that were written to the buffer. ends (r,) is where each of them ends."""
        self.rows.append((ends, groups, weights))
        self.used = int(ends[-1])

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the rows start, (r + 1,), and their groups and weights, (r,)."""
        ends, groups, weights = (np.concatenate(part) for part in zip(*self.rows, strict=True))
        return np.concatenate([[0], ends]), groups, weights


class SparseSums:
    """Sums of shape (C, F, K), of which only those that are not zero are stored.

    >>> sums = SparseSums.of(np.array([[[0.0, 2.0, 0.0]], [[1.0, 0.0, 0.0]]]))
    >>> sums.shape, sums.size, sums[:, 0].tolist()
    ((2, 1, 3), 2, [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    """

    ndim, dtype = 3, np.dtype(np.float64)

    def __init__(self, shape: tuple[int, ...], stored: Groupwise) -> None:
        self.shape, self._stored = shape, stored
        self._log: RowLog | None = None

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> SparseSums:
        indptr = np.zeros(shape[0] * shape[1] + 1, dtype=np.int64)
        return cls(shape, (indptr, np.empty(0, dtype=np.int32), np.empty(0)))

    @classmethod
    def of(cls, array: Any) -> SparseSums:
        """From a dense array, or the sums themselves."""
        if isinstance(array, SparseSums):
            return array
        C, F, K = array.shape
        flat = np.ascontiguousarray(array, dtype=np.float64).reshape(C * F, K)
        group, codes = np.nonzero(flat)
        return cls(array.shape, (_indptr(group, C * F), codes.astype(np.int32), flat[group, codes]))

    def state(self) -> dict[str, np.ndarray]:
        """The stored arrays, sorted by group and code."""
        return dict(zip(("indptr", "codes", "sums"), self._sorted(), strict=True))

    @classmethod
    def from_state(cls, shape: tuple[int, ...], state: Any) -> SparseSums | None:
        """The sums with this state; None if it does not fit the shape."""
        if not isinstance(state, Mapping):
            return None
        indptr = np.array(state["indptr"], dtype=np.int64)
        codes = np.array(state["codes"], dtype=np.int32)
        sums = np.array(state["sums"], dtype=float)
        group = np.arange(len(indptr) - 1)
        fits = (
            indptr.ndim == codes.ndim == sums.ndim == 1
            and len(indptr) == shape[0] * shape[1] + 1
            and indptr[0] == 0
            and bool((np.diff(indptr) >= 0).all())
            and indptr[-1] == len(codes) == len(sums)
            and codes.min(initial=0) >= 0
            and codes.max(initial=-1) < shape[2]
        )
        if not fits:
            return None
        at = np.repeat(group, np.diff(indptr)) * np.int64(shape[2]) + codes
        return cls(shape, (indptr, codes, sums)) if (np.diff(at) > 0).all() else None

    # Adding rows -------------------------------------------------------------------------

    def open_log(self, weighed: bool, least: int = 0) -> RowLog:
        """The log, with room for at least so many entries more. The caller writes to it."""
        if self._log is not None and self._log.used + least > len(self._log.codes):
            self._settle()
        if self._log is None:
            self._log = RowLog(max(LEAST_LOG_ENTRIES, least, len(self._stored[1])), weighed)
        return self._log

    def settle_long_log(self) -> None:
        """Add the log to the sums if it is about as long as they are."""
        if self._log is not None and self._log.used > max(LONG_LOG, len(self._stored[1]) // 2):
            self._settle()

    def widen(self, codes: int) -> None:
        """Set the number of codes, which never becomes smaller."""
        self.shape = (*self.shape[:2], codes)

    def _settle(self) -> Groupwise:
        """The stored arrays, with the rows of the log."""
        log, stored = self._log, self._stored
        if log is not None and log.used:
            starts, groups, weights = log.joined()
            codes, amounts = log.codes[: log.used], log.amounts[: log.used]
            stored = self._with_rows(stored, starts, groups, codes, amounts, weights)
        self._stored, self._log = stored, None
        return stored

    def log_rows(
        self, starts: np.ndarray, groups: np.ndarray, codes: np.ndarray, amounts: np.ndarray
    ) -> None:
        """Append sparse rows to the log. Row r is codes[starts[r] : starts[r + 1]]."""
        log = self.open_log(weighed=True, least=len(codes))
        part = slice(log.used, log.used + len(codes))
        log.codes[part], log.amounts[part] = codes, amounts
        log.append(part.start + starts[1:], groups, NO_AMOUNTS)

    def add_rows(
        self, starts: np.ndarray, groups: np.ndarray, codes: np.ndarray, amounts: np.ndarray
    ) -> None:
        """Add sparse rows to their groups, in place. Row r is codes[starts[r] : starts[r + 1]]."""
        if len(codes):
            rows = starts, groups, codes, amounts
            self._stored = self._with_rows(self._settle(), *rows, NO_AMOUNTS)

    def _with_rows(
        self, stored: Groupwise, starts: np.ndarray, groups: np.ndarray, codes: np.ndarray,
        amounts: np.ndarray, weights: np.ndarray,
    ) -> Groupwise:  # fmt: skip
        indptr, ours, sums = stored
        C, F, K = self.shape
        most = len(ours) + len(codes)
        out_indptr = np.zeros(C * F + 1, dtype=np.int64)
        out_codes, out = np.empty(most, dtype=np.int32), np.empty(most)
        n = kernels.add_sparse_rows(
            indptr, ours, sums, np.argsort(groups, kind="stable"), _indptr(groups, C * F), starts,
            codes, amounts, weights,
            np.full(K, -1, dtype=np.int32 if most < 2**31 else np.int64),
            out_indptr, out_codes, out,
        )  # fmt: skip
        if 4 * n < 3 * most:  # otherwise, a copy would save little memory
            return out_indptr, out_codes[:n].copy(), out[:n].copy()
        return out_indptr, out_codes[:n], out[:n]

    # The operations of an array ------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of sums that are stored."""
        return len(self._settle()[1])

    def copy(self, order: str = "K") -> SparseSums:
        return SparseSums(self.shape, self._settle())

    def any(self) -> bool:
        return bool(self._settle()[2].any())

    def tobytes(self) -> bytes:
        """The bytes of a form that depends on the sums only, and not on the order of rows."""
        return b"".join(array.tobytes() for array in self._sorted())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        C, F, K = self.shape
        return self._dense().reshape(K, C, F).transpose(1, 2, 0)

    def __getitem__(self, key: Any) -> Any:
        """Some sums as a dense array. [:, f] reads one fold only, and [c, f] one group."""
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], int):
            if isinstance(key[0], int):
                return self.take([key[0]], 0).take([key[1]], 1)._dense()[:, 0]
            if key[0] == slice(None):
                return (self if self.shape[1] == 1 else self.take([key[1]], 1))._dense().T
        if isinstance(key, tuple) and len(key) == 3 and all(isinstance(i, np.ndarray) for i in key):
            return self._at(*key)
        return np.asarray(self)[key]

    def of_fold(self, fold: int) -> Groupwise:
        """Where each class starts, (C + 1,), and the codes and sums of one fold."""
        return (self if self.shape[1] == 1 else self.take([fold], 1))._settle()

    def _at(self, classes: np.ndarray, folds: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """(m,) the sums at some places."""
        _, F, K = self.shape
        indptr, known, sums = self._sorted()
        known = _group(indptr) * K + known
        wanted = (classes * F + folds) * K + codes
        found = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        return np.where(known[found] == wanted, sums[found], 0.0) if len(known) else wanted * 0.0

    def __setitem__(self, key: Any, zero: float) -> None:
        """Set some sums to zero: sums[(C, F) bool] = 0 or sums[:, (F, K) bool] = 0."""
        indptr, codes, sums = self._settle()
        group = _group(indptr)
        if isinstance(key, tuple):
            gone = key[1][group % self.shape[1], codes]
        else:
            gone = key.reshape(-1)[group]
        kept = ~gone & (sums != 0)
        self._stored = _indptr(group[kept], len(indptr) - 1), codes[kept], sums[kept]

    def __iadd__(self, other: SparseSums) -> Self:
        return self._combine(other, 1.0)

    def __isub__(self, other: SparseSums) -> Self:
        return self._combine(other, -1.0)

    def _combine(self, other: SparseSums, sign: float) -> Self:
        starts, codes, sums = other._settle()
        self.add_rows(starts, np.arange(len(starts) - 1), codes, sums if sign > 0 else -sums)
        return self

    def __imul__(self, factor: Any) -> Self:
        """Multiply all sums by a number, or those of each class by factors (C, 1, 1)."""
        indptr, codes, sums = self._settle()
        if np.ndim(factor):
            factor = np.broadcast_to(factor, (*self.shape[:2], 1)).reshape(-1)[_group(indptr)]
        self._stored = indptr, codes, sums * factor
        return self

    def sum(self, axis: Any = None) -> Any:
        _, F, K = self.shape
        indptr, codes, sums = self._settle()
        if axis is None:
            return sums.sum()
        if axis == (0, 1):
            return np.bincount(codes, sums, minlength=K)
        if axis == 0:
            at = (_group(indptr) % F) * K + codes
            return np.bincount(at, sums, minlength=F * K).reshape(F, K)
        return np.asarray(self).sum(axis=axis)

    def take(self, at: Any, axis: int) -> SparseSums:
        """The sums of some classes (axis 0), folds (axis 1) or codes (axis 2)."""
        C, F, K = self.shape
        at = np.asarray(at)
        if axis == 2:
            move = np.full(K, -1, dtype=np.int64)
            move[at] = np.arange(len(at))
            return self.placed((C, F, len(at)), None, move)
        rows = np.arange(C * F).reshape(C, F).take(at, axis=axis)
        return SparseSums((*rows.shape, K), self._of_rows(rows.reshape(-1)))

    def placed(
        self, shape: tuple[int, ...], classes: np.ndarray | None, codes: np.ndarray | None
    ) -> SparseSums:
        """The sums on other axes. Each class and code has a new position; codes at −1 are left
        out."""
        stored = self._settle()
        C, F, _ = self.shape
        if classes is not None:
            rows = np.full((shape[0], F), -1)
            rows[classes] = np.arange(C * F).reshape(C, F)
            stored = self._of_rows(rows.reshape(-1))
        if codes is not None:
            indptr, old, sums = stored
            new = codes[old]
            kept = new >= 0
            if kept.all():
                return SparseSums(shape, (indptr, new.astype(np.int32), sums))
            ends = np.concatenate([[0], np.cumsum(kept)])
            stored = ends[indptr], new[kept].astype(np.int32), sums[kept]
        return SparseSums(shape, stored)

    # Checks after a subtraction --------------------------------------------------------------

    def negative(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The class, the fold and the code of each sum below zero."""
        indptr, codes, sums = self._settle()
        at = np.flatnonzero(sums < 0)
        return (*np.divmod(_group(indptr)[at], self.shape[1]), codes[at])

    def largest(self) -> np.ndarray:
        """(C, F) the largest absolute value of the sums of each group."""
        indptr, _, sums = self._settle()
        out = np.zeros(len(indptr) - 1)
        np.maximum.at(out, _group(indptr), np.abs(sums))
        return out.reshape(self.shape[:2])

    def stored(self) -> tuple[np.ndarray, np.ndarray]:
        """(nnz,) the group and the value of each sum that is stored."""
        indptr, _, sums = self._settle()
        return _group(indptr), sums

    def at_places_of(self, other: SparseSums) -> np.ndarray:
        """(nnz,) the sums at the places that the other sums of the same shape store."""
        (indptr, codes, sums), theirs = self._settle(), other._settle()
        if np.array_equal(indptr, theirs[0]) and np.array_equal(codes, theirs[1]):
            return sums  # the usual case after a subtraction; it needs no sorting
        return self._at(*np.divmod(_group(theirs[0]), self.shape[1]), theirs[1])

    def drop(self, gone: np.ndarray) -> None:
        """Set some of the stored sums to zero, in place."""
        indptr, codes, sums = self._settle()
        group, kept = _group(indptr), ~gone
        if not kept.all():
            self._stored = _indptr(group[kept], len(indptr) - 1), codes[kept], sums[kept]

    # Inside ----------------------------------------------------------------------------------

    def _dense(self) -> np.ndarray:
        """(K, G) all sums."""
        C, F, K = self.shape
        out = np.zeros((K, C * F))
        kernels.spread_sums(*self._settle(), out)
        return out

    def _of_rows(self, rows: np.ndarray) -> Groupwise:
        """The sums of some groups, in this order; −1 is a group without sums."""
        indptr, codes, sums = self._settle()
        length = np.append(np.diff(indptr), 0)[rows]  # (…,) the last one is that of −1
        ends = np.concatenate([[0], np.cumsum(length)])
        at = np.arange(ends[-1]) + np.repeat(indptr[rows] - ends[:-1], length)
        return ends, codes[at], sums[at]

    def _sorted(self) -> Groupwise:
        """The sums that are not zero, by group and code."""
        indptr, codes, sums = self._settle()
        group = _group(indptr)
        order = np.lexsort((codes, group))
        order = order[sums[order] != 0]
        return _indptr(group, len(indptr) - 1, order), codes[order], sums[order]

    def __getstate__(self) -> dict[str, Any]:
        return {"shape": self.shape, "_stored": self._settle(), "_log": None}


def _group(indptr: np.ndarray) -> np.ndarray:
    """(nnz,) the group of each sum."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _indptr(group: np.ndarray, groups: int, order: np.ndarray | None = None) -> np.ndarray:
    """(G + 1,) where each group starts, after sorting by group."""
    group = group if order is None else group[order]
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
