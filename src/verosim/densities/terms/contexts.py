"""A value looked up together with its parents, with a back-off to fewer parents.

    key = b_0 + 256 b_1 + 256² b_2 + … + 256⁵ b_5

b_0 is the code of the column and b_i the code of its parent i. The key of level t has the first t
parents. 255 is in place of each code that is left out. If b_0 is 255, the key stands for the
parents alone.

    s = Σ_{t > u} table[parents of level t alone] + table[code and parents of level u]

u is the largest level at which the code was seen together with its parents. A key that is not in
the table adds 0. Without back-off, a code that was not seen with all its parents has the score
table[all parents alone]. A code that was never seen has the score 0.
Reference: Petitjean et al. (2018), Accurate parameter estimation for Bayesian network classifiers
using hierarchical Dirichlet processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.axes.contexts import MOST_PARENTS
from verosim.cached import cached_property
from verosim.data.nodes import malformed
from verosim.data.readings import CODE, CellReading
from verosim.densities.terms.base import Scored, Term, finite_part
from verosim.kernels.constants import ALL_PARENTS, ANY, CODE_BITS


@dataclass(frozen=True, eq=False)
class ContextTerm(Term):
    """The table of a column (the first of `reads`) and its parents (the others)."""

    kind = "context"
    takes = CODE
    keys: tuple[int, ...]
    table: Annotated[np.ndarray, "K", "C"]
    backs_off: bool

    def __post_init__(self) -> None:
        if not 1 <= len(self.reads) <= MOST_PARENTS + 1:
            raise malformed(f"a context has {len(self.reads)} columns")
        if not len({*self.keys}) == len(self.keys) == len(self.table) > 0:
            raise malformed("the list of keys does not fit its table")
        if any(not 0 <= key <= ALL_PARENTS | ANY for key in self.keys):
            raise malformed("the key of a context is out of range")

    def check_values(self, given: Sequence[CellReading]) -> None:
        super().check_values(given)
        if any(given[j].codes > ANY for j in self.reads):
            raise malformed(f"a column of a context has more than {ANY} codes")

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """(K,) the keys in increasing order, and their rows in the table."""
        keys = np.array(self.keys, dtype=np.int64)
        order = np.argsort(keys)
        return keys[order], order

    def _rows(self, wanted: np.ndarray) -> np.ndarray:
        """(n,) the row of each key in the table; −1 if it is not there."""
        keys, order = self._sorted
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, order[at], -1)

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        n, C = len(values[0]), self.table.shape[-1]
        key = np.full(n, ALL_PARENTS, dtype=np.int64) | values[0]
        searching = self._rows(key) >= 0  # whether the code was ever seen
        for t, parent in enumerate(values[1:], start=1):
            key += (parent - ANY) << (CODE_BITS * t)
        scores, size = (np.zeros((n, C)) for _ in range(2))
        for t in range(len(values) - 1, -1, -1):
            row = self._rows(key)
            found = searching & (row >= 0)
            searching = searching & ~found
            if t and searching.any():
                alone = self._rows(key | ANY)
                row = np.where(searching, alone, row)
                key |= ANY << (CODE_BITS * t)
            if not self.backs_off:
                found, searching = found | searching, np.zeros(n, dtype=bool)
            used = (found | searching) & (row >= 0)
            scores[used] += self.table[row[used]]
            size[used] += np.abs(finite_part(self.table[row[used]]))
        return scores, size
