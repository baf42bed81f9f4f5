"""The start of EM: k-means within each class, with spread-out first centres.

    P(row i is the next centre) ∝ w_i · (squared distance to the nearest centre)

Distances are in units of the covariance within classes, so a start does not depend on the units of
the columns.
Reference: Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding, Proceedings
of the 18th ACM–SIAM Symposium on Discrete Algorithms, 1027–1035.
"""

from __future__ import annotations

import numpy as np

from verosim.engines import map_jobs, one_blas_thread
from verosim.estimators.mixture.em import Components, floored
from verosim.estimators.mixture.rows import WhiteRows

MOST_ROUNDS = 10  # rounds of k-means


def start(rows: WhiteRows, wanted: np.ndarray, seed: list[int], floor: float) -> Components:
    """Components with one covariance. `wanted` (C,) is the number of components of each class.

    A class with fewer different rows has fewer components.
    """
    C = len(wanted)
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * C

    def work(c: int) -> None:
        at = slice(rows.bounds[c], rows.bounds[c + 1])
        rng = np.random.default_rng([*seed, c])
        found[c] = clusters(rows.Z[at], rows.weights[at], int(wanted[c]), rng)

    with one_blas_thread:
        map_jobs(work, C)
    sizes = [len(weight) for weight, _ in found]
    owner = np.repeat(np.arange(C), sizes)
    weight = np.concatenate([weight for weight, _ in found])
    mean = np.concatenate([mean for _, mean in found])
    between = np.einsum("g,gi,gj->ij", weight, mean, mean)
    covariance = (rows.second.sum(axis=0) - between)[None] / rows.class_weight.sum()
    share = weight / rows.class_weight[owner]
    return Components(owner, share, mean, floored(covariance, floor), shared=True)


def clusters(
    Z: np.ndarray, weights: np.ndarray, wanted: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The weights (G,) and the means (G, p) of clusters of rows."""
    wanted = min(wanted, len(Z))
    if wanted <= 1:
        count = weights.sum(keepdims=True)[: len(Z)]
        return count, (weights @ Z)[None][: len(Z)] / count[:, None]
    centres = _first_centres(Z, weights, wanted, rng)
    label = np.zeros(len(Z), dtype=np.intp)
    for _ in range(MOST_ROUNDS):
        before = label
        label = (0.5 * (centres**2).sum(axis=1) - Z @ centres.T).argmin(axis=1)
        count = np.bincount(label, weights, len(centres))
        member = np.zeros((len(Z), len(centres)))
        member[np.arange(len(Z)), label] = weights
        kept = count > 0
        centres = (member.T @ Z)[kept] / count[kept, None]
        if np.array_equal(label, before) or not kept.all():
            break
    return count[kept], centres


def _first_centres(
    Z: np.ndarray, weights: np.ndarray, wanted: int, rng: np.random.Generator
) -> np.ndarray:
    """(G, p) rows that are far from each other, chosen at random."""
    chosen = [_drawn(weights, rng)]
    distance = ((Z - Z[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < wanted and distance.any():
        chosen.append(_drawn(weights * distance, rng))
        distance = np.minimum(distance, ((Z - Z[chosen[-1]]) ** 2).sum(axis=1))
    return Z[chosen]


def _drawn(mass: np.ndarray, rng: np.random.Generator) -> int:
    """A row number, drawn in proportion to its mass.

    A row of weight 2 and two equal rows of weight 1 take the same part of the unit interval.
    """
    ends = np.cumsum(mass)
    at = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
    return min(at, int(np.flatnonzero(mass)[-1]))
