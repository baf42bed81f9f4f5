"""Statistics of a few texts, for the tests."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, Documents, as_weights
from verosim.engines import summarise
from verosim.stats import Tokens


def statistic_of_texts(texts, groups=None, *, weights=None, codes=None, folds=1, **options):
    """The Tokens of some texts; groups are class · folds + fold."""
    n = len(texts)
    groups = np.zeros(n, dtype=np.int32) if groups is None else np.asarray(groups, dtype=np.int32)
    labels = np.arange(int(groups.max(initial=0)) // folds + 1)
    axes = Axes(Groups(labels, folds), Columns(1), codes)
    source = ArraySource(Documents.of(list(texts)), groups, as_weights(weights, n), raw=True)
    return summarise(source, Tokens(axes, **options))


def counted(texts, **options) -> dict[str, int]:
    """How often every token occurs in the texts."""
    statistic = statistic_of_texts(texts, **options)
    counts = statistic.arrays["count"].sum(axis=(0, 1))
    return dict(zip(statistic.codes.tokens(), counts.astype(int).tolist(), strict=True))
