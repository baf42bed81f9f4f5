"""Numeric columns with a Gaussian in each class. The columns are independent in a class."""

from __future__ import annotations

from verosim.data import cells
from verosim.data.readers import as_numbers
from verosim.data.readings import NumberReading
from verosim.densities import DiagonalGaussian
from verosim.kinds import numbers, statistics
from verosim.kinds.base import Kind, PartKind, Settings, View


def density(settings: Settings) -> DiagonalGaussian:
    return DiagonalGaussian(False, settings.covariance, None, settings.floor)


GAUSSIANS = PartKind(
    name="gaussian",
    block=as_numbers,
    missing=numbers.missing,
    zero=statistics.moments,
    seen=statistics.seen_in_moments,
    density=density,
)
GAUSSIAN = Kind(
    name="gaussian",
    role="number",
    aliases=("number",),
    views=(View(GAUSSIANS, cells.numbers, readings=lambda name: (NumberReading(name),)),),
    sample=numbers.sample,
)
