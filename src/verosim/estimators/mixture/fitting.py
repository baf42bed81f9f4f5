"""Fitting a mixture to rows: several short runs of EM, then a long run from the best.

    several starts → short EM → the best components of each class → EM until it converges

Reference: Biernacki, Celeux & Govaert (2003), Choosing starting values for the EM algorithm for
getting the highest likelihood in multivariate Gaussian mixture models, Computational Statistics &
Data Analysis 41, 561–575.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.densities import Convergence, FullGaussian, FullParams
from verosim.densities.mixture import MixtureParams
from verosim.engines import one_blas_thread
from verosim.estimators.mixture.em import Components, CovariancePrior, EMRun, run_em
from verosim.estimators.mixture.rows import LabelledRows, WhiteRows
from verosim.estimators.mixture.start import start

SHORT_RUN = 10  # iterations of EM from each start
FLOOR = 1e-6  # smallest variance in any direction, as a share of the variance within classes
DIAGONAL_SHARE = 0.5  # share of the diagonal in the covariance to which others are regularised


@dataclass(frozen=True)
class MixtureSettings:
    """The settings of EM."""

    shared: bool  # one covariance for all components
    regularisation: float  # λ
    sphere: bool  # regularise towards a sphere, not a diagonal
    max_iter: int
    tol: float
    restarts: int
    seed: int


def white_rows(rows: LabelledRows, statistic: Any, quiet: bool = False) -> WhiteRows:
    """The rows in the units of LDA. `statistic` has their full moments."""
    lda = FullGaussian(pooling=1.0)
    frame = lda.estimate_quietly(statistic) if quiet else lda.estimate(statistic)
    with one_blas_thread:
        return WhiteRows.of(rows, frame)


def fit_mixture(white: WhiteRows, wanted: np.ndarray, settings: MixtureSettings) -> MixtureParams:
    """The mixture of rows. `wanted` (C,) is the number of components of each class."""
    with one_blas_thread:  # the matrices of EM are many and small
        found = _best_run(white, np.maximum(wanted, 1), settings)
    return _params(found, white)


def _best_run(white: WhiteRows, wanted: np.ndarray, settings: MixtureSettings) -> EMRun:
    """The long run of EM from the best of several short runs."""
    runs = []
    shared = _shared_prior(white, settings)
    for number in range(settings.restarts if (wanted > 1).any() else 1):
        first = start(white, wanted, [settings.seed, number], FLOOR)
        run = run_em(white, first, shared, FLOOR, settings.tol, SHORT_RUN)
        if not settings.shared:
            own = run.components.with_own_covariances()
            prior = _own_prior(white, settings, wanted, own)
            run = run_em(white, own, prior, FLOOR, settings.tol, SHORT_RUN)
        runs.append(run)
    if len(runs) == 1 and run.converged:
        return run
    if settings.shared:
        best = max(runs, key=lambda run: float(run.objective.sum())).components
        return run_em(white, best, shared, FLOOR, settings.tol, settings.max_iter)
    which = np.argmax([run.objective for run in runs], axis=0).tolist()  # the best for each class
    chosen = [runs[i].components for i in which]
    best = Components.joined(
        [of.take(np.flatnonzero(of.owner == c)) for c, of in enumerate(chosen)]
    )
    prior = _own_prior(white, settings, wanted, best)
    return run_em(white, best, prior, FLOOR, settings.tol, settings.max_iter)


def _shared_prior(white: WhiteRows, settings: MixtureSettings) -> CovariancePrior:
    """The prior of a shared covariance: the variances within classes, without correlations."""
    share = DIAGONAL_SHARE * settings.regularisation
    target = white.diagonal_of(np.eye(white.first.shape[1]), settings.sphere)
    return CovariancePrior(share / (1 - share) * white.class_weight, target)


def _own_prior(
    white: WhiteRows, settings: MixtureSettings, wanted: np.ndarray, now: Components
) -> CovariancePrior:
    """The prior of own covariances: the pooled covariance of the components, and its diagonal.

    It has the weight λ/(1 − λ) · n_k/G_k, with G_k components in a class of n_k rows.
    """
    pooled = now.pooled(white.class_weight)
    diagonal = white.diagonal_of(pooled, settings.sphere)
    target = (1 - DIAGONAL_SHARE) * pooled + DIAGONAL_SHARE * diagonal
    odds = settings.regularisation / (1 - settings.regularisation)
    return CovariancePrior(odds * white.class_weight / wanted, target)


def _params(found: EMRun, white: WhiteRows) -> MixtureParams:
    """The components in the units of the columns. Large components of a class are first."""
    now, frame, weight = found.components, white.frame, white.class_weight
    now = now.take(np.lexsort((-now.share, now.owner)))
    owner, at = now.owner, np.flatnonzero(frame.used)
    W, root = white.units
    offset = frame.offset[owner]
    offset[:, at] += now.mean @ root.T
    d, square = len(frame.used), np.ix_(np.arange(len(now.covariance)), at, at)
    covariance, whitener = (np.zeros((len(now.covariance), d, d)) for _ in range(2))
    covariance[square] = root @ now.covariance @ root.T
    whitener[square] = now.whitener @ W
    components = FullParams(
        frame.pivot[owner], offset, covariance, whitener, now.log_det + frame.log_det[0],
        now.share * (weight / weight.sum())[owner], frame.used, now.shared,
    )  # fmt: skip
    level = -0.5 * float(frame.log_det[0])  # log density of x − log density of z
    history = found.history + level * weight.sum()
    convergence = Convergence(len(history) - 1, found.converged, history)
    fitted = found.log_likelihood + level * weight
    return MixtureParams(components, owner, np.log(now.share), len(weight), fitted, convergence)
