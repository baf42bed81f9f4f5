"""Leave-one-out for every density, exactly and without refitting.

    log p(x_i | c) from T − T(x_i), for all i

A Gaussian loses a rank-one term, counts lose a one, and where neither form holds (a covariance
that is or becomes singular, a floor that bites) the statistic without the row is estimated again.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from verosim.data.sources import take_rows
from verosim.densities import (
    Bernoulli,
    Categorical,
    Complement,
    Density,
    DiagonalGaussian,
    EMGaussian,
    FullGaussian,
    Multinomial,
    Poisson,
    ProductDensity,
)
from verosim.errors import VerosimError
from verosim.stats import Product, Statistic
from verosim.validate.loo import again, codes, columns, diagonal, full, presence
from verosim.validate.loo.leaving import Scorer
from verosim.validate.loo.priors import log_priors_left_out

__all__ = ["leaver", "left_out", "log_priors_left_out"]


def left_out(
    density: Density, statistic: Statistic, block: Any, classes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """(n, C) log p(x_i | c) for row i, from the statistic without row i.

    −∞ in column c if class c has no rows left without it. Where the scores that decide are no
    density, it is those scores that are found.

    Parameters
    ----------
    density : the density and its settings
    statistic : of one fold; the rows are among those it was made of
    block : the rows, all or some, as the statistic absorbed them
    classes : (n,) class numbers
    weights : (n,) of the rows, empty if all are one. A row of weight zero is in no statistic: the
        estimate of all others judges it

    Examples
    --------
    >>> from verosim.densities import DiagonalGaussian
    >>> from verosim.testing import statistic_of
    >>> X, y = np.array([[1.0], [2.0], [4.0], [9.0], [8.0]]), np.array([0, 0, 0, 1, 1])
    >>> density = DiagonalGaussian(shared=True)
    >>> left_out(density, statistic_of(X, y), X, y, np.empty(0))[:2].round(2)
    array([[ -3.88, -45.68],
           [ -1.13, -17.93]])
    """
    return leaver(density, statistic)(block, classes, weights)


def leaver(density: Density, statistic: Statistic) -> Scorer:
    """What `left_out` asks of the statistic alone, found once for many blocks of rows:
    leaver(density, statistic)(block, classes, weights) is left_out of them all."""
    score = scorer(density, statistic)
    present = (statistic.rows[:, 0] > 0) & (statistic.weight[:, 0] > 0)

    def leave(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        classes = np.asarray(classes, dtype=np.intp)
        weights = np.asarray(weights, dtype=np.float64)
        if len(weights) and not weights.all():
            out = np.empty((len(classes), len(present)))
            heavy, light = np.flatnonzero(weights), np.flatnonzero(weights == 0)
            out[heavy] = score(take_rows(block, heavy), classes[heavy], weights[heavy])
            out[light] = density.estimate(statistic).log_density(take_rows(block, light))
        else:
            out = score(block, classes, weights)
        out[:, ~present] = -np.inf
        return out

    return leave


@singledispatch
def scorer(density: Any, statistic: Any) -> Scorer:
    """Rows of positive weight to their log densities; the closed form of a density, or `again`."""
    return again.scorer(density, statistic)


scorer.register(FullGaussian, full.scorer)
scorer.register(EMGaussian, full.em_scorer)
scorer.register(DiagonalGaussian, diagonal.gaussian)
scorer.register(Poisson, diagonal.poisson)
scorer.register(Categorical, codes.scorer)
scorer.register(Bernoulli, presence.scorer)
scorer.register(Multinomial, columns.multinomial)
scorer.register(Complement, columns.complement)


@scorer.register
def _(density: ProductDensity, statistic: Product) -> Scorer:
    """Independent parts: their log densities add up."""
    parts = {}
    for name, part in statistic.parts.items():
        one = density.parts.get(name) or density.parts.get(name.split(" ")[0])
        if one is None:
            raise VerosimError(f"No density for the part {name!r}.", "give every part one density.")
        parts[name] = scorer(one, part)

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        found = [part(block[name], classes, weights) for name, part in parts.items()]
        total: np.ndarray = np.sum(found, axis=0)
        return total

    return score
