"""The evidence of one column against the classes, with a limit and a weight.

    w · max( s_k(x) − max_l s_l(x), −limit )

s_k is the score of the inner terms. The maximum is over the classes with training rows.
Reference: Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence
assumption by attribute weighting, JMLR 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verosim.data.nodes import malformed
from verosim.densities.terms.base import Scored, Term
from verosim.densities.terms.composed import at_least, check_inner, total


@dataclass(frozen=True, eq=False)
class EvidenceTerm(Term):
    """The weighted evidence of inner terms, which is at most 0."""

    kind = "evidence"
    terms: tuple[Term, ...]
    weight: float  # w
    limit: float
    known: tuple[bool, ...]  # (C,) whether the class has training rows

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        scores, size = total(self.terms, values, np.zeros(len(self.known)), len(values[0]))
        best = np.where(self.known, scores, -np.inf).argmax(axis=1)[:, None]
        top, most = (np.take_along_axis(one, best, axis=1) for one in (scores, size))
        # A value that is impossible in all these classes is the same evidence against each.
        top = np.where(np.isneginf(top), 0.0, top)
        against, size = at_least(scores - top, size + most, -self.limit)
        return self.weight * np.minimum(against, 0.0), self.weight * size

    def check(self, readings: int, classes: int) -> None:
        super().check(readings, classes)
        check_inner(self.terms, len(self.reads), classes)
        if len(self.known) != classes or not any(self.known):
            raise malformed("the evidence of a column has other classes than the program")
