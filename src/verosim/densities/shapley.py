"""Shapley values of games with few players, and antithetic samples of permutations for many.

    φ_j = Σ_{S ∌ j} |S|! (p − |S| − 1)! / p!  (v(S ∪ j) − v(S))
        = mean over all orders of the p players of v(before j, and j) − v(before j)

An order and its reverse are used together: the errors of the two are negatively correlated.
References: Shapley (1953), A value for n-person games; Castro, Gómez & Tejada (2009), Polynomial
calculation of the Shapley value based on sampling, Computers & Operations Research 36, 1726–1730;
Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation, JMLR
23(43).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np

MOST_EXACT_PLAYERS = 12  # with more players, orders are sampled


@cache
def subset_members(p: int) -> np.ndarray:
    """(2^p, p) bool: the players of each subset."""
    return (np.arange(1 << p)[:, None] >> np.arange(p)) & 1 == 1


@cache
def shapley_weights(p: int) -> np.ndarray:
    """(2^p, p) the weight of v(S) in φ_j, for all subsets S and players j."""
    member = subset_members(p)
    size = member.sum(axis=1)
    weight = np.array([1.0 / (p * comb(p - 1, s)) for s in range(p)])
    joined = weight[np.maximum(size - 1, 0)]
    apart = weight[np.minimum(size, p - 1)]
    return np.where(member, joined[:, None], -apart[:, None])


def sampled_orders(p: int, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """Random orders (p,) of the players. Each is followed by its reverse in the caller."""
    rng = np.random.default_rng(seed)
    for _ in range(max(2, -(-permutations // 2))):
        yield rng.permutation(p)


class RunningParts:
    """The mean of sampled parts, and the standard errors of the difference of two classes."""

    def __init__(self, shape: tuple[int, int, int], pair: np.ndarray | None) -> None:
        self.total = np.zeros(shape)  # (n, C, p)
        self.pair, self.count = pair, 0
        self.mean = np.zeros((shape[0], shape[2]))  # (n, p) of the differences
        self.squares = np.zeros((shape[0], shape[2]))

    def add(self, parts: np.ndarray) -> None:
        """Add the parts (n, C, p) of an order and its reverse, which count as one sample."""
        self.count += 1
        self.total += parts
        if self.pair is not None:
            rows = np.arange(len(parts))
            found = parts[rows, self.pair[:, 0]] - parts[rows, self.pair[:, 1]]
            step = found - self.mean
            self.mean += step / self.count
            self.squares += step * (found - self.mean)

    @property
    def parts(self) -> np.ndarray:
        """(n, C, p) the mean parts."""
        return self.total / self.count

    @property
    def errors(self) -> np.ndarray | None:
        """(n, p) the standard errors; None if no pair of classes was asked for."""
        if self.pair is None:
            return None
        return np.sqrt(self.squares / (self.count * max(self.count - 1, 1)))
