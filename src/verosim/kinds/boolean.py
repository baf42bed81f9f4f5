"""Boolean columns: the density is the smoothed share of true values in each class."""

from __future__ import annotations

import numpy as np

from verosim.data import cells
from verosim.data.libraries import pa
from verosim.data.readers import as_numbers
from verosim.data.readings import FlagReading
from verosim.data.schema_columns import Column
from verosim.densities import Bernoulli
from verosim.kinds import numbers, statistics
from verosim.kinds.base import Kind, PartKind, Settings, View


def density(settings: Settings) -> Bernoulli:
    return Bernoulli(settings.alpha, constants=False)


def sample(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    type_ = pa.bool_() if column.type in ("bool", "text", "string") else pa.int64()
    return pa.array(drawn > 0.5, mask=gone).cast(type_)


BOOLEANS = PartKind(
    name="boolean",
    block=as_numbers,
    missing=numbers.missing,
    zero=statistics.presence,
    seen=statistics.seen_in_presence,
    density=density,
)
BOOLEAN = Kind(
    name="boolean",
    role="boolean",
    aliases=("bool",),
    views=(View(BOOLEANS, cells.flags, readings=lambda name: (FlagReading(name),)),),
    sample=sample,
)
