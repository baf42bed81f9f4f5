"""The parts of an explanation for pictures of many rows: columns, and the words of texts.

The contribution of a whole text says little, so a text is replaced by its words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verosim.insight.explanation import Explanation

MOST_DRAWN_WORDS = 40  # more are not drawn


@dataclass(frozen=True, eq=False)
class DrawnParts:
    """Contributions (n, p) with their names; nan if a row does not have the word."""

    names: tuple[str, ...]  # p
    parts: np.ndarray  # (n, p)
    total: int  # the number of columns and words before some were left out

    @classmethod
    def of(cls, found: Explanation) -> DrawnParts:
        """One part for each column, or for each of the words of a text with the largest parts."""
        every = found.folded()
        parts = every.differences
        texts = sorted({terms.player for terms in every.parts.tokens})
        if not texts:
            return cls(every.names, parts, len(every.names))
        kept = [j for j in range(len(every.names)) if j not in texts]
        names, columns = [every.names[j] for j in kept], [parts[:, j] for j in kept]
        total = len(kept)
        for j in texts:
            rows = [every.tokens(i, every.names[j]) for i in range(len(every))]
            size: dict[str, float] = {}
            for row in rows:
                for word, part in row.items():
                    size[word] = size.get(word, 0.0) + abs(part)
            total += len(size)
            for word in sorted(size, key=lambda one: -size[one])[:MOST_DRAWN_WORDS]:
                names.append(f"“{word}”")
                columns.append(np.array([row.get(word, np.nan) for row in rows]))
        return cls(tuple(names), np.column_stack(columns), total)
