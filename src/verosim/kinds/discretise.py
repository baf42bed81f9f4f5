"""From cells to codes: bins of equal weight, or cuts that separate the classes.

    cut where  N · gain > log(N − 1) + log(3^c − 2) − (c H(S) − c_1 H(S_1) − c_2 H(S_2))

with H the entropy of the classes, c the number of classes in a part S, and both sides in nats.
Reference: Fayyad & Irani (1993), Multi-interval discretization of continuous-valued attributes for
classification learning.
"""

from __future__ import annotations

import numpy as np

FEW_BINS = 3  # where no two cuts separate the classes


def equal_bins(weight: np.ndarray, bins: int) -> np.ndarray:
    """(K,) the bin of every cell (K,) of a number: at most so many, of about equal weight."""
    if len(weight) <= bins:
        return np.arange(len(weight))
    middle = np.cumsum(weight) - weight / 2
    total = weight.sum()
    share = middle / total if total > 0 else np.arange(len(weight)) / len(weight)
    found = np.minimum((share * bins).astype(np.intp), bins - 1)
    out: np.ndarray = np.unique(found, return_inverse=True)[1]
    return out


def separating_bins(count: np.ndarray) -> np.ndarray:
    """(K,) the bin of every cell of a number, from its counts (K, C) in every class."""
    reached = np.concatenate([np.zeros((1, count.shape[1])), np.cumsum(count, axis=0)])
    cuts: list[int] = []
    parts = [(0, len(count))]
    while parts:
        start, stop = parts.pop()
        cut = _best_cut(reached, start, stop)
        if cut is not None:
            cuts.append(cut)
            parts += [(start, cut), (cut, stop)]
    if len(cuts) < 2:
        return equal_bins(count.sum(axis=1), FEW_BINS)
    return np.searchsorted(np.sort(cuts), np.arange(len(count)), side="right")


def _best_cut(reached: np.ndarray, start: int, stop: int) -> int | None:
    """The cell before which to cut, or None if no cut is worth its description."""
    whole = reached[stop] - reached[start]
    N = whole.sum()
    if stop - start < 2 or N < 2:
        return None
    left = reached[start + 1 : stop] - reached[start]  # (cuts, C)
    right = whole - left
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    rest = np.where(
        (n_left > 0) & (n_right > 0), n_left * entropy(left) + n_right * entropy(right), np.inf
    )
    at = int(np.argmin(rest))
    if not np.isfinite(rest[at]):
        return None
    c, c_left, c_right = (int((part > 0).sum()) for part in (whole, left[at], right[at]))
    H = float(entropy(whole))
    described = c * H - c_left * entropy(left[at]) - c_right * entropy(right[at])
    gain = N * H - rest[at]
    # log(3^c − 2), also for so many classes that 3^c overflows
    price = np.log(N - 1) + c * np.log(3.0) + np.log1p(-2 * 3.0**-c) - described
    return start + 1 + at if gain > price else None


def entropy(count: np.ndarray) -> np.ndarray:
    """(…) the entropy in nats of counts (…, C)."""
    total = count.sum(axis=-1, keepdims=True)
    share = count / np.where(total > 0, total, 1.0)
    out: np.ndarray = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=-1)
    return out
