"""Free text by a multinomial of its words in every class."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes, Vocabulary
from verosim.data import Documents
from verosim.data.readers import as_documents, documents
from verosim.data.schema import Schema
from verosim.densities import Multinomial
from verosim.kinds import arrow
from verosim.kinds.base import Kind, Part, PartKind, Settings, View
from verosim.stats import Tokens


def missing(block: Documents, j: int) -> np.ndarray:
    """A missing text and an empty one are the same."""
    return np.diff(block.offsets) == 0


def zero(axes: Axes, part: Part, schema: Schema) -> Tokens:
    return Tokens(axes.with_codes(Vocabulary.empty()))


def seen(statistic: Tokens) -> None:
    """Tokens do not say how many texts were missing."""


def density(settings: Settings) -> Multinomial:
    return Multinomial(settings.alpha)


TEXTS = PartKind(
    name="text",
    block=as_documents,
    missing=missing,
    zero=zero,
    seen=seen,
    density=density,
    alone=True,
)
TEXT = Kind(
    name="text",
    role="text",
    shown=False,
    views=(View(TEXTS, documents),),
    sample=arrow.texts,
)
