"""Chooses a Gaussian or a histogram for columns of numbers: the one that separates classes better.

    Σ w log p(class | x)  −  number of parameters          (Akaike)

is computed for one Gaussian per class and for histograms with several numbers of bins. w is the
weight of a row. A row of weight two gives the same result as two equal rows. One compiled loop
looks at many columns.
Reference: Akaike (1974), A new look at the statistical model identification.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from verosim import kernels
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.histogram import HISTOGRAM
from verosim.kinds.missing_marks import LEAST_SENTINEL

NUMBER_KINDS = (GAUSSIAN.name, HISTOGRAM.name)  # the kinds that any number can have
DEFAULT_BINS = 20  # the number of bins if nothing was compared
MOST_BINS_TRIED = 50  # the largest number of bins that is compared
LEAST_ROWS_TO_CHOOSE = 20  # with fewer rows per class, the kind is a Gaussian
CELLS_AT_ONCE = 1 << 21  # so that the sorted columns fit in memory


class NumbersSeen(NamedTuple):
    """The values of a column of numbers in the first rows, and the density that fits them."""

    columns: np.ndarray  # (d, n) all columns, NaN if missing
    in_order: np.ndarray  # (d, n) the different finite values of each column first, sorted
    number: int  # the number of this column
    finite: int  # the number of its finite values
    different: int  # the number of its different finite values
    whole: bool  # whether all are whole numbers
    small: bool  # whether all are below LEAST_SENTINEL, without the sign
    infinite: int  # the number of its infinite values
    density: str
    edges: tuple[float, ...]
    reason: str

    @property
    def is_plain(self) -> bool:
        """Whether the values are ordinary numbers, about which there is nothing to say."""
        return self.small and not self.whole and self.different > 1 and not self.infinite

    @property
    def x(self) -> np.ndarray:
        """(n,) the values, NaN if missing."""
        return self.columns[self.number]

    @property
    def distinct(self) -> np.ndarray:
        """The different finite values, sorted."""
        return self.in_order[self.number, : self.different]

    @property
    def values(self) -> np.ndarray:
        """The finite values, in the order of the rows."""
        return self.x if self.finite == len(self.x) else self.x[np.isfinite(self.x)]


def see_numbers(
    X: np.ndarray, labels: np.ndarray | None, weights: np.ndarray
) -> Iterator[NumbersSeen]:
    """What is seen in each column of X (n, d): a histogram if its AIC is better than a Gaussian's.

    labels are (n,) or None, and weights are (n,) or empty.
    """
    n, d = X.shape
    y, classes = _class_numbers(labels)
    step = max(1, CELLS_AT_ONCE // max(n, 1))
    for start in range(0, d, step):
        yield from _see(np.ascontiguousarray(X[:, start : start + step].T), y, classes, weights)


def _see(
    columns: np.ndarray, y: np.ndarray, classes: int, weights: np.ndarray
) -> Iterator[NumbersSeen]:
    """What is seen in each of the columns (d, n)."""
    d, n = columns.shape
    bins, sizes, counts, seen = np.empty((4, d), dtype=np.int64)
    edges, distinct, whole = (
        np.empty((d, MOST_BINS_TRIED + 2)),
        np.zeros((d, n)),
        np.empty(d, dtype=bool),
    )
    kernels.look_at_numbers(
        columns, np.argsort(columns, axis=1), y, classes, weights, DEFAULT_BINS,
        LEAST_ROWS_TO_CHOOSE, bins, edges, sizes, distinct, counts, seen, whole,
    )  # fmt: skip
    with np.errstate(invalid="ignore"):  # a column without values has no largest value
        last = distinct[np.arange(d), np.maximum(counts - 1, 0)]
        small = np.maximum(-distinct[:, 0], last) < LEAST_SENTINEL
    edges = edges[:, : sizes.max()]
    facts = (bins, sizes, seen, counts, whole, small, np.isinf(columns).sum(axis=1), edges)
    for j, (made, size, count, different, is_whole, is_small, infinite, cuts) in enumerate(
        zip(*(one.tolist() for one in facts), strict=True)
    ):
        name, reason = GAUSSIAN.name, "numbers"
        if made:
            name = HISTOGRAM.name
            reason = f"numbers; {made} bins separate the classes better than a Gaussian"
        yield NumbersSeen(
            columns, distinct, j, count, different, is_whole, is_small, infinite, name,
            tuple(cuts[:size]), reason,
        )  # fmt: skip


def _class_numbers(labels: np.ndarray | None) -> tuple[np.ndarray, int]:
    """(n,) the classes of the labels as the numbers 0, 1, … and the number of classes."""
    if labels is None or not len(labels):
        return np.empty(0, dtype=np.int64), 0
    if labels.dtype.kind in "iu" and 0 <= labels.min() <= labels.max() < len(labels):
        return labels.astype(np.int64), int(labels.max()) + 1  # faster than sorting
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.int64), len(names)
