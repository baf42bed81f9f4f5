"""Text columns: the density is a multinomial over words in each class."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes, Vocabulary
from verosim.data import Documents
from verosim.data.readers import as_documents, documents
from verosim.data.readings import DocumentReading
from verosim.data.schema import Schema
from verosim.densities import Multinomial
from verosim.kinds import arrow
from verosim.kinds.base import Kind, Part, PartKind, Settings, View
from verosim.stats import Tokens


def missing(block: Documents, j: int) -> np.ndarray:
    """(n,) where the text is empty. A missing text is read as an empty text."""
    return np.diff(block.offsets) == 0


def zero(axes: Axes, part: Part, schema: Schema) -> Tokens:
    return Tokens(axes.with_codes(Vocabulary.empty()))


def seen(statistic: Tokens) -> None:
    """None, because the counts of tokens do not show how many texts are missing."""


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
    views=(View(TEXTS, documents, readings=lambda name: (DocumentReading((name,)),)),),
    sample=arrow.texts,
)
