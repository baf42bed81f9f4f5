"""The experts for texts: naive Bayes and ridge regression on words, pairs of words and characters.

The settings were chosen on the training folds of five corpora. A small α is worse than a larger one
for a single model, but better in a pool, where it adds what the other experts do not see. The
multinomial model got no weight next to the contrast of classes. Characters help if words are rare,
that is with short or few texts. On many long texts their weight was near 0, and they cost most. The
limit for few texts rests on one corpus.
"""

from __future__ import annotations

from typing import Any

from verosim.estimators import TextNB, TextRidge
from verosim.pool.text_svm import TextSVM

ALPHA = 0.001
ALPHAS_OF_WORDS = (0.003, 0.03, 0.3)  # if single words are the only view
SHORT_TEXT = 500  # mean number of bytes up to which characters are used
FEW_TEXTS = 1_000  # number of texts up to which characters are used


def text_experts(effort: str, rows: int, text: float) -> list[Any]:
    """The models for so many texts with this mean number of bytes."""
    shared: dict[str, Any] = {"model": "contrast", "weighting": "l2"}
    if effort == "fast":
        return [TextNB(alpha=alpha, **shared) for alpha in ALPHAS_OF_WORDS]
    found: list[Any] = [
        TextNB(alpha=ALPHA, **shared),
        TextNB(alpha=ALPHA, ngrams=(1, 2), min_count=2, **shared),
        TextRidge(),
    ]
    if effort == "max":
        found.append(TextSVM())
    if text <= SHORT_TEXT or rows <= FEW_TEXTS:
        found.append(TextNB(alpha=ALPHA, ngrams=(3, 5), analyzer="char_wb", min_count=3, **shared))
    return found
