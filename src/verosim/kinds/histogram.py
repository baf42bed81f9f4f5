"""Numeric columns with a histogram in each class. The schema stores the bins."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes, Bins
from verosim.data import cells
from verosim.data.readers import as_numbers
from verosim.data.readings import NumberReading
from verosim.data.schema import Schema
from verosim.densities import Histogram
from verosim.kinds import numbers, statistics
from verosim.kinds.base import Kind, Part, PartKind, Settings, View
from verosim.stats import Counts


def zero(axes: Axes, part: Part, schema: Schema) -> Counts:
    bins = Bins(np.array(member.column.edges) for member in part.members)
    return Counts(axes.with_codes(bins), what="codes")


def density(settings: Settings) -> Histogram:
    return Histogram(settings.alpha, never=settings.never)


HISTOGRAMS = PartKind(
    name="histogram",
    block=as_numbers,
    missing=numbers.missing,
    zero=zero,
    seen=statistics.seen_in_codes,
    density=density,
)
HISTOGRAM = Kind(
    name="histogram",
    role="number",
    binned=True,
    views=(View(HISTOGRAMS, cells.numbers, readings=lambda name: (NumberReading(name),)),),
    sample=numbers.sample,
)
